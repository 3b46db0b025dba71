"""The command `fencepost graph`, which draws the state graph of a small model."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import broken, check_named, concrete, loaded
from fencepost.checker.cli.options import (
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    at_least,
    one_check,
    shared_option,
)
from fencepost.checker.cli.terminal import complain, say
from fencepost.checker.report.graph import graph_dot, graph_html, summary
from fencepost.checker.run.judge import Exit
from fencepost.checker.search.state_graph import TooLarge
from fencepost.checker.tools.state_graph import state_graph
from fencepost.spec.text.problem import Problem, Rejected

DEFAULT_STATES = 500
"""The default maximum number of states."""
MAX_DRAWN = 5000
FIRST = ((None, "this happens in an initial state, so there is no graph"),)


@click.command(
    short_help="Draw the state graph of a small spec.",
    epilog="\b\nExample:  fencepost graph jugs.fence --as html --output jugs.html",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@click.option(
    "--as", "form", type=click.Choice(["dot", "html"]), default="dot", help="Output format."
)
@one_check()
@CONSTANTS
@PATHS
@shared_option("--max-states", type=at_least(1, MAX_DRAWN), help="Maximum number of states (500).")
@click.option("--output", metavar="FILE", type=FILE, help="Write the graph to a file.")
def graph(
    spec: Path,
    form: str,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    max_states: int | None,
    output: Path | None,
) -> int:
    """Draw all reachable states of SPEC and the steps between them, level by level. Mark states
    that violate an invariant, deadlock, or have a step that fails."""
    if output is not None:
        check_writable(output)
    program = loaded(spec, search)
    check = check_named(program, name)
    model = concrete(program, check, dict(constants))
    limit = max_states or DEFAULT_STATES
    if (code := broken(model)) is not None:
        return code
    try:
        reachable = state_graph(model, limit)
    except TooLarge:
        message = f"{spec} has more than {limit:,} states, which is too many for a useful graph"
        notes = (
            (None, "--check NAME or --const K=V may make it smaller"),
            (None, f"--max-states N draws up to {MAX_DRAWN:,}"),
        )
        raise Rejected([Problem("F042", None, message, notes)]) from None
    if reachable.failures:
        # If an initial state fails, the graph has no vertices.
        problems = [
            Problem(site.code, site.span, site.message, FIRST) for site in reachable.failures
        ]
        complain(str(Rejected(problems)))
        return Exit.EVALUATION
    if not reachable.vertices:
        complain("there is no initial state, so the graph is empty")
    shown = f"{spec}, {check.name}" if check is not None else str(spec)
    drawn = graph_html(reachable, shown) if form == "html" else graph_dot(reachable)
    if output is None:
        say(drawn)
    else:
        replace(output, drawn)
        complain(f"{summary(reachable)} written to {output}")
    return Exit.OK
