"""The smaller forms of expressions: what they are worth, and their misuse."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, ran, refused, worth

PRELUDE = """
const N: int = 3
type Slot = 0..2
enum Color: Red, Amber, Green
record Meta: pid: 0..3, epoch: 0..7
union Reply:
    Accepted(at: 0..3, by: Color)
    Refused
var light: Color = Red
var meta: Meta = Meta(pid: 0, epoch: 1)
var log: seq[Color, 4] = [Red, Green, Red]
var nums: seq[0..9, 4] = [3, 1, 2]
var empty: seq[0..3, 2] = []
var pool: bag[Slot, 4] = [1, 0, 1]
var waiting: set[Slot] = {0, 2}
var held: 0..5? = 4
var replies: seq[Reply, 3] = [Refused, Accepted(3, Red)]
var stock: map[Slot, 0..9] = [2 * k for k in Slot]
var x: 0..9 = 4
"""


def check(expression: str, expected: str) -> None:
    """The expression is true or false in the initial state, or fails with a code."""
    assert worth(expression, PRELUDE) == expected


def misused(expression: str, code: str, phrase: str) -> None:
    refused(f"{PRELUDE}\ninvariant I: {expression}\n", code, phrase)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("let y = x + 1: y * y == 25", "true"),
        ("(let y = x: y) == 4", "true"),
        ("(let y = 2: let z = y + x: z - y) == x", "true"),
        ("x == let y = nums[0]: y + 1", "true"),
        ("let y = 1 // (x - 4): true", "F904"),
        ("let y = 1 // (x - 4): false and y == 0", "F904"),
        ("x == 5 and (let y = 1 // (x - 4): true)", "false"),
        ("let y = x - 4: x == 4 or 1 // y == 0", "true"),
        ("let y = x - 4: 1 // y == 0", "F904"),
        # What is expected reaches the body, and what is known of a value its name.
        ("light == let y = x: if y == 4 then Red else Green", "true"),
        ("let r = replies[1]: r is Accepted and r.at == 3", "true"),
        ("replies[1] is Accepted and (let r = replies[1]: r.by == Red)", "true"),
        ("held == let y = x: none", "false"),
        ("empty == let y = x: []", "true"),
        ("forall z in let top = N - 1: 0..top: z < 3", "true"),
        ("let K = Slot: sum(K) == 3", "true"),
        ("let even = forall z in waiting: z % 2 == 0: even", "true"),
    ],
)
def test_let(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("let x = 1: x == 1", "F203", '"x" is a variable here already'),
        ("let y = x: let y = 2: y == x", "F203", '"y" is a local here already'),
        ("let y = []: y == empty", "F307", "the type of this empty collection"),
        ("let y = int16: true", "F710", "too large to be a set by itself"),
        ("(let y = x: true) and y == 1", "F201", 'no name "y"'),
        ("let y = x + 1 in y > 0", "F101", "write let x = e: body"),
        ("let y = x in y", "F101", "write let x = e: body"),
    ],
)
def test_misuse_of_let(expression: str, code: str, phrase: str) -> None:
    misused(expression, code, phrase)


def test_a_let_keeps_what_stands_behind_it() -> None:
    """An implication is still the outermost one, and a constant still a constant."""
    vacuous = "var x: 0..1 = 0\ninvariant I: let y = x + 1: y > 1 implies x == 1\nterminal: true\n"
    assert ran(vacuous).unmet == ["y > 1"]
    assert (
        codes(f"{PRELUDE}const M: int = let y = N + 1: y * y\ntype T = 0..(let z = M: z)\n") == []
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Sets, sequences, bags; a later generator sees those before it.
        ("{a + b for a in Slot, b in waiting} == {0, 1, 2, 3, 4}", "true"),
        ("{a + b for a in Slot, b in waiting if a < b} == {2, 3}", "true"),
        ("[10 * a + b for a in nums, b in waiting] == [30, 32, 10, 12, 20, 22]", "true"),
        ("[b for a in nums, b in 1..a] == [1, 2, 3, 1, 1, 2]", "true"),
        ("[c for a in waiting, b in a..2, c in b..2 if b == 1] == [1, 2]", "true"),
        ("pool == [b for a in {0, 1}, b in a..1]", "true"),
        ("{Meta(a, 0) for a in Slot, b in nums if b == a} == {Meta(1, 0), Meta(2, 0)}", "true"),
        ("len([a for a in Slot, b in Slot]) == 9", "true"),
        ("sum([a * b for a in Slot, b in Slot]) == 9", "true"),
        ("[a for a in empty, b in nums[9]..3] == []", "true"),
        ("{a for a in nums, b in nums if a // (b - 1) == 9} == {}", "F904"),
        ("{a // (b - 1) for a in nums, b in nums if b != 1} == {0, 1, 2, 3}", "true"),
        ("{r.at for r in replies, c in Color if r is Accepted and r.by == c} == {3}", "true"),
        # Over types, one generator makes a map, and several a sequence.
        ("[a + b for a in Slot, b in 0..0] == [0, 1, 2]", "true"),
        ("stock == [a for a in Slot, b in Slot]", "F312"),
        # Quantifiers: what is left out by the condition is not asked about.
        ("forall a in Slot, b in Slot if a < b: b > 0", "true"),
        ("forall a in nums if a > 1: 6 // (a - 1) >= 3", "true"),
        ("forall a in nums if a > 5: false", "true"),
        ("exists a in nums if a > 2: a == 3", "true"),
        ("exists a in nums if a > 5: true", "false"),
        ("exists r in replies if r is Accepted: r.at == 3", "true"),
        ("forall r in replies if r is Accepted: r.by == Red", "true"),
        ("forall a in nums if 1 // (a - 3) == 0: true", "F904"),
        ("forall a in Slot if if a == 0 then true else a == 2: a in waiting", "true"),
    ],
)
def test_generators_and_conditions(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("{a for a in Slot, a in Slot} == {}", "F203", '"a" is a local here already'),
        ("{a for a in Slot, b in 1} == {}", "F311", "a set, sequence, bag or finite type"),
        ("[a for a in 0..999, b in 0..999] == []", "F705", "1000000 elements"),
        ("forall a in Slot if a: true", "F301", "a condition is wanted here"),
        ("{a for a in b..2, b in Slot} == {}", "F201", 'no name "b"'),
        ("{a for a in Slot for b in Slot} == {}", "F101", 'one "for", with commas'),
        ("{a for a in Slot if a > 0, b in Slot} == {}", "F101", 'one "if" stands behind all'),
        ("forall a in Slot if a > 0, b in Slot: true", "F101", 'one "if" stands behind all'),
        ("exists a in Slot where a > 0: true", "F101", "write exists x in S if p: q"),
    ],
)
def test_misuse_of_generators(expression: str, code: str, phrase: str) -> None:
    misused(expression, code, phrase)


def test_the_condition_of_a_property_is_watched_like_a_premise() -> None:
    vacuous = "var x: 0..1 = 0\ninvariant I: forall y in 0..3 if y < x: y == 0\nterminal: true\n"
    assert ran(vacuous).unmet == ["y < x"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("waiting <= Slot and {} <= waiting and waiting <= waiting", "true"),
        ("{1} <= waiting", "false"),
        ("{0} < waiting and not waiting < waiting and {} < waiting", "true"),
        ("waiting >= {2} and waiting > {2} and not waiting > {0, 2}", "true"),
        ("{1} <= waiting or waiting <= {1} or {1} < waiting or waiting < {1}", "false"),
        ("{7, 0} >= waiting or waiting >= {7, 0}", "false"),
        ("{z for z in nums} <= 1..3", "true"),
        ("{none} <= {none, held}", "true"),
        ("{1 // (x - 4)} <= {nums[9]}", "F904"),
        ("{1 // (x - 4)} >= {nums[9]}", "F904"),
        ("{nums[9]} > {1 // (x - 4)}", "F903"),
        # The subsets of a set.
        ("subsets(waiting) == {{}, {0}, {2}, {0, 2}}", "true"),
        ("subsets({0}) == {{}, {0}}", "true"),
        ("len(subsets(Slot)) == 8 and len(subsets(waiting)) == 4", "true"),
        ("forall s in subsets(Slot): s <= waiting iff s in subsets(waiting)", "true"),
        ("[s for s in subsets(waiting) if 0 in s] == [{0}, {0, 2}]", "true"),
        ("(choose s in subsets(Slot) where len(s) == 2) == {0, 1}", "true"),
        ("{c for s in subsets(Color), c in s if len(s) == 1} == Color", "true"),
        ("forall s in subsets({nums[9]}): true", "F903"),
        ("let s = subsets(waiting): {2} in s and {1} not in s", "true"),
    ],
)
def test_subsets(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("waiting <= 3", "F302", "this compares set[0..2] and 3..3"),
        ("waiting <= {Red}", "F302", "which have no value in common"),
        ("nums <= nums", "F308", "<= compares two integers or two sets, and this is seq[0..9, 4]"),
        ("waiting < held", "F308", "`!` unwraps an option"),
        ("subsets(nums) == {}", "F311", "subsets takes a set, and this is seq[0..9, 4]"),
        ("subsets() == {}", "F321", "subsets takes 1 argument"),
        ("forall s in subsets(0..15): true", "F710", "more than 65535 values"),
        ("len(subsets(0..9)) == subsets(0..9)", "F710", "too large to be a set by itself"),
        ("waiting subseteq Slot", "F111", 'write "<="'),
        ("waiting \\subseteq Slot", "F111", 'write "<="'),
        ("SUBSET waiting == {}", "F111", 'write "subsets(S)"'),
        ("powerset(waiting) == {}", "F201", "write subsets(S)"),
        ("exists s in waiting: subsets", "F201", 'no name "subsets"'),
    ],
)
def test_misuse_of_subsets(expression: str, code: str, phrase: str) -> None:
    misused(expression, code, phrase)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(meta with pid: 1, epoch: 2) == Meta(1, 2)", "true"),
        ("(meta with epoch: meta.pid, pid: meta.epoch) == Meta(1, 0)", "true"),
        ("Meta(1, 2) == meta with pid: 1, epoch: 2", "true"),
        ("(if x == 4 then meta with pid: 1, epoch: 2 else meta) == Meta(1, 2)", "true"),
        ("[meta with pid: 1, meta] == [Meta(1, 1), Meta(0, 1)]", "true"),
        ("[(meta with pid: 1, epoch: 2), meta] == [Meta(1, 2), Meta(0, 1)]", "true"),
        ("let m = meta with pid: 1, epoch: 2: m == Meta(1, 2)", "true"),
        ("(meta with pid: 1 // (x - 4), epoch: nums[9]) == meta", "F904"),
        ("(meta with epoch: nums[9], pid: 1 // (x - 4)) == meta", "F903"),
        ("(meta with pid: x, epoch: 2) == meta", "F901"),
    ],
)
def test_with_several_fields(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("(meta with pid: 1, pid: 2) == meta", "F320", '"pid" is given twice'),
        ("(meta with pid: 1, epok: 2) == meta", "F314", 'did you mean "epoch"?'),
        ("(meta with pid: 1, epoch: Red) == meta", "F301", "epoch holds 0..7"),
        ("[meta with pid: 1, epoch: 2] == [meta]", "F101", "stands in brackets here"),
        ("(meta with pid: 1), epoch: 2 == meta", "F101", 'a field stands behind a "with"'),
        ("meta == meta, epoch: 2", "F101", 'a field stands behind a "with"'),
        ("(meta with pid: 1, 2) == meta", "F101", 'expected ")"'),
    ],
)
def test_misuse_of_several_fields(expression: str, code: str, phrase: str) -> None:
    misused(expression, code, phrase)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[Red: 1, Amber: 2, Green: 3][Amber] == 2", "true"),
        ("stock == [0: 0, 1: 2, 2: 4]", "true"),
        ("[2: 4, 0: 0, 1: 2] == stock", "true"),
        ("[0: x, 1: x + 1, 2: nums[0]][1] == 5", "true"),
        ("[true: [0: 1, 1: 2, 2: 3], false: stock][false][1] == 2", "true"),
        ("[N: 5][3] == 5 and [-1: 0, 0: 1][-1] == 0", "true"),
        ("[Meta(0, 0): 1] == [Meta(0, 0): 1]", "F312"),
        (
            "[none: 0, Red: 1, Amber: 2, Green: 3][let c = light: if x > 4 then none else c] == 1",
            "true",
        ),
        ("{[0: 1, 1: 2], [1: 2, 0: 1]} == {[0: 1, 1: 2]}", "true"),
        # The values are found in the order written, each once, whatever is asked for.
        ("[2: 1 // (x - 4), 1: nums[9], 0: 0][0] == 0", "F904"),
        ("[2: nums[9], 1: 1 // (x - 4), 0: 0][0] == 0", "F903"),
        ("x == 5 and [0: nums[9], 1: 0][0] == 0", "false"),
        ("stock == [0: -1, 1: 100, 2: 0]", "false"),
        ("[Red: meta with pid: 1, Amber: meta, Green: meta][Red] == Meta(1, 1)", "true"),
    ],
)
def test_maps_written_out(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("[Red: 1, Green: 2] == [Red: 1, Green: 2]", "F312", "this has none for Amber"),
        ("[0: 1, 9: 2][0] == 1", "F312", "this has none for 1, 2, 3, 4 and 4 more"),
        ("stock == [0: 1, 1: 2]", "F312", "none for 2"),
        ("stock == [0: 1, 1: 2, 2: 3, 1: 4]", "F312", "1 has a value already"),
        ("stock == [0: 1, 1: 2, 3: 3]", "F701", "the key holds 0..2, and this is 3"),
        ("[x: 1] == stock", "F312", "a key of a map that is written out is a constant"),
        ("[Red: 1, 0: 2][Red] == 1", "F302", "this is 0..0, and those before it are Color"),
        ("[0: Red, 1: 3][0] == Red", "F302", "this is 3..3, and those before it are Color"),
        ("[0: 1, 99999: 2][0] == 1", "F706", "at most 4096"),
        ("stock == {0: 1, 1: 2, 2: 0}", "F101", "a map [k: e, l: d]"),
        ("[0: 1, 1] == stock", "F101", 'expected an operator or ":"'),
    ],
)
def test_misuse_of_maps(expression: str, code: str, phrase: str) -> None:
    if phrase.startswith("a map ["):
        assert code in codes(f"{PRELUDE}\ninvariant I: {expression}\n")
    else:
        misused(expression, code, phrase)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("nums[0..1] == [3, 1] and nums[1..1] == [1] and nums[0..2] == nums", "true"),
        ("nums[1..] == [1, 2] and nums[3..] == [] and nums[9..] == []", "true"),
        ("nums[..1] == [3, 1] and nums[..len(nums) - 1] == nums and nums[..-1] == []", "true"),
        # Where there is no position, nothing is outside.
        (
            "nums[2..1] == [] and nums[7..6] == [] and empty[1..] == [] and empty[..-1] == []",
            "true",
        ),
        ("nums[2..3] == []", "F903"),
        ("nums[..3] == nums", "F903"),
        ("nums[x - 5..0] == nums", "F903"),
        ("nums[x - 5..] == nums", "F903"),
        ("nums[1 // (x - 4)..nums[9]] == nums", "F904"),
        ("nums[nums[9]..1 // (x - 4)] == nums", "F903"),
        ("sum(nums[1..]) == 3 and len(nums[..0]) == 1 and last(nums[..1]) == 1", "true"),
        ("[nums, nums[1..]][1][0..0] == [1]", "true"),
        ("(let t = nums[1..]: t[0] + t[1]) == 3", "true"),
        # One behind the other.
        ("nums + [7] == [3, 1, 2, 7] and [7] + nums == [7, 3, 1, 2]", "true"),
        ("nums + nums == [3, 1, 2, 3, 1, 2] and len(nums + empty) == 3", "true"),
        ("[] + nums == nums and nums + [] == nums and empty + empty == []", "true"),
        ("nums[..0] + nums[2..] == [3, 2]", "true"),
        ("log + [light, Amber] == [Red, Green, Red, Red, Amber]", "true"),
        ("[1] + [2] + [3] == [1, 2, 3]", "true"),
        ("[z for z in nums] + [10 * z for z in waiting] == [3, 1, 2, 0, 20]", "true"),
        ("[1 // (x - 4)] + [nums[9]] == []", "F904"),
        ("(nums + empty)[len(nums)..] == empty", "true"),
        ("[none] + [held] == [none, 4]", "true"),
        ("[replies[1]] + replies == [Accepted(3, Red), Refused, Accepted(3, Red)]", "true"),
    ],
)
def test_parts_and_joined_sequences(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("waiting[1..] == {}", "F313", "a part is taken of a sequence, and this is set[0..2]"),
        ("stock[..1] == stock", "F313", "a part is taken of a sequence"),
        ("held[0..] == []", "F313", "`!` unwraps an option"),
        ("nums[Red..] == nums", "F301", "an index is an integer, and this is Color"),
        ("nums[..int8(1)] == nums", "F301", "int(...) converts"),
        ("nums[waiting] == nums", "F301", "a part of a sequence is written q[i..j]"),
        ("nums[..] == nums", "F101", "a part of a sequence is q[i..j]"),
        ("nums[0:1] == nums", "F101", "a part of a sequence is q[i..j]"),
        ("nums + log == []", "F302", "+ joins seq[0..9, 4] and seq[Color, 4]"),
        ("nums + 1 == nums", "F308", "q + [e] is q with an element more"),
        ("nums + waiting == nums", "F308", "+ takes two integers or two sequences"),
    ],
)
def test_misuse_of_sequences(expression: str, code: str, phrase: str) -> None:
    misused(expression, code, phrase)


def test_both_ends_of_a_sequence() -> None:
    spec = """
        var q: seq[0..3, 3] = [1]
        action first(x in 0..1): q.prepend(x)
        action last: q.pop_last()
        action more: require len(q) < 2; q += [2]
        invariant I: q == [] or q[..0] + q[1..] == q
    """
    result = ran(spec)
    assert (result.verdict, result.depth, result.steps) == ("error F903", 3, ["last()", "last()"])
    full = spec.replace("action last: q", "action last: require len(q) > 1; q")
    assert ran(full).verdict == "error F902"
