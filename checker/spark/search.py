"""The engine ``spark``: the search of the engine ``local``, its later levels on a cluster.

What it finds is what the engine ``local`` finds, whatever the cluster and the number of
partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from pyspark import SparkContext

from fencepost.checker.account import Account, broken_assumptions
from fencepost.checker.engine import Cluster, Limits, Progress, Translation
from fencepost.checker.layout import Layout
from fencepost.checker.native import build, machine
from fencepost.checker.native.contexts import Sizes
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.interrupts import Interrupts
from fencepost.checker.native.memory import Memory
from fencepost.checker.native.search import ENGINE as LOCAL
from fencepost.checker.native.search import Search, translated
from fencepost.checker.process import processors
from fencepost.checker.result import Outcome
from fencepost.checker.spark import session
from fencepost.checker.spark.explorer import Spread
from fencepost.checker.spark.levels import Levels, Start
from fencepost.checker.spark.program import Program
from fencepost.spec.ir import Model

RECENT_BYTES = 1 << 22
"""The room for recent states: what is not sent twice saves more than a cache miss costs."""
THRESHOLD_BYTES = 1 << 22
"""A level is handed over when its states take so much room."""


class Spark:
    """The engine of this module, on a cluster. ``large``: whether the cluster is to go on; None:
    where the states of the last level are as many as are worth it.
    """

    name = "spark"
    parallel = False

    def __init__(
        self, cluster: Cluster | None = None, large: Callable[[Explorer], bool] | None = None
    ) -> None:
        self._cluster = cluster or Cluster()
        self._large = large

    @property
    def library(self) -> str:
        return f"{machine.library()}, {session.library()}"

    def obstacle(self) -> str | None:
        return machine.obstacle() or session.obstacle()

    def on(self, cluster: Cluster) -> Spark:
        """The same engine on a certain cluster."""
        return Spark(cluster, self._large)

    def translation(self, model: Model, properties: frozenset[int]) -> Translation:
        return LOCAL.translation(model, properties)

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
        broken = broken_assumptions(model)
        if broken is not None:
            return broken
        layout = Layout(model)
        compilation, sizes = translated(model, layout, properties, RECENT_BYTES)
        spark = session.connect(self._cluster)
        account = Account(model, properties, keep_going)
        interrupts = Interrupts()
        with interrupts.heard():
            code = compilation.kept()
            found = code is not None
            search = Search(
                account,
                layout,
                limits,
                interrupts,
                progress,
                lambda look: self._explorer(
                    spark, code or compilation.quick(), compilation, sizes, layout, look
                ),
            )
            if not found:
                search.compilation = compilation
            return search.run(deadlock)

    def _explorer(
        self,
        spark: SparkContext,
        code: build.Code,
        compilation: build.Compilation,
        sizes: Sizes,
        layout: Layout,
        look: Callable[[], None],
    ) -> Spread:
        partitions = self._cluster.partitions or spark.defaultParallelism
        shipped = Program(compilation.text, sizes, partitions, uuid4().hex)

        def large(local: Explorer) -> bool:
            return local.size(local.level) * 8 * layout.words >= THRESHOLD_BYTES

        def spread(start: Start) -> Levels:
            return Levels(spark, shipped, start, look)

        local = Explorer(code, sizes, processors(), Memory(), layout.decode, look)
        return Spread(local, sizes, layout.decode, self._large or large, spread)


ENGINE = Spark()
