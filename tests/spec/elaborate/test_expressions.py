"""Expressions: what they are worth, and what is no expression (docs/language.md sections 5, 6)."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict, worth

PRELUDE = """
const N: int = 3
type Slot = 0..2
enum Color: Red, Amber, Green
enum Mood: Happy, Green
record Meta: pid: 0..3, epoch: 0..7
record Box: inner: Meta, tag: Color
union Reply:
    Accepted(at: 0..3, by: Color)
    Delayed(at: 0..3)
    Refused
var light: Color = Red
var mood: Mood = Happy
var meta: Meta = Meta(pid: 0, epoch: 1)
var box: Box = Box(inner: Meta(2, 5), tag: Amber)
var log: seq[Color, 4] = [Red, Green, Red]
var empty: seq[0..3, 2] = []
var pool: bag[Slot, 4] = [1, 0, 1]
var waiting: set[Slot] = {0, 2}
var owner: Color? = none
var held: 0..5? = 4
var answer: Reply? = Accepted(1, Red)
var reply: Reply = Accepted(at: 2, by: Green)
var replies: seq[Reply, 3] = [Refused, Accepted(3, Red), Delayed(1)]
var stock: map[Slot, 0..9] = [2 * k for k in Slot]
var grid: map[Slot, map[bool, 0..9]] = [[if b then k else 0 for b in bool] for k in Slot]
var small: int8 = 127
var x: 0..9 = 4
var y: -5..5 = -3
var flag: bool = true
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Connectives: short-circuit, from the left, also for definedness.
        ("flag and x == 4", "true"),
        ("flag and not (x == 4)", "false"),
        ("false or x == 4 or 1 // (x - 4) == 0", "true"),
        ("x == 5 and 1 // (x - 4) == 0", "false"),
        ("1 // (x - 4) == 0 and x == 5", "F904"),
        ("1 // (x - 4) == 0 or x == 4", "F904"),
        ("x == 5 implies 1 // (x - 4) == 0", "true"),
        ("x == 4 implies 1 // (x - 4) == 0", "F904"),
        ("x == 4 iff flag", "true"),
        ("x == 5 iff flag", "false"),
        ("false iff 1 // (x - 4) == 0", "F904"),
        ("x == 5 implies x == 5 implies x == 5", "true"),
        # `implies` groups to the right: (false implies false) implies false would be false.
        ("x == 5 implies x == 5 implies false", "true"),
        ("not flag or flag and flag", "true"),
        # Conditional expressions.
        ("(if flag then x else y) == 4", "true"),
        ("(if not flag then x else y) == -3", "true"),
        ("(if flag then x else 1 // (x - 4)) == 4", "true"),
        ("(if not flag then x else 1 // (x - 4)) == 4", "F904"),
        ("if flag then x == 4 else false and false", "true"),
        ("(1 + if flag then 1 else 0 + 5) == 2", "true"),
        # Comparison.
        ("x != 5 and x >= 4 and x <= 4 and x > 3 and x < 5", "true"),
        ("x > 4", "false"),
        ("x >= 5", "false"),
        ("light == Red", "true"),
        ("light != Amber", "true"),
        ("meta == Meta(pid: 0, epoch: 1)", "true"),
        ("meta == Meta(epoch: 1, pid: 0)", "true"),
        ("meta == Meta(0, 2)", "false"),
        ("reply == Accepted(2, Green)", "true"),
        ("reply == Accepted(by: Green, at: 2)", "true"),
        ("reply == Refused", "false"),
        ("log == [Red, Green, Red]", "true"),
        ("log == [Red, Red, Green]", "false"),
        ("pool == [1, 1, 0]", "true"),
        ("waiting == {2, 0, 2}", "true"),
        ("waiting == {}", "false"),
        ("empty == []", "true"),
        ("stock == [2 * k for k in Slot]", "true"),
        ("[2 * k for k in Slot] == stock", "true"),
        # Members resolve by the type that is expected; E.A always works.
        ("light == Green", "false"),
        ("mood == Green", "false"),
        ("Green == mood", "false"),
        ("Mood.Green != mood and Color.Green != light", "true"),
        ("(if flag then Mood.Happy else Green) == mood", "true"),
        ("mood in {Happy, Green}", "true"),
        ("light in {Amber, Green}", "false"),
        ("light not in {Amber, Green}", "true"),
        ("last(log) == Red", "true"),
        ("owner == Green", "false"),
        ("Reply.Refused != reply", "true"),
        ("Reply.Delayed(1) in replies", "true"),
        # Membership.
        ("x in 0..4", "true"),
        ("x in 5..9", "false"),
        ("x in y..4", "true"),
        ("x in 5..x", "false"),
        ("x in (0..3) | {4}", "true"),
        ("x in Slot", "false"),
        ("2 in waiting and 1 not in waiting", "true"),
        ("7 in waiting", "false"),
        ("x in int8", "F302"),
        ("small in int8", "true"),
        ("Red in log and Amber not in log", "true"),
        ("1 in pool and 2 not in pool", "true"),
        ("Meta(0, 1) in {meta}", "true"),
        ("y in -5..-1", "true"),
        ("3 in {}", "false"),
        # is
        ("reply is Accepted", "true"),
        ("reply is not Accepted", "false"),
        ("reply is Reply.Refused", "false"),
        ("light is Red and light is not Green", "true"),
        ("reply is Accepted and reply.at == 2", "true"),
        ("reply is Refused or reply.at == 2", "true"),
        ("reply is Accepted implies reply.by == Green", "true"),
        ("if reply is Accepted then reply.by == Green else false", "true"),
        ("not (reply is not Accepted) and reply.by == Green", "true"),
        ("replies[1] is Accepted and replies[1].at == 3", "true"),
        ("last(replies) is Delayed and last(replies).at == 1", "true"),
        ("answer! is Accepted and answer!.at == 1", "true"),
        ("exists r in replies: r is Accepted and r.by == Red", "true"),
        ("(reply is Accepted or reply is Delayed) and reply.at == 2", "true"),
        ("(reply is Accepted or reply is Delayed) and reply.by == Red", "F315"),
        ("reply.by == Red", "F315"),
        ("reply.at == 2", "F315"),
        ("reply is not Refused and reply.at == 2", "true"),
        ("reply is Accepted or reply.by == Red", "F315"),
        ("replies[1] is Accepted and replies[0].at == 3", "F315"),
        # Integers: ranges widen in intermediates.
        ("x + x + x == 12 and x * 100 == 400", "true"),
        ("x - 9 == -5 and -x == -4", "true"),
        ("- x + 5 == 1", "true"),
        ("x // 3 == 1 and x % 3 == 1", "true"),
        ("y // 2 == -2 and y % 2 == 1", "true"),
        ("x // -3 == -2 and x % -3 == -2", "true"),
        ("-7 // 2 == -4 and -7 % 2 == 1 and 7 // -2 == -4 and 7 % -2 == -1", "true"),
        ("2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 7 - 2 - 1 == 4", "true"),
        ("1_000 == 1000", "true"),
        ("x // 0 == 0", "F904"),
        ("x % (x - 4) == 0", "F904"),
        # Sets.
        ("waiting | {1} == {0, 1, 2}", "true"),
        ("waiting & {0, 1} == {0}", "true"),
        ("waiting - {0} == {2}", "true"),
        ("Slot - waiting == {1}", "true"),
        ("waiting | {1} == Slot", "true"),
        ("{1} | {2} & {2} == {1, 2}", "true"),
        ("len(waiting) == 2 and len(Slot) == 3 and len({}) == 0", "F307"),
        # Records.
        ("meta.epoch == 1 and box.inner.pid == 2", "true"),
        ("(meta with epoch: 3) == Meta(0, 3)", "true"),
        ("(box with inner: box.inner with pid: 0).inner == Meta(0, 5)", "true"),
        ("(meta with epoch: 3 + 1).epoch == 4", "true"),
        ("meta with epoch: 3 == Meta(0, 3)", "F302"),
        # Collections.
        ("log[0] == Red and log[1] == Green", "true"),
        ("log[3] == Red", "F903"),
        ("log[y] == Red", "F903"),
        ("log[len(log) - 1] == Red", "true"),
        ("first(log) == Red and last(log) == Red", "true"),
        ("first(empty) == 1", "F903"),
        ("last(empty) == 1", "F903"),
        ("indices(log) == {0, 1, 2} and indices(empty) == {}", "true"),
        ("count(log, Red) == 2 and count(log, Amber) == 0 and count(pool, 1) == 2", "true"),
        ("count(pool) == 3 and len(pool) == 3 and count(waiting) == 2", "true"),
        ("sum(pool) == 2 and sum(waiting) == 2 and sum(empty) == 0", "true"),
        ("min(waiting) == 0 and max(waiting) == 2 and min(log) == Red", "true"),
        ("min(x, y) == -3 and max(x, y) == 4", "true"),
        ("min(empty) == 0", "F905"),
        ("max({z for z in waiting if z > 5}) == 0", "F905"),
        ("sum([stock[k] for k in Slot]) == 6", "true"),
        ("stock[2] == 4 and grid[2, true] == 2 and grid[1][true] == 1", "true"),
        ("stock[x] == 0", "F901"),
        ("len([1, 1, 2]) == 3 and len({1, 1, 2}) == 2", "true"),
        # Comprehensions: a set; a sequence; over a type, a map.
        ("{2 * z for z in waiting if z > 0} == {4}", "true"),
        ("{z % 2 for z in waiting} == {0}", "true"),
        ("[z + 1 for z in waiting] == [1, 3]", "true"),
        ("[z for z in log if z != Red] == [Green]", "true"),
        ("[k + 1 for k in Slot][2] == 3", "true"),
        ("[k for k in Slot if k > 0] == stock", "F312"),
        ("pool == [z for z in [0, 1, 1]]", "true"),
        # Quantifiers.
        ("forall z in waiting: z % 2 == 0", "true"),
        ("exists z in waiting: z == 1", "false"),
        ("forall a in Slot, b in Slot: a + b < 5", "true"),
        ("exists a in Slot, b in a..2: a > b", "false"),
        ("forall z in {}: false", "F307"),
        ("forall z in empty: false", "true"),
        ("exists z in empty: true", "false"),
        ("forall z in 0..2: stock[z] == 2 * z", "true"),
        ("forall z in log: z in Color", "true"),
        ("flag and forall z in waiting: z >= 0 and z < 9", "true"),
        ("(forall z in waiting: z == 0) or flag", "true"),
        ("forall z in waiting: z == 0 or flag", "true"),
        ("forall z in waiting: 1 // z == 0", "F904"),
        ("exists z in [2, 0]: 1 // z == 0", "true"),
        ("exists z in [0, 2]: 1 // z == 0", "F904"),
        # choose
        ("(choose z in waiting where z > 0) == 2", "true"),
        ("(choose z in waiting) == 0", "true"),
        ("(choose z in log) == Red", "true"),
        ("(choose z in [3, 1, 2] where z > 1) == 2", "true"),
        ("(choose z in waiting where z > 5) == 2", "F905"),
        ("x == choose z in 0..9 where z > 2 and z > 3", "true"),
        # Options.
        ("owner == none and held != none", "true"),
        ("held == 4 and held! == 4 and held != 3", "true"),
        ("owner == Red or owner != Red", "true"),
        ("not (owner == Red)", "true"),
        ("owner! == Red", "F906"),
        ("none == owner", "true"),
        ("held in {4, none}", "true"),
        ("held in {3, 5}", "false"),
        ("owner in {Red}", "false"),
        ("held in Slot", "false"),
        ("owner in Color", "false"),
        ("held in waiting", "false"),
        ("held in [4]", "true"),
        ("count([4, 4], held) == 2 and count(log, owner) == 0", "true"),
        ("4 in {held}", "true"),
        ("count([held, none], 4) == 1 and count([held, none], none) == 1", "true"),
        ("(if flag then none else 3) == none", "true"),
        ("x == held", "true"),
        ("held > 3", "F308"),
        ("held + 1 == 5", "F308"),
        ("x == none", "F307"),
        # Machine integers.
        ("small + 1 == -128 and small * 2 == -2 and -small - 2 == 127", "true"),
        ("int(small) + 1 == 128", "true"),
        ("int8(x) + small == -125", "true"),
        ("int8(x * 100) == small", "F901"),
        ("int16(small) + 1 == 128", "true"),
        ("small == 300", "F701"),
        ("small + x == 1", "F302"),
        ("small == x", "F302"),
        ("small // 2 == 63 and -small // 2 == -64 and -small % 4 == 1", "true"),
        ("small // (small - 127) == 0", "F904"),
        ("int[4](7) + 1 == -8", "true"),
        ("int8(-128) // int8(-1) == -128", "true"),
        ("small < 0", "false"),
        ("sum([small]) == 1", "F308"),
        ("log[small] == Red", "F301"),
    ],
)
def test_worth(expression: str, expected: str) -> None:
    assert worth(expression, PRELUDE) == expected


def test_block_of_lines_is_a_conjunction() -> None:
    spec = "var x: 0..3 = 1\naction up: skip\ninvariant I:\n    x > 0\n    x < {}\n"
    assert verdict(spec.format(2)) == "ok"
    assert verdict(spec.format(1)) == "violated I"
    assert (
        verdict("var x: 0..3 = 1\ninvariant I:\n    x == 0\n    1 // (x - 1) == 0\n")
        == "violated I"
    )


def test_a_finite_type_stands_where_a_set_is_expected() -> None:
    spec = """
        enum Color: Red, Green
        var seen: set[Color] = {}
        action all: seen = Color
        action one(c in Color): seen.add(c)
        invariant Few: seen != Color
    """
    result = ran(spec)
    assert result.verdict == "violated Few"
    assert result.depth == 2


def test_order_of_values_decides_for_choose_min_and_for() -> None:
    """bool, integers, enums by declaration, unions by tag then fields, the rest like tuples."""
    spec = """
        enum Color: Red, Amber, Green
        union Reply: Late(at: 0..3), Soon, Now(at: 0..3)
        record Pair: a: 0..3, b: Color
        var bools: seq[bool, 2] = []
        var colors: seq[Color, 3] = []
        var replies: seq[Reply, 4] = []
        var pairs: seq[Pair, 3] = []
        var lists: seq[seq[0..3, 2], 4] = []
        var sets: seq[set[0..2], 4] = []
        var options: seq[(0..3)?, 3] = []
        var numbers: seq[-2..3, 3] = []
        action go:
            require numbers == []
            for b in {true, false}: bools.append(b)
            for c in {Green, Red, Amber}: colors.append(c)
            for r in {Now(0), Soon, Late(3), Late(1)}: replies.append(r)
            for p in {Pair(1, Red), Pair(0, Green), Pair(1, Amber)}: pairs.append(p)
            for l in {[1], [0, 3], [], [0]}: lists.append(l)
            for s in {{1}, {0, 2}, {}, {0}}: sets.append(s)
            for o in {2, none, 1}: options.append(o)
            for n in {3, -2, 0}: numbers.append(n)
        terminal: true
        invariant Ordered:
            numbers != [] implies bools == [false, true] and colors == [Red, Amber, Green]
            numbers != [] implies replies == [Late(1), Late(3), Soon, Now(0)]
            numbers != [] implies pairs == [Pair(0, Green), Pair(1, Red), Pair(1, Amber)]
            numbers != [] implies lists == [[], [0], [0, 3], [1]]
            numbers != [] implies sets == [{}, {0}, {0, 2}, {1}]
            numbers != [] implies options == [none, 1, 2] and numbers == [-2, 0, 3]
            numbers != [] implies min(colors) == Red and max(replies) == Now(0)
            (choose r in {Now(0), Soon}) == Soon
    """
    assert verdict(spec) == "ok"


def test_for_follows_a_sequence_in_its_own_order() -> None:
    spec = """
        var from_list: seq[0..3, 3] = []
        var from_bag: seq[0..3, 3] = []
        var pool: bag[0..3, 3] = [3, 1, 3]
        action go:
            require from_list == []
            for x in [3, 1, 2]: from_list.append(x)
            for x in pool: from_bag.append(x)
        terminal: true
        invariant I: from_list != [] implies from_list == [3, 1, 2] and from_bag == [1, 3, 3]
    """
    assert verdict(spec) == "ok"


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("x", "F301", "a condition is wanted here, and this is 0..9"),
        ("not x", "F301", "a condition is wanted here"),
        ("light == Rad", "F201", 'no name "Rad" is known here; did you mean "Red"?'),
        ("light == mood", "F302", "compares Color and Mood"),
        ("light == 3", "F302", "compares Color and 3..3"),
        ("Green == Green", "F209", "a member of Color and Mood; write Color.Green"),
        ("Color.Rad == light", "F211", 'did you mean "Red"?'),
        ("light < Green", "F308", "< compares integers, and this is Color"),
        ("x + flag == 1", "F308", "+ takes two integers, and here is bool"),
        ("x | x == {}", "F308", "| takes two sets, and here is 0..9"),
        ("meta.epok == 1", "F314", 'Meta has no field "epok"; did you mean "epoch"?'),
        ("reply.whom == Red", "F314", 'no variant of Reply has a field "whom"'),
        ("held.x == 1", "F314", "`!` unwraps an option"),
        ("x.y == 1", "F314", "0..9 has no field"),
        ("x! == 1", "F316", "`!` unwraps an option, and this is 0..9"),
        ("x[0] == 1", "F313", "a sequence or map is indexed, and this is 0..9"),
        ("Accepted == reply", "F317", "write Accepted(at: ..., by: ...)"),
        ("reply == Accepted(1)", "F320", "Accepted also needs by"),
        ("reply == Accepted(1, Red, 2)", "F320", "write Accepted(at, by)"),
        ("reply == Accepted(1, at: 2)", "F320", '"at" is given twice'),
        ("reply == Accepted(1, bi: Red)", "F314", "write Accepted(at, by)"),
        ("x in x", "F311", "a set, sequence, bag or finite type is wanted here"),
        ("forall k in stock: k > 0", "F311", "name its key type"),
        ("len(x) == 1", "F311", ""),
        ("first(waiting) == 1", "F311", "first takes a sequence, and this is set[0..2]"),
        ("len(log, log) == 1", "F321", "len takes 1 argument, and 2 are given"),
        ("log(1) == Red", "F319", '"log" is a variable, so it cannot be called'),
        ("lenn(log) == 1", "F201", 'did you mean "len"?'),
        ("log.append(Red) == log", "F319", "changes a variable, as a statement of its own"),
        ("Red(1) == light", "F319", "Red carries nothing"),
        ("light is Rad", "F211", 'did you mean "Red"?'),
        ("x is Red", "F309", "this is 0..9"),
        ("answer is Refused", "F309", "`!` unwraps an option"),
        ("{1, Red} == {1}", "F302", "the elements before it are"),
        ("[light, 3] == log", "F302", ""),
        ("log == none", "F307", "none is a value of options only"),
        ("forall x in Slot: x == 0", "F203", '"x" is a variable here already'),
        ("forall a in Slot, a in Slot: true", "F203", '"a" is a local here already'),
        ("exists Red in Slot: true", "F203", '"Red" is a member of Color here already'),
        ("exists len in Slot: len == len(log)", "", ""),
        ("exists bool in Slot: true", "F204", '"bool" is a type of the language'),
        ("exists quiescent in Slot: true", "F204", ""),
        ("(meta with epok: 1) == meta", "F314", 'did you mean "epoch"?'),
        ("next(x) == 1", "F318", "next(...) is known in step invariants only"),
        ("x * 9_000_000_000_000_000_000 == 0", "F702", "does not fit in 64 bits"),
        ("99999999999999999999 == x", "F702", "this is 99999999999999999999, which does not fit"),
        ("int(light) == 0", "F308", "int converts integers, and this is Color"),
        ("int8(300) == small", "F701", "int8 holds -128..127, and this is 300"),
    ],
)
def test_misuse(expression: str, code: str, phrase: str) -> None:
    text = f"{PRELUDE}\ninvariant I: {expression}\n"
    if not code:
        assert codes(text) == []
    else:
        refused(text, code, phrase)


LIFTED = """
enum E: A, B
var q: seq[(0..3)?, 3] = [1, none, 2]
var s: set[E?] = {A}
var qs: seq[seq[0..3, 2], 2] = [[1], [2]]
var m: map[E, 0..1] = [0 for k in E]
channel c[b: bool]: E capacity 2
def d: set[0..3] = {} | {1}
def e(x: set[0..3]): int = len(x)
def f: set[E?] = {none}
def g(o: E?): bool = o == A
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # T lifts to T?, also inside a list or set that is written where such elements are wanted.
        ("q == [1, none, 2] and count(q, 1) == 1", "true"),
        ("q == [1, 2]", "false"),
        ("[x for x in q if x != none] == [1, 2]", "true"),
        ("s == {A} and A in s and none not in s", "true"),
        ("f == {none} and g(A) and not g(none)", "true"),
        # What is expected tells what an empty collection or a list is.
        ("d == {1} and e({}) == 0 and e({1, 2}) == 2", "true"),
        ("first(qs) == [x for x in {1}]", "true"),
        ("c == [[A, B] for b in bool]", "false"),
        # What is only compared need not fit.
        ("m == [5 for k in E]", "false"),
        ("(if q == [] then [1 for k in E] else [0 for k in E]) == m", "true"),
        ("m == [k for k in E]", "F302"),
    ],
)
def test_expected_types(expression: str, expected: str) -> None:
    assert worth(expression, LIFTED) == expected


def test_words_of_the_language_are_suggested() -> None:
    refused(f"{PRELUDE}\ninvariant I: flag == ture\n", "F201", 'did you mean "true"?')
