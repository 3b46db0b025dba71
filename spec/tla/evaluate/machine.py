"""The state of an evaluation: the two states of a step, frames of local values, and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.modules.scopes import Named, Scope
from fencepost.spec.tla.syntax.tree import Expr
from fencepost.spec.tla.values.kinds import FALSE, TRUE, EvaluationError, Value
from fencepost.spec.tla.values.universe import Universe

Frame: TypeAlias = "list[Any]"
Run: TypeAlias = Callable[[Frame], Any]
"""Computes a value. A run that is a condition returns Python's True or False."""
Act: TypeAlias = Callable[[Frame, Callable[[], None]], None]
"""Takes every way through an action, and calls the continuation at the end of each."""


NOTHING: Final[frozenset[int]] = frozenset()
UNKNOWN: Final = frozenset({-1})
"""The free slots of code that is not compiled yet."""
EFFECT: Final = frozenset({-2})
"""The free slots of an expression that is evaluated at each use, though it may be constant."""


class Located(EvaluationError):
    """An evaluation error with the expression that failed. ``cause`` is the class of the error."""

    def __init__(
        self, message: str, span: Span, cause: type[EvaluationError] = EvaluationError
    ) -> None:
        super().__init__(message)
        self.span = span
        self.cause = cause


class Undone(Exception):
    """Ends a search for the first way through an action."""


class Code:
    """A compiled expression. ``level`` is 0 for constants, 1 for states, 2 for actions and 3 for
    temporal formulas. ``free`` are the slots of local names that it reads. ``slot`` is the one that
    it consists of, or -1. ``literal`` is the value if it is one in the text.
    """

    __slots__ = ("free", "level", "literal", "run", "slot")

    def __init__(
        self,
        run: Run,
        level: int = 0,
        free: frozenset[int] = NOTHING,
        slot: int = -1,
        literal: Any = None,
    ) -> None:
        self.run = run
        self.level = level
        self.free = free
        self.slot = slot
        self.literal = literal


class Layout:
    """Gives local names their positions in a frame."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0

    def slot(self) -> int:
        """Returns a new position."""
        self.size += 1
        return self.size - 1

    def widen(self, frame: Frame) -> None:
        """Makes room in a frame for positions that were added after it was made."""
        missing = self.size - len(frame)
        if missing > 0:
            frame.extend([None] * missing)


class Local:
    """A local name. ``kind`` is "value" for a bound variable, "lazy" for a parameter, and
    "operator" for a parameter that is an operator, with its number of arguments.
    """

    __slots__ = ("arity", "kind", "slot")

    def __init__(self, kind: str, slot: int, arity: int = 0) -> None:
        self.kind = kind
        self.slot = slot
        self.arity = arity


class Env:
    """Where an expression is compiled: the module, the local names, and whether it is primed.

    ``base`` are the parameters of the instances that lead to the module. In an ``enabled``
    expression, the variables of an instance have values of their own in the next state.
    """

    __slots__ = ("base", "enabled", "layout", "locals", "primed", "scope")

    def __init__(
        self,
        scope: Scope,
        layout: Layout,
        locals: dict[str, Any] | None = None,
        base: dict[str, Any] | None = None,
        primed: bool = False,
        enabled: bool = False,
    ) -> None:
        self.enabled = enabled
        self.scope = scope
        self.layout = layout
        self.locals = locals or {}
        self.base = base or {}
        self.primed = primed

    def having(self, names: dict[str, Any]) -> Env:
        """Returns the same place with more local names."""
        locals_ = {**self.locals, **names}
        return Env(self.scope, self.layout, locals_, self.base, self.primed, self.enabled)

    def prime(self) -> Env:
        """Returns the same place under a prime."""
        return Env(self.scope, self.layout, self.locals, self.base, True, self.enabled)

    def within_enabled(self) -> Env:
        """Returns the same place in an ENABLED expression."""
        return Env(self.scope, self.layout, self.locals, self.base, self.primed, True)

    def outside(self, scope: Scope) -> Env:
        """Returns the place of the expressions that an instance substitutes."""
        return Env(scope, self.layout, self.base, self.base, self.primed)


class LetOperator:
    """A definition of a LET, in the frame of the definition around it. ``slots`` are those of its
    parameters, ``memo`` the one of its value if it has none.
    """

    __slots__ = ("body", "compiled", "env", "memo", "parameters", "slots")

    def __init__(self, parameters: Sequence[Local], body: Expr, memo: int) -> None:
        self.parameters = tuple(parameters)
        self.body = body
        self.memo = memo
        self.env: Env | None = None
        self.compiled: dict[object, Any] = {}


class LetInstance:
    """An instance in a LET. The local names that its substitutions may use are its first
    parameters; ``args`` are these names.
    """

    __slots__ = ("args", "named")

    def __init__(self, named: Named, args: Sequence[Expr]) -> None:
        self.named = named
        self.args = tuple(args)


class Argument:
    """The code of an argument of an operator.

    ``primed`` computes it in the next state. ``variables`` returns the positions of the variables
    that it consists of, or None if it has another form. ``target`` returns the variable if it is
    ``x'``, else None. ``act`` takes it as an action, and ``keep`` computes a function that is only
    applied, in an initial state or in a step.
    """

    __slots__ = ("act", "keep", "level", "machine", "primed", "run", "target", "variables")

    def __init__(
        self,
        machine: Machine,
        run: Run,
        level: int,
        primed: Run,
        variables: Callable[[Frame], tuple[int, ...] | None],
        target: Callable[[Frame], int | None] | None,
        act: Act,
        keep: Callable[[Frame, bool], Any],
    ) -> None:
        self.machine = machine
        self.run = run
        self.level = level
        self.primed = primed
        self.variables = variables
        self.target = target
        self.act = act
        self.keep = keep


class Lazy:
    """An argument that is computed when it is needed."""

    __slots__ = ("done", "frame", "source", "value")

    def __init__(self, source: Argument, frame: Frame) -> None:
        self.source = source
        self.frame = frame
        self.done = False
        self.value: Any = None


class OperatorValue:
    """An argument that is an operator: functions of values, in this state and in the next."""

    __slots__ = ("call", "primed")

    def __init__(self, call: Callable[..., Any], primed: Callable[..., Any]) -> None:
        self.call = call
        self.primed = primed


def forced(value: Any) -> Any:
    """Returns the value of a parameter."""
    if type(value) is not Lazy:
        return value
    if value.done:
        return value.value
    source = value.source
    result = source.run(value.frame)
    if source.level == 0 or (source.level == 1 and source.machine.settled):
        value.value, value.done = result, True
    return result


def forced_next(value: Any) -> Any:
    """Returns the value of a parameter in the next state."""
    return value.source.primed(value.frame) if type(value) is Lazy else value


class Machine:
    """The states that a step connects. ``current`` and ``following`` hold a value per variable, or
    None. ``missing`` is the number of variables of the assigned state that have no value yet.

    ``action`` is the number of the action that is being taken, with the frame of its definition.
    ``settled`` is false while the current state itself is being made.
    """

    def __init__(self, universe: Universe, names: Sequence[str]) -> None:
        self.universe = universe
        self.names = names
        self.current: list[Any] = [None] * len(names)
        self.following: list[Any] = [None] * len(names)
        self.missing = 0
        self.settled = True
        self.action: tuple[int, Frame] = (0, [])
        self.hidden: list[tuple[int, Run]] = []
        """The variables of instances in ENABLED expressions, by their positions after the variables
        of the module, and what computes them in the current state.
        """

    def no_value(self, index: int, primed: bool, span: Span) -> NoReturn:
        """Reports a variable that is read before it has a value."""
        name = self.names[index] + ("'" if primed else "")
        raise Located(f"{name} is read here before it has a value", span)

    def truth(self, value: Value, span: Span) -> bool:
        """Returns a Boolean as Python's."""
        if value is TRUE:
            return True
        if value is FALSE:
            return False
        shown = self.universe.show(value)
        raise Located(f"TRUE or FALSE is expected here, but the value is {shown}", span)


def located(error: EvaluationError, span: Span) -> Located:
    """Returns an error with its place. The innermost place stays."""
    if isinstance(error, Located):
        return error
    return Located(str(error), span, type(error))


def mistake(code: str, span: Span, message: str, *notes: str) -> Rejected:
    """Returns the error for an expression without a meaning."""
    return Rejected([Problem(code, span, message, tuple((None, note) for note in notes))])
