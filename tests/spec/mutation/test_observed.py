"""What a search of the unchanged spec says of changes: no difference where it says so, and that the
two engines that visit states say the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spec.mutation.test_mutants import CASES, HEAD, found, program
from tests.spec.mutation.test_schemata import MORE

from fencepost.checker.native.search import ENGINE as LOCAL
from fencepost.checker.reference.search import ENGINE as INTERPRETER
from fencepost.checker.request import Request
from fencepost.checker.tools.two_graphs import same_graph
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
"""Specs, and the changes that never matter there."""

BEGINNING = "def low(n: int): bool = n < 3 and n != 7\nvar z: bool = low(8)\n"
SPECS_OF_THE_BEGINNING = {
    "what only the beginning evaluates": (
        f"{BEGINNING}action a:\n    require x < 2 and low(x)\n    x += 1\n"
    ),
}
"""An initial value is evaluated once, before any step."""

TEXTS = {
    **SPECS_OF_THE_BEGINNING,
    **{name: text for name, (text, _) in CASES.items() if name != "fairness"},
    **MORE,
    **{name: text for name, (text, _) in NEVER.items()},
}


def matters(text: str, folder: Path) -> dict[str, bool]:
    """Each change that can be woven in, and whether a search says that it may matter; where it
    says no, the graph is compared.
    """
    read = program(folder, HEAD + text)
    made = schema(read, found(read))
    model = build(made.program, None)
    watch = observed(model)
    properties = select(model, read.checks[0])
    engines = [one.run(Request(watch.model, properties)) for one in (INTERPRETER, LOCAL)]
    one, other = (watch.apart(outcome.coverage.marks) for outcome in engines)
    assert one == other
    assert engines[0].statistics.levels == engines[1].statistics.levels
    unchanged, told = instance(model, [0]), told_apart(model)
    assert watch.marks.keys() <= told | {0}
    answers: dict[str, bool] = {}
    for number, mutant in enumerate(made.mutants, 1):
        answers[mutant.change] = number in one
        if number not in one and not engines[0].findings:
            assert same_graph(instance(model, [number]), unchanged), mutant.change
    return answers


@pytest.mark.parametrize("name", TEXTS)
def test_what_never_matters_changes_nothing(name: str, tmp_path: Path) -> None:
    answers = matters(TEXTS[name], tmp_path)
    if name in NEVER:
        assert {change for change, may in answers.items() if not may} == NEVER[name][1]


def test_the_beginning_counts(tmp_path: Path) -> None:
    (text,) = SPECS_OF_THE_BEGINNING.values()
    answers = matters(text, tmp_path)
    assert answers["drop `n < 3` from `n < 3 and n != 7`"]
    # Of what stands there no mark is counted, so it is taken to matter.
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
def test_what_a_property_evaluates_counts(more: str, tmp_path: Path) -> None:
    """The action asks where x is 0 and 1, the property where it is 2, too."""
    text = "def low(n: int): bool = n < 5 and n != 2\nvar x: 0..9 = 0\n"
    text += "action a:\n    require x < 2 and low(x)\n    x += 1\n"
    read = program(tmp_path, text + more)
    made = schema(read, found(read))
    model = build(made.program, None)
    watch = observed(model)
    properties = select(model, read.checks[0])
    changes = [one.change for one in made.mutants]
    number = 1 + changes.index("drop `n != 2` from `n < 5 and n != 2`")
    for engine in (INTERPRETER, LOCAL):
        outcome = engine.run(Request(watch.model, properties))
        assert number in watch.apart(outcome.coverage.marks), engine
