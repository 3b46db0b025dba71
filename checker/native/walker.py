"""Random walks in machine code, in terms of packed states, slots and counts.

It does not know models: what makes a problem of what was found, and when to stop, is decided
elsewhere.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container, Sequence

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.compile import generate
from fencepost.checker.native.codegen.context_words import (
    SKETCH_BITS,
    WALK_WORDS,
    Slots,
    Walk,
    Word,
)
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.codegen.packed import salted
from fencepost.checker.native.kernels import calls, walks
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.machine.worker_context import Context, Packed, Reported, Sizes
from fencepost.spec.core.ir import Model
from fencepost.spec.records import dataclass

BLOCK_STATES = 1024
SKETCH_BYTES = 1 << SKETCH_BITS


def translated(
    model: Model, layout: Layout, properties: frozenset[int]
) -> tuple[build.Compilation, Sizes]:
    """A model as machine code for random walks that look for these properties, which are none of
    behaviours. Raises `Unsupported`.
    """
    slots = Slots(len(model.actions), len(model.properties), layout.words)
    unit = Unit("model")
    calls.declare(unit)
    made = generate(model, layout, unit, properties)
    walks.define(unit, layout.words, slots.deadlock, made.has_steps, bool(made.refined))
    sizes = Sizes(slots, len(model.marks), len(model.guards), made.scratch, refined=made.refined)
    return build.Compilation(salted(unit.text())), sizes


@dataclass(frozen=True, slots=True)
class Walked:
    """What some runs did: ``runs`` were completed, ``left`` of them before they were as long as
    they may be, by ``steps`` in all.

    ``tally`` is for `worker_context.totals`, ``transitions`` the steps that were looked at,
    ``sketch`` an estimate of the states that they lead to. ``problems`` ended a run; ``path`` are
    its states, in order, or those of the last run if they were asked for.
    """

    runs: int
    left: int
    steps: int
    transitions: int
    stuck: int
    tally: bytes
    sketch: bytes
    problems: tuple[Reported, ...]
    path: tuple[Packed, ...]


class Walker:
    """What one thread needs to make runs of at most ``depth`` steps."""

    def __init__(
        self, memory: Memory, sizes: Sizes, depth: int, seed: int, weights: Sequence[int]
    ) -> None:
        self._memory = memory
        self._words = sizes.slots.words
        self._depth = depth
        self._context = Context(memory, sizes, 1, self._full)
        self._ctx = self._context.words
        self._walk = words(memory.take(8 * WALK_WORDS).address, WALK_WORDS)
        self._sketch = memory.take(SKETCH_BYTES).address
        self._weights = (ctypes.c_uint64 * max(1, len(weights)))(*weights)
        self._collected: list[bytes] = []
        self._nothing = bytes(self._context.tally_size)
        path = memory.take(8 * self._words * (depth + 2)).address
        self._ctx[Word.WALK] = ctypes.addressof(self._walk)
        self._walk[Walk.SEED] = seed
        self._walk[Walk.WEIGHTS] = ctypes.addressof(self._weights)
        self._walk[Walk.PATH] = path
        self._walk[Walk.SKETCH] = self._sketch

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Says what is a problem, beside what always is."""
        self._context.look_for(deadlock, properties)

    def weigh(self, weights: Sequence[int], per_action: bool) -> None:
        """Says how steps are chosen from now on: by the weights of their actions, each counted once
        (``per_action``) or for each of its steps.
        """
        self._weights[: len(weights)] = list(weights)
        self._walk[Walk.PER_ACTION] = per_action

    def stop(self) -> None:
        """Has machine code return as soon as possible, for good."""
        self._ctx[Word.STOP] = 1

    # ------------------------------------------------------------ initial states

    def initial(self, code: Code) -> tuple[list[Reported], bytes]:
        """The problems of the initial states, and those inside the constraints, once each."""
        size = 8 * self._words
        block = self._memory.take(size * BLOCK_STATES)
        self._ctx[Word.BLOCKS] = block.address
        self._ctx[Word.BLOCKS + 1] = block.address + size * BLOCK_STATES
        self._block = block.address
        code.initial(self._context.address)
        self._full(0)
        whole = b"".join(self._collected)
        self._collected.clear()
        found = b"".join(dict.fromkeys(whole[at : at + size] for at in range(0, len(whole), size)))
        room = self._memory.take(max(1, len(found))).address
        ctypes.memmove(room, found, len(found))
        code.examine(self._context.address, room, len(found) // size, room, self._words, room)
        kept = ctypes.string_at(room, size * self._ctx[Word.DONE])
        return self._context.take_reports(), kept

    def start_from(self, address: int, count: int) -> None:
        """Says which initial states runs begin with."""
        self._walk[Walk.INITIAL], self._walk[Walk.INITIAL_COUNT] = address, count

    def _full(self, _: int) -> None:
        made = self._ctx[Word.BLOCKS] - self._block
        self._collected.append(ctypes.string_at(self._block, made))
        self._ctx[Word.BLOCKS] = self._block

    # ------------------------------------------------------------ runs

    def run(self, code: Code, first: int, count: int, path: bool = False) -> Walked:
        """Makes runs, from number ``first`` on, up to the first that meets a problem; ``path``: the
        states of the last one are wanted in any case.
        """
        context, walk = self._context, self._walk
        context.restore(self._nothing, 0, 0)
        ctypes.memset(self._sketch, 0, SKETCH_BYTES)
        walk[Walk.STEPS] = walk[Walk.LEFT] = 0
        code.walk(context.address, first, count, self._depth)
        problems = tuple(context.take_reports())
        return Walked(
            self._ctx[Word.DONE],
            walk[Walk.LEFT],
            walk[Walk.STEPS],
            context.transitions,
            context.stuck,
            context.counts(),
            ctypes.string_at(self._sketch, SKETCH_BYTES),
            problems,
            self._path() if problems or path else (),
        )

    def path(self) -> memoryview:
        """The words of the states of the last run, state after state; they last until the next."""
        count = self._words * self._walk[Walk.LENGTH]
        held = (ctypes.c_uint64 * count).from_address(self._walk[Walk.PATH])
        return memoryview(held).cast("B").cast("Q")

    def _path(self) -> tuple[Packed, ...]:
        size, path = self._words, self.path()
        return tuple(tuple(path[at : at + size]) for at in range(0, len(path), size))
