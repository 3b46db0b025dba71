"""The bounds of a search within which an `ok` holds, and which the real system may lack: full
channels, constraints, and missing initial states.

A violation may exist beyond them, so they are part of the verdict.
"""

from __future__ import annotations

from fencepost.checker.outcome import NO_INITIAL_STATE, Outcome, Verdict
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import plural
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.text.problem import listing


def within(result: CheckResult) -> tuple[str, ...]:
    """``within the capacity of net: 3 sends were blocked``; empty if no bound was reached, or if a
    larger bound would change nothing.
    """
    outcome, model = result.outcome, result.job.model
    if outcome.verdict not in (Verdict.OK, Verdict.UNREACHED):
        return ()
    if NO_INITIAL_STATE in outcome.notes:
        return ("there is no initial state, so nothing was checked",)
    bounds = [
        f"within the capacity of {name}: {plural(times, 'send')} {_were(times)} blocked"
        for name, times in _blocked(model, outcome).items()
    ]
    if outcome.coverage.cut:
        names = listing([p.title for p in model.properties if p.kind.bounds_search], "and")
        cut = outcome.coverage.cut
        verb = "lies" if cut == 1 else "lie"
        bounds.append(f"within {names}: {plural(cut, 'state')} {verb} outside")
    return tuple(bounds)


def _were(times: int) -> str:
    return "was" if times == 1 else "were"


def _blocked(model: ir.Model, outcome: Outcome) -> dict[str, int]:
    """For each channel, how often a send was blocked."""
    blocked = outcome.coverage.blocked
    counts: dict[str, int] = {}
    for action in model.actions if blocked else ():
        for node in walk(action.body):
            if isinstance(node, ir.Require) and blocked.get(node.guard):
                names = [
                    model.variables[part.index].name
                    for part in walk(node.condition)
                    if isinstance(part, ir.Variable)
                    and model.variables[part.index].kind == "channel"
                ]
                # The guard reads the size of the channel first.
                assert names, "a channel is full, and none is asked"
                counts[names[-1]] = counts.get(names[-1], 0) + blocked[node.guard]
    return counts
