"""Each random spec elaborates, runs deterministically, and can be reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from tests.strategies import specs
from tests.strategies.modules import files, joined
from tests.support.agreement import Observed, bounded, loaded, run_of, runs_of
from tests.support.amounts import examples
from tests.support.failing_places import LOOKED_AT, PROPERTIES, growth

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.report.dot import dot
from fencepost.checker.report.html import html
from fencepost.checker.report.json import dumps, spec_object
from fencepost.checker.report.mermaid import mermaid
from fencepost.checker.report.text import write_check
from fencepost.checker.report.trace_json import trace_json
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import judge
from fencepost.checker.run.settings import Settings
from fencepost.checker.search.explain import first_impossible
from fencepost.checker.trace import itf
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.message_flights import Causes
from fencepost.checker.trace.of_search import result_document
from fencepost.checker.trace.steps import write_trace
from fencepost.spec.core import types
from fencepost.spec.core.types import Type, Value
from fencepost.spec.core.verify_model import problems
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.source import Source

FIXED = 300
"""The number of fixed specs whose verdicts are counted."""
ENGINE = "interpreter"
MOST = 400

random = examples(30)


@random
@given(specs())
def test_makes_well_formed_models(text: str) -> None:
    for run in runs_of(text):
        assert problems(run.model) == []


def test_fails_in_every_kind_of_place() -> None:
    """Every verdict occurs, and evaluation errors occur in every place where they are possible."""
    verdicts, places = growth(range(FIXED))
    wanted = {*PROPERTIES, "assume", "initially", "initial value", "where of an initial value"}
    wanted |= {"guard", "choice", "send", "change", "ghost change", LOOKED_AT}
    assert wanted - set(places) == set()
    assert {item.value for item in Verdict} - set(verdicts) == set()
    # Most specs are searched beyond their first error.
    assert sum(verdicts.values()) == FIXED
    assert FIXED / 8 < verdicts["error"] < FIXED / 3
    assert verdicts["ok"] > FIXED / 8


@random
@given(specs())
def test_runs_the_same_way_twice(text: str) -> None:
    for run in runs_of(text):
        run = bounded(run, MOST)
        assert run.by(ENGINE) == run.by(ENGINE)


def unplaced(seen: Observed) -> Observed:
    """Returns the observation without positions in the text."""
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
    for run, again in zip(runs_of(text), runs_of(shown), strict=True):
        run = replace(bounded(run, MOST), keep_going=True)
        assert unplaced(replace(run, model=again.model).by(ENGINE)) == unplaced(run.by(ENGINE))


@random
@given(specs())
def test_can_be_reported(text: str) -> None:
    read = loaded(text)
    for check in read.checks:
        run = bounded(run_of(read, check), MOST)
        model = run.model
        job = Job(read, check, model, ENGINE, run.properties, run.deadlock, run.limits, Settings())
        outcome = replace(run, keep_going=True).outcome(ENGINE)
        result = judge(job, outcome)
        page = Page()
        write_check(page, result)
        assert page.text()
        assert dumps(spec_object("random.fence", "0", [result]))
        runner = Runner(model)
        for finding in outcome.findings:
            if finding.trace is None:
                continue
            assert first_impossible(runner, finding.trace) is None
            why = causes(model, finding.trace, finding)
            assert not why.spare, "a shortest trace has no step to spare"
            if not any(variable.kind == "channel" for variable in model.variables):
                assert_all_needed(finding, why)
            document = result_document(result, finding, "0", why)
            data = itf.dumps(document)
            again = itf.read(data.encode(), "trace.itf.json")
            assert itf.dumps(again) == data
            assert rendered(again) == rendered(document)


def rendered(document: TraceDocument) -> tuple[str, ...]:
    """Returns a trace in every format."""
    page = Page()
    write_trace(page, document)
    forms = (html(document), mermaid(document), dot(document), dumps(trace_json(document)))
    return (document.about, page.text(), *forms)


def assert_all_needed(finding: Finding, why: Causes) -> None:
    """Checks that the end of a shortest trace depends on all its steps.

    A step that does not influence the end, directly or indirectly, could be left out.
    """
    if finding.property is None:
        return
    assert finding.trace is not None
    assert closure(why.needs, why.end) == set(range(1, len(finding.trace.steps)))


@random
@given(specs())
def test_the_causes_of_a_step_suffice(text: str) -> None:
    """The direct and indirect causes of a step suffice to reach the step, which then has the same
    effect.

    Models with channels are skipped, because leaving out a receive may leave too little room.
    """
    for model in (run.model for run in runs_of(text)):
        if any(variable.kind == "channel" for variable in model.variables):
            continue
        runner = Runner(model)
        steps = wandering(runner, 8)
        if len(steps) < 3:
            continue
        needs = causes(model, Trace(tuple(steps))).needs
        for last in range(1, len(steps)):
            kept = sorted({last, *closure(needs, needs[last])})
            assert same_effect(runner, steps, kept), (text, kept)


def wandering(runner: Runner, most: int) -> list[Step]:
    """Returns a walk through a model that takes varying enabled steps, preferably ones that change
    the state.
    """
    steps: list[Step] = []
    for turn in range(most):
        state = steps[-1].state if steps else None
        options = [*(runner.initial() if not steps else runner.successors(state or ()))]
        if not options or (steps and state is None):
            break
        moving = [choice for choice in options if choice.state != state] or options
        choice = moving[(turn * 5 + 3) % len(moving)]
        steps.append(Step(choice.action, choice.choices, choice.state))
        if choice.state is None:
            break
    return steps if steps and steps[0].state is not None else []


def closure(needs: Sequence[Sequence[int]], start: Sequence[int]) -> set[int]:
    """Returns the positions in ``start`` and all their causes, direct and indirect."""
    reached: set[int] = set()
    waiting = list(start)
    while waiting:
        position = waiting.pop()
        if position not in reached:
            reached.add(position)
            waiting += needs[position]
    return reached


def same_effect(runner: Runner, steps: Sequence[Step], kept: Sequence[int]) -> bool:
    """Checks whether the kept steps can be taken, and whether the last one then has the same
    effect.
    """
    state = steps[0].state
    for position in kept:
        assert state is not None
        wanted = steps[position]
        match = next(
            (
                step
                for step in runner.successors(state)
                if (step.action, step.choices) == (wanted.action, wanted.choices)
                and (step.state is None) == (wanted.state is None)
            ),
            None,
        )
        if match is None:
            return False
        if position == kept[-1] and wanted.state is not None:
            before = steps[position - 1].state
            assert before is not None
            assert match.state is not None
            changed = zip(runner.model.variables, before, wanted.state, match.state, strict=True)
            return all(
                leaves(variable.type, old, new) <= everything(variable.type, here)
                for variable, old, new, here in changed
            )
        state = match.state
    return True


def everything(kind: Type, value: Value, path: tuple[int, ...] = ()) -> set[object]:
    """Returns the values at the leaves of a value, below the keys of maps and the fields of
    records.
    """
    match kind, value:
        case types.Map(value=inner), tuple():
            parts = [(n, inner, item) for n, item in enumerate(value)]
        case types.Record(fields=fields), tuple():
            parts = [
                (n, f.type, item) for n, (f, item) in enumerate(zip(fields, value, strict=True))
            ]
        case _:
            return {(path, value)}
    return {leaf for n, kind, item in parts for leaf in everything(kind, item, (*path, n))}


def leaves(kind: Type, old: Value, new: Value) -> set[object]:
    """Returns the leaves that changed."""
    return everything(kind, new) - everything(kind, old)
