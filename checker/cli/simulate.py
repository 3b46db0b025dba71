"""The command `fencepost simulate`, which follows random runs of a model until one of them finds a
problem.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.mapped import mapped_model
from fencepost.checker.cli.models import (
    check_meant,
    loaded,
    no_symbols,
    refuse_without_behaviour,
    warn,
)
from fencepost.checker.cli.options import (
    ALLOW_READ,
    CONFIGS,
    CONSTANTS,
    FILE,
    INVARIANTS,
    PATHS,
    SPEC,
    at_least,
    one_check,
    shared_option,
)
from fencepost.checker.cli.progress import Reporter
from fencepost.checker.cli.terminal import complain, is_terminal, new_page, say, versions, width
from fencepost.checker.outcome import Outcome
from fencepost.checker.printing.page import Page
from fencepost.checker.report import json
from fencepost.checker.report.simulation import simulation_object, write_simulation
from fencepost.checker.request import Limits, Unsupported
from fencepost.checker.run.check import is_module, not_supported, prepare
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult, Exit, judge_runs
from fencepost.checker.run.range_search import searched
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import plural
from fencepost.checker.search.interrupts import deferred
from fencepost.checker.simulate.runs import (
    CHOOSING,
    DEFAULT_DEPTH,
    DEFAULT_WEIGHT,
    MAX_WEIGHT,
    Choosing,
    Plan,
    SimulationResult,
)
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.random_runs import RecordedRuns, Recorder
from fencepost.checker.trace import itf
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.of_search import result_document
from fencepost.spec.core.ir import Model
from fencepost.spec.text.library import MODULE_SUFFIX, short_name
from fencepost.spec.text.problem import Problem, Rejected, listing, printable, suggestion

DEFAULT_SECONDS = 10.0
DEFAULT_RECORDED = 100
MAX_DEPTH = 1_000_000
MAX_SEED = (1 << 63) - 1


def weight(text: str) -> tuple[str, int]:
    """Reads ``Client.begin=50`` as a pair of a name and a weight."""
    name, equals, number = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f'"{text}" is not of the form ACTION=WEIGHT')
    return name.strip(), at_least(0, MAX_WEIGHT)(number)


_RUNS = {
    False: "fencepost.checker.simulate.simulation",
    True: "fencepost.checker.simulate.module_runs",
}
"""The modules that perform the runs of specs, and of TLA+ modules."""


@click.command(
    short_help="Check random runs of a spec.",
    epilog="""\b
Example:  fencepost simulate race.fence --check race --runs 10_000
Exit code: 0 the expected violation, 3 no violation found (one may exist), 10 assumption,
11 deadlock, 12 invariant, 13 step invariant, 14 assertion, 75 evaluation error; 150, 151 as
`fencepost check`.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check("Simulate this check.")
@CONSTANTS
@INVARIANTS
@PATHS
@CONFIGS
@ALLOW_READ
@click.option("--seed", metavar="S", type=at_least(0, MAX_SEED), help="Random seed (1).")
@shared_option("--depth", type=at_least(1, MAX_DEPTH), help="Maximum steps per run (100).")
@click.option("--runs", metavar="N", type=at_least(1), help="Stop after N runs.")
@shared_option("--timeout", help="Stop after 90s, 5m, 1h (10s without --runs).")
@click.option(
    "--choose",
    type=click.Choice(CHOOSING),
    default=CHOOSING[0],
    help="Choose a random action, then a step of it; a random step; or prefer rare actions.",
)
@click.option(
    "--weight",
    "weights",
    metavar="A=W",
    multiple=True,
    type=weight,
    help="Set the weight of an action (16).",
)
@shared_option("--workers", help="Threads (default: one per core).")
@click.option("--trace", "trace", metavar="FILE", type=FILE, help="Save the trace (ITF JSON).")
@click.option(
    "--record", metavar="FILE", type=FILE, help="Save the runs as a recording, without checking."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the report.",
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
@click.option("--no-progress", "quiet", is_flag=True, help="Hide progress on stderr.")
def simulate(
    spec: Path,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    invariants: tuple[str, ...],
    search: tuple[Path, ...],
    configs: tuple[Path, ...],
    readable: tuple[Path, ...],
    seed: int | None,
    depth: int | None,
    runs: int | None,
    timeout: float | None,
    choose: str,
    weights: tuple[tuple[str, int], ...],
    workers: int | None,
    trace: Path | None,
    record: Path | None,
    form: str,
    output: Path | None,
    quiet: bool,
) -> int:
    """Follow random runs of SPEC and check every successor of their states until a property is
    violated. Violations are real, but their absence proves nothing."""
    for path in (output, trace, record):
        if path is not None:
            check_writable(path)
    if record is not None:
        flags = {
            "--invariant": invariants, "--trace": trace, "--output": output, "--workers": workers,
            "--format json": form == "json", "--choose rare": choose == "rare",
        }  # fmt: skip
        for option, value in flags.items():
            if value:
                message = f"{option} has no meaning with --record, which does not check"
                raise Rejected([Problem("F021", None, message)])
        if spec.suffix == MODULE_SUFFIX:
            message = "fencepost simulate --record does not read TLA+ modules"
            raise Rejected([Problem("F052", None, message)])
        program = loaded(spec, search)
        mapped = mapped_model(program, check_meant(program, name), dict(constants))
        if not isinstance(mapped, MappedModel):
            return mapped
        recorded = RecordedRuns(
            1 if seed is None else seed,
            depth or DEFAULT_DEPTH,
            _runs_recorded(mapped, runs),
            "steps" if choose == "steps" else "actions",
            _weights(mapped.model, weights),
            DEFAULT_WEIGHT,
        )
        return _record(mapped, recorded, timeout, record)
    if timeout is None and runs is None:
        timeout = DEFAULT_SECONDS
    program = loaded(spec, search, configs)
    limits = Limits(depth, None, timeout, None, workers)
    engine = "evaluator" if is_module(program) else "local"
    settings = Settings(
        dict(constants), invariants, engine, limits, configs=configs, readable=readable
    )
    job = prepare(program, check_meant(program, name), settings)
    no_symbols(job.model)
    refuse_without_behaviour(program, job.model)
    warn(job.model.warnings)
    plan = Plan(
        1 if seed is None else seed,
        job.limits.depth or DEFAULT_DEPTH,
        runs,
        cast(Choosing, choose),
        _weights(job.model, weights),
    )
    job, simulated = _made(job, plan, quiet)
    result = judge_runs(job, simulated.outcome)
    _tell(result, simulated, form == "json", output)
    if trace is not None:
        _save(trace, result)
    return result.exit


def _runs_recorded(mapped: MappedModel, runs: int | None) -> int:
    """Returns the number of runs to record. A recording without a key holds one run. Raises
    `Rejected` if the user requests more.
    """
    recording = mapped.recording
    if recording.key is not None:
        return runs or DEFAULT_RECORDED
    if runs not in (None, 1):
        message = f"--runs {runs}: without `key` a recording holds one history"
        raise Rejected([Problem("F863", recording.span, message)])
    return 1


def _record(mapped: MappedModel, plan: RecordedRuns, seconds: float | None, path: Path) -> Exit:
    """Writes random runs to a file. Stops when there are enough runs or when the time is over."""
    until = math.inf if seconds is None else time.monotonic() + seconds
    recordings = [*Recorder(mapped, plan).runs(lambda: time.monotonic() < until)]
    replace(path, "".join(f"{line}\n" for lines in recordings for line in lines))
    silent = sum(not lines for lines in recordings)
    more = f" ({silent:,} of them show nothing)" if silent else ""
    events = plural(sum(map(len, recordings)), "event")
    say(printable(f"recorded {plural(len(recordings), 'run')}{more}, {events}: {path}") + "\n")
    return Exit.OK


def _weights(model: Model, choices: Sequence[tuple[str, int]]) -> tuple[int, ...]:
    """Returns the weight of each action. The name of a role selects all actions of the role. Raises
    `Rejected` if no action has a given name.
    """
    names = [action.name for action in model.actions]
    weights = [DEFAULT_WEIGHT] * len(names)
    for name, number in choices:
        matching = [
            n for n, action in enumerate(names) if action == name or action.startswith(f"{name}.")
        ]
        if not matching:
            message = f'--weight: there is no action "{name}"{suggestion(name, names)}'
            notes = ((None, f"the actions are {listing(names, 'and')}"),)
            raise Rejected([Problem("F021", None, message, notes)])
        for index in matching:
            weights[index] = number
    return tuple(weights)


def _made(job: Job, plan: Plan, quiet: bool) -> tuple[Job, SimulationResult]:
    reporter = Reporter(sys.stderr, live=is_terminal(sys.stderr), quiet=quiet)
    reporter.start(job.title)
    # The module is imported here because other commands do not need a compiler.
    with deferred():
        runs = import_module(_RUNS[job.model.is_opaque])
    results: list[SimulationResult] = []

    def simulated(job: Job) -> Outcome:
        results.append(runs.simulate(job.request(reporter), plan))
        return results[-1].outcome

    try:
        job, outcome = searched(job, simulated)
        return job, dataclasses.replace(results[-1], outcome=outcome)
    except Unsupported as unsupported:
        instead = '"fencepost check --engine interpreter" searches it'
        problem = not_supported(
            job.engine, Unsupported(str(unsupported), unsupported.span, instead)
        )
        raise Rejected([problem]) from None
    finally:
        reporter.stop()


def _tell(
    result: CheckResult, simulated: SimulationResult, as_json: bool, output: Path | None
) -> None:
    if as_json:
        text = json.dumps(simulation_object(result, simulated, __version__))
    else:
        page = new_page() if output is None else Page(width())
        write_simulation(page, result, simulated)
        page.blank()
        page.line((f"{versions()}; again: {_again(result.job, simulated.plan)}", "dim"))
        text = page.text()
    if output is None:
        say(text)
    else:
        replace(output, text)


def _again(job: Job, plan: Plan) -> str:
    """Returns the command line that repeats these runs."""
    words = ["fencepost", "simulate", short_name(job.program.path)]
    words += ["--check", job.check.name] if job.check.name else []
    for name, value in job.settings.overrides.items():
        words += ["--const", f"{name}={value}"]
    for name in job.settings.invariants:
        words += ["--invariant", name]
    for option in ("--config", "--allow-read"):
        for path in job.settings.given.get(option, ()):
            words += [option, str(path)]
    words += ["--seed", str(plan.seed), "--depth", str(plan.depth)]
    words += ["--runs", str(plan.runs)] if plan.runs is not None else []
    if job.limits.timeout is not None:
        words += ["--timeout", f"{job.limits.timeout:g}"]
    words += ["--choose", plan.choosing] if plan.choosing != CHOOSING[0] else []
    for action, number in zip(job.model.actions, plan.weights, strict=True):
        words += ["--weight", f"{action.name}={number}"] if number != DEFAULT_WEIGHT else []
    return shlex.join(words)


def _save(path: Path, result: CheckResult) -> None:
    finding = result.finding
    if finding is None or finding.trace is None:
        complain(f"no run found a problem: {path} is not written")
        return
    why = causes(result.job.model, finding.trace, finding)
    replace(path, itf.dumps(result_document(result, finding, __version__, why)))
    complain(f"trace of {result.job.title} saved in {path}")
