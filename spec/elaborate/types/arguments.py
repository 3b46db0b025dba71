"""What holds of the arguments of every call: their number, and that they are given by position."""

from __future__ import annotations

from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax import vocabulary
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span


def named(context: Context, arguments: tuple[syntax.Argument, ...]) -> bool:
    """Whether there are arguments by name, which are reported (F321): there are none of a def."""
    found = False
    for place, argument in enumerate(arguments):
        if argument.name is None:
            continue
        found = True
        if after_with(arguments, place):
            context.report("F321", argument.name.span, vocabulary.SEVERAL_FIELDS)
        else:
            message = "arguments are given by position; only fields are given by name"
            context.report("F321", argument.name.span, message)
    return found


def after_with(arguments: tuple[syntax.Argument, ...], place: int) -> bool:
    """Whether the named argument at ``place`` was rather meant as a field behind a ``with``."""
    before = [argument.value for argument in arguments[:place] if argument.name is None]
    return bool(before) and isinstance(before[-1], syntax.With)


def wrong_number(
    context: Context, name: str, wanted: int, given: int, span: Span, *notes: Note
) -> None:
    """Reports (F321) a call with another number of arguments than is wanted."""
    number = {0: "no argument", 1: "1 argument"}.get(wanted, f"{wanted} arguments")
    found = {0: "none is", 1: "1 is"}.get(given, f"{given} are")
    context.report("F321", span, f"{name} takes {number}, and {found} given", *notes)
