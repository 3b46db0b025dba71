"""Short functions that build parts of the core by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Trace
from fencepost.checker.request import Limits, Request
from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.types import (
    Bool,
    Enum,
    Field,
    Int,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Value,
    Variant,
)
from fencepost.spec.core.verify_model import problems
from fencepost.spec.text.source import Source, Span

PLACE = Span(Source("hand.fence", "by hand"), 0, 2)
BOOL = Bool()
DIGIT = Int(0, 9)
DIGITS = Set(DIGIT)
LINE = Seq(DIGIT, 4)
COLOUR = Enum("Colour", ("Red", "Green", "Blue"))
PAIR = Record("Pair", (Field("left", DIGIT), Field("right", BOOL)))
SHAPE = Union("Shape", (Variant("Dot"), Variant("Box", (Field("w", DIGIT), Field("h", DIGIT)))))


def lit(value: Value, kind: Type = DIGIT) -> ir.Literal:
    return ir.Literal(kind, value)


def var(index: int, kind: Type = DIGIT, next: bool = False) -> ir.Variable:
    return ir.Variable(kind, index, next)


def local(slot: int, kind: Type = DIGIT) -> ir.Local:
    return ir.Local(kind, slot)


def less(left: ir.Expr, right: ir.Expr) -> ir.Less:
    return ir.Less(left, right)


def plus(left: ir.Expr, right: int, kind: Type = DIGIT) -> ir.Expr:
    """Builds ``left + right`` with type ``kind``; the caller guarantees that the result fits."""
    return ir.Convert(
        kind, ir.Arithmetic(Int(-100, 100), Operator.ADD, left, lit(right, Int(right, right)))
    )


def put(variable: int, value: ir.Expr, *path: ir.Step) -> ir.Assign:
    return ir.Assign(variable, path, value)


def do(*statements: ir.Statement) -> ir.Sequence:
    return ir.Sequence(statements)


def pick(slot: int, domain: ir.Expr, body: ir.Statement, label: str | None = "x") -> ir.Pick:
    return ir.Pick(slot, domain, None, 0, label, body)


def among(*values: int) -> ir.Literal:
    return lit(values, DIGITS)


TRUE, FALSE = lit(True, BOOL), lit(False, BOOL)
SKIP = do()


def model(
    initial: ir.Statement,
    actions: Sequence[ir.Statement | ir.Action],
    properties: Sequence[tuple[str, ir.Expr]] = (),
    variables: Sequence[Type] = (DIGIT,),
    assumptions: Sequence[ir.Expr] = (),
    marks: Sequence[Literal["branch", "guard", "antecedent"]] = (),
) -> ir.Model:
    """Builds a model with three sites, three guards (number 1 is of kind "capacity"), and enough
    slots and labels.

    A property is given by its kind and its body.
    """
    built = ir.Model(
        "hand",
        tuple(
            ir.StateVariable(f"v{index}", kind, "variable", "", False, PLACE)
            for index, kind in enumerate(variables)
        ),
        initial,
        tuple(
            action
            if isinstance(action, ir.Action)
            else ir.Action(f"a{index}", "", "ordinary", action, PLACE)
            for index, action in enumerate(actions)
        ),
        tuple(
            ir.Property(f"P{index}", PropertyKind.declared_by(kind), body, PLACE)
            for index, (kind, body) in enumerate(properties)
        ),
        tuple(ir.Assumption(assumption, PLACE) for assumption in assumptions),
        (),
        tuple(ir.Site(f"F90{index}", PLACE, f"site {index}") for index in range(3)),
        tuple(ir.Guard(kind, PLACE, -1) for kind in ("require", "capacity", "choice")),
        tuple(ir.CoverageMark(kind, PLACE, 0, "") for kind in marks),
        32,
        4,
    )
    faults_ = problems(built)
    assert not faults_, faults_
    return built


def search(
    model: ir.Model,
    deadlock: bool = True,
    limits: Limits | None = None,
    keep_going: bool = False,
    properties: Sequence[int] | None = None,
) -> Outcome:
    """Returns the interpreter's outcome, for all properties unless some are given."""
    chosen = range(len(model.properties)) if properties is None else properties
    return load("interpreter").run(
        Request(
            model,
            properties=frozenset(chosen),
            deadlock=deadlock,
            limits=limits or Limits(),
            keep_going=keep_going,
        )
    )


def shown(
    trace: Trace | None,
) -> list[tuple[int | None, tuple[Value, ...], tuple[Value, ...] | None]]:
    """Returns the action, the chosen values and the state of each step."""
    assert trace is not None
    return [
        (step.action, tuple(choice.value for choice in step.choices), step.state)
        for step in trace.steps
    ]


def python_value(operator: Operator, left: int, right: int) -> int:
    """Computes the result of an operator with Python's operator of the same sign, as an oracle for
    the table.
    """
    value: int = eval(f"left {operator.value} right", {"left": left, "right": right})
    return value
