"""The common part of the engines with a solver."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Request, Translation
from fencepost.checker.search.account import Account, before_search
from fencepost.checker.symbolic import terms
from fencepost.spec.core.ir import Model


class SolverEngine:
    """An engine, given by its name and its search, which runs unless an obstacle is found
    before.
    """

    def __init__(self, name: str, search: Callable[[Request], Outcome]) -> None:
        self.name = name
        self._search = search

    @property
    def library(self) -> str:
        """The solver library and its version."""
        return terms.library()

    def obstacle(self) -> str | None:
        """None: it runs wherever it can be imported."""

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """None: it generates no machine code."""

    def run(self, request: Request) -> Outcome:
        early = before_search(Account(request), counted=False)
        if early is not None:
            return early
        terms.begin()
        return self._search(request)
