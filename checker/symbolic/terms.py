# pyright: basic
# Z3's Python interface has no usable types: everything untyped about it stays in this module.
"""Truth values and numbers that are known, or are terms of Z3.

What is known stays a Python bool or int, so that a model that begins in one state is mostly
computed, and only what depends on choices reaches the solver. An unknown number is a bit-vector,
read as signed, just wide enough for its type.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import z3

Truth: TypeAlias = "bool | Any"
Number: TypeAlias = "int | Any"
Leaf: TypeAlias = "Truth | Number"

MOST_BYTES = 2 << 30
"""How much memory the solver may have where nothing else is said."""
WAIT_SECONDS = 0.2
"""How often somebody looks whether an answer is there that takes long."""


def width_of(low: int, high: int) -> int:
    """How many bits a signed number of ``low..high`` needs."""
    return (
        max((low if low >= 0 else ~low).bit_length(), (high if high >= 0 else ~high).bit_length())
        + 1
    )


def library() -> str:
    """The solver and its version."""
    return f"z3 {z3.get_version_string()}"


# ---------------------------------------------------------------- truth


def negation(truth: Truth) -> Truth:
    """The opposite."""
    if isinstance(truth, bool):
        return not truth
    if z3.is_not(truth):
        return truth.arg(0)
    return z3.Not(truth)


def both(*truths: Truth) -> Truth:
    """Whether all are true."""
    rest = []
    for truth in truths:
        if truth is False:
            return False
        if truth is not True:
            rest.append(truth)
    if not rest:
        return True
    return rest[0] if len(rest) == 1 else z3.And(*rest)


def either(*truths: Truth) -> Truth:
    """Whether some is true."""
    rest = []
    for truth in truths:
        if truth is True:
            return True
        if truth is not False:
            rest.append(truth)
    if not rest:
        return False
    return rest[0] if len(rest) == 1 else z3.Or(*rest)


def same_truth(left: Truth, right: Truth) -> Truth:
    """Whether both are true or both false."""
    if isinstance(left, bool):
        return right if left else negation(right)
    if isinstance(right, bool):
        return left if right else negation(left)
    return True if left.eq(right) else left == right


def choose_truth(condition: Truth, then: Truth, otherwise: Truth) -> Truth:
    """``then`` where the condition holds, else ``otherwise``."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if isinstance(then, bool):
        return either(condition, otherwise) if then else both(negation(condition), otherwise)
    if isinstance(otherwise, bool):
        return either(negation(condition), then) if otherwise else both(condition, then)
    return then if then.eq(otherwise) else z3.If(condition, then, otherwise)


# ---------------------------------------------------------------- numbers


def widened(number: Number, width: int) -> Any:
    """A number as a bit-vector of ``width`` bits, which hold it."""
    if isinstance(number, int):
        return z3.BitVecVal(number, width)
    size = number.size()
    if size == width:
        return number
    if size < width:
        return z3.SignExt(width - size, number)
    return z3.Extract(width - 1, 0, number)


def _width(number: Number) -> int:
    return width_of(number, number) if isinstance(number, int) else number.size()


def _pair(left: Number, right: Number) -> tuple[Any, Any]:
    width = max(_width(left), _width(right))
    return widened(left, width), widened(right, width)


def choose_number(condition: Truth, then: Number, otherwise: Number) -> Number:
    """``then`` where the condition holds, else ``otherwise``."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if isinstance(then, int) and isinstance(otherwise, int):
        if then == otherwise:
            return then
    elif not isinstance(then, int) and not isinstance(otherwise, int) and then.eq(otherwise):
        return then
    return z3.If(condition, *_pair(then, otherwise))


def same_number(left: Number, right: Number) -> Truth:
    """Whether two numbers are equal."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    a, b = _pair(left, right)
    return True if a.eq(b) else a == b


def less(left: Number, right: Number) -> Truth:
    """Whether ``left < right``."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    a, b = _pair(left, right)
    return a < b


def inside(number: Number, low: int, high: int) -> Truth:
    """Whether ``low <= number <= high``."""
    if isinstance(number, int):
        return low <= number <= high
    size = number.size()
    least, most = -(1 << (size - 1)), (1 << (size - 1)) - 1
    if low > most or high < least:
        return False
    parts: list[Truth] = []
    if low > least:
        parts.append(number >= low)
    if high < most:
        parts.append(number <= high)
    return both(*parts)


def wrapped(number: int, bits: int) -> int:
    """A number modulo 2^bits, signed."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def added(left: Number, right: Number, width: int) -> Number:
    """The sum in ``width`` bits, wrapped."""
    if isinstance(left, int) and isinstance(right, int):
        return wrapped(left + right, width)
    return widened(left, width) + widened(right, width)


def subtracted(left: Number, right: Number, width: int) -> Number:
    """The difference in ``width`` bits, wrapped."""
    if isinstance(left, int) and isinstance(right, int):
        return wrapped(left - right, width)
    return widened(left, width) - widened(right, width)


def multiplied(left: Number, right: Number, width: int) -> Number:
    """The product in ``width`` bits, wrapped."""
    if isinstance(left, int) and isinstance(right, int):
        return wrapped(left * right, width)
    return widened(left, width) * widened(right, width)


def divided(left: Number, right: Number, width: int) -> tuple[Number, Number]:
    """Floor quotient and remainder; for a zero divisor, which nobody looks at, anything.

    Computed one bit wider, so that the least number divided by -1 is what it is before it wraps.
    """
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            return 0, 0
        return wrapped(left // right, width), left % right
    wide = max(_width(left), _width(right), width) + 1
    a, b = widened(left, wide), widened(right, wide)
    quotient, rest = a / b, z3.SRem(a, b)
    wrong = z3.And(rest != 0, (rest < 0) != (b < 0))
    floor = z3.If(wrong, quotient - 1, quotient)
    remainder = z3.If(wrong, rest + b, rest)
    return z3.Extract(width - 1, 0, floor), z3.Extract(width - 1, 0, remainder)


# ---------------------------------------------------------------- the solver


def begin() -> None:
    """Begins a run: what Z3 finds in it does not depend on what ran before, and the terms of runs
    that are over are given back.
    """
    z3.z3._main_ctx = None


def fresh_truth(name: str) -> Truth:
    """An unknown truth value."""
    return z3.FreshConst(z3.BoolSort(), name)


def fresh_number(name: str, low: int, high: int) -> tuple[Number, Truth]:
    """An unknown number, and that it lies in ``low..high``."""
    if low == high:
        return low, True
    made = z3.FreshConst(z3.BitVecSort(width_of(low, high)), name)
    return made, inside(made, low, high)


def named(leaf: Leaf, name: str) -> tuple[Leaf, Truth]:
    """A new constant for a leaf, and that they are equal; what is known or named stays."""
    if isinstance(leaf, bool | int) or z3.is_const(leaf):
        return leaf, True
    made = z3.FreshConst(leaf.sort(), name)
    return made, made == leaf


class Solver:
    """Facts that hold, and questions about them.

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
        asked: Sequence[Any] = [] if question is True else [question]
        left = min((s for s in (seconds, self._seconds) if s is not None), default=None)
        # Z3 takes 2^32 - 1 for "no limit".
        self._solver.set("timeout", 4294967295 if left is None else max(1, int(left * 1000)))
        self._solver.push()
        try:
            self._solver.add(*asked)
            answer = self._check()
            self._keep(asked, str(answer))
            if answer == z3.unknown:
                raise Unknown(self._solver.reason_unknown())
            return self._solver.model() if answer == z3.sat else None
        except z3.Z3Exception as error:
            raise Unknown(str(error)) from None
        finally:
            self._back()

    def core(self, assumed: Sequence[Truth], question: Truth) -> list[int]:
        """Which of the assumptions it takes to see that ``question`` cannot hold, which it cannot.
        Raises `Unknown`.
        """
        if self._false or question is False:
            return []
        names = [z3.FreshConst(z3.BoolSort(), "assumed") for _ in assumed]
        self._solver.push()
        try:
            for name, truth in zip(names, assumed, strict=True):
                self._solver.add(z3.Implies(name, truth))
            if question is not True:
                self._solver.add(question)
            answer = self._check(*names)
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

    def _check(self, *assumed: Any) -> Any:
        """The answer of the solver, which works in another thread: an interrupt reaches Python's
        main thread only between two steps of its own.
        """
        if self._interrupted:
            raise Unknown("interrupted")
        answers: list[Any] = []

        def check() -> None:
            try:
                answers.append(self._solver.check(*assumed))
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
                self._solver.interrupt()
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
    """The solver gave up; the text says why."""


def truth_in(model: Any, truth: Truth) -> bool:
    """The value of a truth value in a model."""
    if isinstance(truth, bool):
        return truth
    return bool(z3.is_true(model.eval(truth, model_completion=True)))


def number_in(model: Any, number: Number) -> int:
    """The value of a number in a model."""
    if isinstance(number, int):
        return number
    return int(model.eval(number, model_completion=True).as_signed_long())
