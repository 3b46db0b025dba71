"""A spec with all its changes woven in, made to say which of them would ever matter.

Where a change would make a difference a coverage mark is set, and the spec does what it does
without the change. A search that ends with a mark unset has shown that nothing it evaluated would
have come out otherwise. It does not know how a search works.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.rebuild import rebuilt
from fencepost.spec.core.traverse import walk
from fencepost.spec.records import dataclass

T = TypeVar("T")


def _is_counted(kind: PropertyKind) -> bool:
    """Whether a search counts the marks that it meets in properties of a kind."""
    apart = kind.of_behaviours or kind.of_initial_states or kind.supports_proofs
    return kind.selectable and not apart


@dataclass(frozen=True, slots=True)
class Observed:
    """``model`` is the spec without a change. ``marks``: the coverage mark that is set where a
    change, known by its number, may make a difference. ``unobserved`` are changes that speak where
    no marks are counted: in initial values, in assumptions, in what bounds or ends a run, and in
    the parts of formulas.
    """

    model: ir.Model
    marks: dict[int, int]
    unobserved: frozenset[int]

    def apart(self, seen: Collection[int]) -> frozenset[int]:
        """The changes that may have made a difference to a search that set the marks ``seen``."""
        return self.unobserved | {number for number, mark in self.marks.items() if mark in seen}


def observed(model: ir.Model) -> Observed:
    """What watches a model that is made of the program of a `schemata.Schema`."""
    watch = _Watch(len(model.marks), {})
    made = replace(
        model,
        initial=watch.late(model.initial),
        actions=tuple(replace(one, body=watch.late(one.body)) for one in model.actions),
        properties=tuple(replace(one, body=watch.late(one.body)) for one in model.properties),
        assumptions=tuple(
            replace(one, condition=watch.late(one.condition)) for one in model.assumptions
        ),
        symbols=(),
    )
    elsewhere = (
        model.initial,
        *(one.condition for one in model.assumptions),
        *(one.body for one in model.properties if not _is_counted(one.kind)),
    )
    spoken = (_number(node) for node in walk(elsewhere))
    unobserved = frozenset(number for number in spoken if number is not None)
    span = model.variables[0].span
    marks = (*model.marks, *(ir.CoverageMark("guard", span, 0, "") for _ in watch.marks))
    return Observed(replace(made, marks=marks), watch.marks, unobserved)


@dataclass(frozen=True, slots=True)
class _Watch:
    """Makes the choices of a model observed ones; ``first`` is the number of the first new mark."""

    first: int
    marks: dict[int, int]

    def late(self, part: T) -> T:
        """A piece of core in which a change is asked for last, and so only where it matters: what
        stands beside it has not decided by then.
        """
        number = _number(part)
        if number is not None:
            mark = self.marks.setdefault(number, self.first + len(self.marks))
            seen = ir.Witness(mark, ir.Literal(ir.BOOL, True))
            return cast("T", ir.And((seen, ir.Literal(ir.BOOL, False))))
        made = rebuilt(part, self.late)
        if isinstance(part, ir.And | ir.Or) and isinstance(made, ir.And | ir.Or):
            pairs = zip(part.parts, made.parts, strict=True)
            # Without a change they are neutral: false in an `or`, true in an `and`.
            parts = tuple(one for _, one in sorted(pairs, key=lambda pair: _is_choice(pair[0])))
            return cast("T", replace(made, parts=parts))
        return made


def _is_choice(part: ir.Expr) -> bool:
    return _number(part.operand if isinstance(part, ir.Not) else part) is not None


def _number(part: object) -> int | None:
    """The number of a change, of a question whether it is made; None: it is no such question."""
    match part:
        case ir.Equal(ir.Symbol(), ir.Literal(_, int() as number)):
            return number
        case _:
            return None
