"""Shows a comparison of two traces side by side, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report.columns import GAP, write_side_step
from fencepost.checker.report.trace_json import step_json
from fencepost.checker.run.words import plural
from fencepost.checker.tools.replay import Kind, TraceDifference
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.value_tree import Change, Group, text

WHAT: dict[Kind, str] = {
    "action": "the action differs",
    "arguments": "the same action with other choices",
    "failure": "the step fails in one of them only",
    "state": "the step leads to different states",
    "length": "one of the traces ends before it",
    "loop": "the repeated part differs",
    "outcome": "the steps are the same, but the reported end differs",
}
MAX_REST = 20
"""Maximum number of steps that are shown per side after the first difference."""


def write_difference(page: Page, names: tuple[str, str], difference: TraceDifference) -> None:
    """Writes the first difference between two traces, with the last step that they share and the
    steps that follow, and how each trace ends. ``names`` are the file names.
    """
    left_name, right_name = names
    parting = difference.parting
    if parting is None:
        count = plural(len(difference.left.steps), "state")
        page.words("", f"{left_name} and {right_name} agree: {count}", 2, "good")
        _write_notes(page, names, difference)
        return
    number = parting.position
    message = f"{left_name} and {right_name} differ first at step {number}: {WHAT[parting.kind]}"
    page.words("", message, 2, "bad")
    page.blank()
    _write_heads(page, names, difference)
    page.blank()
    if number:
        alike = "step 0 is" if number == 1 else f"steps 0 to {number - 1} are"
        page.line("  ", (f"{alike} the same in both, the last of them:", "dim"))
        last = difference.left.steps[number - 1]
        page.words(f"  {number - 1}  ", last.title, 6, "title")
        page.blank()
    _write_steps(page, difference, number, number + 1)
    if parting.fields:
        page.blank()
        page.line("  ", (f"differences after step {number}", "title"))
        for change in parting.fields:
            _side_by_side(page, _values(change))
    left = [max(0, len(side.steps) - number - 1) for side in difference.sides]
    if any(left):
        page.blank()
        page.line("  ", ("how each continues", "title"))
        _write_steps(page, difference, number + 1, number + 1 + MAX_REST)
        more = [max(0, n - MAX_REST) for n in left]
        if any(more):
            _side_by_side(page, [f"and {plural(n, 'more step')}" if n else "" for n in more])
    page.blank()
    page.line("  ", ("how each ends", "title"))
    _side_by_side(page, [_end(side) for side in difference.sides])
    _write_notes(page, names, difference)


def _write_heads(page: Page, names: tuple[str, str], difference: TraceDifference) -> None:
    columns = _columns(page)
    for column, name, side in zip(columns, names, difference.sides, strict=True):
        column.words("", name, 2, "title")
        column.words("", side.about, 2, "dim")
    page.beside(columns, 2, GAP)


def _columns(page: Page) -> tuple[Page, Page]:
    width = (page.width - 2 - GAP) // 2
    return page.column(width), page.column(width)


def _side_by_side(page: Page, texts: Sequence[str]) -> None:
    columns = _columns(page)
    for column, entry in zip(columns, texts, strict=True):
        column.words("", entry, 2)
    page.beside(columns, 2, GAP)


def _write_steps(page: Page, difference: TraceDifference, begin: int, end: int) -> None:
    """Writes the steps of both traces from ``begin`` to ``end``, with steps at the same position
    side by side.
    """
    longest = max(len(side.steps) for side in difference.sides)
    for position in range(begin, min(end, longest)):
        columns = _columns(page)
        for column, side in zip(columns, difference.sides, strict=True):
            write_side_step(column, side, position)
        page.beside(columns, 2, GAP)


def _values(change: Change) -> tuple[str, str]:
    """Returns the text of a changed part for each trace. For a collection, the text lists only the
    elements that the other trace does not have.
    """
    both = (change.before, change.removed), (change.after, change.added)
    if any(isinstance(value, Group) and len(lost) < len(value.items) for value, lost in both) and (
        change.removed or change.added
    ):
        lists = [", ".join(map(text, lost)) or "nothing" for _, lost in both]
        return f"{change.path}, only here: {lists[0]}", f"{change.path}, only here: {lists[1]}"
    return f"{change.path} = {text(change.before)}", f"{change.path} = {text(change.after)}"


def _end(side: TraceDocument) -> str:
    """Describes how a trace ends."""
    ending = side.headline or side.verdict
    if not ending:
        ending = "a violation" if side.violated else "its end has no problem"
    # A headline that Fencepost wrote already describes the cycle.
    if side.endless and not side.headline:
        ending = f"{ending}; {side.endless}"
    if side.instance:
        ending += " for " + ", ".join(f"{name} = {value}" for name, value in side.instances)
    return f"{ending}; {side.problem}" if side.problem else ending


def _write_notes(page: Page, names: tuple[str, str], difference: TraceDifference) -> None:
    """Warns if the traces differ in their constants or variables."""
    if difference.constants or any(difference.unshared):
        page.blank()
    for name, ours, theirs in difference.constants:
        message = f"{name} is {ours} in {names[0]} and {theirs} in {names[1]}"
        page.words("  ", message, 4, "warn")
    for name, only in zip(names, difference.unshared, strict=True):
        if only:
            message = f"not compared, variables of {name} only: {', '.join(only)}"
            page.words("  ", message, 4, "warn", by=", ")


def difference_json(names: tuple[str, str], difference: TraceDifference) -> dict[str, Json]:
    """Returns the comparison as JSON. The initial state has the number 0. All steps after the
    first difference are included.
    """
    parting = difference.parting
    begin = len(difference.left.steps) if parting is None else parting.position
    sides = [_side(name, side, begin) for name, side in zip(names, difference.sides, strict=True)]
    first: Json = None
    if parting is not None:
        fields: list[Json] = [
            {"place": change.path, "a": text(change.before), "b": text(change.after)}
            for change in parting.fields
        ]
        first = {
            "step": parting.position,
            "kind": parting.kind,
            "a": _title(difference.left, parting.position),
            "b": _title(difference.right, parting.position),
            "fields": fields,
        }
    return {
        "alike": parting is None,
        "first_difference": first,
        "a": sides[0],
        "b": sides[1],
        "constants": [
            {"name": n, "a": ours, "b": theirs} for n, ours, theirs in difference.constants
        ],
        "only_in_a": [*difference.unshared[0]],
        "only_in_b": [*difference.unshared[1]],
    }


def _title(side: TraceDocument, position: int) -> Json:
    return side.steps[position].title if position < len(side.steps) else None


def _side(name: str, side: TraceDocument, begin: int) -> Json:
    return {
        "file": name,
        "source": side.source or None,
        "check": side.check or None,
        "states": len(side.steps),
        "loop": None if side.loop is None else side.loop,
        "violated": side.violated,
        "verdict": side.verdict or None,
        "property": side.property_name or None,
        "headline": side.caption or None,
        "steps": [step_json(side, position) for position in range(begin, len(side.steps))],
    }
