"""Two-phase commit in Promela, with the same actions as `models/classics/two_phase_commit.fence`.

    python -m bench.promela 8

One process, with every action of every resource manager written out and fields as narrow as Promela
has them: the fastest for SPIN among the variants that were tried. It has no invariant, since SPIN
would evaluate that on every step.
"""

from __future__ import annotations

import sys


def two_phase_commit(managers: int) -> str:
    """The text of the model."""
    every = range(managers)
    lines = [
        "unsigned decision : 2;  /* 1 commit, 2 abort */",
        "bit commit_message, abort_message;",
    ]
    for m in every:
        lines.append(f"unsigned phase{m} : 2;  /* 1 prepared, 2 committed, 3 aborted */")
        lines.append(f"bit prepared{m}, prepared_message{m};")
    all_prepared = " && ".join(f"prepared{m}" for m in every)
    steps = [
        f"decision == 0 && {all_prepared} -> decision = 1; commit_message = 1",
        "decision == 0 -> decision = 2; abort_message = 1",
    ]
    for m in every:
        steps += [
            f"decision == 0 && prepared_message{m} -> prepared{m} = 1",
            f"phase{m} == 0 -> phase{m} = 1; prepared_message{m} = 1",
            f"phase{m} == 0 -> phase{m} = 3",
            f"commit_message -> phase{m} = 2",
            f"abort_message -> phase{m} = 3",
        ]
    lines += ["active proctype all() {", "do", *(f":: d_step {{ {s} }}" for s in steps), "od", "}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(two_phase_commit(int(sys.argv[1])))
