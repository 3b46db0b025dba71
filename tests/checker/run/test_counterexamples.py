"""`--counterexamples N` shows the shortest counterexamples that differ in their causes, which a
brute-force search over pairs of a state and a set of actions confirms.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.checker.report.test_schema import validator
from tests.support.agreement import loaded
from tests.support.amounts import numbers
from tests.support.command import run
from tests.support.examples import RANGED, Example

import fencepost
from fencepost.checker.engines import load
from fencepost.checker.outcome import Counterexample, Outcome
from fencepost.checker.request import Limits, Progress, Request, Unsupported
from fencepost.checker.run.counterexamples import with_counterexamples
from fencepost.checker.search.explain import first_impossible
from fencepost.checker.trace.causes import causes
from fencepost.spec.core.avoiding import avoiding
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.core.verify_model import problems
from fencepost.spec.elaborate.claims.program import Check, build, select
from fencepost.spec.semantics.stepper import Runner

WAYS = """
# Three ways to a leak: an action, two steps in another order, and a lossy channel.
union Message: Ping, Reset
channel net: Message lossy at most 1 capacity 2 = [Reset]
symmetric type Node = {north, south}
var open: bool = false
var leak: bool = false
var tick: 0..3 = 0
role Valve[n: Node]:
    var turns: 0..2 = 0
    action turn:
        require turns < 2
        turns += 1
        open = turns == 2
    action drain:
        require open and tick == 0
        leak = true
role Clock:
    action beat:
        require tick < 3
        tick += 1
        if tick == 3: leak = true
    action reset on Reset from net:
        tick = 0
    action noise: open = open
action overdue:
    require net == [] and tick == 1
    leak = true
"""
PROPERTIES = {
    "invariant": "invariant Dry: not leak\n",
    "step invariant": "step invariant Dry: next(leak) implies leak\n",
    "constrained": "invariant Dry: not leak\nconstraint Slow: tick < 3\n",
}


def searched(model: Model, engine: str, wanted: int, **limits: Any) -> Outcome:
    """Searches for counterexamples of all properties of a model."""
    chosen = select(model, Check(""))
    request = Request(model, chosen, False, Limits(**limits))
    outcome = load(engine).run(request)
    return with_counterexamples(load(engine), request, outcome, wanted)


def shortest(
    model: Model, number: int, causes: Sequence[frozenset[int]]
) -> tuple[int, set[frozenset[int]]] | None:
    """Returns the length of the shortest counterexamples of a property that do not take all
    actions of any of the ``causes``, and the sets of actions that they take. Returns None if there
    are none.
    """
    runner, kind = Runner(model), model.properties[number].kind
    bounds = [n for n, prop in enumerate(model.properties) if prop.kind.bounds_search]

    def violated(before: State | None, state: State) -> bool:
        if kind.of_steps and before is None:
            return False
        return not runner.holds(number, *kind.place(before, state))

    level = {(step.state, frozenset[int]()) for step in runner.initial() if step.state is not None}
    seen = {*level}
    if any(violated(None, state) for state, _ in level):
        return 0, {frozenset()}
    length = 0
    while level:
        length += 1
        ends: set[frozenset[int]] = set()
        following: set[tuple[State, frozenset[int]]] = set()
        for state, taken in level:
            for step in runner.successors(state):
                assert step.action is not None
                now = taken | {step.action}
                if step.state is None or any(cause <= now for cause in causes):
                    continue
                if violated(state, step.state):
                    ends.add(now)
                inside = all(runner.holds(bound, step.state, None) for bound in bounds)
                if inside:
                    following.add((step.state, now))
        if ends:
            return length, ends
        level = following - seen
        seen |= level
    return None


def confirm(model: Model, outcome: Outcome, wanted: int) -> None:
    """Compares the counterexamples of an outcome with a brute-force search."""
    first = outcome.findings[0]
    assert first.property is not None
    found: list[Counterexample] = [*outcome.counterexamples]
    assert found[0].finding == first
    so_far: list[frozenset[int]] = []
    for counterexample in found:
        trace = counterexample.finding.trace
        assert trace is not None
        assert first_impossible(Runner(model), trace) is None
        assert counterexample.finding.property == first.property
        best = shortest(model, first.property, so_far)
        assert best is not None
        length, sets = best
        assert len(trace.steps) - 1 == length
        assert {step.action for step in trace.steps} - {None} in sets
        assert not any(cause <= counterexample.cause for cause in so_far)
        why = causes(model, trace, counterexample.finding)
        needed = {s.action for n, s in enumerate(trace.steps) if n and n not in why.spare}
        assert needed == counterexample.cause
        so_far.append(counterexample.cause)
    complete = frozenset() in so_far or len(found) == wanted
    assert complete or shortest(model, first.property, so_far) is None
    if len(found) < wanted:
        assert any(f"{len(found)} of {wanted} counterexamples" in note for note in outcome.notes)


def agreed(model: Model, wanted: int) -> Outcome:
    """Returns the outcome of the interpreter. The engine `local` gives the same counterexamples
    with any number of workers.
    """
    outcome = searched(model, "interpreter", wanted)
    for workers in (1, 3):
        other = searched(model, "local", wanted, workers=workers)
        assert other.counterexamples == outcome.counterexamples
    return outcome


@pytest.mark.parametrize("declared", PROPERTIES.values(), ids=PROPERTIES)
def test_the_counterexamples_of_a_spec(declared: str) -> None:
    model = build(loaded(WAYS + declared), None, {})
    outcome = agreed(model, 9)
    assert len(outcome.counterexamples) > 2
    lengths = [entry.finding.depth for entry in outcome.counterexamples]
    assert lengths == sorted(lengths)
    confirm(model, outcome, 9)


def random_spec(number: int) -> str:
    """Returns a spec of switches. Each action needs some of them and changes others."""
    chance = random.Random(number)
    switches = [f"s{n}" for n in range(5)]
    text = "".join(f"var {name}: bool = {str(not n).lower()}\n" for n, name in enumerate(switches))
    for action in range(chance.randint(3, 6)):
        needed = [
            name if chance.random() < 0.6 else f"not {name}"
            for name in chance.sample(switches, chance.randint(0, 2))
        ]
        text += f"action a{action}:\n"
        text += f"    require {' and '.join(needed)}\n" if needed else ""
        for name in chance.sample(switches, chance.randint(1, 2)):
            values = ("true", "true", "false", chance.choice(switches))
            text += f"    {name} = {chance.choice(values)}\n"
    last = " and ".join(chance.sample(switches, chance.randint(1, 3)))
    return f"{text}invariant I: not ({last})\n"


def test_the_counterexamples_of_random_specs() -> None:
    several = 0
    for number in numbers(25):
        model = build(loaded(random_spec(number)), None, {})
        outcome = searched(model, "interpreter", 4)
        if outcome.findings:
            several += len(outcome.counterexamples) > 1
            confirm(model, outcome, 4)
        if number % 8 == 0:
            agreed(model, 4)
    assert several > 2


@pytest.mark.parametrize(
    "example",
    [e for e in RANGED if e.verdict == "violated"],
    ids=lambda example: example.name,
)
def test_the_counterexamples_of_the_examples(example: Example) -> None:
    """The first counterexample is the one that is reported without the option."""
    model = build(loaded(example.text), None, {})
    if model.symbols:
        return
    try:
        outcome = searched(model, "interpreter", 3)
    except Unsupported:
        return
    plain = load("interpreter").run(Request(model, select(model, Check("")), False, Limits()))
    assert plain.findings == outcome.findings
    if outcome.counterexamples:
        confirm(model, outcome, 3)


def test_an_interrupt_keeps_the_counterexamples_before_it() -> None:
    model = build(loaded(WAYS + PROPERTIES["invariant"]), None, {})
    request = Request(model, select(model, Check("")), False)
    engine = load("interpreter")
    first = engine.run(request)

    def interrupt(progress: Progress) -> None:
        assert progress.remark == "counterexample 2"
        raise KeyboardInterrupt

    with mock.patch("fencepost.checker.search.limits.PROGRESS_SECONDS", -1.0):
        outcome = with_counterexamples(engine, replace(request, progress=interrupt), first, 3)
    assert outcome.interrupted
    assert [entry.finding for entry in outcome.counterexamples] == [*first.findings]
    note = "1 of 3 counterexamples: the search for the next one was interrupted."
    assert note in outcome.notes


def test_the_model_of_a_search_for_another_one_is_valid() -> None:
    model = build(loaded(WAYS + PROPERTIES["invariant"]), None, {})
    for sets in ([frozenset({0})], [frozenset({0, 2}), frozenset({2, 3, 4})]):
        assert problems(avoiding(model, sets)) == []


# ---------------------------------------------------------------- what is reported

CHECKED = f"{WAYS}{PROPERTIES['invariant']}check c:\n    expect violated Dry\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.fence").write_text(CHECKED, encoding="utf-8")
    return tmp_path


def test_text_shows_them_side_by_side(folder: Path) -> None:
    ran = run("check", "s.fence", "--counterexamples", "3", folder=folder)
    assert ran.code == 0
    assert "  3 counterexamples with different causes\n" in ran.stdout
    lines = ran.stdout.splitlines()
    heads = next(n for n, line in enumerate(lines) if line.startswith("  1: "))
    assert "2: " in lines[heads]
    assert any(line.startswith("  3: ") for line in lines[heads:])
    # The first counterexample is shown in full above, and its steps again in the first column.
    title = next(line for line in lines if line.startswith("  2  "))
    assert any(line.startswith(title) for line in lines[heads:])


def test_json_has_them_all(folder: Path) -> None:
    ran = run("check", "s.fence", "--counterexamples", "9", "--format", "json", folder=folder)
    report = json.loads(ran.stdout)
    validator().validate(report)
    (check,) = report["checks"]
    several = check["counterexamples"]
    assert several[0]["trace"] == check["trace"]
    assert len({tuple(entry["cause"]) for entry in several}) == len(several) > 2
    assert [entry["depth"] for entry in several] == [len(entry["trace"]) for entry in several]
    result = fencepost.check(folder / "s.fence", counterexamples=9)
    assert len(result.first.outcome.counterexamples) == len(several)


def test_a_page_has_a_column_for_each(folder: Path) -> None:
    words = ("--counterexamples", "3", "--format", "html=o.html")
    assert run("check", "s.fence", *words, folder=folder).code == 0
    page = (folder / "o.html").read_text("utf-8")
    section = page.partition('<section id="counterexamples">')[2].partition("</section>")[0]
    assert section.count("<th>") == 3
    assert "3 counterexamples with different causes" in section
    run("check", "s.fence", "--format", "html=o.html", folder=folder)
    assert '<section id="counterexamples">' not in (folder / "o.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "words", "note"),
    [
        ("invariant I: x != 0", (), "the property is violated in an initial state"),
        ("invariant I: x < 2", (), "the cause of every other one contains one of those shown"),
        ("invariant I: x < 2", ("--depth", "2"), "the search for the next one was cut by --depth"),
        ("invariant I: x < 2", ("--max-states", "3"), "was cut by --max-states 3"),
        ("invariant I: x < 2 or not enabled(up)", (), "tests which actions are enabled"),
        ("property P: eventually x == 9", (), "only invariants, step invariants and refinements"),
        ("invariant I: x >= 0", (), "only invariants, step invariants and refinements"),
    ],
)
def test_a_note_says_why_there_are_fewer(
    tmp_path: Path, text: str, words: tuple[str, ...], note: str
) -> None:
    spec = (
        "var x: 0..3 = 0\nvar y: 0..9 = 0\naction up:\n    require x < 3\n    x += 1\n"
        f"action slow:\n    require y < 9\n    y += 1\n{text}\n"
    )
    if note.startswith("the search") or "max-states" in note:
        spec = spec.replace("    y += 1\n", "    y += 1\n    x = if y == 9 then 2 else 0\n")
    (tmp_path / "s.fence").write_text(spec, encoding="utf-8")
    ran = run("check", "s.fence", "--counterexamples", "4", *words, folder=tmp_path)
    assert note in " ".join(ran.stdout.split()), ran.stdout
    assert "side" not in ran.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "bmc", "--depth", "3"), "no meaning for the engine bmc"),
        (("--engine", "induction"), "no meaning for the engine induction"),
        (
            ("--engine", "spark"),
            "--counterexamples is for the engines local, interpreter and evaluator",
        ),
        (("--continue",), "leave out --continue"),
        (("--counterexamples", "0"), '"0" is not an integer from 1 to 100'),
    ],
)
def test_refusals(folder: Path, words: tuple[str, ...], message: str) -> None:
    ran = run("check", "s.fence", "--counterexamples", "2", *words, folder=folder)
    assert (ran.code, message in ran.stderr) == (151, True), ran


def test_a_comparison_of_engines_ignores_them(folder: Path) -> None:
    words = ("--counterexamples", "2", "--cross-check=interpreter")
    ran = run("check", "s.fence", *words, folder=folder)
    assert ran.code == 0
    assert "Cross-check: interpreter agrees" in ran.stdout
    assert "2 counterexamples with different causes" in ran.stdout
