"""Builds the trace document of a run that shows the longest possible part of a history."""

from __future__ import annotations

from dataclasses import replace

from fencepost.checker.outcome import Step, Trace
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.verdicts import Judgement, Origin
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.of_search import document
from fencepost.spec.core import ir
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Choice

_HOW = {"input": "input", "ahead": "ahead", "request": "request", "answer": "answer"}


def history_document(
    mapped: MappedModel, judged: Judgement, source: str = "", version: str = "", check: str = ""
) -> TraceDocument:
    """Returns a document with the steps of the model and the external inputs, each followed by the
    events that it reads.
    """
    model, rows = _extended(mapped)
    steps: list[Step] = []
    before: State | None = None
    for state, did in judged.way:
        steps.append(_step(mapped, rows, before, state, did))
        before = state
    base = document(model, Trace(tuple(steps)))
    sources = [source_state.source for source_state in judged.waiting]
    shown = tuple(
        replace(step, title=step.title + _read(did, sources))
        for step, (_, did) in zip(base.steps, judged.way, strict=True)
    )
    prefix = f"{judged.key}: " if judged.key is not None else ""
    return replace(
        base,
        steps=shown,
        status="path",
        description=f"{prefix}{judged.verdict}, {judged.read} of {judged.total} events",
        source=source,
        generator=f"fencepost {version}",
        check=check,
    )


def _read(did: Origin, sources: list[str]) -> str:
    if not did.events:
        return ""
    return "  [" + "; ".join(f"{sources[n]}: {line.text}" for n, line in did.events) + "]"


def _extended(mapped: MappedModel) -> tuple[ir.Model, dict[tuple[str, int | None], int]]:
    """Returns the model with an additional action for each kind of external input, and the indices
    of these actions.
    """
    model, recording = mapped.model, mapped.recording
    actions = list(model.actions)
    rows: dict[tuple[str, int | None], int] = {}
    nothing = ir.Sequence(())
    for number, item in enumerate(recording.inputs):
        for kind in ("request", "answer") if item.kind == "answers" else (item.kind,):
            rows[kind, number] = len(actions)
            name = f"{_HOW[kind]} {recording.events[item.event].name}"
            actions.append(ir.Action(name, "", "environment", nothing, item.span))
    rows["tolerated", None] = len(actions)
    actions.append(ir.Action("tolerated", "", "environment", nothing, recording.span))
    return replace(model, actions=tuple(actions)), rows


def _step(
    mapped: MappedModel,
    rows: dict[tuple[str, int | None], int],
    before: State | None,
    after: State,
    did: Origin,
) -> Step:
    if before is None:
        return Step(None, (), after)
    if did.action is not None:
        choices = mapped.choices(did.action, did.rule, did.values, before, after)
        return Step(did.action, choices, after)
    number = rows[did.kind, did.rule]
    if did.rule is None:
        return Step(number, (), after)
    fields = mapped.recording.events[mapped.recording.inputs[did.rule].event].fields
    chosen = zip(fields, did.values, strict=True)
    return Step(number, tuple(Choice(f.name, f.type, value) for f, value in chosen), after)
