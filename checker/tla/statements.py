"""Statements of the core as TLA+ formulas.

The language runs statements one after the other, and TLA+ relates the values before a step to those
after it; so a statement is translated together with all that follows it, under the values that the
variables have at that point. Where a branch only assigns, its values are conditional values and
what follows stands once; where it may choose, refuse or leave, what follows stands in each branch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from fencepost.checker.tla import kinds
from fencepost.checker.tla.expressions import (
    FEW,
    Scope,
    choice,
    elements,
    expression,
    joined,
    put,
)
from fencepost.checker.tla.kinds import NotExported
from fencepost.spec import ir, types
from fencepost.spec.walk import walk

SHORT = 24
"""A value of at most so many characters is written where it is used, whatever its uses."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An expression."""

    text: str


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction, a line each."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """``IF`` with formulas as its branches."""

    condition: str
    then: Formula
    otherwise: Formula


@dataclass(frozen=True, slots=True)
class Named:
    """``LET name == value IN body``."""

    name: str
    value: str
    body: Formula


@dataclass(frozen=True, slots=True)
class Some:
    """``\\E name \\in chosen : body``."""

    name: str
    chosen: str
    body: Formula


Formula: TypeAlias = Leaf | All | Fork | Named | Some
Rest: TypeAlias = Callable[[Scope], Formula]
"""What follows, under the values that the variables have then."""
Ends: TypeAlias = Mapping[int, Rest]
"""What follows each block that one may leave."""


def formula(scope: Scope, statement: ir.Statement, rest: Rest, ends: Ends) -> Formula:
    """A statement and what follows it. Raises `NotExported`."""
    match statement:
        case ir.Sequence(statements=statements):
            if not statements:
                return rest(scope)
            left = ir.Sequence(statements[1:])
            return formula(scope, statements[0], lambda now: formula(now, left, rest, ends), ends)
        case ir.Assign(variable=variable):
            value = _assigned(scope, statement)
            name = scope.names.fresh(f"{scope.model.variables[variable].name}_now")
            return _named(scope, name, value, rest(scope.assigned(variable, name)))
        case ir.Bind(slot=slot, value=value, body=body):
            text = expression(scope, value)
            name = scope.names.fresh("v")
            return _named(scope, name, text, formula(scope.bound(slot, name), body, rest, ends))
        case ir.Pick(slot=slot, domain=domain, condition=condition, label=label, body=body):
            wanted = "message" if label == "on" else label or "x"
            name = scope.names.fresh(wanted)
            inner = scope.bound(slot, name)
            parts = [formula(inner, body, rest, ends)]
            if condition is not None:
                parts.insert(0, Leaf(expression(inner, condition)))
            return Some(name, elements(scope, domain), _all(parts))
        case ir.Require(condition=condition):
            return _all([Leaf(expression(scope, condition)), rest(scope)])
        case ir.Assert(condition=condition, site=site):
            message = re.sub(r'[\\"\n]', "?", scope.model.sites[site].message)
            text = f'Assert({expression(scope, condition)}, "{message}")'
            return _all([Leaf(text), rest(scope)])
        case ir.Ensure() | ir.Mark():
            return rest(scope)
        case ir.If(condition=condition, then=then, otherwise=otherwise):
            asked = expression(scope, condition)
            if assigns_only(then) and assigns_only(otherwise):
                return rest(_merged(scope, asked, then, otherwise))
            return Fork(
                asked,
                formula(scope, then, rest, ends),
                formula(scope, otherwise, rest, ends),
            )
        case ir.ForEach():
            return formula(scope, unrolled(statement), rest, ends)
        case ir.Block(label=label, body=body):
            return formula(scope, body, rest, {**ends, label: rest})
        case ir.Leave(label=label):
            return ends[label](scope)
        case _:
            assert_never(statement)


def _all(parts: list[Formula]) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        flat += part.parts if isinstance(part, All) else [part]
    kept = [part for part in flat if part != Leaf("TRUE")]
    return kept[0] if len(kept) == 1 else All(tuple(kept))


def _named(scope: Scope, name: str, value: str, body: Formula) -> Formula:
    if _uses(body, name) < 2 or len(value) <= SHORT:
        scope.names.taken.discard(name)
        return _put(body, name, value)
    return Named(name, value, body)


def _texts(body: Formula) -> list[str]:
    match body:
        case Leaf(text):
            return [text]
        case All(parts):
            return [text for part in parts for text in _texts(part)]
        case Fork(condition, then, otherwise):
            return [condition, *_texts(then), *_texts(otherwise)]
        case Named(_, value, inner) | Some(_, value, inner):
            return [value, *_texts(inner)]
        case _:
            assert_never(body)


def _uses(body: Formula, name: str) -> int:
    return sum(len(re.findall(rf"\b{name}\b", text)) for text in _texts(body))


def _put(body: Formula, name: str, value: str) -> Formula:
    match body:
        case Leaf(text):
            return Leaf(put(text, name, value))
        case All(parts):
            return All(tuple(_put(part, name, value) for part in parts))
        case Fork(condition, then, otherwise):
            inside = (_put(part, name, value) for part in (then, otherwise))
            return Fork(put(condition, name, value), *inside)
        case Named(other, text, inner):
            return Named(other, put(text, name, value), _put(inner, name, value))
        case Some(other, text, inner):
            return Some(other, put(text, name, value), _put(inner, name, value))
        case _:
            assert_never(body)


def _assigned(scope: Scope, statement: ir.Assign) -> str:
    value = expression(scope, statement.value)
    if not statement.path:
        return value
    kind = scope.model.variables[statement.variable].type
    steps: list[str] = []
    for step in statement.path:
        match step:
            case ir.FieldStep(index=index):
                assert isinstance(kind, types.Record)
                steps.append(f".{kind.fields[index].name}")
                kind = kind.fields[index].type
            case ir.KeyStep(key=key):
                assert isinstance(kind, types.Map)
                steps.append(f"[{expression(scope, key)}]")
                kind = kind.value
            case ir.IndexStep(index=index):
                assert isinstance(kind, types.Seq)
                steps.append(f"[({expression(scope, index)} + 1)]")
                kind = kind.element
            case _:
                assert_never(step)
    return f"[{scope.variables[statement.variable]} EXCEPT !{''.join(steps)} = {value}]"


# ---------------------------------------------------------------- branches that only assign


def assigns_only(statement: ir.Statement) -> bool:
    """Whether a statement always runs to its end, in one way."""
    deciding = (ir.Pick, ir.Require, ir.Assert, ir.Block, ir.Leave)
    return not any(isinstance(node, deciding) for node in walk(statement))


def _merged(scope: Scope, asked: str, then: ir.Statement, otherwise: ir.Statement) -> Scope:
    one, other = _after(scope, then), _after(scope, otherwise)
    both = {
        index: choice(asked, one.variables[index], other.variables[index])
        for index in scope.variables
    }
    return replace(scope, variables=both)


def _after(scope: Scope, statement: ir.Statement) -> Scope:
    """The values of the variables behind a statement that only assigns."""
    match statement:
        case ir.Sequence(statements=statements):
            for one in statements:
                scope = _after(scope, one)
            return scope
        case ir.Assign(variable=variable):
            return scope.assigned(variable, _assigned(scope, statement))
        case ir.Bind(slot=slot, value=value, body=body):
            inner = _after(scope.bound(slot, expression(scope, value)), body)
            return replace(inner, slots=scope.slots)
        case ir.If(condition=condition, then=then, otherwise=otherwise):
            return _merged(scope, expression(scope, condition), then, otherwise)
        case ir.ForEach():
            return _after(scope, unrolled(statement))
        case ir.Ensure() | ir.Mark():
            return scope
        case _:
            raise AssertionError(statement)


def unrolled(loop: ir.ForEach) -> ir.Statement:
    """A loop, written out for every element that its collection may have, in order.

    The collection is looked at once, before the first turn.
    """
    kind = loop.domain.type
    match kind:
        case types.Set(element):
            if types.cardinality(element) > FEW:
                raise NotExported(f"a loop over a set of {types.describe(element)}")
            turns: list[ir.Statement] = [
                ir.If(
                    ir.Contains(loop.domain, ir.Literal(element, value)),
                    ir.Bind(loop.slot, ir.Literal(element, value), loop.body),
                    ir.Sequence(()),
                )
                for value in types.values(element)
            ]
        case types.Seq(element, most):
            number = types.Int(0, most)
            turns = [
                ir.If(
                    ir.Less(ir.Literal(number, place), ir.Size(number, loop.domain)),
                    ir.Bind(
                        loop.slot,
                        ir.At(element, loop.domain, ir.Literal(number, place)),
                        loop.body,
                    ),
                    ir.Sequence(()),
                )
                for place in range(most)
            ]
        case _:
            raise NotExported("a loop over a bag")
    return ir.Sequence(tuple(turns))


# ---------------------------------------------------------------- on paper


def lines(body: Formula) -> list[str]:
    """A formula as lines; a list of conjuncts is indented as TLA+ wants it."""
    match body:
        case Leaf(text):
            return [bare(text)]
        case All(()):
            return ["TRUE"]
        case All(parts):
            return [line for part in parts for line in _led("/\\ ", lines(part))]
        case Fork(condition, then, otherwise):
            return [
                f"IF {bare(condition)}",
                *_led("THEN ", lines(then)),
                *_led("ELSE ", lines(otherwise)),
            ]
        case Named(name, value, inner):
            return [f"LET {name} == {bare(value)}", *_led("IN  ", lines(inner))]
        case Some(name, chosen, inner):
            return [f"\\E {name} \\in {bare(chosen)} :", *_led("    ", lines(inner))]
        case _:
            assert_never(body)


def _led(lead: str, rest: list[str]) -> list[str]:
    first, *others = rest
    return [lead + first, *(" " * len(lead) + line for line in others)]


def bare(text: str) -> str:
    """``text`` without a pair of brackets around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]


def conjunction(parts: list[str]) -> Formula:
    """Expressions that all hold."""
    return _all([Leaf(part) for part in parts]) if parts else Leaf("TRUE")


def members(names: list[tuple[str, types.Type]]) -> Formula:
    """That each variable has a value of its type."""
    return conjunction([kinds.member(name, kind) for name, kind in names])


def unchanged(names: list[str]) -> str:
    """That these variables keep their values."""
    return f"UNCHANGED {names[0]}" if len(names) == 1 else f"UNCHANGED <<{', '.join(names)}>>"


def conjoined(texts: list[str]) -> str:
    """Expressions that all hold, on a line."""
    return joined(" /\\ ", texts, "TRUE")
