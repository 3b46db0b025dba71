"""The command `fencepost eval`, which prints the value of an expression in the initial states or in
a state of a trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from fencepost.checker.cli.models import broken, check_named, concrete, loaded, warn
from fencepost.checker.cli.options import (
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    at_least,
    one_check,
    refuse_exchanged,
)
from fencepost.checker.cli.terminal import complain, new_page, say
from fencepost.checker.cli.trace import content
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.words import plural
from fencepost.checker.tools.replay import replay
from fencepost.checker.trace import itf
from fencepost.checker.trace.document import TraceDocument
from fencepost.spec.core.ir import Model
from fencepost.spec.core.open_ranges import NO_RANGES
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Program, build
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Problem, Rejected


@click.command(
    short_help="Evaluate an expression in a state.",
    epilog="""\b
Example:  fencepost eval race.fence "len(Leader.log)" --trace race.itf.json --step 7
Exit code: 0 the expression has a value, 75 evaluation error.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@click.argument("expression", metavar="EXPRESSION")
@one_check()
@CONSTANTS
@PATHS
@click.option("--trace", "trace", metavar="FILE", type=FILE, help="Use a state of this trace.")
@click.option(
    "--step", metavar="N", type=at_least(0), help="Number of the step (default: the last)."
)
def eval(
    spec: Path,
    expression: str,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    trace: Path | None,
    step: int | None,
) -> int:
    """Print the value of EXPRESSION in the initial states of SPEC, or in a state of a saved trace.
    EXPRESSION may use everything that a property may use."""
    refuse_exchanged("eval", spec, expression, spec_first=True)
    if step is not None and trace is None:
        notes = ((None, "--trace FILE names a trace that `fencepost check --trace` has saved"),)
        raise Rejected([Problem("F021", None, "--step is a state of a trace", notes)])
    document = None if trace is None else itf.read(content(trace), str(trace))
    program = loaded(spec, search)
    name = name or _check_of(program, document)
    check, overrides = check_named(program, name), dict(constants)
    plain = concrete(program, check, overrides)
    if (code := broken(plain)) is not None:
        return code
    model = build(program, check, overrides, expression, of_any_type=True, ranges=NO_RANGES)
    warn(warning for warning in model.warnings if warning not in plain.warnings)
    if document is None:
        return _tell(model, _initial(plain))
    return _tell(model, _states_of(plain, document, str(trace), step))


def _check_of(program: Program, document: TraceDocument | None) -> str | None:
    """Returns the name of the check that a trace belongs to. Returns None if the spec does not have
    this check.
    """
    names = [check.name for check in program.runs if check.name]
    return document.check if document is not None and document.check in names else None


def _initial(model: Model) -> list[State]:
    states: dict[State, None] = {}
    for start in Runner(model).initial():
        if start.failure is not None:
            site = model.sites[start.failure.site]
            raise Rejected([Problem(site.code, site.span, site.message)])
        if start.state is not None:
            states[start.state] = None
    return list(states)


def _states_of(model: Model, document: TraceDocument, file: str, step: int | None) -> list[State]:
    """Returns the possible states after a step of a trace. Step 0 is the initial state, and None
    means the last completed step.
    """
    last = len(document.steps) - 1
    if step is None:
        step = last if document.steps[-1].data is not None else max(0, last - 1)
    if step > last:
        raise Rejected([Problem("F021", None, f"--step {step}: {file} has {plural(last, 'step')}")])
    done = replay(model, document.steps[: step + 1])
    if done.misfit is not None:
        position = done.misfit.position
        message = f"{file} does not fit the spec at step {position}: {done.misfit.reason}"
        raise Rejected([Problem("F021", None, message)])
    if not done.states:
        raise Rejected([Problem("F021", None, f"--step {step}: that step fails without a state")])
    return list(dict.fromkeys(done.states))


def _tell(model: Model, states: Sequence[State]) -> int:
    """Prints the distinct values of the expression in these states. Returns the exit code."""
    runner, expression = Runner(model), model.properties[-1]
    values: Counter[str] = Counter()
    failed: Counter[int] = Counter()
    for state in states:
        try:
            values[show(runner.value(expression.body, {}, state, None), expression.body.type)] += 1
        except EvaluationError as error:
            failed[error.site] += 1
    page = new_page()
    for text, count in values.items():
        alone = count == len(states)
        page.line(text, ("" if alone else f"   in {count:,} of {len(states):,} states", "dim"))
    if not states:
        page.line(("there is no initial state", "warn"))
    say(page.text())
    for number in failed:
        site = model.sites[number]
        complain(str(Problem(site.code, site.span, site.message)))
    return Exit.EVALUATION if failed else Exit.OK
