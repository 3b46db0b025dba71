"""Random specs with symmetric types: roles, channels and values of every shape that hold some."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.strategies.drawing import Drawing


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of variable: its type and first value, what changes it, and what may be asked of it.
    In these, ``X`` is the variable, and ``c`` and ``d`` are values of type ``C``.
    """

    type: str
    first: str
    changes: tuple[str, ...]
    tests: tuple[str, ...]


SHAPES = (
    Shape("0..2", "0", ("X = (X + 1) % 3", "require X < 2; X += 1"), ("X < 2", "3 // X > 0")),
    Shape(
        "set[C]",
        "{}",
        ("X.add(c)", "X.remove(c)", "X = X | {c, d}", "X = {e for e in X if e != c}"),
        ("c in X", "len(X) < 2", "X <= {c, d}", "1 // len(X) == 1"),
    ),
    Shape(
        "C?",
        "none",
        ("X = c", "X = none", "require X != none; X = none"),
        ("X == c", "X == none", "X! == d"),
    ),
    Shape(
        "map[C, 0..2]",
        "[0 for k in C]",
        (
            "X[c] = X[d]",
            "X[c] = (X[c] + 1) % 3",
            "X = [X[k] for k in C]",
            "for k in C: X[k] = X[k] // 2",
            "for k in C: X[k] = 2 - X[k]",
        ),
        ("X[c] < 2", "X[c] == X[d]", "2 // X[c] > 0", "sum([X[k] for k in C]) < 5"),
    ),
    Shape(
        "map[C, C?]",
        "[none for k in C]",
        ("X[c] = d", "X[c] = none"),
        ("X[c] == d", "X[c]! != c", "X[d] == none"),
    ),
    Shape(
        "seq[C, 2]",
        "[]",
        ("X.append(c)", "if X != []: X.pop_first()", "if len(X) < 2: X.append(d)"),
        ("c in X", "X != [] and first(X) == c", "last(X) == d", "len(X) < 2"),
    ),
    Shape(
        "bag[C, 2]",
        "[]",
        ("X.add(c)", "X.remove(c)", "if len(X) < 2: X.add(d)"),
        ("count(X, c) < 2", "c in X", "1 // len(X) == 1"),
    ),
    Shape(
        "Rec",
        "Rec(0, none)",
        ("X.who = c", "X.n = (X.n + 1) % 2", "X = X with who: d"),
        ("X.who == c", "X.n == 0", "X.who! == d"),
    ),
    Shape(
        "set[set[C]]",
        "{}",
        ("X.add({c, d})", "X.remove({c})", "X.add({})"),
        ("{c} in X", "exists set_1 in X: c in set_1", "forall set_2 in X: len(set_2) < 2"),
    ),
    Shape(
        "Uni",
        "Nobody",
        ("X = One(c)", "X = Two(c, d)", "X = Nobody"),
        ("X is Nobody", "X == One(c)", "X is Two and X.left == X.right"),
    ),
    Shape(
        "map[Pair, bool]",
        "[false for p in Pair]",
        ("X[Pair(c, d)] = true", "X[Pair(c, c)] = not X[Pair(d, c)]"),
        ("X[Pair(c, d)]", "exists pair_1 in Pair: X[pair_1] and pair_1.left == c"),
    ),
    Shape(
        "set[Rec, 3]",
        "{}",
        ("X.add(Rec(1, c))", "X = {r for r in X if r.who != d}"),
        ("exists rec_1 in X: rec_1.who == c", "forall rec_2 in X: 1 // rec_2.n == 1"),
    ),
)

DECLARED = """\
record Rec: n: 0..1, who: C?
record Pair: left: C, right: C
union Uni:
    Nobody
    One(left: C)
    Two(left: C, right: C)
"""
KINDS = (
    "unordered capacity 3",
    "unordered lossy capacity 2 or block",
    "persistent",
    "distinct capacity 2 or block",
    "unordered duplicating at most 1 capacity 3",
    "ordered capacity 2 or block",
)
RISKY = re.compile(r"//|!|last")
"""What may have no value."""
QUANTIFIED = (
    "forall c in C, d in C: T",
    "exists c in C, d in C: T",
    "forall c in C: exists d in C: T",
    "len({c for c in C if exists d in C: T}) < 3",
    "exists c in C: forall d in C if d != c: T",
)


@dataclass(slots=True)
class _Spec:
    draw: Drawing
    lines: list[str] = field(default_factory=list[str])
    known: list[tuple[str, Shape]] = field(default_factory=list[tuple[str, Shape]])
    own: list[tuple[str, Shape]] = field(default_factory=list[tuple[str, Shape]])
    channel: str = ""
    risky: bool = False

    def text(self) -> str:
        draw = self.draw
        self.risky = draw.chance(30)
        members = ", ".join(f"c{number}" for number in range(draw.pick([2, 3, 3, 3, 4])))
        self.lines.append(f"symmetric type C = {{{members}}}")
        self.lines += DECLARED.splitlines()
        if draw.chance(20):
            self.lines += ["symmetric type V = {v0, v1}", "var chosen: V? = none"]
        self.variables()
        if draw.chance(60):
            self.channel = draw.pick(KINDS)
            self.lines.append(f"channel net: Uni {self.channel}")
        if draw.chance(70):
            self.role()
        for _ in range(draw.pick([1, 2, 3])):
            apart = " where d != c" if draw.chance(50) else ""
            self.action(f"{draw.name('act')}(c in C, d in C){apart}", self.known, "")
        if "var chosen: V? = none" in self.lines:
            self.lines += ["action elect(v in V):", "    require chosen == none", "    chosen = v"]
        if draw.chance(30):
            self.lines.append(f"constraint: {self.condition()}")
        for word in draw.pick([(), ("invariant",), ("invariant", "reachable"), ("invariant",) * 2]):
            self.lines.append(f"{word} {draw.name('I')}: {self.condition()}")
        if draw.chance(40):
            self.lines.append(f"step invariant S: {self.step()}")
        if draw.chance(30):
            self.lines.append(f"terminal: {self.condition()}")
        if draw.chance(15):
            self.lines.append("reachable Q: quiescent")
        return "\n".join(self.lines) + "\n"

    def variables(self) -> None:
        for _ in range(self.draw.pick([1, 2, 2])):
            shape, name = self.draw.pick(SHAPES), self.draw.name("x")
            first = f" = {shape.first}"
            if shape.type in ("C?", "set[C]") and self.draw.chance(30):
                first = " = any"
            self.lines.append(f"var {name}: {shape.type}{first}")
            self.known.append((name, shape))

    def role(self) -> None:
        shape = self.draw.pick(SHAPES)
        self.lines += ["role R[c: C]:", f"    var own: {shape.type} = {shape.first}"]
        inside = [("own", shape), *self.known]
        for _ in range(self.draw.pick([1, 2])):
            self.action(f"{self.draw.name('go')}(d in C)", inside, "    ")
        if self.channel and self.draw.chance(70):
            for head in ("One(==c)", "Two(d, ==c)", "Nobody"):
                name = self.draw.name("got")
                self.action(f"{name} on {head} from net", inside, "    ", "(d" in head)
        self.own.append(("R[c].own", shape))

    def action(
        self, head: str, known: list[tuple[str, Shape]], blanks: str, both: bool = True
    ) -> None:
        """An action in which ``c`` and (``both``, else it is picked) ``d`` are bound."""
        draw = self.draw
        self.lines.append(f"{blanks}action {head}:")

        def line(text: str) -> None:
            self.lines.append(f"{blanks}    {text}")

        if not both:
            line("pick d in C")
        if draw.chance(50):
            line(f"require {self.test(known)}")
        for _ in range(draw.pick([1, 1, 2])):
            name, shape = draw.pick(known)
            line(draw.pick(shape.changes).replace("X", name))
        if self.channel and draw.chance(50):
            line(
                draw.pick(
                    [
                        "send One(c) to net",
                        "send Two(c, d) to net",
                        "send Nobody to net",
                        "for k in C: send One(k) to net",
                        "for k in C:\n" + blanks + "        if k != c: send Two(c, k) to net",
                    ]
                )
            )

    def test(self, known: list[tuple[str, Shape]]) -> str:
        name, shape = self.draw.pick(known)
        tests = [one for one in shape.tests if self.risky or not RISKY.search(one)]
        test = self.draw.pick(tests).replace("X", name)
        for binder in ("set", "pair", "rec"):
            # A name is bound once, whatever stands inside what.
            test = re.sub(rf"\b{binder}_\d", self.draw.name(binder), test)
        if self.draw.chance(30):
            return f"({test} {self.draw.pick(['or', 'and', 'implies'])} {self.test(known)})"
        return f"not ({test})" if self.draw.chance(20) else test

    def condition(self) -> str:
        found = [*self.known, *self.own]
        test = self.test(found)
        return self.draw.pick(QUANTIFIED).replace("T", f"({test})")

    def step(self) -> str:
        name, _ = self.draw.pick([*self.known, *self.own])
        same = f"next({name}) == {name}"
        return f"forall c in C, d in C: {same} or ({self.test([*self.known, *self.own])})"


def grown(seed: int) -> str:
    """The text of a spec, from decisions by chance."""
    return _Spec(Drawing.by_chance(seed)).text()
