"""The changes that mutate a spec, and their positions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.text_tables import blocks

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


CASES = {
    block.name: block.text.split("---\n")
    for block in blocks(Path(__file__).with_name("mutants.txt"))
}
"""Texts that follow HEAD, each with its changes in order."""
FAIR = ("fairness", "fairness of groups")
"""The texts with a property of behaviours, which a schema of all changes does not decide."""


@pytest.mark.parametrize("name", CASES)
def test_changes(name: str, tmp_path: Path) -> None:
    text, expected = CASES[name]
    changes = mutants_of(program(tmp_path, HEAD + text))
    assert [f"{mutant.kind}: {mutant.change}" for mutant in changes] == expected.splitlines()
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
