"""Specs with long lists and deep nesting: every repetition of the grammar at any size.

Each row is the form of a spec. ``@(form@separator@)`` is a list of copies of ``form``. In each
copy, ``%`` is replaced by its number and ``$`` by the next number; ``~`` and ``^`` are replaced by
one space for each copy before it and after it. ``@n`` is the number of copies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

VAR = "var x: 0..1 = 0\naction flip: x = 1 - x\n"
"""The start of each spec and of its module ``m``."""
RECORDED = "import m\nrecording:\n    source s ordered\n"
MAX_FOLDERS = 100
"""A module in more folders than this is not created, because operating systems limit the length of
paths.
"""

_LIST = re.compile(r"@\((.*?)@(.*?)@\)", re.S)

LISTS = {
    "members of an enum": "enum E: @(M%@, @)\n",
    "members on lines": "enum E:\n@(    M%\n@@)",
    "variants": "union U: @(V%@, @)\n",
    "variants on lines": "union U:\n@(    V%\n@@)",
    "fields of a record": "record R: @(f%: bool@, @)\n",
    "fields on lines": "record R:\n@(    f%: bool\n@@)",
    "fields of a variant": "union U: V(@(f%: bool@, @))\n",
    "parameters of a def": "def d(@(p%: int@, @)): bool = true\n",
    "parameters of an action": "action a(@(p% in {0}@, @)): x = 0\n",
    "members of a fair group": "@(action a%: x = 0\n@@)fair {@(a%@, @)}\n",
    "parameters of a procedure": "procedure p(@(p%: int@, @)):\n    x = 0\n",
    "parameters of a channel": "channel c[@(p%: 0..0@, @)]: bool capacity 1\n"
    "invariant P: len(c[@(0@, @)]) == 0\n",
    "options of a channel": "channel c: bool capacity 1@( lossy@@)\n",
    "lossy messages": "union U: @(V%@, @)\nchannel c: U lossy(@(V%@, @)) capacity 1\n",
    "arguments": "def d(@(p%: int@, @)): bool = true\ninvariant P: d(@(x@, @))\n",
    "arguments of a module": "import m with @(C% = true@, @)\n",
    "arguments of a pattern": "union U: V(@(f%: bool@, @)), W\nvar u: U = W\n"
    "action a:\n    match u:\n        case V(@(a%@, @)): x = 0\n        case W: x = 0\n",
    "components of a tuple": "invariant P: (@(x@, @)) == (@(x@, @))\n",
    "names of components": "invariant P: let (@(v%@, @)) = (@(x@, @)): v0 == x\n",
    "names of inner components": "invariant P:\n"
    "    let (w, (@(v%@, @))) = (x, (@(x@, @)))\n    v0 == w\n",
    "components of a pattern": "action a:\n    match (@(x@, @)):\n"
    "        case (@(v%@, @)): x = 0\n",
    "elements of a set": "invariant P: x in {@(%@, @)}\n",
    "elements of a sequence": "invariant P: len([@(x@, @)]) > 0\n",
    "entries of a map": "invariant P: [@(%: x@, @)][0] == x\n",
    "conjuncts on lines": "invariant P:\n@(    x == x\n@@)",
    "formulas on lines": "property P:\n@(    always x <= 1\n@@)",
    "let lines": "invariant P:\n@(    let v% = x\n@@)    x == x\n",
    "let statements": "action a:\n@(    let v% = x\n@@)    x = 0\n",
    "statements": "action a:\n@(    x = 0\n@@)",
    "statements on a line": "action a: @(x = 0@; @)\n",
    "branches": "action a:\n    if x == 0:\n        x = 1\n"
    "@(    elif x == %:\n        x = 0\n@@)",
    "cases": "enum E: @(M%@, @)\nvar e: E = M0\n"
    "action a:\n    match e:\n@(        case M%: e = M0\n@@)",
    "cases of a match expression": "enum E: @(M%@, @)\nvar e: E = M0\n"
    "invariant P: match e: @(case M%: true@; @)\n",
    "cases on lines": "enum E: @(M%@, @)\nvar e: E = M0\n"
    "invariant P:\n    match e:\n@(        case M%: true\n@@)",
    "chain of and": "invariant P: @(x == x@ and @)\n",
    "chain of or": "invariant P: @(x == x@ or @)\n",
    "chain of implies": "invariant P: @(x == x@ implies @)\n",
    "chain of +": "invariant P: @(x@ + @) >= 0\n",
    "chain of *": "invariant P: @(x@ * @) >= 0\n",
    "chain of |": "invariant P: {x} <= @({x}@ | @)\n",
    "comparisons": "invariant P: @(x@ < @)\n",
    "binders": "invariant P: forall @(b% in {0}@, @): true\n",
    "generators": "invariant P: len({0 for @(b% in {0}@, @)}) > 0\n",
    "fields of with": "record R: @(f%: bool@, @)\nvar r: R = R(@(f%: true@, @))\n"
    "action a: r = r with @(f%: false@, @)\n",
    "indexes": "var m: @(map[0..0, @@)bool@(]@@) = @([0: @@)true@(]@@)\ninvariant P: m@([0]@@)\n",
    "any indexes": "invariant P: x@([...]@@) == 0\n",
    "calls of calls": "def d(a: int): int = a\ninvariant P: d@((0)@@) == 0\n",
    "fields": "record R0: f: bool\n@(record R$: f: R%\n@@)"
    "var r: R@n? = none\ninvariant P: r == none or r!@(.f@@).f\n",
    "unwraps": "record R0: f: bool?\n@(record R$: f: R%?\n@@)"
    "var r: R@n = R@n(f: none)\ninvariant P: r.f == none or r@(.f!@@).f!\n",
    "parts to the end": "invariant P: [x]@([0..]@@) == [x]\n",
    "parts from the start": "invariant P: [x]@([..0]@@) == [x]\n",
    "not": "invariant P: @(not @@)true\n",
    "minus": "invariant P: 0 == @(- @@)x\n",
    "variables": "@(var v%: bool = false\n@@)",
    "constants": "@(const C%: bool = false\n@@)",
    "types": "@(type T% = 0..1\n@@)",
    "enums": "@(enum E%: M%\n@@)",
    "channels": "@(channel c%: bool capacity 1\n@@)",
    "defs": "@(def d%: bool = true\n@@)",
    "defs that call each other": "def d0: bool = true\n@(def e%: bool = d0\n@@)invariant P: d0\n",
    "actions": "@(action a%: x = 0\n@@)",
    "invariants": "@(invariant P%: true\n@@)",
    "properties": "@(property P%: always x <= 1\n@@)",
    "roles": "@(role R%:\n    action a: x = 0\n@@)",
    "variables of a role": "role R:\n@(    var v%: bool = false\n@@)",
    "checks": "@(check c%: expect ok\n@@)",
    "items of a check": "@(const C%: 0..1 = 0\n@@)check c:\n@(    const C% = 1\n@@)",
    "properties of a check": "@(invariant P%: true\n@@)check c: properties: @(P%@, @)\n",
    "scenarios": "@(scenario s%: flip; expect x == 1\n@@)",
    "steps of a scenario": "scenario s: @(flip@; @); expect true\n",
    "lines of a scenario": "scenario s:\n@(    flip\n@@)    expect true\n",
    "images": "import m\nrefinement R: m where x = x, @(v% = false@, @)\n",
    "images on lines": "import m\nrefinement R: m where\n    x = x\n@(    v% = false\n@@)",
    "imports": "@(import m as m%\n@@)",
    "imported names": "from m import @(C%@, @)\n",
    "imported types": "from m import @(E%@, @)\n",
    "folders of a module": "import @(m@.@)\n",
    "modules of a name": "import m0\ncheck c: properties: @(m%@.@).P\n",
    "fields of an event": f"{RECORDED}event e(@(f%: bool@, @)) from s\n",
    "sources of an event": "import m\nrecording:\n@(    source s% ordered\n@@)"
    "event e from @(s%@, @)\n",
    "patterns of a source": f'{RECORDED}    source t ordered in @("p%"@, @)\n',
    "explanation": f'{RECORDED}event e(f: bool) from s\nexplain e: @("w%"@, @)\n',
    "explanation on lines": f'{RECORDED}event e(f: bool) from s\nexplain e:\n@(    "w%"\n@@)',
    "parts of a key": f"{RECORDED}    key k by @(f%@, @)\n",
    "bound names": f"{RECORDED}    bind b: 0..@n where @(% = %@, @)\n",
    "lines of a recording": "import m\nrecording:\n@(    source s% ordered\n@@)",
    "hidden actions": f"{RECORDED}hidden @(m.a%@, @)\n",
    "statements of an input": f"{RECORDED}input e from s:\n@(    skip\n@@)",
    "statements of an input on a line": f"{RECORDED}input e from s: @(skip@; @)\n",
    "unknown names": "@(const C%: bool = false\n@@)invariant P: true in {@(c_%@, @)}\n",
    "comments": "@(# a comment\n@@)",
    "blank lines": "@(\n@@)",
    "symmetric values": "symmetric type T = {@(t%@, @)}\n",
    "operands of a temporal formula": "property P: @(always x <= 1@ and @)\n",
    "chain of leads to": "property P: @(x == 0@ leads to @)\n",
    "chain of until": "property P: @(x == 0@ until @)\n",
    "leads to in a chain of and": "property P: @((x == % leads to x == 1)@ and @)\n",
    "until in a chain of or": "property P: @((x == % until x == 1)@ or @)\n",
    "leads to on lines": "property P:\n@(    x == % leads to x == 1\n@@)",
    "characters of a name": "invariant @(P@@): true\n",
    "digits": "invariant P: x < @(9@@)\n",
    "docstring": '"""@(word @@)"""\n',
}  # fmt: skip
"""Forms of specs that contain a list, by name."""

NESTS = {
    "brackets": "invariant P: @((@@)true@()@@)\n",
    "tuples": "invariant P: @((@@)x@(, x)@@) == @((@@)x@(, x)@@)\n",
    "components of components": "var t: @((0..1, @@)0..1@()@@) = @((0, @@)0@()@@)\n"
    "invariant P: t@(.2@@) == 0\n",
    "names of tuples": "invariant P: let @((w%, @@)v@()@@) = @((x, @@)x@()@@): v == x\n",
    "patterns of tuples": "action a:\n    match @((x, @@)x@()@@):\n"
    "        case @((w%, @@)v@()@@): x = 0\n",
    "sets": "invariant P: @({@@)0@(}@@) != {}\n",
    "sequences": "invariant P: @([@@)0@(]@@) != []\n",
    "maps": "invariant P: @([0: @@)true@(][0]@@)\n",
    "open brackets": "invariant P: @((@@)true\n",
    "open set brackets": "action a @([{(@@)true\n",
    "closed brackets": "invariant P: true@()@@)\n",
    "comparisons in comparisons": "invariant P: @((@@)true@( == true)@@)\n",
    "not in": "invariant P: @((@@)true@( not in {false})@@)\n",
    "members of results": "enum E: A, B\ndef d(b: bool): E = A\n"
    "invariant P: @(d(d(@@)true@() is A) is not B@@)\n",
    "members of members": "enum E: A, B\nvar e: E = A\ninvariant P: @((@@)e@( is A)@@)\n",
    "members that are not members": "enum E: A, B\nvar e: E = A\n"
    "invariant P: @((@@)e@( is not A)@@)\n",
    "ranges": "invariant P: @(len(0..@@)x@()@@) > 0\n",
    "ranges of ranges": "invariant P: @((@@)0@( .. 1)@@) == {0}\n",
    "conditionals": "invariant P: @(if true then @@)true@( else false@@)\n",
    "conditions of conditionals": "invariant P: @(if @@)true@( then true else false@@)\n",
    "quantifiers": "invariant P: @(forall i% in {0}: @@)true\n",
    "choices": "invariant P: 0 == @(choose i% in {@@)0@(} where true@@)\n",
    "comprehensions": "invariant P: @(len([@@)x@( for b% in {0}])@@) > 0\n",
    "comprehensions of sets": "invariant P: @(len({@@)x@( for b% in {0}})@@) > 0\n",
    "binders in binders": "invariant P: @({0 for b% in @@){0}@(}@@) == {0}\n",
    "let in": "invariant P: @(let v% = x: @@)true\n",
    "match expressions": "enum E: A, B\nvar e: E = A\n"
    "invariant P: @((match e: case _: @@)true@()@@)\n",
    "match expressions on lines": "enum E: A, B\nvar e: E = A\n"
    "invariant P:\n@(    ~~match e:\n     ~~case _:\n@@)    @(  @@)true\n",
    "values in patterns": "union U: V(f: bool), W\nvar u: U = W\n"
    "invariant P: @((match u: case V(==@@)true@(): true; case _: false)@@)\n",
    "values in named patterns": "union U: V(f: bool), W\nvar u: U = W\n"
    "invariant P: @((match u: case V(==@@)true@() as v%: true; case _: false)@@)\n",
    "values in patterns of tuples": "invariant P: "
    "@((match (x, x == 0): case (_, ==@@)true@() as t%: true; case _: false)@@)\n",
    "folds": "invariant P: @(fold(a%, b% in {0} from true: @@)true@()@@)\n",
    "starts of folds": "invariant P: @(fold(a%, b% in {0} from @@)true@(: true)@@)\n",
    "conditions of folds": "invariant P: "
    "@(fold(a%, b% in {0} if @@)true@( from true: true)@@)\n",
    "types of folds": "invariant P: 0 == @(fold(a%: 0..@@)1@(, b% in {0} from 0: 0)@@)\n",
    "calls": "def d(a: int): int = a\ninvariant P: 0 == @(d(@@)x@()@@)\n",
    "functions": "invariant P: 0 == @(min(x, @@)x@()@@)\n",
    "arguments by name": "record R: f: bool\nvar r: R = R(f: true)\n"
    "invariant P: @(R(f: @@)true@() == r@@)\n",
    "with": "record R: f: bool\nvar r: R = R(f: true)\n"
    "invariant P: @((r with f: @@)true@() == r@@)\n",
    "with of with": "record R: f: bool\nvar r: R = R(f: true)\n"
    "invariant P: @((@@)r@( with f: true)@@) == r\n",
    "with many fields": "record R: f: bool, g: bool\nvar r: R = R(f: true, g: true)\n"
    "invariant P: @((r with g: true, f: @@)true@() == r@@)\n",
    "indexes in indexes": "var m: map[0..1, 0..1] = [0: 0, 1: 0]\n"
    "invariant P: 0 == @(m[@@)x@(]@@)\n",
    "options": "var o: bool@(?@@) = none\n",
    "types in brackets": "var o: @((seq[@@)bool@(, 1]?)@@) = none\n",
    "types of sets": "var o: @(set[@@)bool@(, 1]@@) = {}\n",
    "types of maps": "def d(m: @(map[0..0, @@)bool@(]@@)): bool = true\n",
    "if statements": "action a:\n@(    ~if x == 0:\n@@)    @( @@)x = 1\n",
    "for statements": "action a:\n@(    ~for i% in {0}:\n@@)    @( @@)x = 1\n",
    "matches": "enum E: A, B\nvar e: E = A\n"
    "action a:\n@(    ~~match e:\n     ~~case _:\n@@)    @(  @@)x = 1\n",
    "conjunctions in blocks": "invariant P:\n@(    ~forall i% in {0}:\n@@)    @( @@)true\n",
    "lets in blocks": "invariant P:\n@(    ~let v% = forall i% in {0}:\n@@)    @( @@)true\n"
    "@(    ^true\n@@)",
    "formulas in blocks": "property P:\n@(    ~forall i% in {0}:\n@@)    @( @@)always x <= 1\n",
    "until": "property P: @(x == 0 until (@@)x == 0@()@@)\n",
    "leads to": "property P: @(x == 0 leads to (@@)x == 0@()@@)\n",
    "always": "property P: @(always @@)x == 0\n",
    "eventually always": "property P: @(eventually (always @@)x == 0@()@@)\n",
    "negations of formulas": "property P: @(not @@)always x == 0\n",
    "defs": "def d0: bool = true\n@(def d$: bool = d%\n@@)invariant P: d@n\n",
    "types by name": "type T0 = bool\n@(type T$ = T%\n@@)var v: T@n = false\n",
    "records in records": "record R0: f: bool\n@(record R$: f: R%\n@@)"
    "def d(r: R@n): bool = true\n",
    "procedures": "procedure p0: x = 0\n@(procedure p$: p%()\n@@)action a: p@n()\n",
    "constants": "const C0: 0..1 = 0\n@(const C$: 0..1 = C%\n@@)",
}  # fmt: skip
"""Forms of specs that nest a construct, by name."""

_TEMPORAL = (
    "entries of a map", "chain of and", "chain of or", "chain of implies", "chain of +",
    "chain of *", "indexes", "any indexes", "calls of calls", "fields", "unwraps",
    "parts to the end", "parts from the start",
    "comparisons in comparisons", "not in", "members of members", "members that are not members",
    "ranges of ranges", "with of with", "components of a tuple", "tuples",
    "components of components",
)  # fmt: skip
"""Rows about expressions that also exist in formulas, where separate rules apply."""

for _rows in (LISTS, NESTS):
    _rows |= {
        f"{name}, in a formula": form.replace("invariant P: ", "property P: ")
        for name, form in _rows.items()
        if name in _TEMPORAL
    }

MODULES = {
    "arguments of a module": "@(const C%: bool = false\n@@)",
    "images": "@(var v%: bool = false\n@@)",
    "images on lines": "@(var v%: bool = false\n@@)",
    "imported names": "@(const C%: bool = false\n@@)",
    "imported types": "@(enum E%: M%\n@@)",
    "hidden actions": "@(action a%: x = 0\n@@)",
}
"""The declarations of the module ``m`` that a row uses, by the name of the row."""


def written(form: str, count: int) -> str:
    """Expands a form so that its lists have ``count`` elements."""

    def listed(list_: re.Match[str]) -> str:
        copies = (
            list_[1].replace("%", str(number)).replace("$", str(number + 1))
            .replace("~", " " * number).replace("^", " " * (count - 1 - number))
            for number in range(count)
        )  # fmt: skip
        return list_[2].join(copies)

    text = _LIST.sub(listed, form.replace("@n", str(count)))
    return text + VAR if text.startswith('"""') else VAR + text


def spec(name: str, count: int) -> str:
    """Returns the spec of a row."""
    return written((LISTS | NESTS)[name], count)


def modules(name: str, count: int) -> Mapping[str, str]:
    """Returns the modules that the spec of a row imports, by path."""
    folders = min(count, MAX_FOLDERS)
    match name:
        case "folders of a module":
            return {"m/" * (folders - 1) + "m.fence": VAR}
        case "modules of a name":
            return {
                f"m{number}.fence": "invariant P: true\n"
                + f"import m{number + 1}\n" * (number < folders - 1)
                for number in range(folders)
            }
        case _:
            return {"m.fence": written(MODULES.get(name, ""), count)}
