"""All changes of a spec in one program, of which each check is translated once.

With one search more it knows which changes cannot matter to a check. It does not know which changes
are tried, nor what becomes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.checker import engines
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Family, Limits, OnCluster, Request, Unsupported, ignored
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult
from fencepost.spec.core.ir import Enabled, Model
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.claims.program import Program, build
from fencepost.spec.mutation.mutants import Mutant
from fencepost.spec.mutation.schemata import observed, schema, told_apart
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected

BEYOND = 2
"""Levels behind a problem in which a search that stopped at it may have evaluated something."""

OF_STATES = frozenset(["depth", "max-states"])
"""The limits at which a search ends in the same place each time."""


@dataclass(frozen=True, slots=True)
class _Check:
    """The model of a check with all changes, and the numbers of those that it speaks of."""

    model: Model
    spoken: frozenset[int]


class Woven:
    """The changes ``every`` of a program; see `schemata`."""

    def __init__(self, program: Program, every: Sequence[Mutant]) -> None:
        self._schema = schema(program, every)
        self._numbers = {id(one): place for place, one in enumerate(self._schema.mutants, 1)}
        self._checks: dict[str, _Check | None] = {}
        self._families: dict[str, Family | None] = {}
        self._apart: dict[str, frozenset[int] | None] = {}

    def speaks(self, before: CheckResult, mutant: Mutant) -> bool:
        """Whether the model of a check has the change; True where that is not known."""
        number, check = self._numbers.get(id(mutant)), self._check(before.job)
        return number is None or check is None or number in check.spoken

    def matters(self, before: CheckResult, mutant: Mutant, limits: Limits) -> bool:
        """Whether the change may make a difference to a check. Where it does not, a search of the
        spec as it is has shown that whatever the check evaluates has the same value with it.
        """
        number, title = self._numbers.get(id(mutant)), before.job.title
        if number is None or self._check(before.job) is None:
            return True
        if title not in self._apart:
            self._apart[title] = self._observed(before, limits)
        apart = self._apart[title]
        return apart is None or number in apart

    def outcome(self, before: CheckResult, mutant: Mutant, limits: Limits) -> Outcome | None:
        """What a check finds with the change; None where the change has to be made by itself."""
        number, job = self._numbers.get(id(mutant)), before.job
        if number is None or self._check(job) is None:
            return None
        if job.title not in self._families:
            self._families[job.title] = self._family(job)
        family = self._families[job.title]
        return None if family is None else family.run([number], limits)

    def _check(self, job: Job) -> _Check | None:
        if job.title not in self._checks:
            self._checks[job.title] = self._made(job)
        return self._checks[job.title]

    def _made(self, job: Job) -> _Check | None:
        if job.model.symbols or job.scenario is not None:
            return None
        try:
            model = build(self._schema.program, job.check, job.settings.overrides)
        except Rejected:
            return None
        return _Check(model, told_apart(model))

    def _family(self, job: Job) -> Family | None:
        check = self._checks[job.title]
        assert check is not None
        request = replace(job.request(ignored), model=check.model, keep_going=False)
        try:
            return engines.family(job.engine, request)
        except Unsupported:
            return None

    def _observed(self, before: CheckResult, limits: Limits) -> frozenset[int] | None:
        """The changes that may make a difference to a check; None: that is not known."""
        job, check = before.job, self._checks[before.job.title]
        assert check is not None
        engine = engines.load(job.engine)
        if (
            not engines.visits_states(job.engine)
            or isinstance(engine, OnCluster)
            or any(one.abstract is not None for one in check.model.properties)
        ):
            return None
        watch = observed(check.model)
        request = _wider(replace(job.request(ignored), model=watch.model, limits=limits), before)
        try:
            outcome = None if request is None else engine.run(request)
        except Unsupported:
            return None
        if outcome is None or (outcome.cut is not None and outcome.cut.kind not in OF_STATES):
            return None
        if (outcome.cut or outcome.coverage.cut) and _asks_what_is_enabled(job.model):
            # States at a limit and outside a constraint are looked at, and no step from them is.
            return None
        return watch.apart(outcome.coverage.marks)


def _wider(request: Request, before: CheckResult) -> Request | None:
    """A request for a search of all that a check evaluates; None: there is none.

    Of a search that stops at a problem, properties may have asked what is enabled in states from
    which no step was made.
    """
    job, verdict = before.job, before.outcome.verdict
    if verdict in (Verdict.OK, Verdict.UNREACHED):
        return replace(request, keep_going=False)
    if verdict not in (Verdict.VIOLATED, Verdict.DEADLOCK):
        return None
    first = before.outcome.findings[0]
    if first.property is not None and job.model.properties[first.property].kind.of_behaviours:
        return replace(request, keep_going=False)
    depth = first.depth + BEYOND
    given = request.limits.depth
    within = replace(request.limits, depth=depth if given is None else min(depth, given))
    return replace(request, keep_going=True, limits=within)


def _asks_what_is_enabled(model: Model) -> bool:
    bodies = tuple(one.body for one in model.properties)
    return any(isinstance(node, Enabled) for node in walk(bodies))
