"""Generates modules of TLA+ with few states, and with fairness and temporal properties."""

from __future__ import annotations

from random import Random

from tests.support.tla_modules import RandomModule

UPDATES = {
    "x": ("x' = (x + {}) % 4", "x' \\in 0..{}", "x' = y", "\\E q \\in s : x' = q"),
    "y": ("y' = 1 - y", "y' = x", "y' \\in {{0, {}}}"),
    "s": ("s' = s \\cup {{x}}", "s' = s \\ {{x}}", "s' \\in {{{{}}, {{{}}}}}"),
    "f": ("f' = [f EXCEPT ![x % 2] = 1 - @]", "f' = [i \\in 0..1 |-> 0]"),
}
"""The assignments of actions. A small number replaces ``{}``."""
CONDITIONS = (
    "x = {}", "y = {}", "x < {}", "x # y", "x \\in s", "s = {{{}}}", "f[x % 2] = {}",
    "ENABLED A0", "ENABLED (A1 \\/ y' = x)",
)  # fmt: skip
ACTIONS = ("A0", "A1", "A2", "Next", "(A0 \\/ A1)", "(A2 /\\ x < 2)", "B(1)", "(x' > x)")
FORMS = (
    "[]{0}", "<>{0}", "({0} ~> {1})", "[]<>{0}", "<>[]{0}", "({0} /\\ {1})", "({0} \\/ {1})",
    "({0} => {1})", "~{0}", "[]<><<{2}>>_{3}", "<>[][{2}]_{3}", "WF_{3}({2})", "SF_{3}({2})",
    "(\\A q \\in 0..1 : <>(x = q \\/ {0}))",
)  # fmt: skip
TUPLES = ("vars", "vars", "x", "<<x, y>>")


class _Drawing:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.choice = self._random.choice
        self.number = self._random.randrange

    def condition(self) -> str:
        return self.choice(CONDITIONS).format(self.number(3))

    def action(self) -> str:
        parts: list[str] = []
        kept: list[str] = []
        for variable, updates in UPDATES.items():
            if self._random.random() < 0.5:
                kept.append(variable)
            else:
                parts.append(self.choice(updates).format(self.number(1, 3)))
        guard = self.choice(["", *[text for text in CONDITIONS if "ENABLED" not in text]])
        parts = [guard.format(self.number(3)), *parts] if guard else parts
        return " /\\ ".join([*parts, f"UNCHANGED <<{', '.join(kept)}>>"])

    def formula(self, depth: int) -> str:
        if not depth:
            return f"({self.condition()})"
        parts = self.formula(depth - 1), self.formula(depth - 1)
        return self.choice(FORMS).format(*parts, self.choice(ACTIONS), self.choice(TUPLES))

    def fairness(self) -> str:
        kind, action, variables = self.choice("WS"), self.choice(ACTIONS), self.choice(TUPLES)
        return f" /\\ {kind}F_{variables}({action})"


def random_behaviours(seed: int) -> RandomModule:
    """Returns the module of a seed."""
    draw = _Drawing(seed)
    actions = [f"A{number} == {draw.action()}" for number in range(3)]
    fairness = "".join(draw.fairness() for _ in range(draw.number(4)))
    each = draw.choice(["", "", "", f" /\\ \\A q \\in 0..1 : {draw.choice('WS')}F_vars(B(q))"])
    lines = [
        f"---- MODULE L{seed} ----",
        "EXTENDS Integers",
        "VARIABLES x, y, s, f",
        "vars == <<x, y, s, f>>",
        *actions,
        f"B(q) == A{draw.number(3)} /\\ x # q",
        "Next == A0 \\/ A1 \\/ A2",
        f"Init == x \\in 0..{draw.number(2)} /\\ y = 0 /\\ s = {{}} /\\ f = [i \\in 0..1 |-> 0]",
        f"Spec == Init /\\ [][Next]_vars{fairness}{each}",
        "Few == x < 3 \\/ y = 0",
        "Moves == x' # x \\/ y' # 1",
        f"P == {draw.formula(draw.choice([1, 2, 2, 3]))}",
        f"Q == {draw.formula(draw.choice([1, 2, 3]))}",
        "====",
    ]
    sections = ["SPECIFICATION Spec", "PROPERTIES P Q", "CHECK_DEADLOCK FALSE"]
    sections += draw.choice([[], [], [], ["CONSTRAINT Few"], ["ACTION_CONSTRAINT Moves"]])
    return RandomModule(f"L{seed}", "\n".join(lines) + "\n", "\n".join(sections) + "\n")
