"""Lifts expressions: terms take the place of integers that may be symbolic.

A model is traversed once to determine its shapes; then every part is built. An integer that may be
a term becomes a record with two fields (see `shapes.term`). The type rules of the core therefore
ensure that no term is used as a plain number by mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from fencepost.checker.regions.collections import Collecting
from fencepost.checker.regions.parts import FALSE, TRUE, Bench, Make, Part, Scope, truth
from fencepost.checker.regions.shapes import PLAIN, Holder, Leaf, Plain, Shape, TupleShape
from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.traverse import with_children
from fencepost.spec.core.type_relations import component_pairs, within
from fencepost.spec.core.types import (
    Bag,
    Int,
    Integer,
    Machine,
    Map,
    Number,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
)
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span

_TAKEN = "this takes it from a constant"


class Expressions(Collecting):
    """Builds the parts for all expressions of a model. ``variables`` are the shapes of its
    variables, and ``here`` is the current part of the spec. ``choices`` contains the shapes of the
    choices of each action traversed so far, in order. ``functions`` contains the shapes of the
    arguments and of the result of each recursion, by its slots.
    """

    def __init__(self, bench: Bench, variables: Sequence[Shape]) -> None:
        super().__init__(bench)
        self.variables = variables
        self.here: Span | None = None
        self.functions: dict[tuple[int, ...], tuple[list[Shape], Shape]] = {}
        self.choices: list[list[Shape]] = []

    def expr(self, expr: ir.Expr, scope: Scope) -> Part:
        around = self.here
        if expr.span is None:
            # The expression is not in the text, so problems are reported at the enclosing
            # expression.
            expr = replace(expr, span=around)
        self.here = expr.span
        part = self._expr(expr, scope)
        self.here = around
        return part

    def _expr(self, expr: ir.Expr, scope: Scope) -> Part:
        def see(inner: ir.Expr) -> Part:
            return self.expr(inner, scope)

        match expr:
            case ir.Literal():
                return self.literal(expr)
            case ir.Symbol(kind):
                assert isinstance(kind, Integer)
                leaf = self.shapes.leaf(kind, symbolic=True)
                return self.part(
                    expr,
                    leaf,
                    lambda new: ir.Literal(new, (self.bench.pilot, True), span=expr.span),
                )
            case ir.Variable(index=index):
                return self.again(expr, self.variables[index])
            case ir.Local(slot=slot):
                return self.again(expr, scope[slot])
            case ir.Let(_, slot, value, body):
                bound = see(value)
                inner = self.expr(body, {**scope, slot: bound.shape})
                return self.again(expr, inner.shape, bound.make, inner.make)
            case ir.Demand() | ir.Not() | ir.And() | ir.Or() | ir.Witness():
                return self.usual(expr, scope)
            case ir.Conditional():
                return self.conditional(expr, scope)
            case ir.Recursion(kind, slots, arguments, _, body):
                shapes = [self.shapes.fresh(argument.type) for argument in arguments]
                result = self.shapes.fresh(kind)
                self.functions[slots] = shapes, result
                makes = self.passed(arguments, shapes, scope)
                inner = self.expr(body, dict(zip(slots, shapes, strict=True)))
                return self.again(expr, result, *makes, self.merged(inner, result))
            case ir.Recall(_, slots, arguments):
                shapes, result = self.functions[slots]
                return self.again(expr, result, *self.passed(arguments, shapes, scope))
            case ir.Equal(left, right):
                return self.equal(expr, see(left), see(right))
            case ir.Less(left, right):
                return self.less(expr, see(left), see(right))
            case ir.Arithmetic(_, Operator.SUBTRACT, left, ir.Symbol() as right):
                return self.distance(expr, see(left), see(right))
            case ir.Arithmetic(_, operator, left, right):
                return self.arithmetic(expr, operator, see(left), see(right))
            case ir.Negate(kind, operand):
                return self.negated(expr, see(operand))
            case ir.Fits(operand, target):
                return truth(self.fits(expr, see(operand), target), expr.span)
            case ir.Convert(_, operand):
                return self.converted(expr, see(operand))
            case ir.Enabled(action, choices):
                makes = [
                    self.asked(see(choice), shape, expr.span)
                    for choice, shape in zip(choices, self.choices[action], strict=False)
                ]
                return self.again(expr, PLAIN, *makes)
            case ir.Observe():
                raise AssertionError("nothing is observed yet")
            case _:
                if isinstance(expr, ir.Structural):
                    return self.structure(expr, scope)
                return self.collection(expr, scope)

    def passed(
        self, arguments: Sequence[ir.Expr], shapes: Sequence[Shape], scope: Scope
    ) -> list[Make]:
        """Builds the arguments of a recursion, whose slots have the given shapes."""
        pairs = zip(arguments, shapes, strict=True)
        return [self.merged(self.expr(argument, scope), shape) for argument, shape in pairs]

    def asked(self, part: Part, choice: Shape, span: Span | None) -> Make:
        """Builds a value that a choice is required to have. Choices are not observed, so the value
        must not be a term.
        """

        def make() -> ir.Expr:
            determining = choice if self.shapes.symbolic(choice) else part.shape
            self.bench.known(determining, "an argument in `enabled`", part.span or span)
            return part.make()

        return make

    # ------------------------------------------------------------ leaves, branches

    def literal(self, expr: ir.Literal) -> Part:
        shape = self.shapes.fresh(expr.type)
        if isinstance(shape, Leaf | Plain):
            return Part(expr.type, shape, lambda: expr, expr.span)

        def make(new: Type) -> ir.Expr:
            for leaf, number in self.shapes.constants(expr.value, expr.type, shape):
                self.bench.constants.add((self.bench.field(leaf), number))
            value = self.shapes.value_of(expr.value, expr.type, shape)
            return ir.Literal(new, value, span=expr.span)

        return self.part(expr, shape, make)

    def conditional(self, expr: ir.Conditional, scope: Scope) -> Part:
        test = self.expr(expr.condition, scope)
        arms = [self.expr(arm, scope) for arm in (expr.then, expr.otherwise)]
        shape = self.shapes.fresh(expr.type)
        makes = [self.merged(arm, shape) for arm in arms]
        return self.again(expr, shape, test.make, *makes)

    def merged(self, part: Part, shape: Shape) -> Make:
        if isinstance(shape, Leaf):
            return self.bench.flowing(part, shape)
        self.shapes.join(shape, part.shape)
        self.shapes.widen(shape, part.type)
        return part.make

    # ------------------------------------------------------------ comparison

    def equal(self, expr: ir.Equal, left: Part, right: Part) -> Part:
        if isinstance(left.shape, Leaf) and isinstance(right.shape, Leaf):
            return truth(lambda: self.bench.compared("==", left, right, expr.span), expr.span)
        # Equal values consist of the same terms, and all of these are in the fields of one shape.
        self.shapes.join(left.shape, right.shape)
        return self.again(expr, PLAIN, left.make, right.make)

    def less(self, expr: ir.Less, left: Part, right: Part) -> Part:
        if isinstance(left.shape, Leaf) and isinstance(right.shape, Leaf):
            operator = "<=" if expr.or_equal else "<"
            return truth(lambda: self.bench.compared(operator, left, right, expr.span), expr.span)
        self.shapes.join(left.shape, right.shape)
        self.shapes.order(left.shape)
        return self.again(expr, PLAIN, left.make, right.make)

    # ------------------------------------------------------------ numbers

    def arithmetic(self, expr: ir.Arithmetic, operator: Operator, left: Part, right: Part) -> Part:
        leaf = self.shapes.leaf(_number(expr.type))
        if operator in (Operator.ADD, Operator.SUBTRACT):
            self.shapes.flow(left.leaf, leaf)
            self.shapes.flow(right.leaf, leaf)

        def make() -> ir.Expr:
            tags = left.leaf.symbolic, right.leaf.symbolic
            if not any(tags):
                return with_children(expr, (left.make(), right.make()))
            reason = self._no_term(operator, *tags)
            if reason is not None:
                self.bench.refuse("F812", expr.span, self.bench.no_arithmetic(reason))
            return self.bench.bound(
                left.make(),
                lambda a: self.bench.bound(
                    right.make(), lambda b: self._moved(expr, operator, left, a, right, b)
                ),
            )

        return Part(expr.type, leaf, make, expr.span)

    def distance(self, expr: ir.Arithmetic, left: Part, right: Part) -> Part:
        """Builds the distance of a number from the symbolic constant. The distance is constant if
        the number moves with the symbolic constant.
        """

        def make() -> ir.Expr:
            bench = self.bench
            problem = Problem("F812", expr.span, bench.no_arithmetic(_TAKEN))
            if not left.leaf.symbolic:
                bench.refuse("F812", expr.span, problem.message)
                return ir.Arithmetic(expr.type, expr.operator, left.make(), left.make())

            def difference(a: ir.Expr) -> ir.Expr:
                b = right.make()
                value = with_children(expr, (bench.value(left, a), bench.value(right, b)))
                return bench.refusing(ir.Not(bench.symbolic(left, a)), problem, value)

            return bench.bound(left.make(), difference)

        return Part(expr.type, self.shapes.fresh(expr.type), make, expr.span)

    def _no_term(self, operator: Operator, left: bool, right: bool) -> str | None:
        """Returns the reason why the result of an operation is never a term, or None if the result
        may be a term.
        """
        match operator:
            case Operator.ADD:
                return None
            case Operator.SUBTRACT:
                return None if left else _TAKEN
            case _:
                return f"this {operator.row.verb} {'it' if left else 'by it'}"

    def _moved(
        self,
        expr: ir.Arithmetic,
        operator: Operator,
        left: Part,
        a: ir.Expr,
        right: Part,
        b: ir.Expr,
    ) -> ir.Expr:
        """Builds a sum or difference of terms from their values. The result moves with the symbolic
        constant if one of the terms does.
        """
        bench = self.bench
        value = with_children(expr, (bench.value(left, a), bench.value(right, b)))
        kind = _number(expr.type)
        first, second = bench.symbolic(left, a), bench.symbolic(right, b)
        if second is FALSE:
            return bench.built(kind, value, first)
        if operator is Operator.ADD:
            if first is FALSE:
                return bench.built(kind, value, second)
            refused, reason = ir.And((first, second)), "this adds two such numbers"
            moves: ir.Expr = ir.Or((first, second))
        else:
            # The difference of two moving terms is constant.
            refused, reason = ir.And((ir.Not(first), second)), _TAKEN
            moves = ir.And((first, ir.Not(second)))
        problem = Problem("F812", expr.span, bench.no_arithmetic(reason))
        return bench.refusing(refused, problem, bench.built(kind, value, moves))

    def negated(self, expr: ir.Negate, operand: Part) -> Part:
        def make() -> ir.Expr:
            if operand.leaf.symbolic:
                why = "this takes it from zero"
                self.bench.refuse("F812", expr.span, self.bench.no_arithmetic(why))
            return operand.make()

        return self.again(expr, self.shapes.fresh(expr.type), make)

    def fits(self, expr: ir.Fits, operand: Part, target: Type) -> Make:
        """Builds a range check. For a term, it consists of two comparisons."""
        bench, shape = self.bench, operand.shape
        if isinstance(shape, Leaf) and isinstance(target, Integer):
            number = target

            def make() -> ir.Expr:
                if not operand.leaf.symbolic or within(operand.type, number):
                    return ir.Fits(self.plainly(operand), number, span=expr.span)
                return bench.bound(
                    operand.make(), lambda x: bench.inside(operand, x, number, expr.span)
                )

            return make

        def check_all() -> ir.Expr:
            return self.bench.bound(
                operand.make(), lambda x: self.all_fit(expr, operand.type, shape, x, target)
            )

        return check_all

    def plainly(self, operand: Part) -> ir.Expr:
        """Builds the value of an integer for a use that needs no observation."""
        return self.bench.bound(operand.make(), lambda x: self.bench.value(operand, x))

    def all_fit(
        self, expr: ir.Fits, kind: Type, shape: Shape, lifted: ir.Expr, target: Type
    ) -> ir.Expr:
        """Builds the test that an option or collection fits a type, including all of its terms."""
        if not self.shapes.symbolic(shape) or within(kind, target):
            return ir.Fits(lifted, self.shapes.type_of(target, shape), span=expr.span)
        match (kind, target), shape:
            case (Option(element), Option(wider)), Holder(Leaf() as leaf):
                new = self.shapes.type_of(element, leaf)
                part = Part(element, leaf, lambda: ir.Content(new, lifted))
                number = _number(wider)
                fits = self.bench.bound(
                    part.make(), lambda x: self.bench.inside(part, x, number, expr.span)
                )
                return ir.Or((ir.Not(ir.IsSome(lifted)), fits), span=expr.span)
            case (Record(), Record()), TupleShape(shapes):
                tests = [
                    self.part_fits(expr, lifted, index, pair, part_shape)
                    for index, (pair, part_shape) in enumerate(
                        zip(component_pairs(kind, target), shapes, strict=True)
                    )
                ]
                return ir.And(tuple(tests), span=expr.span)
            case _ if _same_elements(kind, target):
                return ir.Fits(lifted, self.shapes.type_of(target, shape), span=expr.span)
            case (
                (
                    (Set(element), Set(wider))
                    | (Seq(element), Seq(wider))
                    | (Bag(element), Bag(wider))
                ),
                Holder(Leaf() as leaf),
            ):
                slot = self.bench.slot()
                local = ir.Local(self.shapes.type_of(element, leaf), slot)
                part = Part(element, leaf, lambda: local)
                assert isinstance(wider, Integer)
                inside = self.bench.inside(part, local, wider, expr.span)
                return ir.And(
                    (
                        ir.Fits(lifted, self.shapes.type_of(target, shape), span=expr.span),
                        ir.Quantified(True, slot, lifted, inside, span=expr.span),
                    ),
                    span=expr.span,
                )
            case _:
                self.refuse_conversion(expr)
                return TRUE

    def part_fits(
        self, expr: ir.Fits, lifted: ir.Expr, index: int, pair: tuple[Type, Type], shape: Shape
    ) -> ir.Expr:
        """Builds the test that a component of a tuple fits a type. ``pair`` is the type of the
        component and the type that it must fit.
        """
        kind, target = pair
        field = self.shapes.type_of(kind, shape)
        part = Part(kind, shape, lambda: ir.GetField(field, lifted, index))
        return self.fits(expr, part, target)()

    def refuse_conversion(self, expr: ir.Expr) -> None:
        self.bench.refuse(
            "F813",
            expr.span,
            f'a value that may depend on "{self.bench.symbol}" cannot be narrowed in a search of '
            "all its values at once",
            (None, "compare it first, and continue with a wide enough type"),
        )

    def converted(self, expr: ir.Convert, operand: Part) -> Part:
        kind = expr.type
        if not isinstance(operand.shape, Leaf):
            if _same_numbers(operand.type, kind):
                return self.part(expr, operand.shape, lambda new: _as(new, operand.make(), expr))
            shape = self.shapes.fresh(kind)

            def whole() -> ir.Expr:
                if self.shapes.symbolic(operand.shape) or self.shapes.symbolic(shape):
                    self.refuse_conversion(expr)
                return ir.Convert(kind, operand.make(), span=expr.span)

            return Part(kind, shape, whole, expr.span)
        assert isinstance(kind, Integer)
        leaf = self.shapes.leaf(kind)
        self.shapes.flow(operand.leaf, leaf)
        may_wrap = isinstance(operand.type, Machine) and operand.type != kind
        narrower = isinstance(kind, Machine) and not within(operand.type, kind)

        def make() -> ir.Expr:
            if not operand.leaf.symbolic:
                return ir.Convert(kind, operand.make(), span=expr.span)
            if narrower:
                self.refuse_conversion(expr)

            def convert(x: ir.Expr) -> ir.Expr:
                value = ir.Convert(kind, self.bench.value(operand, x), span=expr.span)
                term = self.bench.built(leaf.root.type, value, self.bench.symbolic(operand, x))
                return self.bench.widened(operand, x, term) if may_wrap else term

            return self.bench.bound(operand.make(), convert)

        return Part(kind, leaf, make, expr.span)

    # ------------------------------------------------------------ records, unions, options

    def structure(self, expr: ir.Structural, scope: Scope) -> Part:
        def see(inner: ir.Expr) -> Part:
            return self.expr(inner, scope)

        def stored(parts: Sequence[ir.Expr], shapes: Sequence[Shape]) -> list[Make]:
            pairs = zip(parts, shapes, strict=True)
            return [self.bench.stored(see(part), shape) for part, shape in pairs]

        match expr:
            case ir.MakeRecord(kind, fields):
                shape = self.shapes.fresh(kind)
                makes = stored(fields, self.shapes.parts(shape))
                return self.again(expr, shape, *makes)
            case ir.MakeVariant(kind, tag, fields):
                assert isinstance(kind, Union)
                makes = stored(fields, self.shapes.fields(kind, tag))
                return self.again(expr, self.shapes.fresh(kind), *makes)
            case ir.GetField(_, record, index):
                whole = see(record)
                return self.again(expr, self.shapes.parts(whole.shape)[index], whole.make)
            case ir.Payload(_, union, tag, index):
                whole = see(union)
                assert isinstance(whole.type, Union)
                return self.again(expr, self.shapes.fields(whole.type, tag)[index], whole.make)
            case ir.WithField(kind, record, index, value):
                whole = see(record)
                makes = stored([value], [self.shapes.parts(whole.shape)[index]])
                return self.again(expr, whole.shape, whole.make, *makes)
            case ir.HasTag() | ir.IsSome() | ir.Some():
                return self.usual(expr, scope)
            case ir.Content(_, option):
                whole = see(option)
                return self.again(expr, self.element(whole), whole.make)
            case _:
                assert_never(expr)


def _number(kind: Type) -> Number:
    assert isinstance(kind, Integer)
    return kind


def _as(new: Type, lifted: ir.Expr, expr: ir.Convert) -> ir.Expr:
    return lifted if lifted.type == new else ir.Convert(new, lifted, span=expr.span)


def _same_elements(kind: Type, target: Type) -> bool:
    """Checks whether two collection types differ only in their capacities."""
    if not isinstance(kind, Set | Seq | Bag) or not isinstance(target, Set | Seq | Bag):
        return False
    return kind.element == target.element


def _same_numbers(left: Type, right: Type) -> bool:
    """Checks whether the integers in two types of the same shape are of the same kind: both wrap at
    the same width, or neither wraps.
    """
    match left, right:
        case Integer(), Integer():
            return left == right or (isinstance(left, Int) and isinstance(right, Int))
        case (
            (Option(a), Option(b))
            | (Set(a), Set(b))
            | (Seq(a), Seq(b))
            | (Bag(a), Bag(b))
            | (Map(_, a), Map(_, b))
        ):
            return _same_numbers(a, b)
        case _:
            return all(_same_numbers(a, b) for a, b in component_pairs(left, right))
