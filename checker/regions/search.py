"""Checks a model for every value of a symbolic constant, by one search for each region of values.

A value outside the regions found so far is searched twice. The search with this value as a constant
gives the verdict, the counts and the trace. The search with terms shows which other values have the
same outcome. Both searches must agree. The check ends when the solver finds no further value.
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
"""Maximum number of ranges for the possible values of a constant."""


class Covering(Protocol):
    """The part of `checker.symbolic.cover.Cover` that this module uses."""

    high: int

    def least_outside(self, ranges: Ranges) -> int | None: ...
    def ranges(self) -> Iterator[tuple[int, int]]: ...
    def undefined(self) -> Iterator[Iterator[tuple[int, int]]]: ...


def problems(model: Model, properties: frozenset[int]) -> list[Problem]:
    """Returns the reasons why a model cannot be searched for all values of its symbolic constant at
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
    """Returns the model of one of the searches, to examine how an engine translates it. Raises
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
    """Returns the least value of an integer type."""
    assert isinstance(kind, Integer)
    return kind.low


def search(engine: Engine, request: Request) -> Outcome:
    """Returns the outcome for every value of the one symbolic constant, with the regions.
    ``engine`` must be an engine that visits states.

    Raises `Rejected` if the search reaches parts of the model that prevent a search for all values
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
    """One check. ``found`` contains the regions found so far, and ``covered`` is their union.
    ``limit`` is the limit that cut the check, or None.
    """

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
        """Runs a model without symbolic constants within the remaining time."""
        limits = replace(self.request.limits, timeout=self.left())
        return self.engine.run(replace(self.request, model=model, observer=observer, limits=limits))

    def one_by_one(self, all: Sequence[Value]) -> Outcome:
        """Searches each value separately. This is used for the values of a bool or an enum, which
        have no arithmetic.
        """
        for number, value in enumerate(all):
            model = instance(self.model, (value,))
            if not _meets(model, len(self.model.assumptions)):
                continue
            outcome = self.run(model)
            if not self.kept(outcome, ((number, number),), value):
                break
        return self.outcome()

    def all(self) -> Outcome:
        """Searches regions until they cover all values."""
        try:
            with self.watch.interrupts.heard():
                # The solver is loaded here because it is only needed now.
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
        """Adds values that make the condition of the constant undefined in the same way. Unless
        ``complete``, there are more such values.
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
        """Searches the region of a value that is not covered yet."""
        alone = ((value, value),)
        outcome = self.run(instance(self.model, (value,)))
        if outcome.cut is not None:
            self.kept(outcome, alone, value)
            return
        ranges, cut = self.generalized(value, outcome)
        # Searches with two values may compare different terms, so their ranges may overlap.
        fresh = beyond(common(ranges, meant), self.covered)
        self.covered = united(self.covered, ranges)
        self.kept(outcome, fresh, value)
        if cut is not None:
            self.limit = self.named(cut, value)

    def generalized(self, value: int, outcome: Outcome) -> tuple[Ranges, Limit | None]:
        """Returns the values that have the same outcome as the search for ``value``, and the limit
        that cut the search with terms, if any.
        """
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
        """Keeps the outcome for a value unless a limit cut its search before anything was found.
        Returns whether the search was completed.
        """
        if outcome.cut is not None:
            self.limit = self.named(outcome.cut, value)
        if outcome.cut is None or outcome.findings:
            self.covered = united(self.covered, ranges)
            self.found.append(Region(ranges, value, outcome))
        return outcome.cut is None

    def left(self) -> float | None:
        """Returns the remaining seconds for a search, or None if time is not limited."""
        if self.request.limits.timeout is None:
            return None
        return max(0.0, self.request.limits.timeout - self.watch.seconds)

    def named(self, cut: Limit, value: Value) -> Limit:
        """Returns the limit as the user specified it, because each search only receives the
        remaining time. A limit that applies to each search separately names the value, because
        other values may not reach it.
        """
        if cut.kind == "timeout":
            return replace(cut, number=self.request.limits.timeout)
        if cut.kind in ("depth", "max-states"):
            symbol = self.model.symbols[0]
            return replace(cut, constant=f"{symbol.path} = {show(value, symbol.type)}")
        return cut


class Notes:
    """Collects the observations of a search with terms.

    If different terms in a field have equal values, the search would merge or separate states
    wrongly, so `Coincidence` ends it immediately. A refused operation ends the search with
    `Rejected`.
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
        """Records an observation; see `spec.semantics.concrete.Observer`."""
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
    """Returns the first `MAX_RANGES` ranges, and whether these are all."""
    first = tuple(islice(ranges, MAX_RANGES))
    return first, next(ranges, None) is None


def _meets(model: Model, before: int) -> bool:
    """Checks whether a value satisfies the condition of its constant or leaves it undefined. The
    first ``before`` assumptions are about other constants.
    """
    try:
        return all(
            evaluate_constant(assumption.condition) for assumption in model.assumptions[before:]
        )
    except EvaluationError:
        return True


def in_short(outcome: Outcome) -> tuple[object, ...]:
    """Returns the part of an outcome that searches for similar values have in common."""
    findings = tuple((f.verdict, f.property, f.depth, f.site) for f in outcome.findings)
    counts = outcome.statistics
    return outcome.verdict, findings, counts.levels, counts.transitions, counts.generated
