"""Describes findings in words: writes headlines, and explains why actions are disabled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fencepost.checker.outcome import POSTCONDITION, Finding, Step, Trace, Verdict
from fencepost.checker.run.words import fitting, plural
from fencepost.checker.trace.document import for_ever
from fencepost.checker.trace.excerpts import place, quoted
from fencepost.checker.trace.steps import title
from fencepost.checker.trace.value_tree import changes, text, tree
from fencepost.spec.core.ir import GuardKind, Model, Property
from fencepost.spec.semantics.stepper import BlockedAction
from fencepost.spec.text.source import Span


def headline(model: Model, finding: Finding, prop: Property | None) -> str:
    """Returns the headline of a finding, such as ``invariant A is violated after 9 steps``."""
    steps = len(finding.trace.steps) - 1 if finding.trace else 0
    after = f" after {plural(steps, 'step')}" if steps else " in an initial state"
    if finding.fit is not None:
        holds = finding.verdict is Verdict.OK
        return f"scenario {finding.fit.name}: {f'met{after}' if holds else fitting(finding.fit)}"
    match finding.verdict:
        case Verdict.DEADLOCK:
            if model.is_opaque:
                return f"deadlock{after}: no step is possible"
            declared = any(claim.kind.allows_end for claim in model.properties)
            why = "no `terminal` holds" if declared else "the spec declares no `terminal`"
            return f"deadlock{after}: no action can be taken, and {why}"
        case Verdict.ASSERTION:
            if finding.site is not None and finding.site.code == POSTCONDITION:
                return "after the search, the postcondition is not true"
            return f"an assertion fails in step {steps}" if steps else "an assertion fails"
        case Verdict.ERROR:
            return f"evaluation error{after if not steps else f' in step {steps}'}"
        case Verdict.ASSUMPTION:
            return "an assumption about the constants is false"
        case _ if prop is not None and finding.trace is not None and finding.trace.loop is not None:
            return f"{prop.title} {prop.kind.broken}{goes_on(finding.trace)}"
        case _ if prop is None:
            return f"a property is violated{after}"
        case _:
            return f"{prop.title} {prop.kind.broken}{after if prop.kind.must_hold else ''}"


def goes_on(trace: Trace) -> str:
    """Describes how an infinite trace continues, as a suffix that begins with a colon."""
    loop, last = trace.loop, len(trace.steps) - 1
    assert loop is not None
    if loop < last:
        return f": {for_ever(loop, last + 1)} repeat forever"
    return f": nothing happens after {plural(last, 'step')}" if last else (": nothing ever happens")


def fair_rows(model: Model, finding: Finding) -> tuple[tuple[str, str], ...]:
    """Returns the fairness constraints that an infinite trace satisfies, each with the reason why:
    ``fair P[1].enter``, ``taken in step 4``.
    """
    rows: list[tuple[str, str]] = []
    for reason in finding.fair:
        fairness = model.fairness[reason.constraint]
        word, name = "strongly fair" if fairness.strong else "fair", fairness.label
        if not fairness.group:
            name = title(model, Step(fairness.members[0].action, reason.choices, None))
        if reason.taken is not None:
            why = f"taken in step {reason.taken}"
        elif fairness.strong:
            why = "not possible in any state of the cycle"
        else:
            assert reason.impossible is not None, "a trace that is not fair"
            why = f"not possible in state {reason.impossible}"
        rows.append((name if model.is_opaque else f"{word} {name}", why))
    return tuple(rows)


def unfit_rows(model: Model, finding: Finding) -> tuple[tuple[str, str], ...]:
    """Returns for each action of the refined model the reason why the action cannot make a step:
    ``pass``, ``false: token > 0``.
    """
    if finding.misfit is None or finding.property is None:
        return ()
    abstract = model.properties[finding.property].abstract
    assert abstract is not None
    rows: list[tuple[str, str]] = []
    for action in finding.misfit.actions:
        if action.action is None:
            name = "initial state"
        else:
            name = title(abstract, Step(action.action, action.choices, None))
        if action.state is not None:
            differ = [
                f"{change.path} = {text(change.after)}"
                for variable, value, wanted in zip(
                    abstract.variables, action.state, finding.misfit.after, strict=True
                )
                for change in changes(
                    variable.name, tree(wanted, variable.type), tree(value, variable.type)
                )
            ]
            lead = "leads elsewhere:" if action.action is not None else "the most similar one has"
            rows.append((name, f"{lead} {', '.join(differ)}"))
        elif action.site is not None:
            site = abstract.sites[action.site]
            rows.append((name, f"fails: {site.message}  ({place(site.span)})"))
        elif action.action is None:
            rows.append((name, "there is none"))
        else:
            blocked = blocked_rows(abstract, [BlockedAction(action.action, action.guards)])
            rows += [(row[0], f"{row[1]}  ({row[2]})") for row in blocked]
    return tuple(rows)


NO_CHOICE = "nothing to choose from"
UNFITTING = "none of its choices matches the scenario"
"""The reason for a disabled action that has no false guard. The second text is for scenarios."""


def blocked_rows(
    model: Model, actions: Sequence[BlockedAction], nothing: str = NO_CHOICE
) -> list[tuple[str, str, str]]:
    """Returns a row with the name, the reason and the location for each reason why an action is
    disabled. The name is "" in further rows of the same action.
    """
    rows: list[tuple[str, str, str]] = []
    for blocked in actions:
        name = model.actions[blocked.action].name
        for number in blocked.guards:
            guard = model.guards[number]
            rows.append((name, _reason(guard.kind, guard.span), place(guard.span)))
            name = ""
        if not blocked.guards:
            where = place(model.actions[blocked.action].span)
            rows.append((name, nothing, where))
    return rows


def _reason(kind: GuardKind, span: Span) -> str:
    source = quoted(span)
    match kind:
        case "require":
            return f"false: {source}"
        case "message":
            return f"no such message: {source}"
        case "choice":
            return f"nothing to choose: {source}"
        case "capacity":
            return f"the channel is full: {source}"
        case "budget":
            return f"used up: {source}"
        case _:
            assert_never(kind)
