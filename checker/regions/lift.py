"""Lifts a model: turns a model with a symbolic constant into a model without one. Each integer that
may derive from the constant becomes a term, and every use of a term is observed.

The result is an ordinary core model. Every engine can run it, and its states are distinguished by
their terms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeAlias, assert_never

from fencepost.checker.regions.collections import given, has_bit_set
from fencepost.checker.regions.expressions import Expressions
from fencepost.checker.regions.facts import Seen
from fencepost.checker.regions.parts import TRUE, Bench, Make, Scope
from fencepost.checker.regions.shapes import (
    Holder,
    MapShape,
    NamedShape,
    Shape,
    Shapes,
    TupleShape,
)
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import with_children
from fencepost.spec.core.types import Record, Seq, Union, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class LiftedModel:
    """The result of lifting. ``model`` is the model to run, and ``seen`` contains the kinds of
    observations by number. ``constants`` are the constants that always meet terms in a field, each
    with the number of the kind of observation.
    """

    model: ir.Model
    seen: tuple[Seen, ...]
    constants: frozenset[tuple[int, int]]


def lift(model: ir.Model, pilot: Value, properties: Collection[int]) -> LiftedModel | list[Problem]:
    """Lifts a model for a run with the value ``pilot`` for its only symbolic constant, an integer.
    Returns the lifted model, or all reasons why the model cannot be run for all values at once.
    Properties that are not searched for are omitted.
    """
    (symbol,) = model.symbols
    return _Lifting(model, Bench(Shapes(), model.slots, symbol.path, pilot), properties).run()


class _Lifting:
    def __init__(self, model: ir.Model, bench: Bench, properties: Collection[int]) -> None:
        self.model = model
        self.bench = bench
        self.shapes = bench.shapes
        self.searched = model.searched(properties)
        self.variables = [self.shapes.fresh(variable.type) for variable in model.variables]
        self.expressions = Expressions(bench, self.variables)

    def run(self) -> LiftedModel | list[Problem]:
        model, bench = self.model, self.bench
        self.expressions.choices.append([])
        initial = self.statement(model.initial, {})
        self.expressions.choices.clear()
        actions: list[MakeStatement] = []
        for action in model.actions:
            self.expressions.here = action.span
            self.expressions.choices.append([])
            actions.append(self.statement(action.body, {}))
        properties: list[Make] = []
        for number, item in enumerate(model.properties):
            self.expressions.here = item.span
            is_searched = number in self.searched.every
            properties.append(
                self.expressions.expr(item.body, {}).make if is_searched else _nothing
            )
        self.shapes.solve()
        lifted = replace(
            model,
            variables=tuple(map(self.variable, model.variables, self.variables)),
            initial=initial(),
            actions=tuple(
                replace(action, body=make())
                for action, make in zip(model.actions, actions, strict=True)
            ),
            properties=tuple(
                replace(item, body=make())
                for item, make in zip(model.properties, properties, strict=True)
            ),
            slots=bench.slots,
            symbols=(),
        )
        if bench.problems:
            return bench.problems
        return LiftedModel(lifted, tuple(bench.seen), frozenset(bench.constants))

    def variable(self, variable: ir.StateVariable, shape: Shape) -> ir.StateVariable:
        kind = self.shapes.type_of(variable.type, shape)
        if has_bit_set(variable.type, kind):
            self.bench.refuse(
                "F811",
                variable.span,
                f'a value that may depend on "{self.bench.symbol}" cannot be an element of a set '
                "without a"
                " capacity in a search of all its values at once",
                (None, "a set with a capacity, set[T, 4], may hold it"),
            )
        self.keys(shape, variable.span, set())
        return replace(variable, type=kind)

    def keys(self, shape: Shape, span: Span, seen: set[Record | Union]) -> None:
        """Checks that all keys within a shape are constant."""
        match shape:
            case MapShape(key, value):
                self.bench.known(key, "a key", span)
                self.keys(value, span, seen)
            case Holder(element):
                self.keys(element, span, seen)
            case NamedShape(kind) if kind not in seen:
                seen.add(kind)
                for tag in range(1 if isinstance(kind, Record) else len(kind.variants)):
                    for part in self.shapes.fields(kind, tag):
                        self.keys(part, span, seen)
            case TupleShape(parts):
                for part in parts:
                    self.keys(part, span, seen)
            case _:
                pass

    # ------------------------------------------------------------ statements

    def statement(self, statement: ir.Statement, scope: Scope) -> MakeStatement:
        see = self.expressions.expr
        self.expressions.here = statement.span or self.expressions.here

        def inner(part: ir.Statement) -> MakeStatement:
            return self.statement(part, scope)

        match statement:
            case ir.Assign(variable, path, value):
                return self.assign(statement, variable, path, value, scope)
            case ir.Bind(slot, value, body):
                bound = see(value, scope)
                makes = [bound.make, self.statement(body, {**scope, slot: bound.shape})]
            case ir.Pick(slot, domain, condition, body=body):
                over = see(domain, scope)
                shape = self.expressions.element(over)
                self.expressions.choices[-1].append(shape)
                within = {**scope, slot: shape}
                tests = [see(part, within).make for part in given(condition)]
                makes = [over.make, *tests, self.statement(body, within)]
            case ir.ForEach(slot, domain, body):
                over = see(domain, scope)
                if not isinstance(over.type, Seq):
                    self.shapes.order(over.shape)
                within = {**scope, slot: self.expressions.element(over)}
                makes = [over.make, self.statement(body, within)]
            case ir.Require(condition) | ir.Assert(condition) | ir.Ensure(condition):
                makes = [see(condition, scope).make]
            case ir.If(condition, then, otherwise):
                makes = [see(condition, scope).make, inner(then), inner(otherwise)]
            case ir.Sequence(statements):
                makes = [inner(part) for part in statements]
            case ir.Block(body=body):
                makes = [inner(body)]
            case ir.Leave() | ir.Mark():
                makes = []
            case _:
                assert_never(statement)
        return lambda: with_children(statement, [make() for make in makes])

    def assign(
        self,
        statement: ir.Assign,
        variable: int,
        path: tuple[ir.Step, ...],
        value: ir.Expr,
        scope: Scope,
    ) -> MakeStatement:
        bench, see = self.bench, self.expressions.expr
        shape = self.variables[variable]
        steps: list[Callable[[], ir.Step | ir.Expr]] = []
        for step in path:
            match step, shape:
                case ir.FieldStep(index), NamedShape() | TupleShape():
                    steps.append(_same(step))
                    shape = self.shapes.parts(shape)[index]
                case ir.KeyStep(key), MapShape(_, inner):
                    at = self.expressions.key(see(key, scope), shape, statement.span)
                    steps.append(_key(at))
                    shape = inner
                case ir.IndexStep(place), Holder(inner):
                    at = bench.forbid(see(place, scope), "an index", statement.span)
                    steps.append(_index(at))
                    shape = inner
                case _:
                    raise AssertionError(f"{step} leads into {shape}")
        steps.append(bench.stored(see(value, scope), shape))
        return lambda: with_children(statement, [make() for make in steps])


MakeStatement: TypeAlias = Callable[[], ir.Statement]


def _nothing() -> ir.Expr:
    return TRUE


def _same(step: ir.Step) -> Callable[[], ir.Step]:
    return lambda: step


def _key(make: Make) -> Callable[[], ir.Step]:
    return lambda: ir.KeyStep(make())


def _index(make: Make) -> Callable[[], ir.Step]:
    return lambda: ir.IndexStep(make())
