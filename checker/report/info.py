"""The report of `fencepost info`, which describes the parts of a model, its size, and the generated
code.
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
from fencepost.checker.run.range_search import found_ranges
from fencepost.checker.run.words import expected, plural
from fencepost.checker.temporal.verdict import expanded_levels
from fencepost.spec.core import types
from fencepost.spec.core.ir import Fairness, Model
from fencepost.spec.core.spelling import show
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.syntax import nodes as syntax

EXACT_BITS = 4096
"""The number of values of a type with more bits than this is estimated from the bits, since an
exact count would not help.
"""


def write_info(page: Page, program: Program, model: Model, reached: Outcome | None) -> None:
    """Writes the parts of a model. ``reached`` is the outcome of a short search."""
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
    fair, actions = _prefixes(model), enumerate(model.actions)
    _section(page, "actions", [fair.get(n, "") + a.name + _kind(a.kind) for n, a in actions])
    _section(page, "fairness", [f"{_fair(f)} {f.label}" for f in model.fairness if f.group])
    _section(page, "properties", [p.title for p in model.properties if not p.kind.is_part])
    constants = [f"{c.path} = {show(c.value, c.type)}" for c in model.constants]
    _section(page, "constants", constants)
    ranges = () if reached is None else found_ranges(model)
    title = "int ranges" if reached is None or reached.cut is None else "int ranges, so far"
    _section(page, title, [f"{item.name}: {item.low}..{item.high}" for item in ranges])
    symbols = [symbolic(symbol) for symbol in model.symbols]
    _section(page, "symbolic constants", symbols)
    _section(page, "checks", [describe_check(c) for c in program.runs if c.name])


def write_reached(page: Page, outcome: Outcome) -> None:
    """Writes how many states a search found. If the search was cut, also writes an estimate of the
    total.
    """
    counted = outcome.statistics
    distinct = plural(counted.distinct, "state")
    if outcome.verdict is Verdict.ASSUMPTION:
        return
    if outcome.findings:
        sentence = f"at least {distinct} are reachable: the search ended at a problem"
    elif NO_INITIAL_STATE in outcome.notes:
        sentence = "no state can be reached: there is no initial state"
    elif outcome.cut is None:
        inside = ", within the constraints" if outcome.coverage.cut else ""
        sentence = f"{distinct}, all reachable ones{inside}, in {plural(counted.depth, 'level')}"
    else:
        whole = expanded_levels(outcome)
        estimate = estimated(counted.levels[: None if whole is None else whole + 1])
        sentence = f"at least {distinct} can be reached"
        sentence += (
            "" if estimate is None else f", perhaps {estimate}, by the sizes of the first levels"
        )
    page.words("  ", sentence, 2)


def write_translation(page: Page, engine: str, translation: Translation | str) -> None:
    """Writes the cost of compiling the model, or the reason why nothing is compiled."""
    page.line(f"engine {engine}")
    if isinstance(translation, str):
        page.words("  ", translation, 2)
        return
    steps = f"{translation.written:.2f} s to translate, {translation.quick:.2f} s to compile it"
    seconds = translation.written + translation.quick
    all_ = f"{size(translation.quick_bytes)} in {seconds:.2f} s ({steps})"
    page.line(f"  machine code  {all_}")
    if translation.better_bytes is None:
        better = f"not compiled here; it takes about {translation.better:.0f} s"
    else:
        better = f"{size(translation.better_bytes)} in {translation.better:.2f} s more"
    page.line(f"  better code   {better}, for a search that lasts")


def _prefixes(model: Model) -> dict[int, str]:
    """Returns a prefix such as ``strongly fair `` for each action that is declared as fair."""
    return {
        item.members[0].action: f"{_fair(item)} each " if item.each else f"{_fair(item)} "
        for item in model.fairness
        if not item.group
    }


def _fair(fairness: Fairness) -> str:
    return "strongly fair" if fairness.strong else "fair"


def _packed(kind: types.Type) -> int:
    """Returns the number of bits that a variable takes in a packed state."""
    match shape(kind):
        case Small(bits):
            return bits
        case Large(words):
            return WORD * words


def describe_check(check: Check) -> str:
    """Formats a check as ``race: expect violated A, depth == 8 (slow)``, or a scenario with its
    number of steps.
    """
    if check.scenario is not None:
        steps = [item for item in check.scenario.items if isinstance(item, syntax.ScenarioStep)]
        slow = " (slow)" if check.slow else ""
        return f"{check.name}: scenario of {plural(len(steps), 'step')}{slow}"
    counts = "".join(f", {figure} == {count}" for figure, count in check.counts)
    slow = " (slow)" if check.slow else ""
    return f"{check.name}: expect {expected(check)}{counts}{slow}"


def upper_bound(model: Model) -> str:
    """Returns the number of states that the types allow, exactly or as a power of two."""
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
