"""HTML from templates of ours and text from anywhere, which is escaped unless it is markup."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from fencepost.spec.text.problem import printable


def filled(template: str, *parts: object) -> Markup:
    """``template``, which is markup, with the parts in the places ``{}``."""
    return Markup(template).format(*map(safe, parts))


def safe(part: object) -> Markup:
    """Text for an element or a quoted attribute; markup as it is."""
    return part if isinstance(part, Markup) else escape(printable(str(part)))


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    """Markup in a row, with markup between."""
    return Markup(between).join(parts)
