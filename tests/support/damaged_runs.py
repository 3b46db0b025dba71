"""Runs the command and the language server on a damaged spec, and reports how they fail.

A failure is an internal error, a spec that `fmt` changes or never finishes formatting, or a request
from the editor that gets no answer. Crashes and hangs would end this process, so the campaign
(`bench.damaged_specs`) runs it as a child process and observes them from outside.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self
from unicodedata import category

from pygls.uris import from_fs_path
from tests.support.command import Ran, run
from tests.support.damaged_specs import Damaged
from tests.support.processes import COMMAND, finished
from tests.support.server_session import PATIENCE, LocalServer, local_server

from fencepost.checker.run.judge import Exit
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.syntax.parser import parse
from fencepost.spec.syntax.tokens import BREAK, COMMENT, scan
from fencepost.spec.text.library import read
from fencepost.spec.text.source import Source

NAME = "damaged.fence"
MAX_STATES = 30
TIMEOUT = 10
"""The seconds given to ``--timeout``; a check must end soon after them."""
CONTROL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that no message may send to a terminal."""
PHASES = ("check", "fmt", "lsp")
ASKED = 6
"""The number of an editor's requests for each spec; the requests are chosen at random."""
NAMED = re.compile(r"^(?:check|scenario) (\w+)", re.M)
FRAME = re.compile(
    r'File "[^"]*?/(?P<file>(?:checker|spec|pygls)/[^"]+)", line \d+, in (?P<name>\w+)'
)
REQUESTS = (
    "hover", "definition", "references", "documentHighlight", "prepareRename", "rename",
    "completion", "signatureHelp", "documentSymbol", "foldingRange", "semanticTokens/full",
    "formatting", "codeAction", "codeLens",
)  # fmt: skip
POINTED = frozenset(REQUESTS[:8])
"""The requests that have a position."""
RARE = "completion"
"""This request takes longer than all others together, so it is made for only one in `SELDOM`
specs.
"""
SELDOM = 8
UNLIKELY = 0.05
"""The share of positions that are outside the text."""
INTERNAL_ERROR = -32603


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure: its phase, its kind, all details, and the innermost frame of our code if it is
    known.
    """

    phase: str
    kind: str
    place: str
    details: str

    @property
    def key(self) -> str:
        """Identifies the fault: failures with the same key have the same cause."""
        return f"{self.phase}: {self.kind}: {self.place}"


def worked() -> float:
    """Returns the CPU seconds used by this process and by its children that have ended.

    Unlike elapsed time, CPU time does not depend on what else the machine is doing.
    """
    return sum(os.times()[:4])


def place_in(details: str) -> str:
    """Returns the innermost frame of the package in a traceback, and the exception's type."""
    frames = list(FRAME.finditer(details))
    raised = re.findall(
        r"^(\w[\w.]*(?:Error|Exception|Interrupt|Iteration|Stopped))\b", details, re.M
    )
    error = raised[-1].rpartition(".")[2] if raised else ""
    return f"{frames[-1]['file']} {frames[-1]['name']} {error}".strip() if frames else error


@dataclass(slots=True)
class Trials:
    """A folder for damaged specs, and a language server that has it open.

    ``begun`` is called with the name of each phase when the phase begins. ``asked`` is the number
    of editor requests per spec, and ``patience`` is the number of seconds to wait for their
    answers.
    """

    begun: Callable[[str], object] = lambda phase: None
    asked: int = ASKED
    patience: float = PATIENCE
    codes: dict[str, int] = field(default_factory=dict[str, int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _folder: tempfile.TemporaryDirectory[str] = field(
        default_factory=tempfile.TemporaryDirectory[str]
    )
    _server: LocalServer | None = None
    _turn: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.begun("end")
        if self._server is not None:
            self._server.end()
        self._folder.cleanup()

    def failures(
        self,
        spec: Damaged,
        seed: int,
        phases: Sequence[str] = PHASES,
        engine: str = "interpreter",
        process: bool = False,
    ) -> list[Failure]:
        """Tries a damaged spec.

        Afterwards, `codes` and `seconds` hold the exit codes and CPU times by phase. With
        ``process``, the command also runs as a separate process and must end with the same code.
        """
        self._turn += 1
        self.codes, self.seconds = {}, {}
        folder = Path(self._folder.name) / str(self._turn)
        folder.mkdir()
        for name, text in spec.original.modules.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        path = folder / NAME
        path.write_bytes(spec.text)
        random = Random(seed)
        tried = {
            "check": lambda: self._checked(spec, path, random, engine, process),
            "fmt": lambda: self._formatted(path),
            "lsp": lambda: self._edited(spec, path, random),
        }
        failures_: list[Failure] = []
        for phase in phases:
            self.begun(phase)
            failures_ += tried[phase]()
        for child in sorted(folder.rglob("*"), reverse=True):
            child.rmdir() if child.is_dir() else child.unlink()
        folder.rmdir()
        return failures_

    # ------------------------------------------------------------ the command

    def _checked(
        self, spec: Damaged, path: Path, random: Random, engine: str, process: bool
    ) -> Iterator[Failure]:
        words = ["check", path.name, "--engine", engine, "--max-states", str(MAX_STATES)]
        words += ["--timeout", f"{TIMEOUT}s", "--no-progress", "--no-symmetry"][
            : random.choice((3, 4))
        ]
        if spec.original.folder is not None:
            words += ["--path", str(spec.original.folder)]
        names = NAMED.findall(spec.text.decode("utf-8", "replace"))
        if len(names) > 1:
            words += ["--check", random.choice(names)]
        ran = self._run("check", words, path.parent)
        yield from _judged("check", ran)
        if process:
            self.begun("process")
            child = finished(*COMMAND, *words, folder=path.parent, COLUMNS="100")
            if child.returncode != ran.code or "Traceback" in child.stderr:
                details = f"{ran.code} in this process\n{child.returncode}: {child.stderr}"
                yield Failure("process", "exit code", place_in(child.stderr), details)

    def _formatted(self, path: Path) -> Iterator[Failure]:
        before = path.read_bytes()
        ran = self._run("fmt", ["fmt", path.name], path.parent)
        yield from _judged("fmt", ran)
        if ran.code != Exit.OK:
            if path.read_bytes() != before:
                yield Failure("fmt", "a refused spec was changed", "", "")
            return
        after = read(path)
        old = Source(path.name, before.decode("utf-8-sig"))
        if parse(old) != parse(after):
            yield Failure("fmt", "another meaning", "", after.text)
        if _tokens(old.text) != _tokens(after.text):
            yield Failure("fmt", "other tokens", "", after.text)
        if formatted(after) != after.text:
            yield Failure("fmt", "formatted twice is not formatted once", "", after.text)

    def _run(self, phase: str, words: Sequence[str], folder: Path) -> Ran:
        began = worked()
        ran = run(*words, folder=folder, environment={"FENCEPOST_TRACEBACK": "1"})
        self.seconds[phase] = worked() - began
        self.codes[phase] = ran.code
        return ran

    # ------------------------------------------------------------ the language server

    def _edited(self, spec: Damaged, path: Path, random: Random) -> Iterator[Failure]:
        """Lets an editor open the spec, often in its undamaged form, and send random requests."""
        if self._server is None:
            self._server = local_server(Path(self._folder.name), {"delay": 0, "everyCheck": False})
        session, errors = self._server.session, self._server.errors
        text = spec.text.decode("utf-8", "replace")
        uri = from_fs_path(str(path))
        first = text if random.random() < 0.5 else spec.original.text.decode("utf-8", "replace")
        began = worked()
        document = {"uri": uri, "languageId": "fencepost", "version": 1, "text": first}
        session.notify("textDocument/didOpen", {"textDocument": document})
        if first != text:
            document = {"uri": uri, "version": 2}
            change = {"textDocument": document, "contentChanges": [{"text": text}]}
            session.notify("textDocument/didChange", change)
        asked: dict[int, str] = {}
        methods = random.sample(REQUESTS, self.asked)
        if self.asked < len(REQUESTS) and random.randrange(SELDOM) and RARE in methods:
            methods.remove(RARE)
        for method in methods:
            point = _point(text.split("\n"), random)
            params = {"textDocument": {"uri": uri}, **_further(method, point)}
            asked[session.ask(f"textDocument/{method}", params)] = f"{method} at {point}"
        for number in session.wait(list(asked), self.patience):
            yield Failure("lsp", "no answer", asked[number].split()[0], asked[number])
        self.seconds["lsp"] = worked() - began
        # If an internal error occurs while answering, the server logs its exception.
        wrong = [number for number in asked if _is_internal(session.answered.pop(number, {}))]
        for details in errors.details:
            yield Failure("lsp", "internal error", place_in(details), details)
        if wrong and not errors.details:
            yield Failure("lsp", "internal error", asked[wrong[0]].split()[0], asked[wrong[0]])
        errors.details.clear()
        session.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def _is_internal(answer: Mapping[str, Any]) -> bool:
    error: Mapping[str, Any] = answer.get("error") or {}
    return error.get("code") == INTERNAL_ERROR


def _point(lines: Sequence[str], random: Random) -> dict[str, int]:
    """Returns a position in a text, occasionally one outside it."""
    line = random.randrange(len(lines))
    character = random.randrange(len(lines[line]) + 1)
    if random.random() < UNLIKELY:
        line, character = random.choice(
            ((line, 10**6), (10**6, character), (-1, 0), (line, -1), (2**31, 2**31), (0, 2**40))
        )
    return {"line": line, "character": character}


def _further(method: str, point: Mapping[str, int]) -> Mapping[str, Any]:
    """Returns the parameters of a request other than the document."""
    position = {"position": point} if method in POINTED else {}
    match method:
        case "references":
            return {**position, "context": {"includeDeclaration": True}}
        case "rename":
            return {**position, "newName": "renamed"}
        case "formatting":
            return {"options": {"tabSize": 4, "insertSpaces": True}}
        case "codeAction":
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": 10**6, "character": 0}}
            return {"range": whole, "context": {"diagnostics": []}}
        case _:
            return position


def _judged(phase: str, ran: Ran) -> Iterator[Failure]:
    printed = ran.stdout + ran.stderr
    expected = False
    with suppress(ValueError):
        expected = Exit(ran.code) is not Exit.INTERNAL
    if not expected or "Traceback (most recent call last)" in ran.stderr:
        yield Failure(phase, f"exit code {ran.code}", place_in(ran.stderr), ran.stderr)
    elif "out of memory" in ran.stderr:
        yield Failure(phase, "out of memory", "", ran.stderr)
    strange = sorted({char for char in printed if char != "\n" and category(char) in CONTROL})
    if strange:
        yield Failure(phase, "control characters", repr(strange), printed)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Returns the tokens of a text without line breaks, and its comments without trailing
    blanks.
    """
    return [
        (token.kind, token.text.rstrip() if token.kind == COMMENT else token.text)
        for token in scan(text)
        if token.kind != BREAK
    ]
