"""The command `fencepost trace`, which shows, replays and compares saved traces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias, assert_never, get_args

import click

from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import check_named, concrete, loaded
from fencepost.checker.cli.options import (
    ALLOW_READ,
    CONFIGS,
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    SuggestingGroup,
    one_check,
    refuse_exchanged,
)
from fencepost.checker.cli.terminal import complain, new_page, say, width
from fencepost.checker.printing.json_values import written
from fencepost.checker.printing.page import Page
from fencepost.checker.report.compared import difference_json, write_difference
from fencepost.checker.report.dot import dot
from fencepost.checker.report.html import html
from fencepost.checker.report.labels import MAX_DRAWN
from fencepost.checker.report.mermaid import mermaid
from fencepost.checker.report.replayed import differing, write_document, write_replayed
from fencepost.checker.report.scenario import scenario
from fencepost.checker.report.trace_json import trace_json
from fencepost.checker.run.judge import Exit
from fencepost.checker.tools.replay import difference, replay, variables
from fencepost.checker.trace import itf
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.value_tree import text
from fencepost.spec.core import spelling
from fencepost.spec.core.ir import Model
from fencepost.spec.core.open_ranges import NO_RANGES
from fencepost.spec.elaborate.claims.program import build
from fencepost.spec.text import inputs
from fencepost.spec.text.library import MODULE_SUFFIX, SUFFIX, absence
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

MAX_NAMED = 6
Form: TypeAlias = Literal["text", "html", "mermaid", "dot", "itf", "json", "scenario"]
"""The output formats for a trace."""


@click.group(
    cls=SuggestingGroup,
    invoke_without_command=True,
    short_help="Show, replay or compare saved traces.",
)
@click.pass_context
def trace(context: click.Context) -> None:
    """Show, replay or compare traces saved by `fencepost check --trace FILE`."""
    if context.invoked_subcommand is None:
        say(context.get_help() + "\n")


@trace.command(
    short_help="Print or convert a trace.",
    epilog="\b\nExample:  fencepost trace show race.itf.json --as html --output race.html",
)
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--as", "form", type=click.Choice(get_args(Form)), default="text", help="Output format."
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the output to a file.")
def show(file: Path, form: Form, output: Path | None) -> int:
    """Print a trace in Apalache's Informal Trace Format: as text in the form of `fencepost check`,
    as a sequence diagram (html, mermaid, dot), as data (itf, json), or as a scenario for the
    spec."""
    if output is not None:
        check_writable(output)
    data = content(file)
    rendered = _made(itf.read(data, str(file)), str(file), form, output is None)
    if output is None:
        say(rendered)
    else:
        replace(output, rendered)
        complain(f"written to {output}")
    return Exit.OK


@trace.command(
    "replay",
    short_help="Replay a trace on a spec.",
    epilog="""\b
Example:  fencepost trace replay race.itf.json race.fence
Exit code: 0 the trace fits the spec, 4 it does not.""",
)
@click.argument("file", metavar="FILE", type=FILE)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check()
@CONSTANTS
@PATHS
@CONFIGS
@ALLOW_READ
def replay_command(
    file: Path,
    spec: Path,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    configs: tuple[Path, ...],
    readable: tuple[Path, ...],
) -> int:
    """Replay the steps of FILE on the current SPEC. If a step is not possible, report it and the
    guard that is false. The constants are those of the check in the trace unless --check or --const
    is given."""
    refuse_exchanged("trace replay", spec, file, spec_first=False)
    data = content(file)
    document = itf.read(data, str(file))
    program = loaded(spec, search, configs)
    names = [check.name for check in program.runs if check.name]
    lost = name is None and document.check != "" and document.check not in names
    check = check_named(program, name or (None if lost else document.check or None))
    overrides = dict(constants)
    if spec.suffix != MODULE_SUFFIX:
        whole = build(program, check, overrides, ranges=NO_RANGES)
        overrides = {**_symbolic(whole, document), **overrides}
    model = concrete(program, check, overrides, readable)
    done = replay(model, document.steps, document.property_name, document.loop)
    page = new_page()
    shown = f"{spec}, {check.name}" if check is not None else str(spec)
    write_replayed(page, (str(file), shown), model, document, done)
    if lost:
        page.words("  ", f"the spec no longer has the check {document.check}", 4, "warn")
    own_constants = [
        (constant.path, spelling.show(constant.value, constant.type))
        for constant in model.constants
    ]
    for line in differing(document, own_constants):
        page.words("  ", line, 4, "warn")
    say(page.text())
    return Exit.OK if done.misfit is None and done.violated is not False else Exit.NOT_FOUND


@trace.command(
    short_help="Show the first difference between two traces.",
    epilog="""\b
Example:  fencepost trace diff before.itf.json after.itf.json
Exit code: 0 the traces agree, 4 they differ.""",
)
@click.argument("first", metavar="A", type=FILE)
@click.argument("second", metavar="B", type=FILE)
@click.option(
    "--as", "form", type=click.Choice(("text", "json")), default="text", help="Output format."
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the output to a file.")
def diff(first: Path, second: Path, form: str, output: Path | None) -> int:
    """Compare two traces of one spec, and show the first step that differs in its action, its
    choices or its resulting state, the following steps of each trace, and their results."""
    if output is not None:
        check_writable(output)
    left, right = (itf.read(content(file), str(file)) for file in (first, second))
    names = str(first), str(second)
    _comparable(names, left, right)
    parting = difference(left, right)
    if form == "json":
        rendered = written(difference_json(names, parting), 1)
    else:
        page = new_page() if output is None else Page(width())
        write_difference(page, names, parting)
        rendered = page.text()
    if output is None:
        say(rendered)
    else:
        replace(output, rendered)
        complain(f"written to {output}")
    return Exit.OK if parting.parting is None else Exit.NOT_FOUND


def _comparable(names: tuple[str, str], left: TraceDocument, right: TraceDocument) -> None:
    """Raises `Rejected` if the traces cannot be compared."""
    both = [*zip(names, (left, right), strict=True)]
    for name, document in both:
        if not document.steps:
            raise Rejected([Problem("F870", None, f"{name} has no states to compare")])
    variable_names = [variables(document) for _, document in both]
    # Traces without a completed step have no variables, but their failures can be compared.
    if all(variable_names) and not set(variable_names[0]) & set(variable_names[1]):
        rows = [
            (None, f"{name}{f' of {document.source}' if document.source else ''} has {_some(own)}")
            for (name, document), own in zip(both, variable_names, strict=True)
        ]
        message = (
            f"{names[0]} and {names[1]} are of different specs: they have no variable in common"
        )
        raise Rejected([Problem("F870", None, message, tuple(rows))])


def _some(names: Sequence[str]) -> str:
    shown = [*names[:MAX_NAMED], *(["others"] if len(names) > MAX_NAMED else [])]
    return listing(shown, "and")


def _symbolic(model: Model, document: TraceDocument) -> dict[str, str]:
    """Returns the values that the trace has for the model's symbolic constants."""
    saved = document.constants
    return {
        symbol.path: text(saved[symbol.path].tree)
        for symbol in model.symbols
        if symbol.path in saved
    }


def _made(document: TraceDocument, name: str, form: Form, shown: bool) -> str:
    steps = len(document.steps)
    if form in ("html", "mermaid", "dot") and steps > MAX_DRAWN:
        message = f"{name} has {steps:,} states, but at most {MAX_DRAWN:,} are drawn as {form}"
        notes = ((None, "--as text and --as json show a trace of any length"),)
        raise Rejected([Problem("F040", None, message, notes)])
    match form:
        case "html":
            return html(document)
        case "mermaid":
            return mermaid(document)
        case "dot":
            return dot(document)
        case "itf":
            return itf.dumps(document)
        case "scenario":
            if document.source.endswith(MODULE_SUFFIX):
                message = f"{name} is a trace of a TLA+ module, which has no scenarios"
                raise Rejected([Problem("F052", None, message)])
            return scenario(document, name)
        case "json":
            return written(trace_json(document), 1)
        case "text":
            page = new_page() if shown else Page(width())
            write_document(page, document)
            return page.text()
        case _:
            assert_never(form)


def content(file: Path) -> bytes:
    """Reads a trace file. Raises `Rejected` if it cannot be read or is too large."""
    if file.suffix in (SUFFIX, MODULE_SUFFIX) and os.path.exists(file):
        raise Rejected([Problem("F028", None, f"{file} is a spec, not a saved trace")])
    try:
        return inputs.content(file, inputs.Kind.TRACE)
    except OSError as error:
        message = f"cannot read {file}: {error.strerror or 'the system refuses'}"
        if isinstance(error, FileNotFoundError):
            near = [] if file.is_symlink() else [str(file.with_name(n)) for n in _siblings(file)]
            message = f"{absence(file)}{suggestion(str(file), near)}"
        raise Rejected([Problem("F026", None, message)]) from None


def _siblings(file: Path) -> list[str]:
    with suppress(OSError):
        names = sorted(os.listdir(file.parent))[:1000]
        return [name for name in names if os.path.exists(file.with_name(name))]
    return []
