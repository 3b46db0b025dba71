"""Generates constant expressions of TLA+. Most have a value.

An expression has a kind, which says what it most likely evaluates to; now and then an operand has
another kind, so that errors are compared as well.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from random import Random

EXTENDED = "Integers, Sequences, FiniteSets, TLC, Bags"
CONFIG = "CONSTANTS M = {mv1, mv2, mv3} mv1 = mv1 mv2 = mv2 mv3 = mv3\n"
CONSTANTS = "M, mv1, mv2, mv3"
KINDS = ("int", "bool", "string", "model", "set", "sets", "strings", "tuple", "record", "map")
MIXED = 0.04
"""Probability that an operand has another kind."""
MAX_DEPTH = 3

FORMS: dict[str, tuple[str, ...]] = {
    "int": (
        "$int + $int", "$int - $int", "$int * $int", "$int \\div $int", "$int % $int",
        "-$int", "2 ^ ($int % 5)", "Cardinality($anyset)", "Len($tuple)", "$tuple[$int]",
        "Head($tuple)", "$record.fa", "(CHOOSE v \\in $set : $bool:v)", "$map[$string]",
        "IF $bool THEN $int ELSE $int", "(LET d(a) == a + $int IN d(d($int)))",
        "(CASE $bool -> $int [] $bool -> $int)", "(CASE $bool -> $int [] OTHER -> $int)",
        "[i \\in 0..4 |-> i * $int][$int]", "(LET v == $int IN v * v)",
        "BagCardinality($bag)", "CopiesIn($string, $bag)",
    ),
    "bool": (
        "$int < $int", "$int >= $int", "$any = $any", "$int # $int", "$set = $set",
        "$int \\in $set", "$any \\in $anyset", "$tuple = $tuple", "$set \\subseteq $set",
        "$anyset \\subseteq $anyset", "~$bool", "($bool /\\ $bool)", "($bool \\/ $bool)",
        "($bool => $bool)", "($bool <=> $bool)", "(\\A v \\in $set : $bool:v)",
        "(\\E v \\in $set : $bool:v)", "$set \\in SUBSET $set", "$tuple \\in Seq($set)",
        "$map \\in [$strings -> $set]", "$record \\in [fa : $set, fb : $anyset]",
        "<<$int, $any>> \\in $set \\X $anyset", "IsFiniteSet($anyset)", "$int \\in Nat",
        "$any \\in $anyset", "$sets = SUBSET {$int}", "$string \\in DOMAIN $map",
        "$tuple # <<$int, $int>>", "$model = $any", "$string \\in STRING",
        "$map = $map", "$record = $record",
    ),
    "string": ('"zsa"', '"zsb"', '"zsc"', "(CHOOSE v \\in $strings : TRUE)", "$record.fb",
               "(CHOOSE v \\in $strings : v # $string)"),
    "model": ("mv1", "mv2", "mv3", "(CHOOSE v \\in M : v # $model)"),
    "set": (
        "{$int, $int, $int}", "$int .. $int", "($set \\cup $set)", "($set \\cap $set)",
        "($set \\ $set)", "{v \\in $set : $bool:v}", "{v + $int : v \\in $set}",
        "UNION $sets", "DOMAIN $tuple", "{$tuple[v] : v \\in DOMAIN $tuple}", "{}",
        "{v * w : v \\in $set, w \\in $set}", "(CHOOSE t \\in $sets : TRUE)",
        "{<<v, w>>[1] : <<v, w>> \\in $set \\X $set}",
    ),
    "sets": ("SUBSET {$int, $int}", "{$set, $set}", "{v \\in SUBSET (0 .. 2) : $int \\in v}",
             "{ {v, $int} : v \\in $set }", "($sets \\cup $sets)"),
    "strings": ('{"zsa", "zsb"}', "{$string}", "DOMAIN $map", "DOMAIN $record",
                "($strings \\cup $strings)", '{"zsc", "zsa", "zsb"}', "M"),
    "tuple": (
        "<<$int, $int>>", "<<$int>>", "<<>>", "<<$int, $int, $int>>",
        "Append($tuple, $int)", "Tail($tuple)", "($tuple \\o $tuple)",
        "SubSeq($tuple, $int, $int)", "SelectSeq($tuple, LAMBDA v : $bool:v)",
        "[v \\in 1..3 |-> v + $int]", "[$tuple EXCEPT ![1] = @ + $int]",
        "[$tuple EXCEPT ![$int] = $int]", "SortSeq($tuple, LAMBDA v, w : v < w)",
        "IF $bool THEN $tuple ELSE $tuple",
    ),
    "record": (
        "[fa |-> $int, fb |-> $string]", "[fb |-> $string, fa |-> $int]",
        "[$record EXCEPT !.fa = @ + 1]", "[$record EXCEPT !.fb = $any, !.fa = $int]",
        "(CHOOSE r \\in [fa : $set, fb : $strings] : TRUE)", "([fa |-> $int] @@ $record)",
    ),
    "map": (
        "[v \\in $strings |-> $int]", "[$map EXCEPT ![$string] = @ + $int]",
        "($string :> $int)", "($map @@ $map)", "[v \\in M |-> $int]", "$bag",
        "(CHOOSE f \\in [$strings -> $set] : TRUE)", "[$map EXCEPT ![$string] = $int]",
        "(LET f[v \\in $strings] == $int IN f)",
    ),
    "bag": ("SetToBag($strings)", "($bag (+) $bag)", "($bag (-) $bag)", "EmptyBag",
            "($string :> $int)"),
}  # fmt: skip
LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "3", "-1", "5"),
    "bool": ("TRUE", "FALSE", "1 < 2"),
    "string": ('"zsa"', '"zsb"', '"zsc"'),
    "model": ("mv1", "mv2", "mv3"),
    "set": ("{}", "{1, 2}", "0..2", "{3}", "-1..1"),
    "sets": ("{{}}", "{{1}, {2}}", "SUBSET {1, 2}"),
    "strings": ('{"zsa"}', '{"zsb", "zsa"}', "M"),
    "tuple": ("<<>>", "<<1>>", "<<2, 1>>", "<<3, 1, 2>>"),
    "record": ('[fa |-> 1, fb |-> "zsa"]', '[fa |-> 2, fb |-> "zsb"]'),
    "map": ("[v \\in M |-> 1]", '("zsa" :> 1)', '("zsb" :> 2 @@ "zsa" :> 1)'),
    "bag": ("SetToBag(M)", '("zsa" :> 2)', "EmptyBag"),
}


def expressions(seed: int, count: int) -> list[str]:
    """Returns random expressions."""
    drawing = Drawing(Random(seed), FORMS, LEAVES)
    return [drawing.expression(drawing.random.choice(KINDS), MAX_DEPTH) for _ in range(count)]


def module(name: str, texts: list[str]) -> str:
    """Returns a module with the expressions as its assumptions, in order."""
    assumptions = "\n".join(f"ASSUME {text}" for text in texts)
    return (
        f"---- MODULE {name} ----\nEXTENDS {EXTENDED}\nCONSTANTS {CONSTANTS}\n{assumptions}\n====\n"
    )


class Drawing:
    """Draws expressions whose local names are all different. ``own`` are the names of each kind
    that the place has.
    """

    def __init__(
        self,
        random: Random,
        forms: Mapping[str, Sequence[str]],
        leaves: Mapping[str, Sequence[str]],
        mixed: float = MIXED,
    ) -> None:
        self.random = random
        self.count = 0
        self.own: dict[str, tuple[str, ...]] = {}
        self._forms = forms
        self._leaves = leaves
        self._mixed = mixed

    @contextmanager
    def bound(self, kind: str, name: str) -> Generator[None]:
        """Adds a name to those of the place."""
        before = self.own.get(kind, ())
        self.own[kind] = (*before, name)
        yield
        self.own[kind] = before

    def leaves(self, kind: str) -> Sequence[str]:
        """Returns the smallest expressions of a kind."""
        return self._leaves[kind]

    def expression(self, kind: str, depth: int, bound: str = "") -> str:
        """Returns an expression of a kind. The number ``bound`` may occur in it."""
        random = self.random
        if random.random() < self._mixed:
            kind = random.choice(KINDS)
        if kind == "any":
            kind = random.choice(KINDS)
        if kind == "anyset":
            kind = random.choice(("set", "sets", "strings"))
        if bound and kind == "int" and random.random() < 0.5:
            return bound
        if self.own.get(kind) and random.random() < 0.4:
            return random.choice(self.own[kind])
        if depth == 0 or random.random() < 0.15:
            return _grouped(random.choice(self.leaves(kind)))
        self.count += 1
        form = re.sub(r"\b([adfirtvw])\b", rf"\g<1>{self.count}", random.choice(self._forms[kind]))
        parts = re.split(r"\$([a-z]+)(?::(\w+))?", form)
        for index in range(1, len(parts), 3):
            parts[index] = self.expression(parts[index], depth - 1, parts[index + 1] or "")
            parts[index + 1] = ""
        return _grouped("".join(parts))


def _grouped(text: str) -> str:
    """Puts parentheses around an expression, unless it is a word or has brackets already."""
    return text if text.isalnum() or (text[0] in '<"' and text.count(text[0]) < 2) else f"({text})"
