"""Statements are found without a look into expressions, and all of them."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest
from tests.support.agreement import model_of
from tests.support.examples import EXAMPLES, Example

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import statements, walk

STATEMENTS: tuple[type, ...] = get_args(ir.Statement)


@pytest.mark.parametrize("example", EXAMPLES[::3], ids=lambda one: one.name)
def test_they_are_those_of_all_nodes(example: Example) -> None:
    model = model_of(example.text)
    bodies = (model.initial, *(action.body for action in model.actions))
    expected = [node for node in walk(bodies) if isinstance(node, STATEMENTS)]
    found = [*statements(bodies)]
    assert len(found) == len(expected) > 0
    assert all(one is other for one, other in zip(found, expected, strict=True))


def test_they_stand_in_statements_alone() -> None:
    kinds = [kind for kind in vars(ir).values() if isinstance(kind, type)]
    nodes = [kind for kind in kinds if issubclass(kind, ir.Node) and kind is not ir.Node]
    holding = {kind for kind in nodes for item in fields(kind) if "Statement" in str(item.type)}
    assert holding - {ir.Action} <= {*STATEMENTS}
    forms = {str(item.type) for kind in holding for item in fields(kind)}
    assert {one for one in forms if "Statement" in one} == {"Statement", "tuple[Statement, ...]"}
