"""Two traces side by side: where they part, and what each led to; as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report.labels import change_text
from fencepost.checker.report.trace_json import step_json
from fencepost.checker.run.words import plural
from fencepost.checker.tools.trace_difference import Kind, TraceDifference
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.steps import without_received, write_state
from fencepost.checker.trace.value_tree import Change, Group, text

WHAT: dict[Kind, str] = {
    "action": "the action differs",
    "arguments": "the same action with other choices",
    "failure": "the step fails in one of them only",
    "state": "the step leads to different states",
    "length": "one of them ends before it",
    "loop": "what repeats for ever differs",
    "outcome": "the steps are the same, and what is said of their end differs",
}
MOST_REST = 20
"""Steps that each side shows behind the first difference."""
GAP = 3


def write_difference(page: Page, names: tuple[str, str], found: TraceDifference) -> None:
    """The first difference with what is the same before it and what comes behind it, and the ends.
    ``names`` are those of the files.
    """
    one, other = names
    parting = found.parting
    if parting is None:
        count = plural(len(found.left.steps), "state")
        page.words("", f"{one} and {other} are alike: {count}", 2, "good")
        _write_notes(page, names, found)
        return
    number = parting.position + 1
    what = f"{one} and {other} differ first at step {number}: {WHAT[parting.kind]}"
    page.words("", what, 2, "bad")
    page.blank()
    _write_heads(page, names, found)
    page.blank()
    if parting.position:
        alike = "step 1 is" if parting.position == 1 else f"steps 1 to {parting.position} are"
        page.line("  ", (f"{alike} the same in both, the last of them:", "dim"))
        last = found.left.steps[parting.position - 1]
        page.words(f"  {parting.position}  ", last.title, 6, "title")
        page.blank()
    _write_steps(page, found, parting.position, parting.position + 1)
    if parting.fields:
        page.blank()
        page.line("  ", (f"what differs behind step {number}", "title"))
        for change in parting.fields:
            _side_by_side(page, _values(change))
    left = [max(0, len(side.steps) - number) for side in found.sides]
    if any(left):
        page.blank()
        page.line("  ", ("how each goes on", "title"))
        _write_steps(page, found, number, number + MOST_REST)
        more = [max(0, n - MOST_REST) for n in left]
        if any(more):
            _side_by_side(page, [f"and {plural(n, 'more step')}" if n else "" for n in more])
    page.blank()
    page.line("  ", ("what each led to", "title"))
    _side_by_side(page, [_end(side) for side in found.sides])
    _write_notes(page, names, found)


def _write_heads(page: Page, names: tuple[str, str], found: TraceDifference) -> None:
    columns = _columns(page)
    for column, name, side in zip(columns, names, found.sides, strict=True):
        column.words("", name, 2, "title")
        column.words("", side.about, 2, "dim")
    page.beside(*columns, 2, GAP)


def _columns(page: Page) -> tuple[Page, Page]:
    width = (page.width - 2 - GAP) // 2
    return page.column(width), page.column(width)


def _side_by_side(page: Page, texts: Sequence[str]) -> None:
    columns = _columns(page)
    for column, said in zip(columns, texts, strict=True):
        column.words("", said, 2)
    page.beside(*columns, 2, GAP)


def _write_steps(page: Page, found: TraceDifference, begin: int, end: int) -> None:
    """The steps of both traces between two positions, those of one position side by side."""
    longest = max(len(side.steps) for side in found.sides)
    for position in range(begin, min(end, longest)):
        columns = _columns(page)
        for column, side in zip(columns, found.sides, strict=True):
            _write_step(column, side, position)
        page.beside(*columns, 2, GAP)


def _write_step(column: Page, side: TraceDocument, position: int) -> None:
    if position >= len(side.steps):
        if position == len(side.steps):
            column.words("", "the trace ends before this step", 2, "dim")
        return
    step = side.steps[position]
    before = side.steps[position - 1].state if position else None
    column.words(f"{position + 1}  ", step.title, 4, "title")
    if step.state is None:
        column.line("   ", ("this step fails", "bad"))
    elif before is None:
        write_state(column, step.state, side.families, 3)
    else:
        for change in side.changes(position):
            # A message that is received stands in the title.
            if kept := without_received(change, step.title):
                column.words("   ", f"{kept.path} {change_text(kept)}", 5)


def _values(change: Change) -> tuple[str, str]:
    """What each trace has in a place that differs; of a collection what the other lacks."""
    both = (change.before, change.removed), (change.after, change.added)
    if any(isinstance(value, Group) and len(lost) < len(value.items) for value, lost in both) and (
        change.removed or change.added
    ):
        lists = [", ".join(map(text, lost)) or "nothing" for _, lost in both]
        return f"{change.path}, only here: {lists[0]}", f"{change.path}, only here: {lists[1]}"
    return f"{change.path} = {text(change.before)}", f"{change.path} = {text(change.after)}"


def _end(side: TraceDocument) -> str:
    """What a trace is said to end in."""
    said = side.headline or side.verdict
    if not said:
        said = "a violation" if side.violated else "no problem is said of its end"
    # A headline of ours says how it goes on.
    if side.endless and not side.headline:
        said = f"{said}; {side.endless}"
    if side.instance:
        said += " for " + ", ".join(f"{name} = {value}" for name, value in side.instances)
    return f"{said}; {side.problem}" if side.problem else said


def _write_notes(page: Page, names: tuple[str, str], found: TraceDifference) -> None:
    """What keeps the two from being of the same: constants, variables, specs."""
    if found.constants or any(found.unshared):
        page.blank()
    for name, ours, theirs in found.constants:
        what = f"{name} is {ours} in {names[0]} and {theirs} in {names[1]}"
        page.words("  ", what, 4, "warn")
    for name, only in zip(names, found.unshared, strict=True):
        if only:
            what = f"not compared, variables of {name} only: {', '.join(only)}"
            page.words("  ", what, 4, "warn", by=", ")


def difference_json(names: tuple[str, str], found: TraceDifference) -> dict[str, Json]:
    """The same for scripts; steps are numbered from 1, and those behind the first difference are
    all there.
    """
    parting = found.parting
    begin = len(found.left.steps) if parting is None else parting.position
    sides = [_side(name, side, begin) for name, side in zip(names, found.sides, strict=True)]
    first: Json = None
    if parting is not None:
        fields: list[Json] = [
            {"place": one.path, "a": text(one.before), "b": text(one.after)}
            for one in parting.fields
        ]
        first = {
            "step": parting.position + 1,
            "kind": parting.kind,
            "a": _title(found.left, parting.position),
            "b": _title(found.right, parting.position),
            "fields": fields,
        }
    return {
        "alike": parting is None,
        "first_difference": first,
        "a": sides[0],
        "b": sides[1],
        "constants": [{"name": n, "a": ours, "b": theirs} for n, ours, theirs in found.constants],
        "only_in_a": [*found.unshared[0]],
        "only_in_b": [*found.unshared[1]],
    }


def _title(side: TraceDocument, position: int) -> Json:
    return side.steps[position].title if position < len(side.steps) else None


def _side(name: str, side: TraceDocument, begin: int) -> Json:
    return {
        "file": name,
        "source": side.source or None,
        "check": side.check or None,
        "states": len(side.steps),
        "loop": None if side.loop is None else side.loop + 1,
        "violated": side.violated,
        "verdict": side.verdict or None,
        "property": side.property_name or None,
        "headline": side.caption or None,
        "steps": [step_json(side, position) for position in range(begin, len(side.steps))],
    }
