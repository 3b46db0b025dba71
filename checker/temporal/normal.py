"""Represents formulas in negation normal form with hash consing, and simplifies them while they are
built.

A form is a number. Equal forms have equal numbers, and the negation of form ``n`` is ``n ^ 1``, so
a part that occurs several times is stored only once for both polarities. Only `All`, `Until` and
`InfinitelyOften` are stored; disjunction, `release` and `settled` are their duals.

A *tail* is a form whose truth is the same at every position of a behaviour: ``always eventually p``
(`InfinitelyOften`), ``eventually always p`` (its dual), and any combination of tails by
connectives. A tail inside a temporal operator is moved out of it (Shannon expansion), so operands
contain no tails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, assert_never

from fencepost.spec.core import formulas
from fencepost.spec.core.formulas import Formula
from fencepost.spec.records import dataclass

MAX_WORK = 2_000_000
"""Maximum number of elementary operations for a formula. A formula that needs more is too large.
This many operations take 1 to 2 s.
"""

TRUE, FALSE = 0, 1


class TooLarge(Exception):
    """Signals that a formula is too large to be decided by an automaton."""


class Work:
    """Counts the operations spent on a formula. Operations are counted instead of time so that
    results do not depend on the machine.
    """

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self._left = MAX_WORK

    def spend(self, amount: int) -> None:
        """Counts operations. Calls ``pause``, which may raise an exception. Raises `TooLarge` if
        too many operations have been counted.
        """
        self._pause()
        self._left -= amount
        if self._left < 0:
            raise TooLarge


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: predicate number ``predicate`` is true."""

    predicate: int


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction: all ``parts`` hold. None of the parts is an `All`."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Until:
    """``right`` holds eventually, and ``left`` holds until then."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class InfinitelyOften:
    """``body`` holds infinitely often."""

    body: int


Node: TypeAlias = Literal | All | Until | InfinitelyOften


class Forms:
    """The forms of one formula."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._nodes: list[Node] = [All(())]
        self._numbers: dict[Node, int] = {All(()): TRUE}
        self._tails: list[frozenset[int]] = [frozenset()]
        self._timed: list[bool] = [False]
        self._constant: list[bool] = [True]
        self._known: dict[tuple[int, bool], int] = {}

    # ------------------------------------------------------------ questions about forms

    def node(self, form: int) -> Node:
        """Returns the node that is stored for a form or for its negation."""
        return self._nodes[form >> 1]

    def conjuncts(self, form: int) -> tuple[int, ...]:
        """Returns the parts of a conjunction. For any other form, returns the form as the only
        part.
        """
        node = self.node(form)
        return node.parts if isinstance(node, All) and form & 1 == 0 else (form,)

    def disjuncts(self, form: int) -> tuple[int, ...]:
        """Returns the parts of a disjunction. For any other form, returns the form as the only
        part.
        """
        return tuple(part ^ 1 for part in self.conjuncts(form ^ 1))

    def tails(self, form: int) -> frozenset[int]:
        """Returns the `InfinitelyOften` forms, and negations of such forms, that occur in a
        form.
        """
        inner = self._tails[form >> 1]
        return frozenset(tail ^ 1 for tail in inner) if form & 1 else inner

    def is_tail(self, form: int) -> bool:
        """Checks whether the truth of a form is the same at every position of a behaviour."""
        return self._constant[form >> 1]

    def is_state(self, form: int) -> bool:
        """Checks whether a form contains no temporal operators."""
        return not self._timed[form >> 1]

    def condition(self, form: int) -> Formula:
        """Converts a form without temporal operators to a formula."""
        match self.node(form):
            case Literal(predicate):
                holds = formulas.Holds(predicate)
                return formulas.Not(holds) if form & 1 else holds
            case All(parts) if form & 1:
                return formulas.Or(tuple(self.condition(part ^ 1) for part in parts))
            case All(parts):
                return formulas.And(tuple(self.condition(part) for part in parts))
            case node:
                raise AssertionError(node)

    # ------------------------------------------------------------ construction

    def normal(self, formula: Formula, truth: bool) -> int:
        """Returns the form of a formula, or of its negation if ``truth`` is false."""
        key = id(formula), truth
        if key not in self._known:
            self._known[key] = self._normal(formula, truth)
        return self._known[key]

    def _normal(self, formula: Formula, truth: bool) -> int:
        match formula:
            case formulas.Holds(number):
                return self._entered(Literal(number)) ^ (not truth)
            case formulas.Chosen(body=body):
                return self.normal(body, truth)
            case formulas.Not(operand):
                return self.normal(operand, not truth)
            case formulas.And(parts):
                joined = self.all if truth else self.any
                return joined([self.normal(part, truth) for part in parts])
            case formulas.Or(parts):
                joined = self.any if truth else self.all
                return joined([self.normal(part, truth) for part in parts])
            case formulas.Implies(left, right):
                joined = self.any if truth else self.all
                return joined([self.normal(left, not truth), self.normal(right, truth)])
            case formulas.Iff(left, right):
                both = self.all([self.normal(left, True), self.normal(right, truth)])
                neither = self.all([self.normal(left, False), self.normal(right, not truth)])
                return self.any([both, neither])
            case formulas.Always(operand) if truth:
                return self.release(FALSE, self.normal(operand, True))
            case formulas.Always(operand):
                return self.until(TRUE, self.normal(operand, False))
            case formulas.Eventually(operand) if truth:
                return self.until(TRUE, self.normal(operand, True))
            case formulas.Eventually(operand):
                return self.release(FALSE, self.normal(operand, False))
            case formulas.Until(left, right) if truth:
                return self.until(self.normal(left, True), self.normal(right, True))
            case formulas.Until(left, right):
                return self.release(self.normal(left, False), self.normal(right, False))
            case formulas.LeadsTo(left, right) if truth:
                response = self.until(TRUE, self.normal(right, True))
                return self.release(FALSE, self.any([self.normal(left, False), response]))
            case formulas.LeadsTo(left, right):
                missing = self.release(FALSE, self.normal(right, False))
                return self.until(TRUE, self.all([self.normal(left, True), missing]))
            case _:
                assert_never(formula)

    def all(self, parts: Iterable[int]) -> int:
        """Returns the conjunction of some forms."""
        flat = {inner for part in parts for inner in self.conjuncts(part)}
        self.work.spend(1 + len(flat))
        if FALSE in flat or any(part ^ 1 in flat for part in flat):
            return FALSE
        kept: list[int] = []
        settled: list[int] = []
        for part in sorted(flat):
            options = self.disjuncts(part)
            left = [option for option in options if option ^ 1 not in flat]
            if len(options) > 1 and any(option in flat for option in options):
                continue
            if len(left) < len(options):
                return self.all([*(flat - {part}), self.any(left)])
            node = self.node(part)
            if isinstance(node, InfinitelyOften) and part & 1 and self.is_state(node.body):
                settled.append(part)
            kept.append(part)
        if len(settled) > 1:
            bodies = [self._body(part) ^ 1 for part in settled]
            return self.all([*flat.difference(settled), self.settled(self.all(bodies))])
        return kept[0] if len(kept) == 1 else self._entered(All(tuple(kept)))

    def any(self, parts: Iterable[int]) -> int:
        """Returns the disjunction of some forms."""
        return self.all([part ^ 1 for part in parts]) ^ 1

    def release(self, left: int, right: int) -> int:
        """Returns the form that says: ``right`` holds up to and including a position where ``left``
        holds, or forever.
        """
        return self.until(left ^ 1, right ^ 1) ^ 1

    def settled(self, body: int) -> int:
        """Returns the form that says: ``body`` holds from some position on."""
        return self.often(body ^ 1) ^ 1

    def until(self, left: int, right: int) -> int:
        """Returns the form that says: ``right`` holds eventually, and ``left`` holds until then."""
        if self.is_tail(right) or left in (FALSE, right):
            return right
        if left == right ^ 1:
            left = TRUE
        tail = self._some_tail(left, right)
        if tail is not None:
            return self._pulled(tail, (left, right), lambda parts: self.until(*parts))
        options: list[int] = []
        for option in self.disjuncts(right):
            node = self.node(option)
            # (p until q) until r: the search for r may begin immediately.
            if isinstance(node, Until) and option & 1 == 0 and left in (TRUE, node.left):
                options.append(node.right)
            else:
                options.append(option)
        if set(options) != set(self.disjuncts(right)):
            return self.until(left, self.any(options))
        bodies = [self._always(part) for part in self.conjuncts(right)]
        operands = [body for body in bodies if body is not None]
        if left == TRUE and len(operands) == len(bodies):
            return self.all([self.settled(body) for body in operands])
        return self._entered(Until(left, right))

    def often(self, body: int) -> int:
        """Returns the form that says: ``body`` holds infinitely often."""
        if self.is_tail(body):
            return body
        if self.is_state(body):
            return self._entered(InfinitelyOften(body))
        tail = self._some_tail(body)
        if tail is not None:
            return self._pulled(tail, (body,), lambda parts: self.often(*parts))
        node = self.node(body)
        match node:
            case All(parts) if body & 1:
                now = [part ^ 1 for part in parts if self.is_state(part)]
                later = [part ^ 1 for part in parts if not self.is_state(part)]
                return self.any([self.often(self.any(now)), *map(self.often, later)])
            case All(parts):
                return self._often_all(body, parts)
            case Until(left, right) if body & 1:
                # Either the right side always fails from some position on, or both sides fail
                # infinitely often.
                both = self.often(self.all([left ^ 1, right ^ 1]))
                return self.any([both, self.settled(right ^ 1)])
            case Until(_, right):
                return self.often(right)
            case _:
                raise AssertionError(node)

    def _often_all(self, body: int, parts: tuple[int, ...]) -> int:
        now = [part for part in parts if self.is_state(part)]
        conjunction = [self.often(self.all(now))]
        for part in parts:
            if self.is_state(part):
                continue
            always, node = self._always(part), self.node(part)
            if always is not None:
                conjunction.append(self.settled(always))
            elif isinstance(node, Until) and part & 1 == 0 and node.left == TRUE:
                conjunction.append(self.often(node.right))
            elif isinstance(node, All):
                rest = [other for other in parts if other != part]
                options = [self.all([*rest, option]) for option in self.disjuncts(part)]
                return self.any(map(self.often, options))
            else:
                return self._entered(InfinitelyOften(body))
        return self.all(conjunction)

    def _always(self, form: int) -> int | None:
        """Returns the operand of a form that is ``always`` something, and None for other forms."""
        node = self.node(form)
        if isinstance(node, Until) and form & 1 and node.left == TRUE:
            return node.right ^ 1
        return None

    def _body(self, form: int) -> int:
        node = self.node(form)
        assert isinstance(node, InfinitelyOften)
        return node.body

    # ------------------------------------------------------------ tails

    def _some_tail(self, *forms: int) -> int | None:
        return min((tail for form in forms for tail in self.tails(form)), default=None)

    def _pulled(
        self, tail: int, operands: tuple[int, ...], build: Callable[[list[int]], int]
    ) -> int:
        """Moves a tail out of a temporal operator.

        Operators are monotone, so the case in which the tail is false needs no condition.
        """
        holds, fails = (
            build([self._replaced(operand, tail, truth) for operand in operands])
            for truth in (TRUE, FALSE)
        )
        if any(tail ^ 1 in self.tails(operand) for operand in operands):
            fails = self.all([tail ^ 1, fails])
        return self.any([self.all([tail, holds]), fails])

    def _replaced(self, form: int, tail: int, truth: int) -> int:
        """Replaces a tail in a form by a constant."""
        if form | 1 == tail | 1:
            return truth ^ (form != tail)
        if tail not in self.tails(form) and tail ^ 1 not in self.tails(form):
            return form
        parts = [self._replaced(part, tail, truth) for part in self.conjuncts(form & ~1)]
        return self.all(parts) ^ (form & 1)

    def _entered(self, node: Node) -> int:
        """Returns the number of a node. Adds the node if it is new."""
        existing = self._numbers.get(node)
        if existing is not None:
            return existing
        self.work.spend(10)
        number = self._numbers[node] = 2 * len(self._nodes)
        tails: frozenset[int] = frozenset()
        match node:
            case All(parts):
                tails = tails.union(*map(self.tails, parts))
            case InfinitelyOften():
                tails = frozenset([number])
            case _:
                pass
        parts = node.parts if isinstance(node, All) else ()
        self._nodes.append(node)
        self._tails.append(tails)
        self._timed.append(
            isinstance(node, Until | InfinitelyOften) or not all(map(self.is_state, parts))
        )
        self._constant.append(
            isinstance(node, InfinitelyOften)
            or (isinstance(node, All) and all(map(self.is_tail, parts)))
        )
        return number
