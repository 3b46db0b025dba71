"""Breadth-first search with Python values: the definition of what every engine must find.

The states of a level are expanded in ascending order, actions in declaration order, choices in
theirs. So the first state found to lead to another one is its least predecessor, and the first
state of a level that breaks a property is the least that does.

A limit ends the search within a level. What was found until then counts: the states, the steps, and
a problem, though the rest of the level may hold a lesser one. The first N states in this order are
what ``--max-states N`` means in every engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fencepost.checker.outcome import INTERRUPTED, OUT_OF_MEMORY, Limit, Outcome
from fencepost.checker.request import Progress, Request, Translation, refuse_symbols
from fencepost.checker.resources import peak_bytes, resident_bytes
from fencepost.checker.search.account import PROGRESS_SECONDS, Account, Cut, Expired, before_search
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.visiting import Expansion, Visitor
from fencepost.checker.temporal.decide import Graph, graph, violation
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.verdict import expanded_levels, judged
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

MEMORY_SECONDS = 0.02
"""How often it looks how much memory it has, where that is limited."""


class Interpreter:
    """The engine of this module."""

    name = "interpreter"
    library = ""

    def obstacle(self) -> str | None:
        return None

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        return None

    def run(self, request: Request) -> Outcome:
        refuse_symbols(request.model)
        account = Account(request)
        return before_search(account) or _Search(request, account).run()


ENGINE = Interpreter()


class _Search:
    """One run. ``parents`` maps the states found, inside and outside the constraints, to their
    least predecessors; ``depth`` is the level being expanded, 0 before the first. ``pending`` is
    what was found of the level under way.
    """

    def __init__(self, request: Request, account: Account) -> None:
        self.request = request
        self.runner = Runner(request.model, request.observer)
        self.account = account
        self.limits = request.limits
        self.progress = request.progress
        self.told = self.weighed = account.started
        self.parents: dict[State, State | None] = {}
        most = request.limits.max_states
        self.visitor = Visitor(self.runner, account, request.deadlock, self.parents, most, most)
        self.depth = 0
        self.pending: Expansion | None = None

    def run(self) -> Outcome:
        limit: Limit | None = None
        try:
            with raised_after(self.account.left, Expired):
                self.search()
        except Expired:
            limit = self.account.expired
        except Cut as cut:
            limit = cut.limit
        except KeyboardInterrupt:
            limit = INTERRUPTED
        except MemoryError:
            limit = OUT_OF_MEMORY
        if self.pending is not None and limit is not None and not self.account.passes(self.depth):
            self.count(self.pending)
        outcome = self.account.outcome(limit, lambda: self.runner, self.paths)
        return judged(outcome, self.request, self.runner, self.behaviours(outcome))

    def behaviours(self, outcome: Outcome) -> Callable[[int], Lasso | None]:
        """What decides the properties of behaviours, once the graph of the states has been made."""
        made: list[Graph] = []

        def decide(number: int) -> Lasso | None:
            try:
                with raised_after(self.account.left, Expired):
                    if not made:
                        made.append(graph(self.runner, expanded_levels(outcome), self.weigh))
                    return violation(made[0], number, self.weigh)
            except Expired:
                raise Cut(self.account.expired) from None
            except KeyboardInterrupt:
                raise Cut(INTERRUPTED) from None
            except MemoryError:
                raise Cut(OUT_OF_MEMORY) from None

        return decide

    # ------------------------------------------------------------ the loop

    def search(self) -> None:
        account, visitor = self.account, self.visitor
        expansion = self.pending = self.expansion()
        for successor in self.runner.initial():
            self.watch(0, expansion)
            choice = successor.state if successor.failure is None else successor.failure
            assert choice is not None
            visitor.begin(choice, expansion)
        while True:
            if account.ends:
                if not account.passes(self.depth):
                    self.count(expansion)
                return
            self.count(expansion)
            if not expansion.fresh:
                return
            if self.limits.depth is not None and self.depth >= self.limits.depth:
                raise Cut(Limit("depth", self.limits.depth))
            self.depth = visitor.depth = self.depth + 1
            frontier = sorted(expansion.fresh)
            expansion = self.pending = self.expansion()
            for done, state in enumerate(frontier):
                self.watch(len(frontier) - done, expansion)
                visitor.expand(state, expansion)

    def watch(self, queue: int, expansion: Expansion) -> None:
        """Tells how far the search is, and stops it when it has too much memory."""
        now = time.monotonic()
        seconds = now - self.account.started
        if self.limits.timeout is not None and seconds > self.limits.timeout:
            raise Cut(self.account.expired)
        self.weigh()
        if now - self.told >= PROGRESS_SECONDS:
            self.told = now
            generated = (
                self.account.initial_count + sum(self.account.transitions) + expansion.transitions
            )
            waiting, found = queue + len(expansion.fresh), self.visitor.count
            self.progress(Progress(self.depth, found, generated, waiting, seconds, peak_bytes()))

    def weigh(self) -> None:
        """Stops the search when it has too much memory."""
        now, memory = time.monotonic(), self.limits.memory
        if memory is not None and now - self.weighed >= MEMORY_SECONDS:
            self.weighed = now
            if resident_bytes() > memory:
                raise Cut(Limit("memory", memory))

    # ------------------------------------------------------------ accounts

    def expansion(self) -> Expansion:
        return Expansion([0] * len(self.account.taken))

    def count(self, expansion: Expansion) -> None:
        """Adds what the level found to the result."""
        self.pending = None
        account = self.account
        if self.depth:
            account.transitions.append(expansion.transitions)
        else:
            account.initial_count = expansion.transitions
        if expansion.fresh:
            account.levels.append(len(expansion.fresh))
        if expansion.stuck and account.stuck is None:
            account.stuck = min(expansion.stuck), self.depth
        self.visitor.add(expansion)

    # ------------------------------------------------------------ traces

    def paths(self, states: Sequence[tuple[State, int]]) -> list[list[State]]:
        """The states from an initial one to each of ``states``."""
        return [self.path(state) for state, _ in states]

    def path(self, state: State | None) -> list[State]:
        path: list[State] = []
        while state is not None:
            path.append(state)
            state = self.parents[state]
        path.reverse()
        return path
