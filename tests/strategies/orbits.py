"""Random specs with symmetric types, in roles, channels and values of every shape.

`orbits.txt` has the type and initial value for each shape of variables, the changes, and the
conditions with and without a risk. In these texts, ``$x`` is the variable, and ``c`` and ``d`` are
values of type ``C``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.strategies.drawing import Drawing
from tests.strategies.templates import Templates, rules

Shaped = tuple[str, str]
"""A variable and the name of its shape."""


def grown(seed: int) -> str:
    """Generates the text of a spec from a seed."""
    drawing = Drawing.by_chance(seed)
    return _Spec(drawing, Templates(drawing, rules("orbits")), drawing.chance(30)).text()


@dataclass(slots=True)
class _Spec:
    draw: Drawing
    templates: Templates
    risky: bool
    lines: list[str] = field(default_factory=list[str])
    shared: list[Shaped] = field(default_factory=list[Shaped])
    own: list[Shaped] = field(default_factory=list[Shaped])
    channel: bool = False

    def text(self) -> str:
        draw = self.draw
        self.lines += self.some("declarations")
        for _ in range(draw.pick([1, 2, 2])):
            self.shared.append(self.variable(draw.name("x"), ""))
        self.channel = draw.chance(60)
        if self.channel:
            self.lines.append(f"channel net: Uni {self.templates.text('channel', 1)}")
        if draw.chance(70):
            self.role()
        for _ in range(draw.pick([1, 2, 3])):
            apart = " where d != c" if draw.chance(50) else ""
            self.action(f"action {draw.name('act')}(c in C, d in C){apart}:", self.shared, "")
        if draw.chance(20):
            self.lines += ["symmetric type V = {v0, v1}", "var chosen: V? = none"]
            self.lines += ["action elect(v in V):", "    require chosen == none", "    chosen = v"]
        for share, head in ((30, "constraint"), (30, "terminal"), (40, "invariant I")):
            if draw.chance(share):
                self.lines.append(f"{head}: {self.condition()}")
        if draw.chance(40):
            self.lines.append(f"{draw.pick(['invariant', 'reachable'])} J: {self.condition()}")
        if draw.chance(40):
            name, _ = draw.pick([*self.shared, *self.own])
            test = f"next({name}) == {name} or ({self.test([*self.shared, *self.own])})"
            self.lines.append(f"step invariant S: forall c in C, d in C: {test}")
        if draw.chance(15):
            self.lines.append("reachable Q: quiescent")
        return "\n".join(self.lines) + "\n"

    def some(self, rule: str, indent: str = "", **names: str) -> list[str]:
        """Returns the lines of a text that is drawn from a rule."""
        return [f"{indent}{line}" for line in self.templates.text(rule, 1, **names).split("\n")]

    def variable(self, name: str, indent: str) -> Shaped:
        shape = self.templates.text("shapes", 1)
        self.lines.append(f"{indent}var {name}: {self.templates.text(shape, 1)}")
        return name, shape

    def role(self) -> None:
        draw = self.draw
        self.lines.append("role R[c: C]:")
        own = self.variable("own", "    ")
        inside = [own, *self.shared]
        for _ in range(draw.pick([1, 2])):
            self.action(f"action {draw.name('go')}(d in C):", inside, "    ")
        if self.channel and draw.chance(70):
            picked = "pick d in C"
            self.action("action one on One(==c) from net:", inside, "    ", picked)
            self.action("action two on Two(d, ==c) from net:", inside, "    ")
            self.action("action nobody on Nobody from net:", inside, "    ", picked)
        self.own.append(("R[c].own", own[1]))

    def action(self, head: str, variables: Sequence[Shaped], indent: str, *first: str) -> None:
        """Adds an action; ``first`` are statements that bind ``c`` and ``d``."""
        draw = self.draw
        self.lines += [f"{indent}{head}", *(f"{indent}    {line}" for line in first)]
        if draw.chance(50):
            self.lines.append(f"{indent}    require {self.test(variables)}")
        for _ in range(draw.pick([1, 1, 2])):
            name, shape = draw.pick(variables)
            self.lines += self.some(f"{shape}_change", f"{indent}    ", x=name)
        if self.channel and draw.chance(50):
            self.lines += self.some("send", f"{indent}    ")

    def test(self, variables: Sequence[Shaped]) -> str:
        draw = self.draw
        name, shape = draw.pick(variables)
        kind = "risk" if self.risky and draw.chance(35) else "test"
        test = self.templates.text(f"{shape}_{kind}", 1, x=name)
        if draw.chance(30):
            return f"({test} {draw.pick(['or', 'and', 'implies'])} {self.test(variables)})"
        return f"not ({test})" if draw.chance(20) else test

    def condition(self) -> str:
        test = self.test([*self.shared, *self.own])
        return self.templates.text("quantified", 1, test=f"({test})")
