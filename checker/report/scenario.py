"""Converts a trace to a scenario of its spec. The scenario takes the same steps, and expects the
parts of the state that differ between the ends of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.value_tree import Atom, Group, ValueTree, at_key, text
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source

INDENT = "    "


def scenario(document: TraceDocument, name: str) -> str:
    """Returns the scenario as source text. ``name`` is the file name of the trace.

    Raises `Rejected` (F028) if the trace does not say how to write its steps in a scenario.
    """
    steps = document.steps[1:]
    if not all(step.act.written for step in steps):
        message = f"{name} has no scenario names for its steps"
        notes = ((None, "a trace that `fencepost check --trace` writes does"),)
        raise Rejected([Problem("F028", None, message, notes)])
    title = f"{document.check}_run" if document.check.isidentifier() else "run"
    lines = [f"scenario {title}:"]
    lines += [f"{INDENT}const {path} = {value}" for path, value in _constants(document)]
    for number, step in enumerate(steps, 2):
        failing = "" if step.state is not None else "# fails: "
        back = (
            f"    # step {number}, to which the trace returns" if number == _loop(document) else ""
        )
        lines.append(f"{INDENT}{failing}{step.act.written}{back}")
    expected = list(_expected(document))
    if len(expected) < 2:
        lines.append(f"{INDENT}expect {''.join(expected) or 'true'}")
    else:
        lines += [f"{INDENT}expect (", f"{INDENT * 2}{expected[0]}"]
        lines += [f"{INDENT * 2}and {clause}" for clause in expected[1:]]
        lines.append(f"{INDENT})")
    return formatted(Source(name, "".join(f"{line}\n" for line in lines)))


def _loop(document: TraceDocument) -> int | None:
    """Returns the number of the first step of the cycle, if the scenario includes that step."""
    return None if not document.loop else document.loop


def _constants(document: TraceDocument) -> Iterator[tuple[str, str]]:
    """Yields the constants whose values differ from their declarations in the spec, or all
    constants if those are unknown.
    """
    constants = document.constants
    paths = (
        document.given if all(path in constants for path in document.given) else tuple(constants)
    )
    for path in paths:
        yield path, text(constants[path].tree)


def _expected(document: TraceDocument) -> Iterator[str]:
    """Yields a condition for each part that changed, which holds in the last complete state."""
    states = [step.state for step in document.steps if step.state is not None]
    if not states:
        return
    first, last = states[0], states[-1]
    for name, value in last.items():
        before = first.get(name)
        # The remaining budget of a channel has no name in a spec.
        if before is None or before == value or name.rpartition(".")[0] in last:
            continue
        yield from _changed(name, before, value, name in document.families)


def _changed(name: str, before: ValueTree, after: ValueTree, family: bool) -> Iterator[str]:
    if not family or not isinstance(before, Group) or not isinstance(after, Group):
        yield _equal(name, after)
        return
    for (label, was), (_, now) in zip(before.items, after.items, strict=True):
        if was != now:
            yield _equal(at_key(name, label, family=True), now)


def _equal(name: str, value: ValueTree) -> str:
    if value in (Atom("true"), Atom("false")):
        return name if value == Atom("true") else f"not {name}"
    return f"{name} == {text(value)}"
