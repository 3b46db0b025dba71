"""Random specs with fairness and formulas, small enough that about half of them have lassos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.strategies.drawing import LOTS, Drawing
from tests.strategies.templates import Templates, rules


def behaviour_spec(
    random: Random, until: bool = True, constraint: bool = True, depth: int = 3
) -> str:
    """Generates a spec with one property, ``P``, whose operators are nested up to ``depth``.

    ``until`` and ``constraint`` say whether the spec may contain these constructs.
    """
    system = _System.drawn(random, constraint)
    formula = system.phrases(until=until).text("formula", depth)
    system.add_groups()
    bounded = any(line.startswith("constraint") for line in system.lines)
    words = " within constraint" if bounded and system.drawing.chance(60) else ""
    return "\n".join([*system.lines, f"property P{words}: {formula}"]) + "\n"


def formulas_spec(random: Random, count: int, operators: int) -> str:
    """Generates a spec with properties ``P0``, ``P1`` and so on.

    Each property is a formula of at most ``operators`` operators. The spec contains neither `until`
    nor a constraint.
    """
    system = _System.drawn(random, False)
    phrases = system.phrases()
    for number in range(count):
        formula = _formula_of(random, phrases, random.randint(1, operators))
        system.lines.append(f"property P{number}: {formula}")
    system.add_groups()
    return "\n".join(system.lines) + "\n"


@dataclass(slots=True)
class _System:
    """The lines of a random system, whose ``x`` has values up to ``top``."""

    drawing: Drawing
    lines: list[str]
    top: int
    ghost: bool
    role: bool
    acting: list[str] = field(default_factory=list[str])
    """The actions that a fairness constraint may cover. Those of the role come first."""

    @classmethod
    def drawn(cls, random: Random, constraint: bool) -> _System:
        draw = Drawing(lambda: random.randrange(LOTS))
        top = draw.number(1, 3)
        system = cls(draw, [], top, draw.chance(30), draw.chance(40))
        system.lines = [f"var x: 0..{top} = {draw.pick(['0', '0', 'any'])}", "var b: bool = false"]
        system.lines += ["ghost var g: 0..2 = 0"] * system.ghost
        messages = draw.chance(20)
        if messages:
            system.lines[:0] = ["record M: n: 0..1, ghost t: 0..1"]
            start = "[M(n: 0, t: 1), M(n: 1, t: 0)]"
            system.lines.append(f"channel c: M unordered capacity 2 = {start}")
        if system.role:
            head = draw.pick(["", "", "fair ", "strongly fair "])
            system.lines += [f"{head}role R[i: 0..1]:", "    var s: 0..2 = 0"]
            for name in ("go", "back")[: draw.number(1, 2)]:
                system.add("action", own=True, name=name)
        for name in ("first", "second", "third")[: draw.number(1, 3)]:
            system.add("action", name=name)
        if messages:
            system.add("again")
        if constraint and draw.chance(20):
            system.lines.append(f"constraint: x <= {draw.number(0, top)}")
        return system

    def add(self, rule: str, own: bool = False, **names: str) -> None:
        """Adds an action, to the role if ``own`` is set."""
        self.acting.append(names.get("name", rule))
        lines = self.phrases(own).text(rule, 3, **names).splitlines()
        self.lines += [f"    {line}" for line in lines] if own else lines

    def add_groups(self) -> None:
        """Adds fairness constraints of groups, and faults of the channel that they may cover."""
        draw, faults = self.drawing, list[str]()
        for number, line in enumerate(self.lines):
            if line.startswith("channel"):
                fault, name = draw.pick(
                    [("", ""), ("lossy ", "lose"), ("duplicating ", "duplicate")]
                )
                self.lines[number] = line.replace("capacity", f"{fault}capacity")
                faults += [f"c.{name}"] * bool(name)
            elif line.startswith("    var") and draw.chance(25):
                members = [name for name in self.acting if name in ("go", "back")]
                self.lines[number] += f"\n    {self._group(True, members)}"
        own = [name for name in self.acting if name in ("go", "back")]
        every = [f"{role}.{name}" for name in own for role in ("R[0]", "R[1]", "R")]
        every += [*self.acting[len(own) :], *faults]
        for _ in range(draw.pick([0, 0, 1, 2])):
            self.lines.append(self._group(False, draw.several(lambda: draw.pick(every), 1, 4)))

    def _group(self, own: bool, members: Sequence[str]) -> str:
        word = self.drawing.pick(["fair", "strongly fair"])
        line = f"{word} {{{', '.join(dict.fromkeys(members))}}}"
        if not self.drawing.chance(35):
            return line
        return f"{line} where {self.phrases(own).text('predicate', 0)}"

    def phrases(self, own: bool = False, until: bool = True) -> Templates:
        """Returns the rules for this system; with ``own``, the variable ``s`` of the role is in
        scope.
        """
        names = {
            "$value": f"${{{'|'.join(map(str, range(self.top + 1)))}}}",
            "$below": f"${{{'|'.join(map(str, range(self.top)))}}}",
            "$modulus": str(self.top + 1),
            "$top": str(self.top),
            "$environment": "" if own else "environment ",
        }

        def applies(template: str) -> bool:
            return (
                (own or not template.startswith("s "))
                and (self.ghost or not template.startswith("g "))
                and (self.role or "R[" not in template)
                and (until or " until " not in template)
            )

        def filled(template: str) -> str:
            for name, text in names.items():
                template = template.replace(name, text)
            return template

        table = {
            rule: [(weight, filled(text)) for weight, text in templates if applies(text)]
            for rule, templates in rules("behaviours").items()
        }
        return Templates(self.drawing, table)


def _formula_of(random: Random, phrases: Templates, operators: int) -> str:
    """Returns a random formula with this number of operators."""
    if operators == 0:
        return phrases.text("predicate", 0)
    if operators == 1 or random.random() < 0.5:
        word = random.choice(("not", "always", "eventually", "always", "eventually"))
        return f"({word} {_formula_of(random, phrases, operators - 1)})"
    left = random.randrange(operators)
    word = random.choice(("leads to", "leads to", "implies", "iff", "and", "or"))
    parts = [_formula_of(random, phrases, size) for size in (left, operators - 1 - left)]
    return f"({parts[0]} {word} {parts[1]})"
