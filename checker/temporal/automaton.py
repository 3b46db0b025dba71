"""Builds automata for the negation of a formula. They describe, state by state, the behaviours that
violate the formula.

The negation is split into *questions*: a behaviour violates the formula exactly if some question
has a run along the behaviour. The tails of a question (see `normal`) become acceptance conditions
on states instead of nodes. The rest becomes a tableau. A node of the tableau says which predicates
are true or false now, which nodes may come next, and which promises ("some day") the node puts off.
A run is accepting if every acceptance condition holds and no promise is put off in all nodes from
some point on. Since no formula can distinguish a behaviour from the same behaviour with repeated
states, a run may also stay in a state for a while.

The translation is deterministic, and it limits its work instead of its time, so that every engine
builds the same automata and refuses the same formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from fencepost.checker.temporal.normal import (
    FALSE,
    TRUE,
    All,
    Forms,
    InfinitelyOften,
    Literal,
    TooLarge,
    Until,
    Work,
)
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.records import dataclass

MAX_NODES = 2_000
"""Maximum number of nodes in all automata of one formula."""
MAX_QUESTIONS = 200
"""Maximum number of questions of one formula. Each question is searched separately."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of an automaton.

    ``requires`` lists predicates, by number, that must be true or false in the current state.
    ``successors`` are the nodes that may follow, either in the same state or in the next one.
    ``puts_off`` contains the promises that the node does not keep.
    """

    requires: tuple[tuple[int, bool], ...]
    successors: tuple[int, ...]
    puts_off: frozenset[int]

    def allows(self, truth: Sequence[bool] | dict[int, bool]) -> bool:
        """Checks whether the values of the predicates satisfy ``requires``."""
        return all(truth[number] is value for number, value in self.requires)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A Streett condition: ``meets`` holds infinitely often, or ``stays`` holds from some state on.
    Both are formulas without temporal operators.
    """

    stays: Formula
    meets: Formula


@dataclass(frozen=True, slots=True)
class Automaton:
    """An automaton of a question. ``initial`` are the nodes for the first state. Promises are
    numbered from 0.
    """

    nodes: tuple[Node, ...]
    initial: tuple[int, ...]
    promises: int
    conditions: tuple[Acceptance, ...] = ()

    @property
    def predicates(self) -> tuple[int, ...]:
        """The predicates that the automaton depends on, in ascending order."""
        numbers = {number for node in self.nodes for number, _ in node.requires}
        for condition in self.conditions:
            numbers.update(predicates(condition.stays), predicates(condition.meets))
        return tuple(sorted(numbers))


def violating(formula: Formula, pause: Callable[[], None] = lambda: None) -> tuple[Automaton, ...]:
    """Returns the automata of the behaviours that violate a formula, one for each question. The
    result is empty if no behaviour violates the formula.

    Calls ``pause`` often; ``pause`` may raise an exception. Raises `TooLarge`.
    """
    forms = Forms(Work(pause))
    groups: dict[frozenset[int], list[int]] = {}
    for count, (conditions, rest) in enumerate(_questions(forms, forms.normal(formula, False))):
        if count >= MAX_QUESTIONS:
            raise TooLarge
        groups.setdefault(conditions, []).append(rest)
    automata: list[Automaton] = []
    for conditions, rests in groups.items():
        automata.append(_automaton(forms, forms.any(rests), conditions))
        if sum(len(automaton.nodes) for automaton in automata) > MAX_NODES:
            raise TooLarge
    return tuple(automata)


# ---------------------------------------------------------------- questions


def _questions(forms: Forms, form: int) -> Iterator[tuple[frozenset[int], int]]:
    """Yields the questions whose disjunction is ``form``. Each question consists of acceptance
    conditions and the rest of the form.
    """
    forms.work.spend(1)
    if form == FALSE:
        return
    if not forms.tails(form):
        yield frozenset(), form
        return
    options = forms.disjuncts(form)
    if len(options) > 1:
        # All parts without acceptance conditions form one question.
        yield from _questions(
            forms, forms.any(option for option in options if not forms.tails(option))
        )
        for option in options:
            if forms.tails(option):
                yield from _questions(forms, option)
        return
    parts = forms.conjuncts(form)
    conditions = {part for part in parts if forms.tails(part) and _is_condition(forms, part)}
    for part in parts:
        if forms.tails(part) and part not in conditions and not _is_often(forms, part):
            others = [other for other in parts if other != part]
            for option in forms.disjuncts(part):
                yield from _questions(forms, forms.all([*others, option]))
            return
    rest = forms.all(part for part in parts if part not in conditions)
    if rest == TRUE:
        # The automaton enters a state of ``eventually always`` directly, and has no other states.
        alone = {part for part in conditions if part & 1 and _is_often(forms, part)}
        conditions, rest = conditions - alone, forms.all(alone)
    yield frozenset(conditions), rest


def _is_often(forms: Forms, form: int) -> bool:
    """Checks whether a form is `InfinitelyOften` or its dual."""
    return isinstance(forms.node(form), InfinitelyOften)


def _is_condition(forms: Forms, form: int) -> bool:
    """Checks whether a form can be expressed as `Acceptance`. Such a form is a disjunction of at
    most one `InfinitelyOften` and at most one dual, both of conditions on a single state. Several
    `InfinitelyOften` have already been joined.
    """
    options = forms.disjuncts(form)
    return (
        all(isinstance(node := forms.node(option), InfinitelyOften) and forms.is_state(node.body)
            for option in options)
        and sum(option & 1 for option in options) < 2
    )  # fmt: skip


def _acceptance(forms: Forms, form: int) -> Acceptance:
    stays = meets = FALSE
    for option in forms.disjuncts(form):
        node = forms.node(option)
        assert isinstance(node, InfinitelyOften)
        if option & 1:
            stays = node.body ^ 1
        else:
            meets = node.body
    return Acceptance(forms.condition(stays), forms.condition(meets))


# ---------------------------------------------------------------- the tableau


class _Tableau:
    """Computes the ways to satisfy forms.

    A way is a bit set of the literals required now, the forms left for the next state, and the
    promises put off. A way subsumes all supersets of its bits.
    """

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.literals: dict[int, int] = {}
        self.rest: dict[int, int] = {}
        self.put_off: dict[int, int] = {}
        self._bits = 0
        self._positive = 0
        self._known: dict[int, list[int]] = {TRUE: [0], FALSE: []}

    def _bit(self, of: dict[int, int], form: int) -> int:
        if form not in of:
            of[form] = 1 << self._bits
            self._bits += 1
        return of[form]

    def _literal(self, form: int) -> int:
        positive, negative = form & ~1, form | 1
        if positive not in self.literals:
            self._positive |= self._bit(self.literals, positive)
            self._bit(self.literals, negative)
        return self.literals[form]

    def ways(self, form: int) -> list[int]:
        """Returns the ways to satisfy a form, in a fixed order."""
        if form not in self._known:
            self._known[form] = self._ways(form)
        return self._known[form]

    def _ways(self, form: int) -> list[int]:
        forms, node = self.forms, self.forms.node(form)
        match node:
            case Literal():
                return [self._literal(form)]
            case All(parts) if form & 1:
                return self._minimal(way for part in parts for way in self.ways(part ^ 1))
            case All(parts):
                return self.product(map(self.ways, parts))
            case Until(left, right) if form & 1:
                after = self._bit(self.rest, form)
                either = self._minimal([*self.ways(left ^ 1), after])
                return self.product([self.ways(right ^ 1), either])
            case Until(left, right):
                after = self._bit(self.rest, form) | self._bit(self.put_off, form)
                later = [way | after for way in self.ways(left)]
                return self._minimal([*self.ways(right), *later])
            case InfinitelyOften(body) if form & 1:
                after = self._bit(self.rest, form) | self._bit(self.put_off, form)
                return self._minimal([*self.ways(forms.release(FALSE, body ^ 1)), after])
            case InfinitelyOften(body):
                after = self._bit(self.rest, form)
                return [way | after for way in self.ways(forms.until(TRUE, body))]

    def product(self, several: Iterable[list[int]]) -> list[int]:
        """Returns the ways to satisfy several forms at once. The argument contains the ways to
        satisfy each form.
        """
        result = [0]
        for ways in sorted(several, key=len):
            self.forms.work.spend(len(result) * len(ways))
            joined = (first | second for first in result for second in ways)
            result = self._minimal(way for way in joined if not way & way >> 1 & self._positive)
        return result

    def _minimal(self, ways: Iterable[int]) -> list[int]:
        """Removes the ways that are subsumed by others."""
        kept: list[int] = []
        for way in sorted(set(ways), key=lambda way: (way.bit_count(), way)):
            self.forms.work.spend(1 + len(kept) // 4)
            if not any(other & way == other for other in kept):
                kept.append(way)
        if len(kept) > MAX_NODES:
            raise TooLarge
        return kept


def _automaton(forms: Forms, form: int, conditions: Iterable[int]) -> Automaton:
    tableau = _Tableau(forms)
    numbers: dict[int, int] = {}
    order: list[int] = []
    following: dict[int, tuple[int, ...]] = {}

    def enter(ways: list[int]) -> tuple[int, ...]:
        for way in ways:
            if way not in numbers:
                numbers[way] = len(order)
                order.append(way)
        if len(order) > MAX_NODES:
            raise TooLarge
        return tuple(sorted(numbers[way] for way in ways))

    initial = enter(tableau.ways(form))
    successors: list[tuple[int, ...]] = []
    for way in order:  # The list grows during the loop.
        left = [rest for rest, bit in tableau.rest.items() if way & bit]
        key = sum(tableau.rest[rest] for rest in left)
        if key not in following:
            following[key] = enter(tableau.product(map(tableau.ways, left)))
        successors.append(following[key])
    promises = {bit: number for number, bit in enumerate(tableau.put_off.values())}
    nodes = [
        Node(
            tuple(
                sorted(
                    (literal.predicate, literal_form & 1 == 0)
                    for literal_form, bit in tableau.literals.items()
                    if way & bit and isinstance(literal := forms.node(literal_form), Literal)
                )
            ),
            after,
            frozenset(number for bit, number in promises.items() if way & bit),
        )
        for way, after in zip(order, successors, strict=True)
    ]
    accepted = tuple(_acceptance(forms, condition) for condition in sorted(conditions))
    return _merged(Automaton(tuple(nodes), initial, len(promises), accepted), forms.work)


def _merged(automaton: Automaton, work: Work) -> Automaton:
    """Merges nodes that have the same future."""
    nodes = automaton.nodes
    classes = _numbered((node.requires, node.puts_off) for node in nodes)
    while True:
        work.spend(sum(len(node.successors) for node in nodes))
        finer = _numbered(
            (classes[number], frozenset(classes[after] for after in node.successors))
            for number, node in enumerate(nodes)
        )
        if max(finer, default=0) == max(classes, default=0):
            break
        classes = finer
    first: dict[int, Node] = {}
    for number, node in zip(classes, nodes, strict=True):
        first.setdefault(number, node)
    return Automaton(
        tuple(
            Node(node.requires, _images(classes, node.successors), node.puts_off)
            for node in first.values()
        ),
        _images(classes, automaton.initial),
        automaton.promises,
        automaton.conditions,
    )


def _images(classes: Sequence[int], nodes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({classes[node] for node in nodes}))


def _numbered(keys: Iterable[object]) -> list[int]:
    """Numbers the keys by their first occurrence."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
