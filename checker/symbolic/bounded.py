"""Bounded model checking: is there a problem within so many steps? The engine ``bmc``.

One solver holds what is known of a path, level after level; each level is asked about in the order
in which problems are reported (docs/language.md section 10). The path of a problem is run on the
reference interpreter before it is shown: what does not replay is a mistake of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.checker.account import (
    PROGRESS_SECONDS,
    Candidate,
    Rank,
    broken_assumptions,
    finding_of,
    trace_of,
)
from fencepost.checker.engine import Limits, Progress, Translation
from fencepost.checker.process import peak_bytes
from fencepost.checker.reference.runner import Runner
from fencepost.checker.result import Choice, Coverage, Finding, Outcome, Statistics, Verdict
from fencepost.checker.symbolic import terms, values
from fencepost.checker.symbolic.domain import Failure
from fencepost.checker.symbolic.formulas import Formulas
from fencepost.checker.symbolic.solver import Solver, Unknown
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree
from fencepost.checker.trace import first_impossible
from fencepost.spec.instances import instance
from fencepost.spec.ir import Model
from fencepost.spec.types import State, Value


@dataclass(frozen=True, slots=True)
class Question:
    """A problem that a level may have: it has it where ``condition`` can hold."""

    rank: Rank
    index: int
    condition: Truth
    site: int | None = None
    number: int | None = None
    on_step: bool = False
    completed: bool = True


class Bounded:
    """The engine of this module."""

    name = "bmc"
    parallel = False

    @property
    def library(self) -> str:
        """The library that it stands on, and its version."""
        return terms.library()

    def obstacle(self) -> str | None:
        """Nothing: it runs where it can be imported."""

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        """Nothing: it makes no machine code."""

    def run(
        self,
        model: Model,
        *,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> Outcome:
        broken = broken_assumptions(model)
        if broken is not None:
            return broken
        terms.begin()
        return Search(model, properties, deadlock, limits, keep_going, progress).run()


ENGINE = Bounded()


class Cut(Exception):
    """A limit is reached; the argument names it."""


class Search:
    """One run. ``stores`` are the values of the variables, level by level; ``complete`` is the
    number of levels about which every question was answered.
    """

    def __init__(
        self,
        model: Model,
        properties: frozenset[int],
        deadlock: bool,
        limits: Limits,
        keep_going: bool,
        progress: Callable[[Progress], None],
    ) -> None:
        self.model = model
        self.deadlock = deadlock
        self.limits = limits
        self.keep_going = keep_going
        self.progress = progress
        self.started = self.told = time.monotonic()
        self.formulas = Formulas(model)
        solving = limits.solving
        self.solver = Solver(solving.seconds, limits.memory, solving.record, self._tell)
        self.stores: list[tuple[Tree, ...]] = []
        self.complete = 0
        self.findings: list[Finding] = []
        self.reached: set[int] = set()
        self.open = {
            number
            for number, item in enumerate(model.properties)
            if number in properties or item.kind in ("constraint", "terminal")
        }

    def _numbers(self, *kinds: str) -> list[int]:
        return self.formulas.numbers(self.open, *kinds)

    def run(self) -> Outcome:
        limit: str | None = None
        try:
            self.search()
        except Cut as cut:
            limit = str(cut)
        except KeyboardInterrupt:
            limit = "interrupted"
        return self._outcome(limit)

    # ------------------------------------------------------------ the levels

    def search(self) -> None:
        """Asks about level after level. Raises `Cut`."""
        if not self._constants():
            return
        first = self.formulas.initial()
        failures = [self._failed(-1, failure) for failure in first.failures]
        if self._level(failures, first.path, first.store, None):
            return
        while self.ask(True) is not None:
            depth = len(self.stores)
            if self.limits.depth is not None and depth > self.limits.depth:
                raise Cut(f"--depth {self.limits.depth}")
            if self._step():
                return

    def _constants(self) -> bool:
        """Whether there are values for the symbolic constants; what is wrong is noted."""
        for failure in self.formulas.failures:
            model = self.ask(failure.condition)
            if model is not None:
                site = self.model.sites[failure.site]
                known = self._known(model)
                self.findings.append(
                    Finding(Verdict.ERROR, None, 0, None, site=site, constants=known)
                )
                return False
        for fact in self.formulas.facts:
            self.solver.add(fact)
        if self.ask(True) is not None:
            return True
        spans = [s.condition.span for s in self.model.symbols if s.condition is not None]
        self.findings.append(Finding(Verdict.ASSUMPTION, None, 0, None, failing=spans[0]))
        return False

    def _step(self) -> bool:
        """Asks about the next level; true when the search ends with it."""
        before = self.stores[-1]
        for number in self._numbers("constraint"):
            self.solver.add(self.formulas.property(number, before).truth)
        move = self.formulas.move(before)
        failures = [self._failed(number, failure) for number, failure in move.failures]
        return self._level(failures, move.path, move.store, before)

    def _failed(self, action: int, failure: Failure) -> Question:
        rank = Rank.ASSERTION if failure.assertion else Rank.ERROR
        return Question(rank, action, failure.condition, failure.site, completed=False)

    # ------------------------------------------------------------ one level

    def _level(
        self,
        failures: Sequence[Question],
        valid: Truth,
        store: Sequence[Tree],
        before: Sequence[Tree] | None,
    ) -> bool:
        """Asks about a level that is reached where ``valid`` holds; true: the search ends here."""
        level: list[Tree] = []
        for kind, tree in zip(self.formulas.kinds, store, strict=True):
            made, fact = values.named(kind, tree, f"s{len(self.stores)}")
            level.append(made)
            self.solver.add(fact)
        self.stores.append(tuple(level))
        questions = [*failures, *self._questions(level, before)]
        questions.sort(key=lambda question: (question.rank, question.index))
        if self._problems(questions, valid) and not self.keep_going:
            return True
        if any(finding.verdict in (Verdict.ERROR, Verdict.ASSERTION) for finding in self.findings):
            return True
        for number in self._numbers("reachable"):
            truth = terms.both(valid, self.formulas.property(number, level).truth)
            if self.ask(truth) is not None:
                self.reached.add(number)
                self.open.discard(number)
        self.solver.add(valid)
        self.complete += 1
        return False

    def _questions(self, level: Sequence[Tree], before: Sequence[Tree] | None) -> list[Question]:
        questions: list[Question] = []
        actions = len(self.model.actions)

        def note(number: int, rank: Rank, on_step: bool) -> None:
            source = before if on_step else level
            assert source is not None
            answer = self.formulas.property(number, source, level if on_step else None)
            for failure in answer.failures:
                index = actions + number
                questions.append(
                    Question(Rank.ERROR, index, failure.condition, failure.site, number, on_step)
                )
            wrong = terms.both(answer.defined, terms.negation(answer.truth))
            if self.model.properties[number].kind in ("invariant", "lemma", "step invariant"):
                questions.append(Question(rank, number, wrong, None, number, on_step))

        for number in self._numbers("invariant", "lemma", "constraint", "reachable"):
            note(number, Rank.INVARIANT, False)
        if before is not None:
            for number in self._numbers("step invariant"):
                note(number, Rank.STEP_INVARIANT, True)
        if self.deadlock:
            constraints, ends = self._numbers("constraint"), self._numbers("terminal")
            dead = self.formulas.dead(level, constraints, ends)
            questions.append(Question(Rank.DEADLOCK, 0, dead))
        return questions

    def _problems(self, questions: Sequence[Question], valid: Truth) -> bool:
        """Looks for problems of a level in order; whether there is one."""

        def whole(question: Question) -> Truth:
            if question.completed:
                return terms.both(valid, question.condition)
            return question.condition

        found = False
        left = [(question, whole(question)) for question in questions]
        while (first := self._first([truth for _, truth in left])) is not None:
            place, model = first
            question = left[place][0]
            left = left[place + 1 :]
            found = True
            if question.number is not None and question.number not in self.open:
                continue
            self.findings.append(self._finding(question, model))
            if question.number is not None:
                self.open.discard(question.number)
            if question.rank is Rank.DEADLOCK:
                self.deadlock = False
            if not self.keep_going:
                break
        return found

    def _first(self, truths: Sequence[Truth]) -> tuple[int, Any] | None:
        """The first of several truths that can hold, and a model of it. Few questions: a model of
        any of them tells which ones need not be asked about any more.
        """
        best: tuple[int, Any] | None = None
        while truths:
            model = self.ask(terms.either(*truths))
            if model is None:
                break
            place = next(n for n, truth in enumerate(truths) if terms.truth_in(model, truth))
            best, truths = (place, model), truths[:place]
        return best

    def _finding(self, question: Question, model: Any) -> Finding:
        """What is to be reported; the interpreter goes the same way."""
        known = self._known(model)
        runner = Runner(instance(self.model, [choice.value for choice in known]))
        states = [self._state(model, store) for store in self.stores]
        depth = len(states)
        if not question.completed:
            states.pop()
        state = states[-1] if states else None
        before = states[-2] if question.on_step else None
        problem = Candidate(
            depth, question.rank, question.index, state, before, question.site, question.number
        )
        way = states[:-1] if question.on_step else states
        trace = trace_of(runner, problem, way)
        whole = trace if question.completed else replace(trace, steps=trace.steps[:-1])
        assert first_impossible(runner, whole) is None, "the trace does not replay"
        return replace(finding_of(runner, problem), trace=trace, constants=known)

    def example(self) -> tuple[Value, ...]:
        """Values of the symbolic constants with which there is a path as long as those searched, or
        else any that there may be. Raises `Cut`.
        """
        model = self.ask(True)
        return tuple(choice.value for choice in self._known(model)) if model is not None else ()

    def _state(self, model: Any, store: Sequence[Tree]) -> State:
        pairs = zip(store, self.formulas.kinds, strict=True)
        return tuple(values.value_in(model, tree, kind) for tree, kind in pairs)

    def _known(self, model: Any) -> tuple[Choice, ...]:
        """The values of the symbolic constants."""
        known: list[Choice] = []
        for symbol, tree in zip(self.model.symbols, self.formulas.symbols, strict=True):
            value: Value = values.value_in(model, tree, symbol.type)
            known.append(Choice(symbol.path, symbol.type, value))
        return tuple(known)

    # ------------------------------------------------------------ the solver

    def ask(self, question: Truth) -> Any | None:
        """A model of the path in which ``question`` holds. Raises `Cut`."""
        left: float | None = None
        if self.limits.timeout is not None:
            left = self.limits.timeout - (time.monotonic() - self.started)
            if left <= 0:
                raise Cut(f"--timeout {self.limits.timeout:g}")
        self._tell()
        try:
            return self.solver.ask(question, left)
        except Unknown as unknown:
            raise Cut(self._why(str(unknown))) from None

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self.told > PROGRESS_SECONDS:
            self.told = now
            level = len(self.stores)
            passed = now - self.started
            self.progress(Progress(level, 0, 0, 0, passed, peak_bytes(), counted=False))

    def _why(self, reason: str) -> str:
        """What the solver ended by, as a limit."""
        limits = self.limits
        if limits.timeout is not None and time.monotonic() - self.started >= limits.timeout:
            return f"--timeout {limits.timeout:g}"
        if limits.solving.seconds is not None and reason in ("timeout", "canceled"):
            return f"--solver-timeout {limits.solving.seconds:g}"
        return f"Z3, which gave up ({reason})"

    def _outcome(self, limit: str | None) -> Outcome:
        depth = self.complete
        findings = tuple(self.findings)
        notes: list[str] = []
        if findings:
            verdict = findings[0].verdict
            depth = max(finding.depth for finding in findings)
            if limit is not None:
                notes.append(
                    f"The search was cut ({limit}): other problems, also of the same length, may be"
                    " missing."
                )
                limit = None
        elif limit is not None:
            verdict = Verdict.INCONCLUSIVE
        else:
            # The level behind the last one has no state.
            depth -= 1
            unmet = self._numbers("reachable")
            findings = tuple(Finding(Verdict.UNREACHED, n, depth, None) for n in unmet)
            verdict = Verdict.UNREACHED if unmet else Verdict.OK
            if not depth:
                notes.append("There is no initial state, so everything holds.")
        seconds = time.monotonic() - self.started
        statistics = Statistics(0, 0, depth, (), (), seconds, peak_bytes(), counted=False)
        coverage = Coverage(
            (0,) * len(self.model.actions), frozenset(), reached=frozenset(self.reached)
        )
        script = self.solver.script() if self.limits.solving.record else None
        return Outcome(
            verdict, findings, statistics, coverage, limit, notes=tuple(notes), script=script
        )
