"""Runs the engine spark within this process and compares its results with the interpreter's.

``python -m tests.support.spread_runs FIRST COUNT`` runs the random specs with these numbers and
reports progress. With ``--cluster local[2]``, one run of each spec goes through Spark itself.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from tests.strategies.drawing import Drawing
from tests.strategies.expressions import expression
from tests.strategies.kinds import Kinds
from tests.strategies.models import Model as Growing
from tests.strategies.scope import World
from tests.strategies.truth import probable
from tests.support.agreement import Observed, Run, assert_same, bounded, runs_of, summary
from tests.support.comparisons import MANY, Kept, variants
from tests.support.spread import Faults, compressed_from, here

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.search import translated
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Cluster, Engine, Saving
from fencepost.checker.spark import search, session
from fencepost.checker.spark.search import Spark
from fencepost.spec.core.ir import Model

MAX_STATES = 300
"""Larger searches get a limit on their depth."""
RECENT_BYTES = 1 << 12


@dataclass(slots=True)
class Tally:
    """Counts the specs and runs so far, and their results."""

    specs: int = 0
    runs: int = 0
    resumed: int = 0
    verdicts: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])

    def __str__(self) -> str:
        verdicts = ", ".join(f"{name} {count}" for name, count in self.verdicts.most_common())
        faults = ", ".join(f"{name} {count}" for name, count in self.faults.most_common())
        runs = f"{self.runs} runs ({verdicts}), {self.resumed} of them resumed"
        return f"{self.specs} specs, {runs}; faults: {faults or 'none'}"


class _Constrained(Growing):
    """A random spec with an additional constraint, which is likely to hold or always true."""

    always = False

    def _rest(self) -> None:
        super()._rest()
        if self.always:
            self.lines.append("constraint: true")
        else:
            self.lines.append(f"constraint: {probable(self.scope(None, 'property', True), False)}")


class _Unconstrained(_Constrained):
    always = True


def grown(seed: int) -> str:
    """Generates a random spec.

    Two out of three specs have a constraint, and in one of these two it is always true.
    """
    drawing = Drawing.by_chance(seed)
    risk = drawing.pick([0, 2, 6, 12])
    kind = (Growing, _Constrained, _Unconstrained)[seed % 3]
    return kind(World(drawing, Kinds(drawing), expression, risk)).write(True)


def runs(run: Run) -> Iterator[Run]:
    """Yields the searches of a check: complete, with limits, and continuing after the first
    problem.
    """
    run = bounded(run, MAX_STATES)
    # A limit that no search reaches must not change the results.
    yield run.within(max_states=MANY)
    yield replace(run, keep_going=True).within(max_states=MANY)
    yield run
    yield from variants(run, run.by("interpreter"))


def assert_spread(text: str, seed: int, tally: Tally, cluster: Cluster | None = None) -> None:
    """Runs all checks of a spec on a random number of partitions, with as many tasks or fewer.

    The level of the handover is random as well.
    """
    chance = random.Random(seed)
    tally.specs += 1
    for check in runs_of(text):
        codes = Codes(check.model, chance.choice((1, 2, 3, MANY)), chance.choice((True, False)))
        searches = [*runs(check)]
        if cluster is not None:
            # A Spark job takes as long as a hundred runs in this process.
            searches = [chance.choice(searches)]
        for run in searches:
            partitions = chance.choice((1, 2, 3, 7))
            level = chance.choice((1, 1, 2, 3))
            compressed = chance.choice((1, 5, 40, MANY))
            expected = run.by("interpreter")
            where = f"seed {seed}, {partitions} partitions from level {level}, compressed from "
            where += f"{compressed} states, {codes.tasks} tasks, together: {codes.together}, {run}"
            tally.runs += 1
            tally.verdicts[expected.verdict] += 1
            with compressed_from(compressed):
                if cluster is not None:
                    engine = Spark(replace(cluster, partitions=partitions), behind(level))
                    assert_same(expected, run.by(engine), f"on {cluster.master}, {where}")
                    continue
                engine = Spark(Cluster(partitions=partitions), behind(level))
                assert_same(expected, codes.by(engine, run), where)
                if chance.randrange(4) == 0:
                    faults = Faults(seed, 6, 6, 2)
                    observed = codes.by(engine, run, faults)
                    tally.faults.update(faults.met)
                    assert_same(expected, observed, f"{faults}, {where}")
                if chance.randrange(6) == 0:
                    _resumed(codes, run, chance, tally, where)


def _resumed(codes: Codes, run: Run, chance: random.Random, tally: Tally, where: str) -> None:
    """Compares a search that saves every level, and another that resumes from one of these
    levels.
    """
    expected = run.by("interpreter")
    with TemporaryDirectory() as folder:
        cluster = Cluster(partitions=chance.choice((1, 3)))
        observed = codes.by(Spark(cluster, behind(1)), replace(run, saving=Saving(folder)))
        assert_same(expected, observed, f"saving every level, {where}")
        saved = sorted(Path(folder).glob("manifest-*"))
        if not saved:
            return
        for later in saved[chance.randrange(len(saved)) + 1 :]:
            later.unlink()
        tally.resumed += 1
        cluster = Cluster(partitions=chance.choice((1, 2, 5)))
        observed = codes.by(Spark(cluster, behind(1)), replace(run, saving=Saving(folder, True)))
        assert_same(expected, observed, f"resumed, {where}")


def behind(level: int) -> Callable[[Explorer], bool]:
    return lambda local: local.level >= level


class Codes:
    """The machine code for a model, built once for each set of properties.

    ``tasks`` is the maximal number per stage. With ``together``, successors are exchanged through
    files, as on one machine.
    """

    def __init__(self, model: Model, tasks: int = MANY, together: bool = True) -> None:
        self.tasks, self.together = tasks, together
        self._model = model
        self._made: dict[frozenset[int], tuple[build.Code, Sizes]] = {}

    def by(self, engine: Engine, run: Run, faults: Faults | None = None) -> Observed:
        """Returns the observation by the engine in this process."""
        return summary(self._model, self.outcome(engine, run, faults))

    def outcome(self, engine: Engine, run: Run, faults: Faults | None = None) -> Outcome:
        """Returns the engine's outcome in this process."""
        if run.properties not in self._made:
            layout = Layout(self._model)
            compilation, sizes = translated(self._model, layout, run.properties, RECENT_BYTES)
            self._made[run.properties] = compilation.quick(), sizes
        code, sizes = self._made[run.properties]
        settings = {
            session.TASKS: str(self.tasks),
            session.SECONDS: "0",
            "spark.master": "local[2]" if self.together else "yarn",
        }
        with (
            mock.patch.object(search, "translated", return_value=(Kept(code), sizes)),
            here(lambda _: code, faults, settings),
        ):
            return run.outcome(engine)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--cluster", default=None)
    options = parser.parse_args()
    cluster = None
    if options.cluster is not None:
        cluster = Cluster(options.cluster, None, (("spark.driver.memory", "1g"),))
    tally, differ, began = Tally(), 0, time.monotonic()
    for seed in range(options.first, options.first + options.count):
        try:
            assert_spread(grown(seed), seed, tally, cluster)
        except Exception as error:
            differ += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
        if tally.specs % 100 == 0:
            print(f"{time.monotonic() - began:.0f} s: {tally}, {differ} differ", flush=True)
    print(f"{time.monotonic() - began:.0f} s: {tally}, {differ} differ", flush=True)
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
