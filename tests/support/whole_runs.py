"""Whole runs of the interpreter and of the engine local, compared, with any number of workers and
under any limit.

Machine code is made once for a model, and then used for all runs with it.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest import mock

from tests.support.agreement import Observed, assert_same, bounded, loaded, summary

from fencepost.checker.engines import load
from fencepost.checker.layout import Layout
from fencepost.checker.native import explorer, search
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Engine, Limits, Request, Saving
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program
from fencepost.spec.elaborate.claims.program import Check

WORKERS = (1, 2, 3)
LIMITS = 3
"""How many limits on states a run is compared under."""
SMALL = 1_000
"""Searches of at most so many states are compared under limits, too."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is asked of an engine."""

    model: Model
    properties: frozenset[int]
    deadlock: bool
    limits: Limits
    keep_going: bool = False
    saving: Saving | None = None

    def __str__(self) -> str:
        going = ", going on" if self.keep_going else ""
        return f"{self.limits}, deadlock {self.deadlock}{going}"

    def by(self, engine: Engine) -> Observed:
        """What the engine finds."""
        return summary(self.model, self.outcome(engine))

    def outcome(self, engine: Engine) -> Outcome:
        """The same as the engine gives it."""
        return engine.run(
            Request(
                self.model,
                properties=self.properties,
                deadlock=self.deadlock,
                limits=self.limits,
                keep_going=self.keep_going,
                saving=self.saving,
            )
        )


def assert_engines_agree(text: str, most: int, better: bool = False) -> None:
    """All checks of a spec, cut at a depth where they would visit more than ``most`` states.

    ``better``: with code on which LLVM has worked.
    """
    read = loaded(text)
    for check in read.checks:
        model = program.build(read, check)
        limits = bounded("interpreter", model, check, most)
        assert_runs_agree(model, check, limits, text, better)


def assert_runs_agree(
    model: Model, check: Check, limits: Limits, where: str, better: bool = False
) -> None:
    """One check, within these limits, and where it is small within others."""
    properties = program.select(model, check)
    run = Run(model, properties, check.verdict != "violated", limits)
    with translated_once(better):
        wanted = _compare(run, where, WORKERS)
        for other in _others(run, wanted):
            _compare(other, where, WORKERS)


def assert_runs_agree_in_short(model: Model, check: Check, limits: Limits, turn: int) -> None:
    """As above, for runs of thousands: with a number of workers in each run that depends on
    ``turn``, and memory watched now and then.
    """
    properties = program.select(model, check)
    run = Run(model, properties, check.verdict != "violated", limits)
    watched = turn % 16 == 0
    with translated_once(better=turn % 50 == 0):
        wanted = _compare(run, check.name, (1, 2 + turn % 2), watched)
        for place, other in enumerate(_others(run, wanted)):
            _compare(other, check.name, (1 + (turn + place) % 3,), watched)


def _others(run: Run, found: Observed) -> Iterator[Run]:
    """Other runs of the same model; ``found`` is what this run came to."""
    if found.verdict not in ("ok", "unreached"):
        yield replace(run, keep_going=True)
    if found.distinct > SMALL:
        return
    yield replace(run, deadlock=not run.deadlock, keep_going=True)
    if found.depth > 2:
        yield replace(run, limits=Limits(depth=found.depth // 2))
    # Any number of states may be too many, also in the middle of what one state leads to.
    chosen = random.Random(found.generated)
    for _ in range(LIMITS if found.distinct > 1 else 0):
        limits = Limits(depth=run.limits.depth, max_states=chosen.randrange(1, found.distinct))
        yield replace(run, limits=limits, keep_going=chosen.random() < 0.5)
    if found.distinct > 2:
        # A limit that is just not reached, and one that the last state reaches.
        for most in (found.distinct, found.distinct - 1):
            yield replace(run, limits=Limits(depth=run.limits.depth, max_states=most))


def _compare(run: Run, where: str, counts: Sequence[int], watched: bool = True) -> Observed:
    """Every engine comes to the same; returned is what."""
    wanted = run.by(load("interpreter"))
    for workers in counts:
        asked = replace(run, limits=replace(run.limits, workers=workers))
        # Few states are not worth a thread, but here they are to have some.
        with mock.patch.object(explorer, "FEW", 0):
            found = asked.by(search.Local(watched=watched and workers == 1))
        assert_same(wanted, found, f"{asked}:\n{where}")
    return wanted


@contextmanager
def translated_once(better: bool) -> Generator[None]:
    """Meanwhile machine code is kept, and made anew for another model only; models live on."""
    made: dict[tuple[int, frozenset[int], bool], tuple[_Kept, Sizes]] = {}
    real = search.translated

    def translated(
        model: Model,
        layout: Layout,
        properties: frozenset[int],
        *,
        profile: bool = False,
        symmetric: bool = False,
    ) -> tuple[build.Compilation, Sizes]:
        assert not profile
        key = id(model), properties, symmetric
        if key not in made:
            compilation, sizes = real(model, layout, properties, symmetric=symmetric)
            code = compilation.best() if better else compilation.quick()
            made[key] = _Kept(code), sizes
        return made[key]

    with mock.patch.object(search, "translated", translated):
        yield


class _Kept(build.Compilation):
    """Code that is there, and need not be made better."""

    def __init__(self, code: build.Code) -> None:
        super().__init__("")
        self._code = code

    def kept(self) -> build.Code:
        return self._code

    def quick(self) -> build.Code:
        return self._code
