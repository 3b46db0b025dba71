"""Long lists and deep nesting of every kind are read, or refused, in bounded time.

Each repetition of the grammar is written with an increasing number of parts and passed to
``check``, ``info``, ``fmt`` and the language server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.amounts import everything
from tests.support.command import run
from tests.support.damaged_runs import REQUESTS, Trials, worked
from tests.support.damaged_specs import Damaged, Original
from tests.support.long_specs import LISTS, NESTS, VAR, modules, spec
from tests.support.repetitions import Site, repetitions, sites

from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

SECONDS = 20
"""The limit on the CPU time of a command for one spec."""
EDITOR_SECONDS = 40
"""The limit on the CPU time of all editor requests together for one spec."""
PATIENCE = 600.0
"""The number of seconds to wait for an editor. On an idle machine, the limit on CPU time is
stricter.
"""
SMALL = 10
WHOLE = everything("SIZES")
SIZES = (10, 100, 1_000, 10_000) if WHOLE else (200,)
DEPTHS = (10, 50, 95, 150, 400, 1_000) if WHOLE else (400,)
SYNTAX_ERRORS = {
    "chain of leads to": "F101",
    "chain of until": "F101",
    "comparisons": "F112",
    "open brackets": "F102",
    "open set brackets": "F101",
    "closed brackets": "F103",
}
"""Rows that no grammar rule covers, with the code of their problem."""
REFUSED = {
    **SYNTAX_ERRORS,
    "any indexes": "F849",
    "calls of calls": "F319",
    "members of members": "F309",
    "members that are not members": "F309",
    "options": "F305",
    "ranges of ranges": "F301",
    "unknown names": "F201",
}
"""Rows without any valid spec, with the code of their problem; all other rows are accepted."""
MAX_RUN = {"checks": 10_000, "scenarios": 1_000, "options of a channel": 1_000}
"""The largest lists of runs. Each element takes a search, a model of a scenario, or the machine
code of an action.
"""
CASES = [
    (name, size)
    for rows, sizes in ((LISTS, SIZES), (NESTS, DEPTHS))
    for name in rows
    for size in sizes
]
RUN = [(name, size) for name, size in CASES if size <= MAX_RUN.get(name, size)]
FAULTS = [("let lines", 990), ("fields of with", 2_000)]
"""Sizes that used to cause internal errors."""
DEEP = [("parameters of an action", 100)]
"""Sizes that used to cause internal errors in machine code."""


def write_modules(name: str, size: int, folder: Path) -> None:
    for path, text in modules(name, size).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def problems(name: str, size: int, folder: Path) -> set[str]:
    """Returns the codes of the problems of a spec and its first models."""
    path = folder / "s.fence"
    path.write_text(spec(name, size), "utf-8")
    write_modules(name, size, folder)
    try:
        read = program.load(path)
        for check in read.runs[:2]:
            program.build(read, check)
    except Rejected as rejected:
        return {problem.code for problem in rejected.problems}
    return set()


@pytest.mark.parametrize("name", LISTS | NESTS)
def test_a_small_spec_is_accepted(name: str, tmp_path: Path) -> None:
    code = REFUSED.get(name.removesuffix(", in a formula"))
    assert problems(name, SMALL, tmp_path) == ({code} if code else set())


def test_every_repetition_of_the_grammar_has_a_row() -> None:
    covered: set[Site] = set()
    for name in (LISTS | NESTS).keys() - SYNTAX_ERRORS.keys():
        short, long = (repetitions(spec(name, size)) for size in (4, 8))
        covered |= {site for site, count in long.items() if count > short.get(site, 0)}
    assert sites() - covered == set()


@pytest.mark.parametrize(("name", "size"), CASES + FAULTS)
def test_a_spec_of_any_size_is_read_or_refused(name: str, size: int, tmp_path: Path) -> None:
    began = worked()
    problems(name, size, tmp_path)
    assert worked() - began < SECONDS


@pytest.fixture(scope="module")
def trials() -> Iterator[Trials]:
    with Trials(asked=len(REQUESTS), patience=PATIENCE) as started:
        yield started


@pytest.mark.parametrize(("name", "size"), RUN if WHOLE else [*CASES[::32], *DEEP])
def test_commands_and_editors(name: str, size: int, trials: Trials, tmp_path: Path) -> None:
    text = spec(name, size)
    original = Original("written", VAR.encode(), modules(name, size))
    failures = trials.failures(Damaged(original, (), text.encode()), size)
    assert not failures, failures[0]
    (tmp_path / "s.fence").write_text(text, "utf-8")
    write_modules(name, size, tmp_path)
    began = worked()
    assert run("info", "s.fence", folder=tmp_path).code in (0, 150)
    seconds = {**trials.seconds, "info": worked() - began}
    assert seconds.pop("lsp") < EDITOR_SECONDS
    assert max(seconds.values()) < SECONDS, seconds
