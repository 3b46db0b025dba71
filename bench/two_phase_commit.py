"""Two-phase commit for SPIN: the same machine as `models/classics/two_phase_commit.fence`.

Every action of every resource manager stands unrolled in one loop, with as few bits as it needs, so
that SPIN gets the smallest state vector and the fewest interpretive steps that the model allows.
"""

from __future__ import annotations

WORKING, PREPARED, COMMITTED, ABORTED = range(4)
UNDECIDED, COMMIT, ABORT = range(3)


def promela(managers: int) -> str:
    """The model; its invariant is asserted whenever a manager commits or aborts."""
    numbers = range(managers)
    lines = ["unsigned decision : 2;", "bit commit_sent, abort_sent;"]
    for n in numbers:
        lines += [f"unsigned phase{n} : 2;", f"bit prepared{n}, announced{n};"]
    lines += ["init {", "  do"]

    def action(guard: str, *changes: str) -> None:
        lines.append(f"  :: d_step {{ {guard} -> {'; '.join(changes)} }}")

    everyone = " && ".join(f"prepared{n}" for n in numbers)
    action(f"decision == {UNDECIDED} && {everyone}", f"decision = {COMMIT}", "commit_sent = 1")
    action(f"decision == {UNDECIDED}", f"decision = {ABORT}", "abort_sent = 1")
    for n in numbers:
        action(f"decision == {UNDECIDED} && announced{n}", f"prepared{n} = 1")
        action(f"phase{n} == {WORKING}", f"phase{n} = {PREPARED}", f"announced{n} = 1")
        action(f"phase{n} == {WORKING}", f"phase{n} = {ABORTED}")
        action("commit_sent", f"phase{n} = {COMMITTED}")
        action("abort_sent", f"phase{n} = {ABORTED}")
    lines += ["  od", "}"]
    return "\n".join(lines) + "\n"
