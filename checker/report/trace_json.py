"""Converts a trace to plain JSON for scripts, with values as text.

The trace file (`itf`) has the structure of the values, too.
"""

from __future__ import annotations

from fencepost.checker.printing.json_values import Json
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.value_tree import text


def trace_json(document: TraceDocument) -> dict[str, Json]:
    """Returns the trace as an object. The initial state has the number 0, as in
    every report."""
    messages: list[Json] = [
        {
            "channel": flight.channel,
            "message": text(flight.message),
            "sent": flight.sent,
            "ended": flight.ended,
            "end": flight.end,
            "copied": flight.copied,
        }
        for flight in document.flights()
    ]
    return {
        "source": document.source or None,
        "check": document.check or None,
        "headline": document.caption or None,
        "violated": document.violated,
        "verdict": document.verdict or None,
        "property": document.property_name or None,
        "property_source": _excerpt(document.property_source),
        "failing_part": _excerpt(document.failing_part),
        "instance": [{"name": n, "value": v} for n, v in document.instances],
        "problem": document.problem or None,
        "problem_source": _excerpt(document.problem_source),
        "blocked": [*document.blocked],
        "constants": {n: text(v.tree) for n, v in document.constants.items()},
        "lifelines": [*document.lanes()],
        "messages": messages,
        "steps": [step_json(document, position) for position in range(len(document.steps))],
        "needed_at_end": [*document.needed_at_end],
        "loop": document.loop,
        "refined": document.refined or None,
        "images": [{n: text(v.tree) for n, v in image.items()} for image in document.images],
        "unfit": [{"action": name, "why": why} for name, why in document.unfit],
        "since": document.since,
        "fair": [{"to": name, "why": why} for name, why in document.fair],
    }


def step_json(document: TraceDocument, position: int) -> dict[str, Json]:
    """Returns one step of a trace as an object."""
    step = document.steps[position]
    act = step.act
    changes: list[Json] = [
        {"place": c.path, "before": text(c.before), "after": text(c.after)}
        for c in document.changes(position)
    ]
    exchanges: list[Json] = [
        {"kind": e.kind, "channel": e.channel, "message": text(e.message.tree)}
        for e in act.exchanges
    ]
    state: Json = None
    if step.state is not None:
        state = {name: text(value) for name, value in step.state.items()}
    return {
        "number": position,
        "title": step.title,
        "action": act.action or None,
        "lifeline": act.lifeline or None,
        "kind": act.kind if act.action else None,
        "needs": [*act.needs],
        "spare": act.spare,
        "exchanges": exchanges,
        "changes": changes,
        "state": state,
    }


def _excerpt(excerpt: Excerpt | None) -> Json:
    if excerpt is None:
        return None
    return {"place": excerpt.place, "line": excerpt.line, "text": excerpt.text}
