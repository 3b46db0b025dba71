"""Models whose runs leave out some action of each of several sets."""

from __future__ import annotations

from collections.abc import Sequence, Set

from fencepost.spec.core import ir
from fencepost.spec.records import replace


def avoiding(model: ir.Model, sets: Sequence[Set[int]]) -> ir.Model:
    """Returns a model that has the runs of ``model`` that do not take every action of any of the
    ``sets``. An action is disabled if it would complete a set.

    The actions keep their numbers and choices. For each action in a set, a variable says whether it
    was taken; these variables follow those of the model. No set is empty, and no expression that is
    evaluated tests which actions are enabled.
    """
    tracked = sorted(frozenset[int]().union(*sets))
    taken = {
        action: ir.Variable(ir.BOOL, len(model.variables) + n) for n, action in enumerate(tracked)
    }

    def marked(action: int, value: bool) -> ir.Statement:
        return ir.Assign(taken[action].index, (), ir.Literal(ir.BOOL, value))

    def guarded(number: int, action: ir.Action) -> ir.Action:
        guard = len(model.guards) + tracked.index(number)
        allowed = (
            ir.Require(_some_missing([taken[other] for other in sorted(actions - {number})]), guard)
            for actions in sets
            if number in actions
        )
        return replace(action, body=ir.Sequence((*allowed, marked(number, True), action.body)))

    actions = [model.actions[number] for number in tracked]
    return replace(
        model,
        variables=(*model.variables, *(_variable(action) for action in actions)),
        initial=ir.Sequence((*(marked(action, False) for action in tracked), model.initial)),
        actions=tuple(
            guarded(number, action) if number in taken else action
            for number, action in enumerate(model.actions)
        ),
        guards=(
            *model.guards,
            *(ir.Guard("require", a.span, n) for n, a in zip(tracked, actions, strict=True)),
        ),
    )


def _variable(action: ir.Action) -> ir.StateVariable:
    return ir.StateVariable(f"taken {action.name}", ir.BOOL, "variable", "", False, action.span)


def _some_missing(taken: Sequence[ir.Expr]) -> ir.Expr:
    """Returns a condition that holds if at least one of the actions was not taken yet."""
    missing = tuple(ir.Not(part) for part in taken)
    if len(missing) == 1:
        return missing[0]
    return ir.Or(missing) if missing else ir.Literal(ir.BOOL, False)
