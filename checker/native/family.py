"""Runs models that differ only in the values of their symbolic constants. They are translated only
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.expressions import symbol_name
from fencepost.checker.native.machine.build import CodeInUse, set_number
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.search import translated
from fencepost.checker.native.states import LocalStates
from fencepost.checker.outcome import Finding, Limit, Outcome
from fencepost.checker.request import Limits, Request, refuse_behaviours
from fencepost.checker.resources import memory_bytes, processors
from fencepost.checker.search.account import VERDICTS, Account
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner


class Family:
    """The members of a model with symbolic constants. There is one member for each choice of
    values.

    Raises `Unsupported` for models that the engine cannot run.
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
        """Searches one member up to its first finding. The finding has no trace.

        There must be no limit on states. With such a limit, the first states would come from the
        interpreter, which cannot run a model with symbolic constants.
        """
        assert limits.max_states is None
        # Optimised code pays off once the searches together have taken as long as producing it.
        if not self._is_best and self._seconds > self._compilation.seconds:
            self._code, self._is_best = self._compilation.best(), True
        for index, value in enumerate(values):
            set_number(self._code, symbol_name(index), value)
        request = replace(self._request, limits=limits)
        account = Account(request)
        memory = Memory(limits.memory, left=memory_bytes)
        workers = limits.workers or processors()
        code = CodeInUse(self._compilation, self._code)
        interrupts = Interrupts()
        with interrupts.heard():
            watch = Watch(request, account, interrupts)
            states = LocalStates(watch, self._layout, self._sizes, code, workers, memory)
            search = LevelSearch(watch, states)
            with closing(search):
                limit = search.search()
            return _first(account, limit)


def _first(account: Account, limit: Limit | None) -> Outcome:
    """Returns the outcome of a finished search with only the first finding, and without the trace
    of this finding.
    """
    problems = sorted(account.candidates.values(), key=lambda problem: problem.order)
    account.candidates.clear()
    account.stuck = None
    outcome = account.outcome(limit, _no_runner, _no_paths)
    if not problems:
        return outcome
    first, counted = problems[0], outcome.statistics
    named = first.number if first.rank in (Rank.INVARIANT, Rank.STEP_INVARIANT) else None
    finding = Finding(VERDICTS[first.rank], named, first.depth, None)
    # A failing step belongs to the next level, which has no states yet.
    depth = max(counted.depth, first.depth)
    levels = (*counted.levels, *[0] * (depth - counted.depth))
    statistics = replace(counted, depth=depth, levels=levels)
    return replace(outcome, verdict=finding.verdict, findings=(finding,), statistics=statistics)


def _no_runner() -> Runner:
    raise AssertionError("there is no problem left to explain")


def _no_paths(states: Sequence[tuple[State, int]]) -> Sequence[Sequence[State]]:
    raise AssertionError("there is no problem left to look back from")
