"""Supports the lifting of expressions: terms are built, taken apart and observed here.

The shape of a `Part` is available immediately. Its expression is built after the flow has been
solved. Everything that depends on a term records an observation; see `facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeAlias

from fencepost.checker.regions.facts import Comparison, Meeting, Refused, Seen, Widening
from fencepost.checker.regions.shapes import PLAIN, Leaf, Plain, Shape, Shapes, term
from fencepost.spec.core import ir
from fencepost.spec.core.ir import BOOL
from fencepost.spec.core.types import Int, Integer, Machine, Number, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Note, Problem
from fencepost.spec.text.source import Span

Make: TypeAlias = Callable[[], ir.Expr]
Scope: TypeAlias = Mapping[int, Shape]
"""Maps slots to the shapes of their values."""

TRUE = ir.Literal(BOOL, True)
FALSE = ir.Literal(BOOL, False)


@dataclass(frozen=True, slots=True)
class Part:
    """An expression, with its type in the spec and its shape. ``make`` builds the lifted
    expression. It is called once, after the flow has been solved.
    """

    type: Type
    shape: Shape
    make: Make
    span: Span | None = None

    @property
    def leaf(self) -> Leaf:
        """The leaf of an integer part."""
        assert isinstance(self.shape, Leaf), self.shape
        return self.shape.root

    @property
    def number(self) -> Number:
        """The type of an integer part."""
        assert isinstance(self.type, Integer), self.type
        return self.type


@dataclass(slots=True)
class Bench:
    """Data that all parts of one model share.

    ``shapes`` are the shapes of the model and ``slots`` is the next free slot. ``symbol`` is the
    symbolic constant, and ``pilot`` its value in this run. ``seen`` and ``numbers`` contain the
    kinds of observations and their numbers. ``constants`` are the constants that always meet terms
    in a field, and ``problems`` are the reasons to refuse the model.
    """

    shapes: Shapes
    slots: int
    symbol: str
    pilot: Value
    seen: list[Seen] = field(default_factory=list[Seen])
    numbers: dict[Seen, int] = field(default_factory=dict[Seen, int])
    constants: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    problems: list[Problem] = field(default_factory=list[Problem])

    # ------------------------------------------------------------ what is refused

    def refuse(self, code: str, span: Span | None, message: str, *notes: Note) -> None:
        """Records a problem. The lifted expression is no longer used after this."""
        self.problems.append(Problem(code, span, message, notes))

    def forbid(self, part: Part, use: str, span: Span | None) -> Make:
        """Returns the maker of ``part``, with a check that the part contains no term. ``use``
        describes the purpose of the part.
        """

        def make() -> ir.Expr:
            self.known(part.shape, use, part.span or span)
            return part.make()

        return make

    def known(self, shape: Shape, use: str, span: Span | None) -> None:
        """Refuses terms in values of a shape. Must be called after solving."""
        if self.shapes.symbolic(shape):
            self.refuse(
                "F811",
                span,
                f'a value that may depend on "{self.symbol}" cannot be {use} in a search of all '
                "its values"
                " at once",
            )

    def no_arithmetic(self, operation: str) -> str:
        """Returns the message about an operation whose result is not a term."""
        return (
            f'a number that depends on "{self.symbol}" can have a constant added or taken away in a'
            f" search of all its values at once, and {operation}"
        )

    # ------------------------------------------------------------ observations

    def number(self, seen: Seen) -> int:
        """Returns the number of a kind of observation, which is added if it is new."""
        if seen not in self.numbers:
            self.numbers[seen] = len(self.seen)
            self.seen.append(seen)
        return self.numbers[seen]

    def field(self, leaf: Leaf) -> int:
        """Returns the number for observations of a field, which is added if it is new."""
        root = leaf.root
        if root.number is None:
            root.number = len(self.seen)
            self.seen.append(Meeting(root.number, _width(root.type), root.ordered))
        return root.number

    # ------------------------------------------------------------ terms

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def bound(self, value: ir.Expr, body: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
        """Builds an expression that evaluates ``value`` once and then ``body``, which receives the
        value.
        """
        if isinstance(value, ir.Local | ir.Literal | ir.Variable):
            return body(value)
        slot = self.slot()
        inner = body(ir.Local(value.type, slot, span=value.span))
        return ir.Let(inner.type, slot, value, inner, span=inner.span)

    def value(self, part: Part, expr: ir.Expr) -> ir.Expr:
        """Returns the value of an integer in this run. ``expr`` may be used more than once."""
        if not part.leaf.symbolic:
            return expr
        value = ir.GetField(part.leaf.type, expr, 0, span=part.span)
        return self.as_type(value, part.number)

    def symbolic(self, part: Part, expr: ir.Expr) -> ir.Expr:
        """Returns whether an integer moves with the symbolic constant."""
        return ir.GetField(BOOL, expr, 1) if part.leaf.symbolic else FALSE

    def as_type(self, value: ir.Expr, kind: Type) -> ir.Expr:
        """Converts an integer to ``kind``. The integer must be a value of this type."""
        return value if value.type == kind else ir.Convert(kind, value, span=value.span)

    def built(self, kind: Number, value: ir.Expr, symbolic: ir.Expr) -> ir.Expr:
        """Builds a term from its value and the flag ``symbolic``, which says whether the term
        moves.
        """
        value = self.as_type(value, kind)
        if isinstance(value, ir.Literal) and isinstance(symbolic, ir.Literal):
            return ir.Literal(term(kind), (value.value, symbolic.value), span=value.span)
        return ir.MakeRecord(term(kind), (value, symbolic), span=value.span)

    def flowing(self, part: Part, target: Leaf) -> Make:
        """Connects an integer to a leaf, before solving. The returned function builds the integer
        in the form that the leaf stores.
        """
        self.shapes.flow(part.leaf, target)
        return lambda: self._arrived(part, target.root)

    def _arrived(self, part: Part, target: Leaf) -> ir.Expr:
        expr = part.make()
        if not target.symbolic or (part.leaf.symbolic and part.leaf.type == target.type):
            return expr
        return self.bound(
            expr,
            lambda x: self.built(target.type, self.value(part, x), self.symbolic(part, x)),
        )

    def stored(self, part: Part, shape: Shape) -> Make:
        """Stores a value in a field of the state, or in a value that may be stored. The value meets
        all values that the field contains at any time.
        """
        if isinstance(shape, Plain):
            return part.make
        if not isinstance(shape, Leaf):
            self.shapes.join(shape, part.shape)
            self.shapes.widen(shape, part.type)
            return part.make
        arrived = self.flowing(part, shape)

        def make() -> ir.Expr:
            expr, target = arrived(), shape.root
            if not target.symbolic:
                return expr
            match expr:
                case ir.Literal(value=(int(number), False)):
                    self.constants.add((self.field(target), number))
                    return expr
                case _:
                    pass
            return self.bound(
                expr,
                lambda x: ir.Observe(
                    x.type,
                    self.field(target),
                    TRUE,
                    (ir.GetField(target.type, x, 0), ir.GetField(BOOL, x, 1)),
                    x,
                    span=x.span,
                ),
            )

        return make

    # ------------------------------------------------------------ comparison

    def compared(self, operator: str, left: Part, right: Part, span: Span | None) -> ir.Expr:
        """Builds a comparison of integers. The comparison is observed if a term takes part in
        it.
        """
        first = left.make()
        if not left.leaf.symbolic and not right.leaf.symbolic:
            return _comparison(operator, first, right.make(), span)
        return self.bound(
            first,
            lambda a: self.bound(
                right.make(), lambda b: self.observed(operator, left, a, right, b, span)
            ),
        )

    def observed(
        self,
        operator: str,
        left: Part,
        a: ir.Expr,
        right: Part,
        b: ir.Expr,
        span: Span | None,
    ) -> ir.Expr:
        """Builds an observed comparison of lifted integers. ``a`` and ``b`` may be used more than
        once.
        """
        x, y = self.value(left, a), self.value(right, b)
        test = _comparison(operator, x, y, span)
        tags = [self.symbolic(left, a), self.symbolic(right, b)]
        moving = [tag for tag in tags if tag is not FALSE]
        if not moving:
            return test
        number = self.number(Comparison(operator, _width(left.type)))
        condition = moving[0] if len(moving) == 1 else ir.Or(tuple(moving))
        return ir.Observe(BOOL, number, condition, (x, tags[0], y, tags[1]), test, span=span)

    def inside(self, part: Part, expr: ir.Expr, target: Number, span: Span | None) -> ir.Expr:
        """Builds the test that an integer is in the range of a type, which consists of two
        comparisons.
        """
        kind = part.number
        tests: list[ir.Expr] = []
        for operator, number, outside in (
            (">=", target.low, kind.low < target.low),
            ("<=", target.high, kind.high > target.high),
        ):
            if outside:
                end = self.constant(number, kind)
                args = (part, expr, end, end.make())
                if operator == ">=":
                    args = (end, end.make(), part, expr)
                tests.append(self.observed("<=", *args, span))
        return tests[0] if len(tests) == 1 else ir.And(tuple(tests), span=span)

    def constant(self, number: int, kind: Number) -> Part:
        """Returns the part for a known number that is compared with numbers of a type."""
        type = Int(number, number) if isinstance(kind, Int) else kind
        return Part(type, self.shapes.leaf(type), lambda: ir.Literal(type, number))

    # ------------------------------------------------------------ observations of one term

    def widened(self, part: Part, expr: ir.Expr, body: ir.Expr) -> ir.Expr:
        """Returns ``body``, and observes that it converts a term of a machine type to a wider
        type.
        """
        bits = _width(part.type)
        assert bits is not None
        number = self.number(Widening(bits))
        condition = self.symbolic(part, expr)
        return ir.Observe(body.type, number, condition, (self.value(part, expr),), body)

    def refusing(self, condition: ir.Expr, problem: Problem, body: ir.Expr) -> ir.Expr:
        """Returns ``body``. A run that reaches it while the condition holds is refused."""
        number = self.number(Refused(problem))
        return ir.Observe(body.type, number, condition, (), body, span=body.span)


def truth(make: Make, span: Span | None) -> Part:
    """Builds a part of type bool."""
    return Part(BOOL, PLAIN, make, span)


def _width(kind: Type) -> int | None:
    """Returns the number of bits at which numbers of a type wrap, or None if the numbers do not
    wrap.
    """
    return kind.bits if isinstance(kind, Machine) else None


def _comparison(operator: str, left: ir.Expr, right: ir.Expr, span: Span | None) -> ir.Expr:
    if operator == "==":
        return ir.Equal(left, right, span=span)
    return ir.Less(left, right, operator == "<=", span=span)
