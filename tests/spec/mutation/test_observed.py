"""A search of the unchanged spec predicts which changes have no effect.

The prediction is correct, and the two engines that visit states agree on it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spec.mutation.test_mutants import CASES, FAIR, HEAD, mutants_of, program
from tests.spec.mutation.test_schemata import MORE

from fencepost.checker.native.search import ENGINE as LOCAL
from fencepost.checker.reference.search import ENGINE as INTERPRETER
from fencepost.checker.request import Request
from fencepost.checker.tools.state_graph import same_graph
from fencepost.spec.core.instantiate import instance
from fencepost.spec.elaborate.claims.program import build, select
from fencepost.spec.mutation.schemata import observed, schema, told_apart

NEVER = {
    "what another part decides": (
        "action a:\n    require x == 0 and x < 4\n    x = 1\n",
        {"drop `x < 4` from `x == 0 and x < 4`", "`<` becomes `<=` in `x < 4`"},
    ),
    "what is not reached": (
        "action a:\n    require x < 2\n    x += 1\n    if x > 3: q.append(x)\n    else: return\n",
        {
            "never take the branch `if x > 3`",
            "remove `q.append(x)`",
            "`>` becomes `>=` in `x > 3`",
        },
    ),
    "a value on the way": (
        "action a:\n    require x < 2\n    x = if x > 4 then 0 else x + 1\n",
        {"never take the branch `if x > 4`", "`>` becomes `>=` in `x > 4`"},
    ),
    "an or": (
        "action a:\n    require x == 0 or x > 5\n    x = 1\n",
        {"drop `x > 5` from `x == 0 or x > 5`", "`>` becomes `>=` in `x > 5`"},
    ),
}
"""Specs, each with the changes that have no effect in it."""

BEGINNING = "def low(n: int): bool = n < 3 and n != 7\nvar z: bool = low(8)\n"
SPECS_OF_THE_BEGINNING = {
    "what only the beginning evaluates": (
        f"{BEGINNING}action a:\n    require x < 2 and low(x)\n    x += 1\n"
    ),
}
"""An initial value is evaluated once, before any step."""

TEXTS = {
    **SPECS_OF_THE_BEGINNING,
    **{name: text for name, (text, _) in CASES.items() if name not in FAIR},
    **MORE,
    **{name: text for name, (text, _) in NEVER.items()},
}


def matters(text: str, folder: Path) -> dict[str, bool]:
    """Says for each change that can be woven in whether, according to a search, it may matter.

    If it cannot matter, the graphs are compared.
    """
    read = program(folder, HEAD + text)
    woven = schema(read, mutants_of(read))
    model = build(woven.program, None)
    watch = observed(model)
    properties = select(model, read.checks[0])
    engines = [marked.run(Request(watch.model, properties)) for marked in (INTERPRETER, LOCAL)]
    marked, marked_local = (watch.apart(outcome.coverage.marks) for outcome in engines)
    assert marked == marked_local
    assert engines[0].statistics.levels == engines[1].statistics.levels
    unchanged, distinguished = instance(model, [0]), told_apart(model)
    assert watch.marks.keys() <= distinguished | {0}
    answers: dict[str, bool] = {}
    for number, mutant in enumerate(woven.mutants, 1):
        answers[mutant.change] = number in marked
        if number not in marked and not engines[0].findings:
            assert same_graph(instance(model, [number]), unchanged), mutant.change
    return answers


@pytest.mark.parametrize("name", TEXTS)
def test_irrelevant_changes_have_no_effect(name: str, tmp_path: Path) -> None:
    answers = matters(TEXTS[name], tmp_path)
    if name in NEVER:
        assert {change for change, may in answers.items() if not may} == NEVER[name][1]


def test_the_beginning_counts(tmp_path: Path) -> None:
    (text,) = SPECS_OF_THE_BEGINNING.values()
    answers = matters(text, tmp_path)
    assert answers["drop `n < 3` from `n < 3 and n != 7`"]
    # No marks are counted in initial values, so it is assumed that their changes matter.
    assert answers["drop `n != 7` from `n < 3 and n != 7`"]
    assert not answers["drop `low(x)` from `x < 2 and low(x)`"]


@pytest.mark.parametrize(
    "more",
    [
        "terminal: low(x)\n",
        "terminal: true\nconstraint K: low(x)\n",
        "terminal: true\ninvariant I: low(x)\n",
        "terminal: true\nstep invariant I: low(next(x))\n",
        "terminal: true\nreachable R: x == 2 and low(x)\n",
    ],
)
def test_evaluations_of_properties_count(more: str, tmp_path: Path) -> None:
    """The action evaluates `low` for x = 0 and x = 1, and the property also for x = 2."""
    text = "def low(n: int): bool = n < 5 and n != 2\nvar x: 0..9 = 0\n"
    text += "action a:\n    require x < 2 and low(x)\n    x += 1\n"
    read = program(tmp_path, text + more)
    woven = schema(read, mutants_of(read))
    model = build(woven.program, None)
    watch = observed(model)
    properties = select(model, read.checks[0])
    changes = [mutant.change for mutant in woven.mutants]
    number = 1 + changes.index("drop `n != 2` from `n < 5 and n != 2`")
    for engine in (INTERPRETER, LOCAL):
        outcome = engine.run(Request(watch.model, properties))
        assert number in watch.apart(outcome.coverage.marks), engine
