"""TLC finds the same in exported modules as Fencepost finds in the specs.

The first line of each spec in ``specs/`` says what it tests. Most of these specs were once exported
to a module with another meaning.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from bench import tlc_run
from bench.tlc_agree import Comparison, Counts, compare, side_of_answer
from tests.strategies import grown
from tests.support.agreement import loaded

from fencepost.checker.run.check import prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export.module import exported
from fencepost.spec.elaborate.claims.program import Program, load

HERE = Path(__file__).resolve().parent
SPECS = sorted(path for path in (HERE / "specs").glob("*.fence") if "_part" not in path.stem)
"""The specs to export. Files whose names end in ``_part`` are modules that other specs import."""
SEEDS = (1, 2, 3)
REFUSED = {
    "wide_machine_integers": "arithmetic on int32, since TLC's integers have 32 bits",
}
"""The reasons why some specs cannot be exported."""
MAX_STATES = 3_000
FOLDER = tlc_run.home()
"""The folder with TLC and its recorded answers, which do not change between runs."""


@cache
def tlc() -> tlc_run.Tlc:
    return tlc_run.Tlc.locate(FOLDER, FOLDER / "answers")


def compared(program: Program) -> list[Comparison]:
    """Compares each check of a spec, and asserts that TLC agrees on the exported ones."""
    comparisons = [compare(program, check, tlc(), MAX_STATES) for check in program.checks]
    for comparison in comparisons:
        wrong = comparison.difference
        assert wrong is None, f"{wrong.subject}: {wrong.difference}\n{wrong.ours}\n{wrong.theirs}"
    return comparisons


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_specs(path: Path) -> None:
    for comparison in compared(load(path)):
        assert comparison.refused == REFUSED.get(path.stem)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_specs(seed: int) -> None:
    assert any(comparison.refused is None for comparison in compared(loaded(grown(seed))))


def test_at_least_sixty_specs() -> None:
    assert len(SPECS) + len(SEEDS) >= 60


def test_a_module_that_means_something_else() -> None:
    """TLC runs the module that it is given, and reports an error if it cannot."""
    program = loaded("var x: 0..9 = 0\naction up:\n    require x < 3\n    x += 1\nterminal: true\n")
    export = exported(prepare(program, program.checks[0], Settings(engine="interpreter")), "m")
    assert export.module.count("x < 3") == 1
    other = replace(export, module=export.module.replace("x < 3", "x < 2"))
    assert side_of_answer(tlc().run(other)).counts == Counts(3, 3, 3)
    wrong = replace(export, module=export.module.replace("x < 3", "x < y"))
    with pytest.raises(tlc_run.Broken, match="Unknown operator: `y'"):
        tlc().run(wrong)
