"""Runs of the engines with a solver, compared with the interpreter's."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.agreement import site_of

from fencepost.checker.engines import load
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Limits, Request, Solving, Unsupported
from fencepost.checker.search.reconstruct import first_impossible
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner

MOST_STATES = 3_000
SECONDS = 20.0
REFUSED, CUT, AGREES = "refused", "cut", "agrees"
Told = tuple[str, int, object, int | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of both."""

    model: Model
    properties: frozenset[int]
    depth: int
    deadlock: bool = True
    keep_going: bool = False

    def by(self, name: str, depth: int, k: int = 1, seconds: float = SECONDS) -> Outcome:
        return load(name).run(
            Request(
                self.model,
                properties=self.properties,
                deadlock=self.deadlock,
                limits=Limits(
                    depth=depth,
                    max_states=MOST_STATES if name == "interpreter" else None,
                    timeout=seconds,
                    solving=Solving(k=k),
                ),
                keep_going=self.keep_going,
            )
        )


def told(finding: Finding) -> Told:
    """What two engines must agree on in a problem."""
    site = None if finding.site is None else site_of(finding.site)
    return finding.verdict.value, finding.depth, site, finding.property


def real(outcome: Outcome) -> list[Finding]:
    """The problems, but for reachables that were not met, which say nothing up to a depth."""
    return [finding for finding in outcome.findings if finding.verdict is not Verdict.UNREACHED]


def agreed(asked: Asked) -> str:
    """Bounded model checking finds what the interpreter finds in as many steps: every problem, at
    the same depth and place, and the same reachables. What it came to: one of the words above.
    """
    explicit = asked.by("interpreter", asked.depth)
    try:
        symbolic = asked.by("bmc", asked.depth)
    except Unsupported:
        return REFUSED
    for one in (explicit, symbolic):
        # Both go to a depth; beside a problem the depth stands in `cut` alone.
        if one.cut is not None and one.cut.kind != "depth":
            return CUT
    known = [told(finding) for finding in real(explicit)]
    found = [told(finding) for finding in real(symbolic)]
    # Whether a state of the last level may end there, bmc asks and a search by levels does not, for
    # that takes another step (docs/symbolic.md): with one more it has to say the same.
    last = [one for one in found if one not in known]
    if last:
        assert all(depth == asked.depth + 1 for _, depth, _, _ in last), f"{known}\nbmc: {found}"
        further = [told(finding) for finding in real(asked.by("interpreter", asked.depth + 1))]
        known += [one for one in further if one in last]
    assert known == found, f"interpreter: {known}\nbmc: {found}"
    for finding in real(symbolic):
        if finding.trace is not None and finding.trace.steps[-1].state is not None:
            assert first_impossible(Runner(asked.model), finding.trace) is None
            assert len(finding.trace.steps) == finding.depth
    if not known:
        wanted, met = explicit.coverage.reached, symbolic.coverage.reached
        assert wanted == met, f"reached: {wanted} and {met}"
    return AGREES


def proved(asked: Asked, k: int = 1, seconds: float = SECONDS) -> str:
    """What induction proves holds in every state that the interpreter visits, and what its base
    case finds is there.
    """
    try:
        outcome = asked.by("induction", 1, k, seconds)
    except Unsupported:
        return REFUSED
    searched = Asked(asked.model, asked.properties, 0, asked.deadlock, True).by("interpreter", 40)
    findings = real(searched)
    if outcome.findings:
        known = {told(finding) for finding in findings}
        first = real(outcome)[:1]
        assert all(told(one) in known for one in first) or searched.cut or (
            # Going on, the interpreter ends at the first error.
            findings and findings[0].verdict in (Verdict.ERROR, Verdict.ASSERTION)
            and findings[0].depth <= first[0].depth
        ), f"induction: {[told(one) for one in first]}\ninterpreter: {known}"  # fmt: skip
        return outcome.verdict.value
    if outcome.verdict is Verdict.OK:
        assert not findings, f"induction: ok\ninterpreter: {[told(one) for one in findings]}"
        return "proved"
    claimed = {proof.subject: proof for proof in outcome.proofs if proof.reason is None}
    verdicts = {finding.verdict for finding in findings}
    numbers = {proof.property for proof in claimed.values() if proof.property is not None}
    broken = {finding.property for finding in findings if finding.property is not None}
    assert not broken & numbers, f"proved and broken: {broken & numbers}"
    assert not ("no deadlock" in claimed and Verdict.DEADLOCK in verdicts)
    assert not ("no failed assertion" in claimed and Verdict.ASSERTION in verdicts)
    return "part" if claimed else "nothing"
