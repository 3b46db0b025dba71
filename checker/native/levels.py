"""A search level by level: what is looked for when, what counts, and what cuts it.

It does not know how states are found and kept, nor where: an explorer does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.context_words import Slots
from fencepost.checker.native.explorer import Found
from fencepost.checker.native.leading import Leading, Rewound
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.memory import Exhausted
from fencepost.checker.native.machine.worker_context import Packed, Totals
from fencepost.checker.outcome import INTERRUPTED, OUT_OF_MEMORY, Limit, Outcome
from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.account import (
    PROGRESS_SECONDS,
    Account,
    Candidate,
    Cut,
    Expired,
)
from fencepost.checker.search.alarm import raised_after, started, timer_after
from fencepost.checker.search.interrupts import Interrupts
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

WORTH = 0.3
"""A search that has taken this share of the time that better code takes is worth it."""
WEIGH_SECONDS = 0.02
"""How often it looks how much memory the process has, where that is limited."""
PATIENCE_SECONDS = 0.5
"""How long an interrupted search may still look for the way to a problem that it has found."""


class States(Protocol):
    """What finds and keeps the states of a search, level by level: an `Explorer`, whose methods
    say what is meant.
    """

    @property
    def level(self) -> int: ...
    @property
    def states(self) -> int: ...
    @property
    def transitions(self) -> int: ...
    @property
    def expanded(self) -> int: ...
    @property
    def stuck(self) -> int: ...
    @property
    def initial(self) -> int: ...
    @property
    def remark(self) -> str: ...
    def begin(self) -> int: ...
    def examine(self) -> int: ...
    def inside(self) -> int: ...
    def settle(self) -> int: ...
    def rewind(self) -> Rewound | None: ...
    def expand(self) -> None: ...
    def look_for(self, deadlock: bool, properties: Container[int]) -> None: ...
    def use(self, code: build.Code) -> None: ...
    def stop(self, error: BaseException) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...
    def weigh(self) -> None: ...
    def size(self, level: int) -> int: ...
    def snapshot(self) -> list[bytes]: ...
    def reached(self, snapshot: Sequence[bytes]) -> frozenset[int]: ...
    def totals(self, snapshot: Sequence[bytes]) -> Totals: ...
    def found(self) -> list[Found]: ...
    def predecessors(self, level: int, states: Sequence[Packed]) -> list[Packed]: ...


class Search:
    """One run. ``depth`` is the level being expanded, 0 before the first. ``explore`` is given what
    is to be called often, and makes what finds the states.
    """

    def __init__(
        self,
        request: Request,
        account: Account,
        layout: Layout,
        interrupts: Interrupts,
        explore: Callable[[Callable[[], None]], States],
    ) -> None:
        model = account.model
        self.request = request
        self.account = account
        self.layout = layout
        self.slots = Slots(len(model.actions), len(model.properties), layout.words)
        self.deadlock = request.deadlock
        self.limits = request.limits
        self.progress = request.progress
        self.compilation: build.Compilation | None = None
        self.depth = 0
        self.began = time.monotonic()
        self.told = self.weighed = account.started
        self.interrupts = interrupts
        self.looking_back = False
        self.deadline: float | None = None
        self.outside = 0
        self.stuck: tuple[State, int] | None = None
        self.explorer = explore(self.look)
        interrupts.stop_by(lambda: self.explorer.stop(Cut(INTERRUPTED)))
        self.counted = self.explorer.snapshot()
        self.initial_count = self.counted_steps = 0
        self.judged = 0
        self.leading: Leading | None = None

    def run(self) -> Outcome:
        try:
            limit = self.searched()
            outcome = self.account.outcome(limit, lambda: Runner(self.account.model), self.paths)
            return self.completed(outcome)
        finally:
            # Also where somebody who looks on has had enough.
            if self.compilation is not None:
                self.compilation.cancel()
            self.interrupts.stop_by(None)
            self.explorer.close()

    def searched(self) -> Limit | None:
        """Searches, and takes all that was found into the account; what cut the search."""
        limit = self.limited()
        if limit is not None and self.leading is None:
            self.under_way()
        self.total()
        return limit

    def completed(self, outcome: Outcome) -> Outcome:
        """What to return, while the states are still there."""
        return outcome

    def limited(self) -> Limit | None:
        """Searches; what cut the search, if anything did."""
        try:
            with self.timed():
                try:
                    self.search()
                except Cut as cut:
                    if cut.limit.kind == "max-states":
                        self.lead()
                    raise
        except Cut as cut:
            return cut.limit
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exhausted:
            return out_of_memory(self.limits)
        except MemoryError:
            return OUT_OF_MEMORY
        return None

    @contextmanager
    def timed(self) -> Generator[None]:
        """Meanwhile the time that is left is watched; one state can take longer than that."""
        if self.limits.timeout is None:
            yield
            return
        left = self.account.left
        assert left is not None
        timer = timer_after(left, lambda: self.explorer.stop(Cut(self.account.expired)))
        started(timer)
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    # ------------------------------------------------------------ the loop

    def search(self) -> None:
        """All levels, from the first."""
        self.look_out()
        self.initial_count = self.explorer.begin()
        if not self.judge():
            self.go_on()

    def look_out(self) -> None:
        """Says what is looked for from now on."""
        account = self.account
        self.explorer.look_for(self.deadlock, account.searched.chosen - account.reached)

    def go_on(self) -> None:
        """The levels behind one that has been judged."""
        account, explorer = self.account, self.explorer
        self.judged = explorer.level
        while True:
            if account.reached:
                self.look_out()
            if not explorer.size(explorer.level):
                return
            if self.limits.depth is not None and self.depth >= self.limits.depth:
                raise Cut(Limit("depth", self.limits.depth))
            assert not explorer.found(), "there are problems that have not been taken in"
            self.depth += 1
            explorer.expand()
            if self.judge():
                return

    def judge(self) -> bool:
        """Takes in the level that has just been found; whether it ends the search."""
        self.check_states()
        self.collect()
        if not self.account.passes(self.depth):
            self.outside += self.explorer.examine()
            self.collect()
            self.count(self.explorer.size(self.explorer.level))
        return self.account.ends

    def under_way(self) -> None:
        """Takes in what has been found of a level that was cut, and looks at its states as long as
        nobody minds.
        """
        account, explorer = self.account, self.explorer
        self.collect()
        if explorer.level == self.judged or account.passes(self.depth):
            return
        self.looking_back = True
        if self.interrupts.asked:
            self.deadline = time.monotonic() + 2 * PATIENCE_SECONDS
        self.interrupts.forget()
        explorer.resume()
        # One state can take longer than anybody waits.
        timer = timer_after(PATIENCE_SECONDS, lambda: explorer.stop(Cut(INTERRUPTED)))
        try:
            started(timer)
            self.outside += explorer.examine()
        except (Cut, KeyboardInterrupt, MemoryError, Exhausted):
            self.outside += explorer.settle()
        finally:
            timer.cancel()
            if timer.is_alive():
                timer.join()
        self.collect()
        self.initial_count = explorer.initial
        self.count(explorer.size(explorer.level), whole=False)

    def lead(self) -> None:
        """Takes in the first states of a level with too many, instead of what was found of it."""
        account, explorer, limits = self.account, self.explorer, self.limits
        assert limits.max_states is not None
        explorer.resume()
        left = limits.max_states - sum(account.levels)
        leading = Leading(
            account, self.layout, self.deadlock, left, limits.max_states, self.heed, self.collect
        )
        rewound = None
        if self.depth:
            rewound = explorer.rewind()
            if rewound is None:
                return
        self.leading = leading
        try:
            with raised_after(account.left, Expired):
                if rewound is None:
                    explorer.found()
                    leading.begin()
                else:
                    leading.expand(rewound, self.depth)
        except Expired:
            raise Cut(account.expired) from None
        finally:
            if account.passes(self.depth):
                # The steps of the states before count neither: a problem there ends the run.
                leading.visitor = None
            else:
                self.outside += leading.outside
                self.count(leading.fresh + len(leading.expansion.fresh))

    def count(self, size: int, whole: bool = True) -> None:
        """Adds what the level found to the account; its states are ``size``. Unless it is whole, a
        state whose steps are not all taken has taken some.
        """
        account, explorer = self.account, self.explorer
        if self.depth or self.leading is None:
            # What machine code has counted of a first level with too many states does not count.
            self.counted = explorer.snapshot()
        self.judged = explorer.level
        more = 0 if self.leading is None else self.leading.expansion.transitions
        if not self.depth:
            account.initial_count = self.initial_count if self.leading is None else more
        elif whole:
            account.transitions.append(explorer.transitions - self.counted_steps + more)
        else:
            taken = sum(explorer.totals(self.counted).taken)
            account.transitions.append(taken - sum(account.transitions))
        self.counted_steps = explorer.transitions
        if size:
            account.levels.append(size)
        account.outside += self.outside
        self.outside = 0
        account.stuck_count = explorer.stuck
        if account.stuck is None:
            account.stuck = self.stuck
        if account.searched.reachables:
            account.reached |= explorer.reached(self.counted)

    def total(self) -> None:
        """Puts the counts of the levels that count into the account."""
        account, totals = self.account, self.explorer.totals(self.counted)
        account.taken = list(totals.taken)
        account.marks |= totals.marks
        account.refused = {guard: times for guard, times in enumerate(totals.refused) if times}
        if self.leading is not None and self.leading.visitor is not None:
            self.leading.visitor.add(self.leading.expansion)

    # ------------------------------------------------------------ problems

    def collect(self) -> None:
        """Takes in the problems that machine code has found."""
        for found in self.explorer.found():
            if found.slot != self.slots.stuck:
                self.account.offer(self.candidate(found))
            elif found.state is not None:
                here = found.state, self.depth
                if self.stuck is None or self.stuck[1] < self.depth or here < self.stuck:
                    self.stuck = here

    def candidate(self, found: Found) -> Candidate:
        depth, slots, state = self.depth, self.slots, found.state
        if found.slot < slots.property_error(0):
            rank = Rank.ASSERTION if found.slot % 2 else Rank.ERROR
            action = found.slot // 2 - 1
            return Candidate(depth + 1, rank, action, state, site=found.site)
        assert state is not None
        if found.slot == slots.deadlock:
            return Candidate(depth, Rank.DEADLOCK, 0, state)
        number = (found.slot - slots.property_error(0)) // 2
        kind = self.account.model.properties[number].kind
        if found.slot == slots.property_error(number):
            # A terminal condition is looked at when its state is expanded.
            where = depth if kind.allows_end else depth + 1
            return self.account.no_value(where, number, state, found.before, found.site)
        return Candidate(depth + 1, kind.rank, number, state, found.before, number=number)

    # ------------------------------------------------------------ limits

    def check_states(self) -> None:
        """Stops at too many states, of which those outside constraints are none."""
        most, explorer = self.limits.max_states, self.explorer
        if most is None or explorer.states <= most:
            return
        if self.account.searched.constraints:
            outside = explorer.size(explorer.level) - explorer.inside()
            if explorer.states - outside <= most:
                return
        raise Cut(Limit("max-states", most))

    def look(self) -> None:
        """Called often: stops the search where it has to, and tells how far it is."""
        self.heed()
        now = time.monotonic()
        if self.compilation is not None:
            self.improve(self.compilation, now)
        if self.looking_back:
            return
        if not self.account.searched.constraints:
            self.check_states()
        if self.limits.memory is not None and now - self.weighed >= WEIGH_SECONDS:
            self.weighed = now
            self.explorer.weigh()
        if now - self.told >= PROGRESS_SECONDS:
            self.told = now
            explorer = self.explorer
            distinct = explorer.states
            self.progress(
                Progress(
                    self.depth,
                    distinct,
                    self.initial_count + explorer.transitions,
                    distinct - explorer.expanded,
                    now - self.account.started,
                    peak_bytes(),
                    remark=explorer.remark,
                )
            )

    def heed(self) -> None:
        """Stops the search where somebody wants that, or its time is over."""
        now = time.monotonic()
        if self.interrupts.asked or (self.deadline is not None and now > self.deadline):
            raise Cut(INTERRUPTED)
        if self.limits.timeout is None or self.looking_back:
            return
        if now - self.account.started > self.limits.timeout:
            raise Cut(self.account.expired)

    def improve(self, compilation: build.Compilation, now: float) -> None:
        """Sees to it that a search which goes on gets better code."""
        if compilation.better is not None:
            self.explorer.use(compilation.better)
            self.compilation = None
        elif now - self.began > WORTH * compilation.seconds:
            compilation.begin()

    # ------------------------------------------------------------ traces

    def paths(self, states: Sequence[tuple[State, int]]) -> list[list[State]]:
        """The states from an initial one to each of ``states``, found level by level."""
        explorer, layout = self.explorer, self.layout
        self.looking_back = True
        if self.interrupts.asked:
            self.deadline = time.monotonic() + PATIENCE_SECONDS
            self.interrupts.forget()
        explorer.resume()
        ways = [[state] for state, _ in states]
        for level in range(max((level for _, level in states), default=0), 1, -1):
            present = [way for way, (_, last) in zip(ways, states, strict=True) if last >= level]
            packed = list(dict.fromkeys(layout.encode(way[-1]) for way in present))
            found = dict(zip(packed, explorer.predecessors(level - 1, packed), strict=True))
            for way in present:
                way.append(layout.decode(found[layout.encode(way[-1])]))
        for way in ways:
            way.reverse()
        return ways


def out_of_memory(limits: Limits) -> Limit:
    """What cuts a search that is allowed no more memory, or finds no more."""
    return OUT_OF_MEMORY if limits.memory is None else Limit("memory", limits.memory)
