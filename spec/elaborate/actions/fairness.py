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
from fencepost.spec.text.problem import Problem, Rejected, suggestion_or_all
from fencepost.spec.text.source import Span


def fairness(action: ActionEntity) -> ir.Fairness | None:
    """Returns the fairness of an action, or None if it has none. The prefix of the action itself
    takes precedence over that of its role.
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
    return ir.Fairness(word == "strongly fair", choices, decl.each)


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
    """Returns the model without fairness for the named actions and for all actions of the named
    roles. Raises `Rejected` (F833) if a name matches no fair action.
    """
    exempt: set[int] = set()
    problems: list[Problem] = []
    for name in names:
        named = {
            number
            for number, action in enumerate(model.actions)
            if name in (action.name, action.role, action.name.rpartition(".")[0])
            and action.fairness is not None
        }
        if not named:
            problems.append(_nothing_owed(model, name, spans.get(name, span)))
        exempt |= named
    if problems:
        raise Rejected(problems)
    return replace(
        model,
        actions=tuple(
            replace(action, fairness=None) if number in exempt else action
            for number, action in enumerate(model.actions)
        ),
    )


def _nothing_owed(model: ir.Model, name: str, span: Span | None) -> Problem:
    fair = [action for action in model.actions if action.fairness is not None]
    names = list(dict.fromkeys([*(a.name for a in fair), *(a.role for a in fair if a.role)]))
    if any(name in (action.name, action.role) for action in model.actions):
        return Problem("F833", span, f"{name} is not fair in the spec")
    hint = suggestion_or_all(name, names, "fair are") or "; nothing in it is fair"
    return Problem("F833", span, f'the spec has no action or role "{name}"{hint}')
