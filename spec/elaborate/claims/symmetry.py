"""Enforces the restrictions for models with symmetric types, and defines the meaning of their
quantifiers.

Everything that exposes an order of symmetric values, or of values that contain them, is reported
with a fix. Whether a quantifier is defined must not depend on such an order either. Therefore a
quantifier whose body can fail evaluates the body for all elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar, assert_never, cast

from fencepost.spec.core import ir
from fencepost.spec.core.exchange import Exchanging, is_symmetric, symmetric_types
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import (
    Node,
    assigned,
    bodies,
    children,
    may_fail,
    rebuilt,
    statements,
    variables_read,
    walk,
)
from fencepost.spec.core.types import Bag, Bool, Int, Seq, Set, as_collection, describe
from fencepost.spec.elaborate.base.context import Elaboration
from fencepost.spec.records import replace
from fencepost.spec.semantics.concrete import evaluate_constant
from fencepost.spec.text.source import Span

T = TypeVar("T")

_ALIKE = "its values are interchangeable"


def without_order(work: Elaboration, model: ir.Model) -> ir.Model:
    """Returns the model with quantifiers that evaluate their bodies for all elements where
    necessary. The model may have symmetric types. Reports every dependence on the order of a
    symmetric type (F803, F846).
    """
    bodies: list[tuple[ir.Node, Span | None]] = [(model.initial, None)]
    bodies += [(action.body, action.span) for action in model.actions]
    # Refinements are left out: a search for one visits all states, and a refinement maps names to
    # names. Predicates of formulas are checked as written, since a quantifier does not name values,
    # even though it is expanded into all of them.
    bodies += [
        (prop.body, prop.span)
        for prop in model.properties
        if prop.abstract is None and not prop.kind.is_part
    ]
    bodies += [(expr, expr.span) for expr in work.quantified]
    # Without variables, the initial statements are conditions, which have spans.
    first = model.variables[0].span if model.variables else None
    for body, span in bodies:
        Look(work).at(body, span or first)
    return of_all_elements(model)


def of_all_elements(model: ir.Model) -> ir.Model:
    """Returns the model with quantifiers that are defined only if their bodies are defined for all
    elements. Only quantifiers whose elements are ordered by a symmetric type are changed.
    """
    return replace(
        model,
        initial=of_every(model.initial),
        actions=tuple(replace(part, body=of_every(part.body)) for part in model.actions),
        properties=tuple(replace(part, body=of_every(part.body)) for part in model.properties),
    )


def of_every(value: T) -> T:
    """Returns ``value`` with quantifiers that are defined only if their bodies are defined for all
    elements (see `of_all_elements`).
    """
    inside = rebuilt(value, of_every)
    replaced = _quantified(inside)
    return cast("T", inside if replaced is None else replaced)


def _quantified(value: object) -> ir.Expr | None:
    """Returns an expression that evaluates the body of the quantifier ``value`` for all elements.
    Returns None if ``value`` need not be replaced.
    """
    match value:
        case ir.Quantified(every, slot, domain, body) if _unordered(domain) and may_fail(body):
            truths = ir.Collect(Set(Bool()), slot, domain, None, body, span=value.span)
            contained = ir.Contains(truths, ir.Literal(Bool(), not every), span=value.span)
            return ir.Not(contained, span=value.span) if every else contained
        case _:
            return None


def _unordered(domain: ir.Expr) -> bool:
    """Returns whether the order of the elements depends on the order of a symmetric type."""
    kind = as_collection(domain.type)
    return not isinstance(kind, Seq) and is_symmetric(kind)


COMPARING = (ir.Literal, ir.Less, ir.ForEach)
"""Types of nodes that may depend on the order of values although no operand has the role of a
collection (see `signatures`). A test compares the cases of `Look.at` with these nodes and with
those that have such an operand, so that no type of node is accepted by default.
"""


class Look:
    """Examines a part of a model. ``counted`` contains the ids of sequences whose order does not
    matter.
    """

    def __init__(self, work: Elaboration) -> None:
        self.work = work
        self.counted: set[int] = set()

    def at(self, node: Node, span: Span | None) -> None:
        """Reports each dependence on order in ``node``. Problems refer to ``span`` if the node has
        no span.
        """
        if isinstance(node, ir.Node) and node.span is not None:
            span = node.span
        match node:
            case ir.Literal(kind, value) if is_symmetric(kind) and not _is_fixed(node):
                self._tell("F803", span, f"the value {show(value, kind)} depends on the order of"
                    f" {describe(kind)}, but a symmetric type has none ({_ALIKE})")  # fmt: skip
            case ir.Less(left) if is_symmetric(left.type):
                self._ordered(span, describe(left.type), "compare with == or !=")
            case ir.Extreme(collection=domain) if is_symmetric(as_collection(domain.type)):
                self._ordered(span, describe(domain.type), "an action may `pick` one")
            case ir.Find(domain=domain) if is_symmetric(as_collection(domain.type)):
                cure = "an action may `pick` one, and a property may use `exists`"
                self._ordered(span, describe(domain.type), cure)
            case (
                ir.Sum(collection=inner) | ir.Extreme(collection=inner) | ir.Size(collection=inner)
            ):
                self._count(inner)
            case ir.Occurrences(collection=inner) | ir.Contains(collection=inner):
                self._count(inner)
            case ir.Collect(Seq(element), domain=domain) | ir.Gather(
                Seq(element), domain=domain
            ) if _unordered(domain):
                if id(node) not in self.counted or is_symmetric(element):
                    self._ordered(span, describe(domain.type), "make a set of it, or a map")
            case ir.Fold(domain=domain) if _unordered(domain) and not _adds(node):
                cure = "use `sum`, `|` or `&`, or a quantifier"
                self._ordered(span, describe(domain.type), cure)
            case ir.ForEach(slot, domain, body) if _unordered(domain):
                for reason in _why_rounds_differ(slot, body):
                    self._ordered(span, describe(domain.type), reason)
                    break
            case ir.Subsets():
                pass
            case ir.Quantified():
                # `of_all_elements` makes its value independent of the order.
                pass
            case _:
                pass
        if isinstance(node, ir.Gather) and id(node) in self.counted:
            self._count(node.parts)
        for part in children(node):
            self.at(part, span)

    def _count(self, inner: ir.Expr) -> None:
        self.counted.add(id(inner))

    def _tell(self, code: str, span: Span | None, message: str) -> None:
        assert span is not None, message
        self.work.report(code, span, message)

    def _ordered(self, span: Span | None, kind: str, cure: str) -> None:
        message = f"this depends on the order of {kind}, but a symmetric type has none ({_ALIKE})"
        self._tell("F846", span, f"{message}; {cure}")


def _is_fixed(literal: ir.Literal) -> bool:
    """Returns whether a literal remains unchanged when values of symmetric types are exchanged."""
    return all(
        evaluate_constant(Exchanging((), 0, enum, index, index + 1).moved(literal)) == literal.value
        for enum in symmetric_types([literal.type])
        for index in range(len(enum.members) - 1)
    )


def _adds(fold: ir.Fold) -> bool:
    """Returns whether each round adds a value to a number, or combines a set with a value, and the
    value does not depend on the accumulator. The order of such rounds does not matter.
    """
    body, checked = fold.body, False
    match body:
        case ir.Let(
            value=value,
            body=ir.Demand(condition=ir.Fits(), body=ir.Convert(operand=ir.Local())),
        ):
            body, checked = value, True
        case _:
            pass
    match body:
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise) if (
            _unconverted(otherwise) == ir.Local(fold.type, fold.accumulator)
            and not _uses(condition, fold.accumulator)
            and not may_fail(condition)
        ):
            body = then
        case _:
            pass
    body = _unconverted(body)
    match body:
        case ir.Arithmetic(Int(), Operator.ADD, left, right):
            pass
        case ir.SetAlgebra(_, ir.SetOperator.UNION | ir.SetOperator.INTERSECTION, left, right):
            pass
        case _:
            return False
    sides = [side for side in (left, right) if side != ir.Local(fold.type, fold.accumulator)]
    if len(sides) != 1 or _uses(sides[0], fold.accumulator) or may_fail(sides[0]):
        return False
    # Unless all amounts have the same sign, an intermediate sum may be out of range.
    amount = sides[0].type
    return not checked or not isinstance(amount, Int) or amount.low >= 0 or amount.high <= 0


def _unconverted(expr: ir.Expr) -> ir.Expr:
    return _unconverted(expr.operand) if isinstance(expr, ir.Convert) else expr


def _uses(expr: ir.Expr, slot: int) -> bool:
    return any(isinstance(node, ir.Local) and node.slot == slot for node in walk(expr))


def _why_rounds_differ(slot: int, body: ir.Statement) -> Iterator[str]:
    """Yields a fix for each cause that makes the rounds of a loop depend on their order."""
    labels = {node.label for node in statements(body) if isinstance(node, ir.Block)}
    exits = {"error"} if may_fail(body) else set[str]()
    for node in statements(body):
        match node:
            case ir.Pick():
                yield "the loop picks a value: give the action a parameter, or pick before the loop"
            case ir.Leave(label):
                if label not in labels:
                    yield "a `return` in the loop skips later rounds: use `if`"
            case ir.Assert():
                exits.add("assert")
            case ir.Ensure():
                exits.add("error")
            case ir.Require():
                exits.add(f"require {id(node)}")
            case (
                ir.Sequence() | ir.Assign() | ir.Bind() | ir.If() | ir.ForEach() | ir.Block()
                | ir.Mark()
            ):  # fmt: skip
                # None of these statements ends a round. `_touches` examines their reads and
                # assignments.
                pass
            case _:
                assert_never(node)
    if len(exits) > 1:
        yield "more than one thing can end the loop (a `require`, a full channel, an error): take" \
            " it apart, or read what may fail into a `let` before the loop"  # fmt: skip
    written = assigned(body)
    apart: dict[int, tuple[ir.Step, ...]] = {}
    assigns = [node for node in statements(body) if isinstance(node, ir.Assign)]
    for node in assigns:
        before = _before_own_key(slot, node)
        if before is not None and apart.setdefault(node.variable, before) != before:
            yield _APART
    if any(n.variable in apart and _before_own_key(slot, n) is None for n in assigns):
        yield _APART
    yield from _touches(slot, body, written, apart)


_APART = "two rounds may assign the same variable: assign only x[c], where c is the loop variable"
_GATHERED = (
    "two rounds may assign the same variable: add elements to a set or bag, send to unordered or"
    " persistent channels, or assign x[c]"
)


def _before_own_key(slot: int, node: ir.Assign) -> tuple[ir.Step, ...] | None:
    """Returns the path to a map if the assignment changes only the map's entry for the value of the
    loop variable. Returns None for any other assignment.
    """
    for index, step in enumerate(node.path):
        match step:
            case ir.KeyStep(ir.Local(slot=key)) if key == slot:
                return node.path[:index]
            case _:
                pass
    return None


def _touches(
    slot: int,
    node: ir.Statement,
    written: frozenset[int],
    apart: Mapping[int, tuple[ir.Step, ...]],
) -> Iterator[str]:
    """Yields a fix for each read or write of a round that conflicts with a write of another
    round.
    """
    inner = bodies(node)
    read: list[Node] = [part for part in children(node) if not any(part is body for body in inner)]
    match node:
        case ir.Assign(variable, path, value):
            added = value if variable in apart else _added(variable, path, value)
            if added is None:
                yield _GATHERED
                return
            read = [*path, added]
        case ir.Ensure(condition) | ir.Require(condition):
            if _is_room(condition, written - apart.keys()):
                read = []
        case _:
            pass
    if any(_reads_written(slot, part, written, apart) for part in read):
        yield "a round reads what another one may have assigned: read it into a `let` before" \
            " the loop"  # fmt: skip
    for part in inner:
        yield from _touches(slot, part, written, apart)


def _reads_written(
    slot: int, node: Node, written: frozenset[int], apart: Mapping[int, tuple[ir.Step, ...]]
) -> bool:
    """Returns whether an expression or step reads something that another round may have assigned.
    In a variable of ``apart``, a round may read the entry for its own value.
    """
    match node:
        case ir.Get(_, map, ir.Local(slot=key)) if key == slot and any(
            _reads(variable, path, map) for variable, path in apart.items()
        ):
            return False
        case ir.Variable(index=index):
            return index in written
        case _:
            return any(_reads_written(slot, part, written, apart) for part in children(node))


def _added(variable: int, path: tuple[ir.Step, ...], value: ir.Expr) -> ir.Expr | None:
    """Returns the element that an assignment adds to a set or bag in the variable, or None if the
    assignment does anything else.
    """
    match value:
        case ir.Add(Set() | Bag(), collection, element) if _reads(variable, path, collection):
            return element
        case _:
            return None


def _reads(variable: int, path: tuple[ir.Step, ...], expr: ir.Expr) -> bool:
    """Returns whether an expression is the value at a path in a variable."""
    for step in reversed(path):
        match step, expr:
            case ir.KeyStep(key), ir.Get(_, inner, other) if key == other:
                expr = inner
            case ir.FieldStep(index), ir.GetField(_, inner, other) if index == other:
                expr = inner
            case _:
                return False
    return isinstance(expr, ir.Variable) and expr.index == variable and not expr.next


def _is_room(condition: ir.Expr, gathered: frozenset[int]) -> bool:
    """Returns whether a condition requires room in a channel that rounds send to. The order of the
    rounds does not affect how many times such a condition is false, since every message is sent
    after one. A condition written in the spec is inside a coverage mark, so it is never mistaken
    for one.
    """
    match condition:
        case ir.Less(ir.Size(_, inner), ir.Literal()):
            pass
        case ir.Or((ir.Contains(inner), ir.Less(ir.Size(_, other), ir.Literal()))) if (
            inner == other
        ):
            pass
        case _:
            return False
    return variables_read(inner) <= gathered and not may_fail(inner)
