"""What the engines with a solver have in common."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Request, Translation
from fencepost.checker.search.account import Account, before_search
from fencepost.checker.symbolic import terms
from fencepost.spec.core.ir import Model


class SolverEngine:
    """An engine by its name and the search that it makes, once nothing speaks against one."""

    def __init__(self, name: str, search: Callable[[Request], Outcome]) -> None:
        self.name = name
        self._search = search

    @property
    def library(self) -> str:
        """The library that it stands on, and its version."""
        return terms.library()

    def obstacle(self) -> str | None:
        """Nothing: it runs where it can be imported."""

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """Nothing: it makes no machine code."""

    def run(self, request: Request) -> Outcome:
        known = before_search(Account(request), counted=False)
        if known is not None:
            return known
        terms.begin()
        return self._search(request)
