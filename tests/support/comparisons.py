"""Comparisons of an engine with another engine, with an oracle, or with a definition.

Each takes a search, raises `AssertionError` where the two sides differ, and returns a word that
says what came of it. `tests/checker/test_agreement.py` has the table of what is compared in the
suite; `bench.campaign` compares thousands of searches.
"""

from __future__ import annotations

import random
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
from fencepost.checker.regions.lift import Lifted, lift
from fencepost.checker.regions.ranges import contains
from fencepost.checker.regions.search import problems
from fencepost.checker.regions.search import search as search_regions
from fencepost.checker.request import Engine, Limits, Request, Solving, Unsupported
from fencepost.checker.search.reconstruct import first_impossible
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


def variants(run: Run, found: Observed) -> Iterator[Run]:
    """The same search with other limits, or beyond the first problem; `found` is its result."""
    if found.verdict not in ("ok", "unreached"):
        yield replace(run, keep_going=True)
    if found.distinct > MAX_VARIED:
        return
    yield replace(run, deadlock=not run.deadlock, keep_going=True)
    if found.depth > 2:
        yield replace(run, limits=Limits(depth=found.depth // 2))
    # Any number of states may be too many, also among the successors of one state.
    chance = random.Random(found.generated)
    for _ in range(RANDOM_LIMITS if found.distinct > 1 else 0):
        limited = run.within(max_states=chance.randrange(1, found.distinct))
        yield replace(limited, keep_going=chance.random() < 0.5)
    if found.distinct > 2:
        # The last state reaches the second of these limits.
        for most in (found.distinct, found.distinct - 1):
            yield run.within(max_states=most)


MAX_VARIED = 1_000
"""Larger searches have no variants with limits."""
RANDOM_LIMITS = 3


# ---------------------------------------------------------------- local

WORKERS = (1, 2, 3)


def local_agrees(run: Run, turn: int | None = None, better: bool = False) -> str:
    """The search and its variants by machine code, with any number of workers.

    With a `turn`, which runs of thousands count, each variant has one number of workers, and memory
    is watched in every 16th search. If `better`, LLVM optimises the code.
    """
    watched = turn is None or turn % 16 == 0

    def compare(run: Run, counts: Sequence[int]) -> Observed:
        wanted = run.by(INTERPRETER)
        for workers in counts:
            asked = run.within(workers=workers)
            # Few states are not worth a thread, but here they have some.
            with mock.patch.object(explorer, "FEW", 0):
                assert_same(wanted, asked.by(Local(watched=watched and workers == 1)), asked)
        return wanted

    with translated_once(better or (turn is not None and turn % 50 == 0)):
        wanted = compare(run, WORKERS if turn is None else (1, 2 + turn % 2))
        for place, other in enumerate(variants(run, wanted)):
            compare(other, WORKERS if turn is None else (1 + (turn + place) % 3,))
    return wanted.verdict


@contextmanager
def translated_once(better: bool) -> Generator[None]:
    """Keeps machine code while the block runs; only another model or another set of properties is
    translated anew. The models stay alive.
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
    """Compiled code, which is not improved further."""

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
    """What all engines report of a finding."""
    site = None if finding.site is None else site_of(finding.site)
    return finding.verdict.value, finding.depth, site, finding.property


def problems_of(outcome: Outcome) -> list[Problem]:
    """The problems that were found; that something was not reached in some steps is none."""
    return [problem(finding) for finding in _real(outcome)]


def _real(outcome: Outcome) -> list[Finding]:
    return [finding for finding in outcome.findings if finding.verdict is not Verdict.UNREACHED]


def _enumerated(run: Run, depth: int) -> Outcome:
    return run.within(depth=depth, max_states=MAX_STATES, timeout=SECONDS).outcome(INTERPRETER)


def bmc_agrees(run: Run, depth: int) -> str:
    """Bounded model checking finds what the interpreter finds in so many steps: each problem at the
    same depth and place, and the same reachables.
    """
    explicit = _enumerated(run, depth)
    try:
        symbolic = run.within(depth=depth, timeout=SECONDS).outcome("bmc")
    except Unsupported:
        return REFUSED
    if any(one.cut is not None and one.cut.kind != "depth" for one in (explicit, symbolic)):
        return CUT
    known, found = problems_of(explicit), problems_of(symbolic)
    # bmc decides whether a state of the last level may end there; a search by levels needs one more
    # step for that (docs/symbolic.md).
    last = [one for one in found if one not in known]
    if last:
        assert all(one[1] == depth + 1 for one in last), f"{known}\nbmc: {found}\n{run}"
        known += [one for one in problems_of(_enumerated(run, depth + 1)) if one in last]
    assert known == found, f"interpreter: {known}\nbmc: {found}\n{run}"
    for finding in _real(symbolic):
        if finding.trace is not None and finding.trace.steps[-1].state is not None:
            assert first_impossible(Runner(run.model), finding.trace) is None
            assert len(finding.trace.steps) == finding.depth
    if not known:
        assert explicit.coverage.reached == symbolic.coverage.reached, f"reached: {run}"
    return AGREES


def induction_agrees(run: Run, k: int = 1, seconds: float = SECONDS) -> str:
    """What induction proves holds in every state that the interpreter visits, and what its base
    case finds is there.
    """
    try:
        outcome = run.within(depth=1, timeout=seconds, solving=Solving(k=k)).outcome("induction")
    except Unsupported:
        return REFUSED
    searched = _enumerated(replace(run, keep_going=True), 40)
    findings = _real(searched)
    if outcome.findings:
        known = problems_of(searched)
        first = _real(outcome)[:1]
        assert all(problem(one) in known for one in first) or searched.cut or (
            # The interpreter ends at the first error even if it keeps going.
            findings and findings[0].verdict in (Verdict.ERROR, Verdict.ASSERTION)
            and findings[0].depth <= first[0].depth
        ), f"induction: {problems_of(outcome)}\ninterpreter: {known}\n{run}"  # fmt: skip
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
    return "part" if claimed else "nothing"


# ---------------------------------------------------------------- all values of a constant


def regions_of(run: Run, engine: Engine | str = INTERPRETER) -> Outcome:
    """The search for all values of the one symbolic constant. Raises `Rejected`."""
    if refused := problems(run.model, run.properties):
        raise Rejected(refused)
    asked = Request(run.model, run.properties, run.deadlock, run.limits, run.keep_going)
    return search_regions(load(engine) if isinstance(engine, str) else engine, asked)


def outline(outcome: Outcome) -> tuple[object, ...]:
    """What a region claims for each of its values: the verdict, the problems and every count."""
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
    """Each value (or each of `values`) is in one region, and a search with the value alone has the
    result of that region. Returns the outcome for all values.
    """
    found = regions_of(run, engine)
    kind = run.model.symbols[0].type
    assert isinstance(kind, Int | Machine)
    # The model that is searched with terms is well formed.
    lifted = lift(run.model, kind.high, run.properties)
    assert isinstance(lifted, Lifted)
    assert verify_model.problems(lifted.model) == []
    allowed = 0
    for value in range(kind.low, kind.high + 1) if values is None else values:
        inside = [region for region in found.regions if contains(region.ranges, value)]
        alone = replace(run, model=instance(run.model, (value,))).outcome(INTERPRETER)
        if alone.verdict is Verdict.ASSUMPTION:
            assert not inside, f"{value} is excluded, and in {inside}\n{run}"
            continue
        allowed += 1
        assert len(inside) == 1, f"{value} is in {len(inside)} regions\n{run}"
        assert outline(inside[0].outcome) == outline(alone), f"{value}\n{run}"
    if values is None:
        size = sum(high - low + 1 for region in found.regions for low, high in region.ranges)
        assert size == allowed
    return found


REFUSED_REGIONS = {"F701", "F811", "F812", "F813"}
"""F701: a random spec uses the constant where it never fits. F811: it asks whether an action is
enabled with a symbolic value.
"""


def all_values_agree(run: Run, engine: str, depth: int) -> str:
    """The same for a random spec, by an engine that visits states, or by bounded model checking
    against the regions of the interpreter.
    """
    try:
        if engine != "bmc":
            return regions_agree(run, engine).verdict.value
        wanted = regions_of(run)
    except Rejected as rejected:
        codes = {problem.code for problem in rejected.problems}
        assert codes <= REFUSED_REGIONS, f"{codes}\n{run}"
        return REFUSED
    found = run.within(depth=depth, timeout=SECONDS).outcome("bmc")
    assert problems_of(found) == problems_of(wanted), run
    return wanted.verdict.value


# ---------------------------------------------------------------- the second interpreter


def plain(seen: Observed) -> Observed:
    """The observation without the explanation why a property fails."""
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
    """What the second interpreter observes."""
    limits = run.limits
    return naive.observed(
        run.model, run.properties, run.deadlock, limits.depth, run.keep_going, limits.max_states
    )


def naive_agrees(run: Run, limited: bool = True) -> str:
    """The interpreter and the second one, to the first problem and beyond; if `limited`, also on
    the first states, a random number of them.
    """
    verdict = ""
    for keep_going in (False, True):
        asked = replace(run, keep_going=keep_going)
        found = asked.by(INTERPRETER)
        assert_same(by_naive(asked), plain(found), asked)
        verdict = verdict or found.verdict
        if limited and found.distinct > 1:
            most = random.Random(found.generated).randrange(1, found.distinct)
            first = asked.within(max_states=most)
            assert_same(by_naive(first), plain(first.by(INTERPRETER)), first)
        if not limited and not found.findings:
            break
    return verdict


# ---------------------------------------------------------------- orbits

REFUSED_ORBITS = {"F846", "F420"}
"""A loop in a random spec may send to a channel that keeps an order."""


def symmetric_run(text: str, states: int) -> Run | None:
    """A search for orbits in a random spec, bounded so that a search of all states has at most
    about so many; None if the spec is refused.
    """
    try:
        run = run_of(text, limits=Limits(workers=1))
    except Rejected as rejected:
        if {problem.code for problem in rejected.problems} - REFUSED_ORBITS:
            raise
        return None
    return replace(bounded(replace(run, symmetry=False), states), symmetry=True)


def orbits_agree(run: Run | None, engines: Sequence[Engine]) -> str:
    """A search for orbits finds what a search of all states finds, and each engine finds the same
    number of orbits.
    """
    if run is None:
        return REFUSED
    verdict, fewer = "", False
    for asked in (run, replace(run, keep_going=True)):
        every = replace(asked, symmetry=False).outcome(INTERPRETER)
        wanted, visited = summary(run.model, every), set[int]()
        for engine in engines:
            found = asked.outcome(engine)
            assert_same(wanted, summary(run.model, found), f"{engine.name}, {asked}")
            counts = found.statistics
            # Without a variable that holds a value of a symmetric type, each state is visited.
            visited.add(counts.distinct if counts.orbits is None else counts.orbits)
        assert len(visited) == 1, asked
        verdict = verdict or every.verdict.value
        fewer = fewer or min(visited) < every.statistics.distinct
    return f"{verdict} in fewer" if fewer else verdict


# ---------------------------------------------------------------- refinements


def refinement(made: Refining) -> tuple[Run, Model]:
    """The search of a spec for its refinement, and the model of the module by itself."""
    with TemporaryDirectory() as folder:
        for name, text in (("m", made.module), ("spec", made.spec)):
            (Path(folder) / f"{name}.fence").write_text(text, encoding="utf-8")
        module = program.build(program.load(Path(folder) / "m.fence"), None)
        model = program.build(program.load(Path(folder) / "spec.fence"), None)
    text = f"{made.module}\n{made.spec}"
    return Run(model, frozenset([0]), deadlock=False, limits=Limits(workers=1), text=text), module


def refinement_agrees(made: Refining) -> str:
    """The interpreter reports the verdict and the depth that follow from the definition."""
    run, module = refinement(made)
    outcome = run.outcome(INTERPRETER)
    depth = outcome.findings[0].depth if outcome.findings else outcome.statistics.depth
    expected = _refined(run.model, module, made)
    assert (outcome.verdict.value, depth) == expected, run
    return expected[0]


def local_refines(made: Refining, counts: Sequence[int]) -> str:
    """Machine code finds what the interpreter finds."""
    run, _ = refinement(made)
    expected = run.outcome(INTERPRETER)
    for workers in counts:
        found = run.within(workers=workers).outcome("local")
        assert summary(run.model, found) == summary(run.model, expected), f"{workers}, {run}"
        assert found.findings == expected.findings, f"{workers}, {run}"
    return expected.verdict.value


def _refined(model: Model, module: Model, made: Refining) -> tuple[str, int]:
    """The verdict, and the depth at which it is reached, by the definition."""
    runner, there = Runner(model), Runner(module)
    starts = {one.state for one in there.initial()}
    level = {one.state for one in runner.initial() if one.state is not None}
    if any(made.image(state) not in starts for state in level):
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
            image = made.image(state)
            allowed = {image} | {after for _, after in there.expand(image)[0]}
            wrong |= any(made.image(after) not in allowed for _, after in steps)
            onward |= {after for _, after in steps}
        if wrong:
            return "violated", depth
        level = onward - seen
    return "ok", depth - 1


# ---------------------------------------------------------------- behaviours

MAX_LASSO_STATES = 6
"""Larger graphs have too many lassos to try them all."""
STEPS = 4


def behaviour_run(text: str) -> Run:
    """The search of a spec with one property of behaviours; a deadlock is no problem."""
    run = run_of(text, deadlock=False, limits=Limits(workers=1))
    selectable = (n for n, item in enumerate(run.model.properties) if item.kind.selectable)
    return replace(run, properties=frozenset(selectable))


def random_behaviours(seed: int) -> Run:
    """A random spec of this kind; every second one has a formula of up to 60 operators that is not
    refused.
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
    """The number of the property of behaviours."""
    return next(n for n, item in enumerate(run.model.properties) if item.kind.of_behaviours)


def formula_of(run: Run) -> Formula:
    """The formula of the property of behaviours."""
    formula = run.model.properties[behaviour_number(run)].formula
    assert formula is not None
    return formula


def uninterrupted(run: Run, engine: str) -> Outcome:
    """The outcome of a search. Raises `KeyboardInterrupt` if a signal for the whole campaign ended
    it.
    """
    outcome = run.outcome(engine)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


def lasso_in(outcome: Outcome) -> Lasso | None:
    """The lasso of the first finding, if there is one."""
    if outcome.verdict is not Verdict.VIOLATED:
        return None
    trace = outcome.findings[0].trace
    assert trace is not None
    loop = trace.loop
    assert loop is not None
    states = tuple(step.state for step in trace.steps if step.state is not None)
    return Lasso(states, ()) if loop == len(states) - 1 else Lasso(states[:loop], states[loop:])


def lasso_is_genuine(run: Run, outcome: Outcome) -> str:
    """The evaluator accepts the lasso of the outcome. If it has none and the graph is small, a
    search of all lassos up to a length finds none either.
    """
    lasso = lasso_in(outcome)
    if lasso is not None:
        assert genuine(Runner(run.model), formula_of(run), lasso), f"{lasso}\n{run}"
        assert lasso == lasso.rotated(), f"the stem ends with a step of the cycle: {lasso}"
    else:
        _assert_no_lasso(run, [(2, 4)])
    return outcome.verdict.value


def local_finds_lasso(run: Run, wanted: Outcome) -> str:
    """Machine code finds what the interpreter finds, including the lasso, with 1 to 3 workers."""
    for workers in WORKERS:
        found = uninterrupted(run.within(workers=workers), "local")
        pairs = zip(_timeless(found), _timeless(wanted), strict=True)
        differing = "\n".join(f"{one}\nand not {other}" for one, other in pairs if one != other)
        assert not differing, f"{workers} workers: {differing}\n{run}"
    return AGREES


def bmc_finds_lasso(run: Run, wanted: Outcome) -> str:
    """Bounded model checking finds nothing that the interpreter does not, and it finds the
    interpreter's lasso if that has at most `STEPS` steps; in a small graph, it finds each lasso.
    """
    found = uninterrupted(run.within(depth=STEPS), "bmc")
    lasso = lasso_in(found)
    if lasso is not None:
        assert genuine(Runner(run.model), formula_of(run), lasso), f"{lasso}\n{run}"
        assert len(lasso.states) - 1 <= STEPS
        assert wanted.verdict is Verdict.VIOLATED, f"{lasso}\n{run}"
        return f"{AGREES}: {found.verdict.value}"
    if found.verdict is Verdict.OK:
        assert wanted.verdict is Verdict.OK, run
    known = lasso_in(wanted)
    if known is not None:
        # Only a longer path shows whether the last state can be left.
        assert len(known.states) - 1 > STEPS - (not known.cycle), f"missed {known}\n{run}"
    _assert_no_lasso(run, [(stem, STEPS - stem) for stem in range(STEPS)])
    return f"{AGREES}: {found.verdict.value}"


def _assert_no_lasso(run: Run, sizes: Sequence[tuple[int, int]]) -> None:
    """A small graph has no violating lasso with these maximal lengths of stem and cycle."""
    if len(steps_of(Runner(run.model))[1]) <= MAX_LASSO_STATES:
        for stem, cycle in sizes:
            missed = some_lasso(run.model, behaviour_number(run), stem, cycle)
            assert missed is None, f"missed {missed}\n{run}"


def _timeless(outcome: Outcome) -> tuple[object, ...]:
    """Everything that a user sees of an outcome except seconds and bytes."""
    statistics = replace(outcome.statistics, seconds=0.0, peak_bytes=0, decided_seconds=None)
    return outcome.verdict, outcome.cut, outcome.findings, outcome.notes, statistics


# ---------------------------------------------------------------- the same spec in other words


def rewrite_agrees(text: str, rule: str, states: int = 400) -> str:
    """The checks of a spec and of the same spec in other words are observed to do the same."""
    other = rewritten(loaded(text), RULES[rule])
    verdict = ""
    for run, check in zip(runs_of(text), other.checks, strict=True):
        run = replace(bounded(run, states), keep_going=True)
        again = replace(run, model=program.build(other, check))
        wanted = _wordless(run.by(INTERPRETER))
        found = _wordless(again.by(INTERPRETER), added=1)
        if rule == "stepwise" and any(one.verdict == "error" for one in wanted.findings):
            # A choice that failed as a whole, because of one element, is now one for each.
            assert _outlines(wanted) == _outlines(found), run
        else:
            assert_same(wanted, found, f"{rule}, {run}")
        verdict = verdict or wanted.verdict
    return verdict


def _wordless(seen: Observed, added: int = 0) -> Observed:
    """What does not depend on the words, without the first `added` variables."""

    def steps(trace: tuple[ObservedStep, ...] | None) -> tuple[ObservedStep, ...] | None:
        return trace and tuple(replace(s, state=s.state and s.state[added:]) for s in trace)

    def wordless(finding: ObservedFinding) -> ObservedFinding:
        site, trace = finding.site and (finding.site[0], None, (), ""), steps(finding.trace)
        return replace(finding, site=site, instance=(), failing=None, blocked=(), trace=trace)

    findings, stuck = tuple(map(wordless, seen.findings)), steps(seen.stuck_trace)
    return replace(seen, findings=findings, marks=(), blocked=(), stuck_trace=stuck)


def _outlines(seen: Observed) -> list[tuple[str, int]]:
    return [(finding.verdict, finding.depth) for finding in seen.findings]
