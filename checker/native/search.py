"""Breadth-first search in machine code: the engine ``local``.

What it finds is what the interpreter finds, whatever the number of workers: a level is searched
as a whole, and of several problems the least is kept. Of a level that a limit on states cuts, the
first states count, in the order of the interpreter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Literal, Protocol

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.compile import generate
from fencepost.checker.native.codegen.context_words import RECENT_BYTES, Slots
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.codegen.packed import salted
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.kernels import behaviours, calls, search_kernels
from fencepost.checker.native.levels import Search, out_of_memory
from fencepost.checker.native.machine import build, host
from fencepost.checker.native.machine.memory import Exhausted, Memory
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.outcome import INTERRUPTED, OUT_OF_MEMORY, Limit, Outcome
from fencepost.checker.printing import units
from fencepost.checker.request import Request, Translation, refuse_symbols
from fencepost.checker.resources import peak_bytes, processors
from fencepost.checker.search.account import Account, Cut, before_search
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.verdict import expanded_levels, judged
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner


class Local:
    """The engine of this module. ``code``: what code it runs; ``watched``: whether it looks for
    writes outside its memory. The defaults are for users, the rest is for tests.
    """

    name = "local"

    def __init__(
        self, code: Literal["quick", "best", "both"] = "both", watched: bool = False
    ) -> None:
        self._code = code
        self._watched = watched

    @property
    def library(self) -> str:
        return host.library()

    def obstacle(self) -> str | None:
        return host.obstacle()

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

    def run(self, request: Request) -> Outcome:
        refuse_symbols(request.model)
        account = Account(request)
        known = before_search(account)
        if known is not None:
            return known
        interrupts = Interrupts()
        with interrupts.heard():
            search = self._prepared(request, account, interrupts)
            if isinstance(search, Limit):
                return _begun(account.outcome(search, lambda: Runner(request.model), lambda _: []))
            return _begun(search.run())

    def _prepared(
        self, request: Request, account: Account, interrupts: Interrupts
    ) -> Search | Limit:
        """A search that is ready to run; where it is over already, the limit that ends it."""
        model, limits = request.model, request.limits
        layout = Layout(model)
        memory = Memory(limits.memory, self._watched)
        try:
            compilation, sizes = translated(model, layout, request.properties)
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
                if request.observer is not None:
                    explorer.watch(request.observer)
                return explorer

            kind = _Judging if account.searched.behaviours else Search
            search = kind(request, account, layout, interrupts, explore)
        except KeyboardInterrupt:
            return INTERRUPTED
        except (Exhausted, MemoryError):
            memory.close()
            return out_of_memory(limits)
        if self._code == "both" and not found:
            search.compilation = compilation
        return search


ENGINE = Local()


class _Behaviours(Protocol):
    """What decides properties of behaviours: `behaviours.Behaviours`."""

    def violation(self, property: int) -> Lasso | None: ...


class _Judging(Search):
    """A search that decides properties of behaviours as well, while its states are still there."""

    def completed(self, outcome: Outcome) -> Outcome:
        return judged(outcome, self.request, Runner(self.account.model), self.deciding(outcome))

    def deciding(self, outcome: Outcome) -> Callable[[int], Lasso | None]:
        """What decides one property after the other."""
        explorer, account = self.explorer, self.account
        assert isinstance(explorer, Explorer)
        made: list[_Behaviours] = []

        def behaviours() -> _Behaviours:
            levels = expanded_levels(outcome)
            most = len(outcome.statistics.levels) if levels is None else levels
            searched = sum(1 for level in range(1, most + 1) if explorer.has(level))
            predicates = account.searched.predicates
            # Who does not ask for behaviours does not pay for the libraries.
            home = import_module("fencepost.checker.native.behaviours")
            found: _Behaviours = home.Behaviours(
                account.model,
                self.layout,
                explorer,
                explorer.memory,
                searched,
                predicates,
                explorer.pause,
            )
            return found

        def decide(number: int) -> Lasso | None:
            try:
                with self.timed():
                    explorer.resume()
                    if not made:
                        made.append(behaviours())
                    return made[0].violation(number)
            except KeyboardInterrupt:
                raise Cut(INTERRUPTED) from None
            except Exhausted:
                raise Cut(out_of_memory(self.limits)) from None
            except MemoryError:
                raise Cut(OUT_OF_MEMORY) from None

        return decide


def _begun(outcome: Outcome) -> Outcome:
    """The outcome, with a remark if there was no memory even to begin."""
    limit = outcome.limit
    if limit is None or limit.kind != "memory" or outcome.statistics.distinct:
        return outcome
    taken = units.size(peak_bytes())
    note = f"The process takes {taken} before its first state: {limit} is too little."
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
    if model.searched(properties).behaviours:
        behaviours.declare(unit)
    made = generate(model, layout, unit, properties)
    calls.define(unit, layout.words, made.has_steps, recent_bytes, made.behaviours)
    search_kernels.define(unit, layout.words, slots.deadlock)
    if made.behaviours:
        behaviours.define(unit, layout.words, made.ghosts)
    sizes = Sizes(slots, len(model.marks), len(model.guards), made.scratch, recent_bytes)
    return build.Compilation(salted(str(unit.module))), sizes
