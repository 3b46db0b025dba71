"""Outages of driven brokers: the user's commands, and their frequencies."""

from __future__ import annotations

import subprocess
import tempfile

from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.nodes import TIMEOUT_SECONDS

DEFAULT_PROBABILITY = "0.02"
_MOVES = 0.3
"""Relative frequency of moving the coordinator, which takes a second."""


class Outages:
    """Options of a driver, as text from the command line. Raises `Unreachable`.

    ``kill`` and ``start`` are commands that kill and start the only broker; without ``start``
    something else restarts it. ``second`` is the number of the broker that leads the second
    partition; ``pause`` and ``resume`` stop and continue it. ``levels=yes`` changes
    transaction.version, and ``moves=yes`` moves the coordinator. ``often`` is the frequency of
    kills relative to each request.
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
        """The relative frequency of a request or outage; slow ones are rare."""
        if request in ("killed", "put"):
            # Most invented records are ones that a coordinator would not write.
            return self._often * (1 if request == "killed" else 4) if self.kill else 0.0
        if request == "moved":
            return _MOVES if self.moves else 0.0
        if request in ("stopped", "continued"):
            return 0.0 if self.second is None else 1.0
        return float(request != "level" or self.levels)


def run(command: str) -> None:
    """Runs a command of the user in a shell. Raises `Unreachable`."""
    # A file, not a pipe: a background process would keep a pipe open.
    with tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                command, shell=True, check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors, timeout=TIMEOUT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unreachable(f"`{command}` has not ended within {TIMEOUT_SECONDS:.0f} s") from None
        errors.seek(0)
        output = errors.read().decode(errors="replace").strip().splitlines()
    if done.returncode:
        why = f": {output[-1]}" if output else ""
        raise Unreachable(f"`{command}` ended with {done.returncode}{why}")


def whole(name: str, text: str) -> int:
    """Parses the number of an option. Raises `Unreachable`."""
    if not text.isdecimal():
        raise Unreachable(f"{name}={text} is no number")
    return int(text)


def yes(name: str, text: str) -> bool:
    """Parses a yes/no option. Raises `Unreachable`."""
    if text not in ("yes", "no"):
        raise Unreachable(f"{name}={text} is neither yes nor no")
    return text == "yes"


def _share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise Unreachable(f"{name}={text} is no number from 0 to 1")
    return share
