"""Small random specs with random fairness and formulas: so small that lassos are as frequent as
their absence.
"""

from __future__ import annotations

from random import Random

PREFIXES = ("", "", "", "fair ", "fair ", "fair ", "strongly fair ", "strongly fair ", "fair each ")


def behaviour_spec(
    random: Random, until: bool = True, constraint: bool = True, depth: int = 3
) -> str:
    """A spec with one property, ``P``, whose operators are nested up to ``depth``; ``until`` and
    ``constraint`` say what may occur.
    """
    lines, top, role = _system(random, constraint)
    lines.append(f"property P: {_formula(random, top, role, depth, until)}")
    return "\n".join(lines) + "\n"


def formulas_spec(random: Random, count: int, operators: int) -> str:
    """A spec with properties ``P0``, ``P1`` and so on, each a formula of at most ``operators``
    operators, without `until` and without a constraint.
    """
    lines, top, _ = _system(random, False)
    for number in range(count):
        formula = _formula_of(random, top, random.randint(1, operators))
        lines.append(f"property P{number}: {formula}")
    return "\n".join(lines) + "\n"


def _system(random: Random, constraint: bool) -> tuple[list[str], int, bool]:
    """The lines of a random system, the maximum of its variable x, and whether it has a role."""
    top = random.choice((1, 2, 3))
    lines = [f"var x: 0..{top} = {random.choice(('0', '0', 'any'))}", "var b: bool = false"]
    ghost = random.random() < 0.3
    if ghost:
        lines.append("ghost var g: 0..2 = 0")
    fields = random.random() < 0.2
    if fields:
        lines[:0] = ["record M: n: 0..1, ghost t: 0..1"]
        lines.append("channel c: M unordered capacity 2 = [M(n: 0, t: 1), M(n: 1, t: 0)]")
    role = random.random() < 0.4
    if role:
        lines.append(random.choice(("", "", "fair ", "strongly fair ")) + "role R[i: 0..1]:")
        lines.append("    var s: 0..2 = 0")
        for name in ("go", "back")[: random.randint(1, 2)]:
            lines += [f"    {line}" for line in _action(random, name, top, True, ghost)]
    for name in ("first", "second", "third")[: random.randint(1, 3)]:
        lines += _action(random, name, top, False, ghost)
    if fields:
        lines += _resent(random)
    if constraint and random.random() < 0.2:
        lines.append(f"constraint: x <= {random.randint(0, top)}")
    return lines, top, role


def _action(random: Random, name: str, top: int, member: bool, ghost: bool) -> list[str]:
    prefix = random.choice(PREFIXES)
    parameter = random.random() < (0.8 if "each" in prefix else 0.15)
    lines = [f"{prefix}action {name}{f'(n in 0..{top})' if parameter else ''}:"]
    for _ in range(random.randint(0, 2)):
        lines.append(f"    require {_predicate(random, top, member)}")
    body: list[str] = []
    for _ in range(random.randint(1, 2)):
        what = random.randint(0, 5)
        if what == 0:
            body.append("b = not b")
        elif what == 1 and member:
            body.append(f"s = {random.choice(('(s + 1) % 3', '0', '1', '2 - s'))}")
        elif what == 2 and ghost:
            body.append("g = (g + 1) % 3")
        elif what == 3 and parameter:
            body.append("x = n")
        else:
            body.append(
                f"x = {random.choice((f'(x + 1) % {top + 1}', '0', f'{top} - x', str(top)))}"
            )
    if parameter and not any("n" in line for line in body):
        body.append("x = n")
    lines += [f"    {line}" for line in dict.fromkeys(body)]
    return lines


def _resent(random: Random) -> list[str]:
    """An action whose step may change no more than ghosts."""
    n, t = random.choice(("n", "n", "1 - n")), random.choice(("t", "1 - t", "0"))
    return [
        f"{random.choice(PREFIXES[:-1])}action again on M(n, t) from c:",
        f"    require {_predicate(random, 1, False)}",
        f"    send M(n: {n}, t: {t}) to c",
    ]


def _predicate(random: Random, top: int, member: bool) -> str:
    choices = [
        "b",
        "not b",
        f"x == {random.randint(0, top)}",
        f"x != {random.randint(0, top)}",
        f"x > {random.randint(0, top - 1)}",
    ]
    if member:
        choices += [f"s == {random.randint(0, 2)}", f"s < {random.randint(1, 2)}"] * 2
    return random.choice(choices)


def _formula(random: Random, top: int, role: bool, depth: int, until: bool) -> str:
    def part() -> str:
        return _formula(random, top, role, depth - 1, until)

    if depth == 0 or random.random() < 0.15:
        if role and random.random() < 0.4:
            return f"R[{random.randint(0, 1)}].s == {random.randint(0, 2)}"
        if random.random() < 0.1:
            return "enabled(first)"
        return _predicate(random, top, False)
    what = random.randint(0, 11)
    match what:
        case 0 | 1:
            return f"(always {part()})"
        case 2 | 3:
            return f"(eventually {part()})"
        case 4 | 5 | 6:
            return f"({part()} leads to {part()})"
        case 7 if until:
            return f"({part()} until {part()})"
        case 8:
            return f"(not {part()})"
        case 9:
            word = random.choice(("and", "or", "implies", "iff"))
            return f"({part()} {word} {part()})"
        case 10 if role:
            word = random.choice(("forall", "exists"))
            return f"({word} i in 0..1: R[i].s == {random.randint(0, 2)} leads to R[i].s == 0)"
        case _:
            return random.choice((f"(always eventually {part()})", f"(eventually always {part()})"))


def _formula_of(random: Random, top: int, operators: int) -> str:
    """A random formula with this number of operators."""
    if operators == 0:
        return _predicate(random, top, False)
    if operators == 1 or random.random() < 0.5:
        word = random.choice(("not", "always", "eventually", "always", "eventually"))
        return f"({word} {_formula_of(random, top, operators - 1)})"
    left = random.randrange(operators)
    word = random.choice(("leads to", "leads to", "implies", "iff", "and", "or"))
    parts = [_formula_of(random, top, size) for size in (left, operators - 1 - left)]
    return f"({parts[0]} {word} {parts[1]})"
