"""TLA+ modules as programs. What reads modules is loaded when one is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from importlib import import_module
from pathlib import Path

from fencepost.checker.outcome import Outcome
from fencepost.checker.search.interrupts import deferred
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.base.files import Files
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.syntax import nodes
from fencepost.spec.text import library
from fencepost.spec.text.library import CONFIG_SUFFIX, MODULE_SUFFIX
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion
from fencepost.spec.text.source import Source, Span

ENGINE = "evaluator"
"""The engine for modules, by its name in the table of engines."""
RECURSION = 40_000
"""The depth of Python calls during an evaluation. A recursive operator takes several per call."""
MOST_NAMED = 5
"""Maximum number of other configurations that a message names."""
EXPECTED = re.compile(r"^[ \t]*\\\*[ \t]*fencepost:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
"""The comment in a configuration that states the expected result."""
_NEEDED = re.compile(r"\b(?:EXTENDS|INSTANCE)\s+(\w+(?:\s*,\s*\w+)*)")
MOST_LISTED = 200
"""Maximum number of modules of a program that are watched for changes."""
_RESULTS = ("ok", "violated NAME", "deadlock", "assertion", "error")
_BEHAVIOUR = re.compile(r"^[ \t]*(Spec|Init|Next)[ \t]*==", re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class ModuleProgram(Program):
    """A TLA+ module with its configurations, by the names of the checks."""

    configs: Mapping[str, Path] = field(default_factory=dict[str, Path])
    search: tuple[Path, ...] = ()

    def model(self, check: Check, readable: Sequence[Path] = ()) -> Model:
        """Builds the model of a check. The module may read files in the folders ``readable``.
        Raises `Rejected` with all mistakes that are found.
        """
        with deferred():
            module = import_module("fencepost.checker.evaluator.model")
        model: Model = module.read(self.path, self.configs[check.name], self.search, readable)
        return model


def runner_of(model: Model) -> Runner:
    """Returns a runner for a model, which may be that of a module."""
    if not model.is_opaque:
        return Runner(model)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    with deferred():
        module = import_module("fencepost.checker.evaluator.runner")
    runner: Runner = module.TlaRunner(model)
    return runner


def module_assumptions(model: Model) -> Outcome | None:
    """Returns the outcome if an assumption of a module is false or has no value."""
    outcome: Outcome | None
    outcome = import_module("fencepost.checker.evaluator.search").broken_assumptions(model)
    return outcome


def load(path: Path, configs: Sequence[Path], search: Sequence[Path]) -> ModuleProgram:
    """Returns the program for a module. It has a check for each configuration; without ``configs``,
    the configuration is the file with the name of the module. Raises `Rejected`.
    """
    source = library.read(path)
    beside = path.with_suffix(CONFIG_SUFFIX)
    if not configs and not library.is_file(beside):
        raise Rejected([_without_config(source, path, beside)])
    named = {config.stem: config for config in configs} or {"": beside}
    if len(named) < len(configs):
        message = "two configurations have the same name, and the checks are named after them"
        raise Rejected([Problem("F656", None, message)])
    root = library.real(path)
    sources = {name: library.read(config) for name, config in named.items()}
    checks = tuple(_check(name, text) for name, text in sources.items())
    # All files are listed, so that a change is noticed.
    files = {library.real(config): sources[name] for name, config in named.items()}
    files |= _modules(path, source, search)
    return ModuleProgram(
        path,
        path.stem,
        None,
        checks,
        (),
        Files(root, {file: nodes.File(text, None, ()) for file, text in files.items()}),
        configs=named,
        search=tuple(search),
    )


def _modules(path: Path, root: Source, search: Sequence[Path]) -> dict[Path, Source]:
    """Returns the root module and those that it may need, from the folders of the user. What is
    wrong with the others is reported when they are parsed.
    """
    files = {library.real(path): root}
    waiting = [root]
    while waiting and len(files) < MOST_LISTED:
        names = " ".join(_NEEDED.findall(waiting.pop().text))
        for name in re.findall(r"\w+", names):
            candidates = [folder / f"{name}{MODULE_SUFFIX}" for folder in (path.parent, *search)]
            file = next(filter(library.is_file, candidates), None)
            if file is None or library.real(file) in files:
                continue
            with suppress(Rejected):
                files[library.real(file)] = source = library.read(file)
                waiting.append(source)
    return files


def _without_config(source: Source, path: Path, beside: Path) -> Problem:
    defined = [*dict.fromkeys(_BEHAVIOUR.findall(source.text))]
    lines = ["SPECIFICATION Spec"] if "Spec" in defined else ["INIT Init", "NEXT Next"]
    usual = "Spec" in defined or {"Init", "Next"} <= {*defined}
    others = sorted(other.name for other in path.parent.glob(f"*{CONFIG_SUFFIX}"))[:MOST_NAMED]
    here = f"; here are {listing(others, 'and')}" if len(others) > 1 else ""
    here = f"; here is {others[0]}" if len(others) == 1 else here
    notes = [
        f"write {listing(lines, 'and')} into it, INVARIANT with the names of invariants, and "
        "CONSTANT N = 3 for a constant N"
        if usual
        else "the file may be empty for a module that has only assumptions",
        f"--config FILE names another configuration{here}",
    ]
    message = f"there is no configuration {beside} for the module {path.name}"
    return Problem("F656", None, message, tuple((None, note) for note in notes))


def _check(name: str, source: Source) -> Check:
    """Returns the check of a configuration. A comment may have the expected result, as in
    ``\\* fencepost: expect violated Inv``.
    """
    check = Check(name, engine=ENGINE)
    for match in EXPECTED.finditer(source.text):
        span = Span(source, match.start(1), match.end(1))
        words = match[1].split()
        match words:
            case ["expect", "violated", prop]:
                check = replace(check, verdict="violated", property=prop, span=span)
            case ["expect", "ok" | "deadlock" | "assertion" | "error" as verdict]:
                check = replace(check, verdict=verdict, property=None, span=span)
            case _:
                results = listing([f"expect {result}" for result in _RESULTS])
                hint = suggestion(words[-1], _RESULTS) if words else ""
                message = f"the expected result in a comment is one of {results}{hint}"
                raise Rejected([Problem("F656", span, message)])
    return check
