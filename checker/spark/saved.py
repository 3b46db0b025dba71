"""A search that is saved now and then, goes on from where it was saved, and leaves its state graph.

It knows which numbers make up the account of a search; where they are kept it does not know.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fencepost.checker.account import Account, Candidate, Cut, Rank
from fencepost.checker.engine import Limits, Progress
from fencepost.checker.layout import Layout
from fencepost.checker.native import contexts
from fencepost.checker.native.contexts import Sizes
from fencepost.checker.native.interrupts import Interrupts
from fencepost.checker.native.levels import Search
from fencepost.checker.result import Outcome
from fencepost.checker.spark.checkpoint import Checkpoints, Notes, Saved
from fencepost.checker.spark.explorer import Counts, Spread
from fencepost.checker.spark.saving import Tables
from fencepost.spec.types import State


class SavedSearch(Search):
    """``checkpoints`` is where it is saved, about every ``seconds``; None: nowhere. ``saved`` is
    where it goes on; None: it begins. ``tables`` take the state graph; None: it is not wanted.
    """

    explorer: Spread

    def __init__(
        self,
        account: Account,
        layout: Layout,
        limits: Limits,
        interrupts: Interrupts,
        progress: Callable[[Progress], None],
        explore: Callable[[Callable[[], None]], Spread],
        sizes: Sizes,
        checkpoints: Checkpoints | None,
        saved: Saved | None,
        seconds: float,
        tables: Tables | None,
    ) -> None:
        super().__init__(account, layout, limits, interrupts, progress, explore)
        self._sizes = sizes
        self._checkpoints = checkpoints
        self._goes_on_from = saved
        self._seconds = seconds
        self._saved_at = time.monotonic()
        self._tables = tables

    def search(self, deadlock: bool) -> None:
        if self._goes_on_from is None or self._checkpoints is None:
            super().search(deadlock)
            return
        self._restore(self._goes_on_from.account)
        account = self.account
        tally = self.counted[0]
        start = self._checkpoints.start(self._goes_on_from)
        self._checkpoints.tidy()
        self.explorer.restore(start, account.levels, self._counts, tally)
        self.counted = self.explorer.snapshot()
        self.look_out(deadlock)
        self.go_on(deadlock)

    def judge(self) -> bool:
        ended = super().judge()
        due = time.monotonic() - self._saved_at >= self._seconds
        more = not ended and self.explorer.size(self.explorer.level) > 0
        if due and more and self._checkpoints is not None:
            checkpoints, account = self._checkpoints, self._notes()
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
        if outcome.cut is not None and outcome.cut != f"--depth {self.limits.depth}":
            return _noted(outcome, f"The states are not saved: the search was cut ({outcome.cut}).")
        model, statistics = self.account.model, outcome.statistics
        self.looking_back = True
        try:
            self.explorer.whole(
                "saving states", lambda blocks: tables.write(model, statistics, blocks)
            )
            tables.publish()
        except Cut as cut:
            return _noted(outcome, f"The states are not saved: {cut}.")
        finally:
            tables.discard()
        return _noted(outcome, f"The states are saved in {tables.url}.")

    # ------------------------------------------------------------ the account as numbers

    def _notes(self) -> Notes:
        account = self.account
        stuck = None
        if account.stuck is not None:
            state, level = account.stuck
            stuck = [self._packed(state), level]
        return {
            "depth": self.depth,
            "initial_count": account.initial_count,
            "levels": account.levels,
            "transitions": account.transitions,
            "counted_steps": self.counted_steps,
            "outside": account.outside,
            "stuck_count": account.stuck_count,
            "stuck": stuck,
            "reached": sorted(account.reached),
            "counts": list(self.explorer.counts),
            "tally": contexts.combined(self._sizes, self.explorer.snapshot()).hex(),
            "problems": [
                [
                    found.depth, int(found.rank), found.index, self._packed(found.state),
                    self._packed(found.before), found.site, found.number,
                ]
                for found in account.candidates.values()
            ],
        }  # fmt: skip

    def _restore(self, notes: Notes) -> None:
        account = self.account
        self.depth = notes["depth"]
        self.initial_count = account.initial_count = notes["initial_count"]
        account.levels[:] = notes["levels"]
        account.transitions[:] = notes["transitions"]
        self.counted_steps = notes["counted_steps"]
        account.outside = notes["outside"]
        account.stuck_count = notes["stuck_count"]
        if notes["stuck"] is not None:
            state = self._unpacked(notes["stuck"][0])
            assert state is not None
            account.stuck = state, notes["stuck"][1]
        account.reached |= {*notes["reached"]}
        for depth, rank, index, state, before, site, number in notes["problems"]:
            account.offer(
                Candidate(
                    depth, Rank(rank), index, self._unpacked(state), self._unpacked(before), site,
                    number,
                )
            )  # fmt: skip
        self._counts = Counts(*notes["counts"])
        self.counted = [bytes.fromhex(notes["tally"])]

    def _packed(self, state: State | None) -> list[int] | None:
        return None if state is None else list(self.layout.encode(state))

    def _unpacked(self, words: Any) -> State | None:
        return None if words is None else self.layout.decode(tuple(words))


def _noted(outcome: Outcome, note: str) -> Outcome:
    return replace(outcome, notes=(*outcome.notes, note))
