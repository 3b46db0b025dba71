"""Generates modules of TLA+ with configurations: partial functions, records with varying fields,
nested functions, sets of such values, recursion, and actions of every form.

Values that are assigned to variables are reduced to few, so that most modules have few states. Most
expressions have a value; now and then an operand has another kind, or a variable gets no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.support.tla_expressions import FORMS, LEAVES, Drawing

VARIABLES = {
    "num": "int", "nums": "set", "seq": "tuple", "rec": "record", "map": "map", "nest": "nest",
    "msg": "mix", "msgs": "mixes",
}  # fmt: skip
"""The variables that a module may have, with the kinds of their values."""
BOUNDS = {
    "int": "({}) % 4", "set": "({}) \\cap (0..3)", "tuple": "Cut({})", "record": "Few({})",
    "map": "Small({})", "nest": "[key \\in M |-> Small(({})[key])]", "mix": "{}", "mixes": "{}",
}  # fmt: skip
"""Operations that leave few values of a kind."""
DEFINITIONS = """\
Cut(list) == [pos \\in 1..(IF Len(list) > 2 THEN 2 ELSE Len(list)) |-> list[pos] % 3]
Few(record) == [record EXCEPT !.fa = @ % 3]
Small(fun) == [key \\in DOMAIN fun |-> fun[key] % 3]
RECURSIVE Sum(_)
Sum(few) == IF few = {} THEN 0 ELSE LET one == CHOOSE v \\in few : TRUE IN one + Sum(few \\ {one})
RECURSIVE Back(_)
Back(list) == IF list = <<>> THEN <<>> ELSE Append(Back(Tail(list)), Head(list))
Power[exp \\in 0..4] == IF exp = 0 THEN 1 ELSE 2 * Power[exp - 1]
At(fun, key) == IF \\E any \\in DOMAIN fun : any = key THEN fun[key] ELSE 0
Rest(list) == IF list = <<>> THEN list ELSE Tail(list)
Least(few) == IF few = {} THEN 0 ELSE CHOOSE one \\in few : \\A other \\in few : one <= other
Tag(any) == IF any \\in M \\/ any = mv3 THEN "zsd" ELSE any.tag
Val(any) == IF any \\notin M /\\ any # mv3 /\\ "val" \\in DOMAIN any THEN any.val ELSE 0
Set(var, val) == var' = val
Keep(var) == UNCHANGED var
"""
MORE_FORMS = {
    "int": ("Sum($set)", "Power[$int]", "$map[$model]", "$nest[$model][$model]", "$mix.val",
            "Cardinality($mixes)"),
    "bool": ("$mix = $mix", "$mix \\in $mixes", "$nest = $nest", "($mix.tag = \"zsa\" => $bool)",
             "(\\E v \\in $mixes : v = $mix)", "\"val\" \\in DOMAIN $mix",
             "$model \\in DOMAIN $map"),
    "tuple": ("Back($tuple)",),
    "map": ("[v \\in (DOMAIN $map) \\ {$string, $model} |-> $int]", "$nest[$model]",
            "[v \\in {w \\in M : $bool} |-> $int]", "($model :> $int @@ $map)"),
    "nest": ("[v \\in M |-> $map]", "[$nest EXCEPT ![$model][$model] = $int]",
             "[$nest EXCEPT ![$model] = $map]", "[v \\in M |-> [w \\in M |-> $int]]"),
    "mix": ('[tag |-> "zsa", val |-> $int % 3]', '[tag |-> "zsb"]',
            '[tag |-> "zsc", of |-> $model]', "IF $bool THEN $mix ELSE $mix",
            "(CHOOSE v \\in $mixes : TRUE)", "$model", "<<$model>>"),
    "mixes": ("{$mix}", "($mixes \\cup {$mix})", "{v \\in $mixes : $bool}", "($mixes \\ {$mix})",
              "{[tag |-> \"zsc\", of |-> v] : v \\in M}", "{}"),
}  # fmt: skip
MORE_LEAVES = {
    "nest": ("[v \\in M |-> [w \\in M |-> 1]]", "[v \\in M |-> (v :> 0)]"),
    "mix": ('[tag |-> "zsa", val |-> 1]', '[tag |-> "zsb"]', "mv1"),
    "mixes": ("{}", '{[tag |-> "zsb"]}', "{mv1, mv2}"),
}
WHOLE = {
    "int": "0..2", "set": "SUBSET (0..1)", "tuple": "{<<>>, <<0>>, <<1, 0>>}",
    "record": '[fa : 0..1, fb : {"zsa", "zsb"}]', "map": "[M -> 0..1]",
    "nest": "[M -> [{mv1} -> 0..1]]",
    "mix": '[tag : {"zsa"}, val : 0..1] \\cup {[tag |-> "zsb"], mv1}',
    "mixes": '{{}, {mv1}, {[tag |-> "zsb"]}}',
}  # fmt: skip
"""Sets of values of a kind."""
TOTAL = {
    "int": ("At($tuple, $int)", "At($map, $string)", "At($map, $model)", "$record.fa % 3",
            "At(At($nest, $model), $model)", "($int % 3)", "Val($mix)", "Least($set)"),
    "bool": ("Tag($mix) = $string", "(\\E v \\in $mixes : Tag(v) = \"zsb\")",
             "$set \\subseteq $set",
             "$mix = $mix", "$mix \\in $mixes", "$int \\in $set", "Val($mix) = $int"),
    "tuple": ("Rest($tuple)", "[v \\in DOMAIN $tuple |-> $int]"),
    "set": ("{Val(v) : v \\in $mixes}", "{$int}"),
    "string": ("$record.fb", "Tag($mix)"),
    "mix": ("IF $bool THEN $mix ELSE $mix",),
}  # fmt: skip
"""Forms that always have a value."""
PARTIAL = re.compile(
    r"\$(?:int|tuple|map|nest|mix|record|any)(?:\[|\.[^.])|\]\[|<<\$model>>|\$any\b|CHOOSE|Head|Tail|\\div|%"
    r"|SubSeq|CASE|\$mix\.|CopiesIn|Bag|\([+-]\)|\$map = |STRING"
)
"""Matches forms that have no value for some operands."""
CAREFUL = 0.75
"""Probability that a module has few other forms."""
MIXED = 0.002
"""Probability that an operand has another kind."""
FORGOTTEN = 0.01
"""Probability that a variable gets no value in a part of an action."""


@dataclass(frozen=True, slots=True)
class RandomModule:
    """The texts of a module and of its configuration."""

    name: str
    module: str
    configuration: str


def random_module(seed: int) -> RandomModule:
    """Returns the module of a seed."""
    return _Module(Random(seed)).whole(f"R{seed}")


class _Module(Drawing):
    """Draws a module. Its expressions may read the variables."""

    def __init__(self, random: Random) -> None:
        careful = random.random() < CAREFUL
        forms = {
            kind: tuple(
                form
                for form in (*FORMS.get(kind, ()), *MORE_FORMS.get(kind, ()))
                if not careful or not PARTIAL.search(form)
            )
            + TOTAL.get(kind, ())
            for kind in (*FORMS, *MORE_FORMS)
        }
        super().__init__(random, forms, {**LEAVES, **MORE_LEAVES}, MIXED)
        chosen = random.sample([*VARIABLES], random.randint(2, 4))
        self.variables = [name for name in VARIABLES if name in chosen]
        self.ticks = random.random() < 0.6
        self.helpers: list[str] = []
        self.read: Sequence[str] = ()
        """The variables that an expression may read, as they are written."""

    def leaves(self, kind: str) -> Sequence[str]:
        own = [text for text in self.read if VARIABLES[text.rstrip("'")] == kind]
        return own if own and self.random.random() < 0.7 else super().leaves(kind)

    def whole(self, name: str) -> RandomModule:
        random = self.random
        constant = [f"{variable} {self._value(variable, '')}" for variable in self.variables]
        self.read = self.variables
        actions = [self._definition(number) for number in range(random.randint(1, 3))]
        disjuncts = [self._use(*action) for action in actions]
        invariant = f"({self._bool(3)}) \\/ ({self._bool(2)}) \\/ ({self._bool(2)})"
        variables = [*self.variables, *["tick"] * self.ticks]
        start = " /\\ ".join([*constant, *["tick = 0"] * self.ticks])
        text = "\n".join([
            f"---- MODULE {name} ----",
            "EXTENDS Integers, Sequences, FiniteSets, TLC, Bags",
            "CONSTANTS M, mv1, mv2, mv3",
            f"VARIABLES {', '.join(variables)}",
            DEFINITIONS,
            f"Init == {start}",
            *self.helpers,
            *[head + body for head, body, _ in actions],
            *["Next ==", *[f"  \\/ {disjunct}" for disjunct in disjuncts]],
            f"Inv == {invariant}",
            "====",
        ])  # fmt: skip
        deadlock = random.choice(("", "CHECK_DEADLOCK FALSE\n", "CHECK_DEADLOCK FALSE\n"))
        models = "CONSTANTS M = {mv1, mv2} mv1 = mv1 mv2 = mv2 mv3 = mv3\n"
        checked = "INVARIANT Inv\n" if random.random() < 0.5 else ""
        return RandomModule(name, f"{text}\n", f"{models}INIT Init\nNEXT Next\n{checked}{deadlock}")

    # ------------------------------------------------------------ actions

    def _definition(self, number: int) -> tuple[str, str, str]:
        """Returns the head and the body of an action, and the kind of its parameter or ""."""
        kind = self.random.choice(("", "", "int", "model"))
        if kind:
            self.own[kind] = ("par",)
        body = self._act(self.variables, 3)
        self.own.clear()
        if self.ticks:
            body = f"tick < 3 /\\ tick' = tick + 1 /\\ ({body})"
        return f"Act{number}{'(par)' if kind else ''} == ", body, kind

    def _use(self, head: str, body: str, kind: str) -> str:
        name = head.partition(" ")[0].partition("(")[0]
        if not kind:
            return name
        domain = "0..1" if kind == "int" else "M"
        return f"\\E arg \\in {domain} : {name}(arg)"

    def _act(self, variables: Sequence[str], depth: int) -> str:
        """Returns an action that assigns the variables."""
        random = self.random
        forms: list[Callable[[Sequence[str], int], str]] = [self._assignments, self._unchanged]
        if depth:
            forms += [self._split] * 3 + [self._guarded] * 3
            forms += [self._either, self._some, self._if, self._case, self._let, self._helper]
        if not variables:
            return self._bool(1)
        return f"({random.choice(forms)(variables, depth - 1)})"

    def _assignments(self, variables: Sequence[str], depth: int) -> str:
        parts: list[str] = []
        before = self.read
        for variable in variables:
            if self.random.random() < FORGOTTEN:
                continue
            text = self._value(variable, "'")
            if text.startswith("= ") and self.random.random() < 0.2:
                parts.append(f"Set({variable}, {text[2:]})")
            else:
                parts.append(f"{variable}' {text}")
            if self.random.random() < 0.3:
                self.read = [*self.read, f"{variable}'"]
        self.read = before
        return " /\\ ".join(parts) or "TRUE"

    def _value(self, variable: str, prime: str) -> str:
        """Returns what follows a variable where it gets a value."""
        kind, random = VARIABLES[variable], self.random
        if random.random() < (0.15 if prime else 0.5):
            return f"\\in {WHOLE[kind]}"
        if kind == "mixes" and prime and random.random() < 0.7:
            few = f"IF Cardinality({variable}) < 2 THEN {variable} ELSE {{}}"
            return f"= ({few}) \\cup {{{self.expression('mix', 1)}}}"
        return f"= {BOUNDS[kind].format(self.expression(kind, 2))}"

    def _unchanged(self, variables: Sequence[str], depth: int) -> str:
        if len(variables) == 1 or self.random.random() < 0.3:
            return " /\\ ".join(f"Keep({variable})" for variable in variables)
        return f"UNCHANGED <<{', '.join(variables)}>>"

    def _split(self, variables: Sequence[str], depth: int) -> str:
        shuffled = self.random.sample(variables, len(variables))
        middle = self.random.randint(0, len(shuffled))
        first = self._act(shuffled[:middle], depth)
        return f"{first} /\\ {self._act(shuffled[middle:], depth)}"

    def _guarded(self, variables: Sequence[str], depth: int) -> str:
        parts = [self._bool(2), self._act(variables, depth)]
        return " /\\ ".join(parts if self.random.random() < 0.8 else parts[::-1])

    def _either(self, variables: Sequence[str], depth: int) -> str:
        return f"{self._act(variables, depth)} \\/ {self._act(variables, depth)}"

    def _some(self, variables: Sequence[str], depth: int) -> str:
        self.count += 1
        name = f"any{self.count}"
        kind, domain = self.random.choice((("int", "$set"), ("model", "M"), ("int", "0..1"),
                                           ("mix", "$mixes")))  # fmt: skip
        text = self.expression(domain[1:], 1) if domain[0] == "$" else domain
        with self.bound(kind, name):
            return f"\\E {name} \\in {text} : {self._act(variables, depth)}"

    def _if(self, variables: Sequence[str], depth: int) -> str:
        parts = self._bool(2), self._act(variables, depth), self._act(variables, depth)
        return "IF {} THEN {} ELSE {}".format(*parts)

    def _case(self, variables: Sequence[str], depth: int) -> str:
        arms = [f"{self._bool(1)} -> {self._act(variables, depth)}" for _ in range(2)]
        if self.random.random() < 0.8:
            arms.append(f"OTHER -> {self._act(variables, depth)}")
        return f"CASE {' [] '.join(arms)}"

    def _let(self, variables: Sequence[str], depth: int) -> str:
        self.count += 1
        name = f"let{self.count}"
        kind = self.random.choice(("int", "set", "tuple", "map", "mix"))
        value = self.expression(kind, 2)
        with self.bound(kind, name):
            return f"LET {name} == {value} IN {self._act(variables, depth)}"

    def _helper(self, variables: Sequence[str], depth: int) -> str:
        own, self.own = self.own, {"int": ("given",)}
        body = self._act(variables, depth)
        self.own = own
        name = f"Help{len(self.helpers)}"
        self.helpers.append(f"{name}(given) == {body}")
        return f"{name}({self.expression('int', 1)})"

    def _bool(self, depth: int) -> str:
        return self.expression("bool", depth)
