"""Random specs: each is understood, runs the same way every time, and can be shown.

``FENCEPOST_EXAMPLES`` is the number of specs per test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from tests.agreement import Observed, bounded, loaded, observed, outcome
from tests.strategies import specs
from tests.strategies.modules import files, joined

from fencepost.checker.causes import causes
from fencepost.checker.exchanges import Causes
from fencepost.checker.reference.runner import Runner
from fencepost.checker.report import itf, itf_reading
from fencepost.checker.report.dot import dot
from fencepost.checker.report.html import html
from fencepost.checker.report.json import dumps, spec_object
from fencepost.checker.report.mermaid import mermaid
from fencepost.checker.report.page import Page
from fencepost.checker.report.steps import write_trace
from fencepost.checker.report.text import write_check
from fencepost.checker.report.trace_json import trace_json
from fencepost.checker.result import Finding
from fencepost.checker.run import Job, Settings, judge
from fencepost.checker.trace import first_impossible
from fencepost.spec import program
from fencepost.spec.ir import Model
from fencepost.spec.legal import problems
from fencepost.spec.parse import parse
from fencepost.spec.program import Check
from fencepost.spec.show import formatted
from fencepost.spec.source import Source

EXAMPLES = int(os.environ.get("FENCEPOST_EXAMPLES", "100"))
ENGINE = "interpreter"
MOST = 400

random = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def models(text: str) -> Iterator[tuple[Check, Model]]:
    """The checks of a spec, each with its model."""
    read = loaded(text)
    for check in read.checks:
        yield check, program.build(read, check)


@random
@given(specs())
def test_makes_well_formed_models(text: str) -> None:
    for _, model in models(text):
        assert problems(model) == []


@random
@given(specs())
def test_runs_the_same_way_twice(text: str) -> None:
    for check, model in models(text):
        limits = bounded(ENGINE, model, check, MOST)
        once = observed(ENGINE, model, check, limits)
        assert observed(ENGINE, model, check, limits) == once


def unplaced(seen: Observed) -> Observed:
    """What was observed, but for places in the text."""
    return replace(
        seen,
        findings=tuple(
            replace(
                finding,
                failing=None,
                site=finding.site and (finding.site[0], None, (), finding.site[3]),
            )
            for finding in seen.findings
        ),
    )


@random
@given(specs())
def test_means_the_same_when_formatted(text: str) -> None:
    pretty: dict[str, str] = {}
    for name, part in files(text).items():
        pretty[name] = once = formatted(Source("random.fence", part))
        assert parse(Source("random.fence", once)) == parse(Source("random.fence", part))
        assert formatted(Source("random.fence", once)) == once
    shown = joined(pretty)
    for (check, model), (other, again) in zip(models(text), models(shown), strict=True):
        limits = bounded(ENGINE, model, check, MOST)
        seen = observed(ENGINE, model, check, limits, keep_going=True)
        assert unplaced(observed(ENGINE, again, other, limits, keep_going=True)) == unplaced(seen)


@random
@given(specs())
def test_can_be_reported(text: str) -> None:
    read = loaded(text)
    for check, model in models(text):
        limits = bounded(ENGINE, model, check, MOST)
        deadlock = check.verdict != "violated"
        properties = program.select(model, check)
        job = Job(read, check, model, ENGINE, properties, deadlock, limits, Settings())
        found = outcome(ENGINE, model, check, limits, keep_going=True)
        result = judge(job, found)
        page = Page()
        write_check(page, result)
        assert page.text()
        assert dumps(spec_object("random.fence", "0", [result]))
        runner = Runner(model)
        for finding in found.findings:
            if finding.trace is None:
                continue
            assert first_impossible(runner, finding.trace) is None
            why = causes(model, finding.trace, finding)
            assert not why.spare, "a shortest trace has no step to spare"
            if not any(variable.kind == "channel" for variable in model.variables):
                assert_all_needed(finding, why)
            data = itf.dumps(itf.trace_object(result, finding, "0", why)).encode()
            recording = itf_reading.read(data, "trace.itf.json")
            assert recording.about
            write_trace(page, recording.trace)
            assert html(recording)
            assert mermaid(recording)
            assert dot(recording)
            assert dumps(trace_json(recording))


def assert_all_needed(finding: Finding, why: Causes) -> None:
    """Steps that the end does not need, directly or not, could be left out of the trace; where
    the trace is a shortest one there are none.
    """
    if finding.property is None or not why.end:
        return
    needed: set[int] = set()
    waiting = list(why.end)
    while waiting:
        position = waiting.pop()
        if position not in needed:
            needed.add(position)
            waiting += why.needs[position]
    assert finding.trace is not None
    assert needed == set(range(1, len(finding.trace.steps)))
