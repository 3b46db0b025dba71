"""Writes traces as text, with the number and actor of each step and what the step changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from fencepost.checker.outcome import Step
from fencepost.checker.printing.page import Page, Piece, cells, cut, padded
from fencepost.checker.trace.document import INITIAL, ShownStep, TraceDocument
from fencepost.checker.trace.value_tree import (
    Atom,
    Change,
    Group,
    ValueTree,
    at_key,
    changes,
    text,
    wrapped,
)
from fencepost.spec.core import types
from fencepost.spec.core.ir import Action, Model, Pick
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import walk
from fencepost.spec.semantics.stepper import Choice


def title(model: Model, step: Step) -> str:
    """Formats a step as ``Leader[1].on_answer(retry: true) on VerifyAnswer(token: 1)``."""
    if step.action is None:
        return INITIAL
    action = model.actions[step.action]
    name = action.name
    arguments: list[str] = []
    message = ""
    for choice in step.choices:
        value = show(choice.value, choice.type)
        if choice.label == "":
            role, _, rest = name.rpartition(".")
            name = f"{role}[{value}].{rest}" if role else f"{name}[{value}]"
        elif choice.label == "on":
            message = f" on {value}"
        else:
            arguments.append(value if model.is_opaque else f"{choice.label}: {value}")
    if action.kind in ("lose", "duplicate"):
        # In these steps the message is what the action affects, not what triggers it.
        message = message.replace(" on ", " ", 1)
    return f"{name}({', '.join(arguments)}){message}" if arguments else f"{name}{message}"


def written(model: Model, step: Step) -> str:
    """Formats a step in the syntax of scenarios: ``Leader[1].on_answer(true, VerifyAnswer(token:
    1))``.
    """
    if step.action is None:
        return ""
    action = model.actions[step.action]
    owner, _, name = action.name.rpartition(".")
    head = [(c.label, show(c.value, c.type)) for c in step.choices[: action.head]]
    faulty = action.kind in ("lose", "duplicate")
    inside = [value for label, value in (head[:-1] if faulty else head) if faulty or label == ""]
    values = [value for label, value in (head[-1:] if faulty else head) if label != ""]
    brackets = f"[{', '.join(inside)}]" if inside else ""
    dot = "." if owner else ""
    return f"{owner}{brackets}{dot}{name}" + (f"({', '.join(values)})" if values else "")


def lifeline(model: Model, step: Step) -> str:
    """Returns the actor of a step, such as ``Leader``, ``Leader[1]`` or ``net``, or "" if the
    action belongs to no role.
    """
    if step.action is None:
        return ""
    action = model.actions[step.action]
    if action.kind in ("lose", "duplicate"):
        return action.name.rpartition(".")[0]
    role = action.name.rpartition(".")[0] if action.role else ""
    instance = [show(c.value, c.type) for c in step.choices if c.label == ""]
    return f"{role}[{instance[0]}]" if role and instance else role


def lifelines(model: Model) -> tuple[str, ...]:
    """Returns the roles without instances, in the order of declaration."""
    roles = [
        a.name.rpartition(".")[0] for a in model.actions if a.role and not _chooses_instance(a)
    ]
    return tuple(dict.fromkeys(roles))


def arguments(model: Model, step: Step) -> list[tuple[str, Choice]]:
    """Returns the choices of a step, each with a distinct name. The name is the role for the choice
    of an instance, ``on`` for a message, or otherwise the label of the choice.
    """
    named: list[tuple[str, Choice]] = []
    used: dict[str, int] = {}
    for choice in step.choices:
        role = model.actions[step.action].role if step.action is not None else ""
        name = choice.label or role or "instance"
        used[name] = used.get(name, 0) + 1
        named.append((name if used[name] == 1 else f"{name} {used[name]}", choice))
    return named


def state_values(model: Model, step: Step) -> tuple[Choice, ...] | None:
    """Returns the names and values that reports show for the state after a step, or None if the
    step failed.
    """
    if step.state is None or step.shown is not None:
        return step.shown
    pairs = zip(model.variables, step.state, strict=True)
    return tuple(Choice(variable.name, variable.type, value) for variable, value in pairs)


def families(model: Model) -> frozenset[str]:
    """Returns the variables of roles that have instances. Each action of such a role begins by
    choosing an instance.
    """
    roles = {a.role for a in model.actions if a.role and _chooses_instance(a)}
    return frozenset(
        v.name for v in model.variables if v.role in roles and isinstance(v.type, types.Map)
    )


def _chooses_instance(action: Action) -> bool:
    return any(isinstance(node, Pick) and node.label == "" for node in walk(action.body))


def write_trace(page: Page, document: TraceDocument, indent: int = 2) -> None:
    """Writes every step of a trace. The first state is shown in full, and then only what
    changes.
    """
    digits = len(str(len(document.steps) - 1))
    before: Mapping[str, ValueTree] | None = None
    body = indent + digits + 2
    for number, step in enumerate(document.steps):
        page.words(f"{'':{indent}}{number:>{digits}}  ", step.title, body + 4, "title")
        if step.act.spare:
            page.line(" " * body, ("the problem does not need this step", "dim"))
        if step.state is None:
            page.line(" " * body, ("this step fails", "bad"))
        elif before is None:
            write_state(page, step.state, document.families, body)
        else:
            write_changes(page, before, step, document.families, body)
        before = step.state
    if document.endless:
        page.line(" " * indent, (f"{document.endless[0].upper()}{document.endless[1:]}.", "bad"))


class WriteTrace(Protocol):
    """A function that writes a trace, such as `write_trace` or `write_steps`."""

    def __call__(self, page: Page, document: TraceDocument, indent: int = 2) -> None: ...


def write_steps(
    page: Page, document: TraceDocument, indent: int = 2, last: int | None = None
) -> None:
    """Writes one line per step, with the action and as many changes as fit. Only the ``last`` steps
    are written, if that is given.
    """
    digits = len(str(len(document.steps) - 1))
    room = page.width - indent - digits - 2
    first = 0 if last is None else max(0, len(document.steps) - last)
    longest = max((cells(step.title) for step in document.steps[first:]), default=0)
    column = min(longest, room * 2 // 5)
    for number, step in enumerate(document.steps[first:], start=first):
        lead = f"{'':{indent}}{number:>{digits}}  "
        title = padded(cut(step.title, column), column)
        changes_text, style = _in_short(document, number)
        page.line(lead, (title, "title"), "  ", (cut(changes_text, room - column - 2), style))
    if document.endless:
        page.line(" " * indent, (f"{document.endless[0].upper()}{document.endless[1:]}.", "bad"))


def _in_short(document: TraceDocument, position: int) -> tuple[str, str]:
    """Returns the changes of a step on one line, and the style of that line."""
    step = document.steps[position]
    if step.state is None:
        return "this step fails", "bad"
    if not position:
        return "", ""
    parts = [part for change in document.changes(position) if (part := _in_few(change, step))]
    return ("; ".join(parts), "") if parts else ("nothing else changes", "dim")


def _in_few(change: Change, step: ShownStep) -> str:
    """Formats a change as ``log +Entry(pid: 0)`` or ``phase Ready -> Busy``, without the name of
    the acting role. Returns "" if the title already names the received message.
    """
    role = step.title.partition("(")[0].partition(" ")[0].rpartition(".")[0]
    kept = without_received(change, step.title)
    if kept is None:
        return ""
    path = change.path.removeprefix(f"{role}.")
    parts = [f"-{_short(item)}" for item in kept.removed]
    parts += [f"+{_short(item)}" for item in kept.added]
    if parts:
        return f"{path} {' '.join(parts)}"
    return f"{path} {_short(change.before)} -> {_short(change.after)}"


def without_received(change: Change, title: str) -> Change | None:
    """Removes the received message, which the title names, from a change. Returns None if nothing
    else remains.
    """
    left = tuple(item for item in change.removed if not title.endswith(f" on {text(item)}"))
    if change.removed and not left and not change.added:
        return None
    return replace(change, removed=left)


SHORT_TEXT = 24
"""In compact output, a record whose text is longer than this is shown by its name only."""


def _short(value: ValueTree) -> str:
    whole = text(value)
    if isinstance(value, Group) and value.head and cells(whole) > SHORT_TEXT:
        return f"{value.head}(…)"
    return whole


MAX_FAIR = 12


def write_fair(page: Page, document: TraceDocument) -> None:
    """Writes why an infinite trace is fair."""
    if not document.fair:
        return
    page.blank()
    page.line("  ", ("why this is fair", "title"))
    column = max(cells(name) for name, _ in document.fair[:MAX_FAIR])
    for name, why in document.fair[:MAX_FAIR]:
        page.words(f"    {padded(name, column)}  ", why, column + 6)
    more = len(document.fair) - MAX_FAIR
    if more > 0:
        page.line(f"    and {more} more")


def write_misfit(page: Page, document: TraceDocument) -> None:
    """Writes the images of both states of a step that violates a refinement, and the reason."""
    last = {name: datum.tree for name, datum in document.images[-1].items()}
    page.blank()
    if len(document.images) == 1:
        page.line("  ", (f"that state in {document.refined}", "title"))
        write_state(page, last, frozenset(), 4)
        heading = f"why this is not an initial state of {document.refined}"
    else:
        first = {name: datum.tree for name, datum in document.images[0].items()}
        page.line("  ", (f"the last step in {document.refined}", "title"))
        write_state(page, first, frozenset(), 4)
        write_changes(page, first, ShownStep("", last), frozenset(), 4)
        heading = f"why this is not a step of {document.refined}"
    page.blank()
    page.line("  ", (heading, "title"))
    column = max(cells(name) for name, _ in document.unfit)
    for name, why in document.unfit:
        page.words(f"    {padded(name, column)}  ", why, column + 6)


def write_read(page: Page, document: TraceDocument) -> None:
    """Writes the values that the property reads in the last state, if that is helpful."""
    values = document.read_there()
    if values and len(document.steps) > 1:
        page.blank()
        page.line("  ", ("what the property reads there", "title"))
        write_state(page, values, document.families, 4 + len(str(len(document.steps) - 1)))


def write_state(
    page: Page, state: Mapping[str, ValueTree], family: frozenset[str], indent: int
) -> None:
    """Writes a state with one variable per line. Long values are wrapped."""
    rows: list[tuple[str, ValueTree]] = []
    for name, value in state.items():
        if name in family and isinstance(value, Group):
            rows += _instances(name, value)
        else:
            rows.append((name, value))
    column = _column([name for name, _ in rows])
    for name, value in rows:
        lead = f"{padded(name, column)} = "
        hang = indent + 2
        first, *rest = wrapped(value, indent + cells(lead), hang, page.width)
        page.line(" " * indent, lead, first)
        for line in rest:
            page.line(line)


def _instances(name: str, value: Group) -> list[tuple[str, ValueTree]]:
    """Returns one row per instance of a role, or a single row if the values of all instances are
    equal.
    """
    contents = {item for _, item in value.items}
    if len(contents) == 1 and len(value.items) > 1:
        return [(at_key(name, "*", family=True), value.items[0][1])]
    return [(at_key(name, key, family=True), item) for key, item in value.items]


def _column(names: list[str]) -> int:
    return max((cells(name) for name in names if cells(name) <= 32), default=0)


def write_changes(
    page: Page,
    before: Mapping[str, ValueTree],
    step: ShownStep,
    family: frozenset[str],
    indent: int,
) -> None:
    all_changes: list[Change] = []
    assert step.state is not None
    for name, value in step.state.items():
        all_changes += changes(name, before.get(name, Atom("?")), value, family=name in family)
    if not all_changes:
        page.line(" " * indent, ("nothing changes", "dim"))
    column = _column([change.path for change in all_changes])
    for change in all_changes:
        _write_change(page, change, f"{padded(change.path, column)}  ", indent, step.title)


def _write_change(page: Page, change: Change, lead: str, indent: int, title: str) -> None:
    removed, added = change.removed, change.added
    partly = isinstance(change.before, Group) and len(removed) < len(change.before.items)
    if (removed or added) and partly:
        pieces: list[Piece] = []
        for sign, items, style in (("-", removed, "bad"), ("+", added, "good")):
            for item in items:
                pieces += [(f"{sign} {text(item)}", style), "  "]
        now = f" now {text(change.after)}"
        if indent + cells(lead) + sum(map(_length, pieces)) + cells(now) <= page.width:
            page.line(" " * indent, lead, *pieces, (now, "dim"))
        else:
            _write_parts(page, change, lead, indent, title)
        return
    old, new = text(change.before), text(change.after)
    if indent + cells(f"{lead}{old} -> {new}") <= page.width:
        page.line(" " * indent, lead, (old, "dim"), " -> ", (new, "warn"))
        return
    if removed or added:
        _write_parts(page, change, lead, indent, title)
        return
    page.line(" " * indent, lead)
    _write_wrapped(page, "   ", change.before, indent + 4, "dim")
    _write_wrapped(page, "-> ", change.after, indent + 4, "warn")


def _write_parts(page: Page, change: Change, lead: str, indent: int, title: str) -> None:
    """Writes the elements that a large collection lost and gained, one per line, and then its size.

    A received message is not written out again below the title that names it.
    """
    left = lead
    for mark, items, style in (("- ", change.removed, "bad"), ("+ ", change.added, "good")):
        for item in items:
            if style == "bad" and title.endswith(f" on {text(item)}"):
                item = Atom("the message received")
            begin = indent + cells(left)
            first, *rest = wrapped(item, begin + len(mark), begin + len(mark), page.width)
            page.line(" " * indent, left, (mark + first, style))
            for line in rest:
                page.line((line, style))
            left = " " * cells(lead)
    assert isinstance(change.after, Group)
    count = len(change.after.items)
    page.line(" " * indent, left, (f"now {count} element{'' if count == 1 else 's'}", "dim"))


def _write_wrapped(page: Page, mark: str, value: ValueTree, indent: int, style: str) -> None:
    hang = indent + len(mark)
    first, *rest = wrapped(value, hang, hang, page.width)
    page.line(" " * indent, mark, (first, style))
    for line in rest:
        page.line((line, style))


def _length(piece: Piece) -> int:
    return cells(piece if isinstance(piece, str) else piece[0])
