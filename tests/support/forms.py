"""The newer forms of the language that a random spec contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from tests.strategies.continuing import AFTER, BEFORE
from tests.strategies.modules import files
from tests.support.syntax_trees import tree

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Set
from fencepost.spec.syntax import nodes

FORMS = (
    "group fairness",
    "tuple",
    "narrowing",
    "continuation line",
    "within constraint",
    "expect inconclusive",
    "fold",
    "recursion",
    "match expression",
    "large type",
)
MANY = 256
"""A set of more values is computed one value at a time."""


def forms(text: str, model: ir.Model) -> list[str]:
    """Returns the forms in a spec, in the order of `FORMS`."""
    found = {form for part in files(text).values() for form in _written(part)}
    roots = (model.initial, *(action.body for action in model.actions), *model.properties)
    for root in roots:
        for node in walk(root if isinstance(root, ir.Node) else root.body):
            match node:
                case ir.Universe(type=Set(element)) if not countable(element, MANY):
                    found.add("large type")
                case ir.Recursion():
                    found.add("recursion")
                case _:
                    pass
    return [form for form in FORMS if form in found]


def _written(text: str) -> Iterator[str]:
    lines = [line.partition("#")[0].split() for line in text.splitlines() if line[:1] == " "]
    if any(words and (words[0] in BEFORE or words[-1] in AFTER) for words in lines):
        yield "continuation line"
    for node in _nodes(tree(text).declarations):
        match node:
            case nodes.FairDecl():
                yield "group fairness"
            case nodes.Tuple() | nodes.TuplePattern():
                yield "tuple"
            case nodes.Comprehension() | nodes.Quantifier() | nodes.Fold() | nodes.Choose():
                if any(isinstance(part, nodes.Is) for part in _nodes(node.condition)):
                    yield "narrowing"
                if isinstance(node, nodes.Fold):
                    yield "fold"
            case nodes.PropertyDecl(within=True):
                yield "within constraint"
            case nodes.ExpectVerdict(verdict="inconclusive"):
                yield "expect inconclusive"
            case nodes.MatchValue():
                yield "match expression"
            case _:
                pass


def _nodes(part: object) -> Iterator[nodes.Node]:
    """Yields the nodes of a syntax tree."""
    if isinstance(part, tuple):
        for item in part:  # pyright: ignore[reportUnknownVariableType]
            yield from _nodes(item)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(part, nodes.Node):
        yield part
        for field in fields(part):
            if field.name != "span":
                yield from _nodes(getattr(part, field.name))
