"""Writes a trace file and the result of replaying it as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fencepost.checker.printing.page import Page
from fencepost.checker.run.words import plural
from fencepost.checker.tools.replay import Misfit, ReplayResult
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.itf import tree_of
from fencepost.checker.trace.steps import (
    families,
    write_fair,
    write_misfit,
    write_read,
    write_trace,
)
from fencepost.checker.trace.value_tree import changes, text
from fencepost.spec.core.ir import GuardKind, Model
from fencepost.spec.text.problem import listing


def write_document(page: Page, document: TraceDocument) -> None:
    """Writes a trace in the same way as `check` prints its own, with what the file says about
    it.
    """
    page.line((document.about, "title"))
    page.blank()
    if document.violated and document.caption:
        page.words("  ", document.caption, 2, "title")
        if document.problem:
            page.words("    ", document.problem, 6, "bad")
        if document.instance:
            values = ", ".join(f"{name} = {value}" for name, value in document.instances)
            page.words("    ", f"it fails for {values}", 6)
        breaks = "no run continues with this" if document.played else "it breaks here"
        for lead, excerpt in (
            (f"{breaks}{document.fails_from}", document.failing_part),
            ("it happens here", document.problem_source),
        ):
            if excerpt is not None:
                page.line(f"    {lead}: {excerpt.place}")
                page.lines(excerpt.text, 6)
        page.blank()
    write_trace(page, document)
    if document.images:
        write_misfit(page, document)
    elif document.loop is not None:
        write_fair(page, document)
    elif document.violated:
        write_read(page, document)


def write_replayed(
    page: Page, titles: tuple[str, str], model: Model, document: TraceDocument, done: ReplayResult
) -> None:
    """Writes whether the trace fits the spec, and if it does not, where and why. ``titles`` are the
    titles of the file and of the spec.
    """
    file, spec = titles
    total = len(document.steps)
    if done.misfit is None:
        page.words("", f"{file} fits {spec}: {plural(total, 'state')}", 2, "good")
        _write_property(page, model, document, done)
    else:
        where = done.misfit.position
        page.words("", f"{file} stops fitting {spec} at step {where} of {total - 1}", 2, "bad")
        page.blank()
        title = document.steps[done.misfit.position].title
        page.words(f"  {where}  ", title, 8, "title")
        _write_misfit(page, model, done.misfit)
    for noun, names in (
        ("variables that the spec does not have", done.unknown),
        ("variables that the trace does not have", done.missing),
    ):
        if names:
            page.words("  ", f"not compared, {noun}: {', '.join(names)}", 4, "warn", by=", ")


def _write_property(page: Page, model: Model, document: TraceDocument, done: ReplayResult) -> None:
    name = document.property_name
    if not name:
        return
    prop = next((p for p in model.properties if p.name == name), None)
    if prop is None:
        page.line(f"  the spec has no property {name} any more")
        return
    where = "at its end" if document.loop is None else "by its cycle"
    if done.violated:
        page.line(f"  {prop.title} is violated {where}, as when the trace was saved")
    elif done.owed:
        late = listing(done.owed, "and")
        message = f"the spec no longer allows this cycle: {late} would be postponed"
        page.words("  ", message, 4, "bad")
    else:
        page.line("  ", (f"{prop.title} was violated {where}, and holds here", "bad"))


def _write_misfit(page: Page, model: Model, misfit: Misfit) -> None:
    page.words("     ", misfit.reason, 7, "bad")
    for number in misfit.guards:
        guard = model.guards[number]
        page.line("     ", f"{_why(guard.kind)}:")
        page.lines(guard.span.excerpt(), 5)
        for call in reversed(guard.calls):
            page.line("     called from")
            page.lines(call.excerpt(), 5)
    if misfit.site is not None:
        page.lines(misfit.site.span.excerpt(), 5)
    for name, traced, actual in misfit.differences:
        family = name in families(model)
        for change in changes(name, tree_of(traced), tree_of(actual), family=family):
            old, new = text(change.before), text(change.after)
            page.words("     ", f"{change.path} is {old} in the trace and {new} here", 9)


def _why(kind: GuardKind) -> str:
    match kind:
        case "require":
            return "this is false"
        case "message":
            return "there is no such message"
        case "choice":
            return "there is no such choice"
        case "capacity":
            return "the channel is full"
        case "budget":
            return "this is used up"
        case _:
            assert_never(kind)


def differing(document: TraceDocument, constants: Sequence[tuple[str, str]]) -> list[str]:
    """Lists the constants whose values differ between the trace and the spec: ``N is 3 in the trace
    and 4 here``.
    """
    here = dict(constants)
    return [
        f"{name} is {text(value.tree)} in the trace and {here[name]} here"
        for name, value in document.constants.items()
        if name in here and here[name] != text(value.tree)
    ]
