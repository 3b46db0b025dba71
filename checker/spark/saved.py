"""A search that is saved now and then, goes on from where it was saved, and leaves its state graph.

It does not know where the states and the account of a search are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from fencepost.checker.layout import Layout
from fencepost.checker.native.levels import Search
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.outcome import INTERRUPTED, Outcome
from fencepost.checker.request import Request
from fencepost.checker.search.account import Account, Cut
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.spark import notes
from fencepost.checker.spark.checkpoint import Checkpoints, Saved
from fencepost.checker.spark.explorer import Spread
from fencepost.checker.spark.graph_files import Tables


class SavedSearch(Search):
    """``checkpoints`` is where it is saved, about every ``seconds``; None: nowhere. ``saved`` is
    where it goes on; None: it begins. ``tables`` take the state graph; None: it is not wanted.
    """

    explorer: Spread

    def __init__(
        self,
        request: Request,
        account: Account,
        layout: Layout,
        interrupts: Interrupts,
        explore: Callable[[Callable[[], None]], Spread],
        sizes: Sizes,
        checkpoints: Checkpoints | None,
        saved: Saved | None,
        seconds: float,
        tables: Tables | None,
    ) -> None:
        super().__init__(request, account, layout, interrupts, explore)
        self._sizes = sizes
        self._checkpoints = checkpoints
        self._goes_on_from = saved
        self._seconds = seconds
        self._saved_at = time.monotonic()
        self._tables = tables

    def search(self) -> None:
        checkpoints, saved = self._checkpoints, self._goes_on_from
        if saved is None or checkpoints is None:
            super().search()
            return
        account = self.account
        noted = saved.account
        noted.put(account)
        self.depth = len(noted.levels) - 1
        self.initial_count = noted.initial_count
        self.counted_steps = noted.counts.transitions
        self.explorer.restore(checkpoints.start(saved), noted.levels, noted.counts, noted.tally)
        # What is there has been looked at: only now anything is removed.
        checkpoints.tidy()
        self.counted = self.explorer.snapshot()
        self.look_out()
        self.go_on()

    def judge(self) -> bool:
        ended = super().judge()
        due = time.monotonic() - self._saved_at >= self._seconds
        more = not ended and self.explorer.size(self.explorer.level) > 0
        if due and more and self._checkpoints is not None:
            checkpoints, explorer = self._checkpoints, self.explorer
            tally = worker_context.combined(self._sizes, explorer.snapshot())
            account = notes.written(self.account, self.layout, explorer.counts, tally)
            if self.explorer.save(
                lambda level, seen, new: checkpoints.save(level, seen, new, account)
            ):
                self._saved_at = time.monotonic()
        return ended

    def completed(self, outcome: Outcome) -> Outcome:
        """Saves the state graph, where it is whole: down to the end, a depth or a problem."""
        tables = self._tables
        if tables is None:
            return outcome
        if outcome.cut is not None and outcome.cut.kind != "depth":
            return _noted(outcome, f"The states are not saved: the search was cut ({outcome.cut}).")
        model, statistics = self.account.model, outcome.statistics
        self.looking_back = True
        try:
            self.explorer.whole(
                "saving states", lambda blocks: tables.write(model, statistics, blocks)
            )
            tables.publish()
        except Cut as cut:
            stopped = outcome.interrupted or cut.limit == INTERRUPTED
            outcome = replace(outcome, interrupted=stopped)
            return _noted(outcome, f"The states are not saved: {cut}.")
        finally:
            tables.discard()
        return _noted(outcome, f"The states are saved in {tables.url}.")


def _noted(outcome: Outcome, note: str) -> Outcome:
    return replace(outcome, notes=(*outcome.notes, note))
