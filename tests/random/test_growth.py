"""The variety of random specs: they contain every node of the core, and types of every shape inside
each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import get_args

import pytest
from tests.strategies import grown, grown_large
from tests.strategies.orbits import grown as grown_orbits
from tests.strategies.symbolic import grown_symbolic
from tests.support.agreement import model_of
from tests.support.steps_agreement import comparing

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Enum,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    bits,
)
from fencepost.spec.text.problem import Rejected

GENERATORS: dict[str, Callable[[int], str]] = {
    "usual": grown,
    "large": grown_large,
    "symbolic": grown_symbolic,
    "orbits": grown_orbits,
}
SEEDS = {"usual": 100, "large": 120, "symbolic": 10, "orbits": 40}
"""The number of fixed specs per generator."""
NODES = {node.__name__ for node in (*get_args(ir.Expr), *get_args(ir.Statement))}
SHAPES = (Bool, Int, Machine, Enum, Record, Union, Option, Map, Set, Seq, Bag)
OPERATORS = {member.name for member in (*Operator, *ir.SetOperator)}
COLLECTIONS = ("Set", "Seq", "Bag")
WIDE = {"a value wider than a word", "a variable without bits"}

GROWN = {
    # `Observe` occurs only in specs that `fencepost mutate` creates.
    "usual": NODES - {"Symbol", "Observe"} | OPERATORS,
    "large": {
        *(NODES - {"Symbol", "Observe"} | OPERATORS | WIDE),
        *(f"{kind.__name__} is compared" for kind in SHAPES),
        *(
            f"{inner.__name__} in {outer}"
            for outer, inner in product(("Record", "Union", "Option", "Map", *COLLECTIONS), SHAPES)
            if (outer, inner) != ("Option", Option)
        ),
        *(
            f"{node} of {kind}"
            for node, kind in product(("Add", "Build", "Collect", "Contains", "Size"), COLLECTIONS)
        ),
    },
    "symbolic": {"Symbol"},
    "orbits": {"Set in Set", "Record in Set", "Enum in Map", "Map of a record"},
}
"""The features that the specs of each generator must have at least."""


def features(model: ir.Model) -> Iterator[str]:
    """Yields the features of a model."""
    for variable in model.variables:
        yield from _nested(variable.type)
        if bits(variable.type) > 64:
            yield "a value wider than a word"
        elif not bits(variable.type):
            yield "a variable without bits"
    for root in (model.initial, *(action.body for action in model.actions), *model.properties):
        for node in walk(root if isinstance(root, ir.Node) else root.body):
            yield type(node).__name__
            match node:
                case ir.Arithmetic(operator=operator) | ir.SetAlgebra(operator=operator):
                    yield operator.name
                case ir.Less(left=left):
                    yield f"{type(left.type).__name__} is compared"
                case ir.Add() | ir.Remove() | ir.Build() | ir.Collect():
                    yield f"{type(node).__name__} of {type(node.type).__name__}"
                case ir.Contains(collection=inner) | ir.Size(collection=inner):
                    yield f"{type(node).__name__} of {type(inner.type).__name__}"
                case _:
                    pass


def _nested(kind: Type) -> Iterator[str]:
    """Yields each shape inside a type together with the shape around it."""
    inside: tuple[Type, ...] = ()
    match kind:
        case Record(fields=fields):
            inside = tuple(item.type for item in fields)
        case Union(variants=variants):
            inside = tuple(item.type for variant in variants for item in variant.fields)
        case Map(key, value):
            inside = key, value
            if isinstance(key, Record):
                yield "Map of a record"
        case Option(element) | Set(element) | Seq(element) | Bag(element):
            inside = (element,)
        case _:
            pass
    for part in inside:
        yield f"{type(part).__name__} in {type(kind).__name__}"
        yield from _nested(part)


@cache
def counted(generator: str) -> Counter[str]:
    """Counts, for each feature, the random specs of a generator that have the feature."""
    counts: Counter[str] = Counter()
    for seed in range(SEEDS[generator]):
        try:
            model = model_of(GENERATORS[generator](seed))
        except Rejected:
            # A spec with symmetric types may show an order of their values.
            assert generator in ("orbits", "symbolic"), seed
            continue
        counts.update({*features(comparing(model, seed) if generator == "large" else model)})
    return counts


@pytest.mark.parametrize("generator", GENERATORS)
def test_everything_is_grown(generator: str) -> None:
    missing = GROWN[generator] - set(counted(generator))
    assert not missing
