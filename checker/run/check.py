"""One check: build its model, run an engine, compare what was found with what was expected.

It does not print, and it does not know how a search works or how a report looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import assert_never

from fencepost.checker import engines
from fencepost.checker.engines import ENGINES
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.regions import search as regions
from fencepost.checker.request import (
    Cluster,
    Engine,
    Limits,
    Observing,
    OnCluster,
    Progress,
    Solving,
    Translation,
    Unsupported,
)
from fencepost.checker.resources import processors
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import show
from fencepost.spec.elaborate.program import Check, Program, build, select
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

DEFAULT_ENGINE = next(iter(ENGINES))
LATE = "F046"
"""The code of a problem that is no mistake: the time was over before a spec was read."""
MOST_WRONG = 4
"""So many wrong counts are told."""


_SOLVER = ("--solver-timeout", "--dump-smt2")
_CROSS = "--cross-check"
BOUNDED = "bmc"
"""The engine that finds problems without visiting states."""
_CLUSTER = (
    "--master",
    "--partitions",
    "--spark-conf",
    "session",
    "--checkpoint",
    "--resume",
    "--save-states",
    "--ship-package",
)
FOREIGN: Mapping[str, tuple[str, ...]] = {
    "local": (*_SOLVER, "--k", *_CLUSTER),
    "interpreter": (*_SOLVER, "--k", *_CLUSTER),
    "bmc": ("--max-states", "--k", *_CLUSTER),
    "induction": ("--max-states", "--depth", _CROSS, *_CLUSTER),
    "spark": (*_SOLVER, "--k", "--workers", "--memory"),
}
"""For each engine, the options that would change nothing."""


class Exit(IntEnum):
    """Exit codes of the command (docs/ci.md)."""

    OK = 0
    INCONCLUSIVE = 3
    NOT_FOUND = 4
    ASSUMPTION = 10
    DEADLOCK = 11
    INVARIANT = 12
    STEP_INVARIANT = 13
    ASSERTION = 14
    EVALUATION = 75
    REJECTED = 150
    USAGE = 151
    INTERNAL = 255


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for, whatever the check; None and empty mean "as the check says".

    ``cluster`` is what an engine is asked that runs on one. ``cross_check``: the engines that run
    the check too (see `cross`; None: none, empty: one of another kind).
    """

    overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    invariants: tuple[str, ...] = ()
    engine: str | None = None
    limits: Limits = field(default_factory=Limits)
    keep_going: bool = False
    cluster: Cluster | None = None
    cross_check: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A check that is ready to run. Of its limits, the number of workers is never None."""

    program: Program
    check: Check
    model: Model
    engine: str
    properties: frozenset[int]
    deadlock: bool
    limits: Limits
    settings: Settings

    @property
    def title(self) -> str:
        """The name of the check; of the spec, where the check has none."""
        return self.check.name or Path(self.program.path).name

    @property
    def workers(self) -> int:
        """How many workers search."""
        return self.limits.workers or 1


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of a check.

    ``explanation`` says, in a sentence, why it is not as expected; None when it is.
    """

    job: Job
    outcome: Outcome
    explanation: str | None
    exit: Exit

    @property
    def as_expected(self) -> bool:
        return self.explanation is None

    @property
    def finding(self) -> Finding | None:
        """The problem to report, if any."""
        return self.outcome.findings[0] if self.outcome.findings else None


def prepare(program: Program, check: Check, settings: Settings) -> Job:
    """Everything that can be refused before the search; raises `Rejected`."""
    engine = settings.engine or check.engine or DEFAULT_ENGINE
    if engine not in ENGINES:
        raise Rejected([_unknown_engine(engine)])
    model = build(program, check, settings.overrides)
    _refuse_foreign(engine, settings)
    _refuse_others(engine, settings.cross_check)
    limits = settings.limits
    if limits.depth is None:
        limits = replace(limits, depth=check.within if check.depth is None else check.depth)
    if engine == "bmc" and limits.depth is None:
        raise Rejected([_no_depth(check)])
    loaded = engines.load(engine)
    limits = replace(limits, workers=_workers(loaded, limits.workers))
    properties = select(model, check, settings.invariants)
    if model.symbols and isinstance(loaded, Observing):
        refused = regions.problems(model, properties)
        if refused:
            raise Rejected(refused)
        _refuse_folders(model, settings.cluster or Cluster())
    return Job(
        program=program,
        check=check,
        model=model,
        engine=engine,
        properties=properties,
        deadlock=check.verdict != "violated",
        limits=limits,
        settings=settings,
    )


def _refuse_foreign(engine: str, settings: Settings) -> None:
    """Raises `Rejected` for a limit or an option that the engine would not heed."""
    limits, cluster = settings.limits, settings.cluster or Cluster()
    solving, default = limits.solving, Solving()
    given = {
        "--max-states": limits.max_states is not None,
        "--depth": limits.depth is not None,
        "--solver-timeout": solving.seconds is not None,
        "--dump-smt2": solving.record,
        "--k": solving.k != default.k,
        "--workers": limits.workers is not None,
        "--memory": limits.memory is not None,
        "--master": cluster.master is not None,
        "--partitions": cluster.partitions is not None,
        "--spark-conf": bool(cluster.settings),
        "session": cluster.session is not None,
        "--checkpoint": cluster.checkpoint is not None,
        "--resume": cluster.resume is not None,
        "--save-states": cluster.states is not None,
        "--ship-package": cluster.ship,
        _CROSS: settings.cross_check is not None,
    }
    heeded: set[str] = set()
    for name in others(engine, settings.cross_check):
        heeded.update({"spark": _CLUSTER, BOUNDED: _SOLVER}.get(name, ()))
    foreign = [name for name in FOREIGN[engine] if given[name] and name not in heeded]
    if foreign:
        what = f"{foreign[0]} means nothing to the engine {engine}"
        heeding = [name for name in ENGINES if foreign[0] not in FOREIGN[name]]
        engines_ = "engine" if len(heeding) == 1 else "engines"
        notes = ((None, f"{foreign[0]} is for the {engines_} {listing(heeding, 'and')}"),)
        raise Rejected([Problem("F032", None, what, notes)])


def others(engine: str, asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """The engines that run a check besides its own; ``asked`` is `Settings.cross_check`."""
    if asked is None:
        return ()
    if not asked:
        return (DEFAULT_ENGINE if engine == BOUNDED else BOUNDED,)
    return tuple(name for name in dict.fromkeys(asked) if name != engine)


def _refuse_others(engine: str, asked: tuple[str, ...] | None) -> None:
    """Raises `Rejected` for engines that a check cannot be compared by."""
    for name in asked or ():
        if name not in ENGINES:
            raise Rejected([_unknown_engine(name)])
        if _CROSS in FOREIGN[name]:
            what = f"{_CROSS}={name}: the engine {name} finds nothing that others find"
            able = [name for name in ENGINES if _CROSS not in FOREIGN[name]]
            notes = ((None, f"the engines to compare are {listing(able, 'and')}"),)
            raise Rejected([Problem("F032", None, what, notes)])
        engines.load(name)
    if asked and not others(engine, asked):
        what = f"{_CROSS}={engine}: {engine} is the engine that runs the check"
        notes = ((None, f'"{_CROSS}" alone compares it with another kind of engine'),)
        raise Rejected([Problem("F032", None, what, notes)])


def _refuse_folders(model: Model, cluster: Cluster) -> None:
    """Raises `Rejected` for a folder that is for one search: a symbolic constant takes several."""
    folders = {
        "--checkpoint": cluster.checkpoint,
        "--resume": cluster.resume,
        "--save-states": cluster.states,
    }
    for option, folder in folders.items():
        if folder is not None:
            symbol = model.symbols[0]
            what = f'{option} is for one search, and "{symbol.path}" stands for any value'
            notes = ((None, f'"--const {symbol.path}=VALUE" gives it one'),)
            raise Rejected([Problem("F037", symbol.span, what, notes)])


def _no_depth(check: Check) -> Problem:
    what = "the engine bmc searches up to a depth, and none is given"
    if check.name:
        what = f"check {check.name}: {what}"
    notes = ((None, "`--depth K`; in a check, `engine bmc, depth K` or `expect ok within K`"),)
    return Problem("F033", None, what, notes)


def _workers(engine: Engine, wanted: int | None) -> int:
    """How many workers an engine uses where the user wants so many (None: does not say)."""
    if engine.parallel:
        return wanted or processors()
    if wanted not in (None, 1):
        what = f"--workers {wanted}: the {engine.name} uses one worker"
        notes = ((None, "--engine local uses as many as it is told"),)
        raise Rejected([Problem("F031", None, what, notes)])
    return 1


def _unknown_engine(engine: str) -> Problem:
    hint = suggestion(engine, ENGINES)
    notes = ((None, f"the engines are {listing(list(ENGINES), 'and')}"),)
    return Problem("F024", None, f'there is no engine "{engine}"{hint}', notes)


def perform(job: Job, progress: Callable[[Progress], None]) -> CheckResult:
    """Runs the engine and judges the outcome. Raises `Rejected` where it cannot run the model."""
    engine = engines.load(job.engine)
    try:
        if isinstance(engine, OnCluster):
            title = f"{Path(job.program.path).stem}-{job.title}"
            engine = engine.on(replace(job.settings.cluster or Cluster(), title=title))
        if job.model.symbols and isinstance(engine, Observing):
            outcome = regions.search(
                job.model,
                regions.Search(
                    engine,
                    job.properties,
                    job.deadlock,
                    job.limits,
                    job.settings.keep_going,
                    progress,
                ),
            )
            return judge(job, outcome)
        outcome = engine.run(
            job.model,
            properties=job.properties,
            deadlock=job.deadlock,
            limits=job.limits,
            keep_going=job.settings.keep_going,
            progress=progress,
        )
    except Unsupported as unsupported:
        raise Rejected([not_supported(job.engine, unsupported)]) from None
    return judge(job, outcome)


def translate(model: Model, check: Check | None) -> tuple[str, Translation | str]:
    """What runs a check (None: the spec as it stands) unless somebody says otherwise, and what it
    makes of the model, or why it makes nothing.
    """
    name = (check.engine if check else None) or DEFAULT_ENGINE
    try:
        engine = engines.load(name)
        properties = select(model, check or Check(""))
        if model.symbols and isinstance(engine, Observing):
            model = regions.example(model, properties)
        made = engine.translation(model, properties)
    except Rejected as rejected:
        return name, rejected.problems[0].message
    except Unsupported as unsupported:
        return name, not_supported(name, unsupported).message
    workers = plural(processors(), "worker") if engine.parallel else "1 worker"
    return f"{name}, {workers}", made or "it runs the spec as it is written"


def not_supported(engine: str, unsupported: Unsupported) -> Problem:
    """What to say about a model that an engine cannot run."""
    what = f'the engine "{engine}" cannot run this: {unsupported}'
    return Problem("F807", unsupported.span, what, ((None, unsupported.instead),))


def judge(job: Job, outcome: Outcome) -> CheckResult:
    """Compares what was found with what the check expects."""
    if _within(job, outcome):
        outcome = replace(outcome, verdict=Verdict.OK)
    if outcome.verdict is Verdict.INCONCLUSIVE:
        explanation = f"expected {expected(job.check)}, but {_cut(outcome)}"
        return CheckResult(job, outcome, explanation, Exit.INCONCLUSIVE)
    if not verdict_met(job, outcome):
        return CheckResult(job, outcome, _surprise(job, outcome), exit_of(job.model, outcome))
    wrong = _wrong_counts(job, outcome)
    if wrong:
        return CheckResult(job, outcome, wrong, Exit.NOT_FOUND)
    return CheckResult(job, outcome, None, Exit.OK)


def _within(job: Job, outcome: Outcome) -> bool:
    """Whether nothing was found in as many steps as the check asks for."""
    wanted, searched = job.check.within, job.limits.depth
    if wanted is None or searched is None or outcome.verdict is not Verdict.INCONCLUSIVE:
        return False
    return searched >= wanted and outcome.limit == f"--depth {searched}"


def counts_compared(job: Job, outcome: Outcome) -> str | None:
    """None where expected counts are compared with those found, else why they are not."""
    if not job.check.counts:
        return None
    if not outcome.statistics.counted and any(what != "depth" for what, _ in job.check.counts):
        return f"the engine {job.engine} counts no states"
    if job.settings.overrides:
        return "constants were given on the command line"
    if job.settings.invariants:
        return "other properties were chosen on the command line"
    if outcome.cut is not None and outcome.findings:
        return f"the search was cut ({outcome.cut})"
    if job.settings.keep_going and outcome.findings:
        return "the search went on behind the first problem"
    return None


def expected(check: Check) -> str:
    """The verdict that a check expects, as it is written."""
    if check.within is not None:
        return f"{check.verdict} within {check.within}"
    return f"{check.verdict} {check.property}" if check.property else check.verdict


def found(model: Model, outcome: Outcome) -> str:
    """The verdict that was found, in the words of a check: ``violated A``."""
    if outcome.findings and outcome.findings[0].property is not None:
        prop = model.properties[outcome.findings[0].property]
        return f"{outcome.verdict.value} {prop.name or prop.title}"
    if outcome.verdict is Verdict.OK and outcome.limit is not None:
        return f"ok within {outcome.limit.removeprefix('--depth ')}"
    return outcome.verdict.value


def verdict_met(job: Job, outcome: Outcome) -> bool:
    """Whether the verdict is the expected one, and about the expected property."""
    check = job.check
    if outcome.verdict.value != check.verdict:
        return False
    if check.property is None:
        return True
    index = outcome.findings[0].property
    return index is not None and job.model.properties[index].name == check.property


def _cut(outcome: Outcome) -> str:
    unproved = [proof for proof in outcome.proofs if proof.reason is not None]
    if unproved:
        return "; ".join(f"{one.subject} is not proved ({one.reason})" for one in unproved)
    states = _amount(outcome)
    if outcome.limit == "interrupted":
        return f"the search was interrupted after {states}"
    return f"the search was cut by {outcome.limit or 'a limit'} after {states}"


def _amount(outcome: Outcome) -> str:
    """How much was searched: ``180 states``, or ``12 levels`` where states are not counted."""
    statistics = outcome.statistics
    if statistics.counted:
        return plural(statistics.distinct, "state")
    return plural(statistics.depth, "level")


def _surprise(job: Job, outcome: Outcome) -> str:
    check = job.check
    searched = _amount(outcome)
    if outcome.verdict is Verdict.OK:
        match check.verdict:
            case "violated":
                prop = next((p for p in job.model.properties if p.name == check.property), None)
                assert prop is not None, "the expected property is one of the model"
                unit = prop.kind.subject.value
                miss = f"no {unit} violates it: {searched} searched"
            case "deadlock":
                miss = f"every state has a successor or is terminal: {searched} searched"
            case "assertion":
                miss = f"no assertion fails: {searched} searched"
            case "error":
                miss = f"no evaluation error occurs: {searched} searched"
            case "ok":
                raise AssertionError("ok was expected and found")
            case _:
                assert_never(check.verdict)
        return f"expected {expected(check)}, but {miss}"
    return f"expected {expected(check)}, but {_sentence(job.model, outcome)}"


def _sentence(model: Model, outcome: Outcome) -> str:
    """What was found, as the second half of a sentence."""
    finding = outcome.findings[0] if outcome.findings else None
    prop = model.properties[finding.property] if finding and finding.property is not None else None
    match outcome.verdict:
        case Verdict.VIOLATED:
            return f"{prop.title} {prop.kind.broken}" if prop else "a property is violated"
        case Verdict.UNREACHED:
            return f"{prop.title} was never reached" if prop else "a reachable was never reached"
        case Verdict.DEADLOCK:
            return "the model deadlocks"
        case Verdict.ASSERTION:
            return "an assertion fails"
        case Verdict.ERROR:
            return "an evaluation error occurs"
        case Verdict.ASSUMPTION:
            return "an assumption is false"
        case Verdict.OK:
            return "no problem was found"
        case Verdict.INCONCLUSIVE:
            return "the search was not completed"
        case _:
            assert_never(outcome.verdict)


def _wrong_counts(job: Job, outcome: Outcome) -> str | None:
    if counts_compared(job, outcome) is not None:
        return None
    # How deep an explicit search goes, one by formulas need not go.
    if not outcome.statistics.counted and not outcome.findings:
        return None
    wrong: dict[str, None] = {}
    for one, where in _counted(job, outcome):
        figures = {
            "states": one.statistics.distinct,
            "generated": one.statistics.generated,
            "depth": one.statistics.depth,
        }
        for what, wanted in job.check.counts:
            if figures[what] != wanted:
                wrong[f"expected {what} == {wanted}, but found {figures[what]}{where}"] = None
    return "; ".join(list(wrong)[:MOST_WRONG]) or None


def _counted(job: Job, outcome: Outcome) -> Iterator[tuple[Outcome, str]]:
    """The outcomes whose counts are expected ones, and what to say of each: of a search by regions
    that with the problem, else those of all regions.
    """
    if not outcome.regions:
        yield outcome, ""
        return
    symbol = job.model.symbols[0]
    reported = outcome.findings[0].constants if outcome.findings else ()
    for region in outcome.regions:
        if not reported or region.value == reported[0].value:
            yield region.outcome, f" with {symbol.path} = {show(region.value, symbol.type)}"


def exit_of(model: Model, outcome: Outcome) -> Exit:
    """The code that describes an outcome which is not the expected one."""
    match outcome.verdict:
        case Verdict.OK | Verdict.UNREACHED:
            return Exit.NOT_FOUND
        case Verdict.VIOLATED:
            index = outcome.findings[0].property if outcome.findings else None
            of_states = index is None or model.properties[index].kind.of_states
            return Exit.INVARIANT if of_states else Exit.STEP_INVARIANT
        case Verdict.DEADLOCK:
            return Exit.DEADLOCK
        case Verdict.ASSERTION:
            return Exit.ASSERTION
        case Verdict.ERROR:
            return Exit.EVALUATION
        case Verdict.ASSUMPTION:
            return Exit.ASSUMPTION
        case Verdict.INCONCLUSIVE:
            return Exit.INCONCLUSIVE
        case _:
            assert_never(outcome.verdict)


def exit_code(results: Sequence[CheckResult], problems: Sequence[Problem] = ()) -> Exit:
    """The code of a whole run: refusals win, then the first check that is not as expected."""
    errors = [problem.code for problem in problems if not problem.warning]
    if any(code.startswith("F0") and code != LATE for code in errors):
        return Exit.USAGE
    if any(code != LATE for code in errors):
        return Exit.REJECTED
    undecided = Exit.INCONCLUSIVE if errors else Exit.OK
    return next((result.exit for result in results if not result.as_expected), undecided)


def runner(job: Job) -> str:
    """What runs a check: ``local, 2 workers``, ``interpreter``."""
    if not engines.load(job.engine).parallel:
        return job.engine
    return f"{job.engine}, {plural(job.workers, 'worker')}"


def runners(results: Sequence[CheckResult]) -> str:
    """What ran some checks, for those who want to run them again: with versions of libraries."""
    names: dict[str, None] = {}
    for result in results:
        library = engines.load(result.job.engine).library
        name = f"engine {runner(result.job)}"
        names[f"{name}, {library}" if library else name] = None
    return ", ".join(names)


def plural(count: int, noun: str) -> str:
    """``1 state``, ``180 states``; thousands are set apart."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
