"""What a model is made of: state vector, actions, properties, constants, most states, and what an
engine makes of it.
"""

from __future__ import annotations

from math import log2

from fencepost.checker.estimate import estimated
from fencepost.checker.layout import WORD, Large, Layout, Small, shape
from fencepost.checker.outcome import NO_INITIAL_STATE, Outcome, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.printing.units import size
from fencepost.checker.report.assurance import symbolic
from fencepost.checker.request import Translation
from fencepost.checker.run.words import expected, plural
from fencepost.checker.temporal.verdict import expanded_levels
from fencepost.spec.core import types
from fencepost.spec.core.ir import Action, Model
from fencepost.spec.core.spelling import show
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.syntax import nodes as syntax

EXACT_BITS = 4096
"""Wider types are estimated by their bits: their exact number of values would not help."""


def write_info(page: Page, program: Program, model: Model, reached: Outcome | None) -> None:
    """What a model is made of; ``reached`` is what a search found that was cut early."""
    layout = Layout(model)
    bits = [_packed(variable.type) for variable in model.variables]
    page.line((str(program.path), "title"))
    words = f"{plural(layout.words, 'word')} ({plural(8 * layout.words, 'byte')}) a state"
    page.words(
        "  ",
        f"{plural(len(bits), 'variable')}, {plural(sum(bits), 'bit')}, packed into {words}; "
        f"the types allow {upper_bound(model)} states",
        2,
    )
    if reached is not None:
        write_reached(page, reached)
    _variables(page, model, bits)
    _section(page, "actions", [_owed(a) + a.name + _kind(a.kind) for a in model.actions])
    _section(page, "properties", [p.title for p in model.properties if not p.kind.is_part])
    constants = [f"{c.path} = {show(c.value, c.type)}" for c in model.constants]
    _section(page, "constants", constants)
    symbols = [symbolic(symbol) for symbol in model.symbols]
    _section(page, "symbolic constants", symbols)
    _section(page, "checks", [describe_check(c) for c in program.runs if c.name])


def write_reached(page: Page, outcome: Outcome) -> None:
    """How many states there are, as far as a search that was cut after some of them can tell."""
    counted = outcome.statistics
    found = plural(counted.distinct, "state")
    if outcome.verdict is Verdict.ASSUMPTION:
        return
    if outcome.findings:
        said = f"at least {found} can be reached: a search met a problem there, and ended"
    elif NO_INITIAL_STATE in outcome.notes:
        said = "no state can be reached: there is no initial state"
    elif outcome.cut is None:
        inside = ", within the constraints" if outcome.coverage.cut else ""
        said = f"{found}, all that can be reached{inside}, in {plural(counted.depth, 'level')}"
    else:
        whole = expanded_levels(outcome)
        known = estimated(counted.levels[: None if whole is None else whole + 1])
        said = f"at least {found} can be reached"
        said += "" if known is None else f", perhaps {known}, by the sizes of the first levels"
    page.words("  ", said, 2)


def write_translation(page: Page, engine: str, made: Translation | str) -> None:
    """What an engine makes of a model before it searches, or why it makes nothing."""
    page.line(f"engine {engine}")
    if isinstance(made, str):
        page.words("  ", made, 2)
        return
    steps = f"{made.written:.2f} s to write it down, {made.quick:.2f} s to compile it"
    all_ = f"{size(made.quick_bytes)} in {made.written + made.quick:.2f} s ({steps})"
    page.line(f"  machine code  {all_}")
    better = f"{size(made.better_bytes)} in {made.better:.2f} s more"
    page.line(f"  better code   {better}, for a search that lasts")


def _owed(action: Action) -> str:
    """``strongly fair ``, where something is owed to an action."""
    if action.fairness is None:
        return ""
    each = "each " if action.fairness.each else ""
    return f"strongly fair {each}" if action.fairness.strong else f"fair {each}"


def _packed(kind: types.Type) -> int:
    """The bits that a variable takes in a packed state."""
    match shape(kind):
        case Small(bits):
            return bits
        case Large(words):
            return WORD * words


def describe_check(check: Check) -> str:
    """``race: expect violated A, depth == 8 (slow)``; of a scenario, how many steps it has."""
    if check.scenario is not None:
        steps = [one for one in check.scenario.items if isinstance(one, syntax.ScenarioStep)]
        slow = " (slow)" if check.slow else ""
        return f"{check.name}: scenario of {plural(len(steps), 'step')}{slow}"
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
