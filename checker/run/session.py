"""Plans and performs a whole run. It resolves specs and checks, refuses all errors first, and then
runs the checks.

The command and the Python interface both use this module, and it prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fencepost.checker import engines
from fencepost.checker.folders import Skipped, SpecFinder, summary
from fencepost.checker.request import CannotRun, Progress
from fencepost.checker.run import processes
from fencepost.checker.run.check import (
    by_visits,
    is_module,
    load,
    on_cluster,
    perform,
    prepare,
)
from fencepost.checker.run.cross_check import cross_checked
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import TIMEOUT_CODE, UNCHECKED, CheckResult
from fencepost.checker.run.kept_models import KeptModels
from fencepost.checker.run.processes import Crew, Run
from fencepost.checker.run.settings import Request, Settings
from fencepost.checker.run.words import plural
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.base.files import Trees
from fencepost.spec.elaborate.base.unused_names import unused
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.elaborate.claims.tautologies import tautologies
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.clock import TimeUp, limited
from fencepost.spec.text.library import MODULE_SUFFIX, SUFFIX, is_folder, real
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

_KINDS = {
    SUFFIX: "spec (*.fence) with a check",
    MODULE_SUFFIX: "TLA+ module with a configuration",
}
MAX_NAMED = 10
"""Maximum number of specs without checks that a message names."""


@dataclass(frozen=True, slots=True)
class SpecPlan:
    """A spec, the checks that will run, and the names of the checks that need --slow."""

    program: Program
    jobs: tuple[Job, ...]
    left: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of the spec, as the user wrote it."""
        return str(self.program.path)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A check that its engine cannot run, with the reasons. If ``everywhere`` is set, the engine
    cannot run any check on this machine.
    """

    job: Job
    problems: tuple[Problem, ...]
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class RefusedSpec:
    """A spec that cannot be checked, with the reasons, which may be in a module that it imports."""

    path: Path
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class SpecResults:
    """The results of the checks of a spec, in the order of the file. ``left`` holds the checks that
    were not begun because of an interrupt.
    """

    ended: tuple[CheckResult | Refusal, ...]
    left: tuple[Job, ...]

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The results of the checks that ran."""
        return tuple(result for result in self.ended if isinstance(result, CheckResult))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The reasons why checks did not run. Each reason occurs once, with the names of the checks
        that it prevented.
        """
        names: dict[Problem, list[str]] = {}
        for refusal in self.ended:
            if isinstance(refusal, Refusal):
                for problem in refusal.problems:
                    names.setdefault(problem, []).extend(
                        [] if refusal.everywhere else [refusal.job.title]
                    )
        return tuple(map(_for_checks, names, names.values()))


def _for_checks(problem: Problem, names: Sequence[str]) -> Problem:
    if not names:
        return problem
    every = "check" if len(names) == 1 else "checks"
    note = (None, f"so {every} {listing(names, 'and')} did not run")
    return replace(problem, notes=(*problem.notes, note))


@dataclass(frozen=True, slots=True)
class Plan:
    """A resolved request. ``specs`` does not include specs that have a problem. These are in
    ``refused``, and ``problems`` also includes their problems.
    """

    request: Request
    specs: tuple[SpecPlan, ...]
    problems: tuple[Problem, ...]
    refused: tuple[RefusedSpec, ...] = ()
    unchecked: tuple[Path, ...] = ()
    """The specs without checks (see `Specs`)."""
    skipped: tuple[Skipped, ...] = ()
    """The folders and specs that a folder of the request contains, but that are not checked."""
    crew: Crew | None = None
    """Runs the checks side by side and has already started, or None if they run one after another.
    The holder of the plan must close the crew.
    """


class Specs(NamedTuple):
    """The specs of a request.

    ``problems`` holds every problem, including those of the ``refused`` specs. ``unchecked`` holds
    the specs that were found in folders, have no check, and are imported by no other spec of the
    request.
    """

    programs: tuple[Program, ...]
    problems: tuple[Problem, ...]
    refused: tuple[RefusedSpec, ...] = ()
    unchecked: tuple[Path, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def programs(request: Request) -> Specs:
    """Loads the specs of a request. From a folder, only specs with a check are taken. A spec that
    is named twice is loaded once.
    """
    loaded: dict[Path, Program] = {}
    refused: dict[Path, RefusedSpec] = {}
    unchecked: dict[Path, Path] = {}
    imported: set[Path] = set()
    trees: Trees = {}
    problems = missing_folders(request.search)
    finder = spec_finder(request)
    if problems:
        return Specs((), tuple(problems))
    for argument in request.specs:
        below = is_folder(argument)
        count = 0
        if below and request.settings.configs:
            message = f"--config is for a module, but {argument} is a folder"
            problems.append(Problem("F052", None, message))
            continue
        for path in finder.specs(argument):
            try:
                with in_time(path, request.settings):
                    program = load(path, request.search, trees, request.settings.configs)
            except Rejected as rejected:
                problems += rejected.problems
                refused.setdefault(real(path), RefusedSpec(path, rejected.problems))
                count += 1
                continue
            imported |= program.files.files.keys() - {program.files.root}
            if below and not has_checks(program):
                unchecked.setdefault(real(path), path)
                continue
            count += 1
            loaded.setdefault(real(path), program)
        if below and not count:
            kinds = [_KINDS[suffix] for suffix in finder.suffixes]
            message = f"{argument} contains no {listing(kinds, 'and no')}"
            text = summary(finder.skipped)
            problems.append(Problem("F025", None, message, ((None, text),) if text else ()))
    alone = [
        path for real_path, path in unchecked.items() if real_path not in imported | loaded.keys()
    ]
    if alone and loaded:
        problems.append(_unchecked(alone, request.settings))
    problems += finder.problems
    noted = tuple(_noted(program, loaded.values()) for program in loaded.values())
    wrong = tuple(refused.values())
    return Specs(noted, tuple(problems), wrong, tuple(alone), finder.skipped)


def _noted(program: Program, others: Collection[Program]) -> Program:
    """Returns the program with notes about unused declarations among its warnings.

    A spec without checks has no such notes, because its declarations may be for specs that import
    it. Names in ``others`` count as used if these programs import the spec.
    """
    root = program.files.root
    if not any(has_name(check) for check in program.runs):
        return program
    importing = [other for other in others if other is not program and root in other.files.files]
    names = {
        node.text
        for other in importing
        for path, file in other.files.files.items()
        if path != root
        for node in walk(file.declarations)
        if isinstance(node, syntax.Name)
    }
    notes = unused(program.files.files[root], names)
    return replace(program, warnings=(*program.warnings, *notes))


def _unchecked(paths: Sequence[Path], settings: Settings) -> Problem:
    verb, them = ("has", "it") if len(paths) == 1 else ("have", "them")
    message = f"{plural(len(paths), 'spec')} {verb} no check, and no other spec imports {them}"
    names = f"{', '.join(map(str, paths[:MAX_NAMED]))}{', ...' if paths[MAX_NAMED:] else ''}"
    return Problem(UNCHECKED, None, f"{message}: {names}", warning=not settings.strict)


@contextmanager
def in_time(spec: Path, settings: Settings) -> Generator[None]:
    """Applies --timeout to the work inside. Raises `Rejected` (F046) when the time has passed."""
    seconds = settings.limits.timeout
    try:
        with limited(seconds):
            yield
    except TimeUp:
        message = f"{spec} could not be read and checked within --timeout {seconds:g}"
        raise Rejected([Problem(TIMEOUT_CODE, None, message)]) from None


def missing_folders(search: Sequence[Path]) -> list[Problem]:
    """Returns the problems with folders given by --path."""
    return [
        Problem("F029", None, f"--path {folder}: there is no such folder{_near(folder)}")
        for folder in search
        if not is_folder(folder)
    ]


def _near(folder: Path) -> str:
    try:
        siblings = [
            str(folder.with_name(sibling.name))
            for sibling in folder.parent.iterdir()
            if is_folder(sibling)
        ]
    except (OSError, ValueError):
        return ""
    return suggestion(str(folder), siblings)


def spec_finder(request: Request) -> SpecFinder:
    """Returns a finder for the specs of a request. In folders, it finds what the engine and the
    options are for: specs, TLA+ modules, or both.
    """
    settings = request.settings
    engine = engines.ENGINES.get(settings.engine or "")
    suffixes: tuple[str, ...] = (SUFFIX, MODULE_SUFFIX)
    if engine is not None:
        suffixes = (MODULE_SUFFIX,) if engine.for_modules else (SUFFIX,)
    elif settings.overrides:
        suffixes = (SUFFIX,)
    return SpecFinder(request.specs, suffixes)


def has_checks(program: Program) -> bool:
    """Returns whether a program that is found in a folder is run."""
    return is_module(program) or any(map(has_name, program.runs))


def has_name(check: Check) -> bool:
    """Returns whether a check is written in the spec. A spec without checks has a single unnamed
    check.
    """
    return bool(check.name)


def plan(request: Request) -> Plan:
    """Plans a request without running anything. The plan contains every user error."""
    return _planned(request, programs(request), None)


def begun(request: Request) -> Plan:
    """Plans a request. If it has several checks and the machine can run them side by side, they
    start at once. The plan contains every user error.
    """
    specs = programs(request)
    checks = [check for program in specs.programs for check in chosen(request, program)[0]]
    most = min(len(checks), processes.most(request.settings, request.jobs))
    apart = any(on_cluster(request.settings, check) for check in checks)
    # The values in a result of a module are numbers in a table of the process.
    if most < 2 or apart or any(map(is_module, specs.programs)):
        return _planned(request, specs, None)
    crew = Crew(most, performed)
    try:
        return _planned(request, specs, crew)
    except BaseException:
        crew.close()
        raise


def _planned(request: Request, loaded: Specs, crew: Crew | None) -> Plan:
    problems = list(loaded.problems)
    problems += unknown_checks(request, loaded.programs)
    refused = list(loaded.refused)
    specs: list[SpecPlan] = []
    for program in loaded.programs:
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
        if mistakes:
            # A warning may explain the error, but a note about text without effect does not.
            warnings = [warning for warning in program.warnings if not warning.minor]
            reasons = Rejected([*warnings, *mistakes]).problems
            refused.append(RefusedSpec(program.path, reasons))
            problems += reasons
        elif always := _always_true(program, jobs):
            program = replace(program, warnings=(*program.warnings, *always))
            jobs = [replace(job, program=program) for job in jobs]
        if not mistakes and (jobs or left):
            if crew is not None:
                jobs = [_beside_others(job) for job in jobs]
                for engine in {job.engine for job in jobs if by_visits(job.model, job.properties)}:
                    engines.load_for_behaviours(engine)
                crew.add(jobs)
            specs.append(SpecPlan(program, tuple(jobs), left))
    every = Rejected(problems).problems
    return Plan(
        request, tuple(specs), every, tuple(refused), loaded.unchecked, loaded.skipped, crew
    )


def _always_true(program: Program, jobs: Sequence[Job]) -> tuple[Problem, ...]:
    """Returns notes about the invariants of the spec that cannot be violated in any of its
    checks.
    """
    source = program.files.files[program.files.root].source
    notes: list[Problem] | None = None
    for model in {id(job.model): job.model for job in jobs}.values():
        of_model = list(tautologies(model, source))
        notes = [note for note in of_model if notes is None or note in notes]
        if not notes:
            break
    return tuple(notes or ())


def _beside_others(job: Job) -> Job:
    """Returns the job with one worker, unless the user asked for more."""
    workers = job.settings.limits.workers or 1
    return replace(job, limits=replace(job.limits, workers=workers), busy=False)


def chosen(request: Request, program: Program) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """Returns the checks of a spec that a request selects, and the names of those that need
    --slow.
    """
    wanted = [c for c in program.runs if not request.checks or c.name in request.checks]
    left = [c for c in wanted if c.slow and not request.slow and c.name not in request.checks]
    return tuple(c for c in wanted if c not in left), tuple(c.name for c in left)


def unknown_checks(request: Request, loaded: Sequence[Program]) -> Iterator[Problem]:
    """Yields a problem for each name given by --check that no spec has."""
    names = [check.name for program in loaded for check in program.runs if has_name(check)]
    if not loaded:
        return
    for name in request.checks:
        if name not in names:
            hint = suggestion(name, names)
            have = f"there are {listing(names, 'and')}" if names else "there are no checks"
            where = f"{loaded[0].path} has" if len(loaded) == 1 else "these specs have"
            yield Problem("F023", None, f'{where} no check "{name}"{hint}', ((None, have),))


def perform_all(
    spec: SpecPlan,
    started: Callable[[Job], None],
    progress: Callable[[Progress], None],
    ended: Callable[[CheckResult | Refusal], None],
    useless: dict[str, tuple[Problem, ...]],
    run: Run | None = None,
    judged: Callable[[CheckResult], CheckResult] = lambda result: result,
) -> SpecResults:
    """Runs the checks of a spec in the order of the file, using ``run`` or, if that is None, this
    process.

    If a check is interrupted, no further check runs. ``judged`` is applied to every result.
    ``useless`` maps each engine that is known not to run on this machine to the reasons. Their
    checks are refused without an attempt, and engines that turn out not to run here are added.
    """
    every: list[CheckResult | Refusal] = []
    for number, job in enumerate(spec.jobs, 1):
        result: CheckResult | Refusal
        if job.engine in useless:
            result = Refusal(job, useless[job.engine], everywhere=True)
        else:
            started(job)
            result = (run or performed)(job, progress)
        if isinstance(result, CheckResult):
            result = judged(result)
        elif result.everywhere:
            useless[job.engine] = result.problems
        ended(result)
        every.append(result)
        if isinstance(result, CheckResult) and result.outcome.interrupted:
            return SpecResults(tuple(every), spec.jobs[number:])
    return SpecResults(tuple(every), ())


def performed(job: Job, progress: Callable[[Progress], None]) -> CheckResult | Refusal:
    """Runs a check. Raises `Disagreement` if engines that are compared have different results."""
    run = perform if job.settings.cross_check is None else cross_checked
    try:
        return run(job, progress)
    except Rejected as rejected:
        return Refusal(job, rejected.problems, isinstance(rejected, CannotRun))
