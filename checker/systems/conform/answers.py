"""Separates the fields of an event into those of the request and those of the answer, and
determines the latter from an answer.
"""

from __future__ import annotations

from contextlib import suppress

from fencepost.spec.core import ir
from fencepost.spec.core.recording import Answer, Input
from fencepost.spec.core.traverse import first_picks, walk
from fencepost.spec.core.types import Value
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner


def asked_fields(declared: Input) -> frozenset[int]:
    """Returns the positions of the fields of an event that an input passes to the model."""
    parts = (declared.condition, declared.body, declared.choices)
    slots = {node.slot for part in parts for node in walk(part) if isinstance(node, ir.Local)}
    return frozenset(index for index, slot in enumerate(declared.fields) if slot in slots)


def said(
    runner: Runner, declared: Input, answer: Answer, values: tuple[Value, ...], message: Value
) -> dict[int, Value]:
    """Returns the fields in the event of a request that an answer determines, by position. These
    are the fields that the pattern of the answer compares with a part of the message. ``values``
    contains the values of the other fields.
    """
    told: dict[int, Value] = {}
    for pick in first_picks(answer.body, 1):
        bindings = {**dict(zip(declared.fields, values, strict=True)), pick.slot: message}
        for test in walk(pick.condition):
            if not isinstance(test, ir.Equal):
                continue
            for side, other in ((test.left, test.right), (test.right, test.left)):
                slot, lifted = _compared(side)
                if slot in declared.fields and _reads(other, pick.slot):
                    with suppress(EvaluationError):
                        value = runner.value(other, bindings, (), None)
                        parts = value if lifted and isinstance(value, tuple) else (value,)
                        told |= {declared.fields.index(slot): part for part in parts}
    return told


def _compared(side: ir.Expr) -> tuple[int, bool]:
    """Returns the slot that one side of a comparison reads, or -1 if it reads none, and whether the
    slot is wrapped in an option.
    """
    match side:
        case ir.Local(slot=slot):
            return slot, False
        case ir.Convert(operand=inner):
            return _compared(inner)
        case ir.Some(value=inner):
            return _compared(inner)[0], True
        case _:
            return -1, False


def _reads(expr: ir.Expr, slot: int) -> bool:
    return any(isinstance(node, ir.Local) and node.slot == slot for node in walk(expr))
