"""Makes short labels for steps, messages and changes in diagrams. The labels are not escaped."""

from __future__ import annotations

from fencepost.checker.trace.document import ShownStep, TraceDocument
from fencepost.checker.trace.message_flights import Flight
from fencepost.checker.trace.value_tree import Atom, Change, Group, ValueTree, text

MAX_CHANGES = 4
"""Maximum number of changes per label. Further changes are only counted."""
MAX_DRAWN = 2000
"""Maximum number of states in a diagram. A larger diagram would be slow and useless."""
TAKING = ("receive", "read")


def cut(label: str, most: int) -> str:
    """Shortens ``label`` to at most ``most`` characters."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


def message_label(message: ValueTree, most: int = 60) -> str:
    """Returns the name of a message and as many of its values as fit. Nested values are
    abbreviated.
    """
    whole = text(message)
    if len(whole) <= most or isinstance(message, Atom):
        return cut(whole, most)
    inside: list[str] = []
    for label, item in message.items:
        part = f"{label}: {text(item)}" if label else text(item)
        inside.append(part if isinstance(item, Atom) else f"{label}: …" if label else "…")
    for kept in range(len(inside), -1, -1):
        left = inside if kept == len(inside) else [*inside[:kept], "…"]
        label = f"{message.head}({', '.join(left)})"
        if len(label) <= most:
            return label
    return cut(message.head or whole, most)


def step_label(step: ShownStep) -> str:
    """Returns the title of a step without its lifeline and without the message that it received."""
    label = step.title
    if step.act.kind in ("lose", "duplicate") and step.act.exchanges:
        verb = "loses" if step.act.kind == "lose" else "duplicates"
        return f"{verb} {message_label(step.act.exchanges[0].message.tree)}"
    for exchange in step.act.exchanges:
        if exchange.kind in TAKING:
            label = label.removesuffix(f" on {text(exchange.message.tree)}")
    if step.act.lifeline:
        label = label.removeprefix(f"{step.act.lifeline}.")
    return label


def change_labels(document: TraceDocument, position: int, most: int | None = 60) -> list[str]:
    """Returns the changes that a step makes within its role, one per line, with at most ``most``
    characters per line (unlimited if None). Changes of channels are omitted, since the diagram
    shows them as arrows.
    """
    step = document.steps[position]
    if step.act.kind in ("lose", "duplicate"):
        return []
    channels = {exchange.channel.partition("[")[0] for exchange in step.act.exchanges}
    own = f"{step.act.lifeline}."
    texts = [
        f"{change.path.removeprefix(own)} {change_text(change)}"
        for change in document.changes(position)
        if change.path.partition("[")[0] not in channels
    ]
    if most is None:
        return texts
    more = len(texts) - MAX_CHANGES
    if more > 0:
        texts[MAX_CHANGES - 1 :] = [f"{more + 1} more changes"]
    return [cut(line, most) for line in texts]


def change_text(change: Change) -> str:
    """Formats a change as ``+ Marker`` or ``Ready → Busy``."""
    partly = isinstance(change.before, Group) and len(change.removed) < len(change.before.items)
    if (change.removed or change.added) and partly:
        lost = [f"− {text(item)}" for item in change.removed]
        return " ".join([*lost, *(f"+ {text(item)}" for item in change.added)])
    return f"{text(change.before)} → {text(change.after)}"


def fate(flight: Flight[ValueTree], *, endless: bool = False) -> str:
    """Describes what becomes of a message; returns "" if the next step receives it. ``endless`` is
    set for an infinite trace.
    """
    match flight.end, flight.ended:
        case "received", int(end):
            direct = flight.sent is not None and end == flight.sent + 1
            return "" if direct else f"arrives in {end}"
        case "lost", int(end):
            return f"lost in {end}"
        case _:
            return "not received yet" if endless else "still in flight at the end"


def closing(document: TraceDocument) -> list[str]:
    """Returns the text at the end of a trace: the violation and the values that show it."""
    if not document.violated:
        if document.loop is not None:
            return [f"and so on from {document.loop}"]
        return []
    wrong = f"{document.endless}, which is a violation" if document.endless else ""
    lines = [f"✗ {document.caption or wrong or 'the trace ends in a violation'}"]
    if document.endless and not document.headline and document.caption:
        # A headline that Fencepost wrote already includes it.
        lines.append(document.endless)
    if document.problem:
        lines.append(document.problem)
    if document.instance:
        lines.append("for " + ", ".join(f"{name} = {value}" for name, value in document.instances))
    if document.failing_part is not None:
        lead = "no run continues with" if document.played else f"false{document.fails_from}:"
        lines.append(f"{lead} {' '.join(document.failing_part.text.split())}")
    return lines
