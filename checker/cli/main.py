"""The command `fencepost`: the only place that prints, reads flags or sets an exit code.

It decides nothing about specs: it turns words into a request and a result into output.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import check_named
from fencepost.checker.cli.options import (
    CONSTANTS,
    FILE,
    FORMATS,
    PATHS,
    SPEC,
    OptionalValues,
    SuggestingGroup,
    checked,
    one_check,
    request_options,
    topics,
    usage_problem,
)
from fencepost.checker.cli.progress import Reporter
from fencepost.checker.cli.start import INTERRUPTED
from fencepost.checker.cli.terminal import (
    WIDTH,
    complain,
    flush,
    is_terminal,
    new_page,
    say,
    take_over,
    versions,
)
from fencepost.checker.cli.watch import watch
from fencepost.checker.cli.writer import Outputs, Writer, outputs_of
from fencepost.checker.native.machine.code_cache import Cache, written_by_another_key
from fencepost.checker.options import LONG, SPARK, SYMBOLIC
from fencepost.checker.report.formats import Form
from fencepost.checker.report.info import describe_check, write_info, write_translation
from fencepost.checker.report.several import Detail
from fencepost.checker.report.whole_run import Whole
from fencepost.checker.resources import Exhausted, WorkerKilled, roomy
from fencepost.checker.run.check import load, reached, translate
from fencepost.checker.run.cross_check import Disagreement
from fencepost.checker.run.judge import CheckResult, Exit, exit_code
from fencepost.checker.run.session import begun, missing_folders, programs
from fencepost.checker.run.settings import Request, request_of
from fencepost.checker.run.words import plural
from fencepost.checker.search.interrupts import SIGNALS, not_swallowed
from fencepost.checker.trace import itf
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.of_search import result_document
from fencepost.checker.user_key import Unusable, read_key
from fencepost.spec.elaborate.claims.program import build
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.library import is_folder, read, specs_below
from fencepost.spec.text.problem import Problem, Rejected, printable

COMMANDS = {
    name: (f"fencepost.checker.cli.{module}", name)
    for module, names in {
        "conform": ("conform",),
        "drive": ("drive",),
        "doctor": ("completion", "doctor"),
        "eval": ("eval",),
        "explore": ("explore",),
        "export": ("export",),
        "graph": ("graph",),
        "lsp": ("lsp",),
        "mutate": ("mutate",),
        "record": ("record",),
        "shipped": ("models", "new"),
        "simulate": ("simulate",),
        "sweep": ("sweep",),
        "trace": ("trace",),
    }.items()
    for name in names
}
"""Commands with modules of their own, which are loaded when they are wanted."""
KEYED = ("check", "conform", "drive", "explore", "graph", "mutate", "simulate", "sweep")
"""Commands that use the user's key, for caches or checkpoints."""
UNFORMATTED = 1
COLLECT_AFTER = 100_000
"""Garbage is looked for when this many objects are new."""


def entry() -> NoReturn:
    """The command as a process: it ends at once, whatever threads are still at work (a compiler may
    be, whose code is not needed any more) and however much memory there is to be freed.
    """
    # What is loaded by now stays, and a model is a million objects before any is garbage: looking
    # for garbage as often as Python usually does takes two fifths of the time of a small check.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    gc.enable()
    try:
        code = main()
        flush()
    except KeyboardInterrupt:
        # Another one, while the first was reported.
        code = INTERRUPTED
    except Rejected as rejected:
        code = _refuse(rejected.problems)
    os._exit(code)


@roomy
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code. No traceback reaches the user."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    take_over()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            # A stream that was put in place of Python's may not have this.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with _ending_on_request(), not_swallowed():
            code = cli.main(words, prog_name="fencepost", standalone_mode=False)
        flush()
        return code if isinstance(code, int) else Exit.OK
    except Rejected as rejected:
        return _refuse(rejected.problems)
    except click.UsageError as error:
        return _refuse([usage_problem(error)])
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    except Disagreement as disagreement:
        return _disagreement(disagreement)
    except WorkerKilled as killed:
        complain(str(killed))
        return Exit.INCONCLUSIVE
    except MemoryError:
        complain("out of memory; --memory SIZE stops a search in time")
        return Exit.INCONCLUSIVE
    except Exhausted:
        # Machine code outside a search: the command has no --memory.
        complain("out of memory")
        return Exit.INCONCLUSIVE
    except Exception as error:
        if isinstance(error, OSError | ValueError):
            try:
                # It may be click that could not write its help.
                flush()
            except Rejected as rejected:
                return _refuse(rejected.problems)
        # Whatever this is, it is our fault, and the user is spared the traceback.
        return _internal_error()


@contextmanager
def _ending_on_request() -> Generator[None]:
    """Handles SIGTERM and SIGHUP like Ctrl-C within the block."""
    ours = threading.current_thread() is threading.main_thread()
    usual = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if not ours:
        usual = []
    for number in usual:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in usual:
            signal.signal(number, signal.SIG_DFL)


@click.group(
    cls=SuggestingGroup,
    elsewhere=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
    epilog="Start with:  fencepost check kafka/verification_race",
)
@click.version_option(__version__, prog_name="fencepost", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Fencepost checks protocols: it searches every reachable state of a spec for a violated
    property, and shows the shortest way there."""
    if context.invoked_subcommand is None:
        say(context.get_help() + "\n")
    if context.invoked_subcommand in KEYED:
        key = read_key()
        if isinstance(key, Unusable):
            complain(f"note: {key}: nothing is cached, and checkpoints are not signed")


SPECS = click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=SPEC)
Paths = tuple[Path, ...]


@cli.command(
    cls=OptionalValues,
    optional=("--cross-check",),
    short_help="Search the reachable states of specs.",
    epilog=f"""\b
{topics(SYMBOLIC, LONG, SPARK)}
Example:  fencepost check race.fence --check fixed --const Verify=false
Exit code: 0 as expected, 3 inconclusive, 4 not found, 10 assumption, 11 deadlock, 12 invariant,
13 step invariant, 14 assertion, 75 evaluation error, 150 error in a spec, 151 wrong option.""",
)
@SPECS
@request_options
@click.option("--list", "listed", is_flag=True, help="List the checks, run none.")
@click.option("--trace", "trace", metavar="FILE", type=FILE, help="Save the trace (ITF JSON).")
@FORMATS
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
@click.option("-v", "--verbose", is_flag=True, help="Show every check whole, with its trace.")
@click.option("-q", "--quiet", is_flag=True, help="Show only what is not as expected.")
@click.option(
    "--trace-style",
    type=click.Choice(["full", "steps"]),
    default="full",
    help="Traces whole, or a line a step.",
)
@click.option("--summary", is_flag=True, help="Show what was slowest, largest, least covered.")
@click.option("--no-progress", "silent", is_flag=True, help="No progress on stderr.")
@click.option("--watch", "watching", is_flag=True, help="Run again what changes, until Ctrl-C.")
def check(
    specs: Paths,
    listed: bool,
    trace: Path | None,
    forms: tuple[tuple[Form, Path | None], ...],
    output: Path | None,
    verbose: bool,
    quiet: bool,
    trace_style: str,
    summary: bool,
    silent: bool,
    watching: bool,
    **values: Any,
) -> int:
    """Run the checks of each SPEC (a *.fence file, or a folder of such files)."""
    request = request_of(specs, checked(values))
    smt2: Path | None = values["smt2"]
    profile = request.settings.profile
    if listed:
        return _list(request)
    if quiet and (verbose or profile):
        louder = "--verbose" if verbose else "--profile"
        raise Rejected([Problem("F021", None, f"{louder} and --quiet cannot both be meant")])
    detail = Detail(verbose or profile, quiet, trace_style == "steps", summary)
    outputs: Outputs[Form] = outputs_of(forms, output, "text")
    for path in (*(path for _, path in outputs.files), trace, smt2):
        if path is not None:
            check_writable(path)

    def run(request: Request) -> int:
        return _run(request, outputs, detail, trace, smt2, silent)

    if watching:
        return watch(request, run, whole=bool(outputs.files or trace or smt2))
    return run(request)


def _run(
    request: Request,
    outputs: Outputs[Form],
    detail: Detail,
    trace: Path | None,
    smt2: Path | None,
    silent: bool,
) -> int:
    """One run: everything is refused first, then the checks run and are reported."""
    if detail.every:
        foreign, entries = Cache().foreign()
        if foreign:
            complain(f"note: {written_by_another_key(foreign, entries)}")
    writer = Writer(begun(request), outputs, detail)
    writer.run(Reporter(sys.stderr, live=is_terminal(sys.stderr), quiet=silent))
    writer.finish()
    if trace is not None:
        _save_trace(trace, writer.whole)
    if smt2 is not None and writer.results:
        _save_script(smt2, writer.results)
    if writer.problems:
        return _refuse(writer.problems, writer.results)
    return exit_code(writer.results)


def _list(request: Request) -> int:
    found, problems, _ = programs(request)
    page = new_page()
    for program in found:
        page.line((str(program.path), "title"))
        for one in program.runs:
            if one.name:
                page.words("  ", describe_check(one), 4)
        if not any(one.name for one in program.runs):
            page.line("  no checks: the spec as it stands")
    say(page.text())
    return _refuse(problems) if problems else Exit.OK


def _save_trace(path: Path, whole: Whole) -> None:
    chosen = whole.traced
    if chosen is None or chosen.finding is None:
        complain(f"no check found a trace: {path} is not written")
        return
    finding = chosen.finding
    assert finding.trace is not None
    why = causes(chosen.job.model, finding.trace, finding)
    replace(path, itf.dumps(result_document(chosen, finding, __version__, why)))
    complain(f"trace of {chosen.job.title} saved in {path}")


def _save_script(path: Path, results: Sequence[CheckResult]) -> None:
    """The assertions and questions put to Z3, check after check; each begins anew."""
    parts = [
        f"; {result.job.title}, engine {result.job.engine}\n(reset)\n{result.outcome.script}"
        for result in results
        if result.outcome.script is not None
    ]
    replace(path, "".join(parts))
    complain(f"questions to Z3 saved in {path}")


@cli.command(
    short_help="Show what a spec is made of.",
    epilog="\b\nExample:  fencepost info race.fence --const Verify=false",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check()
@CONSTANTS
@PATHS
def info(
    spec: Path, name: str | None, constants: tuple[tuple[str, str], ...], search: Paths
) -> int:
    """Show the variables of SPEC with their bits, how large a state and the machine code are, its
    actions, properties and constants, and how many states there are, as far as a short search can
    tell."""
    missing = missing_folders(search)
    if missing:
        raise Rejected(missing)
    program = load(spec, search)
    chosen = check_named(program, name)
    page = new_page()
    model = build(program, chosen, dict(constants))
    write_info(page, program, model, reached(model))
    write_translation(page, *translate(model, chosen))
    say(page.text())
    return Exit.OK


@cli.command(
    short_help="Format specs.",
    epilog="""\b
Example:  fencepost fmt models/ --check
Exit code: 0 done (or nothing to do), 1 with --check when a spec would change.""",
)
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, type=FILE)
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit 1 if a spec would.")
def fmt(specs: Paths, only_check: bool) -> int:
    """Rewrite each SPEC (a *.fence file, or a folder of them) in the standard layout."""
    paths = [p for spec in specs for p in (specs_below(spec) if is_folder(spec) else [spec])]
    problems: list[Problem] = []
    changed = 0
    for path in dict.fromkeys(paths):
        try:
            source = read(path)
            text = formatted(source)
            if text == source.text:
                continue
            if not only_check:
                replace(path, text)
        except Rejected as rejected:
            problems += rejected.problems
            continue
        changed += 1
        say(printable(f"{'would change' if only_check else 'formatted'} {path}") + "\n")
    if not changed and not problems:
        say(f"{plural(len(paths), 'spec')} already in the standard layout\n")
    if problems:
        return _refuse(problems)
    return UNFORMATTED if only_check and changed else Exit.OK


# ---------------------------------------------------------------- refusals


def _refuse(problems: Sequence[Problem], results: Sequence[CheckResult] = ()) -> int:
    every = list(problems)
    try:
        flush()
    except Rejected as rejected:
        every += rejected.problems
    complain("\n\n".join(str(problem) for problem in every))
    return exit_code(results, every)


def _disagreement(disagreement: Disagreement) -> int:
    """Two engines differ: a mistake of ours, of which both traces are kept."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-"))
    for result in disagreement.results:
        finding = result.finding
        if finding is not None and finding.trace is not None:
            text = itf.dumps(result_document(result, finding, __version__))
            replace(folder / f"{result.job.engine}.itf.json", text)
    what = f"{disagreement}; please report it, with the traces saved in {folder}"
    complain(f"internal error in fencepost {__version__}: {what}")
    return Exit.INTERNAL


def _internal_error() -> int:
    details = traceback.format_exc()
    if os.environ.get("FENCEPOST_TRACEBACK") == "1":
        complain(details)
        return Exit.INTERNAL
    kind, error = sys.exc_info()[:2]
    what = f"{kind.__name__ if kind else 'error'}: {error}".split("\n")[0][:200]
    saved = ""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(prefix="fencepost-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{versions()}\n{sys.argv}\n\n{details}")
        saved = f", with the details saved in {name}"
    complain(f"internal error in fencepost {__version__} ({what}); please report it{saved}")
    return Exit.INTERNAL


if __name__ == "__main__":
    entry()
