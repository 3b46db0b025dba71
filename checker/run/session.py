"""A whole run: which specs and checks are meant, everything refused first, then one by one.

The command and the Python interface share it. It does not print.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fencepost.checker import engines
from fencepost.checker.request import CannotRun, Progress
from fencepost.checker.run import processes
from fencepost.checker.run.check import by_visits, load, on_cluster, perform, prepare
from fencepost.checker.run.cross_check import cross_checked
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import LATE, UNCHECKED, CheckResult
from fencepost.checker.run.kept_models import KeptModels
from fencepost.checker.run.processes import Crew, Run
from fencepost.checker.run.settings import Request, Settings
from fencepost.checker.run.words import plural
from fencepost.spec.elaborate.base.files import Trees
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.records import dataclass
from fencepost.spec.text.clock import TimeUp, limited
from fencepost.spec.text.library import is_folder, real, specs_below
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

MAX_NAMED = 10
"""Specs without checks that are named; more are counted."""


@dataclass(frozen=True, slots=True)
class SpecPlan:
    """A spec, the checks of it that will run, and the names of those left for --slow."""

    program: Program
    jobs: tuple[Job, ...]
    left: tuple[str, ...]

    @property
    def path(self) -> str:
        """The spec as the user named it."""
        return str(self.program.path)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A check that its engine cannot run, and why. ``everywhere``: it runs no check here."""

    job: Job
    problems: tuple[Problem, ...]
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Performed:
    """What became of the checks of a spec, in file order: those that ended, and those that were
    not reached because of an interrupt.
    """

    ended: tuple[CheckResult | Refusal, ...]
    left: tuple[Job, ...]

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Of the checks that ran."""
        return tuple(one for one in self.ended if isinstance(one, CheckResult))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why checks did not run: each reason once, with the names of the checks."""
        names: dict[Problem, list[str]] = {}
        for one in self.ended:
            if isinstance(one, Refusal):
                for problem in one.problems:
                    names.setdefault(problem, []).extend([] if one.everywhere else [one.job.title])
        return tuple(map(_for_checks, names, names.values()))


def _for_checks(problem: Problem, names: Sequence[str]) -> Problem:
    if not names:
        return problem
    every = "check" if len(names) == 1 else "checks"
    note = (None, f"so {every} {listing(names, 'and')} did not run")
    return replace(problem, notes=(*problem.notes, note))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request asks for, resolved. Specs with a problem are not in ``specs``."""

    request: Request
    specs: tuple[SpecPlan, ...]
    problems: tuple[Problem, ...]
    unchecked: tuple[Path, ...] = ()
    """The specs without checks; see `Specs`."""
    crew: Crew | None = None
    """What runs the checks, where they run side by side; it has begun. Whoever has it closes it."""


class Specs(NamedTuple):
    """The specs of a request, read and checked, every problem of those that cannot be used, and the
    specs of folders that have no check and that no other spec of the request imports.
    """

    programs: tuple[Program, ...]
    problems: tuple[Problem, ...]
    unchecked: tuple[Path, ...] = ()


def programs(request: Request) -> Specs:
    """The specs of a request. Of a folder, those that have a check; a spec that is named twice is
    taken once.
    """
    loaded: dict[Path, Program] = {}
    unchecked: dict[Path, Path] = {}
    imported: set[Path] = set()
    trees: Trees = {}
    problems = missing_folders(request.search)
    if problems:
        return Specs((), tuple(problems))
    for argument in request.specs:
        below = is_folder(argument)
        paths = specs_below(argument) if below else [argument]
        count = 0
        for path in paths:
            try:
                with in_time(path, request.settings):
                    program = load(path, request.search, trees)
            except Rejected as rejected:
                problems += rejected.problems
                count += 1
                continue
            imported |= program.files.files.keys() - {program.files.root}
            if below and not any(has_name(check) for check in program.runs):
                unchecked.setdefault(real(path), path)
                continue
            count += 1
            loaded.setdefault(real(path), program)
        if below and not count:
            what = f"{argument} holds no spec (*.fence) with a check"
            problems.append(Problem("F025", None, what))
    alone = [at for real_path, at in unchecked.items() if real_path not in imported | loaded.keys()]
    if alone and loaded:
        problems.append(_unchecked(alone, request.settings))
    return Specs(tuple(loaded.values()), tuple(problems), tuple(alone))


def _unchecked(paths: Sequence[Path], settings: Settings) -> Problem:
    verb, them = ("has", "it") if len(paths) == 1 else ("have", "them")
    what = f"{plural(len(paths), 'spec')} {verb} no check, and no other spec imports {them}"
    names = f"{', '.join(map(str, paths[:MAX_NAMED]))}{', ...' if paths[MAX_NAMED:] else ''}"
    return Problem(UNCHECKED, None, f"{what}: {names}", warning=not settings.strict)


@contextmanager
def in_time(spec: Path, settings: Settings) -> Generator[None]:
    """Meanwhile --timeout holds, as it does for a search; `Rejected` (F046) where it is over."""
    seconds = settings.limits.timeout
    try:
        with limited(seconds):
            yield
    except TimeUp:
        what = f"{spec} could not be read and checked within --timeout {seconds:g}"
        raise Rejected([Problem(LATE, None, what)]) from None


def missing_folders(search: Sequence[Path]) -> list[Problem]:
    """What is wrong with the folders of --path."""
    return [
        Problem("F029", None, f"--path {folder}: there is no such folder{_near(folder)}")
        for folder in search
        if not is_folder(folder)
    ]


def _near(folder: Path) -> str:
    try:
        beside = [
            str(folder.with_name(one.name)) for one in folder.parent.iterdir() if is_folder(one)
        ]
    except (OSError, ValueError):
        return ""
    return suggestion(str(folder), beside)


def has_name(check: Check) -> bool:
    """Whether a check is written in the spec (a spec without any has one without a name)."""
    return bool(check.name)


def plan(request: Request) -> Plan:
    """Everything but the searches; raises nothing that a user can cause."""
    return _planned(request, programs(request), None)


def begun(request: Request) -> Plan:
    """A plan of which checks already run, side by side, where there are several and there is room.
    Raises nothing that a user can cause.
    """
    found = programs(request)
    checks = [check for program in found.programs for check in chosen(request, program)[0]]
    most = min(len(checks), processes.most(request.settings, request.jobs))
    if most < 2 or any(on_cluster(request.settings, check) for check in checks):
        return _planned(request, found, None)
    crew = Crew(most, performed)
    try:
        return _planned(request, found, crew)
    except BaseException:
        crew.close()
        raise


def _planned(request: Request, found: Specs, crew: Crew | None) -> Plan:
    refused = list(found.problems)
    refused += unknown_checks(request, found.programs)
    specs: list[SpecPlan] = []
    for program in found.programs:
        jobs: list[Job] = []
        mistakes: list[Problem] = []
        checks, left = chosen(request, program)
        kept = KeptModels(program)
        for check in checks:
            try:
                with in_time(program.path, request.settings):
                    jobs.append(prepare(program, check, request.settings, kept))
            except Rejected as rejected:
                mistakes += rejected.problems
            if crew is not None:
                crew.poll()
        # A warning may say where a mistake comes from.
        refused += [*program.warnings, *mistakes] if mistakes else []
        if not mistakes and (jobs or left):
            if crew is not None:
                jobs = [_beside_others(job) for job in jobs]
                for engine in {job.engine for job in jobs if by_visits(job.model, job.properties)}:
                    engines.load_for_behaviours(engine)
                crew.add(jobs)
            specs.append(SpecPlan(program, tuple(jobs), left))
    return Plan(request, tuple(specs), Rejected(refused).problems, found.unchecked, crew)


def _beside_others(job: Job) -> Job:
    """The same check with one worker, unless the user asks for more."""
    workers = job.settings.limits.workers or 1
    return replace(job, limits=replace(job.limits, workers=workers))


def chosen(request: Request, program: Program) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """The checks of a spec that a request means, and the names of those left for --slow."""
    wanted = [c for c in program.runs if not request.checks or c.name in request.checks]
    left = [c for c in wanted if c.slow and not request.slow and c.name not in request.checks]
    return tuple(c for c in wanted if c not in left), tuple(c.name for c in left)


def unknown_checks(request: Request, found: Sequence[Program]) -> Iterator[Problem]:
    """The names of --check that no spec has."""
    known = [check.name for program in found for check in program.runs if has_name(check)]
    if not found:
        return
    for name in request.checks:
        if name not in known:
            hint = suggestion(name, known)
            have = f"there are {listing(known, 'and')}" if known else "there are no checks"
            where = f"{found[0].path} has" if len(found) == 1 else "these specs have"
            yield Problem("F023", None, f'{where} no check "{name}"{hint}', ((None, have),))


def perform_all(
    spec: SpecPlan,
    started: Callable[[Job], None],
    progress: Callable[[Progress], None],
    ended: Callable[[CheckResult | Refusal], None],
    useless: set[str],
    run: Run | None = None,
    judged: Callable[[CheckResult], CheckResult] = lambda result: result,
) -> Performed:
    """Runs the checks of a spec in file order, by ``run`` (None: here, one after the other); an
    interrupted one is the last. ``judged`` is applied to every result.

    ``useless`` are engines that turned out not to run here, which is reported once: their
    checks are passed by. More may be added.
    """
    every: list[CheckResult | Refusal] = []
    for number, job in enumerate(spec.jobs, 1):
        if job.engine in useless:
            continue
        started(job)
        one: CheckResult | Refusal = (run or performed)(job, progress)
        if isinstance(one, CheckResult):
            one = judged(one)
        elif one.everywhere:
            useless.add(job.engine)
        ended(one)
        every.append(one)
        if isinstance(one, CheckResult) and one.outcome.interrupted:
            return Performed(tuple(every), spec.jobs[number:])
    return Performed(tuple(every), ())


def performed(job: Job, progress: Callable[[Progress], None]) -> CheckResult | Refusal:
    """The result of a check; raises `Disagreement` where engines that are compared differ."""
    run = perform if job.settings.cross_check is None else cross_checked
    try:
        return run(job, progress)
    except Rejected as rejected:
        return Refusal(job, rejected.problems, isinstance(rejected, CannotRun))
