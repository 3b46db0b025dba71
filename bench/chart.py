"""Draws curves as a small SVG: lines over a logarithmic axis, with a name at the end of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 760, 330
LEFT, RIGHT, TOP, BOTTOM = 52, 150, 34, 46
COLOURS = ("#0b6e99", "#c4481c", "#3f7d20", "#7b4397", "#a67c00", "#444444", "#d1477a", "#2a9d8f")
Points = Sequence[tuple[float, float]]


def curves(title: str, across: str, series: Mapping[str, Points], limit: float = 0) -> str:
    lines = {name: points for name, points in series.items() if points}
    assert len(lines) <= len(COLOURS), f"{len(lines)} curves"
    xs = [x for points in lines.values() for x, _ in points] or [1.0, 10.0]
    top = 1.1 * max([y for points in lines.values() for _, y in points] + [limit])
    low, high = math.log10(min(xs)), math.log10(max(xs))
    span = max(high - low, 0.1)

    def point(x: float, y: float) -> tuple[float, float]:
        across_ = LEFT + (math.log10(x) - low) / span * (WIDTH - LEFT - RIGHT)
        return across_, HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(across)}</text>",
    ]
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in (1, 2, 5):
            x = digit * 10.0**power
            if low - 1e-9 <= math.log10(x) <= high + 1e-9:
                along, bottom = point(x, 0)
                parts.append(_line(along, TOP, along, bottom, "#eeeeee"))
                parts.append(_text(along, bottom + 16, _short(x), "middle"))
    step = _step(top)
    for number in range(int(top / step) + 1):
        left, along = point(10**low, number * step)
        parts.append(_line(left, along, WIDTH - RIGHT, along, "#dddddd"))
        parts.append(_text(left - 6, along + 4, f"{number * step:g}", "end"))
    if limit:
        left, along = point(10**low, limit)
        parts.append(_line(left, along, WIDTH - RIGHT, along, "#888888", 'stroke-dasharray="5 4"'))
    names: list[tuple[float, str, str]] = []
    for (name, points), colour in zip(lines.items(), COLOURS, strict=False):
        points = [point(x, y) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        names.append((points[-1][1] + 4, name, colour))
    # Places the names from the top down, ordered by the ends of their curves.
    least = 0.0
    for end, name, colour in sorted(names):
        least = max(end, least)
        parts.append(
            f'<text x="{WIDTH - RIGHT + 8}" y="{least:.1f}" fill="{colour}">{escape(name)}</text>'
        )
        least += 13
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, more: str = "") -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{colour}" {more}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _short(number: float) -> str:
    """Abbreviates a number: ``2M``, ``500k``."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def _step(top: float) -> float:
    """Returns a round step size that divides the axis into four to ten steps."""
    size = 10.0 ** math.floor(math.log10(top))
    return next(s for s in (size / 5, size / 2, size, 2 * size) if top / s <= 8)
