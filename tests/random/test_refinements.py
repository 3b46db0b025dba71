"""Random modules, and specs that may refine them: the interpreter is held to the definition, taken
from the module by itself, and machine code to the interpreter.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.strategies.refinements import Refining, refining
from tests.support.amounts import numbers

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims import program
from fencepost.spec.semantics.stepper import Runner


def models(folder: Path, made: Refining) -> tuple[Model, Model]:
    """The models of the spec, and of the module by itself."""
    found: list[Model] = []
    for name, text in (("m", made.module), ("spec", made.spec)):
        (folder / f"{name}.fence").write_text(text, encoding="utf-8")
        found.append(program.build(program.load(folder / f"{name}.fence"), None))
    module, spec = found
    return spec, module


def searched(model: Model, engine: str, workers: int = 1) -> Outcome:
    limits = Limits(workers=workers)
    return load(engine).run(Request(model, frozenset([0]), deadlock=False, limits=limits))


def defined(model: Model, module: Model, made: Refining) -> tuple[str, int]:
    """The verdict, and the depth at which it is reached, straight from the definition."""
    runner, there = Runner(model), Runner(module)
    starts = {one.state for one in there.initial()}
    level = {one.state for one in runner.initial() if one.state is not None}
    if any(made.image(state) not in starts for state in level):
        return "violated", 1
    seen: set[State] = set()
    depth = 1
    while level:
        seen |= level
        depth += 1
        onward: set[State] = set()
        wrong = False
        for state in level:
            steps, failures = runner.expand(state)
            if failures:
                return "error", depth
            image = made.image(state)
            allowed = {image} | {after for _, after in there.expand(image)[0]}
            wrong |= any(made.image(after) not in allowed for _, after in steps)
            onward |= {after for _, after in steps}
        if wrong:
            return "violated", depth
        level = onward - seen
    return "ok", depth - 1


@pytest.mark.parametrize("start", numbers(60)[::20])
def test_the_interpreter_does_what_the_definition_says(start: int, tmp_path: Path) -> None:
    found: list[str] = []
    for seed in range(start, start + 20):
        made = refining(Random(seed))
        model, module = models(tmp_path, made)
        outcome = searched(model, "interpreter")
        depth = outcome.findings[0].depth if outcome.findings else outcome.statistics.depth
        expected = defined(model, module, made)
        told = f"seed {seed}\n{made.module}\n{made.spec}"
        assert (outcome.verdict.value, depth) == expected, told
        found.append(expected[0])
    assert {"ok", "violated"} <= {*found}


@pytest.mark.parametrize("seed", numbers(8))
def test_machine_code_finds_what_the_interpreter_finds(seed: int, tmp_path: Path) -> None:
    model, _ = models(tmp_path, made := refining(Random(seed)))
    expected = searched(model, "interpreter")
    for workers in (1, 2, 3) if seed % 4 == 0 else (seed % 4,):
        found = searched(model, "local", workers)
        same = (found.verdict, found.findings) == (expected.verdict, expected.findings)
        assert same, f"seed {seed}, {workers} workers\n{made.module}\n{made.spec}"
        assert found.statistics.distinct == expected.statistics.distinct
        assert found.statistics.generated == expected.statistics.generated
