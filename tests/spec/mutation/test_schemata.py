"""All changes of a spec in one model, where each number selects the spec with that change."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from tests.spec.mutation.test_mutants import CASES, FAIR, HEAD, mutants_of, program

from fencepost.checker.native.family import Family
from fencepost.checker.reference.search import ENGINE
from fencepost.checker.request import Limits, Request
from fencepost.checker.tools.state_graph import same_graph
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import build, select
from fencepost.spec.mutation.mutants import Filtered, Removed, mutated, same
from fencepost.spec.mutation.schemata import schema, told_apart
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.syntax.nodes import Statement

MORE = {
    "lines": (
        "def d(n: int): bool =\n    n < 3\n    n >= 0 or n > 8\n    n != 1\n"
        "action a:\n    pick y in 0..9\n    require d(y)\n    x = y\n"
    ),
    "one thing in many ways": (
        "action a:\n    pick y in 0..9\n"
        "    require y > 1 and (y <= 5 or y >= 7 and y < 9) and y != 3\n"
        "    if y > 3 and x == 0: return\n    elif y == 2: x = 1\n    else: x = y\n"
        "    colour = if x == 4 or y == 4 then Red else if x < 5 then Green else none\n"
    ),
    "conditions that are changed themselves": (
        "action a:\n    pick y in 0..4\n    if exists z in 0..3: z == x and y != 1: x = y\n"
        "    elif forall z in 0..3 if z > 1: z < y: x = 5\n"
        "    elif if y == 1 then x < 2 else x > 3: x = 6\n"
    ),
    "every statement": (
        "var last: Message = Ping(1)\nprocedure add(n: 0..9):\n    if n == 9: return\n    x = n\n"
        "def d(n: 0..9): bool = exists z in {k for k in 0..n if k > 2}: z == x\n"
        "action a(y in 0..3) where y != 2:\n"
        "    require d(y) or y == choose z in 0..9 where z == x\n"
        "    for z in 0..1:\n        if z > 0: add(y)\n"
        "    assert x < 10\n    send Ping(y) to net\n"
        "action b on Ping(n) from net where n > 0:\n    pick y in 0..3 where y > n\n"
        "    require fold(k: 0..9, z in 0..3 if z > 1 from n: y) > 0\n"
        "    match last:\n        case Ping(m): x = m\n        case Pong: skip\n"
        "    last = Pong\n    q.append(y)\n"
        "    x = match last: case Ping(==x): y; case Ping(m) as p: m; case Pong: x\n"
    ),
    "what may fail": "action a:\n    require x < 9\n    x += 1\n    if x > 3: q.append(x)\n",
}
# The search for all mutants does not decide temporal properties; each mutant is searched for them
# separately.
TEXTS = {**{name: text for name, (text, _) in CASES.items() if name not in FAIR}, **MORE}


def reached(model: Model) -> set[State]:
    """Returns all states that are reached by steps without errors."""
    runner = Runner(model)
    seen = {step.state for step in runner.initial() if step.state is not None}
    waiting = list(seen)
    while waiting:
        new = {after for _, after in runner.expand(waiting.pop())[0]} - seen
        seen |= new
        waiting += new
    return seen


@pytest.mark.parametrize("name", TEXTS)
def test_every_number_is_its_change(name: str, tmp_path: Path) -> None:
    read = program(tmp_path, HEAD + TEXTS[name])
    woven = schema(read, mutants_of(read))
    model = build(woven.program, None)
    assert [symbol.path.split(".")[-1] for symbol in model.symbols] == ["Mutant__"]
    properties = select(model, read.checks[0])
    family = Family(Request(model, properties))
    distinguished = told_apart(model)
    assert distinguished <= {*range(len(woven.mutants) + 1)}
    unchanged = build(read, None)
    for number, mutant in enumerate((None, *woven.mutants)):
        alone = build(read if mutant is None else mutated(read, mutant), None)
        chosen = instance(model, [number])
        # A condition that depends only on constants may make the changed code unreachable.
        assert number in distinguished or same(alone, unchanged) or name == "switches"
        if not any(Runner(alone).expand(state)[1] for state in reached(alone)):
            assert same_graph(chosen, alone), mutant
        expected = ENGINE.run(Request(alone, properties=properties))
        outcome = family.run([number], Limits(workers=1))
        assert outcome.verdict is expected.verdict, mutant
        assert outcome.statistics.levels == expected.statistics.levels, mutant
        assert outcome.statistics.generated == expected.statistics.generated, mutant
        assert [finding.property for finding in outcome.findings] == [
            finding.property for finding in expected.findings
        ]


def test_every_statement_is_tried(tmp_path: Path) -> None:
    """Every kind of statement occurs among the changes or their alternatives."""
    programs = [program(tmp_path, HEAD + text) for text in TEXTS.values()]
    changed = {type(mutant.old) for each in programs for mutant in mutants_of(each)}
    assert changed >= {*get_args(Removed), *get_args(Filtered)}
    trees = [tree for each in programs for tree in each.files.files.values()]
    used = {type(node) for tree in trees for node in walk(tree.declarations)}
    assert used >= {*get_args(Statement)}


def test_changes_that_cannot_be_woven_in(tmp_path: Path) -> None:
    text = """\
const On: bool = true
var m: Message = Ping(0)
action a on Ping(==x) from net:
    require m is Ping and m.n < 5
    x = if m is Ping and On then m.n else 0
action b:
    if x == 3: return
    if m is not Ping: return
    x = m.n
"""
    read = program(tmp_path, HEAD + text)
    every = mutants_of(read)
    assert [mutant.change for mutant in every if mutant not in schema(read, every).mutants] == [
        "On = false",
        "accept any value for `==x`",
        "remove `require m is Ping and m.n < 5`",
        "drop `m is Ping` from `m is Ping and m.n < 5`",
        "never take the branch `if m is Ping and On`",
        "always take the branch `if m is Ping and On`",
        "drop `m is Ping` from `m is Ping and On`",
        "never take the branch `if m is not Ping`",
        "always take the branch `if m is not Ping`",
        "remove `return`",
    ]
    build(schema(read, every).program, None)
