"""Random texts from a table of rules. Each rule has a few templates with weights.

In a template, ``\\n`` is a line break, ``${a|b}`` is one of the alternatives, and ``$r`` is a text
of the rule ``r``. ``$x:r`` also binds this text to ``x``, for the rest of the template and for its
expansion. ``$x:new`` is a new name, which the rule ``leaf`` may produce there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from tests.strategies.drawing import Drawing

Rules = Mapping[str, Sequence[tuple[int, str]]]

_HOLE = re.compile(r"\$(?:\{([^}]*)\}|(?:(\w+):)?(\w+))")
_LOCAL_WEIGHT = 3


@cache
def rules(name: str) -> Rules:
    """Reads the rules of a table next to this module."""
    table: dict[str, list[tuple[int, str]]] = {}
    rule = ""
    for line in Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            weight, _, template = line.strip().partition(" ")
            table[rule].append((int(weight), template.replace("\\n", "\n")))
        elif line:
            rule = line
            table[rule] = []
    return table


class Templates:
    """Draws texts from rules. ``locals`` has the new names that are bound around the current
    hole.
    """

    def __init__(self, drawing: Drawing, rules: Rules) -> None:
        self.drawing = drawing
        self.rules = rules
        self.locals: list[str] = []

    def text(self, rule: str, depth: int, **names: str) -> str:
        """Draws a text from a rule, with rules nested up to ``depth``; ``names`` are bound in
        it.
        """
        options = self.rules[rule]
        if rule == "leaf":
            options = [*options, *((_LOCAL_WEIGHT, local) for local in self.locals)]
        if depth <= 0:
            options = [option for option in options if self._is_flat(option[1])] or options
        return self.drawing.weighted(
            [
                (weight, partial(self._filled, template, depth, names))
                for weight, template in options
            ]
        )

    def _filled(self, template: str, depth: int, names: Mapping[str, str]) -> str:
        outer, bound = len(self.locals), dict(names)

        def fill(hole: re.Match[str]) -> str:
            alternatives, name, rule = hole.groups()
            if alternatives is not None:
                choices: list[str] = alternatives.split("|")
                return self.drawing.pick(choices)
            if rule == "new":
                text = self.drawing.name(name)
                self.locals.append(text)
            else:
                text = bound[rule] if rule in bound else self.text(rule, depth - 1, **bound)
            if name:
                bound[name] = text
            return text

        lines: list[str] = []
        for line in template.split("\n"):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(_HOLE.sub(fill, line).replace("\n", f"\n{indent}"))
        del self.locals[outer:]
        return "\n".join(lines)

    def _is_flat(self, template: str) -> bool:
        """Checks that the rules in a template expand to no other rules."""
        used = [rule for _, _, rule in _HOLE.findall(template) if rule in self.rules]
        inside = [text for rule in used for _, text in self.rules[rule]]
        return not any(rule in self.rules for text in inside for _, _, rule in _HOLE.findall(text))
