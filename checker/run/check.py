"""Runs one check: builds its model, refuses what cannot run, calls an engine and judges the
outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.checker import engines
from fencepost.checker.engines import ENGINES, visits_states
from fencepost.checker.evaluator import program as modules
from fencepost.checker.options import OPTIONS, first, flags
from fencepost.checker.outcome import INTERRUPTED, LONG_SEARCH, Fact, Outcome, Verdict
from fencepost.checker.regions import search as regions
from fencepost.checker.request import (
    Cluster,
    Limits,
    OnCluster,
    Progress,
    Request,
    Translation,
    Unsupported,
    ignored,
)
from fencepost.checker.resources import free_processors, processors
from fencepost.checker.run.advice import advised
from fencepost.checker.run.counterexamples import with_counterexamples
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, judge
from fencepost.checker.run.kept_models import KeptModels
from fencepost.checker.run.range_search import (
    FINDING,
    UNBOUNDED,
    refuse_ranges,
    searched,
    without_ranges,
)
from fencepost.checker.run.scenario import played, refuse_options, refuse_symbols
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import plural
from fencepost.checker.search.orbits import note_in_full
from fencepost.spec.core.ir import Model
from fencepost.spec.core.open_ranges import NO_RANGES, Ranges
from fencepost.spec.core.scenario import Scenario
from fencepost.spec.elaborate.base.files import Trees
from fencepost.spec.elaborate.claims import program as specs
from fencepost.spec.elaborate.claims.program import Check, Program, build, select, staged
from fencepost.spec.text.library import MODULE_SUFFIX
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

_CROSS = "--cross-check"
SELECTIVE = frozenset[str]().union(*(entry.options for entry in ENGINES.values()))
"""The options that at least one engine has and that other engines may ignore."""
FOR_COMPARED = flags("settings.cluster") | flags("settings.limits.solving")
"""The options that may be meant for an engine that the check is compared with, even if the check's
own engine ignores them.
"""
NOT_SAVED = Fact(
    "The search was not saved. With --checkpoint DIR, an interrupted search is saved in DIR, and "
    "--resume DIR continues it."
)
"""The note on an interrupted search."""
A_LOOK = 20_000
"""A search of this many states is enough to estimate the total."""


def load(
    path: Path,
    search: Sequence[Path] = (),
    trees: Trees | None = None,
    configs: Sequence[Path] = (),
) -> Program:
    """Reads a spec and everything that it imports. Its checks may name any engine in the table.

    If several specs share ``trees``, a file that more than one of them imports is parsed only once.
    ``configs`` are the configurations of a TLA+ module, whose text is read later. Raises `Rejected`
    with every problem that was found.
    """
    if path.suffix == MODULE_SUFFIX:
        return modules.load(path, configs, search)
    return specs.load(path, search, engines.COUNTING, trees)


def prepare(
    program: Program,
    check: Check,
    settings: Settings,
    kept: KeptModels | None = None,
) -> Job:
    """Builds the job of a check. Everything that can be refused before the search is refused here.

    ``kept`` caches the models of the program. If it is None, the model is built and not cached. The
    trees of the program must be unmodified, since the key of the cache is the text of the files.
    Integers without a declared range have no bounds in the model. Raises `Rejected`.
    """
    engine = settings.engine or check.engine or engines.DEFAULT
    if engine not in ENGINES:
        raise Rejected([_unknown_engine(engine)])
    refuse_language(program, settings, engine)
    wanted: Check | None = None
    if isinstance(program, modules.ModuleProgram):
        model, scenario, name = program.model(check, settings.readable), None, None
        names = [prop.name for prop in model.properties if prop.kind.selectable]
        check = replace(check, properties=tuple(names))
        parts = any(check.property == name.partition("!")[0] for name in names)
        wanted = replace(check, property=None) if parts else check
    else:
        if check.scenario is not None:
            refuse_options(check, engine, settings)
        try:
            model, scenario, name = _built(program, check, settings, kept, NO_RANGES)
        except Rejected as rejected:
            model, scenario, name = _built(program, check, settings, kept, {})
            if engine not in FINDING:
                problem = rejected.problems[0]
                message = f"the engine {engine} needs declared ranges: {problem.message}"
                raise Rejected([Problem("F810", problem.span, message, problem.notes)]) from None
    if scenario is not None:
        refuse_symbols(check, model)
    properties = select(model, wanted or check, settings.invariants)
    refuse_unable(model, properties, engine, settings)
    explicit = scenario is not None or by_visits(model, properties)
    compared = others(engine, settings.cross_check, explicit)
    _refuse_foreign(engine, settings, compared)
    _refuse_others(engine, settings.cross_check)
    limits = settings.limits
    if limits.depth is None:
        limits = replace(limits, depth=check.within if check.depth is None else check.depth)
    if ENGINES[engine].needs_depth and limits.depth is None:
        raise Rejected([_no_depth(engine, check)])
    if limits.spill is not None and limits.memory is None:
        message = "--spill is for states that do not fit into --memory"
        raise Rejected([Problem("F855", None, message, ((None, "add --memory 80%, for example"),))])
    engines.load(engine)
    workers = _workers(engine, limits.workers)
    busy = ENGINES[engine].parallel and limits.workers is None and workers < processors()
    limits = replace(limits, workers=workers)
    if model.symbols and visits_states(engine):
        refused = regions.problems(model, properties)
        if refused:
            raise Rejected(refused)
        _refuse_folders(model, settings)
    return Job(
        program=program,
        check=check,
        model=model,
        engine=engine,
        properties=properties,
        deadlock=model.checks_deadlock if model.is_opaque else check.verdict != "violated",
        limits=limits,
        settings=settings,
        model_name=name,
        scenario=scenario,
        busy=busy,
    )


def is_module(program: Program) -> bool:
    """Returns whether a program is a TLA+ module."""
    return isinstance(program, modules.ModuleProgram)


def refuse_language(program: Program, settings: Settings, engine: str | None = None) -> None:
    """Raises `Rejected` (F052) if an engine or an option is not for the language of a program."""
    module = is_module(program)
    if engine is not None and ENGINES[engine].for_modules is not module:
        does = [name for name, entry in ENGINES.items() if entry.for_modules is module]
        inputs = "TLA+ modules" if module else "specs"
        verb = "does" if len(does) == 1 else "do"
        message = f"the engine {engine} does not run {inputs}; {listing(does, 'and')} {verb}"
        raise Rejected([Problem("F052", None, message)])
    if module and settings.overrides:
        message = "--const is for specs; the configuration gives constants of a module their values"
        note = (None, "--config FILE names another configuration")
        raise Rejected([Problem("F052", None, message, (note,))])
    if engine is None and settings.readable and not module:
        raise Rejected([Problem("F052", None, "--allow-read is for TLA+ modules")])


def _built(
    program: Program, check: Check, settings: Settings, kept: KeptModels | None, ranges: Ranges
) -> tuple[Model, Scenario | None, str | None]:
    """Builds the model of a check, its scenario if it has one, and the name of the model if it is
    cached.
    """
    if check.scenario is not None:
        return *staged(program, check, settings.overrides, ranges), None
    if kept is None:
        return build(program, check, settings.overrides, ranges=ranges), None, None
    model, name = kept.model(check, settings.overrides, ranges)
    return model, None, name


def refuse_unable(
    model: Model, properties: Collection[int], engine: str, settings: Settings
) -> None:
    """Raises `Rejected` if the model has integers without a declared range that the engine, a
    property or an option needs.
    """
    if engine not in FINDING | UNBOUNDED:
        refuse_ranges(model, f"the engine {engine}")
    refined = [number for number in properties if model.properties[number].abstract is not None]
    if refined:
        refuse_ranges(model, f"the refinement {model.properties[refined[0]].name}")
    if settings.saving is not None:
        refuse_ranges(model, "--checkpoint")
    if settings.counterexamples is not None:
        refuse_ranges(model, "--counterexamples")
    if model.symbols:
        refuse_ranges(model, f"a search for all values of {model.symbols[0].path}")


def on_cluster(settings: Settings, check: Check) -> bool:
    """Returns whether the engine of a check runs on a cluster."""
    engine = settings.engine or check.engine or engines.DEFAULT
    return engine in ENGINES and not ENGINES[engine].options.isdisjoint(flags("settings.cluster"))


def _refuse_foreign(engine: str, settings: Settings, compared: Collection[str]) -> None:
    """Raises `Rejected` for an option that is ignored both by ``engine`` and by the engines that it
    is ``compared`` with.
    """
    heeded = set(ENGINES[engine].options)
    for name in ENGINES.keys() & compared:
        heeded |= ENGINES[name].options & FOR_COMPARED
    foreign = first(settings.given.keys() & SELECTIVE, SELECTIVE - heeded)
    if foreign:
        message = f"{foreign} has no meaning for the engine {engine}"
        heeding = [name for name, entry in ENGINES.items() if foreign in entry.options]
        noun = "engine" if len(heeding) == 1 else "engines"
        notes = ((None, f"{foreign} is for the {noun} {listing(heeding, 'and')}"),)
        raise Rejected([Problem("F032", None, message, notes)])


def others(engine: str, asked: tuple[str, ...] | None, explicit: bool = False) -> tuple[str, ...]:
    """Returns the engines that run a check in addition to its own. ``asked`` is
    `Settings.cross_check`.

    If ``asked`` is empty, one engine of the other kind is chosen. For an ``explicit`` search, it is
    another engine that visits states.
    """
    if asked is None:
        return ()
    if asked:
        return tuple(name for name in dict.fromkeys(asked) if name != engine)
    able = [
        name
        for name in _comparable()
        if (
            ENGINES[name].decides_behaviours and name != engine
            if explicit
            else visits_states(name) != visits_states(engine)
        )
    ]
    return (able[0],)


def compared_with(job: Job) -> tuple[str, ...]:
    """Returns the engines that run the check of a job in addition to its own engine."""
    explicit = job.scenario is not None or by_visits(job.model, job.properties)
    return others(job.engine, job.settings.cross_check, explicit)


def by_visits(model: Model, properties: Collection[int]) -> bool:
    """Returns whether the properties of a check include a property of behaviours or a
    refinement.
    """
    searched = model.searched(properties)
    refined = (model.properties[number].abstract for number in searched.step_invariants)
    return bool(searched.behaviours) or any(abstract is not None for abstract in refined)


def _comparable() -> list[str]:
    """Returns the engines that a check can be compared with."""
    return [name for name, entry in ENGINES.items() if _CROSS in entry.options]


def _refuse_others(engine: str, asked: tuple[str, ...] | None) -> None:
    """Raises `Rejected` if the user asks for a comparison with an engine that cannot be
    compared.
    """
    for name in asked or ():
        if name not in ENGINES:
            raise Rejected([_unknown_engine(name)])
        if name not in _comparable():
            message = f"{_CROSS}={name}: the engine {name} has no findings to compare"
            notes = ((None, f"the engines to compare are {listing(_comparable(), 'and')}"),)
            raise Rejected([Problem("F032", None, message, notes)])
        engines.load(name)
    if asked and not others(engine, asked):
        message = f"{_CROSS}={engine}: {engine} is the engine that runs the check"
        notes = ((None, f'"{_CROSS}" alone compares it with another kind of engine'),)
        raise Rejected([Problem("F032", None, message, notes)])


def _refuse_folders(model: Model, settings: Settings) -> None:
    """Raises `Rejected` for options that apply to a single search, since a symbolic constant
    requires several searches.
    """
    flag = first(settings.given, [option.flag for option in OPTIONS if option.one_search])
    if flag:
        symbol = model.symbols[0]
        message = f'{flag} is for one search, and "{symbol.path}" is symbolic'
        notes = ((None, f'"--const {symbol.path}=VALUE" gives it one'),)
        raise Rejected([Problem("F037", symbol.span, message, notes)])


def _no_depth(engine: str, check: Check) -> Problem:
    message = f"the engine {engine} searches up to a depth, but none is given"
    if check.name:
        message = f"check {check.name}: {message}"
    notes = (
        (None, f"`--depth K`; in a check, `engine {engine}, depth K` or `expect ok within K`"),
    )
    return Problem("F033", None, message, notes)


def _workers(engine: str, wanted: int | None) -> int:
    """Returns the number of workers. ``wanted`` is the number that the user chose, if any."""
    if ENGINES[engine].parallel:
        return wanted or free_processors()
    if wanted not in (None, 1):
        message = f"--workers {wanted}: the {engine} uses one worker"
        notes = ((None, "--engine local uses the given number"),)
        raise Rejected([Problem("F031", None, message, notes)])
    return 1


def _unknown_engine(engine: str) -> Problem:
    hint = suggestion(engine, ENGINES)
    notes = ((None, f"the engines are {listing(list(ENGINES), 'and')}"),)
    return Problem("F024", None, f'there is no engine "{engine}"{hint}', notes)


def perform(job: Job, progress: Callable[[Progress], None]) -> CheckResult:
    """Runs the engine and judges the outcome. Raises `Rejected` if the engine cannot run the
    model.
    """
    engine = engines.load(job.engine)
    try:
        if isinstance(engine, OnCluster):
            engine = engine.on(replace(job.settings.cluster or Cluster(), title=job.folder))
        refuse_unable(job.model, job.properties, job.engine, job.settings)
        if job.engine in UNBOUNDED:
            job = without_ranges(job)
        if job.scenario is not None:
            job, outcome = searched(job, lambda job: played(engine, job, progress))
            return judge(job, outcome)
        if job.model.symbols and visits_states(job.engine):
            outcome = regions.search(engine, job.request(progress))
        else:
            job, outcome = searched(job, lambda job: engine.run(job.request(progress)))
        outcome = _noted(job, outcome)
        if job.settings.counterexamples is not None:
            wanted = job.settings.counterexamples
            outcome = with_counterexamples(engine, job.request(progress), outcome, wanted)
        outcome = advised(job, outcome)
    except Unsupported as unsupported:
        raise Rejected([not_supported(job.engine, unsupported)]) from None
    return judge(job, outcome)


def _noted(job: Job, outcome: Outcome) -> Outcome:
    """Adds notes if the search was interrupted and could have been saved, if the model has
    symmetric types and the engine did not use them, and if a long search used few processors.
    """
    entry, notes = ENGINES[job.engine], [*outcome.notes]
    fixed = not job.model.symbols and not job.model.open_ranges
    savable = "--checkpoint" in entry.options and fixed
    if outcome.cut == INTERRUPTED and savable and job.settings.saving is None:
        notes.append(NOT_SAVED)
    if not entry.visits_states or outcome.verdict is Verdict.ASSUMPTION:
        return replace(outcome, notes=tuple(notes))
    note = note_in_full(job.request(ignored), "--no-symmetry" in entry.options)
    if note is not None:
        notes.append(note)
    if job.busy and outcome.statistics.distinct >= LONG_SEARCH:
        number, used = processors(), plural(job.workers, "worker")
        why = f"Other programs used the {number} processors, so the search used {used}"
        notes.append(Fact(f"{why}; --workers {number} sets the number."))
    return replace(outcome, notes=tuple(notes))


def translate(model: Model, check: Check | None) -> tuple[str, Translation | str]:
    """Returns the engine that runs ``check`` by default, and what this engine compiles the model to
    or why it cannot. If ``check`` is None, the whole spec is compiled.
    """
    name = (check.engine if check else None) or engines.DEFAULT
    try:
        engine = engines.load(name)
        properties = select(model, check or Check(""))
        if model.symbols and visits_states(name):
            model = regions.example(model, properties)
        translation = engine.translation(model, properties)
    except Rejected as rejected:
        return name, rejected.problems[0].message
    except Unsupported as unsupported:
        return name, not_supported(name, unsupported).message
    workers = plural(processors(), "worker") if ENGINES[name].parallel else "1 worker"
    return f"{name}, {workers}", translation or "it runs the spec as it is written"


def looked_at(
    program: Program, check: Check | None, overrides: Mapping[str, str]
) -> tuple[Model, Outcome | None]:
    """Builds a model, and returns it with the outcome of `reached`. The ranges that the model
    assumes include the values in the states of that search.
    """
    try:
        model = build(program, check, overrides, ranges=NO_RANGES)
    except Rejected:
        model = build(program, check, overrides, ranges={})
    if not model.open_ranges:
        return model, reached(model)
    settings, limits = Settings(overrides), Limits(max_states=A_LOOK)
    check = check or Check("")
    job = Job(program, check, model, engines.DEFAULT, frozenset(), False, limits, settings)

    def search(job: Job) -> Outcome:
        outcome = reached(job.model)
        if outcome is None:
            raise Rejected([])
        return outcome

    try:
        job, outcome = searched(job, search)
    except Rejected:
        return build(program, check, overrides, ranges={}), None
    return job.model, outcome


def reached(model: Model) -> Outcome | None:
    """Searches `A_LOOK` states without checking properties. Returns None if the model cannot run
    here.
    """
    limits = Limits(max_states=A_LOOK, workers=_workers(engines.DEFAULT, None))
    try:
        engine = engines.load(engines.DEFAULT)
        return engine.run(Request(model, frozenset(), deadlock=False, limits=limits))
    except (Rejected, Unsupported):
        return None


def not_supported(engine: str, unsupported: Unsupported) -> Problem:
    """Returns the problem for a model that an engine cannot run."""
    message = f'the engine "{engine}" cannot run this: {unsupported}'
    instead = unsupported.instead or '"--engine interpreter" runs it'
    if not (unsupported.instead or visits_states(engine)):
        instead += '; "--engine local" may run it too, and is faster'
    return Problem(unsupported.code, unsupported.span, message, ((None, instead),))
