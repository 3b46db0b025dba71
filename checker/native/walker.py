"""Random walks in machine code, in terms of packed states, slots and counts.

Callers turn the findings into violations, and decide when to stop.
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
from fencepost.checker.native.machine.worker_context import Context, Packed, Sizes, SlotReport
from fencepost.spec.core.ir import Model
from fencepost.spec.records import dataclass

BLOCK_STATES = 1024
SKETCH_BYTES = 1 << SKETCH_BITS


def translated(
    model: Model, layout: Layout, properties: frozenset[int]
) -> tuple[build.Compilation, Sizes]:
    """Translates a model to machine code for random walks that check ``properties``. These must not
    be temporal. Raises `Unsupported`.
    """
    slots = Slots(len(model.actions), len(model.properties), layout.words)
    unit = Unit("model")
    calls.declare(unit)
    generated = generate(model, layout, unit, properties)
    walks.define(unit, layout.words, slots.deadlock, generated.has_steps, bool(generated.refined))
    sizes = Sizes(
        slots, len(model.marks), len(model.guards), generated.scratch, refined=generated.refined
    )
    return build.Compilation(salted(unit.text())), sizes


@dataclass(frozen=True, slots=True)
class WalkResult:
    """The result of some runs. ``runs`` is the number of completed runs, ``left`` the number of
    runs that ended before the maximal length, and ``steps`` the total number of steps.

    ``tally`` is an argument for `worker_context.totals`, ``transitions`` is the number of steps
    examined, and ``sketch`` estimates the number of distinct states. ``problems`` are the findings
    that ended a run. ``path`` holds the states of that run, or those of the last run if its path
    was requested.
    """

    runs: int
    left: int
    steps: int
    transitions: int
    stuck: int
    tally: bytes
    sketch: bytes
    problems: tuple[SlotReport, ...]
    path: tuple[Packed, ...]


class Walker:
    """The data that one thread needs for runs of at most ``depth`` steps."""

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
        """Sets which findings count, in addition to those that always do."""
        self._context.look_for(deadlock, properties)

    def weigh(self, weights: Sequence[int], per_action: bool) -> None:
        """Sets how steps are chosen: by the weights of their actions. The weight of an action
        counts once if ``per_action``, otherwise once per step.
        """
        self._weights[: len(weights)] = list(weights)
        self._walk[Walk.PER_ACTION] = per_action

    def stop(self) -> None:
        """Makes the machine code return soon. The walker cannot be used afterwards."""
        self._ctx[Word.STOP] = 1

    # ------------------------------------------------------------ initial states

    def initial(self, code: Code) -> tuple[list[SlotReport], bytes]:
        """Returns the findings in initial states, and the distinct initial states inside the
        constraints.
        """
        size = 8 * self._words
        block = self._memory.take(size * BLOCK_STATES)
        self._ctx[Word.BLOCKS] = block.address
        self._ctx[Word.BLOCKS + 1] = block.address + size * BLOCK_STATES
        self._block = block.address
        code.initial(self._context.address)
        self._full(0)
        whole = b"".join(self._collected)
        self._collected.clear()
        distinct = b"".join(
            dict.fromkeys(whole[at : at + size] for at in range(0, len(whole), size))
        )
        room = self._memory.take(max(1, len(distinct))).address
        ctypes.memmove(room, distinct, len(distinct))
        code.examine(self._context.address, room, len(distinct) // size, room, self._words, room)
        kept = ctypes.string_at(room, size * self._ctx[Word.DONE])
        return self._context.take_reports(), kept

    def start_from(self, address: int, count: int) -> None:
        """Sets the initial states of the runs."""
        self._walk[Walk.INITIAL], self._walk[Walk.INITIAL_COUNT] = address, count

    def _full(self, _: int) -> None:
        size = self._ctx[Word.BLOCKS] - self._block
        self._collected.append(ctypes.string_at(self._block, size))
        self._ctx[Word.BLOCKS] = self._block

    # ------------------------------------------------------------ runs

    def run(self, code: Code, first: int, count: int, path: bool = False) -> WalkResult:
        """Runs walks, starting with number ``first``, up to the first walk with a finding. With
        ``path``, the states of the last walk are returned in any case.
        """
        context, walk = self._context, self._walk
        context.restore(self._nothing, 0, 0)
        ctypes.memset(self._sketch, 0, SKETCH_BYTES)
        walk[Walk.STEPS] = walk[Walk.LEFT] = 0
        code.walk(context.address, first, count, self._depth)
        problems = tuple(context.take_reports())
        return WalkResult(
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
        """Returns the words of the states of the last run, in order. They are valid until the next
        run.
        """
        count = self._words * self._walk[Walk.LENGTH]
        held = (ctypes.c_uint64 * count).from_address(self._walk[Walk.PATH])
        return memoryview(held).cast("B").cast("Q")

    def _path(self) -> tuple[Packed, ...]:
        size, path = self._words, self.path()
        return tuple(tuple(path[at : at + size]) for at in range(0, len(path), size))
