"""What a model is made of: state vector, actions, properties, constants, most states."""

from __future__ import annotations

from math import log2

from fencepost.checker.report.page import Page
from fencepost.checker.run import expected, name_of, plural
from fencepost.spec import types
from fencepost.spec.ir import Model
from fencepost.spec.program import Check, Program

WORD = 64
EXACT_BITS = 4096
"""Wider types are estimated by their bits: their exact number of values helps nobody."""


def write_info(page: Page, program: Program, model: Model) -> None:
    """Everything that can be said without a search."""
    bits = [types.bits(variable.type) for variable in model.variables]
    total = sum(bits)
    words = -(-total // WORD)
    page.line((str(program.path), "title"))
    size = f"{plural(len(bits), 'variable')}, {plural(total, 'bit')} a state"
    page.line(f"  {size} ({plural(words, 'word')} of {WORD}), at most {upper_bound(model)} states")
    _variables(page, model, bits)
    _section(page, "actions", [f"{a.name}{_kind(a.kind)}" for a in model.actions])
    _section(page, "properties", [name_of(p) for p in model.properties])
    constants = [f"{c.path} = {types.show(c.value, c.type)}" for c in model.constants]
    _section(page, "constants", constants)
    _section(page, "checks", [describe_check(c) for c in program.checks if c.name])


def describe_check(check: Check) -> str:
    """``race: expect violated A, depth == 8 (slow)``."""
    counts = "".join(f", {what} == {count}" for what, count in check.counts)
    slow = " (slow)" if check.slow else ""
    return f"{check.name}: expect {expected(check)}{counts}{slow}"


def upper_bound(model: Model) -> str:
    """The number of states that the types allow, as a number or as a power of two."""
    exponent = 0.0
    for variable in model.variables:
        bits = types.bits(variable.type)
        if bits > EXACT_BITS:
            exponent += bits
            continue
        count = types.cardinality(variable.type)
        if not count:
            return "0"
        exponent += log2(count)
    return f"{round(2**exponent):,}" if exponent < 20 else f"2^{exponent:.1f}"


def _variables(page: Page, model: Model, bits: list[int]) -> None:
    page.line("variables")
    names = max((len(v.name) for v in model.variables), default=0)
    digits = len(str(max(bits, default=0)))
    for variable, width in zip(model.variables, bits, strict=True):
        ghost = " (ghost)" if variable.ghost else ""
        kind = "" if variable.kind == "variable" else f" ({variable.kind})"
        unit = "bit " if width == 1 else "bits"
        row = f"  {variable.name:<{names}}  {width:>{digits}} {unit}  "
        page.words(row, f"{types.describe(variable.type)}{kind}{ghost}", len(row))


def _kind(kind: str) -> str:
    return " (environment)" if kind == "environment" else ""


def _section(page: Page, title: str, rows: list[str]) -> None:
    if rows:
        page.line(title)
        for row in rows:
            page.words("  ", row, 4)
