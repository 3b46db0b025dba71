"""Determines the possible values of a symbolic constant, and whether given ranges cover all of
them. Z3 decides these questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.domain import SymbolicDomain, predicate
from fencepost.checker.symbolic.solver import Solver, Unknown
from fencepost.checker.symbolic.terms import Truth
from fencepost.spec.core.ir import SymbolicConstant
from fencepost.spec.core.types import Integer

__all__ = ["Cover", "Unknown"]


class Cover:
    """The values of one integer constant: those that satisfy its condition, and those that make its
    condition undefined.

    ``look`` is called regularly and may raise an exception. Every query may raise `Unknown`.
    """

    def __init__(self, symbol: SymbolicConstant, look: Callable[[], None]) -> None:
        assert isinstance(symbol.type, Integer)
        self.low, self.high = symbol.type.low, symbol.type.high
        self._number, in_domain = terms.fresh_number(symbol.path, self.low, self.high)
        domain = SymbolicDomain((), (), symbols=(self._number,))
        self._meant: Truth = True
        self._undefined: dict[int, Truth] = {}
        if symbol.condition is not None:
            with terms.watched(look):
                answer = predicate(domain, symbol.condition)
            self._meant = answer.holds
            for failure in answer.failures:
                before = self._undefined.get(failure.site, False)
                self._undefined[failure.site] = terms.either(before, failure.condition)
        self._solver = Solver(waiting=look)
        self._solver.add(in_domain)

    def least_outside(self, ranges: tuple[tuple[int, int], ...]) -> int | None:
        """Returns the least value that satisfies the condition and lies in none of the ranges, or
        None if the ranges cover all values that satisfy the condition.
        """
        inside = [terms.inside(self._number, low, high) for low, high in ranges]
        return self._least(terms.both(self._meant, *map(terms.negation, inside)), self.low)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yields the values that satisfy the condition, as ascending ranges with gaps between
        them.
        """
        return self._ranges(self._meant)

    def undefined(self) -> Iterator[Iterator[tuple[int, int]]]:
        """Yields, for each site at which evaluation fails, the ranges of the values that make the
        condition undefined there.
        """
        for wrong in self._undefined.values():
            yield self._ranges(wrong)

    def _ranges(self, condition: Truth) -> Iterator[tuple[int, int]]:
        start = self.low
        while start <= self.high:
            first = self._least(condition, start)
            if first is None:
                return
            end = self._least(terms.negation(condition), first)
            start = self.high + 1 if end is None else end
            yield first, start - 1

    def _least(self, condition: Truth, start: int) -> int | None:
        """Returns the least number from ``start`` on that satisfies the condition, or None."""
        low, high = start, self.high
        if not self._any(condition, low, high):
            return None
        while low < high:
            middle = (low + high) // 2
            if self._any(condition, low, middle):
                high = middle
            else:
                low = middle + 1
        return low

    def _any(self, condition: Truth, low: int, high: int) -> bool:
        if low > high:
            return False
        there = terms.inside(self._number, low, high)
        return self._solver.ask(terms.both(condition, there)) is not None
