"""What may befall brokers while they are driven: the commands of their owner, and how often."""

from __future__ import annotations

import subprocess
import tempfile

from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.nodes import PATIENCE

OFTEN = "0.02"
_MOVES = 0.3
"""How often the coordinator moves, which takes a second."""


class Outages:
    """Options of a driver, as the command line gives them. Raises `Unreachable`.

    ``kill`` and ``start`` are commands that kill the only broker and start it again; without
    ``start`` somebody else does so. ``second`` is the number of a broker that leads the second
    partition, and ``pause`` and ``resume`` stop it and let it go on. With ``levels=yes``
    transaction.version is changed, and with ``moves=yes`` another broker becomes the coordinator.
    ``often`` says how often a broker is killed; 1 is as often as anything else is asked.
    """

    def __init__(
        self,
        kill: str,
        start: str,
        second: str,
        pause: str,
        resume: str,
        levels: str,
        often: str,
        moves: str,
    ) -> None:
        if len({bool(second), bool(pause), bool(resume)}) > 1:
            raise Unreachable("second, pause and resume are given together, or none of them")
        if start and not kill:
            raise Unreachable("start is for a broker that kill has killed")
        if kill and second:
            raise Unreachable("kill is for a cluster of one broker, and second for two")
        self.kill, self.start = kill, start
        self.second = whole("second", second) if second else None
        self.pause, self.resume = pause, resume
        self.levels = yes("levels", levels)
        self._often = _share("outages", often)
        self.moves = yes("moves", moves)
        if self.moves and (kill or second):
            raise Unreachable("moves is for a cluster of which no broker is killed or stopped")

    def weight(self, request: str) -> float:
        """How often something is asked or befalls brokers: what takes seconds is seldom."""
        if request in ("killed", "put"):
            # Of records that are made up most are none that a coordinator would write.
            return self._often * (1 if request == "killed" else 4) if self.kill else 0.0
        if request == "moved":
            return _MOVES if self.moves else 0.0
        if request in ("stopped", "continued"):
            return 0.0 if self.second is None else 1.0
        return float(request != "level" or self.levels)


def run(command: str) -> None:
    """Runs somebody's own command, in a shell. Raises `Unreachable`."""
    # A file, not a pipe: what it leaves running behind it would keep a pipe open.
    with tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                command, shell=True, check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors, timeout=PATIENCE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unreachable(f"`{command}` has not ended within {PATIENCE:.0f} s") from None
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
    if done.returncode:
        why = f": {said[-1]}" if said else ""
        raise Unreachable(f"`{command}` ended with {done.returncode}{why}")


def whole(name: str, said: str) -> int:
    """The number of an option. Raises `Unreachable`."""
    if not said.isdecimal():
        raise Unreachable(f"{name}={said} is no number")
    return int(said)


def yes(name: str, said: str) -> bool:
    """The truth of an option. Raises `Unreachable`."""
    if said not in ("yes", "no"):
        raise Unreachable(f"{name}={said} is neither yes nor no")
    return said == "yes"


def _share(name: str, said: str) -> float:
    try:
        found = float(said)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise Unreachable(f"{name}={said} is no number from 0 to 1")
    return found
