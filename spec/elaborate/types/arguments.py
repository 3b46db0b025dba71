"""Checks that calls pass the right number of arguments, and that they pass them by position."""

from __future__ import annotations

from fencepost.spec.elaborate.base.context import Context, Reported
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax import vocabulary
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span


def named(context: Context, arguments: tuple[syntax.Argument, ...]) -> bool:
    """Checks whether a call of a def has named arguments. Each of them is reported (F321)."""
    has_named = False
    for position, argument in enumerate(arguments):
        if argument.name is None:
            continue
        has_named = True
        if after_with(arguments, position):
            context.report("F321", argument.name.span, vocabulary.SEVERAL_FIELDS)
        else:
            message = "arguments are given by position; only fields are given by name"
            context.report("F321", argument.name.span, message)
    return has_named


def after_with(arguments: tuple[syntax.Argument, ...], position: int) -> bool:
    """Whether the named argument at ``position`` was probably meant as a field of the ``with``
    expression before it.
    """
    before = [argument.value for argument in arguments[:position] if argument.name is None]
    return bool(before) and isinstance(before[-1], syntax.With)


def wrong_number(
    context: Context, name: str, expected: int, actual: int, span: Span, *notes: Note
) -> Reported:
    """Reports a call with the wrong number of arguments (F321)."""
    number = {0: "no argument", 1: "1 argument"}.get(expected, f"{expected} arguments")
    counted = {0: "none is", 1: "1 is"}.get(actual, f"{actual} are")
    return context.report("F321", span, f"{name} takes {number}, but {counted} given", *notes)
