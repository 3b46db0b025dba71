"""How the tables of a search keep states: the driver chooses a plan from some of them, for all
partitions.

It does not know how these were got hold of.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from fencepost.checker.native import explorer
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.native.visited import plan
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.resources import Exhausted
from fencepost.checker.spark.outbox import Called, no_successors
from fencepost.checker.spark.program import Program, set_code

SAMPLE = explorer.SAMPLE
"""The number of states from which a plan is chosen; with fewer, states are kept whole."""
WORTH_BYTES = 1 << 22
"""So they are where whole ones take less than this on average of all partitions: a compressed table
consists of many files, which take longer to make than small tables save.
"""


def enough(program: Program, states: int) -> bool:
    """Whether a plan is to be chosen for this number of states."""
    return states >= SAMPLE and 8 * program.words * states >= WORTH_BYTES * program.partitions


def chosen(program: Program, states: bytes, look: Callable[[], None]) -> Plan | None:
    """The plan for states like these, packed; None: they are kept whole, since they do not share
    enough of their words. States of one word are not asked for. ``look`` is called often.
    """
    memory = Memory()
    try:
        context = Context(memory, program.sizes, program.partitions, Called(no_successors))
        address = ctypes.cast(ctypes.c_char_p(states), ctypes.c_void_p).value
        assert address is not None
        places = [(address, len(states) // (8 * program.words))]
        salts = plan.salts(program.text)
        return plan.chosen(set_code(), context, memory, places, program.words, salts, look)
    except Exhausted:
        return None
    finally:
        memory.close()
