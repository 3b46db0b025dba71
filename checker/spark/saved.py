"""A search that is saved, goes on from where it was saved, and leaves its state graph.

It does not know how a search goes on, nor where what is saved lies.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.saving import notes
from fencepost.checker.outcome import INTERRUPTED, Fact, Outcome, Resumed
from fencepost.checker.search.account import Cut
from fencepost.checker.search.checkpoint import still_good
from fencepost.checker.search.states import States
from fencepost.checker.spark.checkpoint import Checkpoints, Saved, unusable
from fencepost.checker.spark.graph_files import Tables
from fencepost.checker.spark.states import FirstStates
from fencepost.checker.user_key import Unusable
from fencepost.spec.text.problem import Rejected


class Saver:
    """``saved`` is where the search goes on; None: it begins with the states of ``first``."""

    def __init__(self, first: FirstStates, checkpoints: Checkpoints, saved: Saved | None) -> None:
        self._first = first
        self._checkpoints = checkpoints
        self._saved = saved
        self.resumed: Resumed | None = None

    def restore(self) -> States | None:
        """As `search.checkpoint.Saver`."""
        if self._saved is None:
            return None
        start, noted = self._checkpoints.start(self._saved), self._saved.account
        noted.put(self._first.account)
        states = self._first.restored(
            start, noted.levels, noted.outside, noted.counted, noted.tally
        )
        # What is there has been looked at: only now anything is removed.
        self._checkpoints.tidy(self._saved)
        self.resumed = Resumed(self._checkpoints.url, len(noted.levels), not self._saved.unsigned)
        return states

    def judged(self) -> None:
        """What is to be saved is taken from the states when it is."""

    def save(self) -> bool:
        """Saves the search if its states are on the cluster."""
        states, checkpoints = self._first.there, self._checkpoints
        if states is None:
            return False
        account, tally = states.account, worker_context.combined(states.sizes, states.tallies())
        said = notes.written(account, states.layout, tally, account.candidates.values())
        try:
            states.levels.save(lambda level, seen, new: checkpoints.save(level, seen, new, said))
        except Rejected as rejected:
            note = (None, still_good(checkpoints.level))
            noted = [replace(one, notes=(*one.notes, note)) for one in rejected.problems]
            raise type(rejected)(noted) from None
        return True

    def cut(self) -> None:
        """A level under way cannot be told from those before it: what was saved stays."""

    def unusable(self, why: str) -> Rejected:
        """As `search.checkpoint.Saver`."""
        return unusable(self._checkpoints.url, why)

    def noted(self, outcome: Outcome) -> tuple[str, ...]:
        """The URL is known to whoever gave it, but not that nothing is signed."""
        key = self._checkpoints.key
        return (f"The checkpoints are unsigned: {key}.",) if isinstance(key, Unusable) else ()


def with_tables(outcome: Outcome, first: FirstStates, tables: Tables) -> Outcome:
    """Saves the state graph, where it is whole: down to the end, a depth or a problem."""
    if outcome.cut is not None and outcome.cut.kind != "depth":
        return _noted(outcome, f"The states are not saved: the search was cut ({outcome.cut}).")
    model, statistics = first.account.model, outcome.statistics
    try:
        first.handed_over().levels.whole(
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
