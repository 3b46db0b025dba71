"""Bounded model checking, the engine ``bmc``: searches for problems within a number of steps.

One solver holds the constraints of a path, level by level. At each level it is asked for problems
in the order in which they are reported (docs/language.md section 10), and then for lassos that
close in this level. Lassos only count if no level has any other problem. The path of a problem is
replayed on the reference interpreter before it is shown. A path that does not replay is a bug in
this program.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any

from fencepost.checker.outcome import (
    INTERRUPTED,
    NO_INITIAL_STATE,
    Coverage,
    Finding,
    Limit,
    Outcome,
    Statistics,
    Undecided,
    Verdict,
)
from fencepost.checker.request import Request, refuse_refinements
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.account import (
    VERDICTS,
    Candidate,
    Cut,
    finding_of,
    others,
    trace_of,
)
from fencepost.checker.search.explain import first_failure, first_impossible
from fencepost.checker.symbolic import terms, values
from fencepost.checker.symbolic.engine import SolverEngine
from fencepost.checker.symbolic.expressions import Failure
from fencepost.checker.symbolic.formulas import Formulas, Level
from fencepost.checker.symbolic.lassos import Lassos
from fencepost.checker.symbolic.run_limits import Watch, WatchedRunner
from fencepost.checker.symbolic.solver import Solver, Unknown
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.unknowns import least_model
from fencepost.checker.symbolic.values import Tree
from fencepost.checker.temporal.lasso import Lasso, genuine
from fencepost.checker.temporal.verdict import NOT_JUDGED, leaves_open, vacuous
from fencepost.checker.temporal.verdict import finding as lasso_finding
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State, Value
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner


@dataclass(frozen=True, slots=True)
class Question:
    """A possible problem in a level. The problem occurs if ``condition`` is satisfiable."""

    rank: Rank
    index: int
    condition: Truth
    site: int | None = None
    number: int | None = None
    on_step: bool = False
    completed: bool = True

    @property
    def order(self) -> tuple[Rank, int]:
        """The sort key that determines which of several problems at the same depth is reported. At
        most one problem with each key is reported.
        """
        return self.rank, self.index


class BoundedSearch:
    """One run of the bounded search. ``levels`` contains the values of the variables, level by
    level. ``complete`` is the number of levels with all questions answered.
    """

    def __init__(self, request: Request) -> None:
        self.model = model = request.model
        refuse_refinements(model, request.properties)
        self.deadlock = request.deadlock
        self.limits = limits = request.limits
        self.keep_going = request.keep_going
        self.watch = Watch(request)
        solving = limits.solving
        self.solver = Solver(
            solving.seconds, limits.memory, solving.record, self.watch.look, bool(model.open_ranges)
        )
        self.levels: list[Level] = []
        self.complete = 0
        self.reached: set[int] = set()
        self.violated: set[int] = set()
        self._endless: dict[int, Finding] = {}
        self._outside = False
        self._decided = 0.0
        self._found: list[tuple[tuple[int, Rank, int], Finding]] = []
        self._ending = False
        self.searched = model.searched(request.properties)
        self._stays = not any(model.properties[n].within for n in self.searched.behaviours)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The problems found, starting with the one to report first."""
        return tuple(finding for _, finding in sorted(self._found, key=lambda entry: entry[0]))

    @property
    def _unreached(self) -> list[int]:
        return [number for number in self.searched.reachables if number not in self.reached]

    def run(self) -> Outcome:
        cut: Limit | None = None
        try:
            with self.limited():
                self.search()
        except Cut as error:
            cut = error.limit
        except KeyboardInterrupt:
            cut = INTERRUPTED
        return self._outcome(cut)

    @contextmanager
    def limited(self) -> Generator[None]:
        """Applies limits and interrupts while the context is active."""
        with self.watch.interrupts.heard(), terms.watched(self.watch.look):
            yield

    # ------------------------------------------------------------ the levels

    def search(self) -> None:
        """Searches level by level. Raises `Cut` if a limit is reached."""
        self.formulas = Formulas(self.model)
        self._lassos = Lassos(self.formulas) if self.searched.behaviours else None
        if not self._constants():
            return
        first = self.formulas.initial()
        failures = [self._failed(-1, failure) for failure in first.failures]
        self._level(failures, first.path, first.store, None)
        while not self._ending and self.ask(True) is not None:
            self._ends()
            if self._ending and not self.keep_going:
                return
            max_depth = self.limits.depth
            last = max_depth is not None and len(self.levels) > max_depth
            if self._lassos is not None:
                began = time.monotonic()
                try:
                    self._behaviours(self._lassos, stays=not last)
                finally:
                    self._decided += time.monotonic() - began
            if last:
                raise Cut(Limit("depth", max_depth))
            self._step()

    def _constants(self) -> bool:
        """Checks whether the symbolic constants can have values. Records the problem if they
        cannot.
        """
        for failure in self.formulas.failures:
            model = self.ask(failure.condition)
            if model is not None:
                site = self.model.sites[failure.site]
                constants = self.formulas.constants_in(model)
                self._note(
                    Rank.ERROR,
                    Finding(Verdict.ERROR, None, 0, None, site=site, constants=constants),
                )
                return False
        for fact in self.formulas.facts:
            self.solver.add(fact)
        if self.ask(True) is not None:
            return True
        spans = [s.condition.span for s in self.model.symbols if s.condition is not None]
        self._note(Rank.ERROR, Finding(Verdict.ASSUMPTION, None, 0, None, failing=spans[0]))
        return False

    def _note(self, rank: Rank, finding: Finding) -> None:
        self._found.append(((finding.depth, rank, finding.index), finding))
        fatal = finding.verdict not in (Verdict.VIOLATED, Verdict.DEADLOCK)
        self._ending = self._ending or fatal or not self.keep_going

    def _step(self) -> None:
        """Takes a step to the next level and searches that level."""
        before = self.levels[-1]
        inside = self.formulas.bounds(before, self.searched.constraints).inside
        if not self._outside:
            self._outside = self.ask(terms.negation(inside)) is not None
        self.solver.add(inside)
        move = self.formulas.move(before)
        failures = [self._failed(number, failure) for number, failure in move.failures]
        self._level(failures, move.path, move.store, before)

    def _failed(self, action: int, failure: Failure) -> Question:
        rank = Rank.ASSERTION if failure.assertion else Rank.ERROR
        return Question(rank, action, failure.condition, failure.site, completed=False)

    # ------------------------------------------------------------ one level

    def _level(
        self,
        failures: Sequence[Question],
        valid: Truth,
        store: Sequence[Tree],
        before: Level | None,
    ) -> None:
        """Searches a level. The level is reached if ``valid`` holds."""
        names: list[Tree] = []
        for kind, tree in zip(self.formulas.kinds, store, strict=True):
            name, fact = values.named(kind, tree, f"s{len(self.levels)}")
            names.append(name)
            self.solver.add(fact)
        level = Level(tuple(names))
        self.levels.append(level)
        self.watch.level = len(self.levels)
        self._problems([*failures, *self._questions(level, before)], valid)
        if self._ending:
            return
        for number in self._unreached:
            truth = terms.both(valid, self.formulas.property(number, level).holds)
            if self.ask(truth) is not None:
                self.reached.add(number)
        self.solver.add(valid)
        self.complete += 1

    def _questions(self, level: Level, before: Level | None) -> list[Question]:
        questions: list[Question] = []

        def note(number: int, *levels: Level) -> None:
            kind = self.model.properties[number].kind
            answer = self.formulas.property(number, *levels)
            questions.extend(self._undefined(number, f, kind.of_steps) for f in answer.failures)
            if kind.must_hold and number not in self.violated:
                violated = answer.violated
                questions.append(Question(kind.rank, number, violated, None, number, kind.of_steps))

        searched = self.searched
        for number in (*searched.invariants, *searched.predicates, *self._unreached):
            note(number, level)
        bounds = self.formulas.bounds(level, self.searched.constraints)
        questions += [self._undefined(number, failure) for number, failure in bounds.failures]
        if before is not None:
            for number in self.searched.step_invariants:
                note(number, before, level)
        return questions

    def _undefined(self, number: int, failure: Failure, on_step: bool = False) -> Question:
        """Returns the question whether a property is undefined in a state or on a step."""
        index = len(self.model.actions) + number
        return Question(Rank.ERROR, index, failure.condition, failure.site, number, on_step)

    def _ends(self) -> None:
        """Searches for states without successors in the last level."""
        end = self.formulas.end(self.levels[-1], self.searched, self.deadlock)
        questions = [self._undefined(number, failure) for number, failure in end.failures]
        self._problems([*questions, Question(Rank.DEADLOCK, 0, end.dead)], True)

    def _behaviours(self, lassos: Lassos, stays: bool) -> None:
        """Searches for lassos that close in the last level. Lassos that stay in the last state are
        only included with ``stays``, which requires that no step from that state can fail.
        """
        constraints = self.searched.constraints
        if stays and not self._stays:
            self._stays = self.ask(lassos.idle(self.levels, constraints)) is not None
        for number in self.searched.behaviours:
            if number in self._endless:
                continue
            self.watch.decision.begin(number)
            self.watch.decision.enter("lasso")
            ways = lassos.ways(self.levels, constraints, number, stays)
            model = self.ask(terms.either(*ways))
            if model is not None:
                loop = next(n for n, truth in enumerate(ways) if terms.truth_in(model, truth))
                self._endless[number] = self._lasso(number, loop, model)
        self.watch.decision.end()

    def _lasso(self, number: int, loop: int, model: Any) -> Finding:
        """Returns the finding for a lasso. The interpreter validates the lasso first."""
        runner, states = self._run(model)
        formula = self.model.properties[number].formula
        assert formula is not None
        lasso = Lasso.along(states, loop)
        assert genuine(runner, formula, lasso), "the lasso is none"
        finding = lasso_finding(runner, number, lasso)
        return replace(finding, constants=self.formulas.constants_in(model))

    def _problems(self, questions: Sequence[Question], valid: Truth) -> None:
        """Searches for problems in a level, in order, and records them."""

        def whole(question: Question) -> Truth:
            if question.completed:
                return terms.both(valid, question.condition)
            return question.condition

        ordered = sorted(questions, key=lambda question: question.order)
        left = [
            [(question, whole(question)) for question in group]
            for _, group in groupby(ordered, key=lambda question: question.order)
        ]
        either = [terms.either(*(truth for _, truth in group)) for group in left]
        while (first := self._first(either)) is not None:
            index, model, cut = first
            group = left[index]
            question = next(asked for asked, truth in group if terms.truth_in(model, truth))
            left, either = left[index + 1 :], either[index + 1 :]
            if cut is None:
                try:
                    question, model = self._named(group, question, model)
                except Cut as error:
                    # The problem is reported as it was found.
                    cut = error
            try:
                finding = self._finding(question, model)
            except Cut as error:
                finding, cut = self._untraced(question, model), error
            self._note(question.rank, finding)
            if question.rank is Rank.DEADLOCK:
                self.deadlock = False
            elif question.site is None and question.number is not None:
                self.violated.add(question.number)
            if cut is not None:
                raise cut
            if not self.keep_going:
                break

    def _first(self, truths: Sequence[Truth]) -> tuple[int, Any, Cut | None] | None:
        """Finds the first of several truths that is satisfiable. Returns its index, a model of it,
        and the `Cut` that ended the search for an earlier one, if any. Returns None if no truth is
        satisfiable. Raises `Cut` if the search ended before any truth was found to be satisfiable.

        This needs few queries, because a model of any of the truths shows which truths need no
        further query.
        """
        best: tuple[int, Any] | None = None
        while truths:
            try:
                model = self.ask(terms.either(*truths))
            except Cut as cut:
                if best is None:
                    raise
                return *best, cut
            if model is None:
                break
            index = next(n for n, truth in enumerate(truths) if terms.truth_in(model, truth))
            best, truths = (index, model), truths[:index]
        return None if best is None else (*best, None)

    def _named(
        self, group: Sequence[tuple[Question, Truth]], question: Question, model: Any
    ) -> tuple[Question, Any]:
        """Returns the problem to report out of a group with the same rank and index, and a model of
        that problem. ``model`` satisfies ``question``. If evaluation may fail at several sites, the
        problem is the first failure in the least state, as for other engines.
        """
        rest = [truth for asked, truth in group if asked.site != question.site]
        if self.ask(terms.either(*rest)) is None:
            return question, model
        levels = self.levels[-1:] if question.completed else self.levels[-2:-1]
        if question.on_step:
            levels = [self.levels[-1], self.levels[-2]]
        kinds = [symbol.type for symbol in self.model.symbols]
        trees = [*zip(kinds, self.formulas.symbols, strict=True)]
        for level in levels:
            trees += zip(self.formulas.kinds, level.store, strict=True)
        truth = terms.either(*(truth for _, truth in group))
        model = least_model(self.ask, truth, trees, model)
        site = self._first_site(question, model)
        return next(asked for asked, _ in group if asked.site == site), model

    def _first_site(self, question: Question, model: Any) -> int:
        """Returns the site of the interpreter's first failure in the states of a solver model."""
        runner, states = self._run(model)
        if question.number is None:
            return first_failure(
                runner,
                states[-2] if len(states) > 1 else None,
                question.index,
                question.rank is Rank.ASSERTION,
            )
        try:
            runner.holds(question.number, *(states[-2:] if question.on_step else states[-1:]))
        except EvaluationError as error:
            return error.site
        raise AssertionError("the failure does not replay")

    def _run(self, model: Any) -> tuple[Runner, list[State]]:
        """Returns an interpreter with the constants of a solver model, and the states on the path
        in that model.
        """
        constants = [choice.value for choice in self.formulas.constants_in(model)]
        runner = WatchedRunner(instance(self.model, constants), self.watch.hear)
        return runner, [self.formulas.state_in(model, level) for level in self.levels]

    def _finding(self, question: Question, model: Any) -> Finding:
        """Returns the finding for a question, with a trace that the interpreter has replayed."""
        runner, states = self._run(model)
        depth = len(states)
        if not question.completed:
            states.pop()
        state = states[-1] if states else None
        before = states[-2] if question.on_step else None
        problem = Candidate(
            depth, question.rank, question.index, state, before, question.site, question.number
        )
        path = states[:-1] if question.on_step else states
        trace = trace_of(runner, problem, path)
        whole = trace if question.completed else replace(trace, steps=trace.steps[:-1])
        assert first_impossible(runner, whole) is None, "the trace does not replay"
        return replace(
            finding_of(runner, problem), trace=trace, constants=self.formulas.constants_in(model)
        )

    def _untraced(self, question: Question, model: Any) -> Finding:
        """Returns the finding for a question, still without its trace, which needs a replay."""
        violated = question.number if question.site is None else None
        site = None if question.site is None else self.model.sites[question.site]
        verdict, constants = VERDICTS[question.rank], self.formulas.constants_in(model)
        depth = len(self.levels)
        return Finding(
            verdict, violated, depth, None, site, constants=constants, index=question.index
        )

    def example(self) -> tuple[Value, ...]:
        """Returns values of the symbolic constants that allow a path as long as those searched, or
        no values if no such path exists. Raises `Cut`.
        """
        model = self.ask(True)
        return (
            tuple(choice.value for choice in self.formulas.constants_in(model))
            if model is not None
            else ()
        )

    # ------------------------------------------------------------ the solver

    def ask(self, question: Truth) -> Any | None:
        """Returns a solver model of the path that satisfies ``question``, or None if no such model
        exists. Raises `Cut`.
        """
        left = self.watch.left()
        try:
            return self.solver.ask(question, left)
        except Unknown as unknown:
            raise Cut(self._why(unknown)) from None

    def _why(self, unknown: Unknown) -> Limit:
        """Returns the reason why the solver stopped, as a limit."""
        limits = self.limits
        if limits.timeout is not None and self.watch.seconds >= limits.timeout:
            return Limit("timeout", limits.timeout)
        if limits.solving.seconds is not None and unknown.late:
            return Limit("solver-timeout", limits.solving.seconds)
        return Limit("solver", reason=f"Z3, which gave up ({unknown})")

    def _outcome(self, cut: Limit | None) -> Outcome:
        depth = self.complete
        findings = self.findings
        notes: list[str] = [NOT_JUDGED] if findings and self.searched.behaviours else []
        if not findings:
            endless = sorted(self._endless.items())
            findings = tuple(finding for _, finding in endless[: None if self.keep_going else 1])
        if findings:
            verdict = findings[0].verdict
            depth = max(finding.depth for finding in findings)
            if cut is not None:
                notes.append(others(cut))
        elif cut is not None:
            verdict = Verdict.INCONCLUSIVE
        else:
            # The last level is empty and does not count.
            depth -= 1
            unreached = self._unreached
            findings = tuple(Finding(Verdict.UNREACHED, n, depth, None) for n in unreached)
            verdict = Verdict.UNREACHED if unreached else Verdict.OK
            if self._outside and leaves_open(self.model, self.searched.behaviours):
                # States outside the constraints are not explored, so the result is not complete.
                cut = Limit("outside")
                verdict = verdict if unreached else Verdict.INCONCLUSIVE
            if self._outside and not self._stays and depth:
                notes.append(vacuous(self.model, self.searched.behaviours))
            if not depth:
                notes.append(NO_INITIAL_STATE)
        seconds = self.watch.seconds
        statistics = Statistics(
            0, 0, depth, (), (), seconds, peak_bytes(), counted=False,
            decided_seconds=self._decided if self.searched.behaviours else None,
        )  # fmt: skip
        coverage = Coverage(
            (0,) * len(self.model.actions),
            frozenset(),
            cut=int(self._outside),
            reached=frozenset(self.reached),
        )
        undecided = None
        if cut is not None and self.watch.decision.property is not None:
            left = self.searched.behaviours
            undecided = Undecided(left[left.index(self.watch.decision.property) :], cut)
        script = self.solver.script() if self.limits.solving.record else None
        return Outcome(
            verdict,
            findings,
            statistics,
            coverage,
            cut,
            cut == INTERRUPTED,
            notes=tuple(notes),
            script=script,
            undecided=undecided,
        )


ENGINE = SolverEngine("bmc", lambda request: BoundedSearch(request).run())
