"""Proofs for paths of any length: the engine ``induction``.

What holds in the first K levels, and in whatever state K steps lead to from states where it holds,
holds in every state that can be reached (k-induction, Sheeran, Singh and Stålmarck 2000). The first
half is bounded model checking; the second begins in an unknown state, which may be one that the
spec never reaches: then a lemma is missing. What is proved, is proved together: invariants, lemmas,
and that no evaluation fails. Guessed lemmas are tried where the given ones are not enough, and
those that are not inductive are dropped until none is (Houdini, Flanagan and Leino 2001).
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
    """A lemma that the check does not choose, or a candidate; neither has been refuted."""

    text: str
    assumed: Truth
    wrong: Truth


@dataclass(slots=True)
class _Standing:
    """What is believed so far. ``active`` obligations may be assumed; ``failed`` ones may not, and
    the reason tells why they were not proved, ``shown`` by which states. ``guesses`` may be
    assumed, and are given up where they are not inductive.
    """

    active: list[Obligation]
    failed: dict[str, str] = field(default_factory=dict[str, str])
    shown: dict[str, Finding] = field(default_factory=dict[str, Finding])
    guesses: list[_Guess] = field(default_factory=list["_Guess"])

    def assumed(self) -> Truth:
        parts: Iterable[Obligation | _Guess] = (*self.active, *self.guesses)
        return terms.both(*(part.assumed for part in parts))


class _Induction:
    """One run."""

    def __init__(self, request: Request) -> None:
        self.model = request.model
        refuse_behaviours(request.model, request.properties)
        self.chosen = request.properties
        self.deadlock = request.deadlock
        self.limits = limits = request.limits
        self.k = limits.solving.k
        self.base = BoundedSearch(replace(request, limits=replace(limits, depth=self.k - 1)))
        # The time counts from the beginning of the base case.
        self.watch = self.base.watch
        solving = limits.solving
        self.solver = Solver(solving.seconds, limits.memory, solving.record, self.watch.look)

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
                    # Tried again with guesses: as many as hold in the beginning and are inductive.
                    guesses += self._guessed(case)
                    standing = self._settled(case, guesses)
                proofs = [
                    Proof(one.subject, one.number, standing.failed.get(one.subject),
                          standing.shown.get(one.subject))
                    for one in case.obligations
                ]  # fmt: skip
                used = self._used(standing, case)
        except Cut as reached:
            cut = reached.limit
        except KeyboardInterrupt:
            cut = INTERRUPTED
        return self._outcome(cut, proofs if cut is None else (), used)

    # ------------------------------------------------------------ what is inductive

    def _settle(self, case: StepCase, standing: _Standing) -> None:
        """Takes out what is not inductive, until the rest is, together. What fails first is shown
        by states; what fails then, fails for want of that.
        """
        while True:
            assumed, everything = standing.assumed(), tuple(standing.active)
            missing = list(standing.failed)
            for one in everything:
                try:
                    model = self.ask(terms.both(assumed, one.wrong))
                except Unknown as unknown:
                    standing.failed[one.subject] = f"Z3 gave up: {self._why(unknown)}"
                else:
                    if model is None:
                        continue
                    standing.failed[one.subject] = NOT_INDUCTIVE
                    if missing:
                        standing.failed[one.subject] += f" without {', '.join(missing)}"
                    else:
                        finding = counterexample(case, one, model, everything, self.watch.look)
                        standing.shown[one.subject] = finding
                standing.active.remove(one)
            if len(standing.active) == len(everything):
                return

    def _settled(self, case: StepCase, guesses: Sequence[_Guess]) -> _Standing:
        """What is inductive together, and the guesses that are inductive with it."""
        standing = _Standing(list(case.obligations), guesses=list(guesses))
        while True:
            self._drop(standing)
            before = len(standing.active)
            self._settle(case, standing)
            if len(standing.active) == before or not standing.guesses:
                return standing

    def _left_out(self, case: StepCase) -> list[_Guess]:
        """The lemmas that the check does not choose: they may help, and are no verdict."""
        formulas, levels = self.base.formulas, self.base.levels[: self.k]
        left_out = [
            number
            for number, item in enumerate(self.model.properties)
            if item.kind.supports_proofs and number not in self.chosen
        ]
        guesses: list[tuple[_Guess, Truth]] = []
        for number in left_out:
            one = case.of_property(number)
            holds = terms.both(*(formulas.property(number, level).holds for level in levels))
            guesses.append((_Guess(one.subject, one.assumed, one.wrong), holds))
        return self._true_at_first(guesses)

    def _guessed(self, case: StepCase) -> list[_Guess]:
        """Candidates for lemmas."""
        formulas, levels = self.base.formulas, self.base.levels[: self.k]
        every = candidates(self.model)
        guesses = plausible(self.model, self.base.example(), every, self.watch.look)
        return self._true_at_first([
            (
                _Guess(one.text, *case.guess(one.condition)),
                terms.both(*(formulas.truth(one.condition, level) for level in levels)),
            )
            for one in guesses
        ])  # fmt: skip

    def _true_at_first(self, guesses: Sequence[tuple[_Guess, Truth]]) -> list[_Guess]:
        """Those that hold in the first K levels, each beside what says so."""
        left = [*guesses]
        while left:
            model = self.base.ask(terms.negation(terms.both(*(truth for _, truth in left))))
            if model is None:
                break
            left = [(one, truth) for one, truth in left if terms.truth_in(model, truth)]
        return [one for one, _ in left]

    def _drop(self, standing: _Standing) -> None:
        """Drops guesses that are not inductive, many at a time."""
        while standing.guesses:
            wrong = terms.either(*(guess.wrong for guess in standing.guesses))
            try:
                model = self.ask(terms.both(standing.assumed(), wrong))
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
        """The guesses that the proofs rest on, and those on which these rest."""
        if not standing.guesses:
            return ()
        given = terms.both(*(one.assumed for one in standing.active))
        assumed = [guess.assumed for guess in standing.guesses]
        needed: dict[int, None] = {}
        waiting = [one.wrong for one in standing.active]
        try:
            while waiting:
                question = terms.both(given, waiting.pop())
                for place in self.solver.core(assumed, question):
                    if place not in needed:
                        needed[place] = None
                        waiting.append(standing.guesses[place].wrong)
        except Unknown:
            needed = dict.fromkeys(range(len(assumed)))
        return tuple(standing.guesses[place].text for place in sorted(needed))

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
        """A model of the step case in which ``question`` holds. Raises `Unknown`, `Cut`."""
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
