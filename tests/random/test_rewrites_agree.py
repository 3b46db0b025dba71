"""A spec and the same spec in other words do the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from tests.strategies import specs
from tests.support.agreement import (
    Observed,
    ObservedFinding,
    ObservedStep,
    assert_same,
    bounded,
    loaded,
    observed,
)
from tests.support.amounts import examples
from tests.support.rewriting import RULES, rewritten

from fencepost.spec.elaborate.claims import program

ENGINE = "interpreter"
MOST = 400


def reworded(seen: Observed, added: int = 0) -> Observed:
    """What does not depend on the words; ``added`` variables at the front are left out."""
    return replace(
        seen,
        findings=tuple(_reworded(finding, added) for finding in seen.findings),
        marks=(),
        blocked=(),
        stuck_trace=_steps(seen.stuck_trace, added),
    )


def _reworded(finding: ObservedFinding, added: int) -> ObservedFinding:
    site = finding.site and (finding.site[0], None, (), "")
    trace = _steps(finding.trace, added)
    return replace(finding, site=site, instance=(), failing=None, blocked=(), trace=trace)


def _steps(trace: tuple[ObservedStep, ...] | None, added: int) -> tuple[ObservedStep, ...] | None:
    return trace and tuple(replace(s, state=s.state and s.state[added:]) for s in trace)


def assert_means_the_same(text: str, rule: str) -> None:
    """Both wordings of the spec are observed to do the same in every check."""
    read = loaded(text)
    other = rewritten(read, RULES[rule])
    for check in read.checks:
        model, again = program.build(read, check), program.build(other, check)
        limits = bounded(ENGINE, model, check, MOST)
        wanted = reworded(observed(ENGINE, model, check, limits, keep_going=True))
        found = reworded(observed(ENGINE, again, check, limits, keep_going=True), added=1)
        if rule == "stepwise" and any(one.verdict == "error" for one in wanted.findings):
            # A choice that failed as a whole, because of one element, is now one for each.
            assert _outlines(wanted) == _outlines(found), text
            continue
        assert_same(wanted, found, f"{rule}, check {check.name!r}, {limits}:\n{text}")


def _outlines(seen: Observed) -> list[tuple[str, int]]:
    return [(finding.verdict, finding.depth) for finding in seen.findings]


@pytest.mark.parametrize("rule", RULES)
def test_random_specs(rule: str) -> None:
    @examples(20)
    @given(specs(modules=False))
    def agrees(text: str) -> None:
        assert_means_the_same(text, rule)

    agrees()
