"""Functions that Python calls."""

from __future__ import annotations

from fencepost.checker.native.codegen.emitter import LLVM, VOID, Emitter, Unit


def export(unit: Unit, name: str, parameters: list[LLVM]) -> Emitter:
    """A kernel of this name, to be filled."""
    made = unit.declare(name, VOID, parameters)
    made.attributes.add("nounwind")
    return Emitter(unit, made)
