"""Searches over all values of a symbolic constant, divided into regions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.agreement import loaded, run_of
from tests.support.amounts import examples
from tests.support.comparisons import regions_agree, regions_of
from tests.support.region_specs import PRELUDE, REFUSED, REFUSED_ON_THE_WAY, SPECS, TRAP, RegionSpec

from fencepost.checker.outcome import Verdict
from fencepost.checker.regions import collections, facts
from fencepost.checker.regions.collections import shows_order
from fencepost.checker.regions.facts import (
    Coincidence,
    Comparison,
    Meeting,
    Ranges,
    Term,
    Widening,
    common,
    holding,
    size,
    united,
    without,
)
from fencepost.checker.regions.parts import Bench, Part
from fencepost.checker.regions.search import Notes
from fencepost.checker.report.regions import shown_ranges
from fencepost.checker.request import Limits, Request, Unsupported
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.settings import Settings
from fencepost.checker.spark.search import Spark
from fencepost.spec.core import ir
from fencepost.spec.core.types import Number, Type
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

ids = [spec.name for spec in SPECS]
ENGINES = ("interpreter", "local")


@pytest.mark.parametrize(
    ("spec", "engine"),
    [(spec, "interpreter") for spec in SPECS] + [(spec, "local") for spec in SPECS[::3]],
    ids=lambda part: part.name if isinstance(part, RegionSpec) else part,
)
def test_regions_agree_with_every_single_value(spec: RegionSpec, engine: str) -> None:
    outcome = regions_agree(run_of(spec.text), engine)
    if spec.regions:
        kind = program.build(loaded(spec.text), loaded(spec.text).checks[0]).symbols[0].type
        assert tuple(shown_ranges(r, kind) for r in outcome.regions) == spec.regions


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_regions_agree_if_the_search_goes_on(spec: RegionSpec) -> None:
    regions_agree(run_of(spec.text, keep_going=True))


# ---------------------------------------------------------------- recorded facts

Drop = Callable[[pytest.MonkeyPatch], None]
"""A function that makes the search ignore one kind of fact."""


def ignore_comparisons(patch: pytest.MonkeyPatch) -> None:
    def anywhere(o: str, a: Term, b: Term, pilot: int, low: int, high: int) -> Ranges:
        return ((low, high),)

    patch.setattr(facts, "comparison", anywhere)


def ignore_fields(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(facts, "apart", as_before)


def ignore_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(facts, "in_order", as_before)


def as_before(ranges: Ranges, terms: set[Term], pilot: int, low: int, high: int) -> Ranges:
    return ranges


def ignore_widening(patch: pytest.MonkeyPatch) -> None:
    def anywhere(worth: int, bits: int, pilot: int, low: int, high: int) -> Ranges:
        return ((low, high),)

    patch.setattr(facts, "same_turn", anywhere)


def ignore_both(patch: pytest.MonkeyPatch) -> None:
    ignore_comparisons(patch)
    ignore_fields(patch)


def ignore_range_checks(patch: pytest.MonkeyPatch) -> None:
    def inside(bench: Bench, part: Part, amount: ir.Expr, target: Number, span: object) -> ir.Expr:
        return ir.Fits(bench.value(part, amount), target)

    patch.setattr(Bench, "inside", inside)


def ignore_literals(patch: pytest.MonkeyPatch) -> None:
    def begin(notes: Notes) -> None:
        pass

    patch.setattr(Notes, "begin", begin)


def ignore_evaluated_expressions(patch: pytest.MonkeyPatch) -> None:
    def of_results(expr: ir.Expr, domain: Type) -> bool:
        return not isinstance(expr, ir.Quantified) and shows_order(expr, domain)

    patch.setattr(collections, "shows_order", of_results)


DROPS: dict[str, Drop] = {
    "comparison": ignore_comparisons,
    "field": ignore_fields,
    "order": ignore_order,
    "widening": ignore_widening,
    "comparison and field": ignore_both,
}


@pytest.mark.parametrize("kind", DROPS)
def test_each_kind_of_fact_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DROPS[kind](monkeypatch)
    missed = [spec.name for spec in SPECS if spec.kind == kind and _agrees(spec.text)]
    assert not missed, f"nobody notices that {kind} is forgotten"


@pytest.mark.parametrize(
    ("forget", "name"),
    [
        (ignore_comparisons, "a guard"),
        (ignore_range_checks, "a range check"),
        (ignore_fields, "options that are equal"),
        (ignore_literals, "options that are equal"),
        (ignore_order, "a loop over a set"),
        (ignore_evaluated_expressions, "which of two fails first"),
        (ignore_widening, "a number that is widened"),
    ],
)
def test_brute_force_detects_ignored_facts(
    forget: Drop, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brute force detects ignored facts even if the search does not compare its two runs."""
    text = next(spec.text for spec in SPECS if spec.name == name)
    monkeypatch.setattr("fencepost.checker.regions.search.in_short", type)
    assert _agrees(text)
    forget(monkeypatch)
    assert not _agrees(text)


def _agrees(text: str) -> bool:
    try:
        regions_agree(run_of(text))
    except AssertionError:
        return False
    return True


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(("name", "code", "source", "lines"), REFUSED)
def test_refused_before_the_search(name: str, code: str, source: str, lines: str) -> None:
    read = loaded(f"{PRELUDE}{lines}\n")
    check = read.checks[0]
    with pytest.raises(Rejected) as rejected:
        prepare(read, check, Settings(engine="interpreter"))
    assert [problem.code for problem in rejected.value.problems] == [code], name
    span = rejected.value.problems[0].span
    assert span is not None
    assert span.text == source


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "code", "source", "lines"), REFUSED_ON_THE_WAY)
def test_refused_on_the_way(name: str, code: str, source: str, lines: str, engine: str) -> None:
    read = loaded(f"{PRELUDE}{lines}\n")
    job = prepare(read, read.checks[0], Settings(engine=engine))
    with pytest.raises(Rejected) as rejected:
        perform(job, lambda _: None)
    assert [problem.code for problem in rejected.value.problems] == [code], name
    span = rejected.value.problems[0].span
    assert span is not None
    assert span.text == source


def test_an_engine_that_cannot_observe_refuses() -> None:
    read = loaded(TRAP)
    model = program.build(read, read.checks[0])
    with pytest.raises(Unsupported, match="all values of E0"):
        Spark().run(Request(model, properties=frozenset()))


def test_a_key_with_a_field_that_may_be_a_term_is_refused() -> None:
    lines = "record R: b: int[2]\nrecord Q: m: map[R, bool]\nvar z: int[2] = 0\n"
    lines += "var r: R = R(b: 0)\nvar p: Q = Q([true for k in R])\n"
    text = lines + "const E0: int[2] = any\naction a: r = R(b: E0)\nterminal: true\n"
    read = loaded(text)
    with pytest.raises(Rejected) as rejected:
        prepare(read, read.checks[0], Settings(engine="interpreter"))
    assert {problem.code for problem in rejected.value.problems} == {"F811"}


@pytest.mark.parametrize("asked", ["x", "1"])
def test_enabled_with_arguments_that_may_be_terms_is_refused(asked: str) -> None:
    """The search does not observe whether a step starts with a given argument."""
    chosen = "int[4]" if asked == "x" else "{E0, 2}"
    text = f"{PRELUDE}action a: x = E0\naction go(y in {chosen}): skip\n"
    read = loaded(f"{text}invariant I: enabled(go({asked}))\n")
    with pytest.raises(Rejected) as rejected:
        prepare(read, read.checks[0], Settings(engine="interpreter"))
    (problem,) = rejected.value.problems
    assert (problem.code, problem.span and problem.span.text) == ("F811", asked)


def test_all_refusals_are_reported_together() -> None:
    read = loaded(f"{PRELUDE}action a: x = x * 2\naction b: x = -x\n")
    with pytest.raises(Rejected) as rejected:
        prepare(read, read.checks[0], Settings(engine="interpreter"))
    assert [problem.code for problem in rejected.value.problems] == ["F812", "F812"]


def test_unchecked_properties_are_not_refused() -> None:
    read = loaded(
        f"{PRELUDE}invariant I: x * 2 < 7\ninvariant J: x == E0\ncheck c:\n"
        "    properties: J\n    expect ok\n"
    )
    assert prepare(read, read.checks[0], Settings(engine="interpreter"))
    with pytest.raises(Rejected):
        prepare(read, read.checks[0], Settings(engine="interpreter", invariants=("I",)))


# ---------------------------------------------------------------- limits, verdicts


def test_a_cut_search_yields_no_region() -> None:
    text = TRAP.replace("action B: x = 5", "action B: x = 5\naction C: x += 1")
    outcome = regions_of(
        run_of(
            text.replace("violated I", "ok").replace("x in {0, 5}", "true"),
            limits=Limits(max_states=4),
        )
    )
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert str(outcome.limit) == "--max-states 4 with E0 = -8"
    assert outcome.regions == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_timeout_covers_all_searches(engine: str) -> None:
    spec = next(spec for spec in SPECS if spec.name == "messages that are equal")
    outcome = regions_of(run_of(spec.text, limits=Limits(timeout=0.0)), engine)
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert str(outcome.limit) == "--timeout 0"


def test_a_bounded_search_of_one_value_proves_nothing_for_the_others() -> None:
    text = "const E0: int[4] = any\nvar x: int[4] = 0\naction up: x += 1\nterminal: true\n"
    read = loaded(f"{text}check c:\n    expect ok within 2\n")
    job = prepare(read, read.checks[0], Settings(engine="interpreter"))
    result = perform(job, lambda _: None)
    assert result.outcome.verdict is Verdict.INCONCLUSIVE
    assert result.exit == Exit.INCONCLUSIVE


def test_a_problem_found_before_the_limit_is_reported() -> None:
    text = TRAP.replace("action B: x = 5", "action B: x = 5\naction C: x += 1")
    outcome = regions_of(run_of(text, limits=Limits(depth=1)))
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.findings[0].constants[0].value == -8


def test_the_problem_with_the_shortest_way_is_reported() -> None:
    outcome = regions_agree(
        run_of(
            "const E0: int[4] = any\nvar x: int[4] = 0\naction up: x += 1\n"
            "invariant I: x != E0\nterminal: true\n"
        )
    )
    assert outcome.findings[0].depth == 1
    assert outcome.findings[0].constants[0].value == 0
    assert outcome.statistics.depth == 1


def test_a_reachable_is_reached_with_some_value() -> None:
    text = "const E0: int[4] = any\nvar x: int[4] = E0\nreachable R: x == 6\nterminal: true\n"
    assert regions_of(run_of(text)).verdict is Verdict.OK
    unreached = regions_of(run_of(text.replace("any", "any where E0 < 6")))
    assert unreached.verdict is Verdict.UNREACHED


def test_a_truth_value_or_an_enum_is_searched_value_by_value() -> None:
    text = (
        "enum N: A, B, C\nconst E0: N = any where E0 != B\nvar x: N = E0\n"
        "invariant I: x != C\nterminal: true\n"
    )
    outcome = regions_of(run_of(text))
    assert [(region.ranges, region.outcome.verdict) for region in outcome.regions] == [
        (((0, 0),), Verdict.OK),
        (((2, 2),), Verdict.VIOLATED),
    ]
    truth = regions_of(run_of("const E0: bool = any\nvar x: bool = E0\nterminal: true\n"))
    assert [region.ranges for region in truth.regions] == [((0, 0),), ((1, 1),)]


def test_no_value_is_a_broken_assumption() -> None:
    outcome = regions_of(
        run_of("const E0: int[4] = any where E0 < -8\nvar x: int[4] = E0\nterminal: true\n")
    )
    assert outcome.verdict is Verdict.ASSUMPTION
    assert outcome.findings[0].failing is not None


def test_a_condition_without_a_value_is_an_error() -> None:
    outcome = regions_of(
        run_of("const E0: int[4] = any where 6 // E0 > 1\nvar x: int[4] = E0\nterminal: true\n")
    )
    assert outcome.verdict is Verdict.ERROR
    assert outcome.findings[0].constants[0].value == 0


def test_a_condition_with_many_gaps() -> None:
    text = "const E0: int16 = any where E0 % 3 == 1\nvar x: int16 = E0\n"
    outcome = regions_of(run_of(text + "invariant I: x < 100\nterminal: true\n"))
    assert [region.outcome.verdict for region in outcome.regions] == [Verdict.OK, Verdict.VIOLATED]


# ---------------------------------------------------------------- facts, by all values


def terms(bits: int | None) -> list[Term]:
    moving = [Term(k, True, bits) for k in range(-3, 4)]
    return [*moving, *(Term(c, False, bits) for c in range(-5, 6, 2))]


@pytest.mark.parametrize("bits", [4, 5, None])
def test_the_ranges_of_comparisons_have_equal_results(bits: int | None) -> None:
    for pilot in (-8, -3, 0, 7):
        for left in terms(bits):
            for right in terms(bits):
                for operator in ("==", "<", "<="):
                    ranges = facts.comparison(operator, left, right, pilot, -8, 7)
                    for value in range(-8, 8):
                        same = _outcome(operator, left, right, value) == _outcome(
                            operator, left, right, pilot
                        )
                        assert same == any(a <= value <= b for a, b in ranges)


def _outcome(operator: str, left: Term, right: Term, value: int) -> bool:
    a, b = left.at(value), right.at(value)
    return {"==": a == b, "<": a < b, "<=": a <= b}[operator]


def test_the_value_of_a_term() -> None:
    for pilot in range(-8, 8):
        for k in range(16):
            worth = facts.wrapped(pilot + k, 4)
            term = facts.term_of(worth, True, pilot, 4)
            assert all(term.at(value) == facts.wrapped(value + k, 4) for value in range(-8, 8))


def test_values_of_a_field_stay_distinct() -> None:
    seen = (Meeting(0, 4, False), Meeting(1, 4, True), Widening(4), Comparison("<", 4))
    values = [(3, True), (0, False), (5, False)]
    assert facts.region(seen, {0: values}, 2, -8, 7) == ((-8, -2), (0, 3), (5, 7))
    assert facts.region(seen, {1: values}, 2, -8, 7) == ((0, 3),)
    # The sum 2 + 6 wraps to -8, and the sums of greater numbers wrap, too.
    assert facts.region(seen, {2: [(-8,)]}, 2, -8, 7) == ((2, 7),)
    assert facts.region(seen, {3: [(2, True, 4, False)]}, 2, -8, 7) == ((-8, 3),)
    with pytest.raises(Coincidence):
        facts.region(seen, {0: [(3, True), (3, False)]}, 2, -8, 7)


numbers = st.sets(st.integers(0, 12))


@examples(100)
@given(numbers, numbers)
def test_ranges_are_sets(left: set[int], right: set[int]) -> None:
    a, b = _ranges(left), _ranges(right)
    assert common(a, b) == _ranges(left & right)
    assert united(a, b) == _ranges(left | right)
    assert without(a, right) == _ranges(left - right)
    assert size(a) == len(left)


def _ranges(numbers: set[int]) -> Ranges:
    return holding(0, 12, range(13), lambda number: number in numbers)


PARTIAL = [
    # The value that leaves the condition undefined lies between values with equal results.
    "6 // (E0 - 3) != 7",
    "2 // (E0 - 1) > 0",
    "6 // E0 > 1",
    "6 // (E0 - 7) < 3 and 6 % (E0 + 7 + 1) < 3",
    "6 // (E0 % 3) > 0",
    "E0 > 3 and 6 // (E0 - 3) != 7",
]


@pytest.mark.parametrize("body", ["x = 1 - x", "x = if E0 > 2 then 1 else 0"])
@pytest.mark.parametrize("condition", PARTIAL)
def test_a_value_with_an_undefined_condition_is_in_no_other_region(
    condition: str, body: str
) -> None:
    """Each such value is reported as a separate error in a region of its own."""
    text = f"const E0: int[4] = any where {condition}\nvar x: 0..1 = 0\naction a: {body}\n"
    outcome = regions_agree(run_of(text))
    failing = [r for r in outcome.regions if r.outcome.verdict is Verdict.ERROR]
    assert (outcome.verdict is Verdict.ERROR) == bool(failing)


def test_too_many_values_with_an_undefined_condition() -> None:
    text = "const E0: -98..99 = any where 6 // (E0 % 3) > 0\nvar x: -98..99 = E0\nterminal: true\n"
    outcome = regions_of(run_of(text))
    assert outcome.verdict is Verdict.ERROR
    assert outcome.findings[0].constants[0].value == -96
    assert any("is undefined for more values than are listed" in note for note in outcome.notes)


def test_a_false_assumption_is_reported_before_any_region() -> None:
    text = "const E0: int16 = any\nassume 1 > 2\nvar x: int16 = E0\nterminal: true\n"
    outcome = regions_of(run_of(text))
    assert (outcome.verdict, outcome.regions) == (Verdict.ASSUMPTION, ())
