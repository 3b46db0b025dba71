"""Examples of temporal properties: formulas, fairness, and the reported lassos.

Each engine that decides such properties runs every example.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest
from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import model_of
from tests.support.amounts import numbers
from tests.support.comparisons import behaviour_run, formula_of
from tests.support.text_tables import blocks

from fencepost.checker.engines import load
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Limits, Request, Unsupported
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso, genuine
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

ENGINES = ("interpreter", "local")
"""The engines that decide temporal properties; `bmc` searches for lassos of bounded length."""


def decided(text: str, engine: str, limits: Limits | None = None) -> tuple[Model, Outcome]:
    """Returns the outcome for all properties of a spec, without the deadlock check."""
    model = model_of(dedent(text))
    chosen = frozenset(n for n, prop in enumerate(model.properties) if prop.kind.selectable)
    workers = replace(limits or Limits(), workers=1)
    return model, load(engine).run(Request(model, chosen, deadlock=False, limits=workers))


def lasso_of(finding: Finding) -> Lasso:
    """Returns the lasso of a finding."""
    assert finding.trace is not None
    loop = finding.trace.loop
    assert loop is not None
    states: list[State] = [step.state for step in finding.trace.steps if step.state is not None]
    if loop == len(states) - 1:
        return Lasso(tuple(states), ())
    return Lasso(tuple(states[:loop]), tuple(states[loop:]))


def shown(text: str, engine: str) -> str:
    """Returns ``ok``, or the values of the first variable along the lasso: ``0 1 (2 1)`` for
    repeated steps, ``0 1 (1)`` for stuttering.

    The evaluator must accept the lasso, too.
    """
    model, outcome = decided(text, engine)
    if outcome.verdict is Verdict.OK:
        return "ok"
    assert outcome.verdict is Verdict.VIOLATED, outcome
    (finding,) = outcome.findings
    assert finding.property is not None
    formula = model.properties[finding.property].formula
    assert formula is not None
    lasso = lasso_of(finding)
    assert genuine(Runner(model), formula, lasso)
    kind = model.variables[0].type
    stem = " ".join(show(state[0], kind) for state in lasso.stem)
    cycle = " ".join(show(state[0], kind) for state in lasso.cycle or lasso.stem[-1:])
    return f"{stem} ({cycle})"


BLOCKS = blocks(Path(__file__).with_name("behaviours.txt"))
EXAMPLES = {block.name: (block.text, *block.expected) for block in BLOCKS}
"""Each spec with the values of its first variable along the lasso, or "ok"."""
COUNTER = """
var x: 0..3 = 0
{}action up:
    require x < 3
    x += 1
{}action again:
    require x == 3
    x = 0
property P: {}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("up", "again", "formula", "expected"),
    [
        # Without fairness, nothing must happen.
        ("", "", "eventually x == 1", "0 (0)"),
        ("fair ", "", "eventually x == 3", "ok"),
        ("fair ", "", "always eventually x == 0", "0 1 2 3 (3)"),
        ("fair ", "fair ", "always eventually x == 0", "ok"),
        ("fair ", "fair ", "eventually always x == 0", "0 (1 2 3 0)"),
        ("fair ", "fair ", "always x < 3", "0 (1 2 3 0)"),
        ("fair ", "fair ", "x < 3 until x == 3", "ok"),
        ("fair ", "fair ", "x < 2 until x == 3", "0 (1 2 3 0)"),
        ("fair ", "", "x == 1 leads to x == 3", "ok"),
        ("fair ", "", "x == 3 leads to x == 1", "0 1 2 3 (3)"),
        ("fair ", "fair ", "x == 3 leads to x == 3", "ok"),
        ("fair ", "fair ", "forall n in 0..3: always eventually x == n", "ok"),
        ("fair ", "", "forall n in 0..3: always eventually x == n", "0 1 2 3 (3)"),
        ("fair ", "", "exists n in 0..3: eventually always x == n", "0 (1 2 3 0)"),
        ("fair ", "fair ", "exists n in 0..3: eventually always x == n", "0 (1 2 3 0)"),
        ("fair ", "", "(eventually x == 3) implies always x != 2", "0 1 2 3 (3)"),
        ("fair ", "", "(always x == 0) iff (eventually x == 1)", "0 (1 2 3 0)"),
        ("", "", "(always eventually x == 3) implies always eventually x == 0", "0 1 2 3 (3)"),
        ("", "fair ", "(always eventually x == 3) implies always eventually x == 0", "ok"),
        ("", "", "not eventually (x == 2 and eventually x == 1)", "0 1 2 3 0 1 (1)"),
    ],
)
def test_formulas(engine: str, up: str, again: str, formula: str, expected: str) -> None:
    lasso = shown(COUNTER.format(up, again, formula), engine)
    assert lasso == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(engine: str, name: str) -> None:
    text, expected = EXAMPLES[name]
    assert shown(text, engine) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_bounded_model_checking(name: str) -> None:
    """Bounded model checking finds a lasso exactly if there is one."""
    text, expected = EXAMPLES[name]
    model, outcome = decided(text, "bmc", Limits(depth=4))
    if expected == "ok":
        assert outcome.verdict in (Verdict.INCONCLUSIVE, Verdict.OK)
        return
    (finding,) = outcome.findings
    assert finding.property is not None
    formula = model.properties[finding.property].formula
    assert formula is not None
    assert genuine(Runner(model), formula, lasso_of(finding))


@pytest.mark.parametrize("engine", [*ENGINES, "bmc"])
def test_a_unit_enabled_only_across_a_constraint(engine: str) -> None:
    text = """
        var x: 0..3 = 0
        fair action up:
            require x < 3
            x += 1
        constraint: x <= 1
        property P: eventually x == 3
    """
    _, outcome = decided(text, engine, Limits(depth=9))
    # The fair step from x == 1 leaves the constraint, and the rest of the behaviour is unknown.
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert str(outcome.cut) == "a constraint"


WITHIN = [name for name, (text, _) in EXAMPLES.items() if "within constraint" in text]


@pytest.mark.parametrize("engine", [*ENGINES, "bmc"])
@pytest.mark.parametrize("name", WITHIN)
def test_without_the_words_only_a_violation_counts(engine: str, name: str) -> None:
    text, expected = EXAMPLES[name]
    _, bounded = decided(text, engine, Limits(depth=9))
    _, outcome = decided(text.replace(" within constraint", ""), engine, Limits(depth=9))
    if expected == "ok":
        assert not outcome.findings
        assert outcome.cut_by_constraint or str(outcome.cut) == str(bounded.cut) == "--depth 9"
    else:
        assert [*map(lasso_of, outcome.findings)] == [*map(lasso_of, bounded.findings)] != []


def test_the_words_are_an_assumption_about_all_states() -> None:
    """A property within a constraint means the same as an implication in the model without the
    constraint.
    """
    verdicts = Counter[str]()
    texts = [text for name, (text, _) in EXAMPLES.items() if name in WITHIN]
    texts += (text for seed in numbers(400) if "within c" in (text := behaviour_spec(Random(seed))))
    for text in texts:
        bounds = re.findall(r"^constraint\b.*?: (.*)\n", text, re.M)
        whole = re.sub(r"^constraint\b.*\n", "", text, flags=re.M)
        antecedent = f"property P: (always ({' and '.join(bounds)})) implies"
        whole = re.sub(r"property P within constraint: (.*)", rf"{antecedent} (\1)", whole)
        _, ours = decided(text, "interpreter")
        _, theirs = decided(whole, "interpreter")
        if Verdict.ERROR in (ours.verdict, theirs.verdict):
            # States outside the constraint may fail.
            continue
        assert ours.verdict is theirs.verdict, text
        verdicts[ours.verdict.value] += 1
    assert min(verdicts["violated"], verdicts["ok"]) > 5


@pytest.mark.parametrize("engine", [*ENGINES, "bmc"])
@pytest.mark.parametrize(
    ("fairness", "formula", "noted"),
    [("fair ", "eventually x == 3", True), ("", "always x < 3", False)],
)
def test_a_property_is_vacuous_if_no_fair_behaviour_stays_inside(
    engine: str, fairness: str, formula: str, noted: bool
) -> None:
    text = f"""
        var x: 0..3 = 0
        {fairness}action up: x += 1
        constraint: x < 2
        property P within constraint: {formula}
    """
    _, outcome = decided(text, engine, Limits(depth=9))
    assert outcome.verdict is Verdict.OK
    note = "No fair behaviour stays within the constraints, so property P is vacuous."
    assert (note in outcome.notes) is noted


@pytest.mark.parametrize("engine", ENGINES)
def test_limits_never_give_ok(engine: str) -> None:
    text = COUNTER.format("fair ", "fair ", "eventually x == 3")
    for limits in (Limits(depth=2), Limits(max_states=3)):
        _, outcome = decided(text, engine, limits)
        assert outcome.verdict is Verdict.INCONCLUSIVE
    _, outcome = decided(text, engine, Limits(depth=4))
    assert outcome.verdict is Verdict.OK


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lasso_within_a_limit_counts(engine: str) -> None:
    text = COUNTER.format("", "", "eventually x == 3")
    _, outcome = decided(text, engine, Limits(depth=1))
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.findings[0].depth == outcome.statistics.depth == 1


@pytest.mark.parametrize("engine", [*ENGINES, "bmc"])
def test_other_problems_take_precedence(engine: str) -> None:
    text = COUNTER.format("", "", "eventually x == 3") + "invariant I: x < 3\n"
    model, outcome = decided(text, engine, Limits(depth=9))
    (finding,) = outcome.findings
    assert finding.property is not None
    assert model.properties[finding.property].name == "I"
    assert any("were not checked, since there are other problems" in note for note in outcome.notes)


@pytest.mark.parametrize("engine", [*ENGINES, "bmc"])
def test_a_predicate_without_a_value_is_an_evaluation_error(engine: str) -> None:
    text = COUNTER.format("", "", "(eventually x == 7) or always 6 // (2 - x) > 0")
    _, outcome = decided(text, engine, Limits(depth=9))
    assert outcome.verdict is Verdict.ERROR
    assert outcome.findings[0].depth == 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("formula", "missed"),
    [
        ("x == 5 leads to x == 0", ["x == 5"]),
        ("x == 3 leads to x == 0", []),
        ("always (x > 3 implies eventually x == 0)", ["x > 3"]),
        ("x == 4 implies eventually x == 0", ["x == 4"]),
        ("forall n in 3..5: x == n leads to x == 0", []),
        ("forall n in 4..5: always (x == n implies always x == n)", ["x == n"]),
        # Elsewhere in a formula, an antecedent may never be true.
        ("eventually (x == 5 implies eventually x == 0)", []),
        ("not (x == 5 leads to x == 6)", []),
    ],
)
def test_antecedents_that_were_never_true(engine: str, formula: str, missed: list[str]) -> None:
    model, outcome = decided(COUNTER.format("fair ", "fair ", formula), engine, Limits(depth=9))
    never = set(range(len(model.marks))) - outcome.coverage.marks
    asked = [(n, mark.text) for n, mark in enumerate(model.marks) if mark.kind == "antecedent"]
    assert [text for number, text in asked if number in never] == missed


@pytest.mark.parametrize(
    ("formula", "questions", "nodes", "conditions"),
    [
        ("exists n in 0..3: eventually always x != n", 1, 1, 4),
        ("forall n in 0..3: always eventually x == n", 1, 8, 0),
        ("eventually always eventually always eventually x == 1", 1, 2, 0),
        ("(forall n in 0..3: always eventually x == n) implies (x == 1 leads to x == 2)", 1, 3, 4),
        (
            "(forall n in 0..2: (always eventually x == n) implies always eventually x == n + 1)"
            " implies (x == 1 leads to x == 2)",
            1, 3, 3,
        ),
        ("forall n in 0..2: (always eventually x == n) iff eventually always x == 3", 4, 9, 6),
        # A condition on cycles is moved outside the other operators.
        ("always (x == 0 implies always eventually x == 2)", 1, 3, 1),
        ("(eventually x == 0) or not eventually x == 0", 0, 0, 0),
    ],
)  # fmt: skip
def test_the_sizes_of_the_automata(
    formula: str, questions: int, nodes: int, conditions: int
) -> None:
    automata = violating(formula_of(behaviour_run(COUNTER.format("", "", formula))))
    sizes = (
        len(automata),
        sum(len(automaton.nodes) for automaton in automata),
        sum(len(automaton.conditions) for automaton in automata),
    )
    assert sizes == (questions, nodes, conditions)


SYMBOLIC = """
const N: int16 = any where 0 < N and N < 32767
var x: int16 = 0
fair action on: x = if x == {0} then 0 else x + 1
property P: eventually x == N
check c:
    engine bmc
    expect {1}
"""


@pytest.mark.parametrize(("end", "expected"), [("2", "violated"), ("N", "ok")])
def test_a_lasso_for_some_value_of_a_symbolic_constant(end: str, expected: str) -> None:
    """A loop that returns to the start at 2 never reaches 3 or more."""
    text = SYMBOLIC.format(end, "violated P" if expected == "violated" else "ok within 4")
    _, outcome = decided(text, "bmc", Limits(depth=4))
    if expected == "ok":
        assert outcome.verdict is Verdict.INCONCLUSIVE
        assert str(outcome.cut) == "--depth 4"
        return
    assert outcome.verdict is Verdict.VIOLATED
    (finding,) = outcome.findings
    (constant,) = finding.constants
    assert isinstance(constant.value, int)
    assert constant.value > 2
    states = [step.state for step in finding.trace.steps] if finding.trace else []
    assert states == [(0,), (1,), (2,), (0,)]


def test_induction_refuses_behaviours_by_name() -> None:
    with pytest.raises(
        Unsupported, match="it does not decide temporal properties such as property P"
    ):
        decided(COUNTER.format("", "", "eventually x == 3"), "induction")


def test_bounded_search_proves_nothing_beyond_the_bound() -> None:
    """The only lasso has 4 steps, so depth 3 is inconclusive."""
    text = COUNTER.format("fair ", "fair ", "eventually always x == 0")
    verdicts = [decided(text, "bmc", Limits(depth=depth))[1].verdict for depth in (3, 4)]
    assert verdicts == [Verdict.INCONCLUSIVE, Verdict.VIOLATED]


@pytest.mark.parametrize("engine", [*ENGINES, "bmc"])
def test_all_behaviours_stop(engine: str) -> None:
    """Every behaviour stops, and all behaviours are visited."""
    text = """
        var x: 0..2 = 0
        fair action up:
            require x < 2
            x += 1
        property P: {}
    """
    for formula, verdict in (("eventually x == 2", Verdict.OK), ("always x < 2", Verdict.VIOLATED)):
        _, outcome = decided(text.format(formula), engine, Limits(depth=9))
        assert outcome.verdict is verdict


ALIKE = """
{kind} C = {{c1, c2, c3}}
var got: set[C] = {{}}
var last: C? = none
{first}action get(c in C):
    require {guard}
    got |= {{c}}
    last = c
{second}action drop(c in C):
    require c in got
    got -= {{c}}
property P: {formula}
terminal: true
"""
QUANTIFIED = (
    "forall c in C: eventually c in got",
    "exists c in C: eventually always c in got",
    "not exists c in C: always c not in got",
    "forall c in C, d in C: (c in got leads to d in got) or always eventually c == d",
    "forall c in {e for e in C if e == e}: c in got leads to c not in got",
    "forall c in C: (exists d in C: d != c and d in got) leads to last == c",
    "(forall c in C: always eventually c in got) implies exists c in C: eventually always c in got",
    "forall c in C: (not (c in got)) until exists d in C: eventually last == d",
    "(exists c in C: always eventually c in got) iff always eventually got != {}",
)


@pytest.mark.parametrize("formula", QUANTIFIED)
def test_a_quantifier_over_a_symmetric_type_means_what_it_means_over_an_enum(formula: str) -> None:
    random = Random(formula)
    fairness = ("", "fair ", "strongly fair ", "fair each ", "strongly fair each ")
    for _ in range(2):
        parts = {
            "first": random.choice(fairness),
            "second": random.choice(fairness),
            "guard": random.choice(("c not in got", "got == {}", "last != c")),
            "formula": formula,
        }
        plain = decided(ALIKE.format(kind="enum", **parts).replace("enum C = {c1, c2, c3}",
                        "enum C: c1, c2, c3"), "interpreter")[1]  # fmt: skip
        model = model_of(ALIKE.format(kind="symmetric type", **parts))
        asked = Request(model, frozenset({0}), deadlock=False, limits=Limits(workers=1))
        for engine, symmetry in (("interpreter", True), ("interpreter", False), ("local", True)):
            outcome = load(engine).run(replace(asked, symmetry=symmetry))
            assert outcome.verdict is plain.verdict, (parts, engine, symmetry)
            lassos = [[lasso_of(finding) for finding in run.findings] for run in (outcome, plain)]
            assert lassos[0] == lassos[1], (parts, engine, symmetry)
