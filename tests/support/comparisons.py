"""Comparisons of an engine with another engine, with an oracle, or with a definition.

Each function runs a search, raises `AssertionError` if the two sides differ, and otherwise returns
a word that describes the result. The suite's table of comparisons is in
`tests/checker/test_agreement.py`; `bench.campaign` compares thousands of searches.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeAlias
from unittest import mock

from tests import naive
from tests.strategies.behaviours import behaviour_spec
from tests.strategies.refinements import Refining
from tests.support.agreement import (
    MAX_STATES,
    Observed,
    ObservedFinding,
    ObservedStep,
    Run,
    assert_same,
    bounded,
    loaded,
    run_of,
    runs_of,
    site_of,
    summary,
)
from tests.support.lassos import some_lasso, steps_of
from tests.support.rewriting import RULES, rewritten

from fencepost.checker.engines import load
from fencepost.checker.layout import Layout
from fencepost.checker.native import explorer, search
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.search import Local
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.regions.facts import contains
from fencepost.checker.regions.lift import LiftedModel, lift
from fencepost.checker.regions.search import problems
from fencepost.checker.regions.search import search as search_regions
from fencepost.checker.request import Engine, Limits, Request, Solving, Unsupported
from fencepost.checker.search.explain import first_impossible
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso, genuine
from fencepost.checker.temporal.normal import TooLarge
from fencepost.spec.core import verify_model
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Int, Machine, State
from fencepost.spec.elaborate.claims import program
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Rejected

AGREES, REFUSED, CUT = "agrees", "refused", "cut"
INTERPRETER = "interpreter"
MANY = 10**8
"""A limit on states that no search here reaches."""


def refused(unsupported: Unsupported) -> str:
    """Returns a word for a refusal, with its code and its reason."""
    return f"{REFUSED}, F807: {generic(str(unsupported))}"


def generic(message: str) -> str:
    """Returns a message without its names and numbers."""
    return re.sub(r'"[^"]*"|-?\d[\d,]*|(?<=property )\w+', "…", message)


def variants(run: Run, observed: Observed) -> Iterator[Run]:
    """Yields variants of a search: with other limits, or continuing after the first problem.

    `observed` is the result of the search itself.
    """
    if observed.verdict not in ("ok", "unreached"):
        yield replace(run, keep_going=True)
    if observed.distinct > MAX_VARIED:
        return
    yield replace(run, deadlock=not run.deadlock, keep_going=True)
    if observed.depth > 2:
        yield replace(run, limits=Limits(depth=observed.depth // 2))
    # The limit may be exceeded anywhere, even among the successors of one state.
    chance = random.Random(observed.generated)
    for _ in range(RANDOM_LIMITS if observed.distinct > 1 else 0):
        limited = run.within(max_states=chance.randrange(1, observed.distinct))
        yield replace(limited, keep_going=chance.random() < 0.5)
    if observed.distinct > 2:
        # It is the last state that hits the second of these limits.
        for most in (observed.distinct, observed.distinct - 1):
            yield run.within(max_states=most)


MAX_VARIED = 1_000
"""Larger searches have no variants with limits."""
RANDOM_LIMITS = 3


# ---------------------------------------------------------------- local

WORKERS = (1, 2, 3)


def local_agrees(run: Run, turn: int | None = None, better: bool = False) -> str:
    """Compares the search and its variants with machine code on different numbers of workers.

    With a `turn`, the number of the search in a campaign, each variant runs with only one number of
    workers, and memory is watched in every 16th search. If `better` is set, LLVM optimizes the
    code.
    """
    watched = turn is None or turn % 16 == 0

    def compare(run: Run, counts: Sequence[int]) -> Observed:
        expected = run.by(INTERPRETER)
        for workers in counts:
            limited = run.within(workers=workers)
            # Small searches start no threads by default; here they must.
            with mock.patch.object(explorer, "MIN_PARALLEL", 0):
                assert_same(expected, limited.by(Local(watched=watched and workers == 1)), limited)
        return expected

    with translated_once(better or (turn is not None and turn % 50 == 0)):
        expected = compare(run, WORKERS if turn is None else (1, 2 + turn % 2))
        for number, other in enumerate(variants(run, expected)):
            compare(other, WORKERS if turn is None else (1 + (turn + number) % 3,))
    return expected.verdict


@contextmanager
def translated_once(better: bool) -> Generator[None]:
    """Keeps machine code for the duration of the block.

    A model is translated again only for another set of properties. The models are kept alive as
    well.
    """
    kept: dict[tuple[int, frozenset[int], bool], tuple[Kept, Sizes]] = {}
    real = search.translated

    def translated(
        model: Model,
        layout: Layout,
        properties: frozenset[int],
        *,
        profile: bool = False,
        symmetric: bool = False,
    ) -> tuple[build.Compilation, Sizes]:
        assert not profile
        key = id(model), properties, symmetric
        if key not in kept:
            compilation, sizes = real(model, layout, properties, symmetric=symmetric)
            kept[key] = Kept(compilation.best() if better else compilation.quick()), sizes
        return kept[key]

    with mock.patch.object(search, "translated", translated):
        yield


class Kept(build.Compilation):
    """Compiled code that is not optimized further."""

    def __init__(self, code: build.Code) -> None:
        super().__init__("")
        self._code = code

    def kept(self) -> build.Code:
        return self._code

    def quick(self) -> build.Code:
        return self._code


# ---------------------------------------------------------------- bmc and induction

SECONDS = 20.0
Problem: TypeAlias = tuple[str, int, object, int | None]


def problem(finding: Finding) -> Problem:
    """Returns the part of a finding on which all engines agree."""
    site = None if finding.site is None else site_of(finding.site)
    return finding.verdict.value, finding.depth, site, finding.property


def problems_of(outcome: Outcome) -> list[Problem]:
    """Returns the problems of an outcome.

    A `reachable` that was not reached within the depth does not count as a problem.
    """
    return [problem(finding) for finding in _real(outcome)]


def _real(outcome: Outcome) -> list[Finding]:
    return [finding for finding in outcome.findings if finding.verdict is not Verdict.UNREACHED]


def _enumerated(run: Run, depth: int) -> Outcome:
    return run.within(depth=depth, max_states=MAX_STATES, timeout=SECONDS).outcome(INTERPRETER)


def bmc_agrees(run: Run, depth: int) -> str:
    """Compares bounded model checking up to this depth with the interpreter.

    Both must report the same problems, with the same depth and position, and the same reachables.
    """
    run = run.in_ranges(depth=depth + 1, max_states=MAX_STATES)
    explicit = _enumerated(run, depth)
    try:
        symbolic = run.within(depth=depth, timeout=SECONDS).outcome("bmc")
    except Unsupported as unsupported:
        return refused(unsupported)
    if any(
        problem_.cut is not None and problem_.cut.kind != "depth"
        for problem_ in (explicit, symbolic)
    ):
        return CUT
    expected, reported = problems_of(explicit), problems_of(symbolic)
    # bmc decides whether a behaviour may end in a state of the last level; a search by levels needs
    # one more step for that (docs/symbolic.md).
    last = [problem_ for problem_ in reported if problem_ not in expected]
    if last:
        assert all(problem_[1] == depth + 1 for problem_ in last), (
            f"{expected}\nbmc: {reported}\n{run}"
        )
        expected += [
            problem_ for problem_ in problems_of(_enumerated(run, depth + 1)) if problem_ in last
        ]
    assert expected == reported, f"interpreter: {expected}\nbmc: {reported}\n{run}"
    for finding in _real(symbolic):
        if finding.trace is not None and finding.trace.steps[-1].state is not None:
            assert first_impossible(Runner(run.model), finding.trace) is None
            assert len(finding.trace.steps) == finding.depth
    if not expected:
        assert explicit.coverage.reached == symbolic.coverage.reached, f"reached: {run}"
    return AGREES


def induction_agrees(run: Run, k: int = 1, seconds: float = SECONDS) -> str:
    """Checks that every property proved by induction holds in every state that the interpreter
    visits, and that the problems of the base case exist.
    """
    try:
        outcome = run.within(depth=1, timeout=seconds, solving=Solving(k=k)).outcome("induction")
    except Unsupported as unsupported:
        return refused(unsupported)
    run = run.in_ranges(depth=40, max_states=MAX_STATES)
    searched = _enumerated(replace(run, keep_going=True), 40)
    findings = _real(searched)
    if outcome.findings:
        expected = problems_of(searched)
        first = _real(outcome)[:1]
        assert all(problem(finding) in expected for finding in first) or searched.cut or (
            # The interpreter stops at the first error, even with keep_going.
            findings and findings[0].verdict in (Verdict.ERROR, Verdict.ASSERTION)
            and findings[0].depth <= first[0].depth
        ), f"induction: {problems_of(outcome)}\ninterpreter: {expected}\n{run}"  # fmt: skip
        return outcome.verdict.value
    if outcome.verdict is Verdict.OK:
        assert not findings, f"induction: ok\ninterpreter: {problems_of(searched)}\n{run}"
        return "proved"
    claimed = {proof.subject: proof for proof in outcome.proofs if proof.reason is None}
    verdicts = {finding.verdict for finding in findings}
    numbers = {proof.property for proof in claimed.values() if proof.property is not None}
    broken = {finding.property for finding in findings if finding.property is not None}
    assert not broken & numbers, f"proved and broken: {broken & numbers}\n{run}"
    assert not ("no deadlock" in claimed and Verdict.DEADLOCK in verdicts), run
    assert not ("no failed assertion" in claimed and Verdict.ASSERTION in verdicts), run
    if "no evaluation error" in claimed:
        # A proved property that cannot be evaluated is reported by its own proof.
        properties = [
            finding.index - len(run.model.actions)
            for finding in findings
            if finding.verdict is Verdict.ERROR
        ]
        assert all(n >= 0 and run.model.properties[n].kind.must_hold for n in properties), run
    return "part" if claimed else "nothing"


# ---------------------------------------------------------------- all values of a constant


def regions_of(run: Run, engine: Engine | str = INTERPRETER) -> Outcome:
    """Searches for all values of the only symbolic constant. Raises `Rejected`."""
    if refused := problems(run.model, run.properties):
        raise Rejected(refused)
    request = Request(run.model, run.properties, run.deadlock, run.limits, run.keep_going)
    return search_regions(load(engine) if isinstance(engine, str) else engine, request)


def outline(outcome: Outcome) -> tuple[object, ...]:
    """Returns what a region claims about each of its values: the verdict, the problems and every
    count.
    """
    counts = outcome.statistics
    return (
        outcome.verdict,
        [problem(finding) for finding in outcome.findings],
        counts.distinct,
        counts.generated,
        counts.depth,
        counts.levels,
        counts.transitions,
        outcome.limit,
    )


def regions_agree(
    run: Run, engine: str = INTERPRETER, values: Sequence[int] | None = None
) -> Outcome:
    """Checks that each value of the constant is in exactly one region.

    A search with this value alone must have the result of the region. If `values` are given, only
    they are checked. Returns the outcome for all values.
    """
    outcome = regions_of(run, engine)
    kind = run.model.symbols[0].type
    assert isinstance(kind, Int | Machine)
    # The lifted model, whose search uses terms, is well formed.
    lifted = lift(run.model, kind.high, run.properties)
    assert isinstance(lifted, LiftedModel)
    assert verify_model.problems(lifted.model) == []
    allowed = 0
    for value in range(kind.low, kind.high + 1) if values is None else values:
        inside = [region for region in outcome.regions if contains(region.ranges, value)]
        alone = replace(run, model=instance(run.model, (value,))).outcome(INTERPRETER)
        if alone.verdict is Verdict.ASSUMPTION:
            assert not inside, f"{value} is excluded, and in {inside}\n{run}"
            continue
        allowed += 1
        assert len(inside) == 1, f"{value} is in {len(inside)} regions\n{run}"
        assert outline(inside[0].outcome) == outline(alone), f"{value}\n{run}"
    if values is None:
        size = sum(high - low + 1 for region in outcome.regions for low, high in region.ranges)
        assert size == allowed
    return outcome


REFUSED_REGIONS = {"F701", "F811", "F812", "F813"}
"""With F701, a random spec uses the constant in a position where it never fits. With F811, it asks
whether an action is enabled with a symbolic value.
"""


def all_values_agree(run: Run, engine: str, depth: int) -> str:
    """Checks the regions of a random spec with an engine.

    An engine that visits states is compared with searches for single values, and bounded model
    checking with the regions of the interpreter.
    """
    try:
        if engine != "bmc":
            return regions_agree(run, engine).verdict.value
        expected = regions_of(run)
    except Rejected as rejected:
        codes = {problem.code for problem in rejected.problems}
        assert codes <= REFUSED_REGIONS, f"{codes}\n{run}"
        return REFUSED
    outcome = run.within(depth=depth, timeout=SECONDS).outcome("bmc")
    assert problems_of(outcome) == problems_of(expected), run
    return expected.verdict.value


# ---------------------------------------------------------------- the second interpreter


def plain(seen: Observed) -> Observed:
    """Returns the observation without the explanation of a violated property."""
    findings = (
        replace(
            finding,
            instance=(),
            failing=finding.failing if finding.verdict == "assumption" else None,
        )
        for finding in seen.findings
    )
    return replace(seen, findings=tuple(findings))


def by_naive(run: Run) -> Observed:
    """Returns the observation by the second interpreter."""
    limits = run.limits
    return naive.observed(
        run.model, run.properties, run.deadlock, limits.depth, run.keep_going, limits.max_states
    )


def naive_agrees(run: Run, limited: bool = True) -> str:
    """Compares the two interpreters, both up to the first problem and beyond it.

    If `limited` is set, they are also compared with a random limit on the number of states.
    """
    verdict = ""
    for keep_going in (False, True):
        variant = replace(run, keep_going=keep_going)
        observed = variant.by(INTERPRETER)
        assert_same(by_naive(variant), plain(observed), variant)
        verdict = verdict or observed.verdict
        if limited and observed.distinct > 1:
            most = random.Random(observed.generated).randrange(1, observed.distinct)
            first = variant.within(max_states=most)
            assert_same(by_naive(first), plain(first.by(INTERPRETER)), first)
        if not limited and not observed.findings:
            break
    return verdict


# ---------------------------------------------------------------- orbits

REFUSED_ORBITS = {"F846", "F420"}
"""A random spec may have these problems because a loop in it sends to an ordered channel."""


def symmetric_run(text: str, states: int) -> Run | None:
    """Returns a search for orbits in a random spec, or None if the spec is refused.

    It is bounded so that a search of all states visits at most about ``states`` states.
    """
    try:
        run = run_of(text, limits=Limits(workers=1))
    except Rejected as rejected:
        if {problem.code for problem in rejected.problems} - REFUSED_ORBITS:
            raise
        return None
    return replace(bounded(replace(run, symmetry=False), states), symmetry=True)


def orbits_agree(run: Run | None, engines: Sequence[Engine]) -> str:
    """Compares a search for orbits with a search of all states.

    All engines must find the same number of orbits.
    """
    if run is None:
        return REFUSED
    verdict, fewer = "", False
    for variant in (run, replace(run, keep_going=True)):
        every = replace(variant, symmetry=False).outcome(INTERPRETER)
        expected, visited = summary(run.model, every), set[int]()
        for engine in engines:
            outcome = variant.outcome(engine)
            assert_same(expected, summary(run.model, outcome), f"{engine.name}, {variant}")
            counts = outcome.statistics
            # Without a variable of a symmetric type, every state is visited.
            visited.add(counts.distinct if counts.orbits is None else counts.orbits)
        assert len(visited) == 1, variant
        verdict = verdict or every.verdict.value
        fewer = fewer or min(visited) < every.statistics.distinct
    return f"{verdict} in fewer" if fewer else verdict


# ---------------------------------------------------------------- refinements


def refinement(example: Refining) -> tuple[Run, Model]:
    """Returns the search that checks a spec's refinement, and the model of the module alone."""
    with TemporaryDirectory() as folder:
        for name, text in (("m", example.module), ("spec", example.spec)):
            (Path(folder) / f"{name}.fence").write_text(text, encoding="utf-8")
        module = program.build(program.load(Path(folder) / "m.fence"), None)
        model = program.build(program.load(Path(folder) / "spec.fence"), None)
    text = f"{example.module}\n{example.spec}"
    return Run(model, frozenset([0]), deadlock=False, limits=Limits(workers=1), text=text), module


def refinement_agrees(example: Refining) -> str:
    """Checks that the interpreter reports the verdict and the depth that follow from the definition
    of refinement.
    """
    run, module = refinement(example)
    outcome = run.outcome(INTERPRETER)
    depth = outcome.findings[0].depth if outcome.findings else outcome.statistics.depth
    expected = _refined(run.model, module, example)
    assert (outcome.verdict.value, depth) == expected, run
    return expected[0]


def local_refines(example: Refining, counts: Sequence[int]) -> str:
    """Compares machine code with the interpreter."""
    run, _ = refinement(example)
    expected = run.outcome(INTERPRETER)
    for workers in counts:
        outcome = run.within(workers=workers).outcome("local")
        assert summary(run.model, outcome) == summary(run.model, expected), f"{workers}, {run}"
        assert outcome.findings == expected.findings, f"{workers}, {run}"
    return expected.verdict.value


def _refined(model: Model, module: Model, example: Refining) -> tuple[str, int]:
    """Derives the verdict and its depth from the definition of refinement."""
    runner, there = Runner(model), Runner(module)
    starts = {result.state for result in there.initial()}
    level = {result.state for result in runner.initial() if result.state is not None}
    if any(example.image(state) not in starts for state in level):
        return "violated", 1
    seen: set[State] = set()
    depth = 1
    while level:
        seen |= level
        depth += 1
        onward: set[State] = set()
        wrong = False
        for state in level:
            steps, failures = runner.expand(state)
            if failures:
                return "error", depth
            image = example.image(state)
            allowed = {image} | {after for _, after in there.expand(image)[0]}
            wrong |= any(example.image(after) not in allowed for _, after in steps)
            onward |= {after for _, after in steps}
        if wrong:
            return "violated", depth
        level = onward - seen
    return "ok", depth - 1


# ---------------------------------------------------------------- behaviours

MAX_LASSO_STATES = 6
"""Larger graphs have too many lassos to try all of them."""
STEPS = 4


def behaviour_run(text: str) -> Run:
    """Returns the search of a spec with one temporal property; deadlock is not a problem."""
    run = run_of(text, deadlock=False, limits=Limits(workers=1))
    selectable = (n for n, item in enumerate(run.model.properties) if item.kind.selectable)
    return replace(run, properties=frozenset(selectable))


def random_behaviours(seed: int) -> Run:
    """Returns the search of a random spec with one temporal property.

    Every second spec has a formula of up to 60 operators that is not refused as too large.
    """
    chance = Random(seed)
    if seed % 2 == 0:
        return behaviour_run(behaviour_spec(chance))
    while True:
        run = behaviour_run(behaviour_spec(chance, depth=6))
        try:
            violating(formula_of(run))
        except TooLarge:
            continue
        return run


def behaviour_number(run: Run) -> int:
    """Returns the number of the temporal property."""
    return next(n for n, item in enumerate(run.model.properties) if item.kind.of_behaviours)


def formula_of(run: Run) -> Formula:
    """Returns the formula of the temporal property."""
    formula = run.model.properties[behaviour_number(run)].formula
    assert formula is not None
    return formula


def uninterrupted(run: Run, engine: str) -> Outcome:
    """Runs a search and returns its outcome.

    Raises `KeyboardInterrupt` if it was ended by a signal that was meant for the whole campaign.
    """
    outcome = run.outcome(engine)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


def lasso_in(outcome: Outcome) -> Lasso | None:
    """Returns the lasso of the first finding, if there is one."""
    if outcome.verdict is not Verdict.VIOLATED:
        return None
    trace = outcome.findings[0].trace
    assert trace is not None
    loop = trace.loop
    assert loop is not None
    states = tuple(step.state for step in trace.steps if step.state is not None)
    return Lasso(states, ()) if loop == len(states) - 1 else Lasso(states[:loop], states[loop:])


def lasso_is_genuine(run: Run, outcome: Outcome) -> str:
    """Checks the lasso of an outcome with the evaluator.

    If there is no lasso and the graph is small, a search of all lassos up to a certain length must
    not find one either.
    """
    lasso = lasso_in(outcome)
    if lasso is not None:
        assert genuine(Runner(run.model), formula_of(run), lasso), f"{lasso}\n{run}"
        assert lasso == lasso.rotated(), f"the stem ends with a step of the cycle: {lasso}"
    else:
        _assert_no_lasso(run, [(2, 4)])
    return outcome.verdict.value


def local_finds_lasso(run: Run, expected: Outcome) -> str:
    """Compares machine code with the interpreter, including the lasso, with 1 to 3 workers."""
    for workers in WORKERS:
        outcome = uninterrupted(run.within(workers=workers), "local")
        pairs = zip(_timeless(outcome), _timeless(expected), strict=True)
        differing = "\n".join(
            f"{part}\nand not {part_expected}"
            for part, part_expected in pairs
            if part != part_expected
        )
        assert not differing, f"{workers} workers: {differing}\n{run}"
    return AGREES


def bmc_finds_lasso(run: Run, expected: Outcome) -> str:
    """Compares bounded model checking with the interpreter.

    It must not report a violation that the interpreter does not report. It must find a lasso if
    that of the interpreter has at most `STEPS` steps or, in a small graph, if any lasso has.
    """
    outcome = uninterrupted(run.within(depth=STEPS), "bmc")
    lasso = lasso_in(outcome)
    if lasso is not None:
        assert genuine(Runner(run.model), formula_of(run), lasso), f"{lasso}\n{run}"
        assert len(lasso.states) - 1 <= STEPS
        assert expected.verdict is Verdict.VIOLATED, f"{lasso}\n{run}"
        return f"{AGREES}: {outcome.verdict.value}"
    if outcome.verdict is Verdict.OK:
        assert expected.verdict is Verdict.OK, run
    shortest = lasso_in(expected)
    if shortest is not None:
        # A path that is one step longer is needed to see whether the last state can be left.
        assert len(shortest.states) - 1 > STEPS - (not shortest.cycle), f"missed {shortest}\n{run}"
    _assert_no_lasso(run, [(stem, STEPS - stem) for stem in range(STEPS)])
    return f"{AGREES}: {outcome.verdict.value}"


def _assert_no_lasso(run: Run, sizes: Sequence[tuple[int, int]]) -> None:
    """Requires that a small graph has no violating lasso with these maximal lengths of stem and
    cycle.
    """
    if len(steps_of(Runner(run.model))[1]) <= MAX_LASSO_STATES:
        for stem, cycle in sizes:
            missed = some_lasso(run.model, behaviour_number(run), stem, cycle)
            assert missed is None, f"missed {missed}\n{run}"


def _timeless(outcome: Outcome) -> tuple[object, ...]:
    """Returns everything that a user sees of an outcome except seconds and bytes."""
    statistics = replace(outcome.statistics, seconds=0.0, peak_bytes=0, decided_seconds=None)
    return outcome.verdict, outcome.cut, outcome.findings, outcome.notes, statistics


# ---------------------------------------------------------------- equivalent specs


def rewrite_agrees(text: str, rule: str, states: int = 400) -> str:
    """Requires that the checks of a spec and of an equivalent spec have the same observations."""
    other = rewritten(loaded(text), RULES[rule])
    verdict = ""
    for run, check in zip(runs_of(text), other.checks, strict=True):
        run = replace(bounded(run, states), keep_going=True)
        again = replace(run, model=program.build(other, check))
        expected = _wordless(run.by(INTERPRETER))
        actual = _wordless(again.by(INTERPRETER), added=1)
        if rule == "stepwise" and any(finding.verdict == "error" for finding in expected.findings):
            # Such a choice failed as a whole because of one element. After rewriting, each element
            # is a separate choice.
            assert _outlines(expected) == _outlines(actual), run
        else:
            assert_same(expected, actual, f"{rule}, {run}")
        verdict = verdict or expected.verdict
    return verdict


def _wordless(seen: Observed, added: int = 0) -> Observed:
    """Returns the part of an observation that does not depend on the wording, without the first
    `added` variables.
    """

    def steps(trace: tuple[ObservedStep, ...] | None) -> tuple[ObservedStep, ...] | None:
        return trace and tuple(replace(s, state=s.state and s.state[added:]) for s in trace)

    def wordless(finding: ObservedFinding) -> ObservedFinding:
        site, trace = finding.site and (finding.site[0], None, (), ""), steps(finding.trace)
        return replace(finding, site=site, instance=(), failing=None, blocked=(), trace=trace)

    findings, stuck = tuple(map(wordless, seen.findings)), steps(seen.stuck_trace)
    return replace(seen, findings=findings, marks=(), blocked=(), stuck_trace=stuck)


def _outlines(seen: Observed) -> list[tuple[str, int]]:
    return [(finding.verdict, finding.depth) for finding in seen.findings]
