"""Determines the kinds of messages present in a state, so that actions that receive other kinds are
not tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, flag, word
from fencepost.spec.core import ir
from fencepost.spec.core.types import Bag, Set, Union
from fencepost.spec.records import dataclass

MAX_MESSAGES = 64
"""The messages of a collection are examined in advance only if its capacity and the number of kinds
are at most this number.
"""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A message that an action receives: an element of the collection in ``variable``. ``kinds``
    has a bit for the tag of each possible kind.
    """

    variable: int
    kinds: int


def received(body: ir.Statement) -> Receipt | None:
    """Returns the message that an action must receive, or None if there is no such message or it is
    not known.

    Without this message, no vector of choices completes or fails, and the only effect of the action
    is to count false guards.
    """
    match body:
        case ir.Sequence((first, *_)):
            return received(first)
        case ir.Pick(domain=ir.Universe(), condition=None, body=inner) | ir.Block(body=inner):
            return received(inner)
        case ir.Pick(domain=ir.Variable(index=variable, type=kind)) if condition := _first(body):
            match kind, condition:
                case (
                    (Bag(Union() as union, capacity) | Set(Union() as union, int(capacity))),
                    ir.HasTag(union=ir.Local(slot=slot), tag=tag),
                ) if slot == body.slot and capacity <= MAX_MESSAGES >= len(union.variants):
                    return Receipt(variable, 1 << tag)
                case _:
                    pass
        case _:
            pass
    return None


def _first(pick: ir.Pick) -> ir.Expr | None:
    """Returns the first condition on an element."""
    return pick.condition.parts[0] if isinstance(pick.condition, ir.And) else pick.condition


class Receiving:
    """The kinds of messages in a state, computed at the emitter's position for the variables that
    several of the actions receive from.
    """

    def __init__(
        self,
        e: Emitter,
        layout: Layout,
        state: LLVM,
        bodies: Sequence[ir.Statement],
        actions: Iterable[int],
    ) -> None:
        self._e = e
        receipts = {number: received(bodies[number]) for number in actions}
        self._receipts = {
            number: receipt for number, receipt in receipts.items() if receipt is not None
        }
        times = Counter(receipt.variable for receipt in self._receipts.values())
        self._kinds = {
            variable: self._present(layout, state, variable)
            for variable, count in times.items()
            if count > 1
        }

    def _present(self, layout: Layout, state: LLVM, variable: int) -> LLVM:
        e, ops = self._e, Collections(self._e)
        slot, kinds = layout.places[variable], e.cell()
        messages = ops.read(state, slot.word, slot.shift, layout.types[variable])
        e.store(word(0), kinds)

        def look(index: LLVM, _: LLVM) -> None:
            bit = e.shl(word(1), ops.tag(ops.at(messages, index)))
            e.store(e.either(e.load(kinds), bit), kinds)

        ops.counted(ops.length(messages), look)
        return e.load(kinds)

    def possible(self, action: int) -> LLVM:
        """Returns a flag that tells whether a message that the action receives may be present."""
        receipt = self._receipts.get(action)
        if receipt is None or receipt.variable not in self._kinds:
            return flag(True)
        return self._e.as_flag(self._e.both(self._kinds[receipt.variable], word(receipt.kinds)))
