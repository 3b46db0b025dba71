"""Searches the states of a TLA+ module with machine code.

The evaluator visits the first states, and the types of the variables are inferred from them. The
module is lowered to a model of the core for these types, and the engine ``local`` searches it. If a
value is outside of the bounds that a type assumes, the search begins again with wider bounds. The
evaluator follows every trace, so that it confirms every problem.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise

from fencepost.checker.evaluator.alias import with_alias
from fencepost.checker.evaluator.liveness import finding as explained_lasso
from fencepost.checker.evaluator.liveness import recorder_for
from fencepost.checker.evaluator.model import TlaModel
from fencepost.checker.evaluator.runner import TlaRunner
from fencepost.checker.evaluator.search import (
    answer_module,
    before_search,
    searched,
    with_calls,
    with_postcondition,
    without_search,
)
from fencepost.checker.native.search import ENGINE as LOCAL
from fencepost.checker.outcome import Fact, Finding, Limit, Outcome, Step, Stuck, Trace, Verdict
from fencepost.checker.request import Request, Translation, Unsupported
from fencepost.checker.search.account import Account
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.temporal.lasso import Lasso, violates
from fencepost.checker.temporal.pairs import Pairs
from fencepost.spec.core.ir import BOOL, Fairness, Literal, Model, Property, Site
from fencepost.spec.core.open_ranges import Range, exceeds_64_bits, widened
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure, Reason
from fencepost.spec.text.problem import listing
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.inference.kinds import NEVER, Kind, NotLowered
from fencepost.spec.tla.lowering.model import InitialNotLowered, Lowered, Wanted, lowered, seen
from fencepost.spec.tla.standard.rows import record
from fencepost.spec.tla.values.kinds import Value

MAX_STATES, MAX_SECONDS = 2_000, 0.5
"""The maximum number of states that the evaluator visits before the search, and the maximum
time.
"""
OTHER = '"--engine evaluator"'
"""The engine that a message recommends."""
MIN_SECONDS = 2.0
"""The minimum processor time of a search whose report has the share of the evaluator."""
TRUTH = Literal(BOOL, True)
MAX_NAMED = 3
"""The maximum number of tables that a note names."""
MAX_LISTED = 2_000
"""The initial condition is lowered if there are more initial states than this."""
MAX_INITIAL_SECONDS = 60.0
"""The maximum time for the initial states, which the evaluator computes."""


class Compiled:
    """The engine that this module implements."""

    name = "compiled"
    library = LOCAL.library

    def obstacle(self) -> str | None:
        return LOCAL.obstacle()

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        return None

    def run(self, request: Request) -> Outcome:
        try:
            return answer_module(request, _searched)
        except NotLowered as reason:
            message = f"it does not compile the module, since {reason}"
            raise Unsupported(message, reason.span, f"{OTHER} runs it") from None


ENGINE = Compiled()


@dataclass(frozen=True, slots=True)
class Scouted:
    """The states that the evaluator visited. ``levels`` are the sizes of the complete levels.
    ``initial`` are all initial states, or None if there are many.
    """

    initial: tuple[State, ...] | None
    states: tuple[State, ...]
    levels: tuple[int, ...]


class _TooLong(Exception):
    """The evaluation of initial states takes too long."""


class Unconfirmed(Exception):
    """Raised for a problem that the evaluator does not confirm."""


def _searched(request: Request, model: TlaModel) -> Outcome:
    account = Account(request)
    decided_before = without_search(model, account)
    if decided_before is not None:
        return decided_before
    specification: Specification = model.specification
    _refuse(request, model)
    runner, clock = TlaRunner(model), _Clock()
    wanted, fairness = _wanted(request, model)
    scouted, first = _prepared(request, runner, wanted, fairness, clock)
    if scouted is None or first is None:
        # The evaluator reports the problem of an initial state without a search.
        return searched(request, model)
    initial = scouted.initial and [model.values(state) for state in scouted.initial]
    evaluated = frozenset(
        number
        for number, item in enumerate(wanted)
        if item.condition is not None or (item.property.formula and number in request.properties)
    )
    restarts, limit = 0, request.limits.timeout
    result = first
    while True:
        limits = request.limits
        if limit is not None:
            limits = replace(limits, timeout=max(limit - account.elapsed, 0.001))
        inner = replace(
            request, model=result.model, properties=evaluated, limits=limits, named=None
        )
        with clock.elsewhere():
            outcome = LOCAL.run(inner)
        left = [f.site for f in outcome.findings if f.site and f.site.leaves is not None]
        if not left:
            break
        restarts += 1
        if outcome.interrupted or (limit is not None and account.elapsed >= limit):
            cut = outcome.cut if outcome.interrupted else Limit("timeout", limit)
            outcome = replace(outcome, verdict=Verdict.INCONCLUSIVE, findings=(), cut=cut)
            break
        ranges = _wider(result.model, left)
        with clock.elsewhere():
            result = lowered(specification, result.kinds, ranges, initial, wanted, fairness)
        clock.other -= result.seconds
    try:
        outcome = _as_module(outcome, request, runner, result)
    except Unconfirmed as reason:
        if not specification.action_constraints:
            raise Unsupported(
                str(reason), None, f"{OTHER} decides it; please report this"
            ) from None
        # The problem is one of a state that is not kept.
        return _handed_over(request, model, account)
    _compare_levels(outcome, scouted)
    specification.universe.runtime.statistic = partial(_statistic, model, outcome)
    outcome = with_alias(with_postcondition(outcome, runner, list), model)
    notes = [*outcome.notes, *specification.notes]
    notes += _notes_on_tables(result)
    if restarts:
        times = "once" if restarts == 1 else f"{restarts} times"
        notes.append(Fact(f"The search began again {times}, with wider types of variables."))
    notes += clock.notes()
    statistics = replace(outcome.statistics, seconds=account.elapsed)
    return replace(outcome, statistics=statistics, notes=tuple(notes))


class _Clock:
    """Measures the processor time of the evaluator."""

    def __init__(self) -> None:
        self.began = time.process_time()
        self.other = 0.0

    @contextmanager
    def elsewhere(self) -> Generator[None]:
        """Measures work that is not the evaluator's."""
        began = time.process_time()
        yield
        self.other += time.process_time() - began

    def notes(self) -> Iterator[str]:
        """Yields a note, unless the search is short."""
        total = time.process_time() - self.began
        if total >= MIN_SECONDS:
            share = 1 - self.other / total
            yield Fact(f"The evaluator took {share:.0%} of {total:.1f} s of processor time.")


def _notes_on_tables(result: Lowered) -> Iterator[str]:
    """Yields a note on the largest tables."""
    largest = sorted(result.tables, key=lambda table: -table[1])[:MAX_NAMED]
    if largest:
        total = sum(entries for _, entries in result.tables)
        places = listing(
            [f"{s.source.name}:{s.line} ({entries:,} entries)" for s, entries in largest], "and"
        )
        yield Fact(
            f"Tables with {total:,} entries, which the evaluator filled, replace expressions; the "
            f"largest are those of {places}."
        )


def _refuse(request: Request, model: TlaModel) -> None:
    """Raises `Unsupported` for what the engine does not do."""
    specification: Specification = model.specification
    instead = f"{OTHER} does"
    view = specification.view
    if view is not None:
        raise Unsupported(f"it does not support VIEW {view.name}", view.span, instead)
    if specification.permutations:
        word = specification.config.word("SYMMETRY")
        span = None if word is None else word.span
        raise Unsupported("it does not support SYMMETRY", span, instead)
    if splitting := specification.compiler.splitting:
        message = (
            "it does not take steps by the disjuncts and witnesses in a function that is applied"
        )
        raise Unsupported(message, splitting[0], instead)


def _handed_over(request: Request, model: TlaModel, account: Account) -> Outcome:
    """Lets the evaluator search the module, since it has a problem that the lowered model does not
    show.
    """
    limits = request.limits
    if limits.timeout is not None:
        limits = replace(limits, timeout=max(limits.timeout - account.elapsed, 0.001))
    return searched(replace(request, limits=limits), model)


def _begins_well(request: Request, runner: TlaRunner, scouted: Scouted) -> bool:
    """Returns whether the initial states satisfy the conditions on initial states."""
    numbers = [n for n in request.properties if runner.tla.properties[n].kind.of_initial_states]
    try:
        return all(runner.holds(number, s) for number in numbers for s in scouted.initial or ())
    except EvaluationError:
        return False


def _statistic(model: TlaModel, outcome: Outcome, name: str) -> Value:
    """Returns the value of TLCGet for a name after a complete search."""
    statistics, universe = outcome.statistics, model.specification.universe
    values = {
        "level": statistics.depth,
        "diameter": statistics.depth,
        "distinct": statistics.distinct,
        "generated": statistics.generated,
        "queue": 0,
        "duration": int(statistics.seconds),
    }
    if name == "stats":
        names = ("diameter", "distinct", "duration", "generated", "queue")
        return record(universe, {name: values[name] for name in names})
    if name in values:
        return values[name]
    return before_search(universe, model.checks_deadlock, name)


def _prepared(
    request: Request,
    runner: TlaRunner,
    wanted: Sequence[Wanted],
    fairness: Sequence[Fairness],
    clock: _Clock,
) -> tuple[Scouted | None, Lowered | None]:
    """Visits the first states, and lowers the module. The evaluator computes the initial states if
    there are few, or if the initial condition has no form in the core. Returns None if there is a
    problem with the initial states. Raises `NotLowered`.
    """
    model, specification = runner.tla, runner.specification
    for most in (MAX_LISTED, None):
        scouted = _scouted(runner, most)
        if scouted is None or not _begins_well(request, runner, scouted):
            return None, None
        initial = scouted.initial and [model.values(state) for state in scouted.initial]
        try:
            kinds: list[Kind] = [NEVER] * len(model.variables)
            if scouted.states:
                kinds = seen(specification, [model.values(state) for state in scouted.states])
            with clock.elsewhere():
                result = lowered(specification, kinds, {}, initial, wanted, fairness)
            clock.other -= result.seconds
            return scouted, result
        except InitialNotLowered:
            if scouted.initial is not None:
                raise
    raise AssertionError


def _scouted(runner: TlaRunner, most: int | None) -> Scouted | None:
    """Visits the first states, level by level. All initial states are included, unless there are
    more than ``most``. Returns None if the evaluation of an initial state fails.
    """
    model = runner.tla
    conditions = any(prop.kind.of_initial_states for prop in model.properties)
    most = None if conditions else most
    runner.most_initial = most and most + 1
    initial: list[State] = []
    try:
        with raised_after(MAX_SECONDS if most else MAX_INITIAL_SECONDS, _TooLong):
            for step in runner.initial():
                if step.failure is not None or step.state is None:
                    return None
                initial.append(step.state)
    except _TooLong:
        if most is None:
            raise NotLowered("the initial states take too long") from None
        return Scouted(None, (), ())
    listed: tuple[State, ...] | None = tuple(initial)
    if most is not None and len(initial) > most:
        listed = None
    end = time.monotonic() + MAX_SECONDS
    constraints = model.searched(()).constraints
    visited = dict.fromkeys(initial)
    level, levels = [*visited], list[int]()
    while level:
        inside = [state for state in level if _inside(runner, constraints, state)]
        levels.append(len(inside))
        following: dict[State, None] = {}
        for state in inside:
            for _, after in runner.steps(state):
                if isinstance(after, Failure) or after in visited:
                    continue
                if runner.is_taken(state, after):
                    following[after] = None
                    visited[after] = None
            if len(visited) > MAX_STATES or time.monotonic() > end:
                return Scouted(listed, tuple(visited), tuple(levels) if listed else ())
        level = [*following]
    return Scouted(listed, tuple(visited), tuple(levels) if listed else ())


def _inside(runner: TlaRunner, constraints: Sequence[int], state: State) -> bool:
    try:
        return all(runner.holds(number, state) for number in constraints)
    except EvaluationError:
        return True


def _wanted(request: Request, model: TlaModel) -> tuple[list[Wanted], list[Fairness]]:
    """Returns the properties of the lowered model, and its fairness constraints. The predicates of
    these follow the properties of the module.
    """
    searched = model.searched(request.properties)
    every = set(searched.every)
    result: list[Wanted] = []
    for number, prop in enumerate(model.properties):
        evaluated = number in every and not prop.kind.of_initial_states
        condition = model.conditions[number] if evaluated else None
        if model.is_of_steps(number):
            prop = Property("", PropertyKind.STEP_PREDICATE, TRUTH, prop.span)
        result.append(Wanted(prop, condition))
    fairness: list[Fairness] = []
    for constraint, fair in zip(model.fairness, model.fair, strict=True):
        if searched.behaviours:
            fairness.append(replace(constraint, pair=(len(result), len(result) + 1)))
            enabled = Property("", PropertyKind.PREDICATE, TRUTH, fair.span)
            taken = Property("", PropertyKind.STEP_PREDICATE, TRUTH, fair.span)
            result += [Wanted(enabled, fair.enabled), Wanted(taken, fair.taken)]
    return result, fairness


def _wider(model: Model, left: Sequence[Site]) -> dict[str, Range]:
    """Returns wider ranges than a model assumes, after values left them at some sites."""
    ranges = {item.key: (item.low, item.high) for item in model.open_ranges}
    for site in left:
        assert site.leaves is not None
        key = model.open_ranges[site.leaves].key
        low, high = ranges[key]
        ranges[key] = widened((low, high), high + 1 if site.above else low - 1)
        if exceeds_64_bits(*ranges[key]):
            raise NotLowered("a number needs more than 64 bits")
    return ranges


# ---------------------------------------------------------------- results


def _as_module(outcome: Outcome, request: Request, runner: TlaRunner, result: Lowered) -> Outcome:
    """Returns the outcome of a search of the lowered model as one of the module."""
    model, specification = runner.tla, runner.specification
    actions = specification.actions
    taken = [0] * len(model.actions)
    for label, count in zip(result.labels, outcome.coverage.taken, strict=True):
        taken[actions.index(label) if label in actions else 0] += count
    # As in TLC, a state whose steps change nothing is not worth a remark: many modules end so.
    stuck = Stuck(0, None)
    coverage = replace(
        outcome.coverage, taken=tuple(taken), marks=frozenset(), blocked={}, stuck=stuck
    )
    findings = tuple(_confirmed(finding, request, runner, result) for finding in outcome.findings)
    outcome = replace(outcome, coverage=coverage, findings=findings, growth=None)
    return with_calls(outcome, specification)


def _states_of(trace: Trace, runner: TlaRunner, result: Lowered) -> list[State]:
    """Returns the states of a trace as states of the module."""
    return [
        _as_values(runner.tla, result.values(step.state))
        for step in trace.steps
        if step.state is not None
    ]


def _followed(trace: Trace, runner: TlaRunner, result: Lowered) -> list[Step] | None:
    """Returns the steps that the evaluator takes through the states of a trace, or None if it
    cannot.
    """
    states = _states_of(trace, runner, result)
    if not states or not runner.specification.is_initial(runner.tla.values(states[0])):
        return None
    steps = [Step(None, (), states[0])]
    for earlier, later in pairwise(states):
        taken = next((s for s in runner.successors(earlier) if s.state == later), None)
        if taken is None:
            return None
        steps.append(Step(taken.action, taken.choices, taken.state))
    return steps


def _confirmed(finding: Finding, request: Request, runner: TlaRunner, result: Lowered) -> Finding:
    """Returns a finding with the trace that the evaluator takes. Raises `Unconfirmed`."""
    assert finding.trace is not None
    if finding.trace.loop is not None:
        states = _states_of(finding.trace, runner, result)
        if not runner.specification.is_initial(runner.tla.values(states[0])):
            raise _unconfirmed(finding)
        return _confirmed_lasso(finding, request, runner, states)
    steps = _followed(finding.trace, runner, result)
    if steps is None:
        raise _unconfirmed(finding)
    failed = finding.trace.steps[-1].state is None
    states = [step.state for step in steps if step.state is not None]
    last = states[-1]
    before = states[-2] if len(states) > 1 else None
    site: int | None = None
    why = Reason((), None)
    if failed:
        failure = next((s for s in runner.successors(last) if s.failure is not None), None)
        if failure is None or failure.failure is None:
            raise _unconfirmed(finding)
        steps.append(Step(failure.action, failure.choices, None))
        site = failure.failure.site
    elif finding.verdict is Verdict.DEADLOCK:
        if any(True for _ in runner.successors(last)):
            raise _unconfirmed(finding)
    elif finding.verdict is Verdict.VIOLATED:
        assert finding.property is not None
        kind = runner.tla.properties[finding.property].kind
        if runner.holds(finding.property, *kind.place(before, last)):
            raise _unconfirmed(finding)
        why = runner.reason(finding.property, *kind.place(before, last))
    else:
        site = _failing_property(request, runner, before, last)
        if site is None:
            raise _unconfirmed(finding)
    return replace(
        finding,
        trace=Trace(tuple(steps)),
        site=None if site is None else runner.tla.sites[site],
        instance=why.instance,
        failing=why.failing,
        read=why.read,
        blocked=(),
    )


def _confirmed_lasso(
    finding: Finding, request: Request, runner: TlaRunner, states: Sequence[State]
) -> Finding:
    """Returns the finding for a behaviour with the explanation of the evaluator. Raises
    `Unconfirmed`.
    """
    assert finding.trace is not None
    assert finding.property is not None
    recorder = recorder_for(runner, runner.tla, request)
    assert recorder is not None
    # The states of the lasso are expanded when they are needed.
    recorder.merged = True
    loop = finding.trace.loop
    assert loop is not None
    pairs: list[State] = []
    for state, after in pairwise(states):
        steps = recorder.steps(state)
        if after not in steps:
            raise _unconfirmed(finding)
        pairs.append((*state, steps[after][1]))
    # A behaviour without a cycle stays in its last state forever.
    has_cycle = loop < len(states) - 1
    pairs.append(pairs[loop - 1] if has_cycle else (*states[-1], 0))
    end = loop if has_cycle else len(pairs)
    lasso, graph = Lasso(tuple(pairs[:end]), tuple(pairs[end:])), Pairs(recorder)
    formula = runner.tla.properties[finding.property].formula
    assert formula is not None
    begins = runner.specification.is_initial(runner.tla.values(states[0]))
    genuine = begins and pairs[-1][:-1] == states[-1]
    if not genuine or not violates(graph, formula, lasso):
        raise _unconfirmed(finding)
    explained = explained_lasso(recorder, graph, finding.property, lasso)
    if explained is None:
        raise _unconfirmed(finding)
    return explained


def _failing_property(
    request: Request, runner: TlaRunner, before: State | None, last: State
) -> int | None:
    """Returns the site of the first condition that has no value at the end of a path."""
    model = runner.tla
    searched = model.searched(request.properties)
    tests: list[Callable[[], bool]] = []
    for number in searched.every:
        if model.is_of_steps(number):
            if before is not None:
                tests.append(partial(runner.holds, number, before, last))
        elif not model.properties[number].kind.of_steps or before is not None:
            arguments = model.properties[number].kind.place(before, last)
            tests.append(partial(runner.holds, number, *arguments))
    for number in range(len(model.fair) if searched.behaviours else 0):
        tests.append(partial(runner.is_enabled, number, last))
        if before is not None:
            tests.append(partial(runner.is_fair_step, number, before, last))
    for test in tests:
        try:
            test()
        except EvaluationError as error:
            return error.site
    return None


def _as_values(model: TlaModel, values: Sequence[Value]) -> State:
    normalise = model.specification.universe.normalise
    return tuple(model.table.number(normalise(value)) for value in values)


def _unconfirmed(finding: Finding) -> Unconfirmed:
    return Unconfirmed(
        f"it found a problem ({finding.verdict.value}) that the evaluator does not confirm"
    )


def _compare_levels(outcome: Outcome, scouted: Scouted) -> None:
    """Compares the sizes of the first levels with those that the evaluator found. Raises
    `Unsupported` if they differ.
    """
    sizes = outcome.statistics.levels
    last = len(sizes) - 1 if outcome.findings or outcome.cut else len(sizes)
    for number, (expected, actual) in enumerate(zip(scouted.levels, sizes[:last], strict=False), 1):
        if expected != actual:
            message = f"its level {number} has {actual} states, and the evaluator's {expected}"
            raise Unsupported(message, None, f"{OTHER} decides it; please report this")
