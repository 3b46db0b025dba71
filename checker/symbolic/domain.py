"""The symbolic domain: the meaning of the core as terms, under the condition that it is reached.

`path` is the condition under which execution reaches the present point; whatever fails there is
noted with it. A statement changes `store`, the values of the variables. Callbacks that the fold
hands over are pure, so loops call them once for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from fencepost.checker.symbolic import terms, values
from fencepost.checker.symbolic.choices import Bits, Odometer
from fencepost.checker.symbolic.terms import Number, Truth
from fencepost.checker.symbolic.values import Origin, Tree, V
from fencepost.spec.core import ir
from fencepost.spec.core.type_relations import join
from fencepost.spec.core.types import Bag, Int, Machine, Map, Option, Seq, Set, Type, Union, Value
from fencepost.spec.semantics.domain import AtIndex, AtKey, Place
from fencepost.spec.semantics.fold import updated

Path: TypeAlias = tuple[Truth, ...]
"""Conditions that hold together, in the order in which they were met."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where evaluation fails, or (``assertion``) an assertion, and under which condition."""

    condition: Truth
    site: int
    assertion: bool


@dataclass(slots=True)
class _Leave:
    """How execution reaches a point: under which condition, with which store."""

    path: Path | None
    store: list[Tree]


class SymbolicDomain:
    """See `Domain`: V is `values.V`, C is None (statements change the store).

    ``store`` are the values of the variables, ``after`` those after the step, for a property of
    steps. ``enabled_in`` gives the truth of `ir.Enabled`. ``choices`` decides what is chosen.
    ``symbols`` are the values of the symbolic constants.
    """

    def __init__(
        self,
        kinds: Sequence[Type],
        store: Sequence[Tree],
        after: Sequence[Tree] | None = None,
        enabled_in: Callable[[int, V | None], Truth] | None = None,
        choices: Bits | Odometer | None = None,
        instance: V | None = None,
        symbols: Sequence[Tree] = (),
    ) -> None:
        self._kinds = kinds
        self.store = list(store)
        self._after = after
        self._enabled_in = enabled_in
        self._choices = choices
        self._instance = instance
        self._symbols = symbols
        self._path: Path | None = ()
        self._reached: list[Truth] = []
        self.failures: list[Failure] = []
        self._leaves: dict[int, list[_Leave]] = {}

    # ------------------------------------------------------------ paths

    @property
    def path(self) -> Truth:
        """The condition under which execution reaches the present point."""
        return False if self._path is None else terms.both(*self._path)

    def _go_on(self, condition: Truth) -> None:
        """Goes on where the condition holds."""
        if condition is False:
            self._path = None
        elif self._path is not None and condition is not True:
            self._path = (*self._path, condition)

    def _fail_unless(self, condition: Truth, site: int, assertion: bool) -> None:
        here = terms.both(*self._reached)
        wrong = terms.both(self.path, here, terms.negation(condition))
        if wrong is not False:
            self.failures.append(Failure(wrong, site, assertion))
            self._go_on(terms.either(terms.negation(here), condition))

    def _under(self, condition: Truth, body: Callable[[], Tree]) -> Tree:
        """``body`` of an expression, reached where the condition holds."""
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
        return body()

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

    def arithmetic(self, operator: ir.Operator, left: V, right: V, type: Type) -> V:
        width = type.bits if isinstance(type, Machine) else terms.width_of(*values.bounds(type))
        return V(type, terms.arithmetic(operator, left.tree, right.tree, width))

    def between(self, number: V, low: int, high: int) -> V:
        return V(ir.BOOL, terms.inside(number.tree, low, high))

    def equal(self, left: V, right: V) -> V:
        if left.type != right.type:
            right = self.convert(right, right.type, left.type)
        return V(ir.BOOL, values.equal(left.tree, right.tree, left.type))

    def less(self, left: V, right: V, or_equal: bool) -> V:
        if or_equal:
            return V(ir.BOOL, terms.negation(values.less(right.tree, left.tree, left.type)))
        return V(ir.BOOL, values.less(left.tree, right.tree, left.type))

    def convert(self, value: V, source: Type, target: Type) -> V:
        return V(target, self._converted(value.tree, value.type, target))

    def _converted(self, tree: Tree, source: Type, target: Type) -> Tree:
        """A value, which fits, as one of a type of the same shape."""
        if source == target:
            return tree
        if isinstance(target, Int | Machine):
            return terms.fitted(tree, target.low, target.high)
        match source, target:
            case Option(a), Option(b):
                inner = self._converted(tree[1], a, b)
                return tree[0], values.chosen(tree[0], inner, values.least_tree(b), b)
            case Map(value=a), Map(value=b):
                return tuple(self._converted(item, a, b) for item in tree)
            case ((Set() | Seq() | Bag()), (Set() | Seq() | Bag())):
                result = V(target, values.least_tree(target))
                for present, item in self.elements(V(source, tree)):
                    inner = self._converted(item.tree, item.type, target.element)
                    grown = self.add(result, V(target.element, inner), target)
                    result = V(target, values.chosen(present, grown.tree, result.tree, target))
                return result.tree
            case _:
                raise AssertionError((source, target))

    # ------------------------------------------------------------ records, unions, options

    def record(self, fields: Sequence[V], type: Type) -> V:
        return V(type, tuple(part.tree for part in fields))

    def field(self, record: V, index: int, type: Type) -> V:
        return V(type, record.tree[index])

    def variant(self, tag: int, fields: Sequence[V], type: Type) -> V:
        assert isinstance(type, Union)
        return V(type, values.variant_tree(type, tag, [part.tree for part in fields]))

    def has_tag(self, union: V, tag: int) -> V:
        return V(ir.BOOL, terms.same_number(union.tree[0], tag))

    def payload(self, union: V, tag: int, index: int, type: Type) -> V:
        assert isinstance(union.type, Union)
        return V(type, values.payload_tree(union.type, union.tree, tag, index))

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
                where = values.position(key_type, key.tree)
                pairs = zip(where, base.tree, strict=True)
                return V(type, tuple(values.chosen(w, value.tree, old, inner) for w, old in pairs))
            case AtIndex(index), Seq(inner, capacity):
                where = values.indexed(capacity, index.tree)
                pairs = zip(where, base.tree[1], strict=True)
                items = tuple(values.chosen(w, value.tree, old, inner) for w, old in pairs)
                return V(type, (base.tree[0], items))
            case _:
                raise AssertionError((place, type))

    # ------------------------------------------------------------ collections

    def in_order(self, collection: V) -> list[tuple[Truth, V]]:
        """The possible elements in the order of the language."""
        kind = collection.type
        if isinstance(kind, Bag) or (isinstance(kind, Set) and kind.capacity is not None):
            collection = V(kind, values.ascending(collection.tree, kind.element))
        return self.elements(collection)

    def elements(self, collection: V) -> list[tuple[Truth, V]]:
        """The possible elements in any order, each with whether it is one."""
        match collection.type:
            case Set(element, None):
                known = values.all_values(element)
                return [
                    (flag, V(element, values.tree_of(element, value)))
                    for flag, value in zip(collection.tree, known, strict=True)
                    if flag is not False
                ]
            case Set(element) | Seq(element) | Bag(element):
                length, items = collection.tree
                return [
                    (present, V(element, item))
                    for place, item in enumerate(items)
                    if (present := terms.less(place, length)) is not False
                ]
            case other:
                raise AssertionError(other)

    def universe(self, type: Set) -> V:
        return V(type, (True,) * len(values.all_values(type.element)))

    def interval(self, low: V, high: V, type: Type) -> V:
        assert isinstance(type, Set)
        known = values.all_values(type.element)
        flags = [
            terms.both(
                terms.negation(terms.less(value, low.tree)),
                terms.negation(terms.less(high.tree, value)),
            )
            for value in (values.tree_of(type.element, each) for each in known)
        ]
        return V(type, tuple(flags))

    def build(self, elements: Sequence[V], type: Type) -> V:
        result = self.constant((), type)
        for element in elements:
            result = self.add(result, element, type)
        return result

    def add(self, collection: V, element: V, type: Type) -> V:
        match type:
            case Set(inner, None):
                where = values.position(inner, element.tree)
                pairs = zip(where, collection.tree, strict=True)
                return V(type, tuple(terms.either(w, flag) for w, flag in pairs))
            case Set() | Seq() | Bag():
                return self._appended(collection, element, type)
            case _:
                raise AssertionError(type)

    def _put(self, collection: V, index: Number, element: V, type: Seq) -> V:
        """The element put at an index; those from there on move up."""
        length, items = collection.tree
        inner = type.element
        result: list[Tree] = []
        for place, old in enumerate(items):
            before = items[place - 1] if place else old
            moved = values.chosen(terms.less(index, place), before, old, inner)
            here = terms.same_number(index, place)
            result.append(values.chosen(here, element.tree, moved, inner))
        return V(type, (self._length(length, 1, type), tuple(result)))

    def _length(self, length: Number, change: int, type: Seq | Bag | Set) -> Number:
        assert type.capacity is not None
        new = terms.added(length, change, terms.width_of(-1, type.capacity + 1))
        return terms.fitted(new, 0, type.capacity)

    def _appended(self, collection: V, element: V, type: Set | Seq | Bag) -> V:
        length, items = collection.tree
        inner = type.element
        pairs = enumerate(items)
        result = tuple(
            values.chosen(terms.same_number(length, place), element.tree, old, inner)
            for place, old in pairs
        )
        put = V(type, (self._length(length, 1, type), result))
        if not isinstance(type, Set):
            return put
        known = self.contains(collection, element).tree
        return V(type, values.chosen(known, collection.tree, put.tree, type))

    def remove(self, collection: V, element: V, type: Type) -> V:
        match type:
            case Set(inner, None):
                where = values.position(inner, element.tree)
                pairs = zip(where, collection.tree, strict=True)
                return V(type, tuple(terms.both(terms.negation(w), flag) for w, flag in pairs))
            case Set() | Bag() if element.origin and element.origin.tree is collection.tree:
                return self._taken(collection, element.origin.index, type)
            case Set(inner) | Bag(inner):
                length, items = collection.tree
                index: Number = 0
                found: Truth = False
                for place in reversed(range(len(items))):
                    same = terms.both(
                        terms.less(place, length), values.equal(items[place], element.tree, inner)
                    )
                    index = terms.choose_number(same, place, index)
                    found = terms.either(found, same)
                taken = self._taken(collection, index, type)
                return V(type, values.chosen(found, taken.tree, collection.tree, type))
            case _:
                raise AssertionError(type)

    def _taken(self, collection: V, index: Number, type: Seq | Bag | Set) -> V:
        """Without the element at an index; those behind it move down."""
        length, items = collection.tree
        inner = type.element
        result: list[Tree] = []
        for place, old in enumerate(items):
            behind = items[place + 1] if place + 1 < len(items) else values.least_tree(inner)
            result.append(values.chosen(terms.less(place, index), old, behind, inner))
        return V(type, (self._length(length, -1, type), tuple(result)))

    def insert_at(self, sequence: V, index: V, element: V, type: Type) -> V:
        assert isinstance(type, Seq)
        return self._put(sequence, index.tree, element, type)

    def remove_at(self, sequence: V, index: V, type: Type) -> V:
        assert isinstance(type, Seq)
        return self._taken(sequence, index.tree, type)

    def contains(self, collection: V, element: V) -> V:
        found: list[Truth] = []
        for present, item in self.elements(collection):
            target = join(item.type, element.type)
            assert target is not None
            a = self._converted(item.tree, item.type, target)
            b = self._converted(element.tree, element.type, target)
            found.append(terms.both(present, values.equal(a, b, target)))
        return V(ir.BOOL, terms.either(*found))

    def size(self, collection: V, type: Type) -> V:
        kind = collection.type
        if not isinstance(kind, Set) or kind.capacity is not None:
            return V(type, collection.tree[0])
        width = terms.width_of(0, len(collection.tree))
        total: Number = 0
        for flag in collection.tree:
            total = terms.choose_number(flag, terms.added(total, 1, width), total)
        return V(type, total)

    def algebra(self, operator: ir.SetOperator, left: V, right: V, type: Type) -> V:
        assert isinstance(type, Set)
        result = self.constant((), type)

        def grow(present: Truth, item: V) -> None:
            nonlocal result
            inner = V(type.element, self._converted(item.tree, item.type, type.element))
            grown = self.add(result, inner, type)
            result = V(type, values.chosen(present, grown.tree, result.tree, type))

        for present, item in self.elements(left):
            inside: Truth = True
            if operator is not ir.SetOperator.UNION:
                inside = self.contains(right, item).tree
                if operator is ir.SetOperator.DIFFERENCE:
                    inside = terms.negation(inside)
            grow(terms.both(present, inside), item)
        if operator is ir.SetOperator.UNION:
            for present, item in self.elements(right):
                grow(present, item)
        return result

    def at(self, sequence: V, index: V, type: Type) -> V:
        items = sequence.tree[1]
        if not items:
            return V(type, values.least_tree(type))
        return V(type, values.at(type, values.indexed(len(items), index.tree), items))

    def get(self, map: V, key: V, kind: Map) -> V:
        where = values.position(kind.key, key.tree)
        return V(kind.value, values.at(kind.value, where, map.tree))

    def build_map(self, body: Callable[[V], V], type: Map) -> V:
        keys = values.all_values(type.key)
        items = [body(V(type.key, values.tree_of(type.key, key))).tree for key in keys]
        return V(type, tuple(items))

    def holds(self, every: bool, collection: V, body: Callable[[V], V]) -> V:
        result: Truth = every
        for present, item in self.elements(collection):
            open_ = result if every else terms.negation(result)
            reached = terms.both(open_, present)
            if reached is False:
                continue
            truth = self._under(reached, tree_of(partial(body, item)))
            if every:
                result = terms.both(result, terms.either(terms.negation(present), truth))
            else:
                result = terms.either(result, terms.both(present, truth))
        return V(ir.BOOL, result)

    def fold(
        self,
        collection: V,
        start: V,
        body: Callable[[V, V], V],
        stop: Callable[[V], V] | None,
        type: Type,
    ) -> V:
        result = start.tree
        stopped: Truth = False
        for present, item in self.in_order(collection):
            reached = terms.both(present, terms.negation(stopped))
            if reached is False:
                continue
            now = V(type, result)
            new = self._under(reached, tree_of(partial(body, item, now)))
            result = values.chosen(reached, new, result, type)
            if stop is not None:
                ended = stop(V(type, result)).tree
                stopped = terms.either(stopped, terms.both(reached, ended))
        return V(type, result)

    def enabled(self, action: int, instance: V | None) -> V:
        assert self._enabled_in is not None
        return V(ir.BOOL, self._enabled_in(action, instance))

    # ------------------------------------------------------------ statements

    def sequence(self, parts: Sequence[Callable[[], None]]) -> None:
        for part in parts:
            if self._path is None:
                return
            part()

    def assign(self, variable: int, path: Sequence[Place[V]], value: V) -> None:
        kind = self._kinds[variable]
        base = V(kind, self.store[variable])
        self.store[variable] = updated(self, base, kind, path, value).tree

    def bind(self, value: V, body: Callable[[V], None]) -> None:
        body(value)

    def require(self, condition: V, guard: int) -> None:
        self._go_on(condition.tree)

    def affirm(self, condition: V, site: int) -> None:
        self._fail_unless(condition.tree, site, True)

    def ensure(self, condition: V, site: int) -> None:
        self._fail_unless(condition.tree, site, False)

    def branch(self, condition: V, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        truth = condition.tree
        if self._path is None:
            return
        if isinstance(truth, bool):
            (then if truth else otherwise)()
            return
        path, store = self._path, list(self.store)
        self._go_on(truth)
        then()
        yes = _Leave(self._path, self.store)
        self._path, self.store = path, store
        self._go_on(terms.negation(truth))
        otherwise()
        self._join(yes)

    def _join(self, other: _Leave) -> None:
        """Goes on where another way ends, too; no choices lead both ways."""
        if other.path is None:
            return
        if self._path is None:
            self._path, self.store = other.path, other.store
            return
        common = 0
        for one, two in zip(self._path, other.path, strict=False):
            if not terms.identical(one, two):
                break
            common += 1
        # Where neither way is taken, nothing is read: what they have in common is no condition.
        here, there = self._path[common:], terms.both(*other.path[common:])
        self._merge(there, other.store, self.store)
        self._path = self._path[:common]
        self._go_on(terms.one_of(terms.both(*here), there))

    def _merge(self, condition: Truth, then: list[Tree], otherwise: list[Tree]) -> None:
        columns = zip(then, otherwise, self._kinds, strict=True)
        self.store = [values.chosen(condition, a, b, kind) for a, b, kind in columns]

    def each(self, collection: V, body: Callable[[V], None]) -> None:
        for present, item in self.in_order(collection):
            self.branch(V(ir.BOOL, present), partial(body, item), lambda: None)

    def block(self, label: int, body: Callable[[], None]) -> None:
        # A label may stand in a loop, and then has a list of its own in each round.
        outer = self._leaves.get(label)
        self._leaves[label] = []
        body()
        # The last one first: it has most in common with the way to the end.
        for leave in reversed(self._leaves[label]):
            self._join(leave)
        if outer is not None:
            self._leaves[label] = outer

    def leave(self, label: int) -> None:
        self._leaves[label].append(_Leave(self._path, list(self.store)))
        self._path = None

    def mark(self, mark: int) -> None:
        """Coverage is the business of searches."""

    # ------------------------------------------------------------ choices

    def pick(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        offered: list[tuple[Truth, V]] = []
        places: list[int] = []
        for place, (present, item) in enumerate(self.elements(collection)):
            truth: Truth = present
            if condition is not None:
                asked = self._under(present, tree_of(partial(condition, item)))
                truth = terms.both(present, asked)
            if self._instance is not None and pick.label == "":
                same = values.equal(item.tree, self._instance.tree, item.type)
                truth = terms.both(truth, same)
            if truth is not False:
                offered.append((truth, item))
                places.append(place)
        if not offered:
            self._path = None
            return
        kind = offered[0][1].type
        match self._choices:
            case Odometer() as odometer:
                truth, item = offered[odometer.take(len(offered))]
                self._go_on(truth)
                body(item)
            case Bits() as bits:
                which = bits.take(len(offered))
                valid = values.picked(ir.BOOL, which, [truth for truth, _ in offered])
                self._go_on(valid)
                chosen = values.picked(kind, which, [item.tree for _, item in offered])
                index = values.picked(Int(0, len(places)), which, places)
                body(V(kind, chosen, Origin(collection.tree, index)))
            case None:
                raise AssertionError("there is nothing to choose by")


def tree_of(value: Callable[[], V]) -> Callable[[], Tree]:
    """What gives a value, as what gives its structure."""
    return lambda: value().tree
