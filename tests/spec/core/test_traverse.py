"""The traversal of statements finds all of them without descending into expressions."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest
from tests.support.agreement import model_of
from tests.support.examples import RANGED, Example

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import statements, walk

STATEMENTS: tuple[type, ...] = get_args(ir.Statement)


@pytest.mark.parametrize("example", RANGED[::3], ids=lambda example: example.name)
def test_all_statements_are_visited(example: Example) -> None:
    model = model_of(example.text)
    bodies = (model.initial, *(action.body for action in model.actions))
    expected = [node for node in walk(bodies) if isinstance(node, STATEMENTS)]
    visited = [*statements(bodies)]
    assert len(visited) == len(expected) > 0
    assert all(first is second for first, second in zip(visited, expected, strict=True))


def test_only_statements_contain_statements() -> None:
    kinds = [kind for kind in vars(ir).values() if isinstance(kind, type)]
    nodes = [kind for kind in kinds if issubclass(kind, ir.Node) and kind is not ir.Node]
    holding = {kind for kind in nodes for item in fields(kind) if "Statement" in str(item.type)}
    assert holding - {ir.Action} <= {*STATEMENTS}
    forms = {str(item.type) for kind in holding for item in fields(kind)}
    assert {form for form in forms if "Statement" in form} == {"Statement", "tuple[Statement, ...]"}
