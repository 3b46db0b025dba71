"""A trace as plain JSON, for scripts: what the diagrams show, values as they are written.

The values themselves, with their structure, are in the trace file (`itf`).
"""

from __future__ import annotations

from fencepost.checker.printing.json_values import Json
from fencepost.checker.trace.document import Recording
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.value_tree import text


def trace_json(recording: Recording) -> dict[str, Json]:
    """The trace; steps are numbered from 1, as in every report."""
    steps: list[Json] = []
    for position, step in enumerate(recording.trace.steps):
        act = step.act
        changes: list[Json] = [
            {"place": c.path, "before": text(c.before), "after": text(c.after)}
            for c in recording.changes(position)
        ]
        exchanges: list[Json] = [
            {"kind": e.kind, "channel": e.channel, "message": text(e.message)}
            for e in act.exchanges
        ]
        state: Json = None
        if step.state is not None:
            state = {name: text(value) for name, value in step.state.items()}
        steps.append(
            {
                "number": position + 1,
                "title": step.title,
                "action": act.action or None,
                "lifeline": act.lifeline or None,
                "kind": act.kind if act.action else None,
                "needs": [n + 1 for n in act.needs],
                "spare": act.spare,
                "exchanges": exchanges,
                "changes": changes,
                "state": state,
            }
        )
    messages: list[Json] = [
        {
            "channel": flight.channel,
            "message": text(flight.message),
            "sent": _number(flight.sent),
            "ended": _number(flight.ended),
            "end": flight.end,
            "copied": flight.copied,
        }
        for flight in recording.flights()
    ]
    return {
        "source": recording.source or None,
        "check": recording.check or None,
        "headline": recording.headline or None,
        "violated": recording.violated,
        "verdict": recording.verdict or None,
        "property": recording.property or None,
        "property_source": _excerpt(recording.property_source),
        "failing_part": _excerpt(recording.failing_part),
        "instance": [{"name": n, "value": v} for n, v in recording.instance],
        "problem": recording.problem or None,
        "problem_source": _excerpt(recording.problem_source),
        "blocked": [*recording.blocked],
        "constants": dict(recording.constants),
        "lifelines": [*recording.lanes()],
        "messages": messages,
        "steps": steps,
        "needed_at_end": [n + 1 for n in recording.needed_at_end],
        "loop": _number(recording.loop),
    }


def _number(position: int | None) -> Json:
    return None if position is None else position + 1


def _excerpt(excerpt: Excerpt | None) -> Json:
    if excerpt is None:
        return None
    return {"place": excerpt.place, "line": excerpt.line, "text": excerpt.text}
