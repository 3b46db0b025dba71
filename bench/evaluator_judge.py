"""Judges exported modules with the evaluator of TLA+, in the place of TLC.

A spec that is exported and read back must have the verdict, the counts and the traces of the spec.
So the export and the evaluator are held to the interpreter, without Java.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.tlc_run import Answer, Broken, Ended, TimedOut
from fencepost.checker import engines
from fencepost.checker.evaluator.program import ENGINE, load
from fencepost.checker.outcome import Finding, Verdict
from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.run.check import prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export.module import Export
from fencepost.spec.core.ir import Model
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.text.problem import Rejected

_VIOLATED: dict[PropertyKind, Ended] = {
    PropertyKind.INVARIANT: "invariant",
    PropertyKind.STEP_INVARIANT: "step",
    PropertyKind.REFINEMENT: "start",
    PropertyKind.BEHAVIOUR: "behaviour",
}
_ENDED: dict[Verdict, Ended] = {
    Verdict.OK: "ok",
    Verdict.DEADLOCK: "deadlock",
    Verdict.ASSUMPTION: "assumption",
    Verdict.ASSERTION: "error",
    Verdict.ERROR: "error",
}
_ASSERTED = re.compile(r"(?:assertion|evaluation error): .*")


@dataclass(frozen=True, slots=True)
class EvaluatorJudge:
    """The evaluator. A run takes at most ``patience`` seconds."""

    patience: float = 60.0

    def run(self, exported: Export) -> Answer:
        """Returns the evaluator's answer for a module. Raises `Broken`."""
        with tempfile.TemporaryDirectory(prefix="fencepost-read-back-") as folder:
            for name, text in exported.files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            try:
                program = load(Path(folder, f"{exported.name}.tla"), (), ())
                job = prepare(program, program.checks[0], Settings(engine=ENGINE))
            except Rejected as rejected:
                raise Broken(f"refused: {rejected.problems}") from None
            outcome = engines.load(ENGINE).run(
                Request(
                    job.model,
                    properties=job.properties,
                    deadlock=job.deadlock,
                    limits=Limits(timeout=self.patience, workers=1),
                    progress=_ignore,
                )
            )
        if outcome.verdict is Verdict.INCONCLUSIVE:
            raise TimedOut(f"no answer within {self.patience:g} s")
        counts = outcome.statistics
        finding = outcome.findings[0] if outcome.findings else None
        ended, name = _ended(job.model, outcome.verdict, finding)
        message = finding.site.message if finding is not None and finding.site is not None else ""
        asserted = _ASSERTED.search(message)
        return Answer(
            ended,
            counts.distinct,
            counts.generated,
            counts.depth,
            None if finding is None else _length(finding),
            name,
            message,
            asserted and asserted[0],
        )


def _ended(model: Model, verdict: Verdict, finding: Finding | None) -> tuple[Ended, str]:
    """Returns how the run ended, and the name of a violated property."""
    if verdict is not Verdict.VIOLATED:
        return _ENDED[verdict], ""
    assert finding is not None
    assert finding.property is not None
    prop = model.properties[finding.property]
    return _VIOLATED[prop.kind], re.split(r"!| \(", prop.name)[0]


def _length(finding: Finding) -> int | None:
    """Returns the number of states in a trace. TLC shows none for an error in an initial state."""
    steps = finding.trace.steps if finding.trace is not None else ()
    return sum(step.state is not None for step in steps) or None


def _ignore(_: Progress) -> None:
    """Does not show the progress."""
