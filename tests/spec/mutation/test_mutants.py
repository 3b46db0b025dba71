"""The changes of a spec, and their positions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from fencepost.spec.elaborate.claims.program import Program, build, load
from fencepost.spec.mutation.mutants import Mutant, mutants, mutated, same

HEAD = """\
enum Colour: Red, Green
var x: 0..9 = 0
var colour: Colour? = none
var q: seq[0..9, 3] = []
union Message: Ping(n: 0..9), Pong
channel net: Message capacity 3
terminal: true
"""


def program(folder: Path, text: str, **modules: str) -> Program:
    for name, body in modules.items():
        (folder / f"{name}.fence").write_text(body, encoding="utf-8")
    path = folder / "spec.fence"
    path.write_text(text, encoding="utf-8")
    return load(path)


def mutants_of(read: Program) -> tuple[Mutant, ...]:
    return mutants(read, [build(read, check) for check in read.checks])


# Text that follows HEAD, and its changes, in order.
CASES: dict[str, tuple[str, list[str]]] = {
    "guard": (
        "action a:\n    require x == 0\n    x = 1\n",
        ["guard: remove `require x == 0`", "update: remove `x = 1`"],
    ),
    "parts of a guard": (
        "action a:\n    require x == 0 and x != 2 and x != 3\n",
        [
            "guard: remove `require x == 0 and x != 2 and x != 3`",
            "condition: drop `x != 3` from `x == 0 and x != 2 and x != 3`",
            "condition: drop `x == 0` from `x == 0 and x != 2`",
            "condition: drop `x != 2` from `x == 0 and x != 2`",
        ],
    ),
    "alternatives": (
        "action a:\n    require x == 0 or x == 2\n",
        [
            "guard: remove `require x == 0 or x == 2`",
            "condition: drop `x == 0` from `x == 0 or x == 2`",
            "condition: drop `x == 2` from `x == 0 or x == 2`",
        ],
    ),
    "fairness": (
        "fair action a: x = 1\nstrongly fair role R:\n    action b: x = 2\n"
        "    fair action c: x = 3\nproperty P: eventually x == 3\n",
        [
            "fairness: nothing is owed: drop `fair`",
            "update: remove `x = 1`",
            "fairness: nothing is owed: drop `strongly fair`",
            "update: remove `x = 2`",
            "fairness: nothing is owed: drop `fair`",
            "update: remove `x = 3`",
        ],
    ),
    "fairness that nobody asks for": (
        "fair action a: x = 1\n",
        ["update: remove `x = 1`"],
    ),
    "boundaries": (
        "action a:\n    require x < 3\n    if x >= 2: skip\n",
        [
            "guard: remove `require x < 3`",
            "condition: `<` becomes `<=` in `x < 3`",
            "branch: never take the branch `if x >= 2`",
            "branch: always take the branch `if x >= 2`",
            "condition: `>=` becomes `>` in `x >= 2`",
        ],
    ),
    "where of a head": (
        "action a(y in 0..9, z in 0..9) where y < z"
        " on Ping(n) from net where n == y and x == 0: x = n\n",
        [
            "guard: drop the condition `y < z`",
            "condition: `<` becomes `<=` in `y < z`",
            "guard: drop the condition `n == y and x == 0`",
            "condition: drop `n == y` from `n == y and x == 0`",
            "condition: drop `x == 0` from `n == y and x == 0`",
            "update: remove `x = n`",
        ],
    ),
    "lets of a block": (
        "def d(n: 0..9): bool =\n    let b = n + x\n    b < 5\n    b != 2\n"
        "action a:\n    require d(1)\n",
        [
            "condition: drop the line `b < 5`",
            "condition: drop the line `b != 2`",
            "condition: `<` becomes `<=` in `b < 5`",
            "guard: remove `require d(1)`",
        ],
    ),
    "branches": (
        "action a:\n    if x == 0: return\n    elif x == 1: q.append(x)\n    else: x = 2\n",
        [
            "branch: never take the branch `if x == 0`",
            "branch: always take the branch `if x == 0`",
            "branch: remove `return`",
            "branch: never take the branch `if x == 1`",
            "branch: always take the branch `if x == 1`",
            "update: remove `q.append(x)`",
            "update: remove `x = 2`",
        ],
    ),
    "receiving": (
        "action a on Ping(==x) from net: send Pong to net\n",
        ["guard: accept any value for `==x`", "update: remove `send Pong to net`"],
    ),
    "cases": (
        "action a on Ping as m from net:\n    match m:\n        case Ping(==x): x = 1\n"
        "        case _: x = 2\n",
        [
            "guard: accept any value for `==x`",
            "update: remove `x = 1`",
            "update: remove `x = 2`",
        ],
    ),
    "lines": (
        "def d(n: int): bool =\n    n == 1\n    n != 2\ndef e(n: int): bool =\n    n == 1\n"
        "    n != 2\n    d(n)\naction a:\n    require e(x)\n",
        [
            "condition: drop the line `n == 1`",
            "condition: drop the line `n != 2`",
            "condition: drop the line `n == 1`",
            "condition: drop the line `n != 2`",
            "condition: drop the line `d(n)`",
            "guard: remove `require e(x)`",
        ],
    ),
    "choices": (
        "action a:\n    pick y in 0..3 where y != 1\n    let z = choose w in 0..3 where w == y\n"
        "    for v in {u for u in 0..1 if u == z}: x = v\n",
        [
            "guard: drop the condition `y != 1`",
            "guard: drop the condition `w == y`",
            "guard: drop the condition `u == z`",
            "update: remove `x = v`",
        ],
    ),
    "conditional values": (
        "action a: x = if x == 0 then 1 else 2\n",
        [
            "update: remove `x = if x == 0 then 1 else 2`",
            "branch: never take the branch `if x == 0`",
            "branch: always take the branch `if x == 0`",
        ],
    ),
    "defs and procedures that are used": (
        "def d(n: int): bool = n < 2\ndef unused: bool = x < 3\nprocedure p: x = 1\n"
        "procedure never: x = 2\naction a:\n    require d(x)\n    p()\n"
        "invariant I: unused or true\n",
        [
            "condition: `<` becomes `<=` in `n < 2`",
            "update: remove `x = 1`",
            "guard: remove `require d(x)`",
            "update: remove `p()`",
        ],
    ),
    "switches": (
        "const On: bool = true\nconst N: int = 3\naction a:\n    require On\n",
        ["switch: On = false", "guard: remove `require On`"],
    ),
    "properties, ghosts and assertions are left alone": (
        "ghost var g: 0..1 = 0\nghost var h: 0..1 = 0\naction a:\n    g = if x < 1 then 1 else 0\n"
        "    if x < 2:\n        h = 1\n    assert x < 3\ninvariant I: x < 4 and g < 2\n"
        "reachable R: x < 5\nconstraint C: x < 6\n",
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_changes(name: str, tmp_path: Path) -> None:
    text, expected = CASES[name]
    changes = mutants_of(program(tmp_path, HEAD + text))
    assert [f"{mutant.kind}: {mutant.change}" for mutant in changes] == expected
    for mutant in changes:
        assert mutant.kind == "switch" or mutant.span.text in text
        assert mutant.where


def test_a_change_leaves_the_original_program(tmp_path: Path) -> None:
    read = program(tmp_path, HEAD + "action a:\n    require x < 3\n    x = 1\n")
    before = build(read, None)
    guard, boundary, update = mutants_of(read)
    models = [build(mutated(read, mutant), None) for mutant in (guard, boundary, update)]
    assert not any(same(model, before) for model in models)
    assert not any(same(a, b) for a, b in pairwise(models))
    assert len(models[0].guards) == len(before.guards) - 1
    assert same(build(read, None), before)


def test_a_change_of_nothing_is_the_same_model(tmp_path: Path) -> None:
    read = program(tmp_path, HEAD + "action a:\n    if true: x = 1\n    else: x = 2\n")
    before = build(read, None)
    never, always, *_ = mutants_of(read)
    assert always.change == "always take the branch `if true`"
    assert same(build(mutated(read, always), None), before)
    assert not same(build(mutated(read, never), None), before)


def test_a_switch_changes_the_default_not_a_check(tmp_path: Path) -> None:
    text = (
        "const On: bool = true\naction a:\n    require On\n    x = 1\n"
        "check default:\n    expect ok\ncheck given:\n    const On = true\n    expect ok\n"
    )
    read = program(tmp_path, HEAD + text)
    switch = mutants_of(read)[0]
    assert switch.kind == "switch"
    default, explicit = read.checks
    assert not same(build(mutated(read, switch), default), build(read, default))
    assert same(build(mutated(read, switch), explicit), build(read, explicit))


def test_modules_are_changed_where_they_are_used(tmp_path: Path) -> None:
    counting = (
        "param const Most: int\nvar n: 0..9 = 0\naction up:\n    require n < Most\n    n += 1\n"
    )
    properties = "def small(n: int): bool = n < 3 and n >= 0\n"
    unused = "var u: 0..9 = 0\naction change:\n    require u < 3\n    u = 1\n"
    text = (
        "import counting with Most = 3\nimport properties\nimport unused\n"
        "invariant I: properties.small(counting.n) or true\nterminal: true\n"
    )
    read = program(tmp_path, text, counting=counting, properties=properties, unused=unused)
    changes = [(mutant.span.source.name, mutant.change) for mutant in mutants_of(read)]
    name = str(tmp_path / "counting.fence")
    assert changes == [
        (name, "remove `require n < Most`"),
        (name, "`<` becomes `<=` in `n < Most`"),
        (name, "remove `n += 1`"),
    ]
    guard = mutants_of(read)[0]
    assert not same(build(mutated(read, guard), None), build(read, None))
