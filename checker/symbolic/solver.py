# pyright: basic
"""Wraps the solver, which holds asserted facts and answers queries about them.

Z3's Python interface has no usable types, so all untyped code is in this module and in `terms`.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import z3

from fencepost.checker.symbolic.terms import Truth

MAX_BYTES = 2 << 30
"""Default memory limit of the solver, in bytes."""
WAIT_SECONDS = 0.2
"""Interval between calls of ``waiting`` during a long query, in seconds."""
EFFORT = 2_000_000
"""Work, by Z3's own count, above which a query counts as hard. This takes about half a second."""
TIMEOUT = "timeout"
"""The reason that Z3 gives when it runs out of time. It is also used for a query that was made too
late.
"""
WHOLE = ("simplify", "propagate-values", "solve-eqs", "simplify", "bit-blast", "sat")
"""The tactics of Z3 for a hard query."""
WITH_INTEGERS = ("simplify", "propagate-values", "solve-eqs", "smt")
"""The tactics for a hard query with integer terms."""


class Solver:
    """Holds asserted facts and answers queries about them.

    Queries go to one Z3 solver, which keeps what it has learned. This solver does not simplify
    earlier assertions, since more may follow. After the first hard query, each query is therefore
    sent to a new solver together with all facts, as if it were the only query.

    ``integers`` allows integer terms as well as bit-vectors. ``seconds`` limits the time of each
    query, if given. ``bytes`` is the memory limit. ``record``
    keeps all facts and queries (see `script`). ``waiting`` is called regularly during a query.
    """

    def __init__(
        self,
        seconds: float | None = None,
        bytes: int | None = None,
        record: bool = False,
        waiting: Callable[[], None] = lambda: None,
        integers: bool = False,
    ) -> None:
        z3.set_param("memory_max_size", (bytes or MAX_BYTES) >> 20)
        logic = "ALL" if integers else "QF_BV"
        self._solver = z3.SolverFor(logic)
        self._tactics = WITH_INTEGERS if integers else WHOLE
        # Python handles signals instead; see `_check`.
        self._solver.set("ctrl_c", False)
        self._seconds = seconds
        self._waiting = waiting
        self._false = False
        self._hard = False
        self._interrupted = False
        self._script: list[str] | None = [f"(set-logic {logic})"] if record else None
        self._declared: set[str] = set()

    def add(self, fact: Truth) -> None:
        """Asserts a fact permanently."""
        if fact is False:
            self._false = True
        elif fact is not True:
            self._solver.add(fact)
            self._keep([fact])

    def ask(self, question: Truth, seconds: float | None = None) -> Any | None:
        """Returns a model of the facts that satisfies ``question``, or None if no such model
        exists. Raises `Unknown`.

        ``seconds`` is the time that remains for the whole run.
        """
        if self._false or question is False:
            return None
        if self._interrupted:
            raise Unknown("interrupted")
        assertions: Sequence[Any] = [] if question is True else [question]
        left = min((s for s in (seconds, self._seconds) if s is not None), default=None)
        end = None if left is None else time.monotonic() + left
        try:
            if not self._hard:
                answer, model = self._asked(assertions, end)
                self._hard = answer == z3.unknown
            if self._hard:
                answer, model = self._asked_whole(assertions, end)
        except z3.Z3Exception as error:
            raise Unknown(str(error)) from None
        self._keep(assertions, str(answer))
        if answer == z3.unknown:
            raise Unknown(TIMEOUT if end is not None and time.monotonic() >= end else model)
        return model

    def _asked(self, assertions: Sequence[Any], end: float | None) -> tuple[Any, Any]:
        """Returns the answer of the incremental solver, and a model or the reason why the solver
        gave up.
        """
        solver = self._solver
        solver.set("timeout", _milliseconds(end))
        solver.set("rlimit", EFFORT)
        solver.push()
        try:
            solver.add(*assertions)
            return _told(solver, self._check(solver))
        finally:
            self._back()

    def _asked_whole(self, assertions: Sequence[Any], end: float | None) -> tuple[Any, Any]:
        """Returns the answer of a fresh solver, in the same form as `_asked`."""
        solver = z3.Then(*self._tactics).solver()
        solver.set("ctrl_c", False)
        solver.set("timeout", _milliseconds(end))
        solver.add(*self._solver.assertions(), *assertions)
        return _told(solver, self._check(solver))

    def core(self, assumed: Sequence[Truth], question: Truth) -> list[int]:
        """Returns the indices of the assumptions that make ``question`` unsatisfiable. The question
        must be unsatisfiable under all assumptions. Raises `Unknown`.
        """
        if self._false or question is False:
            return []
        names = [z3.FreshConst(z3.BoolSort(), "assumed") for _ in assumed]
        # The amount of work is not limited; the time limit of the last query still applies.
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
            return [index for index, name in enumerate(names) if name.get_id() in core]
        except z3.Z3Exception as error:
            raise Unknown(str(error)) from None
        finally:
            self._back()

    def _back(self) -> None:
        """Retracts the assertions made since the last push. A solver that was interrupted may be in
        any state, so it is left alone and not used again.
        """
        if not self._interrupted:
            self._solver.pop()

    def _check(self, solver: Any, *assumed: Any) -> Any:
        """Returns the answer of a solver that runs in another thread. The main thread must stay in
        Python code, because it handles an interrupt only between two steps of its own.
        """
        answers: list[Any] = []

        def check() -> None:
            try:
                answers.append(solver.check(*assumed))
            except z3.Z3Exception as error:
                answers.append(error)

        worker = threading.Thread(target=check, daemon=True)
        # Meanwhile, this thread must not free any object of the solver.
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
                # The solver ignores an interrupt that comes before it has started.
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
        """Returns all facts and queries in SMT-LIB 2, with each answer in a comment."""
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
    """Signals that the solver gave up. The text of the exception is the reason, and ``late`` says
    whether the solver ran out of time.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.late = reason in (TIMEOUT, "canceled")


def _told(solver: Any, answer: Any) -> tuple[Any, Any]:
    """Returns an answer with a model, with None if the answer is negative, or with the reason if
    the solver gave up.
    """
    if answer == z3.unknown:
        return answer, solver.reason_unknown()
    return answer, solver.model() if answer == z3.sat else None


def _milliseconds(end: float | None) -> int:
    """Converts the end time to the remaining milliseconds, for Z3. The result 2^32 - 1 means "no
    limit".
    """
    return 4294967295 if end is None else max(1, int((end - time.monotonic()) * 1000))
