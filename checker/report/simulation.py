"""The report on random runs, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.outcome import INTERRUPTED
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report.assurance import Remark, of_runs
from fencepost.checker.report.json import check_object
from fencepost.checker.report.text import took, write_finding, write_remarks
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found, plural
from fencepost.checker.simulate.runs import Choosing, SimulationResult

HOW: dict[Choosing, str] = {
    "actions": "an action by its weight, then any of its steps",
    "steps": "any step by the weight of its action",
    "rare": "an action, preferably a rarely possible one, then any of its steps",
}


def write_simulation(page: Page, result: CheckResult, simulated: SimulationResult) -> None:
    """Writes the report on the runs of one check."""
    outcome, model = simulated.outcome, result.job.model
    seconds = took(outcome.statistics)
    declared = result.job.check.span is not None
    if outcome.findings:
        where = "" if simulated.run is None else f" in run {simulated.run:,}"
        verdict, style = f"{found(model, outcome)}{where}", "good" if result.as_expected else "bad"
        if declared:
            verdict += ", as expected" if result.as_expected else ", NOT as expected"
    else:
        verdict, style = "inconclusive: no problem was found", "warn"
    sums = f"{plural(simulated.runs, 'run')}, {plural(simulated.steps, 'step')}, {seconds}"
    page.line((result.job.title, "title"), "  ", (verdict, style), "   ", (sums, "dim"))
    if result.explanation and declared and (outcome.findings or result.job.check.verdict != "ok"):
        page.words("  ", result.explanation, 2, style)
    for finding in outcome.findings:
        page.blank()
        write_finding(page, result, finding)
        page.blank()
    write_remarks(page, [*_of_walks(simulated), *of_runs(result)])


def _of_walks(simulated: SimulationResult) -> Iterator[Remark]:
    """Yields remarks on how much was examined and on how the runs were chosen."""
    outcome, plan = simulated.outcome, simulated.plan
    statistics = outcome.statistics
    if not simulated.runs:
        why = "interrupted" if outcome.cut == INTERRUPTED else "no run was begun"
        yield Remark("simulated", f"nothing: {'no run was needed' if outcome.findings else why}")
        return
    most = plural(plan.depth, "step")
    cut = ""
    if outcome.cut is not None and outcome.cut.kind != "runs":
        cut = f", then {outcome.cut}" if outcome.cut == INTERRUPTED else f", cut by {outcome.cut}"
    message = f"{plural(simulated.runs, 'run')} of at most {most}, from seed {plan.seed}{cut}"
    if not outcome.findings:
        message += "; a run without problems proves nothing"
    yield Remark("simulated", message, routine=bool(outcome.findings))
    examined = (
        f"{plural(statistics.generated, 'successor')} of the states on the paths, about "
        f"{plural(statistics.distinct, 'distinct state')}"
    )
    yield Remark("looked at", examined, routine=True)
    if simulated.judged is not None:
        states = plural(simulated.judged.states, "state")
        where = f"those that go round among {states} of {plural(simulated.judged.runs, 'run')}"
        yield Remark("behaviours", where, routine=True)
    yield Remark("chosen", HOW[plan.choosing], routine=True)
    if simulated.left:
        left = f"{plural(simulated.left, 'run')} before that, in states without successors"
        yield Remark("ended", left, routine=True)
    if outcome.findings and outcome.findings[0].depth < simulated.walked:
        steps = plural(simulated.walked - 1, "step")
        yield Remark("shortened", f"the run found it after {steps}", routine=True)


def simulation_object(
    result: CheckResult, simulated: SimulationResult, version: str
) -> dict[str, Json]:
    """Returns the JSON report, with the fields that it shares with checks and those about the
    runs.
    """
    plan, statistics = simulated.plan, simulated.outcome.statistics
    whole = check_object(result)
    shared = (
        "name", "workers", "expected", "verdict", "as_expected", "property", "seconds", "times",
        "peak_bytes", "trace",
    )  # fmt: skip
    notes: list[Json] = [
        f"{remark.topic}: {remark.text}" for remark in (*_of_walks(simulated), *of_runs(result))
    ]
    return {
        "spec": str(result.job.program.path),
        "version": version,
        **{name: whole[name] for name in shared if name in whole},
        "seed": plan.seed,
        "depth": plan.depth,
        "choosing": plan.choosing,
        "runs": simulated.runs,
        "steps": simulated.steps,
        "looked_at": statistics.generated,
        "distinct_estimate": statistics.distinct,
        "ended": simulated.left,
        "run": simulated.run,
        "walked": simulated.walked,
        "taken": {
            action.name: count
            for action, count in zip(
                result.job.model.actions, simulated.outcome.coverage.taken, strict=True
            )
        },
        "notes": notes,
    }
