"""Represents collections and maps as terms. Each possible element is represented with the condition
under which it is a member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fencepost.checker.symbolic import order, terms, values
from fencepost.checker.symbolic.expressions import SymbolicExpressions, tree_of
from fencepost.checker.symbolic.terms import Number, Truth
from fencepost.checker.symbolic.values import Tree, V
from fencepost.spec.core import ir
from fencepost.spec.core.type_relations import component_pairs, join
from fencepost.spec.core.types import (
    Bag,
    Integer,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    count_values,
)


class SymbolicCollections(SymbolicExpressions):
    """Implements the operations of `Domain` on collections and maps."""

    # ------------------------------------------------------------ conversion

    def convert(self, value: V, source: Type, target: Type) -> V:
        return V(target, self._converted(value.tree, value.type, target))

    def _converted(self, tree: Tree, source: Type, target: Type) -> Tree:
        """Converts a value to a type of the same shape. The value must fit that type."""
        if source == target:
            return tree
        if isinstance(target, Integer):
            return terms.fitted(tree, target.low, target.high)
        match source, target:
            case Option(a), Option(b):
                inner = self._converted(tree[1], a, b)
                return tree[0], values.chosen(tree[0], inner, values.least_tree(b), b)
            case Map(value=a), Map(value=b):
                return tuple(self._converted(item, a, b) for item in tree)
            case Record(), Record():
                pairs = zip(tree, component_pairs(source, target), strict=True)
                return tuple(self._converted(item, *pair) for item, pair in pairs)
            case ((Set() | Seq() | Bag()), (Set() | Seq() | Bag())):
                result = V(target, values.least_tree(target))
                for present, item in self.elements(V(source, tree)):
                    inner = self._converted(item.tree, item.type, target.element)
                    grown = self.add(result, V(target.element, inner), target)
                    result = V(target, values.chosen(present, grown.tree, result.tree, target))
                return result.tree
            case _:
                raise AssertionError((source, target))

    # ------------------------------------------------------------ collections

    def in_order(self, collection: V) -> list[tuple[Truth, V]]:
        """Returns the possible elements in the order of the language."""
        kind = collection.type
        if isinstance(kind, Bag) or (isinstance(kind, Set) and kind.capacity is not None):
            collection = V(kind, order.ascending(collection.tree, kind.element))
        return self.elements(collection)

    def elements(self, collection: V) -> list[tuple[Truth, V]]:
        """Returns the possible elements in any order, each with the condition under which it is a
        member.
        """
        match collection.type:
            case Set(element, None):
                # Raises `Unsupported` if the set is only described.
                candidates = values.all_values(element)
                return [
                    (flag, V(element, values.tree_of(element, value)))
                    for flag, value in zip(collection.tree, candidates, strict=True)
                    if flag is not False
                ]
            case Set(element) | Seq(element) | Bag(element):
                length, items = collection.tree
                return [
                    (present, V(element, item))
                    for index, item in enumerate(items)
                    if (present := terms.less(index, length)) is not False
                ]
            case other:
                raise AssertionError(other)

    def universe(self, type: Set) -> V:
        return self._computed(type, lambda _: True)

    def subsets(self, collection: V, type: Set) -> V:
        kind = type.element
        empty = self.constant((), kind).tree

        def contains(tree: Tree) -> Truth:
            difference = ir.SetOperator.DIFFERENCE
            return order.equal(
                self.algebra(difference, V(kind, tree), collection, kind).tree, empty, kind
            )

        return self._computed(type, contains)

    def interval(self, low: V, high: V, type: Type) -> V:
        assert isinstance(type, Set)
        return self._computed(
            type,
            lambda number: terms.both(
                terms.negation(terms.less(number, low.tree)),
                terms.negation(terms.less(high.tree, number)),
            ),
        )

    def _computed(self, type: Set, contains: Callable[[Tree], Truth]) -> V:
        """Returns the set of the values that satisfy a condition. If the type has many values, the
        set can only be chosen from.
        """
        element = type.element
        if count_values(element, values.MAX_ELEMENTS) > values.MAX_ELEMENTS:
            return V(type, values.Described(contains))
        each = values.all_values(element)
        return V(type, tuple(contains(values.tree_of(element, value)) for value in each))

    def build(self, elements: Sequence[V], type: Type) -> V:
        result = self.constant((), type)
        for element in elements:
            result = self.add(result, element, type)
        return result

    def add(self, collection: V, element: V, type: Type) -> V:
        match type:
            case Set(inner, None):
                matches = order.position(inner, element.tree)
                pairs = zip(matches, collection.tree, strict=True)
                return V(type, tuple(terms.either(w, flag) for w, flag in pairs))
            case Set() | Seq() | Bag():
                return self._appended(collection, element, type)
            case _:
                raise AssertionError(type)

    def _put(self, collection: V, index: Number, element: V, type: Seq) -> V:
        """Inserts an element at an index. The element at that index and all later ones move up."""
        length, items = collection.tree
        inner = type.element
        result: list[Tree] = []
        for slot, old in enumerate(items):
            before = items[slot - 1] if slot else old
            moved = values.chosen(terms.less(index, slot), before, old, inner)
            at_index = terms.same_number(index, slot)
            result.append(values.chosen(at_index, element.tree, moved, inner))
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
            values.chosen(terms.same_number(length, slot), element.tree, old, inner)
            for slot, old in pairs
        )
        appended = V(type, (self._length(length, 1, type), result))
        if not isinstance(type, Set):
            return appended
        present = self.contains(collection, element).tree
        return V(type, values.chosen(present, collection.tree, appended.tree, type))

    def remove(self, collection: V, element: V, type: Type) -> V:
        match type:
            case Set(inner, None):
                matches = order.position(inner, element.tree)
                pairs = zip(matches, collection.tree, strict=True)
                return V(type, tuple(terms.both(terms.negation(w), flag) for w, flag in pairs))
            case Set() | Bag() if element.origin and element.origin.tree is collection.tree:
                return self._taken(collection, element.origin.index, type)
            case Set(inner) | Bag(inner):
                length, items = collection.tree
                index: Number = 0
                is_present: Truth = False
                for slot in reversed(range(len(items))):
                    same = terms.both(
                        terms.less(slot, length), order.equal(items[slot], element.tree, inner)
                    )
                    index = terms.choose_number(same, slot, index)
                    is_present = terms.either(is_present, same)
                removed = self._taken(collection, index, type)
                return V(type, values.chosen(is_present, removed.tree, collection.tree, type))
            case _:
                raise AssertionError(type)

    def _taken(self, collection: V, index: Number, type: Seq | Bag | Set) -> V:
        """Removes the element at an index. All later elements move down."""
        length, items = collection.tree
        inner = type.element
        result: list[Tree] = []
        for slot, old in enumerate(items):
            next_item = items[slot + 1] if slot + 1 < len(items) else values.least_tree(inner)
            result.append(values.chosen(terms.less(slot, index), old, next_item, inner))
        return V(type, (self._length(length, -1, type), tuple(result)))

    def insert_at(self, sequence: V, index: V, element: V, type: Type) -> V:
        assert isinstance(type, Seq)
        return self._put(sequence, index.tree, element, type)

    def remove_at(self, sequence: V, index: V, type: Type) -> V:
        assert isinstance(type, Seq)
        return self._taken(sequence, index.tree, type)

    def contains(self, collection: V, element: V) -> V:
        matches: list[Truth] = []
        for present, item in self.elements(collection):
            target = join(item.type, element.type)
            assert target is not None
            a = self._converted(item.tree, item.type, target)
            b = self._converted(element.tree, element.type, target)
            matches.append(terms.both(present, order.equal(a, b, target)))
        return V(ir.BOOL, terms.either(*matches))

    def size(self, collection: V, type: Type) -> V:
        kind = collection.type
        if not isinstance(kind, Set) or kind.capacity is not None:
            return V(type, collection.tree[0])
        width = terms.width_of(0, len(values.all_values(kind.element)))
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
        matches = order.position(kind.key, key.tree)
        return V(kind.value, values.at(kind.value, matches, map.tree))

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
