"""Random specs in the whole language with fairness and a temporal property, ``P``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import ClassVar

from tests.strategies.declarations import Role
from tests.strategies.drawing import Drawing
from tests.strategies.expressions import expression
from tests.strategies.kinds import Kinds
from tests.strategies.models import Model
from tests.strategies.reading import literal
from tests.strategies.scope import Function, Readable, Scope, World
from tests.strategies.templates import Templates, rules
from tests.strategies.truth import condition, probable

_ACTION = re.compile(r"( *)action (\w+)(\()?")
_PLAIN = re.compile(r"    action ")
_FAIR = ("", "", "", "fair ", "fair ", "strongly fair ")


def grown_living(seed: int, until: bool = True) -> str:
    """Generates such a spec. With ``until``, the property may contain this operator."""
    drawing = Drawing.by_chance(seed)
    world = World(drawing, Kinds(drawing), expression, drawing.pick([0, 0, 0, 2]))
    return Living(world, until=until).write(False)


@dataclass(slots=True)
class Living(Model):
    """A spec without properties other than ``P``, whose behaviours may stop in every state."""

    fails: ClassVar[bool] = False
    until: bool = True

    def _properties(
        self, role: Role | None, lines: list[str], count: int, defs: tuple[Function, ...] = ()
    ) -> None:
        pass

    def _rest(self) -> None:
        draw, scope = self.draw, self.scope(None, "property", True)
        self.lines.append("terminal: true")
        if draw.chance(45):
            bound = probable(scope, False) if draw.chance(60) else condition(scope, 1).text
            self.lines.append(f"constraint: {bound}")

    def _checks(self) -> None:
        draw, scope = self.draw, self.scope(None, "property", True)
        self.lines = [self._fair(line) for line in self.lines]
        for start, line in enumerate(self.lines):
            inner = takewhile(lambda line: line.startswith(" "), self.lines[start + 1 :])
            if line.startswith("role ") and any(map(_PLAIN.match, inner)) and draw.chance(25):
                self.lines[start] = f"{draw.pick(['fair', 'strongly fair'])} {line}"
        for _ in range(draw.pick([0, 1, 1, 2])):
            members = draw.several(partial(draw.pick, [*self._members(scope)]), 1, 4)
            group = f"{draw.pick(['fair', 'strongly fair'])} "
            group += f"{draw.name('G')}: " if draw.chance(30) else ""
            group += f"{{{', '.join(dict.fromkeys(members))}}}"
            group += f" where {condition(scope, 1).text}" if draw.chance(35) else ""
            self.lines.append(group)
        within = " within constraint" if draw.chance(60) and self._bounded() else ""
        self.lines += [
            f"property P{within}: {self._formula(scope, 3)}",
            "check c:",
            f"    expect {draw.pick(['ok', 'violated P', 'inconclusive'])}",
        ]

    def _bounded(self) -> bool:
        return any(line.startswith("constraint") for line in self.lines)

    def _fair(self, line: str) -> str:
        """Returns a line, sometimes with fairness if it begins an action."""
        action = _ACTION.match(line)
        if action is None:
            return line
        fairness = self.draw.pick(_FAIR)
        each = "each " if fairness and action[3] and self.draw.chance(40) else ""
        return f"{action[1]}{fairness}{each}{line.lstrip()}"

    def _members(self, scope: Scope) -> Iterator[str]:
        """Yields members for groups: actions of all processes or of one, and faults of channels."""
        for action in self.world.actions:
            if not action.role:
                yield action.name
                continue
            yield f"{action.role}.{action.name}"
            if action.index is not None:
                index = literal(scope, action.index)
                assert index is not None
                yield f"{action.role}[{index.text}].{action.name}"
        for channel in self.channels:
            (line,) = (line for line in self.lines if line.startswith(f"channel {channel.name}"))
            if not channel.indices:
                for word, fault in (("lossy", "lose"), ("duplicating", "duplicate")):
                    if f" {word}" in line and " at most 0" not in line:
                        yield f"{channel.name}.{fault}"

    def _formula(self, scope: Scope, depth: int) -> str:
        draw = self.draw
        kind = self.world.kinds.key()
        local = draw.name("q")
        inside = scope.add(Readable(local, kind, fixed=True))
        atoms = [f"({condition(scope, draw.number(0, 1)).text})" for _ in range(4)]
        formulas = [
            (weight, text)
            for weight, text in rules("behaviours")["formula"]
            if "R[" not in text and (self.until or " until " not in text)
        ]
        parts = [condition(inside, 1).text for _ in range(2)]
        quantified = f"({draw.pick(['forall', 'exists'])} {local} in {self.world.kinds.text(kind)}:"
        quantified += f" ({parts[0]}) leads to ({parts[1]}))"
        table = {"formula": [*formulas, (6, quantified)], "atom": [(1, text) for text in atoms]}
        return Templates(draw, table).text("formula", depth)
