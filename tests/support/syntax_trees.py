"""Writes syntax trees and problems in a short form, for tests of the front end."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fencepost.spec.syntax.nodes import Argument, Boolean, File, Integer, Name, Node, Nothing
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Source


def source(text: str) -> Source:
    return Source("t.fence", text)


def tree(text: str) -> File:
    """Parses a text that has no syntax errors."""
    file, problems = parse(source(text))
    assert not problems, "\n".join(map(str, problems))
    return file


def problems(text: str) -> tuple[Problem, ...]:
    return parse(source(text))[1]


def dump(value: Any) -> str:
    """Writes a tree as ``Binary(+ a Integer(1))`` and the like; names, numbers and words are
    unchanged.
    """
    match value:
        case Name(text=text):
            return text
        case Integer(value=number):
            return str(number)
        case Boolean(value=truth):
            return "true" if truth else "false"
        case Nothing():
            return "none"
        case Argument(name=None, value=argument):
            return dump(argument)
        case None:
            return "-"
        case tuple():
            return "[" + " ".join(dump(item) for item in value) + "]"  # pyright: ignore
        case Node():
            parts = [dump(getattr(value, f.name)) for f in fields(value) if f.name != "span"]
            return f"{type(value).__name__}({' '.join(parts)})"
        case _:
            return str(value) or "''"


def problem_line(problem: Problem) -> str:
    """Writes a problem as ``F101 2:5 message``."""
    if problem.span is None:
        return f"{problem.code} {problem.message}"
    line, column = problem.span.source.position(problem.span.start)
    return f"{problem.code} {line}:{column} {problem.message}"
