"""Models that differ in nothing but the values of their symbolic constants, translated once.

It does not know what the constants stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.expressions import symbol_name
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.levels import Search
from fencepost.checker.native.machine.build import set_number
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.search import translated
from fencepost.checker.outcome import Finding, Outcome
from fencepost.checker.request import Limits, Request, refuse_behaviours
from fencepost.checker.resources import processors
from fencepost.checker.search.account import VERDICTS, Account
from fencepost.checker.search.interrupts import Interrupts
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner


class Family:
    """The members of a model with symbolic constants: one for each choice of their values.

    Raises `Unsupported` for what the engine cannot run.
    """

    def __init__(self, request: Request) -> None:
        refuse_behaviours(request.model, request.properties)
        self._request = request
        self._layout = Layout(request.model)
        self._compilation, self._sizes = translated(request.model, self._layout, request.properties)
        self._code = self._compilation.quick()
        self._is_best = False
        self._seconds = 0.0

    def run(self, values: Sequence[int], limits: Limits) -> Outcome:
        """What a search of one member finds, up to the first problem and without the way to it."""
        # Better code is worth its time once the searches together have taken as long.
        if not self._is_best and self._seconds > self._compilation.seconds:
            self._code, self._is_best = self._compilation.best(), True
        for index, value in enumerate(values):
            set_number(self._code, symbol_name(index), value)
        request = replace(self._request, limits=limits)
        account = Account(request)
        memory = Memory(limits.memory, False)
        workers = limits.workers or processors()
        interrupts = Interrupts()

        def explore(look: Callable[[], None]) -> Explorer:
            return Explorer(self._code, self._sizes, workers, memory, self._layout.decode, look)

        with interrupts.heard():
            return _Member(request, account, self._layout, interrupts, explore).run()


class _Member(Search):
    """A search of one member."""

    def run(self) -> Outcome:
        """As the search of a model, but that of a problem it tells only what it is."""
        try:
            limit = self.searched()
            account = self.account
            problems = sorted(account.candidates.values(), key=lambda problem: problem.order)
            account.candidates.clear()
            account.stuck = None
            outcome = account.outcome(limit, _no_runner, _no_paths)
        finally:
            self.interrupts.stop_by(None)
            self.explorer.close()
        if not problems:
            return outcome
        first, counted = problems[0], outcome.statistics
        finding = Finding(VERDICTS[first.rank], first.number, first.depth, None)
        # The step that cannot be made belongs to a level in which no state is.
        depth = max(counted.depth, first.depth)
        levels = (*counted.levels, *[0] * (depth - counted.depth))
        statistics = replace(counted, depth=depth, levels=levels)
        return replace(outcome, verdict=finding.verdict, findings=(finding,), statistics=statistics)


def _no_runner() -> Runner:
    raise AssertionError("there is no problem left to explain")


def _no_paths(states: Sequence[tuple[State, int]]) -> Sequence[Sequence[State]]:
    raise AssertionError("there is no problem left to look back from")
