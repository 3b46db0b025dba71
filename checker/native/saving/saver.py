"""Saves the states of a local search between two levels, and restores them with any number of
workers.

Each worker writes its own states. A worker that reads states inserts them into the visited sets of
their owners.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import MIN_PARALLEL
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.build import CodeInUse, Compilation
from fencepost.checker.native.machine.worker_context import Mark, Sizes
from fencepost.checker.native.saving import notes
from fencepost.checker.native.saving.blocks import OUTSIDE, Damaged, Reader, Writer, packed
from fencepost.checker.native.saving.folder import (
    FORMAT,
    UNSIGNED_FORMAT,
    Folder,
    Part,
    Saved,
    reason,
)
from fencepost.checker.native.saving.identity import identity
from fencepost.checker.native.saving.lawful import Unlawful, look_at, text
from fencepost.checker.native.saving.notes import Noted
from fencepost.checker.native.states import LocalStates
from fencepost.checker.native.visited.store import parts
from fencepost.checker.native.worker import Worker
from fencepost.checker.outcome import Outcome, Resumed
from fencepost.checker.request import Limits, Request
from fencepost.checker.search.account import Account, Candidate
from fencepost.checker.search.states import not_read, still_good
from fencepost.checker.user_key import Purpose, Unusable
from fencepost.spec.text.problem import Rejected

TOGETHER = 64
"""The number of blocks that a worker reads before the search considers compressing its states."""


class Opened:
    """The open folder of a search that is about to begin. ``account``, ``layout`` and ``sizes``
    belong to that search, and ``code`` is its LLVM text. Raises `Rejected` if the folder cannot be
    used, or if the saved search exceeds the given limits. Also raises any exception of ``heed``,
    which is called while the manifest is read.
    """

    def __init__(
        self,
        request: Request,
        code: str,
        account: Account,
        layout: Layout,
        sizes: Sizes,
        heed: Callable[[], None],
    ) -> None:
        assert request.saving is not None
        belongs = identity(FORMAT, request, code, Purpose.LOCAL_CHECKPOINT, UNSIGNED_FORMAT)
        self._folder = folder = Folder(request.saving, belongs)
        self._saved: Saved | None = None
        self._resumed = request.saving.resumed
        try:
            if self._resumed:
                self._saved = folder.saved(account, layout, sizes, heed)
            if self._saved is not None:
                _refuse_beyond(folder, self._saved.account, request.limits)
        except BaseException:
            folder.close()
            raise
        self.close = folder.close

    def saver(self, states: LocalStates) -> Saver:
        """Returns the saver of a search that has no states yet."""
        return Saver(self._folder, states, self._saved, self._resumed)


def _refuse_beyond(folder: Folder, account: Noted, limits: Limits) -> None:
    steps = len(account.levels) - 1
    # ``--max-states`` ends a search after a complete level, so the last level may exceed the limit,
    # unless it is the first level.
    states = sum(account.visited[:-1] or account.visited)
    if limits.depth is not None and steps > limits.depth:
        raise folder.unusable(f"it is {steps} steps deep, but --depth allows {limits.depth}")
    if limits.max_states is not None and states > limits.max_states:
        most = f"--max-states allows {limits.max_states:,}"
        raise folder.unusable(f"it has {states:,} states, but {most}")


class Saver:
    """Implements `search.states.Saver`. ``saved`` is the search to resume, or None if a new search
    begins. A new search begins even with ``resumed`` if nothing was saved.
    """

    def __init__(
        self, folder: Folder, states: LocalStates, saved: Saved | None, resumed: bool
    ) -> None:
        self._folder = folder
        self._states = states
        self._explorer = states.explorer
        self._saved = saved
        self._begun_anew = resumed and saved is None
        self.resumed: Resumed | None = None
        self._parts: tuple[Part, ...] = ()
        self._outside = 0
        # The last complete level, and the data that changes within a level, as it was at the end of
        # this one.
        self._level = 0
        self._tally = b""
        self._problems: tuple[Candidate, ...] = ()
        self._refused: str | None = None
        self._explorer.keep_dropped()

    # ------------------------------------------------------------ saving

    def judged(self) -> None:
        explorer = self._explorer
        self._level = explorer.level
        self._tally = worker_context.combined(self._states.sizes, explorer.snapshot())
        self._problems = tuple(self._states.account.candidates.values())

    def save(self) -> bool:
        self._refused = None
        try:
            self._write()
        except OSError as error:
            # The search continues; earlier saves remain unchanged.
            self._explorer.resume()
            self._refused = reason(error)
        self._states.remark = ""
        if self._refused is not None:
            self._states.remark = f"not saved: {self._refused}; {still_good(self._saved_level)}"
        return True

    def cut(self) -> None:
        if self._level > self._saved_level:
            self.save()

    def unusable(self, why: str) -> Rejected:
        return self._folder.unusable(why)

    def noted(self, outcome: Outcome) -> tuple[str, ...]:
        """Returns notes for a search that has ended: where it can be resumed, or why it cannot."""
        folder = self._folder.place
        notes: list[str] = []
        if self._begun_anew:
            notes.append(
                f"Nothing was saved in {folder}: the search began from the initial states."
            )
        if self._saved is not None and self.resumed is None:
            notes.append(not_read(folder))
        if self._refused is not None:
            good = still_good(self._saved_level)
            notes.append(f"The search could not be saved in {folder}: {self._refused}; {good}.")
        elif outcome.cut is not None and self._parts:
            sentence = f"The search is saved in {folder} up to level {self._saved_level}"
            key = self._folder.key
            notes.append(
                f"{sentence}, unsigned: {key}." if isinstance(key, Unusable) else f"{sentence}."
            )
        return tuple(notes)

    @property
    def _saved_level(self) -> int:
        return self._parts[-1].level if self._parts else 0

    def _write(self) -> None:
        """Adds a part with the levels since the last saved one."""
        workers, level, first = self._explorer.workers, self._level, self._saved_level + 1
        levels = range(first, level + 1)
        writers: list[Writer] = []
        try:
            for worker in workers:
                writers.append(self._folder.writer(level, worker.number))
            for saved_level in levels:
                self._explorer.check(saved_level)
            many = sum(self._explorer.size(saved_level) for saved_level in levels) >= MIN_PARALLEL
            self._explorer.share(lambda worker: _save(worker, writers[worker.number], levels), many)
            files = [writer.end() for writer in writers]
            for file in files:
                if not file.bytes:
                    self._folder.path(file).unlink()
            part = Part(level, tuple(file for file in files if file.bytes))
            parts = *self._parts, part
            account = self._states.account
            record = notes.written(account, self._states.layout, self._tally, self._problems)
            outside = self._outside + sum(worker.dropped.count(level) for worker in workers)
            unsigned = self._saved is not None and self._saved.unsigned
            self._folder.publish(record, sum(self._visited) + outside, parts, unsigned=unsigned)
        except BaseException:
            for writer in writers:
                writer.discard()
            raise
        self._parts, self._outside = parts, outside
        for worker in workers:
            worker.dropped.forget(level)

    @property
    def _visited(self) -> Sequence[int]:
        account = self._states.account
        return account.levels if account.orbits is None else account.orbits

    # ------------------------------------------------------------ resuming

    def restore(self) -> bool:
        saved, folder, states = self._saved, self._folder, self._states
        if saved is None:
            folder.tidy(())
            return False
        noted, explorer = saved.account, self._explorer
        try:
            parts = self._read(saved)
        except (Damaged, Unlawful) as error:
            raise folder.unusable(f"it is damaged: {error}") from None
        except OSError as error:
            raise folder.unusable(reason(error)) from None
        stand_for, last = (0, 0), 0
        if noted.orbits is not None:
            stand_for, last = (sum(noted.levels), noted.outside), noted.levels[-1]
        mark = Mark(noted.tally, *noted.counted, stand_for)
        explorer.count_from(mark, noted.initial_count, last)
        noted.put(states.account)
        states.first_stuck = noted.stuck
        self._parts, self._outside = parts, saved.seen - sum(noted.visited)
        folder.tidy({file.name for part in saved.parts for file in part.files})
        self.resumed = Resumed(folder.place, len(noted.levels), signed=not saved.unsigned)
        return True

    def _read(self, saved: Saved) -> tuple[Part, ...]:
        """Inserts the saved states, and returns the parts with the digests of the data that was
        read.
        """
        explorer = self._explorer
        lawful = CodeInUse(Compilation(text(self._states.layout)), workers=len(explorer.workers))
        try:
            parts = self._enter_parts(saved, lawful)
        finally:
            lawful.cancel()
        if explorer.visited != saved.seen:
            raise Damaged(f"{explorer.visited} states were seen, not {saved.seen}")
        return parts

    def _enter_parts(self, saved: Saved, lawful: CodeInUse) -> tuple[Part, ...]:
        explorer, sizes = self._explorer, saved.account.visited
        first = 1
        entered: list[Part] = []
        for part in saved.parts:
            readers: list[Reader] = []
            try:
                for file in part.files:
                    path = self._folder.path(file)
                    readers.append(Reader(path.parent, file, explorer.state_bytes))
                for level in range(first, part.level + 1):
                    if level > 1:
                        explorer.begin_level()
                    self._enter(lawful, readers, level, sizes[level - 1] >= MIN_PARALLEL)
                    count = explorer.size(level)
                    if count != sizes[level - 1]:
                        raise Damaged(f"{count} states at level {level}, not {sizes[level - 1]}")
                self._enter_outside(lawful, readers)
                entered.append(Part(part.level, tuple(reader.end() for reader in readers)))
            finally:
                for reader in readers:
                    reader.close()
            first = part.level + 1
        return tuple(entered)

    def _enter_outside(self, lawful: CodeInUse, readers: Sequence[Reader]) -> None:
        """Inserts the states outside the constraints, which belong to no level."""
        workers = self._explorer.workers
        for worker in workers:
            worker.open_level()
        self._enter(lawful, readers, OUTSIDE, True)
        for worker in workers:
            worker.store.drop_level()

    def _enter(self, lawful: CodeInUse, readers: Sequence[Reader], level: int, many: bool) -> None:
        """Inserts the states of a level, on all workers if ``many``."""
        workers, layout = self._explorer.workers, self._states.layout

        def enter(worker: Worker) -> None:
            for reader in readers[worker.number :: len(workers)]:
                for data, count in reader.blocks(level, TOGETHER):
                    look_at(code, layout, data)
                    held = (ctypes.c_char * len(data)).from_buffer_copy(data)
                    worker.call("route", ctypes.addressof(held), count)
            worker.finish()

        while any(reader.level == level for reader in readers):
            code = lawful.now()
            self._explorer.share(enter, many)
            self._states.compress_many()


def _save(worker: Worker, writer: Writer, levels: range) -> None:
    """Writes the states that a worker has in some levels, and the states that it dropped up to the
    last of these levels.
    """
    store, state_bytes = worker.store, worker.state_bytes
    for level in levels:
        for piece in store.levels[level - 1]:
            for part in parts(piece, store.entry_bytes):
                data = ctypes.string_at(worker.whole(part), part.states * state_bytes)
                writer.add(level, part.states, packed(data))
                worker.pause()
    for count, data in worker.dropped.blocks(levels[-1]):
        writer.add(OUTSIDE, count, data)
