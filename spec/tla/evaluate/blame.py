"""Explains why a condition is false: by the innermost part that is, the values of the names that
are bound around this part, and what the part reads of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeGuard

from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.machine import Env
from fencepost.spec.tla.evaluate.temporal import Condition, Part, Temporal
from fencepost.spec.tla.modules.scopes import Variable
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply
from fencepost.spec.tla.values.kinds import EvaluationError, Value
from fencepost.spec.tla.values.runtime import Runtime

MAX_DEPTH = 100
"""The maximum number of parts, each inside the one before, that an explanation passes."""
NamedValue = tuple[str, Value]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a condition is false. ``span`` is the innermost part that is false, ``values`` are those
    of the bound names, outermost first, and ``read`` are the variables that the part and the
    premises above it read, or their applied parts, as in ``x[1]``, with their values.
    """

    span: Span
    values: tuple[NamedValue, ...] = ()
    read: tuple[NamedValue, ...] = ()


def reason(temporal: Temporal, condition: Condition, variables: Sequence[Variable]) -> Reason:
    """Explains a condition that is false in the state or on the step that the machine has."""
    part, span = condition.part, condition.span
    if part is None:
        return Reason(span)
    runtime = temporal.compiler.universe.runtime
    # The parts were evaluated before, so what they print was printed.
    write, runtime.write = runtime.write, Runtime().write
    truth = False
    premises: list[Part] = []
    try:
        for _ in range(MAX_DEPTH):
            step = _inner(temporal, part, truth)
            if step is None:
                break
            match part.node:
                case Apply(name="=>", args=(premise, _), path=()) | tree.If(condition=premise):
                    premises.append(part.of(premise))
                case _:
                    pass
            part, truth = step
            if not truth:
                span = part.span
        read = (*_read(temporal, [*premises, part], variables),)
    except (EvaluationError, Rejected, RecursionError):
        # The value depends on more than the state, for example on random values.
        return Reason(span, part.values)
    finally:
        runtime.write = write
    return Reason(span, part.values, read)


def _inner(temporal: Temporal, part: Part, truth: bool) -> tuple[Part, bool] | None:
    """Returns the part of a part that decides its value, ``truth``, with its own value, or None if
    no single one does.
    """
    node: Any = part.node

    def whether(expr: tree.Expr) -> bool:
        return temporal.truth(part.of(expr))

    inner: Part | None = None
    match node:
        case tree.Junction(sign=sign, items=items) if (sign == "\\/") is truth:
            inner = next((part.of(item) for item in items if whether(item) is truth), None)
        case tree.Quantified(sign=sign) if (sign == "\\E") is truth:
            instances = temporal.each(part)
            inner = next((each for each in instances if temporal.truth(each) is truth), None)
        case tree.If():
            inner = part.of(node.then if whether(node.condition) else node.otherwise)
        case tree.Case():
            taken = next((value for test, value in node.arms if whether(test)), node.other)
            inner = None if taken is None else part.of(taken)
        case tree.Labelled():
            inner = part.of(node.body)
        case tree.Boxed(angle=False) if not truth:
            inner = part.of(node.action)
        case Apply(name="~", args=(only,), path=()):
            return part.of(only), not truth
        case Apply(name="=>", args=(left, right), path=()):
            if truth and not whether(left):
                return part.of(left), False
            inner = part.of(right)
        case tree.Let() | Apply():
            inner = temporal.inside(part)
        case _:
            pass
    return None if inner is None else (inner, truth)


# ---------------------------------------------------------------- what a part reads


def _read(
    temporal: Temporal, parts: Sequence[Part], variables: Sequence[Variable]
) -> Iterator[NamedValue]:
    """Yields what parts read of the state. A variable that is only applied there is represented by
    what it is applied to.
    """
    state = temporal.compiler.machine.current
    conditions = [temporal.condition("", part) for part in parts]
    applied: dict[str, dict[str, Value]] = {}
    whole: set[str] = set()
    for part in parts:
        _collect(temporal, part, part.node, applied, whole)
    for variable in variables:
        index, name = variable.index, variable.name
        value, state[index] = state[index], None
        try:
            for condition in conditions:
                condition.code.run(condition.frame())
        except EvaluationError:
            # One of the parts does not have a value without the variable.
            own = {} if name in whole else applied.get(name, {})
            yield from own.items() or [(name, value)]
        finally:
            state[index] = value


def _collect(
    temporal: Temporal,
    part: Part,
    node: Any,
    applied: dict[str, dict[str, Value]],
    whole: set[str],
) -> None:
    """Collects the applied parts of variables in an expression, by variable, and the variables that
    occur in other ways.
    """
    if isinstance(node, tree.Index | tree.FieldOf):
        label = _label(temporal, part, node)
        if label is not None:
            name, suffix = label
            applied.setdefault(name, {})[name + suffix] = _value(temporal, part.of(node))
            return
    elif isinstance(node, Apply) and _is_variable(node, part.env):
        whole.add(node.name)
    inner: Any = ()
    if node.__class__ is tuple:
        inner = node
    elif type(node).__module__ == tree.__name__:
        inner = [getattr(node, item.name) for item in fields(node)]
    for item in inner:
        _collect(temporal, part, item, applied, whole)


def _label(temporal: Temporal, part: Part, node: Any) -> tuple[str, str] | None:
    """Returns the variable that an expression applies and how, with the values of arguments."""
    if not isinstance(node, tree.Index | tree.FieldOf):
        return (node.name, "") if _is_variable(node, part.env) else None
    applied = _label(temporal, part, node.function if isinstance(node, tree.Index) else node.record)
    if applied is None:
        return None
    name, suffix = applied
    if isinstance(node, tree.FieldOf):
        return name, f"{suffix}.{node.field}"
    try:
        key = _value(temporal, part.of(node.argument))
    except (EvaluationError, Rejected):
        # The argument has names that are bound inside the part.
        return None
    return name, f"{suffix}[{temporal.compiler.universe.show(key)}]"


def _is_variable(node: Any, env: Env) -> TypeGuard[Apply]:
    if not isinstance(node, Apply) or node.args or node.path or node.name in env.locals:
        return False
    return isinstance(env.scope.names.get(node.name), Variable)


def _value(temporal: Temporal, part: Part) -> Value:
    code = temporal.compiler.expr(part.node, part.env)
    frame = part.frames()
    part.env.layout.widen(frame)
    return temporal.compiler.universe.normalise(code.run(frame))
