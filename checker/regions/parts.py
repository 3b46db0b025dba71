"""Expressions under way, and how terms are taken apart, put together and observed.

A `Part` knows its shape at once; what it becomes is made when the flow has been solved. Whatever
looks at a term notes what it saw: see `facts` for what that means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeAlias

from fencepost.checker.regions.facts import Compared, Met, Refused, Seen, Widened
from fencepost.checker.regions.shapes import PLAIN, Leaf, Plain, Shape, Shapes, term
from fencepost.spec.core import ir
from fencepost.spec.core.ir import BOOL
from fencepost.spec.core.types import Int, Integer, Machine, Number, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Note, Problem
from fencepost.spec.text.source import Span

Make: TypeAlias = Callable[[], ir.Expr]
Scope: TypeAlias = Mapping[int, Shape]
"""The shapes of what the slots stand for."""

TRUE = ir.Literal(BOOL, True)
FALSE = ir.Literal(BOOL, False)


@dataclass(frozen=True, slots=True)
class Part:
    """An expression of a type, as the spec has it, and its shape; ``make`` builds what it becomes,
    once, when the flow is solved.
    """

    type: Type
    shape: Shape
    make: Make
    span: Span | None = None

    @property
    def leaf(self) -> Leaf:
        """The leaf of an integer."""
        assert isinstance(self.shape, Leaf), self.shape
        return self.shape.root

    @property
    def number(self) -> Number:
        """The type of an integer."""
        assert isinstance(self.type, Integer), self.type
        return self.type


@dataclass(slots=True)
class Bench:
    """What making the parts of one model shares: its shapes, the next free slot, the constant
    ``symbol`` and its value in this run, the kinds of observations by number, the constants that
    meet terms in a field whatever happens, and what is refused.
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
        """Notes a problem; what stands there is of no importance any more."""
        self.problems.append(Problem(code, span, message, notes))

    def forbid(self, part: Part, what: str, span: Span | None) -> Make:
        """``part``, which must not hold a term; ``what`` says what it is used as."""

        def make() -> ir.Expr:
            self.known(part.shape, what, part.span or span)
            return part.make()

        return make

    def known(self, shape: Shape, what: str, span: Span | None) -> None:
        """Refuses terms in a value, behind solving."""
        if self.shapes.symbolic(shape):
            self.refuse(
                "F811",
                span,
                f'what may depend on "{self.symbol}" cannot be {what} in a search of all its values'
                " at once",
            )

    def no_arithmetic(self, what: str) -> str:
        """What to say of an operation whose result is no term."""
        return (
            f'a number that depends on "{self.symbol}" can have a constant added or taken away in a'
            f" search of all its values at once, and {what}"
        )

    # ------------------------------------------------------------ observations

    def number(self, seen: Seen) -> int:
        """The number of a kind of observation."""
        if seen not in self.numbers:
            self.numbers[seen] = len(self.seen)
            self.seen.append(seen)
        return self.numbers[seen]

    def field(self, leaf: Leaf) -> int:
        """The number under which is observed what a field holds."""
        root = leaf.root
        if root.number is None:
            root.number = len(self.seen)
            self.seen.append(Met(root.number, _width(root.type), root.ordered))
        return root.number

    # ------------------------------------------------------------ terms

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def bound(self, value: ir.Expr, body: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
        """``body`` of a value that is evaluated once, before it."""
        if isinstance(value, ir.Local | ir.Literal | ir.Variable):
            return body(value)
        slot = self.slot()
        inner = body(ir.Local(value.type, slot, span=value.span))
        return ir.Let(inner.type, slot, value, inner, span=inner.span)

    def value(self, part: Part, made: ir.Expr) -> ir.Expr:
        """What an integer is worth in this run; ``made`` may be used more than once."""
        if not part.leaf.symbolic:
            return made
        worth = ir.GetField(part.leaf.type, made, 0, span=part.span)
        return self.as_type(worth, part.number)

    def symbolic(self, part: Part, made: ir.Expr) -> ir.Expr:
        """Whether it moves with the symbolic constant."""
        return ir.GetField(BOOL, made, 1) if part.leaf.symbolic else FALSE

    def as_type(self, value: ir.Expr, kind: Type) -> ir.Expr:
        """An integer, known to be one of a type."""
        return value if value.type == kind else ir.Convert(kind, value, span=value.span)

    def built(self, kind: Number, value: ir.Expr, symbolic: ir.Expr) -> ir.Expr:
        """A term."""
        value = self.as_type(value, kind)
        if isinstance(value, ir.Literal) and isinstance(symbolic, ir.Literal):
            return ir.Literal(term(kind), (value.value, symbolic.value), span=value.span)
        return ir.MakeRecord(term(kind), (value, symbolic), span=value.span)

    def flowing(self, part: Part, target: Leaf) -> Make:
        """An integer that goes to a leaf, before solving; what it becomes there."""
        self.shapes.flow(part.leaf, target)
        return lambda: self._arrived(part, target.root)

    def _arrived(self, part: Part, target: Leaf) -> ir.Expr:
        made = part.make()
        if not target.symbolic or (part.leaf.symbolic and part.leaf.type == target.type):
            return made
        return self.bound(
            made,
            lambda x: self.built(target.type, self.value(part, x), self.symbolic(part, x)),
        )

    def stored(self, part: Part, shape: Shape) -> Make:
        """A value that goes into a field of the state, or into a value that may: it meets there
        all that is and ever was in that field.
        """
        if isinstance(shape, Plain):
            return part.make
        if not isinstance(shape, Leaf):
            self.shapes.join(shape, part.shape)
            self.shapes.widen(shape, part.type)
            return part.make
        arrived = self.flowing(part, shape)

        def make() -> ir.Expr:
            made, target = arrived(), shape.root
            if not target.symbolic:
                return made
            match made:
                case ir.Literal(value=(int(number), False)):
                    self.constants.add((self.field(target), number))
                    return made
                case _:
                    pass
            return self.bound(
                made,
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
        """A comparison of integers, made; observed where a term takes part."""
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
        """A comparison of integers that are made, and may be used more than once."""
        x, y = self.value(left, a), self.value(right, b)
        test = _comparison(operator, x, y, span)
        tags = [self.symbolic(left, a), self.symbolic(right, b)]
        known = [tag for tag in tags if tag is not FALSE]
        if not known:
            return test
        number = self.number(Compared(operator, _width(left.type)))
        condition = known[0] if len(known) == 1 else ir.Or(tuple(known))
        return ir.Observe(BOOL, number, condition, (x, tags[0], y, tags[1]), test, span=span)

    def inside(self, part: Part, made: ir.Expr, target: Number, span: Span | None) -> ir.Expr:
        """Whether an integer lies in the range of a type, as two comparisons."""
        kind = part.number
        tests: list[ir.Expr] = []
        for operator, number, outside in (
            (">=", target.low, kind.low < target.low),
            ("<=", target.high, kind.high > target.high),
        ):
            if outside:
                end = self.constant(number, kind)
                args = (part, made, end, end.make())
                if operator == ">=":
                    args = (end, end.make(), part, made)
                tests.append(self.observed("<=", *args, span))
        return tests[0] if len(tests) == 1 else ir.And(tuple(tests), span=span)

    def constant(self, number: int, kind: Number) -> Part:
        """A known number beside numbers of a type."""
        type = Int(number, number) if isinstance(kind, Int) else kind
        return Part(type, self.shapes.leaf(type), lambda: ir.Literal(type, number))

    # ------------------------------------------------------------ observations of one term

    def widened(self, part: Part, made: ir.Expr, body: ir.Expr) -> ir.Expr:
        """``body``, where a term of a machine type goes on in a wider type."""
        bits = _width(part.type)
        assert bits is not None
        number = self.number(Widened(bits))
        condition = self.symbolic(part, made)
        return ir.Observe(body.type, number, condition, (self.value(part, made),), body)

    def refusing(self, condition: ir.Expr, problem: Problem, body: ir.Expr) -> ir.Expr:
        """``body``; a run that meets it where the condition holds is refused."""
        number = self.number(Refused(problem))
        return ir.Observe(body.type, number, condition, (), body, span=body.span)


def truth(make: Make, span: Span | None) -> Part:
    """A part of type bool."""
    return Part(BOOL, PLAIN, make, span)


def _width(kind: Type) -> int | None:
    """The bits at which numbers of a type wrap; None: they do not."""
    return kind.bits if isinstance(kind, Machine) else None


def _comparison(operator: str, left: ir.Expr, right: ir.Expr, span: Span | None) -> ir.Expr:
    if operator == "==":
        return ir.Equal(left, right, span=span)
    return ir.Less(left, right, operator == "<=", span=span)
