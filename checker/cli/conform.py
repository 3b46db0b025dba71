"""The command `fencepost conform`, which checks whether a model allows what a real system did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias, assert_never, get_args

import click

from fencepost import __version__
from fencepost.checker import engines
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.mapped import mapped_model
from fencepost.checker.cli.models import broken, check_meant, loaded
from fencepost.checker.cli.options import (
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    Outputs,
    at_least,
    cluster_options,
    one_check,
    outputs_of,
    refuse_exchanged,
    report_form,
    shared_option,
)
from fencepost.checker.cli.terminal import complain, new_page, say, width
from fencepost.checker.printing.page import Page
from fencepost.checker.report.conformance import (
    Conformance,
    Detail,
    conformance_object,
    junit_text,
    sarif_object,
    write_conformance,
)
from fencepost.checker.request import Cluster, Unsupported
from fencepost.checker.run.check import not_supported
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.range_search import refuse_ranges
from fencepost.checker.run.settings import Settings
from fencepost.checker.search.interrupts import deferred
from fencepost.checker.systems.conform import many
from fencepost.checker.systems.conform.choice import base_of, choose, otherwise
from fencepost.checker.systems.conform.findings import Findings, summed
from fencepost.checker.systems.conform.lines import Histories, History, Key, read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.of_recording import history_document
from fencepost.checker.systems.conform.search import InterpreterJudge
from fencepost.checker.systems.conform.verdicts import (
    DEFAULT_AHEAD,
    DEFAULT_STATES,
    Effort,
    Judge,
    Judgement,
    Verdict,
    unread,
)
from fencepost.checker.trace import itf
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.steps import write_steps, write_trace
from fencepost.spec import records
from fencepost.spec.elaborate.claims.program import Program, mapped
from fencepost.spec.text.library import SUFFIX, is_file, is_folder
from fencepost.spec.text.problem import Problem, Rejected

Form: TypeAlias = Literal["text", "json", "junit", "sarif"]
FORMS: tuple[Form, ...] = get_args(Form)
"""The formats of a report."""
MAX_OTHERWISE = 3
"""Other checks are tried on at most this many refused histories."""
ENDINGS = (".jsonl", ".jsonl.gz")
"""The suffixes of recordings in a folder."""

WORD = click.Path(readable=False)
"""The type of arguments that are file names or URLs."""
ON_SPARK = "fencepost.checker.systems.spark.compare"
HEEDED = ("--master", "--partitions", "--spark-conf", "--ship-package", "--results")
"""The cluster options that apply to conformance checking."""


@click.command(
    short_help="Check recordings of a real system against a spec.",
    epilog="""\b
Spark (docs/conformance.md): FILE may be Parquet, a pattern, or a URL; --master, --partitions,
--spark-conf, --ship-package
\b
Example:  fencepost conform locks.fence server.jsonl store.jsonl.gz
Exit code: 0 all histories allowed, 15 a history not allowed, 3 inconclusive, 150 error in a spec,
151 invalid line, or fewer histories than --histories.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@click.argument("files", metavar="FILE...", type=WORD, nargs=-1, required=True)
@one_check("Use the constants of this check.")
@CONSTANTS
@PATHS
@click.option(
    "--engine",
    type=click.Choice(["interpreter", "local", "spark"]),
    help="Default: interpreter, or local for many events.",
)
@click.option(
    "--max-states",
    metavar="N",
    type=at_least(1),
    default=str(DEFAULT_STATES),
    help="Maximum product states per history (100_000).",
)
@click.option(
    "--ahead",
    metavar="N",
    type=at_least(0, 100),
    help="Maximum messages sent ahead (2, or the spec's number).",
)
@click.option(
    "--histories",
    "expected",
    metavar="N",
    type=at_least(1),
    default="1",
    help="Require at least N histories (1).",
)
@shared_option("--workers", help="Number of processes (default: one per core).")
@click.option("-v", "--verbose", is_flag=True, help="List what no run used.")
@click.option("-q", "--quiet", is_flag=True, help="Show only histories that are not allowed.")
@click.option(
    "--trace-style",
    type=click.Choice(["full", "steps"]),
    help="Show the whole run of a refused history.",
)
@click.option(
    "--trace",
    metavar="FILE",
    type=FILE,
    help="Save a trace of the first history that is not allowed (ITF JSON).",
)
@click.option(
    "--format",
    "forms",
    metavar="FORM[=FILE]",
    type=report_form(FORMS),
    multiple=True,
    help="text, json, junit or sarif; repeatable.",
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
@click.option(
    "--results", metavar="DIR", help="Save verdicts and coverage as Parquet (engine spark)."
)
@cluster_options
def conform(
    cluster: Cluster | None,
    spec: Path,
    files: tuple[str, ...],
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    engine: str | None,
    max_states: int,
    ahead: int | None,
    expected: int,
    workers: int | None,
    verbose: bool,
    quiet: bool,
    trace_style: str | None,
    trace: Path | None,
    forms: tuple[tuple[Form, Path | None], ...],
    output: Path | None,
    results: str | None,
) -> int:
    """Check each history in the recordings against SPEC: a history is allowed if a run of the model
    shows exactly its events. FILE is a JSON Lines file, plain or gzip, or a folder of them."""
    for file in files:
        refuse_exchanged("conform", spec, file, spec_first=True)
        if file.endswith(SUFFIX) and is_file(Path(file)):
            raise Rejected([Problem("F047", None, f"{file} is a spec, not a recording")])
    if quiet and verbose:
        message = "--verbose and --quiet contradict each other"
        raise Rejected([Problem("F021", None, message)])
    write = {"full": write_trace, "steps": write_steps}.get(trace_style or "")
    detail = Detail(write, verbose, quiet)
    outputs: Outputs[Form] = outputs_of(forms, output, "text")
    for path in (*(path for _, path in outputs.files), trace):
        if path is not None:
            check_writable(path)
    _refuse_unheeded(engine, cluster, results, workers)
    program = loaded(spec, search)
    several = name is None and len(program.checks) > 1 and engine != "spark"
    check = next(iter(program.checks)) if several else check_meant(program, name)
    compared = mapped_model(program, check, dict(constants))
    if not isinstance(compared, MappedModel):
        return compared
    recording = compared.recording
    if compared.model.open_ranges and engine is None:
        # Machine code needs declared ranges.
        engine = "interpreter"
    if engine not in (None, "interpreter"):
        refuse_ranges(compared.model, f"the engine {engine}")
    if ahead is not None and recording.under_way is not None:
        message = f"--ahead: the spec says that at most {recording.under_way} are under way"
        raise Rejected([Problem("F021", None, message)])
    effort = Effort(max_states, DEFAULT_AHEAD if ahead is None else ahead)
    allowed: Mapping[str, int] = {}
    if engine == "spark":
        engines.load(engine)
        with deferred():
            compare: Callable[..., Findings] = import_module(ON_SPARK).compare
        findings = compare(compared.model, recording, effort, files, cluster or Cluster(), results)
    else:
        read_in = read(recording, _recordings(files), effort.lines(recording))
        work = _Work(program, dict(constants), effort, engine, workers, read_in)
        work.mapped[check.name] = compared
        if several:
            choice = choose([c.name for c in program.checks], read_in, work.judged)
            check = next(c for c in program.checks if c.name == choice.check)
            compared, allowed = work.model(check.name) or compared, choice.allowed
            judged = iter(choice.judged.values())
        else:
            judged = work.judged(check.name, read_in.histories)
        findings = summed(judged, read_in.strays, read_in.problems)
        findings = work.with_other_checks(findings, check.name, allowed)
    findings = _with_shortage(findings, expected)
    documents = {
        finding.key: history_document(compared, finding, str(program.path), __version__, check.name)
        for finding in findings.whole
    }
    title = check.name or program.path.name
    conformance = Conformance(
        title, str(program.path), check.name, __version__, findings, documents, allowed
    )
    exit_ = verdict_exit(conformance)
    for form in outputs.printed:
        say(_made(form, compared, conformance, exit_, new_page(), detail))
    for form, path in outputs.files:
        replace(path, _made(form, compared, conformance, exit_, Page(width()), detail))
    for problem in findings.problems:
        complain(f"{problem}\n")
    if trace is not None:
        save_first(trace, documents)
    return exit_


def _with_shortage(findings: Findings, expected: int) -> Findings:
    """Adds a problem if fewer histories were read than expected."""
    verdicts = findings.totals.verdicts
    count = verdicts.total() - verdicts["unread"]
    if count >= expected or (findings.problems and expected == 1):
        return findings
    message = f"{count:,} of at least {expected:,} histories were read (--histories {expected})"
    if not count:
        message = "no history was read, so nothing was compared"
    return records.replace(findings, problems=[*findings.problems, Problem("F047", None, message)])


@dataclass(slots=True)
class _Work:
    """Judges histories with the checks of a mapping. ``mapped`` maps checks to the models built so
    far, or to None if a check cannot judge this recording.
    """

    program: Program
    constants: dict[str, str]
    effort: Effort
    engine: str | None
    workers: int | None
    recorded: Histories
    mapped: dict[str, MappedModel | None] = field(default_factory=dict[str, "MappedModel | None"])

    def model(self, name: str) -> MappedModel | None:
        """Returns the model of a check, or None if its lines differ from those of the first one."""
        if name not in self.mapped:
            first = next(model for model in self.mapped.values() if model is not None)
            check = next(check for check in self.program.checks if check.name == name)
            model, recording = mapped(self.program, check, self.constants)
            fits = recording is not None and recording.events == first.recording.events
            fits = fits and not model.symbols and broken(model) is None
            self.mapped[name] = (
                MappedModel(model, recording) if fits and recording is not None else None
            )
        return self.mapped[name]

    def judged(self, name: str, histories: Sequence[History]) -> Iterator[Judgement]:
        """Yields the verdicts of a check."""
        compared = self.model(name)
        if compared is None:
            return (unread(history) for history in histories)
        events = sum(history.total for history in histories)
        judging = _judging(compared, self.engine, events)
        return many.every(judging, histories, self.effort, many.most(self.workers, events))

    def with_other_checks(
        self, findings: Findings, name: str, allowed: Mapping[str, int]
    ) -> Findings:
        """Adds to some refused histories which other check allows them."""
        by_key = {history.key: history for history in self.recorded.histories}
        every = [check.name for check in self.program.checks]
        names = sorted(every, key=lambda other: base_of(other, every) != other)
        whole = list(findings.whole)
        for number, judged in enumerate(whole[:MAX_OTHERWISE]):
            for other in names:
                skipped = other == name or allowed.get(other) == 0
                model = None if skipped else self.model(other)
                text = model and otherwise(other, model, by_key[judged.key], self.effort)
                if text:
                    whole[number] = records.replace(judged, otherwise=text)
                    break
        return records.replace(findings, whole=whole)


def _judging(compared: MappedModel, engine: str | None, events: int) -> Judge:
    """Returns a judge for histories with this total number of events. Raises `Rejected` if
    ``engine`` cannot be used.
    """
    if engine == "interpreter" or (engine is None and events < many.MIN_EVENTS):
        return InterpreterJudge(compared)
    try:
        engines.load("local")
        with deferred():
            return many.in_machine_code(compared)
    except Rejected:
        if engine is not None:
            raise
    except Unsupported as unsupported:
        if engine is not None:
            raise Rejected([not_supported(engine, unsupported)]) from None
    return InterpreterJudge(compared)


def _made(
    form: Form,
    compared: MappedModel,
    conformance: Conformance,
    exit_: Exit,
    page: Page,
    detail: Detail,
) -> str:
    """Formats the report. A report as text is written on ``page``."""
    match form:
        case "json":
            return json.dumps(conformance_object(compared, conformance, exit_))
        case "junit":
            return junit_text(compared, conformance)
        case "sarif":
            return json.dumps(sarif_object(compared, conformance, exit_))
        case "text":
            write_conformance(page, compared, conformance, detail)
            return page.text()
        case _:
            assert_never(form)


def _refuse_unheeded(
    engine: str | None, cluster: Cluster | None, results: str | None, workers: int | None
) -> None:
    flags = [*Settings(cluster=cluster).given]
    flags += [] if results is None else ["--results"]
    flags += [] if workers is None else ["--workers"]
    wrong = [
        flag for flag in flags if flag not in (HEEDED if engine == "spark" else ("--workers",))
    ]
    if wrong:
        name = engine or "interpreter"
        message = f"{wrong[0]} has no meaning for `fencepost conform` with the engine {name}"
        raise Rejected([Problem("F032", None, message)])


def _recordings(names: tuple[str, ...]) -> list[Path]:
    """Returns the named files and the recordings in named folders, without duplicates. Raises
    `Rejected` if a folder contains no recordings.
    """
    paths: list[Path] = []
    for path in map(Path, names):
        if is_folder(path):
            inside = sorted(entry for entry in path.iterdir() if entry.name.endswith(ENDINGS))
            if not inside:
                message = (
                    f"{path} has no recording: no file whose name ends with .jsonl or .jsonl.gz"
                )
                raise Rejected([Problem("F047", None, message)])
            paths += inside
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))


def verdict_exit(conformance: Conformance) -> Exit:
    """Returns the exit code for the verdicts on all histories."""
    if conformance.findings.problems:
        return Exit.USAGE
    worst: tuple[tuple[Verdict, Exit], ...] = (
        ("not allowed", Exit.NOT_ALLOWED),
        ("unknown", Exit.INCONCLUSIVE),
    )
    return next((code for verdict, code in worst if conformance.count(verdict)), Exit.OK)


def save_first(path: Path, documents: dict[Key, TraceDocument]) -> None:
    """Saves the trace of the first history that is not allowed, if there is one."""
    document = next(iter(documents.values()), None)
    if document is None:
        complain(f"every history is allowed: {path} is not written")
        return
    replace(path, itf.dumps(document))
    complain(f"trace of {document.description} saved in {path}")
