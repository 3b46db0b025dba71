"""A misspelling is reported where it is, and causes no errors elsewhere.

``FENCEPOST_MISSPELT`` is the number of misspelt specs, and ``FENCEPOST_FIRST`` is the seed of the
first one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.amounts import amount
from tests.support.command import run
from tests.support.misspellings import DAMAGE, NAME, Misspelling, marked, misspelling, write
from tests.support.syntax_trees import problem_line

from fencepost.checker.run.judge import Exit

FIRST, RUNS = amount("FIRST", 0), amount("MISSPELT", 150)
MAX_FOLLOW_ON, MAX_LATE = 0.05, 0.05
"""The accepted share of misspellings with a follow-on error, and of those whose first error is not
where the text is damaged.
"""
COMPARED = 30
"""One in this number of misspelt specs is also given to the command and to an editor."""


@pytest.fixture(scope="module")
def misspelt(tmp_path_factory: pytest.TempPathFactory) -> list[Misspelling]:
    folder = tmp_path_factory.mktemp("misspelt")
    return [misspelling(seed, folder) for seed in range(FIRST, FIRST + RUNS)]


def test_errors_are_where_the_text_is_damaged(misspelt: list[Misspelling]) -> None:
    assert {spec.kind for spec in misspelt} == {*DAMAGE}
    assert all(any(not problem.warning for problem in spec.problems) for spec in misspelt)
    follow_on = [spec for spec in misspelt if spec.elsewhere]
    late = [spec for spec in misspelt if not spec.in_place(spec.problems[0])]
    assert len(follow_on) <= MAX_FOLLOW_ON * RUNS, "\n\n".join(map(str, follow_on))
    assert len(late) <= MAX_LATE * RUNS, "\n\n".join(map(str, late))


def test_command_and_editor_agree(misspelt: list[Misspelling], tmp_path: Path) -> None:
    for number, spec in enumerate(misspelt[::COMPARED]):
        original, folder = spec.original, tmp_path / str(number)
        path = write(original, spec.text, folder)
        expected = [*map(problem_line, spec.problems)]
        assert [*map(problem_line, marked(original, path))] == expected
        words = [word for path in original.search for word in ("--path", str(path))]
        ran = run("check", NAME, *words, folder=folder)
        assert ran.code == Exit.REJECTED
        assert [
            problem.message for problem in spec.problems if problem.message not in ran.stderr
        ] == []
