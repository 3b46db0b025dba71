"""Observes one check from inside: the time and memory of each level, and a profile of the time.

    python -m bench.probe FILE BEGAN -- check SPEC --check NAME ...

runs the command after the two dashes in this process, unchanged, and writes the observations to
FILE as JSON. BEGAN is the time (of ``time.time``) when the process was started.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

STARTED = time.time()

# Imports follow the clock (E402), since importing is one of the measured phases.
from fencepost.checker.cli import main as cli  # noqa: E402
from fencepost.checker.layout import Layout  # noqa: E402
from fencepost.checker.native import search, states  # noqa: E402
from fencepost.checker.native.explorer import SAMPLE, Explorer  # noqa: E402
from fencepost.checker.native.machine import build  # noqa: E402
from fencepost.checker.native.machine.memory import Memory  # noqa: E402
from fencepost.checker.native.machine.spill import Spill  # noqa: E402
from fencepost.checker.native.machine.worker_context import Sizes  # noqa: E402
from fencepost.checker.native.visited.plan import Salts  # noqa: E402
from fencepost.checker.resources import resident_bytes  # noqa: E402
from fencepost.spec.core.ir import Model  # noqa: E402

IMPORTED = time.time()
KERNELS: tuple[str, ...] = ("expand", "merge", "rehash", "spread", "examine")
SAMPLE_SECONDS = 0.002
ENOUGH = 1_000_000
"""Bytes per state are meaningful from this number of states."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level whose states have been generated and examined. Counts and ``seconds`` are cumulative,
    from the beginning of the search. ``resident`` is the memory in bytes above the value before the
    first level. ``most`` is the maximum of bytes per state since the previous level, or 0 if there
    are too few states.
    """

    level: int
    distinct: int
    generated: int
    seconds: float
    resident: int
    most: float


@dataclass(slots=True)
class Observations:
    """The output of a probe. ``phases`` are the durations of consecutive phases, in seconds.
    ``kernels`` are the seconds of all workers together.
    """

    words: int = 0
    phases: dict[str, float] = field(default_factory=dict[str, float])
    kernels: dict[str, float] = field(default_factory=dict[str, float])
    levels: list[Level] = field(default_factory=list[Level])


class Stopwatch:
    """Measures the time spent in functions, by name, without the time of the measured functions
    that they call.
    """

    def __init__(self) -> None:
        self._mine = threading.local()
        self._threads: list[dict[str, float]] = []

    def timed(self, name: str, function: Callable[..., None]) -> Callable[..., None]:
        """Returns the function, instrumented to add its time to ``name``."""

        def call(*arguments: int) -> None:
            mine = self._mine
            if not hasattr(mine, "inner"):
                mine.inner, mine.seconds = [0.0], dict.fromkeys(KERNELS, 0.0)
                self._threads.append(mine.seconds)
            inner: list[float] = mine.inner
            inner.append(0.0)
            began = time.perf_counter()
            function(*arguments)
            spent = time.perf_counter() - began
            mine.seconds[name] += spent - inner.pop()
            inner[-1] += spent

        return call

    def totals(self) -> dict[str, float]:
        """Returns the seconds of all threads together."""
        return {name: sum(part[name] for part in self._threads) for name in KERNELS}


class Probe:
    """Instruments the engine and records the observations."""

    def __init__(self, began: float) -> None:
        self.seen = Observations()
        self.watch = Stopwatch()
        self._last = began
        self.phase("python", STARTED)
        self.phase("imports", IMPORTED)

    def phase(self, name: str, now: float | None = None) -> None:
        """Ends a phase at time ``now``, by default the present."""
        now = time.time() if now is None else now
        self.seen.phases[name] = self.seen.phases.get(name, 0.0) + now - self._last
        self._last = now

    def install(self) -> None:
        """Makes the engine use the instrumented functions."""
        probe, translated, quick = self, search.translated, build.Compilation.quick

        def watched_translation(
            model: Model, layout: Layout, properties: frozenset[int], symmetric: bool = False
        ) -> tuple[build.Compilation, Sizes]:
            probe.phase("spec")
            probe.seen.words = layout.words
            translation = translated(model, layout, properties, symmetric=symmetric)
            probe.phase("writing code")
            return translation

        def watched_compilation(compilation: build.Compilation) -> build.Code:
            code = quick(compilation)
            probe.phase("compiling")
            return code

        # The module declares these names as constants, and nothing else reassigns them.
        engine: Any = search
        engine.translated = watched_translation
        kept: Any = states
        kept.Explorer = partial(WatchedExplorer, probe)
        compiler: Any = build.Compilation
        compiler.quick = watched_compilation


class WatchedExplorer(Explorer):
    """An explorer that is measured level by level."""

    def __init__(
        self,
        probe: Probe,
        code: build.Code,
        sizes: Sizes,
        owners: int,
        memory: Memory,
        decode: Any,
        look: Callable[[], None],
        spill: Spill | None = None,
    ) -> None:
        self._probe = probe
        self._looked = look
        self._sampled = self._most = 0.0
        self._before = 0
        self._ready = False
        self._codes: list[build.Code] = []
        self._set_codes_kept: list[build.SetCode] = []
        watched = self._watched(code)
        super().__init__(watched, sizes, owners, memory, decode, self._sample, spill)

    def begin(self) -> None:
        self._probe.phase("setting up")
        self._before = resident_bytes()
        self._ready = True
        self._began = time.perf_counter()
        super().begin()

    def examine(self) -> None:
        super().examine()
        self._weigh()
        resident = resident_bytes() - self._before
        generated = self.initial + self.transitions
        seconds = time.perf_counter() - self._began
        self._probe.seen.levels.append(
            Level(self.level, self.states, generated, seconds, resident, self._most)
        )
        self._most = 0.0

    def use(self, code: build.Code) -> None:
        super().use(self._watched(code))

    def compress(self, code: build.SetCode, salts: Salts, sample: int = SAMPLE) -> bool:
        return super().compress(self._watched_set(code), salts, sample)

    def use_set(self, code: build.SetCode) -> None:
        super().use_set(self._watched_set(code))

    def close(self) -> None:
        self._probe.phase("tracing")
        super().close()
        self._probe.phase("freeing")

    def _watched(self, code: build.Code) -> build.Code:
        # The functions do not keep the code that contains them alive.
        self._codes.append(code)
        timed = self._probe.watch.timed
        return replace(
            code,
            expand=timed("expand", code.expand),
            merge=timed("merge", code.merge),
            rehash=timed("rehash", code.rehash),
            spread=timed("spread", code.spread),
            examine=timed("examine", code.examine),
        )

    def _watched_set(self, code: build.SetCode) -> build.SetCode:
        # The functions are timed under the names of those that do the same for whole states. Whole
        # states need no decoding, so decoding counts as expanding.
        self._set_codes_kept.append(code)
        timed = self._probe.watch.timed
        return replace(
            code,
            add=timed("merge", code.add),
            decode=timed("expand", code.decode),
            move=timed("rehash", code.move),
            reindex=timed("rehash", code.reindex),
        )

    def _sample(self) -> None:
        now = time.perf_counter()
        if self._ready and now - self._sampled >= SAMPLE_SECONDS:
            self._sampled = now
            self._weigh()
        self._looked()

    def _weigh(self) -> None:
        states = self.states
        if states >= ENOUGH:
            self._most = max(self._most, (resident_bytes() - self._before) / states)


def main() -> int:
    file, began, _, *command = sys.argv[1:]
    probe = Probe(float(began))
    probe.install()
    with redirect_stdout(sys.stderr):
        code = cli.main(command)
    probe.phase("reporting")
    seen = probe.seen
    if seen.levels:
        # The search ends with its last level. What the explorer does later is for traces.
        seen.phases["search"] = seen.levels[-1].seconds
        seen.phases["tracing"] = max(0.0, seen.phases["tracing"] - seen.levels[-1].seconds)
    seen.kernels = probe.watch.totals()
    Path(file).write_text(json.dumps(asdict(seen)), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
