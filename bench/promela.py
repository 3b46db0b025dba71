"""Two-phase commit in Promela, with the same actions as `models/classics/two_phase_commit.fence`.

    python -m bench.promela 8

The model is one process. It lists every action of every resource manager, and its fields are as
narrow as Promela allows. SPIN was fastest with this variant among those that were tried. The model
has no invariant, since SPIN would evaluate it on every step.
"""

from __future__ import annotations

import sys


def two_phase_commit(managers: int) -> str:
    """Returns the text of the model."""
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
