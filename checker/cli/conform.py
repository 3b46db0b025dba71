"""`fencepost conform`: is what a real system did allowed by a model?"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias, assert_never, get_args

import click

from fencepost import __version__
from fencepost.checker import engines
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.mapped import mapped_model
from fencepost.checker.cli.models import check_meant, loaded
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
from fencepost.checker.conform import many
from fencepost.checker.conform.findings import Findings, summed
from fencepost.checker.conform.lines import Key, read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import Interpreted
from fencepost.checker.conform.verdicts import USUAL_AHEAD, USUAL_STATES, Effort, Judging, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.report.conformance import (
    Conformance,
    conformance_object,
    write_conformance,
)
from fencepost.checker.report.conformance_builds import junit_text, sarif_object
from fencepost.checker.request import Cluster, Unsupported
from fencepost.checker.run.check import not_supported
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.settings import Settings
from fencepost.checker.search.interrupts import deferred
from fencepost.checker.trace import itf
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.of_recording import history_document
from fencepost.spec import records
from fencepost.spec.text.library import SUFFIX, is_file, is_folder
from fencepost.spec.text.problem import Problem, Rejected

Form: TypeAlias = Literal["text", "json", "junit", "sarif"]
FORMS: tuple[Form, ...] = get_args(Form)
"""The formats of a report."""
ENDINGS = (".jsonl", ".jsonl.gz")
"""How the names of recordings in a folder end."""

WORD = click.Path(readable=False)
"""A file by its name, or a URL, which is no path."""
ON_SPARK = "fencepost.checker.spark.conform.compare"
HEEDED = ("--master", "--partitions", "--spark-conf", "--ship-package", "--results")
"""The options for a cluster that concern a comparison."""


@click.command(
    short_help="Compare what a real system did with a spec.",
    epilog="""\b
Spark (docs/conformance.md): FILE may be Parquet, a pattern, or a URL; --master, --partitions,
--spark-conf, --ship-package
\b
Example:  fencepost conform locks.fence server.jsonl store.jsonl.gz
Exit code: 0 every history is allowed, 15 one is not, 3 of one it is not known, 150 as for
`fencepost check`, 151 a line cannot be read, or fewer histories were read than --histories
requires.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@click.argument("files", metavar="FILE...", type=WORD, nargs=-1, required=True)
@one_check("The check whose constants hold.")
@CONSTANTS
@PATHS
@click.option(
    "--engine",
    type=click.Choice(["interpreter", "local", "spark"]),
    help="The engine (local for many events).",
)
@click.option(
    "--max-states",
    metavar="N",
    type=at_least(1),
    default=str(USUAL_STATES),
    help="Product states for each history (100_000).",
)
@click.option(
    "--ahead",
    metavar="N",
    type=at_least(0, 100),
    help="Messages under way where one is put in ahead (2, or what the spec says).",
)
@click.option(
    "--histories",
    "expected",
    metavar="N",
    type=at_least(1),
    default="1",
    help="At least N histories must be read (1).",
)
@shared_option("--workers", help="Processes that judge histories (the processors).")
@click.option(
    "--trace",
    metavar="FILE",
    type=FILE,
    help="Save the first trace (ITF JSON) that is no whole run.",
)
@click.option(
    "--format",
    "forms",
    metavar="FORM[=FILE]",
    type=report_form(FORMS),
    multiple=True,
    help="text, json, junit, sarif; several.",
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
@click.option("--results", metavar="DIR", help="Save verdicts and coverage as Parquet (spark).")
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
    trace: Path | None,
    forms: tuple[tuple[Form, Path | None], ...],
    output: Path | None,
    results: str | None,
) -> int:
    """Read recordings (FILE: JSON lines, plain or gz, or a folder of them), and say of each history
    in them whether SPEC allows it: whether some run of the model shows exactly its events."""
    for file in files:
        refuse_exchanged("conform", spec, file, spec_first=True)
        if file.endswith(SUFFIX) and is_file(Path(file)):
            raise Rejected([Problem("F047", None, f"{file} is a spec, not a recording")])
    outputs: Outputs[Form] = outputs_of(forms, output, "text")
    for path in (*(path for _, path in outputs.files), trace):
        if path is not None:
            check_writable(path)
    _refuse_unheeded(engine, cluster, results, workers)
    program = loaded(spec, search)
    check = check_meant(program, name)
    compared = mapped_model(program, check, dict(constants))
    if not isinstance(compared, Mapped):
        return compared
    recording = compared.recording
    if ahead is not None and recording.under_way is not None:
        what = f"--ahead: the spec says that at most {recording.under_way} are under way"
        raise Rejected([Problem("F021", None, what)])
    effort = Effort(max_states, USUAL_AHEAD if ahead is None else ahead)
    if engine == "spark":
        engines.load(engine)
        with deferred():
            compare: Callable[..., Findings] = import_module(ON_SPARK).compare
        findings = compare(compared.model, recording, effort, files, cluster or Cluster(), results)
    else:
        histories = read(recording, _recordings(files), effort.lines(recording))
        processes = many.most(workers, histories.events)
        judging = _judging(compared, engine, histories.events)
        judged = many.every(judging, histories.histories, effort, processes)
        findings = summed(judged, histories.strays, histories.problems)
    findings = _with_shortage(findings, expected)
    documents = {
        one.key: history_document(compared, one, str(program.path), __version__, check.name)
        for one in findings.whole
    }
    title = check.name or program.path.name
    found = Conformance(title, str(program.path), check.name, __version__, findings, documents)
    exit_ = verdict_exit(found)
    for form in outputs.printed:
        say(_made(form, compared, found, exit_, new_page()))
    for form, path in outputs.files:
        replace(path, _made(form, compared, found, exit_, Page(width())))
    for problem in findings.problems:
        complain(f"{problem}\n")
    if trace is not None:
        save_first(trace, documents)
    return exit_


def _with_shortage(findings: Findings, expected: int) -> Findings:
    """The findings, with a problem if fewer histories were read than expected."""
    verdicts = findings.totals.verdicts
    count = verdicts.total() - verdicts["unread"]
    if count >= expected or (findings.problems and expected == 1):
        return findings
    what = f"{count:,} of at least {expected:,} histories were read (--histories {expected})"
    if not count:
        what = "no history was read, so nothing was compared"
    return records.replace(findings, problems=[*findings.problems, Problem("F047", None, what)])


def _judging(compared: Mapped, engine: str | None, events: int) -> Judging:
    """What judges histories of this many events in sum. Raises `Rejected`."""
    if engine == "interpreter" or (engine is None and events < many.WORTH_EVENTS):
        return Interpreted(compared)
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
    return Interpreted(compared)


def _made(form: Form, compared: Mapped, found: Conformance, exit_: Exit, page: Page) -> str:
    """The report in a format; as text on this page."""
    match form:
        case "json":
            return json.dumps(conformance_object(compared, found, exit_))
        case "junit":
            return junit_text(compared, found)
        case "sarif":
            return json.dumps(sarif_object(compared, found, exit_))
        case "text":
            write_conformance(page, compared, found)
            return page.text()
        case _:
            assert_never(form)


def _refuse_unheeded(
    engine: str | None, cluster: Cluster | None, results: str | None, workers: int | None
) -> None:
    given = [*Settings(cluster=cluster).given]
    given += [] if results is None else ["--results"]
    given += [] if workers is None else ["--workers"]
    wrong = [one for one in given if one not in (HEEDED if engine == "spark" else ("--workers",))]
    if wrong:
        named = engine or "interpreter"
        what = f"{wrong[0]} means nothing to `fencepost conform` with the engine {named}"
        raise Rejected([Problem("F032", None, what)])


def _recordings(names: tuple[str, ...]) -> list[Path]:
    """The files that are named, each once, and those of the folders that are. Raises `Rejected`."""
    found: list[Path] = []
    for path in map(Path, names):
        if is_folder(path):
            inside = sorted(one for one in path.iterdir() if one.name.endswith(ENDINGS))
            if not inside:
                what = f"{path} has no recording: no file whose name ends with .jsonl or .jsonl.gz"
                raise Rejected([Problem("F047", None, what)])
            found += inside
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def verdict_exit(found: Conformance) -> Exit:
    """The exit code for the verdicts on all histories."""
    if found.findings.problems:
        return Exit.USAGE
    worst: tuple[tuple[Verdict, Exit], ...] = (
        ("not allowed", Exit.NOT_ALLOWED),
        ("unknown", Exit.INCONCLUSIVE),
    )
    return next((code for verdict, code in worst if found.count(verdict)), Exit.OK)


def save_first(path: Path, documents: dict[Key, TraceDocument]) -> None:
    """Saves the first trace that is no whole run, if there is one."""
    document = next(iter(documents.values()), None)
    if document is None:
        complain(f"every history is allowed: {path} is not written")
        return
    replace(path, itf.dumps(document))
    complain(f"trace of {document.description} saved in {path}")
