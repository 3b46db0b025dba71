"""Finds the causes along a trace: what each step did to channels, and which earlier steps it needs.

A step needs the steps that last wrote what it read, and the step that sent the message that it
received. All steps that the final problem needs, directly or through other steps, form a shorter
trace: a dynamic slice (Korel and Laski, 1988). The other steps are called spare only after a replay
has shown that the slice leads to the problem. A cycle needs its own steps. It also needs the steps
that wrote what the formula reads from the position on at which the formula fails.

To find out what a step read and how it changed channels, the step is executed again in an
instrumented domain of Python values. The domain records what happens, so the record covers exactly
the branches that were taken. A spot is a variable and a path of positions in its value. Role
instances, map keys and record fields have spots of their own, but elements of sets, bags and
sequences do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.temporal.lasso import Lasso, concerns, genuine
from fencepost.checker.trace.message_flights import Causes, Exchange, ExchangeKind, flights
from fencepost.spec.core import ir, types
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError, Run
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain
from fencepost.spec.semantics.domain import Place
from fencepost.spec.semantics.fold import evaluate, execute
from fencepost.spec.semantics.python_codegen import Code, Frame
from fencepost.spec.semantics.stepper import Choice, Runner

FULL = "F907"
"""The code of the evaluation error for a send to a full channel."""

Spot: TypeAlias = tuple[int, tuple[int, ...]]
"""A variable, and a path into its value."""


@dataclass(frozen=True, slots=True)
class Record:
    """The spots that a step or property read, and the changes of channels, each as a variable with
    its values before and after.

    A step that needs room in a channel does not need the earlier steps that merely made room.
    Therefore reads of the fill level of a channel are not recorded, nor are reads of the other
    messages in the channel when a message is received.
    """

    reads: frozenset[Spot]
    changes: tuple[tuple[int, Value, Value], ...] = ()


class Recorder:
    """Executes steps of a model again to record them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        kinds = [variable.type for variable in model.variables]
        self._kinds = kinds
        self._count = len(kinds)
        self._domain = _Recording(model, kinds, False, Runner(model))
        self._bodies: dict[int, Code] = {}

    def step(self, before: State, step: Step) -> Record:
        """Returns the record of a step from ``before``. Raises `LookupError` if the model has no
        such step.
        """
        assert step.action is not None
        if step.action not in self._bodies:
            body = self.model.actions[step.action].body
            self._bodies[step.action] = execute(self._domain, {}, body)
        code, run = self._bodies[step.action], _Tape()
        run.wanted, run.visible = tuple(choice.value for choice in step.choices), True
        frame: Frame = [*before, *[None] * (self._domain.width - self._count), run]
        while True:
            frame[: self._count] = before
            run.changes.clear()
            after: State | None = None
            try:
                done = code(frame) != DISABLED
                after = tuple(frame[: self._count])
            except (EvaluationError, AssertionFailed):
                done = True
            if done and after == step.state and _chosen(run) == step.choices:
                return Record(frozenset(run.reads), tuple(run.changes))
            if not run.advance():
                raise LookupError(step)
            del run.reads[run.counts[len(run.indices) - 1] :]
            del run.counts[len(run.indices) :]

    def property(self, number: int, state: State, after: State | None) -> Record:
        """Returns the record of a property. For a step invariant, the variables of the next state
        are numbered after those of the first state.
        """
        domain = _Recording(self.model, self._kinds, after is not None, Runner(self.model))
        code = evaluate(domain, {}, self.model.properties[number].body)
        values = [*state, *(after or ())]
        run = _Tape()
        code([*values, *[None] * (domain.width - len(values)), run])
        return Record(frozenset(run.reads))


def _chosen(run: Run) -> tuple[Choice, ...]:
    return tuple(Choice(label, kind, value) for label, kind, value in run.choices())


class _Tape(Run):
    """A run that records reads. ``counts`` holds the number of reads before each choice."""

    __slots__ = ("changes", "counts", "reads")

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[Spot] = []
        self.counts: list[int] = []
        self.changes: list[tuple[int, Value, Value]] = []

    def offer(self, values: Iterable[Value], pick: ir.Pick) -> bool:
        # The reads of the condition precede the choice, so it is evaluated for all values now.
        offer = [*values] if pick.condition is not None else values
        self.counts.append(len(self.reads))
        return super().offer(offer, pick)


class _Recording(ConcreteDomain):
    """The domain of Python values, instrumented to write to the `_Tape` in the last slot of a
    frame.
    """

    def __init__(self, model: Model, kinds: Sequence[Type], steps: bool, runner: Runner) -> None:
        marks = model.marks
        super().__init__(kinds, steps, marks, bytearray(b"1") * len(marks), runner.enabled_in)
        self._model = model
        self._sources: dict[Code, tuple[int, tuple[Code, ...]]] = {}

    # ------------------------------------------------------------ reading

    def variable(self, index: int, next: bool, type: Type) -> Code:
        return self._read(index + len(self._variables) if next else index, ())

    def get(self, map: Code, key: Code, kind: types.Map) -> Code:
        source = self._sources.get(map)
        if source is None:
            return super().get(map, key, kind)
        return self._read(source[0], (*source[1], self._key(key, kind.key)))

    def field(self, record: Code, index: int, type: Type) -> Code:
        source = self._sources.get(record)
        if source is None:
            return super().field(record, index, type)
        return self._read(source[0], (*source[1], self._constant(index)))

    def _read(self, variable: int, path: tuple[Code, ...]) -> Code:
        def code(frame: Frame) -> Value:
            value = frame[variable]
            spot: list[int] = []
            for position in path:
                at = int(position(frame))
                spot.append(at)
                value = value[at]
            frame[-1].reads.append((variable, tuple(spot)))
            result: Value = value
            return result

        self._sources[code] = variable, path
        return code

    def enabled(self, action: int, choices: Sequence[Code]) -> Code:
        """Records a read of every variable, since all of them may determine whether an action is
        enabled.
        """
        inner = super().enabled(action, choices)
        every = [(number, ()) for number in range(len(self._variables))]

        def code(frame: Frame) -> bool:
            frame[-1].reads.extend(every)
            result: bool = inner(frame)
            return result

        return code

    # ------------------------------------------------------------ channels

    def assign(self, variable: int, path: Sequence[Place[Code]], value: Code) -> Code:
        inner = super().assign(variable, path, value)
        kind = self._model.variables[variable].kind
        if kind == "variable":
            return inner
        quiet = self._quiet(inner)

        def code(frame: Frame) -> int:
            before = frame[variable]
            signal: int = quiet(frame)
            frame[-1].changes.append((variable, before, frame[variable]))
            return signal

        return code if kind == "channel" else quiet

    def pick(
        self,
        collection: Code,
        condition: Callable[[Code], Code] | None,
        body: Callable[[Code], Code],
        pick: ir.Pick,
    ) -> Code:
        if pick.label in ("on", "message", None):
            collection = self._quiet(collection)
        return super().pick(collection, condition, body, pick)

    def require(self, condition: Code, guard: int) -> Code:
        room = self._model.guards[guard].kind in ("capacity", "budget")
        return super().require(self._quiet(condition) if room else condition, guard)

    def ensure(self, condition: Code, site: int) -> Code:
        full = self._model.sites[site].code == FULL
        return super().ensure(self._quiet(condition) if full else condition, site)

    def _quiet(self, inner: Code) -> Code:
        """Returns code like ``inner`` whose reads of channels and budgets are not recorded."""
        if inner in self._known:
            return inner
        loud = [v.kind == "variable" for v in self._model.variables]

        def code(frame: Frame) -> object:
            reads: list[Spot] = frame[-1].reads
            count = len(reads)
            result: object = inner(frame)
            reads[count:] = [spot for spot in reads[count:] if loud[spot[0] % len(loud)]]
            return result

        return code


def causes(model: Model, trace: Trace, finding: Finding | None = None) -> Causes:
    """Returns the causes along a trace. If there is a ``finding``, also returns the causes of the
    problem at the end.

    For a model with symbolic constants the finding is required, since it holds their values.
    """
    if model.is_opaque:
        return Causes(((),) * len(trace.steps), ((),) * len(trace.steps))
    if model.symbols:
        assert finding is not None
        model = instance(model, [choice.value for choice in finding.constants])
    recorder = Recorder(model)
    records: list[Record] = [Record(frozenset())]
    # If the initial state fails with an evaluation error, the first step has no state.
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
    """Yields the initial content of channels as if the first state had sent it."""
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
    """Yields the messages that a step added to or removed from a channel or a family of
    channels.
    """
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
    # A step adds or removes one message. Its position is the first one at which the contents
    # differ.
    at = next((n for n, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), None)
    at = min(len(before), len(after)) if at is None else at
    if len(after) > len(before):
        came: ExchangeKind = "duplicate" if action == "duplicate" else "send"
        yield Exchange(came, shown, Choice("", kind.element, after[at]))
    elif len(after) < len(before):
        went: ExchangeKind = "lose" if action == "lose" else "receive"
        yield Exchange(went, shown, Choice("", kind.element, before[at]))


def _sources(exchanges: Sequence[Sequence[Exchange[Choice]]]) -> dict[int, set[int]]:
    """Returns for each step the steps that sent what it received, lost or duplicated."""
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
    """Keeps track of the last step that changed each part of the state."""

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
        """Yields the steps that last wrote a part of the state."""
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
    """Yields the paths of the smallest parts that differ (see `Spot`)."""
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
    """Returns the steps that the problem itself needs, or None if the trace has no problem or these
    steps are unknown.
    """
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
    """Yields the steps that explain the problem of an infinite trace at ``position``. None of
    these steps is later than ``position``.
    """
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
    """Returns the temporal formula that a finding violates, or None."""
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
    """Returns the steps that can be left out so that the remaining steps still lead to the
    problem.
    """
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
    """Returns whether the steps can be taken in order and end in the same problem. If ``loop`` is a
    position, the steps from this position on repeat, and the cycle must be the problem.
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
        # If a step was left out, the trace may end in a different state.
        stays = loop is None or loop >= len(states) - 1
        stem, cycle = (states, []) if stays else (states[:loop], states[loop:])
        lasso = Lasso(tuple(stem), tuple(cycle))
        return genuine(runner, formula, lasso) and concerns(runner, finding.property, lasso)
    try:
        arguments = model.properties[finding.property].kind.place(before, state)
        return not runner.holds(finding.property, *arguments)
    except EvaluationError:
        return False
