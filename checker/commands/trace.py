"""`fencepost trace`: saved traces, shown and replayed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from fencepost.checker.files import check_writable, replace
from fencepost.checker.options import SuggestingGroup
from fencepost.checker.report import itf_reading
from fencepost.checker.report.dot import dot
from fencepost.checker.report.html import html
from fencepost.checker.report.itf import dumps
from fencepost.checker.report.mermaid import mermaid
from fencepost.checker.report.page import Page
from fencepost.checker.report.steps import write_trace
from fencepost.checker.report.trace_json import trace_json
from fencepost.checker.run import Exit
from fencepost.checker.terminal import complain, new_page, say, width
from fencepost.spec.problem import Problem, Rejected, suggestion

MOST_DRAWN = 2000
"""Steps of a trace that is drawn; a picture of more is of no use, and slow."""
FORMS = ("text", "html", "mermaid", "dot", "itf", "json")


@click.group(cls=SuggestingGroup, invoke_without_command=True, short_help="Look at saved traces.")
@click.pass_context
def trace(context: click.Context) -> None:
    """Look at traces saved by `fencepost check --trace FILE`."""
    if context.invoked_subcommand is None:
        say(context.get_help() + "\n")


@trace.command(
    short_help="Print a trace file.",
    epilog="\b\nExample:  fencepost trace show race.itf.json",
)
@click.argument("file", metavar="FILE", type=Path)
@click.option("--as", "form", type=click.Choice(FORMS), default="text", help="The form.")
@click.option("--output", metavar="FILE", type=Path, help="Write to a file.")
def show(file: Path, form: str, output: Path | None) -> int:
    """Print a trace in Apalache's Informal Trace Format: as text, the way `check` prints its own,
    as a sequence diagram (html, mermaid, dot), or as data (itf, json)."""
    if output is not None:
        check_writable(output)
    data = content(file)
    made = _made(data, str(file), form, output is None)
    if output is None:
        say(made)
    else:
        replace(output, made)
        complain(f"written to {output}")
    return Exit.OK


def _made(data: bytes, name: str, form: str, shown: bool) -> str:
    recording = itf_reading.read(data, name)
    steps = len(recording.trace.steps)
    if form in ("html", "mermaid", "dot") and steps > MOST_DRAWN:
        what = f"{name} has {steps:,} states, and at most {MOST_DRAWN:,} are drawn as {form}"
        notes = ((None, "--as text and --as json show a trace of any length"),)
        raise Rejected([Problem("F040", None, what, notes)])
    match form:
        case "html":
            return html(recording)
        case "mermaid":
            return mermaid(recording)
        case "dot":
            return dot(recording)
        case "itf":
            return dumps(itf_reading.normal(data, name))
        case "json":
            return dumps(trace_json(recording))
        case _:
            page = new_page() if shown else Page(width())
            page.line((recording.about, "title"))
            page.blank()
            write_trace(page, recording.trace)
            return page.text()


def content(file: Path) -> bytes:
    """What is in a trace file, as far as it would be read; raises `Rejected`."""
    try:
        with file.open("rb") as opened:
            return opened.read(itf_reading.MOST_BYTES + 1)
    except OSError as error:
        near = [str(file.with_name(p)) for p in _siblings(file)]
        hint = suggestion(str(file), near) if not file.exists() else ""
        what = f"cannot read {file}: {error.strerror or 'the system refuses'}{hint}"
        raise Rejected([Problem("F026", None, what)]) from None


def _siblings(file: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(file.parent))[:1000]
    return []
