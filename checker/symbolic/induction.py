"""Proofs for paths of any length, the engine ``induction``.

A condition holds in every reachable state if it holds in the first K levels, and if it also holds
in every state that is reached by K steps along which it held (k-induction, Sheeran, Singh and
Stålmarck 2000). The base case is bounded model checking. The step case begins in an arbitrary
state; if that state is unreachable, a lemma is missing. All obligations are proved together:
invariants, lemmas, and the absence of evaluation errors. If the given lemmas do not suffice,
guessed lemmas are tried. Guesses that are not inductive are dropped until all remaining ones are
inductive (Houdini, Flanagan and Leino 2001).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fencepost.checker.outcome import (
    INTERRUPTED,
    Coverage,
    Fact,
    Finding,
    Limit,
    Outcome,
    Proof,
    Statistics,
    Verdict,
)
from fencepost.checker.request import Request, refuse_behaviours
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.account import Cut
from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.bounded import BoundedSearch
from fencepost.checker.symbolic.candidates import candidates, plausible
from fencepost.checker.symbolic.engine import SolverEngine
from fencepost.checker.symbolic.inductive import Obligation, StepCase, counterexample
from fencepost.checker.symbolic.solver import Solver, Unknown
from fencepost.checker.symbolic.terms import Truth

NOT_INDUCTIVE = "not inductive"


@dataclass(slots=True)
class _Guess:
    """A lemma that may be assumed and is not refuted so far: either a candidate, or a lemma of the
    spec that the check does not select.
    """

    text: str
    assumed: Truth
    wrong: Truth


@dataclass(slots=True)
class _Standing:
    """The state of the proof.

    ``active`` obligations may be assumed. ``failed`` obligations may not be assumed; the mapping
    contains the reason for each, and ``shown`` contains counterexamples. ``guesses`` may be
    assumed, and are dropped if they are not inductive.
    """

    active: list[Obligation]
    failed: dict[str, str] = field(default_factory=dict[str, str])
    shown: dict[str, Finding] = field(default_factory=dict[str, Finding])
    guesses: list[_Guess] = field(default_factory=list["_Guess"])

    def assumed(self) -> Truth:
        parts: Iterable[Obligation | _Guess] = (*self.active, *self.guesses)
        return terms.both(*(part.assumed for part in parts))


class _Induction:
    """One run of the engine."""

    def __init__(self, request: Request) -> None:
        self.model = request.model
        refuse_behaviours(request.model, request.properties)
        self.chosen = request.properties
        self.deadlock = request.deadlock
        self.limits = limits = request.limits
        self.k = limits.solving.k
        self.base = BoundedSearch(replace(request, limits=replace(limits, depth=self.k - 1)))
        # The time limit includes the base case, so both share one watch.
        self.watch = self.base.watch
        solving = limits.solving
        self.solver = Solver(
            solving.seconds,
            limits.memory,
            solving.record,
            self.watch.look,
            bool(self.model.open_ranges),
        )

    def run(self) -> Outcome:
        first = self.base.run()
        if first.verdict is Verdict.OK:
            return first
        if first.findings:
            note = Fact("Found by the base case of the induction.")
            return replace(first, notes=(*first.notes, note))
        if first.cut is not None and first.cut.kind != "depth":
            return replace(first, verdict=Verdict.INCONCLUSIVE)
        proofs: list[Proof] = []
        used: tuple[str, ...] = ()
        cut: Limit | None = None
        try:
            with self.base.limited():
                case = StepCase(self.model, self.chosen, self.deadlock, self.k, self.solver)
                guesses = self._left_out(case)
                standing = self._settled(case, guesses)
                if NOT_INDUCTIVE in standing.failed.values():
                    # Try again with all guesses that hold initially and are inductive.
                    guesses += self._guessed(case)
                    standing = self._settled(case, guesses)
                proofs = [
                    Proof(o.subject, o.number, standing.failed.get(o.subject),
                          standing.shown.get(o.subject))
                    for o in case.obligations
                ]  # fmt: skip
                used = self._used(standing, case)
        except Cut as error:
            cut = error.limit
        except KeyboardInterrupt:
            cut = INTERRUPTED
        return self._outcome(cut, proofs if cut is None else (), used)

    # ------------------------------------------------------------ what is inductive

    def _settle(self, case: StepCase, standing: _Standing) -> None:
        """Removes obligations that are not inductive until the remaining ones are inductive
        together. The obligations that fail first have counterexamples. Later obligations fail
        because the earlier ones cannot be assumed any more.
        """
        while True:
            assumed, before = standing.assumed(), tuple(standing.active)
            missing = list(standing.failed)
            for obligation in before:
                try:
                    model = self.ask(terms.both(assumed, obligation.wrong))
                except Unknown as unknown:
                    standing.failed[obligation.subject] = f"Z3 gave up: {self._why(unknown)}"
                else:
                    if model is None:
                        continue
                    standing.failed[obligation.subject] = NOT_INDUCTIVE
                    if missing:
                        standing.failed[obligation.subject] += f" without {', '.join(missing)}"
                    else:
                        finding = counterexample(case, obligation, model, before, self.watch.look)
                        standing.shown[obligation.subject] = finding
                standing.active.remove(obligation)
            if len(standing.active) == len(before):
                return

    def _settled(self, case: StepCase, guesses: Sequence[_Guess]) -> _Standing:
        """Returns the obligations that are inductive together, and the guesses that are inductive
        with them.
        """
        standing = _Standing(list(case.obligations), guesses=list(guesses))
        while True:
            self._drop(standing)
            before = len(standing.active)
            self._settle(case, standing)
            if len(standing.active) == before or not standing.guesses:
                return standing

    def _left_out(self, case: StepCase) -> list[_Guess]:
        """Returns the lemmas that the check does not select, as guesses. They may help, but are not
        part of the verdict.
        """
        formulas, levels = self.base.formulas, self.base.levels[: self.k]
        left_out = [
            number
            for number, item in enumerate(self.model.properties)
            if item.kind.supports_proofs and number not in self.chosen
        ]
        guesses: list[tuple[_Guess, Truth]] = []
        for number in left_out:
            obligation = case.of_property(number)
            holds = terms.both(*(formulas.property(number, level).holds for level in levels))
            guesses.append(
                (_Guess(obligation.subject, obligation.assumed, obligation.wrong), holds)
            )
        return self._true_at_first(guesses)

    def _guessed(self, case: StepCase) -> list[_Guess]:
        """Returns candidate lemmas that hold in the first K levels."""
        formulas, levels = self.base.formulas, self.base.levels[: self.k]
        every = candidates(self.model)
        guesses = plausible(self.model, self.base.example(), every, self.watch.look)
        return self._true_at_first([
            (
                _Guess(guess.text, *case.guess(guess.condition)),
                terms.both(*(formulas.truth(guess.condition, level) for level in levels)),
            )
            for guess in guesses
        ])  # fmt: skip

    def _true_at_first(self, guesses: Sequence[tuple[_Guess, Truth]]) -> list[_Guess]:
        """Returns the guesses that hold in the first K levels. Each guess is paired with the
        condition that it does.
        """
        remaining = [*guesses]
        while remaining:
            model = self.base.ask(terms.negation(terms.both(*(truth for _, truth in remaining))))
            if model is None:
                break
            remaining = [
                (guess, truth) for guess, truth in remaining if terms.truth_in(model, truth)
            ]
        return [guess for guess, _ in remaining]

    def _drop(self, standing: _Standing) -> None:
        """Drops guesses that are not inductive, many at a time."""
        while standing.guesses:
            failing = terms.either(*(guess.wrong for guess in standing.guesses))
            try:
                model = self.ask(terms.both(standing.assumed(), failing))
            except Unknown:
                standing.guesses = []
                return
            if model is None:
                return
            standing.guesses = [
                guess for guess in standing.guesses if not terms.truth_in(model, guess.wrong)
            ]

    # ------------------------------------------------------------ what to say

    def _used(self, standing: _Standing, case: StepCase) -> tuple[str, ...]:
        """Returns the texts of the guesses that the proofs depend on, directly or through other
        guesses.
        """
        if not standing.guesses:
            return ()
        proved = terms.both(*(obligation.assumed for obligation in standing.active))
        assumed = [guess.assumed for guess in standing.guesses]
        needed: dict[int, None] = {}
        waiting = [obligation.wrong for obligation in standing.active]
        try:
            while waiting:
                question = terms.both(proved, waiting.pop())
                for index in self.solver.core(assumed, question):
                    if index not in needed:
                        needed[index] = None
                        waiting.append(standing.guesses[index].wrong)
        except Unknown:
            needed = dict.fromkeys(range(len(assumed)))
        return tuple(standing.guesses[index].text for index in sorted(needed))

    def _outcome(self, cut: Limit | None, proofs: Sequence[Proof], used: Sequence[str]) -> Outcome:
        proved = cut is None and all(proof.reason is None for proof in proofs)
        seconds = self.watch.seconds
        statistics = Statistics(0, 0, 0, (), (), seconds, peak_bytes(), counted=False)
        coverage = Coverage((0,) * len(self.model.actions), frozenset())
        script: str | None = None
        if self.limits.solving.record:
            script = f"{self.base.solver.script()}(reset)\n{self.solver.script()}"
        return Outcome(
            Verdict.OK if proved else Verdict.INCONCLUSIVE,
            (), statistics, coverage, cut, cut == INTERRUPTED, script=script,
            proofs=tuple(proofs), lemmas=tuple(used),
        )  # fmt: skip

    # ------------------------------------------------------------ the solver

    def ask(self, question: Truth) -> object | None:
        """Returns a solver model of the step case that satisfies ``question``, or None if no such
        model exists. Raises `Unknown` or `Cut`.
        """
        left = self.watch.left()
        try:
            return self.solver.ask(question, left)
        except Unknown:
            self.watch.look()
            raise

    def _why(self, unknown: Unknown) -> str:
        seconds = self.limits.solving.seconds
        late = seconds is not None and unknown.late
        return str(Limit("solver-timeout", seconds) if late else unknown)


ENGINE = SolverEngine("induction", lambda request: _Induction(request).run())
