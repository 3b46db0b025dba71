"""Combines all changes to a spec in one program, so that each check is compiled only once.

One more search for each check finds out which changes cannot affect it.
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
"""A search that stopped at a problem may have evaluated something in this number of levels after
the problem.
"""

OF_STATES = frozenset(["depth", "max-states"])
"""The limits that end a search at the same point in every run."""


@dataclass(frozen=True, slots=True)
class _Check:
    """The model of a check with all changes. ``spoken`` holds the numbers of the changes that are
    part of the model.
    """

    model: Model
    spoken: frozenset[int]


class WovenProgram:
    """A program combined with the changes ``every``, see `schemata`."""

    def __init__(self, program: Program, every: Sequence[Mutant]) -> None:
        self._schema = schema(program, every)
        self._numbers = {
            id(mutant): number for number, mutant in enumerate(self._schema.mutants, 1)
        }
        self._checks: dict[str, _Check | None] = {}
        self._families: dict[str, Family | None] = {}
        self._apart: dict[str, frozenset[int] | None] = {}

    def speaks(self, before: CheckResult, mutant: Mutant) -> bool:
        """Returns whether the model of a check includes the change. Returns True if that is
        unknown.
        """
        number, check = self._numbers.get(id(mutant)), self._check(before.job)
        return number is None or check is None or number in check.spoken

    def matters(self, before: CheckResult, mutant: Mutant, limits: Limits) -> bool:
        """Returns whether the change may affect a check.

        If it returns False, a search of the original has shown that everything that the check
        evaluates has the same value with the change.
        """
        number, title = self._numbers.get(id(mutant)), before.job.title
        if number is None or self._check(before.job) is None:
            return True
        if title not in self._apart:
            self._apart[title] = self._observed(before, limits)
        apart = self._apart[title]
        return apart is None or number in apart

    def outcome(self, before: CheckResult, mutant: Mutant, limits: Limits) -> Outcome | None:
        """Returns the outcome of a check with the change. Returns None if the combined program
        cannot be used for this change.
        """
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
        """Returns the numbers of the changes that may affect a check, or None if they are
        unknown.
        """
        job, check = before.job, self._checks[before.job.title]
        assert check is not None
        engine = engines.load(job.engine)
        if (
            not engines.visits_states(job.engine)
            or isinstance(engine, OnCluster)
            or any(prop.abstract is not None for prop in check.model.properties)
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
            # States at a limit or outside a constraint are examined but not expanded.
            return None
        return watch.apart(outcome.coverage.marks)


def _wider(request: Request, before: CheckResult) -> Request | None:
    """Returns a request for a search that covers everything that a check evaluates, or None if
    there is none.

    A search that stops at a problem may have evaluated `enabled` in states that were not expanded.
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
    limit = request.limits.depth
    within = replace(request.limits, depth=depth if limit is None else min(depth, limit))
    return replace(request, keep_going=True, limits=within)


def _asks_what_is_enabled(model: Model) -> bool:
    bodies = tuple(prop.body for prop in model.properties)
    return any(isinstance(node, Enabled) for node in walk(bodies))
