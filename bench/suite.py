"""The measured parts and their cases, and how programs take turns."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from bench import fence, spin, tlc_search
from bench.fence import CheckResult, Task
from bench.machine import ROOT, commit
from bench.process import Failed, Ran, run
from bench.promela import two_phase_commit
from bench.results import SPILLED, Row, Search, median
from bench.tlc_run import Broken, Tlc

MODELS = ROOT / "models"
OWN = ROOT / "bench" / "models"
TWO_PHASE = MODELS / "classics" / "two_phase_commit.fence"
OURS, SPIN, SPIN_PARALLEL, TLC = "Fencepost", "SPIN", "SPIN, breadth-first", "TLC"
NUMBERS = {7: "seven", 8: "eight", 9: "nine", 10: "ten"}
"""The sizes of two-phase commit, and the names of the checks with these sizes."""
LAST_LEVEL = """
invariant NeverAllCommitted: not forall m in Manager: ResourceManager[m].phase == Committed

check last_level:
    const N = {size}
    expect violated NeverAllCommitted
"""
OTHERS = [
    Task(MODELS / "kafka" / "verification_race.fence", "verified_most", "Kafka race"),
    Task(MODELS / "classics" / "milner_scheduler.fence", "sixteen", "64 variables"),
    Task(OWN / "paxos_on_the_way.fence", "four_ballots", "240 messages"),
]
"""Other models. The Kafka model has up to twelve messages in flight."""
WIDE = [
    Task(MODELS / "kafka" / "txn_core_v2.fence", "fixed_more", "txn_core_v2 fixed_more"),
    Task(MODELS / "kafka" / "txn_failover.fence", "fixed_most", "txn_failover fixed_most"),
]
"""Models whose states have many words."""
MEMORY_THEN = "--memory=1G"
"""Memory limit of a search that must spill states. Spilling begins at a sixteenth of the limit."""
TEN_LINES = Task(OWN / "ten_lines.fence", "small", "ten lines")
FOR_TLC = OWN / "TwoPhaseCommit.tla"
FOR_TLC_TOO = """
SPECIFICATION Spec
INVARIANTS TypeOK Consistent
CHECK_DEADLOCK FALSE
CONSTANT N = {size}
"""
JAVA_OPTIONS = ("-XX:+UseParallelGC", "-Xmx8g")
"""The options that TLC's documentation recommends, with enough memory for the largest case."""
SHARES = (0.25, 0.5, 0.75)
"""Memory limits for searches that must stop, as fractions of the memory that they need."""
PARALLEL_TABLES = {7: 20, 8: 22, 9: 24, 10: 26}
"""Table sizes for SPIN's parallel search. The table holds the states and does not grow. With -w27,
it would exceed the memory of this machine.
"""
MIN_MEMORY = 80
"""Minimum memory limit in megabytes. A search does not start with less."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The extent of the measurements. ``tables`` are the sizes of SPIN's hash tables, as powers of
    two. A program runs up to ``runs`` times, as long as its runs take less than ``patience``
    seconds. ``before`` is an optional checkout of another version to compare with.
    """

    sizes: Sequence[int]
    tables: Sequence[int]
    workers: Sequence[int]
    runs: int
    patience: float
    with_spin: bool
    tlc: Tlc | None
    before: Path | None
    folder: Path
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Figures:
    """The results of one run."""

    ran: Ran
    distinct: int
    generated: int


@dataclass(slots=True)
class Contender:
    """A program with its options, and the runs that it has completed."""

    tool: str
    workers: int
    start: Callable[[], Figures]
    note: str = ""
    runs: list[Figures] = field(default_factory=list[Figures])

    @property
    def wall(self) -> float:
        """The median of the wall times."""
        return median(figures.ran.wall for figures in self.runs)

    @property
    def spent(self) -> float:
        """The sum of the wall times."""
        return sum(figures.ran.wall for figures in self.runs)


# ------------------------------------------------------------------------------------ taking turns


def rounds(part: str, case: str, contenders: Sequence[Contender], settings: Settings) -> list[Row]:
    """Runs the contenders in turn, repeatedly. Returns a row for each of them, after comparing
    their counts.
    """
    left = [*contenders]
    for _ in range(settings.runs):
        for contender in [*left]:
            name = f"{case}: {contender.tool} {contender.note}".rstrip()
            try:
                figures = contender.start()
            except Failed as failure:
                if contender.tool == OURS:
                    raise
                settings.say(f"{name}: {failure}")
                left.remove(contender)
                continue
            contender.runs.append(figures)
            settings.say(f"{name}, {contender.workers}: {figures.ran.wall:.2f} s")
            if contender.spent + contender.wall > settings.patience:
                left.remove(contender)
    ran = [contender for contender in contenders if contender.runs]
    _compare(case, ran)
    best = min((contender.wall for contender in ran if contender.tool == SPIN), default=0.0)
    return [_row(part, case, contender, best / contender.wall) for contender in ran]


def _compare(case: str, contenders: Sequence[Contender]) -> None:
    """Requires that the counts of all contenders are equal."""
    runs = [run for contender in contenders for run in contender.runs]
    counts = {(run.distinct, run.generated) for run in runs}
    most = max(generated for _, generated in counts)
    for distinct, generated in counts:
        # SPIN prints only eight digits, and a search that finds a violation in the last level
        # generates fewer states.
        if distinct != runs[0].distinct or most - generated > most // 100_000 + 100:
            raise Failed(f"{case}: the searches do not agree: {sorted(counts)}")


def _row(part: str, case: str, contender: Contender, faster: float) -> Row:
    runs = [figures.ran for figures in contender.runs]
    return Row(
        part,
        case,
        contender.tool,
        contender.workers,
        len(runs),
        contender.wall,
        min(ran.wall for ran in runs),
        max(ran.wall for ran in runs),
        median(ran.user for ran in runs),
        median(ran.system for ran in runs),
        max(ran.peak for ran in runs),
        contender.runs[0].distinct,
        contender.runs[0].generated,
        faster,
        max(ran.others for ran in runs),
        contender.note,
    )


def _ours(task: Task, workers: int) -> Contender:
    return Contender(OURS, workers, lambda: _figures(fence.check(task, workers)))


def _before(task: Task, workers: int, checkout: Path) -> Contender:
    """Runs the same check with another version."""

    def start() -> Figures:
        return _figures(fence.check(task, workers, checkout=checkout))

    return Contender(f"{OURS} {commit(checkout)}", workers, start)


def _pair(task: Task) -> Figures:
    """Runs the same search in two processes at once. Returns the figures of the slower one, not
    counting the other as foreign load.
    """
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(fence.check, task, 1) for _ in range(2)]
        faster, slower = sorted((done.result() for done in both), key=lambda done: done.ran.wall)
    shared = (faster.ran.user + faster.ran.system) / slower.ran.wall
    ran = replace(slower.ran, others=max(0.0, slower.ran.others - shared))
    return _figures(replace(slower, ran=ran))


def _cut(task: Task, workers: int, option: str) -> Figures:
    return _figures(fence.check(task, workers, option, inconclusive=True))


def _figures(checked: CheckResult) -> Figures:
    return Figures(checked.ran, checked.distinct, checked.generated)


# ------------------------------------------------------------------------------------------- parts


def two_phase(settings: Settings) -> Iterator[Row]:
    """Measures two-phase commit, compared with the previous version, SPIN and TLC."""
    for size in settings.sizes:
        task = _two_phase(size)
        contenders = [_ours(task, workers) for workers in settings.workers]
        if settings.before is not None:
            contenders += [
                _before(_in_checkout(task, settings.before), workers, settings.before)
                for workers in settings.workers
            ]
        if settings.with_spin:
            contenders += _spin(size, settings)
        if settings.tlc is not None:
            contenders.append(_tlc(settings.tlc, size, max(settings.workers)))
        yield from rounds("two-phase", f"N = {size}", contenders, settings)


def last_level(settings: Settings) -> Iterator[Row]:
    """Measures a search with a violation in the last level, compared with one without a
    violation.
    """
    workers = max(settings.workers)
    for size in settings.sizes:
        spec = settings.folder / "last_level.fence"
        text = TWO_PHASE.read_text(encoding="utf-8") + LAST_LEVEL.format(size=size)
        spec.write_text(text, encoding="utf-8")
        plain = _ours(_two_phase(size), workers)
        task = Task(spec, "last_level", f"N = {size}")
        violating = replace(_ours(task, workers), note="violation in the last level")
        yield from rounds("last-level", f"N = {size}", [plain, violating], settings)


def models(settings: Settings) -> Iterator[Row]:
    """Measures other models."""
    for task in OTHERS:
        contenders = [_ours(task, workers) for workers in settings.workers]
        yield from rounds("models", task.name, contenders, settings)


def before(settings: Settings) -> Iterator[Row]:
    """Compares another version with this one, both on the models of the other version and with one
    worker. Yields nothing without another version.
    """
    if settings.before is None:
        settings.say("before: there is no other version, see --before")
        return
    for task in (_two_phase(9), *OTHERS, *WIDE):
        there = _in_checkout(task, settings.before)
        contenders = [_ours(there, 1), _before(there, 1, settings.before)]
        yield from rounds("before", task.name, contenders, settings)


def at_once(settings: Settings) -> Iterator[Row]:
    """Compares one worker, two simultaneous searches with one worker each, and two workers."""
    for task in (_two_phase(max(settings.sizes)), OTHERS[0]):
        pair = Contender(OURS, 1, partial(_pair, task), "twice at once")
        contenders = [_ours(task, 1), pair, _ours(task, 2)]
        yield from rounds("at-once", task.name, contenders, settings)


def memory(settings: Settings) -> Iterator[Row]:
    """Measures searches that have insufficient memory."""
    size, workers = max(settings.sizes), max(settings.workers)
    task = _two_phase(size)
    whole = fence.check(task, workers)
    for share in SHARES:
        limit = max(MIN_MEMORY, int(whole.ran.peak * share) >> 20)
        option = f"--memory={limit}M"
        contender = Contender(OURS, workers, partial(_cut, task, workers, option), option)
        case = f"N = {size}, {share:.0%} of what it takes"
        (row,) = rounds("memory", case, [contender], replace(settings, runs=1))
        yield row


def start(settings: Settings) -> Iterator[Row]:
    """Measures a spec of ten lines, without cached code."""
    many = replace(settings, runs=10)
    workers = max(settings.workers)
    yield from rounds("start", "ten lines", [_ours(TEN_LINES, workers)], many)


def install(settings: Settings) -> Iterator[Row]:
    """Measures the first run after the package was installed, in a separate environment."""
    workers = max(settings.workers)
    for note, options in (("first run", []), ("first run, no bytecode", ["--no-compile"])):
        contender = Contender(OURS, workers, partial(_fresh, options, settings), note)
        few = replace(settings, runs=min(3, settings.runs))
        (row,) = rounds("install", note, [contender], few)
        yield row


def searches(settings: Settings) -> Iterator[Search]:
    """Runs instrumented searches."""
    for size in settings.sizes:
        for workers in settings.workers:
            yield probed(_two_phase(size), workers, settings)
    for task in OTHERS:
        for workers in settings.workers:
            yield probed(task, workers, settings)
    several = max(settings.workers)
    for task in WIDE:
        yield probed(task, several, settings)
    for task in (_two_phase(max(settings.sizes)), OTHERS[0], *WIDE):
        with tempfile.TemporaryDirectory(dir=settings.folder) as away:
            options = MEMORY_THEN, f"--spill={away}"
            yield probed(task, several, settings, *options, note=SPILLED)
    yield probed(TEN_LINES, several, settings)


ROW_PARTS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "two-phase": two_phase,
    "last-level": last_level,
    "models": models,
    "before": before,
    "at-once": at_once,
    "memory": memory,
    "start": start,
    "install": install,
}
PARTS = (*ROW_PARTS, "searches")


def probed(task: Task, workers: int, settings: Settings, *options: str, note: str = "") -> Search:
    """Runs a check in a process that instruments it."""
    seen = settings.folder / "seen.json"
    with tempfile.TemporaryDirectory() as cache:
        words = [*fence.command(task, workers, ()), *options]
        program = [sys.executable, "-m", "bench.probe", str(seen), str(time.time()), "--"]
        ran = run([*program, *words], folder=ROOT, environment=fence.surroundings(cache))
    record = json.loads(seen.read_text(encoding="utf-8"))
    last = record["levels"][-1]
    settings.say(f"{task.name}: watched, {workers}: {ran.wall:.2f} s")
    return Search(
        task.name,
        workers,
        record["words"],
        last["distinct"],
        last["generated"],
        last["seconds"],
        record["phases"],
        record["kernels"],
        record["levels"],
        ran.others,
        note,
    )


# ---------------------------------------------------------------------------------------- helpers


def _in_checkout(task: Task, checkout: Path) -> Task:
    """Returns the task with the model of another checkout."""
    return replace(task, spec=checkout / task.spec.relative_to(ROOT))


def _two_phase(size: int) -> Task:
    return Task(TWO_PHASE, NUMBERS[size], f"N = {size}")


def _spin(size: int, settings: Settings) -> list[Contender]:
    """Returns SPIN with each size of its table, and SPIN's parallel search with one size."""
    verifiers = spin.build(two_phase_commit(size), settings.folder / f"spin{size}")
    settings.say(
        f"N = {size}: spin and gcc took {verifiers.seconds:.1f} s, which no figure contains"
    )

    def usual(table: int) -> Figures:
        verified = spin.depth_first(verifiers, table)
        return Figures(verified.ran, verified.states, verified.transitions)

    def parallel(table: int, workers: int) -> Figures:
        verified = spin.breadth_first(verifiers, table, workers)
        return Figures(verified.ran, verified.states, verified.transitions)

    several, slots = max(settings.workers), PARALLEL_TABLES[size]
    return [
        *(Contender(SPIN, 1, partial(usual, table), f"-w{table}") for table in settings.tables),
        Contender(SPIN_PARALLEL, several, partial(parallel, slots, several), f"-w{slots}"),
    ]


def _tlc(tlc: Tlc, size: int, workers: int) -> Contender:
    """Returns TLC as a contender. TLC keeps a 64-bit hash of each state."""

    def start() -> Figures:
        configuration = FOR_TLC_TOO.format(size=size)
        try:
            ran, counts = tlc_search.search(
                tlc, FOR_TLC, configuration, workers=workers, options=JAVA_OPTIONS
            )
        except Broken as reason:
            raise Failed(str(reason)) from reason
        return Figures(ran, counts.distinct, counts.generated)

    return Contender(TLC, workers, start)


def _fresh(options: Sequence[str], settings: Settings) -> Figures:
    """Installs the package from scratch, and runs it once."""
    home = settings.folder / "fresh"
    with _installed(home, options) as program:
        alone = (str(program),)
        return _figures(fence.check(TEN_LINES, max(settings.workers), program=alone))


@contextmanager
def _installed(home: Path, options: Sequence[str]) -> Generator[Path, None, None]:
    """Installs the program in a temporary environment, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=home.name, dir=home.parent) as folder:
        run([sys.executable, "-m", "venv", folder])
        pip = [f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, *options, str(ROOT)])
        yield Path(folder) / "bin" / "fencepost"
