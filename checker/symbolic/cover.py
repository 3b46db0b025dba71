"""Which values a symbolic constant can have, and whether some sets of values cover them all.

Z3 decides; the sets are ranges. It does not know where the sets come from.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.domain import SymbolicDomain
from fencepost.checker.symbolic.solver import Solver, Unknown
from fencepost.checker.symbolic.terms import Truth
from fencepost.spec.ir import SymbolicConstant
from fencepost.spec.semantics import evaluate
from fencepost.spec.types import Int, Machine

__all__ = ["Cover", "Unknown"]


class Cover:
    """The values of one integer constant that meet its condition, or for which that has no value.

    Every question may raise `terms.Unknown`.
    """

    def __init__(self, symbol: SymbolicConstant) -> None:
        assert isinstance(symbol.type, Int | Machine)
        self.low, self.high = symbol.type.low, symbol.type.high
        self._number, known = terms.fresh_number(symbol.path, self.low, self.high)
        domain = SymbolicDomain((), (), symbols=(self._number,))
        self._meant: Truth = True
        if symbol.condition is not None:
            holds = evaluate(domain, {}, symbol.condition).tree
            wrong = [failure.condition for failure in domain.failures]
            self._meant = terms.either(holds, *wrong)
        self._solver = Solver()
        self._solver.add(known)

    def least_outside(self, ranges: tuple[tuple[int, int], ...]) -> int | None:
        """The least value of the constant that is in none of the ranges; None: they cover all."""
        inside = [terms.inside(self._number, low, high) for low, high in ranges]
        return self._least(terms.both(self._meant, *map(terms.negation, inside)), self.low)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The values of the constant, as ranges that ascend and are apart."""
        behind = self.low
        while behind <= self.high:
            first = self._least(self._meant, behind)
            if first is None:
                return
            end = self._least(terms.negation(self._meant), first)
            behind = self.high + 1 if end is None else end
            yield first, behind - 1

    def _least(self, condition: Truth, start: int) -> int | None:
        """The least number from ``start`` on for which the condition holds."""
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
