"""Implements what the engines that use a solver have in common."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Request, Translation
from fencepost.checker.search.account import Account, before_search
from fencepost.checker.symbolic import terms
from fencepost.spec.core.ir import Model


class SolverEngine:
    """An engine that uses a solver, defined by its name and its search. The search is skipped if
    its outcome is already clear.
    """

    def __init__(self, name: str, search: Callable[[Request], Outcome]) -> None:
        self.name = name
        self._search = search

    @property
    def library(self) -> str:
        """The name and version of the solver library."""
        return terms.library()

    def obstacle(self) -> str | None:
        """Returns None, because the engine runs wherever it can be imported."""

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """Returns None, because the engine generates no machine code."""

    def run(self, request: Request) -> Outcome:
        early = before_search(Account(request), counted=False)
        if early is not None:
            return early
        terms.begin()
        return self._search(request)
