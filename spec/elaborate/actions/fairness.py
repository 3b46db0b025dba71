"""Determines the fairness of actions from the prefixes `fair` and `strongly fair` of actions and
roles, and removes fairness from the actions that a check exempts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fencepost.spec.core import ir
from fencepost.spec.elaborate.base.context import Elaboration
from fencepost.spec.elaborate.base.symbols import ActionEntity, Instance
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion_or_all
from fencepost.spec.text.source import Span


def of_prefix(action: ActionEntity, number: int, name: str) -> ir.Fairness | None:
    """Returns the fairness constraint that the prefix of action ``number`` declares, or None if
    there is none. The prefix of the action itself takes precedence over that of its role. ``name``
    is the name of the action in reports.
    """
    decl, role = action.decl, action.role
    if decl.environment:
        return None
    word = decl.fairness or (role.decl.fairness if role else "")
    if not word:
        return None
    choices = 1 if role is not None and role.decl.index is not None else 0
    if decl.each:
        choices += len(decl.choices.binders) if decl.choices is not None else 0
        choices += decl.receive is not None
    strong, members = word == "strongly fair", (ir.StepSet(number),)
    return ir.Fairness(name, name, strong, members, decl.name.span, choices, decl.each)


def check_fairness(work: Elaboration, instances: Iterable[Instance]) -> None:
    """Reports (F802) each fair role without an action that could be fair."""
    for instance in instances:
        for node in instance.file.declarations:
            if not isinstance(node, syntax.RoleDecl) or not node.fairness:
                continue
            actions = [action for action in node.members if isinstance(action, syntax.ActionDecl)]
            if all(action.environment for action in actions):
                qualifier = " that is not of the environment" if actions else ""
                work.report(
                    "F802",
                    node.name.span,
                    f"`{node.fairness}` applies to every action of the role, and it has "
                    f"none{qualifier}",
                )


def without_fairness(
    model: ir.Model, names: Sequence[str], spans: Mapping[str, Span], span: Span | None
) -> ir.Model:
    """Returns the model without the fairness constraints that have one of these names, and without
    the fairness of all actions of roles with these names. Raises `Rejected` (F833) for a name
    without a fairness constraint.
    """
    dropped: set[int] = set()
    problems: list[Problem] = []
    for name in names:
        named = {
            number for number, item in enumerate(model.fairness) if name in _names(model, item)
        }
        if not named:
            problems.append(_nothing_owed(model, name, spans.get(name, span)))
        dropped |= named
    if problems:
        raise Rejected(problems)
    kept = (item for number, item in enumerate(model.fairness) if number not in dropped)
    return replace(model, fairness=tuple(kept))


def _names(model: ir.Model, fairness: ir.Fairness) -> tuple[str, ...]:
    """Returns the names by which a check may refer to a constraint."""
    if fairness.group:
        return (fairness.name,) if fairness.name else ()
    role = model.actions[fairness.members[0].action].role
    return tuple(dict.fromkeys((fairness.name, role, fairness.name.rpartition(".")[0])))


def _nothing_owed(model: ir.Model, name: str, span: Span | None) -> Problem:
    named = [item for item in model.fairness if item.name]
    roles = (model.actions[item.members[0].action].role for item in named if not item.group)
    names = list(dict.fromkeys([*(item.name for item in named), *filter(None, roles)]))
    declared = {name for action in model.actions for name in (action.name, action.role)}
    if name in declared:
        groups = [
            item.label
            for item in model.fairness
            if item.group and any(model.actions[part.action].name == name for part in item.members)
        ]
        of_groups = f"; it is a member of fair {listing(groups, 'and')}" if groups else ""
        return Problem("F833", span, f"{name} is not fair in the spec{of_groups}")
    hint = suggestion_or_all(name, names, "fair are") or "; nothing in it is fair"
    return Problem("F833", span, f'the spec has no action or role "{name}"{hint}')
