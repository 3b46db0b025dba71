"""Bounded model checking: is there a problem within so many steps? The engine ``bmc``.

One solver holds what is known of a path, level after level; each level is asked about in the order
in which problems are reported (docs/language.md section 10). The path of a problem is run on the
reference interpreter before it is shown: what does not replay is a mistake of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.checker.account import (
    PROGRESS_SECONDS,
    Candidate,
    Rank,
    broken_assumptions,
    finding_of,
    trace_of,
)
from fencepost.checker.engine import Limits, Progress, Translation, refuse_symbols
from fencepost.checker.process import peak_bytes
from fencepost.checker.reference.runner import Runner
from fencepost.checker.result import Coverage, Finding, Outcome, Statistics, Verdict
from fencepost.checker.symbolic import terms, values
from fencepost.checker.symbolic.domain import Failure, Odometer, SymbolicDomain
from fencepost.checker.symbolic.terms import Solver, Truth, Unknown
from fencepost.checker.symbolic.values import Tree, V
from fencepost.spec.ir import Model, Statement
from fencepost.spec.semantics import evaluate, execute
from fencepost.spec.types import State


@dataclass(frozen=True, slots=True)
class Step:
    """What an action does from a state: when it is completed, where it leads, how it fails."""

    path: Truth
    store: tuple[Tree, ...]
    failures: tuple[Failure, ...]
    facts: tuple[Truth, ...]


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


@dataclass(frozen=True, slots=True)
class Answer:
    """A property of a level: its truth, where it has one, and where it fails."""

    truth: Truth
    defined: Truth
    failures: tuple[Failure, ...]


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
        refuse_symbols(model)
        broken = broken_assumptions(model)
        if broken is not None:
            return broken
        return _Search(model, properties, deadlock, limits, keep_going, progress).run()


ENGINE = Bounded()


class _Cut(Exception):
    """A limit is reached; the argument names it."""


class _Search:
    """One run. ``stores`` are the values of the variables, level by level."""

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
        self.kinds = [variable.type for variable in model.variables]
        self.runner = Runner(model)
        self.solver = Solver()
        self.stores: list[tuple[Tree, ...]] = []
        self.findings: list[Finding] = []
        self.reached: set[int] = set()
        self.open = {
            number
            for number, item in enumerate(model.properties)
            if number in properties or item.kind in ("constraint", "terminal")
        }

    def _numbers(self, *kinds: str) -> list[int]:
        return [n for n in sorted(self.open) if self.model.properties[n].kind in kinds]

    def run(self) -> Outcome:
        limit: str | None = None
        try:
            self._search()
        except _Cut as cut:
            limit = str(cut)
        except Unknown as reason:
            limit = f"the solver gave up: {reason}"
        except KeyboardInterrupt:
            limit = "interrupted"
        return self._outcome(limit)

    # ------------------------------------------------------------ the levels

    def _search(self) -> None:
        first = self._ran(self.model.initial, [values.least_tree(kind) for kind in self.kinds])
        for fact in first.facts:
            self.solver.add(fact)
        failures = [self._failed(-1, failure) for failure in first.failures]
        if self._ask_level(failures, first.path, first.store, None):
            return
        while self._ask(True) is not None:
            depth = len(self.stores)
            if self.limits.depth is not None and depth > self.limits.depth:
                raise _Cut(f"--depth {self.limits.depth}")
            if self._step(depth):
                return

    def _step(self, depth: int) -> bool:
        """Asks about the next level; true when the search ends with it."""
        before = self.stores[-1]
        for number in self._numbers("constraint"):
            self.solver.add(self._property(number, before, None).truth)
        steps = [self._ran(action.body, before) for action in self.model.actions]
        possible = [number for number, step in enumerate(steps) if step.path is not False]
        for step in steps:
            for fact in step.facts:
                self.solver.add(fact)
        which, fact = terms.fresh_number("action", 0, max(len(possible) - 1, 0))
        self.solver.add(fact)
        where = values.indexed(len(possible), which)
        valid = terms.either(
            *(
                terms.both(here, steps[number].path)
                for here, number in zip(where, possible, strict=True)
            )
        )
        failures = [
            self._failed(number, failure)
            for number, step in enumerate(steps)
            for failure in step.failures
        ]
        store = before
        if possible:
            store = tuple(
                values.at(kind, where, [steps[number].store[place] for number in possible])
                for place, kind in enumerate(self.kinds)
            )
        return self._ask_level(failures, valid, store, before)

    def _ran(self, body: Statement, store: Sequence[Tree]) -> Step:
        domain = SymbolicDomain(self.kinds, store)
        execute(domain, {}, body)
        return Step(domain.path, tuple(domain.store), tuple(domain.failures), tuple(domain.facts))

    def _failed(self, action: int, failure: Failure) -> Question:
        rank = Rank.ASSERTION if failure.assertion else Rank.ERROR
        return Question(rank, action, failure.condition, failure.site, completed=False)

    # ------------------------------------------------------------ one level

    def _ask_level(
        self,
        failures: Sequence[Question],
        valid: Truth,
        store: Sequence[Tree],
        before: Sequence[Tree] | None,
    ) -> bool:
        """Asks about a level that is reached where ``valid`` holds; true: the search ends here."""
        facts: list[Truth] = []
        level: list[Tree] = []
        for kind, tree in zip(self.kinds, store, strict=True):
            made, fact = values.named(kind, tree, f"s{len(self.stores)}")
            level.append(made)
            facts.append(fact)
        self.stores.append(tuple(level))
        for fact in facts:
            self.solver.add(fact)
        questions = [*failures, *self._questions(level, before)]
        questions.sort(key=lambda question: (question.rank, question.index))
        if self._problems(questions, valid) and not self.keep_going:
            return True
        if any(finding.verdict in (Verdict.ERROR, Verdict.ASSERTION) for finding in self.findings):
            return True
        for number in self._numbers("reachable"):
            truth = terms.both(valid, self._property(number, level, None).truth)
            if self._ask(truth) is not None:
                self.reached.add(number)
                self.open.discard(number)
        self.solver.add(valid)
        return False

    def _questions(self, level: Sequence[Tree], before: Sequence[Tree] | None) -> list[Question]:
        questions: list[Question] = []
        actions = len(self.model.actions)

        def note(number: int, rank: Rank, on_step: bool) -> None:
            source = before if on_step else level
            assert source is not None
            answer = self._property(number, source, level if on_step else None)
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
            questions.append(Question(Rank.DEADLOCK, 0, self._dead(level)))
        return questions

    def _problems(self, questions: Sequence[Question], valid: Truth) -> bool:
        """Looks for problems of a level in order; whether there is one."""

        def whole(question: Question) -> Truth:
            return (
                terms.both(valid, question.condition)
                if question.completed
                else (question.condition)
            )

        if self._ask(terms.either(*(whole(question) for question in questions))) is None:
            return False
        for question in questions:
            model = self._ask(whole(question))
            if model is None:
                continue
            self.findings.append(self._finding(question, model))
            if question.number is not None:
                self.open.discard(question.number)
            if question.rank is Rank.DEADLOCK:
                self.deadlock = False
            if not self.keep_going:
                break
        return True

    def _finding(self, question: Question, model: Any) -> Finding:
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
        trace = trace_of(self.runner, problem, way)
        finding = finding_of(self.runner, problem)
        return Finding(
            finding.verdict, finding.property, depth, trace, finding.site, finding.instance,
            finding.failing, finding.blocked,
        )  # fmt: skip

    def _state(self, model: Any, store: Sequence[Tree]) -> State:
        pairs = zip(store, self.kinds, strict=True)
        return tuple(values.value_in(model, tree, kind) for tree, kind in pairs)

    # ------------------------------------------------------------ properties

    def _property(self, number: int, store: Sequence[Tree], after: Sequence[Tree] | None) -> Answer:
        domain = SymbolicDomain(
            self.kinds, store, after, lambda action, who: self._enabled(store, action, who)
        )
        value = evaluate(domain, {}, self.model.properties[number].body)
        return Answer(value.tree, domain.path, tuple(domain.failures))

    def _enabled(self, store: Sequence[Tree], action: int, instance: V | None) -> Truth:
        """Whether some vector of choices runs to its end, or fails."""
        odometer = Odometer()
        found: list[Truth] = []
        while True:
            domain = SymbolicDomain(self.kinds, store, odometer=odometer, instance=instance)
            execute(domain, {}, self.model.actions[action].body)
            found += [domain.path, *(failure.condition for failure in domain.failures)]
            if not odometer.advance():
                return terms.either(*found)

    def _dead(self, level: Sequence[Tree]) -> Truth:
        """No action can be taken, no terminal condition holds, and the constraints do."""
        moves = [self._enabled(level, number, None) for number in range(len(self.model.actions))]
        ends = [self._property(number, level, None).truth for number in self._numbers("terminal")]
        inside = [
            self._property(number, level, None).truth for number in self._numbers("constraint")
        ]
        return terms.both(*inside, terms.negation(terms.either(*moves, *ends)))

    # ------------------------------------------------------------ the solver

    def _ask(self, question: Truth) -> Any | None:
        now = time.monotonic()
        if self.limits.timeout is not None:
            left = self.limits.timeout - (now - self.started)
            if left <= 0:
                raise _Cut(f"--timeout {self.limits.timeout:g}")
            self.solver.limit(left)
        if now - self.told > PROGRESS_SECONDS:
            self.told = now
            level = len(self.stores)
            self.progress(Progress(level, 0, 0, 0, now - self.started, peak_bytes()))
        return self.solver.ask(question)

    def _outcome(self, limit: str | None) -> Outcome:
        depth = len(self.stores)
        findings = tuple(self.findings)
        if findings:
            verdict = findings[0].verdict
            depth = max(finding.depth for finding in findings)
        elif limit is not None:
            verdict = Verdict.INCONCLUSIVE
        else:
            # The level behind the last one has no state.
            depth -= 1
            unmet = self._numbers("reachable")
            findings = tuple(Finding(Verdict.UNREACHED, n, depth, None) for n in unmet)
            verdict = Verdict.UNREACHED if unmet else Verdict.OK
        seconds = time.monotonic() - self.started
        statistics = Statistics(0, 0, depth, (), (), seconds, peak_bytes())
        coverage = Coverage(
            (0,) * len(self.model.actions), frozenset(), reached=frozenset(self.reached)
        )
        return Outcome(verdict, findings, statistics, coverage, None if findings else limit)
