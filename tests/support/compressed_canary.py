"""Compressed visited sets whose every answer is compared with that of a set of whole states."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import pytest

from fencepost.checker.native import states, worker
from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.kernels import compressed
from fencepost.checker.native.machine.build import SetCode, SetCompilation
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.machine.worker_context import Context, Packed
from fencepost.checker.native.visited import plan
from fencepost.checker.native.visited.compressed import Compressed, rows_bytes
from fencepost.checker.native.visited.plan import Plan


@cache
def quick_code() -> SetCode:
    """Returns the unoptimized code of compressed sets, which is generated once."""
    return SetCompilation(compressed.text()).quick()


class Canary(Compressed):
    """A compressed set that also keeps every state uncompressed. ``created`` lists all
    instances.
    """

    created: list[Canary]

    def __init__(
        self, code: SetCode, memory: Memory, plan: Plan, context: Context, expected: int
    ) -> None:
        super().__init__(code, memory, plan, context, expected)
        self._shown = context
        self._size = plan.words
        self._seen: set[Packed] = set()
        self._space = memory
        self.created.append(self)

    def merge(self, address: int, count: int) -> None:
        ctx = self._shown.words
        entries = ctx[Word.STORE]
        super().merge(address, count)
        merged = self._read(address, ctx[Word.DONE])
        new = [state for state in dict.fromkeys(merged) if state not in self._seen]
        assert self.decoded(entries, (ctx[Word.STORE] - entries) // 8) == new
        self._seen |= {*new}
        assert self.states == len(self._seen)

    def grow(self) -> None:
        super().grow()
        assert self.states == len(self._seen)

    def decoded(self, address: int, count: int) -> list[Packed]:
        """Decodes the states of some entries."""
        room = self._space.take(8 * self._size * max(count, 1))
        rows = self._space.take(rows_bytes(self._size))
        states_ = self._read(self.whole(address, count, room.address, rows.address), count)
        self._space.give(room)
        self._space.give(rows)
        return states_

    def _read(self, address: int, count: int) -> list[Packed]:
        flat, size = words(address, count * self._size), self._size
        return [tuple(flat[n : n + size]) for n in range(0, count * size, size)]


@contextmanager
def canaries(compressed_from: int = 1, parts: int = 1) -> Generator[list[Canary]]:
    """Makes searches compress their states from this number on, even if the states share little.
    Each word of a state has ``parts`` parts.

    Yields the list of sets created within the block.
    """
    with pytest.MonkeyPatch.context() as patch:
        created = Canary.created = []
        code = quick_code()

        def precompiled(_: SetCompilation) -> SetCode:
            return code

        patch.setattr(worker, "Compressed", Canary)
        patch.setattr(plan, "MAX_PAIRS", 1000.0)
        patch.setattr(plan, "MAX_HALVED_WORDS", 1000)
        patch.setattr(plan, "PARTS", (parts,))
        patch.setattr(states, "COMPRESSED_FROM", compressed_from)
        for name in ("kept", "quick"):
            patch.setattr(SetCompilation, name, precompiled)
        yield created
