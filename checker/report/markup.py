"""Builds HTML from templates and escaped text."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from fencepost.spec.text.problem import printable


def filled(template: str, *parts: object) -> Markup:
    """Formats a template that is markup. Parts that are not markup are escaped."""
    return Markup(template).format(*map(safe, parts))


def safe(part: object) -> Markup:
    """Escapes text for use in an element or a quoted attribute. Markup is returned unchanged."""
    return part if isinstance(part, Markup) else escape(printable(str(part)))


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    """Joins pieces of markup, with the markup string ``between`` as separator."""
    return Markup(between).join(parts)
