"""Represents expressions as terms, with the conditions under which they are reached and under which
they fail.

The callbacks of the fold are pure, so loops call them once for each element. `collections` handles
collections, and `domain` handles statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from fencepost.checker.request import Unsupported
from fencepost.checker.symbolic import order, terms, values
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree, V
from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import exceeds_64_bits
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Machine, Map, Seq, Type, Union, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.call_stack import deep, levels
from fencepost.spec.semantics.domain import AtIndex, AtKey, Place

Path: TypeAlias = tuple[Truth, ...]
"""A conjunction of conditions, in the order of execution."""


MAX_UNROLLED = 1_000
"""The maximum number of recursive calls that one call is unrolled to."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A site at which evaluation fails or, with ``assertion``, an assertion fails, and the
    condition under which this happens.
    """

    condition: Truth
    site: int
    assertion: bool


class SymbolicExpressions:
    """Implements the operations of `Domain` on values other than collections. V is `values.V`.

    ``store`` contains the values of the variables. For a step property, ``after`` contains their
    values after the step. ``enabled_in`` returns the truth of `ir.Enabled`. ``symbols`` contains
    the values of the symbolic constants.
    """

    def __init__(
        self,
        kinds: Sequence[Type],
        store: Sequence[Tree],
        after: Sequence[Tree] | None = None,
        enabled_in: Callable[[int, Sequence[V]], Truth] | None = None,
        symbols: Sequence[Tree] = (),
    ) -> None:
        self._kinds = kinds
        self.store = list(store)
        self._after = after
        self._enabled_in = enabled_in
        self._symbols = symbols
        self._path: Path | None = ()
        self._reached: list[Truth] = []
        self._functions: dict[tuple[int, ...], Callable[[Sequence[V]], V]] = {}
        self._unrolled = 0
        self.failures: list[Failure] = []

    # ------------------------------------------------------------ paths

    @property
    def path(self) -> Truth:
        """The condition under which execution reaches the current point."""
        return False if self._path is None else terms.both(*self._path)

    def _go_on(self, condition: Truth) -> None:
        """Adds a condition to the path."""
        if condition is False:
            self._path = None
        elif self._path is not None and condition is not True:
            self._path = (*self._path, condition)

    def _fail_unless(self, condition: Truth, site: int, assertion: bool) -> None:
        reached = terms.both(*self._reached)
        failing = terms.both(self.path, reached, terms.negation(condition))
        if failing is not False:
            self.failures.append(Failure(failing, site, assertion))
            self._go_on(terms.either(terms.negation(reached), condition))

    def _under(self, condition: Truth, body: Callable[[], Tree]) -> Tree:
        """Evaluates ``body``, which is part of an expression and is only reached if the condition
        holds.
        """
        if condition is True:
            return body()
        self._reached.append(condition)
        result = body()
        self._reached.pop()
        return result

    # ------------------------------------------------------------ leaves and binding

    def constant(self, value: Value, type: Type) -> V:
        return V(type, values.tree_of(type, value))

    def symbol(self, index: int, type: Type) -> V:
        return V(type, self._symbols[index])

    def variable(self, index: int, next: bool, type: Type) -> V:
        if not next:
            return V(self._kinds[index], self.store[index])
        assert self._after is not None
        return V(self._kinds[index], self._after[index])

    def let(self, value: V, body: Callable[[V], V]) -> V:
        return body(value)

    def demand(self, condition: V, site: int, body: Callable[[], V]) -> V:
        self._fail_unless(condition.tree, site, False)
        if condition.tree is not False:
            return body()
        self._reached.append(False)
        result = body()
        self._reached.pop()
        return result

    def recursion(
        self, expr: ir.Recursion, arguments: Sequence[V], body: Callable[[Sequence[V]], V]
    ) -> V:
        self._functions[expr.slots] = body
        outside, self._unrolled = self._unrolled, 0
        with deep(levels(expr)):
            result = body(arguments)
        self._unrolled = outside
        return result

    def recall(self, expr: ir.Recall, arguments: Sequence[V]) -> V:
        if False in self._reached:
            return V(expr.type, values.least_tree(expr.type))
        self._unrolled += 1
        if self._unrolled > MAX_UNROLLED:
            limit = f"at most {MAX_UNROLLED} calls"
            raise Unsupported(f"it unrolls a recursive definition to {limit}")
        return self._functions[expr.slots](arguments)

    def witness(self, mark: int, condition: V) -> V:
        return condition

    def observe(self, number: int, condition: V, operands: Sequence[V], body: Callable[[], V]) -> V:
        return body()

    # ------------------------------------------------------------ truth

    def negation(self, operand: V) -> V:
        return V(ir.BOOL, terms.negation(operand.tree))

    def conjunction(self, parts: Sequence[Callable[[], V]]) -> V:
        result: Truth = True
        for part in parts:
            if result is False:
                break
            truth = self._under(result, tree_of(part))
            result = terms.both(result, truth)
        return V(ir.BOOL, result)

    def disjunction(self, parts: Sequence[Callable[[], V]]) -> V:
        result: Truth = False
        for part in parts:
            if result is True:
                break
            truth = self._under(terms.negation(result), tree_of(part))
            result = terms.either(result, truth)
        return V(ir.BOOL, result)

    def conditional(
        self, condition: V, then: Callable[[], V], otherwise: Callable[[], V], type: Type
    ) -> V:
        truth = condition.tree
        if isinstance(truth, bool):
            return then() if truth else otherwise()
        yes = self._under(truth, tree_of(then))
        no = self._under(terms.negation(truth), tree_of(otherwise))
        return V(type, values.chosen(truth, yes, no, type))

    # ------------------------------------------------------------ numbers

    def arithmetic(self, operator: Operator, left: V, right: V, type: Type) -> V:
        width: int | None
        if isinstance(type, Machine):
            width = type.bits
        else:
            low, high = values.bounds(type)
            width = None if exceeds_64_bits(low, high) else terms.width_of(low, high)
        return V(type, terms.arithmetic(operator, left.tree, right.tree, width))

    def between(self, number: V, low: int, high: int) -> V:
        return V(ir.BOOL, terms.inside(number.tree, low, high))

    def equal(self, left: V, right: V) -> V:
        if left.type != right.type:
            right = self.convert(right, right.type, left.type)
        return V(ir.BOOL, order.equal(left.tree, right.tree, left.type))

    def less(self, left: V, right: V, or_equal: bool) -> V:
        if or_equal:
            return V(ir.BOOL, terms.negation(order.less(right.tree, left.tree, left.type)))
        return V(ir.BOOL, order.less(left.tree, right.tree, left.type))

    # ------------------------------------------------------------ records, unions, options

    def record(self, fields: Sequence[V], type: Type) -> V:
        return V(type, tuple(part.tree for part in fields))

    def field(self, record: V, index: int, type: Type) -> V:
        return V(type, record.tree[index])

    def variant(self, tag: int, fields: Sequence[V], type: Type) -> V:
        return V(type, values.variant_tree(type, tag, [part.tree for part in fields]))

    def has_tag(self, union: V, tag: int) -> V:
        return V(ir.BOOL, terms.same_number(union.tree[0], tag))

    def payload(self, union: V, tag: int, index: int, type: Type) -> V:
        assert isinstance(union.type, Union)
        return V(type, values.payload_trees(union.type.variants[tag].fields, union.tree)[index])

    def some(self, value: V, type: Type) -> V:
        return V(type, (True, value.tree))

    def is_some(self, option: V) -> V:
        return V(ir.BOOL, option.tree[0])

    def content(self, option: V, type: Type) -> V:
        return V(type, option.tree[1])

    def replace(self, base: V, place: Place[V], value: V, type: Type) -> V:
        match place, type:
            case ir.FieldStep(index), _:
                parts = list(base.tree)
                parts[index] = value.tree
                return V(type, tuple(parts))
            case AtKey(key), Map(key_type, inner):
                matches = order.position(key_type, key.tree)
                pairs = zip(matches, base.tree, strict=True)
                return V(type, tuple(values.chosen(w, value.tree, old, inner) for w, old in pairs))
            case AtIndex(index), Seq(inner, capacity):
                matches = values.indexed(capacity, index.tree)
                pairs = zip(matches, base.tree[1], strict=True)
                items = tuple(values.chosen(w, value.tree, old, inner) for w, old in pairs)
                return V(type, (base.tree[0], items))
            case _:
                raise AssertionError((place, type))

    def convert(self, value: V, source: Type, target: Type) -> V:
        raise NotImplementedError

    def enabled(self, action: int, choices: Sequence[V]) -> V:
        assert self._enabled_in is not None
        return V(ir.BOOL, self._enabled_in(action, choices))


def tree_of(value: Callable[[], V]) -> Callable[[], Tree]:
    """Returns a function that computes the structure of the value instead of the value."""
    return lambda: value().tree
