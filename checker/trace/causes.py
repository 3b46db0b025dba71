"""Causality along a trace: what each step did to channels, and which earlier steps it needs.

A step needs the steps that last wrote what it read, and the step that sent the message it received.
The steps that the final problem needs, transitively, form a trace by themselves: a dynamic slice
(Korel and Laski, 1988), which is verified by replay before the other steps are called spare. A
cycle needs its own steps, and those that wrote what the formula reads from where it fails on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.temporal.lasso import Lasso, genuine
from fencepost.checker.trace.message_flights import Causes, Exchange, ExchangeKind, flights
from fencepost.checker.trace.recorder import Record, Recorder, Spot
from fencepost.spec.core import types
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State, Type, Value
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Choice, Runner


def causes(model: Model, trace: Trace, finding: Finding | None = None) -> Causes:
    """Returns the causes along a trace and of the problem at its end, if there is a ``finding``.

    For a model with symbolic constants the finding is required, since it holds their values.
    """
    if model.symbols:
        assert finding is not None
        model = instance(model, [choice.value for choice in finding.constants])
    recorder = Recorder(model)
    records: list[Record] = [Record(frozenset())]
    # An evaluation error in an initial state leaves no state.
    first = trace.steps[0].state
    initial_exchanges = () if first is None else tuple(_begun(model, first))
    exchanges: list[tuple[Exchange[Choice], ...]] = [initial_exchanges]
    for before, step in zip(trace.steps, trace.steps[1:], strict=False):
        assert before.state is not None
        record = recorder.step(before.state, step)
        records.append(record)
        exchanges.append(tuple(_exchanges(model, step, record)))
    exchanges = exchanges[: len(trace.steps)]
    writers = _Writers(model)
    sources = _sources(exchanges)
    needs: list[tuple[int, ...]] = []
    lasting = set[int]()
    for position, step in enumerate(trace.steps):
        needed = {writer for spot in records[position].reads for writer in writers.of(spot)}
        needed |= sources.get(position, set())
        needs.append(tuple(sorted(needed - {0, position})))
        if position and step.state is not None:
            previous = trace.steps[position - 1].state
            assert previous is not None
            writers.write(position, previous, step.state)
        lasting.update(_lasting(model, trace, finding, recorder, writers, position))
    end = _end(model, trace, finding, recorder, writers)
    if trace.loop is not None and finding is not None:
        end = lasting - {0}
    if end is None:
        return Causes(tuple(exchanges), tuple(needs))
    spare = _spare(model, trace, finding, needs, end)
    return Causes(tuple(exchanges), tuple(needs), tuple(sorted(end)), spare)


# ---------------------------------------------------------------- exchanges


def _begun(model: Model, state: State) -> Iterator[Exchange[Choice]]:
    """The initial content of channels, as if the first state had sent it."""
    for variable, value in zip(model.variables, state, strict=True):
        if variable.kind == "channel":
            yield from _content(variable.name, variable.type, value)


def _content(
    name: str, kind: Type, value: Value, keys: tuple[str, ...] = ()
) -> Iterator[Exchange[Choice]]:
    assert isinstance(value, tuple)
    if isinstance(kind, types.Map):
        for key, inner in zip(types.values(kind.key), value, strict=True):
            yield from _content(name, kind.value, inner, (*keys, show(key, kind.key)))
        return
    shown = f"{name}[{', '.join(keys)}]" if keys else name
    element = types.as_collection(kind).element
    for message in value:
        yield Exchange("send", shown, Choice("", element, message))


def _exchanges(model: Model, step: Step, record: Record) -> Iterator[Exchange[Choice]]:
    assert step.action is not None
    action = model.actions[step.action]
    message = next((c for c in step.choices if c.label in ("on", "message")), None)
    received = False
    for number, before, after in record.changes:
        variable = model.variables[number]
        for exchange in _differences(variable.name, variable.type, before, after, action.kind):
            received = received or exchange.kind != "send"
            yield exchange
    taking = action.kind in ("ordinary", "environment") and not received
    if taking and action.channel is not None and message is not None:
        name = model.variables[action.channel].name
        yield Exchange("read", name, Choice("", message.type, message.value))


def _differences(
    name: str, kind: Type, before: Value, after: Value, action: str, keys: tuple[str, ...] = ()
) -> Iterator[Exchange[Choice]]:
    """The messages added to and removed from a channel or a family of channels."""
    assert isinstance(before, tuple)
    assert isinstance(after, tuple)
    if isinstance(kind, types.Map):
        for key, old, new in zip(types.values(kind.key), before, after, strict=True):
            if old != new:
                inner = (*keys, show(key, kind.key))
                yield from _differences(name, kind.value, old, new, action, inner)
        return
    assert isinstance(kind, types.Bag | types.Seq | types.Set)
    shown = f"{name}[{', '.join(keys)}]" if keys else name
    # A step adds or removes one message, at the first position where the contents differ.
    at = next((n for n, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), None)
    at = min(len(before), len(after)) if at is None else at
    if len(after) > len(before):
        came: ExchangeKind = "duplicate" if action == "duplicate" else "send"
        yield Exchange(came, shown, Choice("", kind.element, after[at]))
    elif len(after) < len(before):
        went: ExchangeKind = "lose" if action == "lose" else "receive"
        yield Exchange(went, shown, Choice("", kind.element, before[at]))


def _sources(exchanges: Sequence[Sequence[Exchange[Choice]]]) -> dict[int, set[int]]:
    """For each step, the steps that sent what it received, lost or duplicated."""
    sources: dict[int, set[int]] = {}
    last: dict[tuple[str, Choice], int] = {}
    for flight in flights(exchanges):
        if flight.ended is not None and flight.sent is not None:
            sources.setdefault(flight.ended, set()).add(flight.sent)
    for position, own in enumerate(exchanges):
        for exchange in own:
            key = exchange.channel, exchange.message
            if exchange.kind == "duplicate" and key in last:
                sources.setdefault(position, set()).add(last[key])
            if exchange.kind == "send":
                last[key] = position
    return sources


# ---------------------------------------------------------------- who wrote what


class _Writers:
    """The last step that changed each part of the state."""

    def __init__(self, model: Model) -> None:
        self._variables = model.variables
        self._last: dict[int, dict[tuple[int, ...], int]] = {}

    def write(self, position: int, before: State, after: State) -> None:
        for number, variable in enumerate(self._variables):
            if before[number] != after[number]:
                written = self._last.setdefault(number, {})
                for path in _changed(variable.type, before[number], after[number]):
                    written[path] = position

    def of(self, spot: Spot) -> Iterator[int]:
        """The steps that last wrote a part of the state."""
        variable, path = spot
        for written, position in self._last.get(variable, {}).items():
            if written[: len(path)] == path or path[: len(written)] == written:
                yield position

    def every(self) -> Iterator[int]:
        for written in self._last.values():
            yield from written.values()


def _changed(
    kind: Type, before: Value, after: Value, path: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """The smallest parts that differ, see `recorder.Spot`."""
    if before == after:
        return
    match kind, before, after:
        case types.Map(value=inner), tuple(), tuple():
            for position, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _changed(inner, old, new, (*path, position))
        case types.Record(fields=fields), tuple(), tuple():
            for position, field in enumerate(fields):
                yield from _changed(
                    field.type, before[position], after[position], (*path, position)
                )
        case _:
            yield path


# ---------------------------------------------------------------- the slice


def _end(
    model: Model, trace: Trace, finding: Finding | None, recorder: Recorder, writers: _Writers
) -> set[int] | None:
    """The steps that the problem itself needs; None without a problem."""
    last = len(trace.steps) - 1
    if finding is None or last < 1:
        return None
    if trace.steps[last].state is None:
        return {last}
    if finding.property is None:
        # In a deadlock all guards are false, so every write may matter.
        return {last, *writers.every()} if finding.verdict is Verdict.DEADLOCK else None
    state = trace.steps[last].state
    assert state is not None
    before = trace.steps[last - 1].state
    kind = model.properties[finding.property].kind
    if kind.of_behaviours or model.properties[finding.property].abstract is not None:
        return None
    try:
        reads = recorder.property(finding.property, *kind.place(before, state)).reads
    except EvaluationError:
        return None
    count = len(model.variables)
    needed = {w for number, path in reads for w in writers.of((number % count, path))}
    return needed | ({last} if kind.of_steps else set())


def _lasting(
    model: Model,
    trace: Trace,
    finding: Finding | None,
    recorder: Recorder,
    writers: _Writers,
    position: int,
) -> Iterator[int]:
    """The steps up to a position of an infinite trace that the problem itself needs there."""
    loop, last = trace.loop, len(trace.steps) - 1
    formula = _formula(model, finding)
    if formula is None or finding is None or loop is None:
        return
    if loop <= position and loop < last:
        yield position
    state = trace.steps[position].state
    if state is not None and position >= min(finding.since or 0, loop):
        for number in predicates(formula):
            for spot in recorder.property(number, state, None).reads:
                yield from writers.of(spot)


def _formula(model: Model, finding: Finding | None) -> Formula | None:
    """The temporal formula that a finding violates, or None."""
    if finding is None or finding.property is None:
        return None
    return model.properties[finding.property].formula


def _spare(
    model: Model,
    trace: Trace,
    finding: Finding | None,
    needs: Sequence[Sequence[int]],
    end: set[int],
) -> frozenset[int]:
    """The steps without which the others still lead to the problem."""
    needed: set[int] = set()
    waiting = list(end)
    while waiting:
        position = waiting.pop()
        if position not in needed:
            needed.add(position)
            waiting += needs[position]
    spare = frozenset(range(1, len(trace.steps))) - needed
    if not spare or finding is None:
        return frozenset()
    kept = [step for position, step in enumerate(trace.steps) if position not in spare]
    loop = None if trace.loop is None else trace.loop - sum(n < trace.loop for n in spare)
    return spare if _leads(model, kept, finding, loop) else frozenset()


def _leads(model: Model, steps: Sequence[Step], finding: Finding, loop: int | None) -> bool:
    """Whether the steps can be taken in order and end in the same problem. If ``loop`` is a
    position, the steps from there on repeat, and the cycle must be the problem.
    """
    runner = Runner(model)
    state = steps[0].state
    states = [] if state is None else [state]
    before: State | None = None
    assert state is not None
    for number, step in enumerate(steps[1:], 1):
        same = (
            tried
            for tried in runner.successors(state)
            if (tried.action, tried.choices) == (step.action, step.choices)
        )
        failing = step.state is None
        taken = next((tried for tried in same if (tried.failure is not None) == failing), None)
        if taken is None:
            return False
        if taken.failure is not None:
            site = model.sites[taken.failure.site]
            return number == len(steps) - 1 and site == finding.site
        assert taken.state is not None
        before, state = state, taken.state
        states.append(state)
    if finding.property is None:
        return False
    formula = _formula(model, finding)
    if formula is not None:
        # If a step was left out, the last state may be another one.
        stays = loop is None or loop >= len(states) - 1
        stem, cycle = (states, []) if stays else (states[:loop], states[loop:])
        return genuine(runner, formula, Lasso(tuple(stem), tuple(cycle)))
    try:
        arguments = model.properties[finding.property].kind.place(before, state)
        return not runner.holds(finding.property, *arguments)
    except EvaluationError:
        return False
