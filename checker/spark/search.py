"""The engine ``spark``: the search of the engine ``local``, with its later levels computed on a
cluster.

Its findings equal those of the engine ``local``, for any cluster and any number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import uuid4

from pyspark import SparkContext

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.machine import build, worker_context
from fencepost.checker.native.machine.build import CodeInUse
from fencepost.checker.native.saving import notes
from fencepost.checker.native.saving.identity import identity
from fencepost.checker.native.search import ENGINE as LOCAL
from fencepost.checker.native.search import translated
from fencepost.checker.outcome import INTERRUPTED, Fact, Outcome, Resumed
from fencepost.checker.request import (
    Cluster,
    Request,
    Translation,
    refuse_behaviours,
    refuse_symbols,
)
from fencepost.checker.search.account import Account, Cut, before_search
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.states import Checkpoint, not_read, still_good
from fencepost.checker.search.value_states import ValueStates
from fencepost.checker.spark import session
from fencepost.checker.spark.checkpoint import FORMAT, UNSIGNED_FORMAT, Checkpoints, Saved, unusable
from fencepost.checker.spark.graph_files import Tables
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import MergeResult
from fencepost.checker.spark.states import HandOver, SparkStates
from fencepost.checker.user_key import Purpose, Unusable
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Rejected

THRESHOLD_BYTES = 1 << 22
"""A level is handed over to the cluster when its states take this many bytes."""


class Spark:
    """The engine ``spark``, on a given cluster. ``large`` decides when the cluster takes over; the
    default is when the states of the last level take `THRESHOLD_BYTES`. ``watch`` receives the
    results of the tasks of each level.
    """

    name = "spark"

    def __init__(
        self,
        cluster: Cluster | None = None,
        large: Callable[[Explorer], bool] | None = None,
        watch: Callable[[Sequence[MergeResult]], None] = lambda _: None,
    ) -> None:
        self._cluster = cluster or Cluster()
        self._large = large
        self._watch = watch

    @property
    def library(self) -> str:
        return f"{build.library()}, {session.library()}"

    def obstacle(self) -> str | None:
        return build.obstacle() or session.obstacle()

    def on(self, cluster: Cluster) -> Spark:
        """Returns the same engine on another cluster."""
        return Spark(cluster, self._large, self._watch)

    def translation(self, model: Model, properties: frozenset[int]) -> Translation:
        return LOCAL.translation(model, properties)

    def run(self, request: Request) -> Outcome:
        model = request.model
        refuse_symbols(model)
        refuse_behaviours(model, request.properties)
        account = Account(request)
        early_outcome = before_search(account)
        if early_outcome is not None:
            return early_outcome
        layout = Layout(model)
        compilation, sizes = translated(model, layout, request.properties)
        spark = session.connect(self._cluster)
        saved, checkpoints = None, _checkpoints(spark, request, compilation.text)
        if checkpoints is not None and request.saving is not None and request.saving.resumed:
            saved = checkpoints.latest(account, sizes, unsigned=request.saving.unsigned)
        tables = self._tables(spark, model)
        partitions = self._cluster.partitions or session.parallelism(spark)
        tasks = session.tasks(spark, partitions)
        together = session.together(spark)
        program = Program(compilation.text, sizes, partitions, tasks, uuid4().hex, together)
        interrupts = Interrupts()
        with interrupts.heard():
            watch = Watch(request, account, interrupts)
            states = SparkStates(
                watch,
                layout,
                sizes,
                CodeInUse(compilation),
                HandOver(spark, program, self._large or _large, self._watch, request.observer),
            )
            checkpoint = None
            if checkpoints is not None:
                saver = Saver(states, checkpoints, saved)
                checkpoint = Checkpoint(saver, session.checkpoint_seconds(spark))
            search = LevelSearch(
                watch, states, checkpoint,
                first_states=lambda: ValueStates(watch, Runner(model), None),
            )  # fmt: skip
            if tables is None:
                return search.run()
            return search.run(lambda outcome: with_tables(outcome, states, tables))

    def _tables(self, spark: SparkContext, model: Model) -> Tables | None:
        """Returns the destination for the state graph, or None if it is not saved."""
        cluster = self._cluster
        if cluster.states is None:
            return None
        return Tables(spark, cluster.states, cluster.title or model.name)


def _large(local: Explorer) -> bool:
    """Whether the last level has enough states to be worth a cluster."""
    return local.size(local.level) * local.state_bytes >= THRESHOLD_BYTES


def _checkpoints(spark: SparkContext, request: Request, code: str) -> Checkpoints | None:
    """Returns the folder for saving the search, or None if it is not saved."""
    saving = request.saving
    if saving is None:
        return None
    belongs = identity(FORMAT, request, code, Purpose.SPARK_CHECKPOINT, UNSIGNED_FORMAT)
    checkpoints = Checkpoints(spark, saving.place, belongs, request.model)
    if not saving.resumed and checkpoints.begun:
        reason = "there already is one"
        raise unusable(saving.place, reason, f"--resume {saving.folder} continues it")
    return checkpoints


ENGINE = Spark()


class Saver:
    """Saves and restores a search. The search starts from ``saved``, or from the initial states if
    that is None.
    """

    def __init__(self, states: SparkStates, checkpoints: Checkpoints, saved: Saved | None) -> None:
        self._states = states
        self._checkpoints = checkpoints
        self._saved = saved
        self.resumed: Resumed | None = None

    def restore(self) -> bool:
        """See `search.states.Saver.restore`."""
        if self._saved is None:
            return False
        start, noted = self._checkpoints.start(self._saved), self._saved.account
        noted.put(self._states.account)
        self._states.restore(start, noted.levels, noted.outside, noted.counted, noted.tally)
        # Old checkpoints are removed only after this checkpoint has been read.
        self._checkpoints.tidy(self._saved)
        self.resumed = Resumed(self._checkpoints.url, len(noted.levels), not self._saved.unsigned)
        return True

    def judged(self) -> None:
        """Nothing to do: the data is read from the states when it is saved."""

    def save(self) -> bool:
        """Saves the search if its states are on the cluster; returns whether it did."""
        states, checkpoints = self._states.there, self._checkpoints
        if states is None:
            return False
        account, tally = states.account, worker_context.combined(states.sizes, states.tallies())
        record = notes.written(account, states.layout, tally, account.candidates.values())
        try:
            states.levels.save(lambda level, seen, new: checkpoints.save(level, seen, new, record))
        except Rejected as rejected:
            note = (None, still_good(checkpoints.level))
            noted = [
                replace(problem, notes=(*problem.notes, note)) for problem in rejected.problems
            ]
            raise type(rejected)(noted) from None
        return True

    def cut(self) -> None:
        """Saves nothing: the records of an unfinished level cannot be told apart from those of
        earlier levels. The last checkpoint remains.
        """

    def unusable(self, why: str) -> Rejected:
        """See `search.states.Saver.unusable`."""
        return unusable(self._checkpoints.url, why)

    def noted(self, outcome: Outcome) -> tuple[str, ...]:
        """Returns only notes about unused or unsigned checkpoints, since the user already knows the
        URL.
        """
        key, notes = self._checkpoints.key, list[str]()
        if self._saved is not None and self.resumed is None:
            notes.append(not_read(self._checkpoints.url))
        if isinstance(key, Unusable):
            notes.append(f"The checkpoints are unsigned: {key}.")
        return tuple(notes)


def with_tables(outcome: Outcome, states: SparkStates, tables: Tables) -> Outcome:
    """Saves the state graph if the search was not cut short, or only by a depth limit."""
    if outcome.cut is not None and outcome.cut.kind != "depth":
        return _noted(outcome, f"The states are not saved: the search was cut ({outcome.cut}).")
    model, statistics = states.account.model, outcome.statistics
    try:
        states.handed_over().levels.whole(
            "saving states", lambda blocks: tables.write(model, statistics, blocks)
        )
        tables.publish()
    except Cut as cut:
        stopped = outcome.interrupted or cut.limit == INTERRUPTED
        outcome = replace(outcome, interrupted=stopped)
        return _noted(outcome, f"The states are not saved: {cut}.")
    finally:
        tables.discard()
    return _noted(outcome, Fact(f"The states are saved in {tables.url}."))


def _noted(outcome: Outcome, note: str) -> Outcome:
    return replace(outcome, notes=(*outcome.notes, note))
