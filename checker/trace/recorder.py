"""Re-executes a step and records what it read, and how it changed channels.

An instrumented domain of Python values keeps the record, so it follows the branches that were
taken. A spot is a variable and a path of positions in its value: role instances, map keys and
record fields are distinguished; elements of sets, bags and sequences are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from fencepost.checker.outcome import Step
from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State, Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError, Run
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain
from fencepost.spec.semantics.domain import Place
from fencepost.spec.semantics.fold import evaluate, execute
from fencepost.spec.semantics.python_codegen import Code, Frame
from fencepost.spec.semantics.stepper import Choice, Runner

FULL = "F907"
"""The code of a send to a full channel."""

Spot: TypeAlias = tuple[int, tuple[int, ...]]
"""A variable, and a path into its value."""


@dataclass(frozen=True, slots=True)
class Record:
    """The reads of a step or property, and the channel changes as (variable, before, after).

    The fill level of a channel, and other messages in it at a reception, do not count as reads: a
    step does not need earlier steps that merely made room.
    """

    reads: frozenset[Spot]
    changes: tuple[tuple[int, Value, Value], ...] = ()


class Recorder:
    """Re-executes steps of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        kinds = [variable.type for variable in model.variables]
        self._kinds = kinds
        self._count = len(kinds)
        self._domain = _Recording(model, kinds, False, Runner(model))
        self._bodies: dict[int, Code] = {}

    def step(self, before: State, step: Step) -> Record:
        """The record of a step from ``before``. Raises `LookupError` if the model has no such
        step.
        """
        assert step.action is not None
        if step.action not in self._bodies:
            body = self.model.actions[step.action].body
            self._bodies[step.action] = execute(self._domain, {}, body)
        code, run = self._bodies[step.action], _Tape()
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
        """The reads of a property; for a step invariant, variables of the next state are numbered
        after all others.
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
    """A recording run; ``counts`` holds the number of reads before each choice."""

    __slots__ = ("changes", "counts", "reads")

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[Spot] = []
        self.counts: list[int] = []
        self.changes: list[tuple[int, Value, Value]] = []

    def offer(self, offer: Sequence[Value], pick: ir.Pick) -> bool:
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
        """Whether an action is enabled may depend on everything."""
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
        """Code whose reads of channels and budgets are not recorded."""
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
