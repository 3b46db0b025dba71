"""The operators of TLA+ with their precedences, as SANY has them: the table of *Specifying
Systems*, except that SUBSET, UNION and DOMAIN bind tighter than `\\`, `\\cup` and `..`.

Two operators that compete for an operand must have ranges that do not overlap, or be the same
operator, which must then associate to the left. Everything else needs parentheses.
"""

from __future__ import annotations

from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Fixity:
    """The range of precedences of an operator, and whether it associates to the left."""

    low: int
    high: int
    left: bool = False


_INFIX_ROWS = """
1 1 none => -+->
2 2 none <=> \\equiv ~>
3 3 left /\\ \\land \\/ \\lor
5 5 none # /= = \\approx \\asymp \\cong \\doteq >= <= =< < > \\geq \\leq \\in \\notin \\sim \\simeq
5 5 none \\ll \\gg \\prec \\preceq \\succ \\succeq
5 5 none \\propto \\sqsubset \\sqsubseteq \\sqsupset \\sqsupseteq
5 5 none \\subset \\subseteq \\supset \\supseteq ::= := |- -| |= =|
6 6 left @@
7 7 none :> <:
8 8 left \\cap \\intersect \\cup \\union
8 8 none \\
9 9 none .. ...
9 13 none !! ??
9 13 left ## $ $$ \\uplus \\sqcap \\sqcup
9 14 none \\wr
5 14 left \\cdot
10 10 left + ++ \\oplus (+)
10 11 left | || %%
10 11 none %
11 11 left - -- \\ominus (-)
10 13 left \\X \\times
13 13 left & && * ** \\o \\circ \\star \\bullet \\bigcirc \\odot (.) \\otimes (\\X)
13 13 none / // \\div \\oslash (/)
14 14 none ^ ^^
"""
SYNONYMS = {
    "\\land": "/\\", "\\lor": "\\/", "\\equiv": "<=>", "/=": "#", "=<": "<=", "\\leq": "<=",
    "\\geq": ">=", "\\intersect": "\\cap", "\\union": "\\cup", "\\circ": "\\o", "\\times": "\\X",
    "\\lnot": "~", "\\neg": "~", "(+)": "\\oplus", "(-)": "\\ominus", "(.)": "\\odot",
    "(\\X)": "\\otimes", "(/)": "\\oslash",
}  # fmt: skip
"""Operators with several spellings, each with the one that the trees use."""


def _rows() -> dict[str, Fixity]:
    table: dict[str, Fixity] = {}
    for row in _INFIX_ROWS.split("\n"):
        if row:
            low, high, side, *signs = row.split()
            table |= {sign: Fixity(int(low), int(high), side == "left") for sign in signs}
    return table


INFIX = _rows()
PREFIX = {
    "-": Fixity(12, 12), "~": Fixity(4, 4), "\\lnot": Fixity(4, 4), "\\neg": Fixity(4, 4),
    "[]": Fixity(4, 15), "<>": Fixity(4, 15), "ENABLED": Fixity(4, 15),
    "UNCHANGED": Fixity(4, 15), "SUBSET": Fixity(10, 13), "UNION": Fixity(10, 13),
    "DOMAIN": Fixity(10, 13),
}  # fmt: skip
LANGUAGE = frozenset({
    "=", "#", "/\\", "\\/", "=>", "<=>", "\\in", "\\notin", "\\subseteq", "\\cup", "\\cap", "\\",
    "\\X", "~>", "-+->", "\\cdot", "~", "[]", "<>", "'",
})  # fmt: skip
"""The operators that no module can define."""
POSTFIX = {"'": Fixity(15, 15), "^+": Fixity(15, 15), "^*": Fixity(15, 15), "^#": Fixity(15, 15)}
NEGATIVE = "-."
"""The name of unary minus in definitions and trees."""
