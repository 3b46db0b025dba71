# pyright: basic
"""The solver: facts that hold, and questions about them.

Z3's Python interface has no usable types: everything untyped about it stays here and in `terms`.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import z3

from fencepost.checker.symbolic.terms import Truth

MOST_BYTES = 2 << 30
"""How much memory the solver may have where nothing else is said."""
WAIT_SECONDS = 0.2
"""Seconds between two looks for an answer that takes long."""
EFFORT = 2_000_000
"""A question that takes more work, by Z3's own count (about half a second), is a hard one."""
TIMEOUT = "timeout"
"""What Z3 says where it had no more time, and we where it was asked too late."""
WHOLE = ("simplify", "propagate-values", "solve-eqs", "simplify", "bit-blast", "sat")
"""Z3's tactics for a hard question."""


class Solver:
    """Facts that hold, and questions about them.

    Questions are asked of one solver of Z3, which keeps what it has learned. It does not simplify
    what was said before, since more may come; so once a question was hard, each one is asked
    together with all facts, as if it were the only one, of a solver that is made for it.

    ``seconds``: how long a question may take (None: as long as it takes). ``bytes``: how much
    memory the solver may have. ``record``: whether facts and questions are kept (see `script`).
    ``waiting`` is called now and then while a question is being asked.
    """

    def __init__(
        self,
        seconds: float | None = None,
        bytes: int | None = None,
        record: bool = False,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        z3.set_param("memory_max_size", (bytes or MOST_BYTES) >> 20)
        self._solver = z3.SolverFor("QF_BV")
        # Signals are Python's; see `_check`.
        self._solver.set("ctrl_c", False)
        self._seconds = seconds
        self._waiting = waiting
        self._false = False
        self._hard = False
        self._interrupted = False
        self._script: list[str] | None = ["(set-logic QF_BV)"] if record else None
        self._declared: set[str] = set()

    def add(self, fact: Truth) -> None:
        """Takes a fact for granted from now on."""
        if fact is False:
            self._false = True
        elif fact is not True:
            self._solver.add(fact)
            self._keep([fact])

    def ask(self, question: Truth, seconds: float | None = None) -> Any | None:
        """A model of the facts in which ``question`` holds, or None. Raises `Unknown`.

        ``seconds``: how long there is for everything that is left.
        """
        if self._false or question is False:
            return None
        if self._interrupted:
            raise Unknown("interrupted")
        asked: Sequence[Any] = [] if question is True else [question]
        left = min((s for s in (seconds, self._seconds) if s is not None), default=None)
        end = None if left is None else time.monotonic() + left
        try:
            if not self._hard:
                answer, found = self._asked(asked, end)
                self._hard = answer == z3.unknown
            if self._hard:
                answer, found = self._asked_whole(asked, end)
        except z3.Z3Exception as error:
            raise Unknown(str(error)) from None
        self._keep(asked, str(answer))
        if answer == z3.unknown:
            raise Unknown(TIMEOUT if end is not None and time.monotonic() >= end else found)
        return found

    def _asked(self, asked: Sequence[Any], end: float | None) -> tuple[Any, Any]:
        """The answer of the solver that keeps what it learns, and a model, or why there is none."""
        solver = self._solver
        solver.set("timeout", _milliseconds(end))
        solver.set("rlimit", EFFORT)
        solver.push()
        try:
            solver.add(*asked)
            return _told(solver, self._check(solver))
        finally:
            self._back()

    def _asked_whole(self, asked: Sequence[Any], end: float | None) -> tuple[Any, Any]:
        """The answer of a solver that is asked nothing else."""
        solver = z3.Then(*WHOLE).solver()
        solver.set("ctrl_c", False)
        solver.set("timeout", _milliseconds(end))
        solver.add(*self._solver.assertions(), *asked)
        return _told(solver, self._check(solver))

    def core(self, assumed: Sequence[Truth], question: Truth) -> list[int]:
        """Which of the assumptions it takes to see that ``question`` cannot hold, which it cannot.
        Raises `Unknown`.
        """
        if self._false or question is False:
            return []
        names = [z3.FreshConst(z3.BoolSort(), "assumed") for _ in assumed]
        # As much work as it takes, in the time that the last question had.
        self._solver.set("rlimit", 0)
        self._solver.push()
        try:
            for name, truth in zip(names, assumed, strict=True):
                self._solver.add(z3.Implies(name, truth))
            if question is not True:
                self._solver.add(question)
            answer = self._check(self._solver, *names)
            if answer != z3.unsat:
                raise Unknown(self._solver.reason_unknown())
            parts: Any = self._solver.unsat_core()
            core = {part.get_id() for part in parts}
            return [place for place, name in enumerate(names) if name.get_id() in core]
        except z3.Z3Exception as error:
            raise Unknown(str(error)) from None
        finally:
            self._back()

    def _back(self) -> None:
        """Forgets what was said since the last push. A solver that was interrupted may be in the
        midst of anything, and is not touched again.
        """
        if not self._interrupted:
            self._solver.pop()

    def _check(self, solver: Any, *assumed: Any) -> Any:
        """The answer of a solver, which works in another thread: an interrupt reaches Python's
        main thread only between two steps of its own.
        """
        answers: list[Any] = []

        def check() -> None:
            try:
                answers.append(solver.check(*assumed))
            except z3.Z3Exception as error:
                answers.append(error)

        worker = threading.Thread(target=check, daemon=True)
        # Meanwhile nothing of the solver may be given back in this thread.
        collecting = gc.isenabled()
        gc.disable()
        worker.start()
        try:
            while worker.is_alive():
                worker.join(WAIT_SECONDS)
                self._waiting()
        except BaseException:
            self._interrupted = True
            while worker.is_alive():
                # An interrupt that comes before the work begins is forgotten.
                solver.interrupt()
                worker.join(WAIT_SECONDS)
            raise
        finally:
            if collecting:
                gc.enable()
        if isinstance(answers[0], z3.Z3Exception):
            raise answers[0]
        return answers[0]

    def script(self) -> str:
        """Everything that was said and asked, in SMT-LIB 2; each answer stands in a comment."""
        assert self._script is not None
        return "\n".join((*self._script, ""))

    def _keep(self, truths: Sequence[Any], answer: str | None = None) -> None:
        if self._script is None:
            return
        lines: list[str] = []
        for truth in truths:
            alone = z3.Solver()
            alone.add(truth)
            head, _, rest = alone.to_smt2().partition("(assert")
            for line in head.splitlines():
                if line.startswith("(declare") and line not in self._declared:
                    self._declared.add(line)
                    self._script.append(line)
            lines.append(f"(assert{rest.rpartition('(check-sat)')[0].rstrip()}")
        if answer is None:
            self._script += lines
        else:
            self._script += ["(push 1)", *lines, f"(check-sat) ; {answer}", "(pop 1)"]


class Unknown(Exception):
    """The solver gave up; the text says why. ``late``: it had no more time."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.late = reason in (TIMEOUT, "canceled")


def _told(solver: Any, answer: Any) -> tuple[Any, Any]:
    """An answer, and with it the model (None: there is none), or why there is no answer."""
    if answer == z3.unknown:
        return answer, solver.reason_unknown()
    return answer, solver.model() if answer == z3.sat else None


def _milliseconds(end: float | None) -> int:
    """The time until then, as a limit for Z3, which takes 2^32 - 1 for "no limit"."""
    return 4294967295 if end is None else max(1, int((end - time.monotonic()) * 1000))
