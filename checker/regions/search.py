"""A check for every value of a symbolic constant: one search for each region of its values.

A value outside the regions found so far is searched twice: as a constant, which gives the verdict,
counts and trace; and with terms, which shows the other values with the same outcome. Both must
agree. The check ends when the solver finds no further value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import Protocol

from fencepost.checker.outcome import INTERRUPTED, Limit, Outcome, Region
from fencepost.checker.regions.facts import (
    Coincidence,
    Meeting,
    Ranges,
    Refused,
    Seen,
    beyond,
    common,
    contains,
    region,
    united,
)
from fencepost.checker.regions.lift import LiftedModel, lift
from fencepost.checker.regions.verdict import for_all_values, no_value
from fencepost.checker.request import Engine, Request
from fencepost.checker.search.account import Account, Cut, before_search
from fencepost.checker.symbolic.run_limits import Watch
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Bool, Integer, Nominal, Type, Value, values
from fencepost.spec.semantics.concrete import EvaluationError, Observer, evaluate_constant
from fencepost.spec.text.problem import Problem, Rejected

MAX_RANGES = 8
"""The maximal number of ranges for the possible values of a constant."""


class Covering(Protocol):
    """See `checker.symbolic.cover.Cover`."""

    high: int

    def least_outside(self, ranges: Ranges) -> int | None: ...
    def ranges(self) -> Iterator[tuple[int, int]]: ...
    def undefined(self) -> Iterator[Iterator[tuple[int, int]]]: ...


def problems(model: Model, properties: frozenset[int]) -> list[Problem]:
    """The reasons why a model cannot be searched for all values of its symbolic constant at
    once.
    """
    first, *more = model.symbols
    if more:
        return [
            Problem(
                "F814",
                symbol.span,
                f'a search takes one symbolic constant, and "{symbol.path}" is another one',
                (
                    (first.span, f'"{first.path}" is declared here'),
                    (None, f'"--const {symbol.path}=VALUE" gives it a value'),
                ),
            )
            for symbol in more
        ]
    searched = model.searched(properties)
    for number in (*searched.step_invariants, *searched.behaviours):
        prop = model.properties[number]
        if prop.abstract is None and prop.formula is None:
            continue
        message = f'{prop.title} is not decided for all values of "{first.path}" at once'
        note = (None, f'"--const {first.path}=VALUE" gives it a value')
        return [Problem("F807", prop.span, message, (note,))]
    if isinstance(first.type, Bool | Nominal):
        return []
    lifted = lift(model, least(first.type), properties)
    return lifted if isinstance(lifted, list) else []


def example(model: Model, properties: frozenset[int]) -> Model:
    """The model of one of the searches, to examine its translation by an engine. Raises
    `Rejected`.
    """
    refused = problems(model, properties)
    if refused:
        raise Rejected(refused)
    kind = model.symbols[0].type
    if isinstance(kind, Bool | Nominal):
        return instance(model, (next(iter(values(kind))),))
    lifted = lift(model, least(kind), properties)
    assert isinstance(lifted, LiftedModel)
    return lifted.model


def least(kind: Type) -> int:
    """The least value of an integer type."""
    assert isinstance(kind, Integer)
    return kind.low


def search(engine: Engine, request: Request) -> Outcome:
    """The outcome for every value of the one symbolic constant, with the regions. ``engine`` visits
    states.

    Raises `Rejected` for parts that, during the search, turn out to prevent a search for all values
    at once.
    """
    (symbol,) = request.model.symbols
    early_outcome = before_search(Account(request))
    if early_outcome is not None:
        return early_outcome
    if isinstance(symbol.type, Bool | Nominal):
        return _Regions(engine, request).one_by_one(tuple(values(symbol.type)))
    return _Regions(engine, request).all()


class _Regions:
    """One check. ``found`` are the regions, ``covered`` is their union, ``limit`` cut it."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.model = request.model
        self.watch = Watch(request)
        self.found: list[Region] = []
        self.covered: Ranges = ()
        self.limit: Limit | None = None

    def outcome(self) -> Outcome:
        if not self.found and self.limit is None:
            return no_value(self.model)
        return for_all_values(
            self.request,
            sorted(self.found, key=lambda region: region.ranges),
            self.limit,
            self.watch.seconds,
        )

    def run(self, model: Model, observer: Observer | None = None) -> Outcome:
        """The outcome of a model without symbolic constants, within the remaining time."""
        limits = replace(self.request.limits, timeout=self.left())
        return self.engine.run(replace(self.request, model=model, observer=observer, limits=limits))

    def one_by_one(self, all: Sequence[Value]) -> Outcome:
        """Each value separately: those of a bool or an enum, which have no arithmetic."""
        for number, value in enumerate(all):
            model = instance(self.model, (value,))
            if not _meets(model, len(self.model.assumptions)):
                continue
            outcome = self.run(model)
            if not self.kept(outcome, ((number, number),), value):
                break
        return self.outcome()

    def all(self) -> Outcome:
        """Regions, until they cover all values."""
        try:
            with self.watch.interrupts.heard():
                # The solver is only loaded if it is needed.
                solving = import_module("fencepost.checker.symbolic.cover")
        except KeyboardInterrupt:
            self.limit = INTERRUPTED
            return self.outcome()
        try:
            with self.watch.interrupts.heard():
                cover: Covering = solving.Cover(self.model.symbols[0], self.watch.look)
                undefined = [_first_ranges(ranges) for ranges in cover.undefined()]
                meant, whole = _first_ranges(cover.ranges())
            if not whole:
                meant = ((meant[0][0], cover.high),)
            for ranges, complete in undefined:
                if ranges:
                    self.without_value(ranges, complete)
                    meant = beyond(meant, ranges)
            while self.limit is None:
                with self.watch.interrupts.heard():
                    value = cover.least_outside(self.covered)
                if value is None:
                    break
                self.extend(value, meant)
        except solving.Unknown as unknown:
            self.limit = Limit("solver", reason=f"the solver, which gave up ({unknown})")
        except Cut as cut:
            self.limit = cut.limit
        except KeyboardInterrupt:
            self.limit = INTERRUPTED
        return self.outcome()

    def without_value(self, ranges: Ranges, complete: bool) -> None:
        """Adds values that make the condition of the constant undefined, all in the same way;
        unless ``complete``, there are more.
        """
        value = ranges[0][0]
        outcome = self.run(instance(self.model, (value,)))
        if not complete:
            path = self.model.symbols[0].path
            note = f"The condition of {path} is undefined for more values than are listed."
            outcome = replace(outcome, notes=(*outcome.notes, note))
        self.found.append(Region(ranges, value, outcome))

    # ------------------------------------------------------------ one region

    def extend(self, value: int, meant: Ranges) -> None:
        """Finds the region of a value that is not covered yet."""
        alone = ((value, value),)
        outcome = self.run(instance(self.model, (value,)))
        if outcome.cut is not None:
            self.kept(outcome, alone, value)
            return
        ranges, cut = self.generalized(value, outcome)
        # Searches of two values may compare different terms, so their ranges may overlap.
        fresh = beyond(common(ranges, meant), self.covered)
        self.covered = united(self.covered, ranges)
        self.kept(outcome, fresh, value)
        if cut is not None:
            self.limit = self.named(cut, value)

    def generalized(self, value: int, outcome: Outcome) -> tuple[Ranges, Limit | None]:
        """The values with the same outcome as this search, and the limit that cut it, if any."""
        alone = ((value, value),)
        lifted = lift(self.model, value, self.request.properties)
        if isinstance(lifted, list):
            raise Rejected(lifted)
        notes = Notes(lifted)
        try:
            notes.begin()
            again = self.run(lifted.model, notes.observe)
            if again.cut is not None:
                return alone, again.cut
            kind = self.model.symbols[0].type
            assert isinstance(kind, Integer)
            ranges = region(lifted.seen, notes.observed(), value, kind.low, kind.high)
        except Coincidence:
            return alone, None
        assert in_short(again) == in_short(outcome), f"a search of {value} came out otherwise"
        assert contains(ranges, value), f"{ranges} is not a region of {value}"
        return ranges, None

    # ------------------------------------------------------------ limits

    def kept(self, outcome: Outcome, ranges: Ranges, value: Value) -> bool:
        """Keeps the outcome of a value, unless a limit cut the search before any finding."""
        if outcome.cut is not None:
            self.limit = self.named(outcome.cut, value)
        if outcome.cut is None or outcome.findings:
            self.covered = united(self.covered, ranges)
            self.found.append(Region(ranges, value, outcome))
        return outcome.cut is None

    def left(self) -> float | None:
        """The remaining seconds for a search."""
        if self.request.limits.timeout is None:
            return None
        return max(0.0, self.request.limits.timeout - self.watch.seconds)

    def named(self, cut: Limit, value: Value) -> Limit:
        """The limit as the user gave it: each search only gets the remaining time. A limit for each
        search names the value, since it tells nothing about others.
        """
        if cut.kind == "timeout":
            return replace(cut, number=self.request.limits.timeout)
        if cut.kind in ("depth", "max-states"):
            symbol = self.model.symbols[0]
            return replace(cut, constant=f"{symbol.path} = {show(value, symbol.type)}")
        return cut


class Notes:
    """The observations of a search with terms. Different terms of a field with equal values end it
    at once, with `Coincidence`: the search would merge or separate states wrongly. A refused
    operation ends it with `Rejected`.
    """

    def __init__(self, lifted: LiftedModel) -> None:
        self._seen: Sequence[Seen] = lifted.seen
        self._constants = lifted.constants
        self._found: list[set[tuple[int, ...]]] = [set() for _ in lifted.seen]
        self._worth: list[dict[int, bool] | None] = [
            {} if isinstance(seen, Meeting) else None for seen in lifted.seen
        ]

    def begin(self) -> None:
        """Adds the constants that terms are always compared with."""
        for number, worth in sorted(self._constants):
            self.observe(number, (worth, False))

    def observe(self, number: int, operands: tuple[int, ...]) -> None:
        """See `spec.semantics.concrete.Observer`."""
        match self._seen[number]:
            case Refused(problem):
                raise Rejected([problem])
            case _:
                self._found[number].add(operands)
        worths = self._worth[number]
        if worths is not None:
            worth, moves = operands
            if worths.setdefault(worth, bool(moves)) != bool(moves):
                raise Coincidence

    def observed(self) -> dict[int, Iterable[tuple[int, ...]]]:
        return dict(enumerate(self._found))


def _first_ranges(ranges: Iterator[tuple[int, int]]) -> tuple[Ranges, bool]:
    """The first `MAX_RANGES` ranges, and whether there are no others."""
    first = tuple(islice(ranges, MAX_RANGES))
    return first, next(ranges, None) is None


def _meets(model: Model, before: int) -> bool:
    """Whether a value meets the condition, or leaves it undefined; the first ``before`` assumptions
    are about other constants.
    """
    try:
        return all(
            evaluate_constant(assumption.condition) for assumption in model.assumptions[before:]
        )
    except EvaluationError:
        return True


def in_short(outcome: Outcome) -> tuple[object, ...]:
    """The common part of the outcomes of searches for similar values."""
    findings = tuple((f.verdict, f.property, f.depth, f.site) for f in outcome.findings)
    counts = outcome.statistics
    return outcome.verdict, findings, counts.levels, counts.transitions, counts.generated
