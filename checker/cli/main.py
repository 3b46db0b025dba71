"""The command `fencepost`. It calls the subcommands, and converts exceptions to messages and exit
codes.
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
from typing import NoReturn

import click

from fencepost import __version__
from fencepost.checker.cli import INTERRUPTED
from fencepost.checker.cli.atomic_files import replace
from fencepost.checker.cli.options import (
    SuggestingGroup,
    usage_problem,
)
from fencepost.checker.cli.terminal import WIDTH, complain, flush, refuse, say, take_over, versions
from fencepost.checker.resources import Exhausted, WorkerKilled, roomy
from fencepost.checker.run.cross_check import Disagreement
from fencepost.checker.run.judge import Exit
from fencepost.checker.search.interrupts import SIGNALS, not_swallowed
from fencepost.checker.trace import itf
from fencepost.checker.trace.of_search import result_document
from fencepost.checker.user_key import Unusable, read_key
from fencepost.spec.text.problem import Rejected

COMMANDS = {
    name: (f"fencepost.checker.cli.{module}", name)
    for module, names in {
        "check": ("check",),
        "info": ("info",),
        "fmt": ("fmt",),
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
"""The subcommands and the modules that define them, which are imported on demand."""
KEYED = ("check", "conform", "drive", "explore", "graph", "mutate", "simulate", "sweep")
"""The subcommands that use the user's key for caches or checkpoints."""
COLLECT_AFTER = 100_000
"""The number of new objects after which the garbage collector runs."""


def entry() -> NoReturn:
    """Runs the command and ends the process at once. Does not free memory or wait for background
    threads, such as a compiler whose code is no longer needed.
    """
    # Loaded modules and models live until the process ends. With Python's default thresholds,
    # collections take 40 % of the time of a small check.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    gc.enable()
    try:
        code = main()
        flush()
    except KeyboardInterrupt:
        # The user interrupted again while the first interrupt was being reported.
        code = INTERRUPTED
    except Rejected as rejected:
        code = refuse(rejected.problems)
    os._exit(code)


@roomy
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit code. Reports every exception without a traceback,
    unless the environment variable FENCEPOST_TRACEBACK is set to 1.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    take_over()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            # A replacement for a stream may lack this method.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with _ending_on_request(), not_swallowed():
            code = cli.main(words, prog_name="fencepost", standalone_mode=False)
        flush()
        return code if isinstance(code, int) else Exit.OK
    except Rejected as rejected:
        return refuse(rejected.problems)
    except click.UsageError as error:
        return refuse([usage_problem(error)])
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
        # This comes from machine code outside a search, where --memory has no effect.
        complain("out of memory")
        return Exit.INCONCLUSIVE
    except Exception as error:
        if isinstance(error, OSError | ValueError):
            try:
                # The error may come from click while it was writing its help.
                flush()
            except Rejected as rejected:
                return refuse(rejected.problems)
        # Any other exception is a bug in Fencepost.
        return _internal_error()


@contextmanager
def _ending_on_request() -> Generator[None]:
    """Handles SIGTERM and SIGHUP like Ctrl-C within the block."""
    ours = threading.current_thread() is threading.main_thread()
    default_signals = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if not ours:
        default_signals = []
    for number in default_signals:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in default_signals:
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
    """Fencepost checks protocols: it searches all reachable states of a spec for a violation of a
    property, and shows a shortest trace to it."""
    if context.invoked_subcommand is None:
        say(context.get_help() + "\n")
    if context.invoked_subcommand in KEYED:
        key = read_key()
        if isinstance(key, Unusable):
            complain(f"note: {key}: nothing is cached, and checkpoints are not signed")


# ---------------------------------------------------------------- refusals


def _disagreement(disagreement: Disagreement) -> int:
    """Reports that two engines disagree, which is a bug in Fencepost, and saves both traces."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-"))
    for result in disagreement.results:
        finding = result.finding
        if finding is not None and finding.trace is not None:
            text = itf.dumps(result_document(result, finding, __version__))
            replace(folder / f"{result.job.engine}.itf.json", text)
    message = f"{disagreement}; please report it, with the traces saved in {folder}"
    complain(f"internal error in fencepost {__version__}: {message}")
    return Exit.INTERNAL


def _internal_error() -> int:
    details = traceback.format_exc()
    if os.environ.get("FENCEPOST_TRACEBACK") == "1":
        complain(details)
        return Exit.INTERNAL
    kind, error = sys.exc_info()[:2]
    summary = f"{kind.__name__ if kind else 'error'}: {error}".split("\n")[0][:200]
    saved = ""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(prefix="fencepost-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{versions()}\n{sys.argv}\n\n{details}")
        saved = f", with the details saved in {name}"
    complain(f"internal error in fencepost {__version__} ({summary}); please report it{saved}")
    return Exit.INTERNAL


if __name__ == "__main__":
    entry()
