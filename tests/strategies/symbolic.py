"""Random specs with a symbolic constant, for searches of all its values at once.

Every kind of place where a number may stand takes numbers that depend on the constant. Each run
takes a few steps only, as each value of the constant is searched by itself as well.
"""

from __future__ import annotations

from hypothesis import strategies as st
from tests.strategies.drawing import Drawing

__all__ = ["grown_symbolic", "symbolic_specs"]

DECLARATIONS = """
enum N: P, Q
record R:
    e: T
    f: bool
union M: A(e: T), B
channel net: M {net} capacity 3
var steps: 0..3 = 0
var x: T = {x}
var y: T = {y}
var o: T? = none
var s: set[T, 3] = {s}
var q: seq[T, 3] = []
var b: bag[T, 2] = []
var r: R = R(e: {r}, f: false)
var m: map[N, T] = [{m} for k in N]
var n: -20..20 = 0
var small: 0..5 = 0
var w: int[8] = 0
var flag: bool = false
"""


@st.composite
def symbolic_specs(draw: st.DrawFn) -> str:
    """The text of a spec with a symbolic constant of a few values."""
    return _Spec(Drawing.by_hypothesis(draw)).text()


def grown_symbolic(seed: int) -> str:
    """Such a text without Hypothesis."""
    return _Spec(Drawing.by_chance(seed)).text()


class _Spec:
    def __init__(self, draw: Drawing) -> None:
        self.draw = draw
        # In a range, a number that leaves it is an error; a machine integer wraps.
        self.machine = not draw.chance(25)

    def text(self) -> str:
        draw = self.draw
        lines = ["const E0: int[4] = any", "type T = int[4]"]
        if not self.machine:
            lines = ["const E0: -6..7 = any", "type T = -9..9"]
        if draw.chance(30):
            tests = ["E0 > 0", "E0 != 2", "E0 <= 3", "E0 % 2 == 0"]
            if draw.chance(25):
                # For some value there is none.
                tests = ["6 // E0 > 1", "6 // (E0 - 2) != 7", "E0 < 1 or 3 % (E0 - 2) == 0"]
            lines[0] += f" where {draw.pick(tests)}"
        initial = {name: self.known() for name in ("x", "y", "r", "m")}
        elements = draw.several(self.known, 0, 2)
        lines.append(
            DECLARATIONS.format(
                net=draw.pick(["unordered", "ordered", "persistent"]),
                s=f"{{{', '.join(elements)}}}",
                **initial,
            )
        )
        for number in range(draw.number(1, 3)):
            lines += [f"action a{number}:", *(f"    {line}" for line in self.action())]
        if draw.chance(50):
            lines += ["action receive on A(e) from net:", "    require steps < 3", "    steps += 1"]
            lines += [f"    {line}" for line in self.statement(["e"], 1)]
        if not self.machine and draw.chance(60):
            lines += [f"action give(e in 0..2) where {self.condition(['e'], 0)}:"]
            lines += ["    require steps < 3", "    steps += 1"]
            lines += [f"    {line}" for line in self.statement(["e"], 1)]
            head = draw.pick(["invariant Given: not", "reachable Given:"])
            able = f"enabled(give({draw.pick(['0', '1', '2', '3', 'small', 'n', 'x'])}))"
            lines.append(f"{head} ({able} and {self.condition([], 1)})")
        for number in range(draw.number(0, 2)):
            lines.append(f"invariant I{number}: {self.condition([], 2)}")
        if draw.chance(25):
            lines.append(
                f"step invariant S: next(x) {draw.pick(['!=', '>=', '<'])} x or next(flag)"
            )
        if draw.chance(20):
            lines.append(f"reachable W: {self.condition([], 1)}")
        if draw.chance(15):
            lines.append(f"constraint: {self.condition([], 1)}")
        lines += self.daring()
        if draw.chance(15):
            lines.append("invariant Able: steps < 2 implies enabled(a0)")
        if not any(line.startswith("terminal") for line in lines):
            lines.append(f"terminal: {'true' if draw.chance(60) else 'steps == 3'}")
        return "\n".join(lines) + "\n"

    # ------------------------------------------------------------ what may have no value

    def daring(self) -> list[str]:
        """Properties of which some may have no value."""
        draw = self.draw
        if not draw.chance(40):
            return []
        heads = ["invariant D", "lemma D", "reachable D", "terminal", "constraint"]
        able = draw.pick(["quiescent implies", "enabled(a0) implies", "not enabled(a0) or"])
        return draw.pick(
            [
                [f"{draw.pick(heads)}: {self.failing()}"],
                [f"invariant D: {able} {self.failing()}"],
                [f"step invariant D: next({draw.pick(['o!', 'q[0]', 'min(s)'])}) != x"],
                [f"constraint: {self.failing()}", f"terminal: {self.failing()}"],
                [f"lemma D: {self.failing()}", f"reachable W1: {self.failing()}"],
            ]
        )

    def failing(self) -> str:
        """A condition that has no value in some states."""
        draw = self.draw
        v = draw.name("v")
        number = self.number([], 1)
        test = draw.pick(
            [
                f"o! == {number}",
                f"q[0] != {number}",
                f"last(q) == {number}",
                f"min(s) <= {number}",
                f"(choose {v} in s where {self.condition([v], 0)}) != {number}",
                f"{draw.number(1, 3)} // (steps - {draw.number(0, 3)}) < 3",
                f"[1 for k in 0..1][steps - {draw.number(0, 2)}] == 1",
            ]
        )
        if draw.chance(60):
            other = self.condition([], 1)
            return f"({other}) {draw.pick(['and', 'or', 'implies'])} {test}"
        return test

    def action(self) -> list[str]:
        draw = self.draw
        lines = ["require steps < 3", "steps += 1"]
        if draw.chance(50):
            lines.append(f"require {self.condition([], 2)}")
        for _ in range(draw.number(1, 3)):
            lines += self.statement([], 2)
        return lines

    # ------------------------------------------------------------ numbers

    def known(self) -> str:
        """A number that may be had where the state begins."""
        return self.draw.pick(["0", "2", "E0", "E0 + 1", "3", "E0 - 2", "-1"])

    def number(self, locals: list[str], depth: int) -> str:
        draw = self.draw
        leaves = ["E0", "x", "y", "2", "r.e", "m[P]", "m[Q]", "0", "3", "-2", *locals * 3]
        if depth <= 0 or draw.chance(40):
            return draw.pick(leaves)
        inner = self.number(locals, depth - 1)
        match draw.number(0, 6):
            case 0 | 1:
                return f"{inner} {draw.pick(['+', '-'])} {draw.number(1, 3)}"
            case 2:
                test = self.condition(locals, depth - 1)
                return f"(if {test} then {inner} else {self.number(locals, 0)})"
            case 3:
                return f"(if len(s) > 0 then {draw.pick(['min', 'max'])}(s) else {inner})"
            case 4:
                return f"(if o != none then o! else {inner})"
            case 5:
                return (
                    f"(if len(q) > 0 then {draw.pick(['q[0]', 'last(q)', 'max(q)'])} else {inner})"
                )
            case _:
                v = draw.name("v")
                test = self.condition([v], 0)
                return (
                    f"(if exists {v} in s: {test} then choose {v} in s where {test} else {inner})"
                )

    def read(self) -> str:
        """A number whose type is known, unlike a literal's."""
        return self.draw.pick(["E0", "x", "y", "r.e", "m[P]", "E0 + 1", "x - 2"])

    # ------------------------------------------------------------ conditions

    def condition(self, locals: list[str], depth: int) -> str:
        draw = self.draw

        def number() -> str:
            return self.number(locals, depth - 1)

        if depth > 0 and draw.chance(30):
            left, right = (self.condition(locals, depth - 1) for _ in range(2))
            return f"({left} {draw.pick(['and', 'or', 'implies'])} {right})"
        match draw.number(0, 13):
            case 0 | 1 | 2:
                return f"{number()} {draw.pick(['==', '<', '<=', '!='])} {number()}"
            case 3:
                return f"{self.read()} in {{{self.read()}, {number()}}}"
            case 4:
                return f"{number()} {draw.pick(['in', 'not in'])} {draw.pick(['s', 'q', 'b'])}"
            case 5:
                return f"o == {number()}"
            case 6:
                return f"r == R(e: {number()}, f: {draw.pick(['flag', 'true', 'false'])})"
            case 7:
                v = draw.name("v")
                test = self.condition([*locals, v], depth - 1)
                where = draw.pick(["s", "q", "b"])
                return f"({draw.pick(['forall', 'exists'])} {v} in {where}: {test})"
            case 8:
                return f"count(b, {number()}) {draw.pick(['<', '=='])} 1"
            case 9:
                return f"s == {{{self.read()}, {number()}}}"
            case 10:
                return f"{draw.pick(['q', '[x, y]'])} == [{number()}]"
            case 11:
                v = draw.name("v")
                test = self.condition([v], 0)
                return f"len({{{v} for {v} in {draw.pick(['s', 'q'])} if {test}}}) < 2"
            case 12:
                # The second part may fail, and only the order tells whether it is looked at.
                v = draw.name("v")
                return f"(exists {v} in s: {v} == {number()} or q[0] == {v})"
            case _:
                return draw.pick(["flag", "len(s) < 2", "o == none", "len(net) > 0", "n > 1"])

    # ------------------------------------------------------------ statements

    def statement(self, locals: list[str], depth: int) -> list[str]:
        draw = self.draw

        def number() -> str:
            return self.number(locals, 2)

        match draw.number(0, 17):
            case 0 | 1:
                return [f"{draw.pick(['x', 'y', 'm[P]', 'm[Q]', 'r.e'])} = {number()}"]
            case 2:
                return [f"o = {draw.pick([number(), 'none'])}"]
            case 3:
                return [f"if len(s) < 3: s.add({number()})"]
            case 4:
                return [f"s.remove({number()})"]
            case 5:
                return [f"if len(q) < 3: q.append({number()})"]
            case 6:
                return ["if len(q) > 0: q.pop_first()"]
            case 7:
                return [f"if len(b) < 2: b.add({number()})", f"b.remove({number()})"]
            case 8:
                return [f"r = R(e: {number()}, f: {self.condition(locals, 0)})"]
            case 9:
                wide = "int[8](x)" if self.machine else "5"
                to_int = "int({})" if self.machine else "({})"
                target = draw.pick(["n", "n", "small", "w"])
                if target == "w":
                    return [f"w = {wide} + {draw.number(0, 2)}"]
                return [f"{target} = {to_int.format(number())} + {draw.number(0, 2)}"]
            case 10:
                return [f"flag = {self.condition(locals, 1)}"]
            case 11:
                v = draw.name("v")
                return [f"for {v} in {draw.pick(['s', 'b'])}:", f"    if len(q) < 3: q.append({v})"]
            case 12:
                return [f"if len(net) < 3: send {draw.pick([f'A({number()})', 'B'])} to net"]
            case 13:
                v = draw.name("v")
                where = draw.pick(["s", "q", "b", f"{{{self.read()}, {number()}}}"])
                return [f"pick {v} in {where} where {self.condition([v], 1)}", f"x = {v}"]
            case 14 if depth > 0:
                test = self.condition(locals, 1)
                return [
                    f"if {test}:",
                    *(f"    {line}" for line in self.statement(locals, depth - 1)),
                    "else:",
                    *(f"    {line}" for line in self.statement(locals, depth - 1)),
                ]
            case 15:
                return [f'assert {self.condition(locals, 1)}, "asserted"']
            case 16:
                return [f"s = {{{self.read()}, {number()}}}"]
            case _:
                return [f"x += {draw.number(1, 2)}"]
