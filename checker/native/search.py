"""Breadth-first search in machine code: the engine ``local``.

What it finds is what the interpreter finds, whatever the number of workers: a level is searched
as a whole, and of several problems the least is kept. A level that a limit cuts does not count.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, Protocol

from fencepost.checker import amounts
from fencepost.checker.account import (
    PROGRESS_SECONDS,
    Account,
    Candidate,
    Cut,
    Rank,
    broken_assumptions,
)
from fencepost.checker.engine import Limits, Progress, Translation, refuse_symbols
from fencepost.checker.layout import Layout
from fencepost.checker.native import build, calls, kernels, machine
from fencepost.checker.native.compile import generate
from fencepost.checker.native.context import RECENT_BYTES, Slots
from fencepost.checker.native.contexts import Packed, Sizes, Totals
from fencepost.checker.native.emitter import Unit
from fencepost.checker.native.explorer import Explorer, Found
from fencepost.checker.native.interrupts import Interrupts
from fencepost.checker.native.memory import Exhausted, Memory
from fencepost.checker.process import peak_bytes, processors
from fencepost.checker.reference.runner import Runner
from fencepost.checker.result import Outcome
from fencepost.spec.concrete import Observer
from fencepost.spec.ir import Model
from fencepost.spec.types import State

WORTH = 0.3
"""A search that has taken this share of the time that better code takes is worth it."""
WEIGH_SECONDS = 0.02
"""How often it looks how much memory the process has, where that is limited."""
INTERRUPTED = "interrupted"
PATIENCE_SECONDS = 0.5
"""How long an interrupted search may still look for the way to a problem that it has found."""


class Local:
    """The engine of this module. ``code``: what code it runs; ``watched``: whether it looks for
    writes outside its memory. The defaults are for users, the rest is for tests.
    """

    name = "local"
    parallel = True

    def __init__(
        self, code: Literal["quick", "best", "both"] = "both", watched: bool = False
    ) -> None:
        self._code = code
        self._watched = watched

    @property
    def library(self) -> str:
        return machine.library()

    def obstacle(self) -> str | None:
        return machine.obstacle()

    def translation(self, model: Model, properties: frozenset[int]) -> Translation:
        refuse_symbols(model)
        began = time.monotonic()
        compilation, _ = translated(model, Layout(model), properties)
        written = time.monotonic()
        quick = compilation.quick()
        made = time.monotonic()
        better = compilation.best()
        ended = time.monotonic()
        return Translation(written - began, made - written, quick.size, ended - made, better.size)

    def run(
        self,
        model: Model,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        return self.observe(
            model,
            None,
            properties=properties,
            deadlock=deadlock,
            limits=limits,
            keep_going=keep_going,
            progress=progress,
        )

    def observe(
        self,
        model: Model,
        observer: Observer | None,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        refuse_symbols(model)
        broken = broken_assumptions(model)
        if broken is not None:
            return broken
        account = Account(model, properties, keep_going)
        interrupts = Interrupts()
        with interrupts.heard():
            search = self._prepared(account, observer, properties, limits, interrupts, progress)
            if isinstance(search, str):
                return _begun(account.outcome(search, lambda: Runner(model), lambda _: []), limits)
            return _begun(search.run(deadlock), limits)

    def _prepared(
        self,
        account: Account,
        observer: Observer | None,
        properties: frozenset[int],
        limits: Limits,
        interrupts: Interrupts,
        progress: Callable[[Progress], None],
    ) -> Search | str:
        """A search that is ready to run; where it is over already, the limit that ends it."""
        model = account.model
        layout = Layout(model)
        memory = Memory(limits.memory, self._watched)
        try:
            compilation, sizes = translated(model, layout, properties)
            if interrupts.asked:
                return INTERRUPTED
            code = compilation.kept() if self._code == "both" else None
            found = code is not None
            if code is None:
                code = compilation.best() if self._code == "best" else compilation.quick()
            memory.weigh()
            workers = limits.workers or processors()

            def explore(look: Callable[[], None]) -> Explorer:
                explorer = Explorer(code, sizes, workers, memory, layout.decode, look)
                if observer is not None:
                    explorer.watch(observer)
                return explorer

            search = Search(account, layout, limits, interrupts, progress, explore)
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exhausted:
            memory.close()
            return limits.memory_option
        if self._code == "both" and not found:
            search.compilation = compilation
        return search


ENGINE = Local()


def _begun(outcome: Outcome, limits: Limits) -> Outcome:
    """The outcome, with a remark if there was no memory even to begin."""
    short = limits.memory is not None and outcome.limit == limits.memory_option
    if not short or outcome.statistics.distinct:
        return outcome
    taken = amounts.size(peak_bytes())
    note = (
        f"The process takes {taken} before its first state: {limits.memory_option} is too little."
    )
    return replace(outcome, notes=(*outcome.notes, note))


def translated(
    model: Model, layout: Layout, properties: frozenset[int], recent_bytes: int = RECENT_BYTES
) -> tuple[build.Compilation, Sizes]:
    """A model as machine code, for a search for these properties; ``recent_bytes`` is the room for
    the states that were made not long ago.
    """
    slots = Slots(len(model.actions), len(model.properties), layout.words)
    # Not by the name of the file: LLVM writes it down as it is, line ends and all.
    unit = Unit("model")
    calls.declare(unit)
    made = generate(model, layout, unit, properties)
    calls.define(unit, layout.words, made.has_steps, recent_bytes)
    kernels.define(unit, layout.words, slots.deadlock)
    sizes = Sizes(slots, len(model.marks), len(model.guards), made.scratch, recent_bytes)
    return build.Compilation(str(unit.module)), sizes


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
    def remark(self) -> str: ...
    def begin(self) -> int: ...
    def examine(self) -> int: ...
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
        account: Account,
        layout: Layout,
        limits: Limits,
        interrupts: Interrupts,
        progress: Callable[[Progress], None],
        explore: Callable[[Callable[[], None]], States],
    ) -> None:
        model = account.model
        self.account = account
        self.layout = layout
        self.slots = Slots(len(model.actions), len(model.properties), layout.words)
        self.limits = limits
        self.progress = progress
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

    def run(self, deadlock: bool) -> Outcome:
        try:
            limit = self.searched(deadlock)
            outcome = self.account.outcome(limit, lambda: Runner(self.account.model), self.paths)
            return self.completed(outcome)
        finally:
            # Also where somebody who looks on has had enough.
            if self.compilation is not None:
                self.compilation.cancel()
            self.interrupts.stop_by(None)
            self.explorer.close()

    def searched(self, deadlock: bool) -> str | None:
        """Searches, and takes all that was found into the account; what cut the search."""
        limit = self.limited(deadlock)
        if limit is not None and limit != self.most_states:
            # At a limit on states nothing is told of the level that was cut: what has been found
            # of it by then depends on the workers.
            self.collect()
        self.total()
        return limit

    def completed(self, outcome: Outcome) -> Outcome:
        """What to return, while the states are still there."""
        return outcome

    def limited(self, deadlock: bool) -> str | None:
        """Searches; what cut the search, if anything did."""
        try:
            with self.timed():
                self.search(deadlock)
        except Cut as cut:
            return str(cut)
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exhausted:
            if self.limits.memory is not None:
                return self.limits.memory_option
            return "the memory of this machine"
        return None

    @contextmanager
    def timed(self) -> Generator[None]:
        """Meanwhile the time that is left is watched; one state can take longer than that."""
        if self.limits.timeout is None:
            yield
            return
        left = self.account.started + self.limits.timeout - time.monotonic()
        cut = Cut(f"--timeout {self.limits.timeout:g}")
        timer = threading.Timer(max(0.0, left), lambda: self.explorer.stop(cut))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    # ------------------------------------------------------------ the loop

    def search(self, deadlock: bool) -> None:
        """All levels, from the first."""
        self.look_out(deadlock)
        self.initial_count = self.explorer.begin()
        if not self.judge():
            self.go_on(deadlock)

    def look_out(self, deadlock: bool) -> None:
        """Says what is looked for from now on."""
        account = self.account
        watched = {*account.invariants, *account.step_invariants, *account.reachables}
        self.explorer.look_for(deadlock, watched - account.reached)

    def go_on(self, deadlock: bool) -> None:
        """The levels behind one that has been judged."""
        account, explorer = self.account, self.explorer
        while True:
            if account.reached:
                self.look_out(deadlock)
            if not explorer.size(explorer.level):
                return
            if self.limits.depth is not None and self.depth >= self.limits.depth:
                raise Cut(f"--depth {self.limits.depth}")
            self.depth += 1
            explorer.expand()
            if self.judge():
                return

    def judge(self) -> bool:
        """Takes in the level that has just been found; whether it ends the search."""
        account, explorer = self.account, self.explorer
        # With constraints it shows only then how many states there are.
        first = self.limits.max_states is not None and bool(account.constraints)
        self.check_states(examined=False)
        if first:
            self.outside += explorer.examine()
            self.check_states()
        self.collect()
        if self.passed_by():
            return True
        if not first:
            self.outside += explorer.examine()
        self.collect()
        if account.ends:
            self.count()
            return True
        self.check_states()
        self.count()
        return False

    def passed_by(self) -> bool:
        """Whether a problem of the states expanded ends the run: those found do not count then."""
        account = self.account
        return account.ends and not account.keep_going and account.least_depth <= self.depth

    def count(self) -> None:
        """Adds what the level found to the account."""
        account, explorer = self.account, self.explorer
        if self.depth:
            account.transitions.append(explorer.transitions - self.counted_steps)
        else:
            account.initial_count = self.initial_count
        self.counted_steps = explorer.transitions
        size = explorer.size(explorer.level)
        if size:
            account.levels.append(size)
        account.outside += self.outside
        self.outside = 0
        account.stuck_count = explorer.stuck
        if account.stuck is None:
            account.stuck = self.stuck
        self.counted = explorer.snapshot()
        if account.reachables:
            account.reached |= explorer.reached(self.counted)

    def total(self) -> None:
        """Puts the counts of the levels that count into the account."""
        account, totals = self.account, self.explorer.totals(self.counted)
        account.taken = list(totals.taken)
        account.marks |= totals.marks
        account.refused = {guard: times for guard, times in enumerate(totals.refused) if times}

    # ------------------------------------------------------------ problems

    def collect(self) -> None:
        """Takes in the problems that machine code has found."""
        for found in self.explorer.found():
            if found.slot != self.slots.stuck:
                self.account.offer(self.candidate(found))
            elif found.state is not None and self.account.stuck is None:
                self.stuck = found.state, self.depth

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
            where = depth if kind == "terminal" else depth + 1
            return self.account.no_value(where, number, state, found.before, found.site)
        rank = Rank.STEP_INVARIANT if kind == "step invariant" else Rank.INVARIANT
        return Candidate(depth + 1, rank, number, state, found.before, number=number)

    # ------------------------------------------------------------ limits

    def check_states(self, examined: bool = True) -> None:
        """Stops at too many states; before they are examined, some may lie outside a constraint."""
        most = self.limits.max_states
        certain = examined or not self.account.constraints
        if most is not None and certain and self.explorer.states > most:
            raise Cut(self.most_states)

    @property
    def most_states(self) -> str:
        """What the limit on states is called."""
        return f"--max-states {self.limits.max_states}"

    def look(self) -> None:
        """Called often: stops the search where it has to, and tells how far it is."""
        now = time.monotonic()
        if self.interrupts.asked or (self.deadline is not None and now > self.deadline):
            raise Cut(INTERRUPTED)
        if self.compilation is not None:
            self.improve(self.compilation, now)
        if self.looking_back:
            return
        seconds = now - self.account.started
        if self.limits.timeout is not None and seconds > self.limits.timeout:
            raise Cut(f"--timeout {self.limits.timeout:g}")
        self.check_states(examined=False)
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
                    seconds,
                    peak_bytes(),
                    remark=explorer.remark,
                )
            )

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
