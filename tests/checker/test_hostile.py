# pyright: basic
"""Specs that ask for trouble: whatever they say, machine code stays inside its memory.

Each is run under guard (see `guarded`) against the interpreter, in states that can be reached and
in random ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.agreement import loaded
from tests.checker.guarded import Arena, Guard
from tests.checker.native_steps import called, compiled
from tests.checker.steps_agreement import Extent, agree, probing

from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, word
from fencepost.checker.request import Unsupported
from fencepost.spec.elaborate import program
from fencepost.spec.semantics.stepper import Runner

SOME = Extent(30, 60, 20_000)


@dataclass(frozen=True, slots=True)
class Hostile:
    """A spec, and how many states of it are worth the time."""

    name: str
    text: str
    extent: Extent = SOME


INTEGERS = "-9223372036854775808..9223372036854775807"

SPECS = (
    Hostile(
        "indices_outside",
        """
var q: seq[0..9, 4] = [1, 2]
var w: seq[int64, 3] = [1, 2]
var i: -2..5 = -2
action turn: i = if i == 5 then -2 else i + 1
action read: require i >= -2; q = [q[i]]
action write: q[i] = 3
action wide: w[i] = w[i] + 1
invariant Reads: q[i] >= 0 and w[i] != 77
""",
    ),
    Hostile(
        "far_indices",
        f"""
var q: seq[0..9, 4] = [1, 2]
var w: seq[int64, 3] = [1, 2]
var i: {INTEGERS} = -1
action read: q = [q[i]]
action write: w[i] = 0
invariant Reads: w[i] == w[i]
invariant Members: int64(i) in w or true
""",
    ),
    Hostile(
        "numbers_at_their_ends",
        f"""
var a: {INTEGERS} = -9223372036854775808
var b: int64 = -9223372036854775808
var c: int64 = -1
var d: int[63] = -1
action quotient: b = b // c
action rest: b = b % c
action product: b = b * c; d = d * d
action sum: b = b + b; d = d - 1
action less: c = c - 1
action half: a = a // 2
action fold: a = a % 7
invariant Divides: b // c != 3 or b % c == 0
invariant Ranges: a >= -9223372036854775807
""",
    ),
    Hostile(
        "full_collections",
        """
var s: set[int64, 3] = {1, 2, 3}
var q: seq[int64, 3] = [1, 2, 3]
var b: bag[int64, 3] = [1, 1, 1]
var t: set[0..99] = {x for x in 0..99}
action put(x in 0..4): s.add(int64(x))
action append: q.append(4)
action pop: q.pop_first()
action drop(x in 0..4): s.remove(int64(x)); t.remove(x * 20)
action ones: b = [x for x in b if x != 1]
action fill: t.add(99)
action clear: s.clear(); q.clear(); b.clear()
invariant Ends: first(q) != 9 and last(q) != 9
invariant Sizes: count(s) + len(q) + count(t) < 200
""",
    ),
    Hostile(
        "sets_of_many_words",
        """
type Place = 0..199
enum Way: Up, Down
union Where: Nowhere, At(place: 0..79, way: Way)
var s: set[Place] = {}
var t: set[Place] = {0, 64, 199}
var u: set[Where] = {}
var a: Place = 0
var last: Where = Nowhere
action put(x in {0, 1, 63, 64, 65, 127, 128, 199}): s.add(x)
action take(x in s): s.remove(x)
action trade(x in {64, 128}): t = if x in t then t - {x} else t | {x}
action meet: t = s & t
action others: s = {x for x in Place if x not in t and x > 60 and x < 70 or x == 128}
action beyond: a = (choose x in s where x > 0)
action mark(x in {0, 15, 16, 47, 79}, way in Way): u = u | {At(x, way), Nowhere}
action clear: s.clear(); u.remove(At(15, Down))
action show(w in u): last = w
reachable First: exists x in s: x > 63 and x not in t
invariant Ends: s == {} or min(s) <= max(s) and min(s) in s
invariant Marks: forall w in u: w is Nowhere or w.place < 80
""",
    ),
    Hostile(
        "long_rows",
        """
var bits: seq[bool, 70] = []
var pairs: seq[0..3, 40] = [3, 3, 3]
var ones: bag[bool, 64] = []
var twins: seq[seq[0..3, 40], 2] = []
var whole: seq[bool, 58] = []
var many: map[0..99, 0..99] = [0 for k in 0..99]
var more: map[0..99, 0..99] = [0 for k in 0..99]
var at: 0..69 = 0
action turn(x in {0, 1, 31, 32, 63, 64, 69}): at = x
action fill: bits = [x % 3 != 1 for x in 0..at]; pairs = [x % 4 for x in 0..39 if x <= at]
action enter(x in {0, 9, 90, 99}): many[x] = 99
action same: more = many
action longer: bits.append(true); pairs.append(3); ones.add(true)
action less: bits.pop_first(); ones.remove(false)
action put: bits[at] = not bits[at]; pairs[at % 40] = 0
action both: twins = [pairs, [3, 0]]
action end: bits[56] = true; whole[57] = not whole[57]
action all: whole = [x % 5 == 0 for x in 0..57]
action inner: twins[1][at % 40] = 2
action keep: ones = [b for b in bits if b]
reachable Equal: many == more
reachable Highest: bits[56] and not whole[57]
invariant Ones: len(bits) == 0 or last(bits) or not first(bits)
invariant Order: len(twins) < 2 or twins[0] != twins[1]
""",
    ),
    Hostile(
        "members_of_another_range",
        """
type Small = 0..5
type Wide = 0..199
type Number = -3..300
var a: Number = 0
var low: Number = 5
var m: set[Small] = {0}
var n: set[Wide] = {0, 199}
var q: seq[Small, 3] = [0]
var b: bag[Wide, 3] = [0]
var c: set[Wide, 3] = {0}
var d: set[Wide, 3] = {0, 5}
var o: Small? = none
var p: set[Small?] = {none}
var w: Number? = none
action turn(x in {-3, -1, 0, 5, 6, 63, 64, 199, 200, 256, 300}): a = x
action other: w = a; p = p | {o}
action lower(x in {-3, 0, 6, 300}): low = x
action small: require a in Small; m = m - {a}; q = [a]; o = a; p = p - {o} | {none}
action wide: require a in Wide; n = n - {a}; b = [a, a]; c = {a, 0}
action common: c = c & d
action apart: require a in Wide; d = {0, a} - c
action every: n = Wide; m = Small
action keep: require a in Small; m.add(a)
action drop: require a in Small; m.remove(a)
reachable InSmall: a in m
reachable InWide: a in n
reachable InRow: a in q or a in b
reachable InFew: a in c
reachable Between: a in low..7
reachable Below: a in -1..low
reachable Whole: a in Small
reachable Maybe: o in p
reachable Wider: w in p
reachable EqualMaybe: o == w
reachable Sizes: count(low..7) > 2
reachable Least: a in {x for x in low..200 if x in n}
""",
    ),
    Hostile(
        "unions_of_one",
        """
union Sole: Only(n: int64)
union Pair: Both(left: int[63], on: bool)
record Row: sole: Sole, pair: Pair
var s: Sole = Only(5)
var p: Pair = Both(-1, true)
var r: Row? = none
action up: s = Only(s.n + 1)
action flip: p = Both(p.left - 1, not p.on)
action keep: r = Row(s, p)
action match_it:
    match s:
        case Only(n): p = Both(3, n < 0)
action part: r = (r! with pair: p)
reachable Same: s == r!.sole and r!.pair == p
reachable Is: s is Only and p is Both
""",
    ),
    Hostile(
        "parts_of_small_values",
        """
enum Way: Up, Down
record Meta: low: -1..5, mid: bool, one: 7..7, way: Way
type Few = set[0..2]
var meta: Meta = Meta(low: 3, mid: true, one: 7, way: Down)
var rows: map[Way, Meta] = [Meta(low: 0, mid: false, one: 7, way: k) for k in Way]
var table: map[0..30, Meta] = [Meta(low: 1, mid: true, one: 7, way: Up) for k in 0..30]
var keyed: map[Few, 0..3] = [0 for k in Few]
var seen: set[Few] = {}
var key: Few = {}
var ways: set[seq[Way, 2]] = {[Up, Down]}
action low(x in {-1, 4, 5}): meta.low = x
action mid: meta.mid = not meta.mid; meta.one = 7
action way: meta.way = Up; rows[meta.way].low = meta.low
action inside(x in {0, 7, 30}): table[x].low = meta.low; table[x].way = meta.way
action whole: rows[Down] = (meta with low: 2); meta = rows[Up]
action grow(x in 0..2): key = key | {x}; keyed[key] = x + 1; seen = seen | {key}
action drop(x in 0..2): key.remove(x); seen = seen - {key}
action each(k in seen): key = k; keyed[k] = 0
action turn(x in Way, y in Way): ways = ways - {[x, y], [y]} | {[y, x], [x]}
reachable Some: keyed[{0, 2}] == 2 and key in seen
reachable Rows: rows[Up] == meta or exists q in ways: len(q) == 1 and q[0] == Up
invariant Sums: sum([keyed[k] for k in seen]) <= 24
""",
    ),
    Hostile(
        "conditions_that_may_fail",
        """
var q: seq[0..3, 3] = [3, 0, 2]
var got: 0..2 = 0
var b: bag[0..2, 4] = [0, 0, 2, 2]
action go:
    pick x in 0..2 where q[x] > 0
    got = x
    pick y in 0..x where q[y] == 3 or q[y] > got
    q[y] = got
action some:
    pick x in b where q[x] != 1
    got = x
action put(x in 0..3, y in 0..2): q[y] = x
action cut: q.pop_first()
reachable Some: got > 0
""",
    ),
    Hostile(
        "no_room_at_all",
        """
record Wide: a: int64, b: int64
var gone: seq[Wide, 0] = []
var bare: set[int64, 0] = {}
var bags: bag[Wide, 0] = []
var keys: map[set[int64, 0], seq[Wide, 1]] = [[] for k in set[int64, 0]]
var n: 7..7 = 7
var i: int64 = 7
action append: gone.append(Wide(a: 1, b: 2))
action add: bare.add(i)
action put: keys[{}] = [Wide(a: i, b: i)]
action pop: gone.pop_first()
action read: bare = {gone[0].a}
invariant Empty: len(gone) == 0 and not (i in bare) and n == 7 and count(bags) == 0
""",
    ),
    Hostile(
        "thousands_of_choices",
        """
var n: 0..4095 = 0
var m: map[0..15, 0..255] = [0 for k in 0..15]
action one(x in 0..1023, y in 0..3): n = x * 4 + y; m[y] = x % 256
action some:
    pick x in 0..999 where x % 7 == n % 7
    pick y in 0..1
    n = x
    pick z in {k for k in 0..15 if m[k] < 9}
    m[z] = m[z] + y
""",
        Extent(4, 4, 60_000),
    ),
    Hostile(
        "choices_in_loops",
        """
var q: seq[0..2, 5] = []
var s: set[0..2] = {}
action fill:
    for k in 0..4:
        if k in s or k > 2:
            pick x in 0..2 where x <= k
            q.append(x)
            s.add(x)
        else:
            pick y in {k, 2}
            s.remove(y)
    pick z in s
    require len(q) < 5
    q.append(z)
action clear: q.clear()
action failing:
    for k in 0..2:
        pick x in 0..2 where q[x] > k
        s.add(x)
    assert count(s) != 2
    skip
""",
        Extent(12, 24, 20_000),
    ),
    Hostile(
        "wide_states",
        f"""
type Word = {INTEGERS}
record Row: first: Word, last: Word, on: bool
union Cell: Gap, One(row: Row), Two(left: Row, right: Row)
var grid: map[0..12, Cell] = [Gap for k in 0..12]
var rows: bag[Row, 5] = []
var best: Row? = none
var at: 0..12 = 0
action put(on in bool): grid[at] = One(row: Row(first: 1, last: -1, on: on))
action both:
    match grid[at]:
        case One(row): grid[at] = Two(left: row, right: row with last: 5); best = row
        case _: best = none
action move(x in 0..12): at = x
action keep: rows.add(best!)
action least: best = min(rows)
invariant Rows: forall r in rows: r.first <= r.last or r.on
invariant Grid: exists k in 0..12: grid[k] != Two(left: best!, right: best!)
""",
    ),
)


@pytest.mark.parametrize("hostile", SPECS, ids=lambda hostile: hostile.name)
def test_stays_inside_its_memory(hostile: Hostile) -> None:
    model = probing(program.build(loaded(hostile.text), None))
    assert agree(model, hostile.extent, guarded=True) > 2


def test_huge_frames_are_refused() -> None:
    """The stack of a thread is not guarded: code that would need too much of it is not made."""
    copies = "\n".join("    b = [a[k] for k in 0..1800]" for _ in range(700))
    text = f"""
var a: map[0..1800, 0..65535] = [0 for k in 0..1800]
var b: map[0..1800, 0..65535] = [0 for k in 0..1800]
action go:
{copies}
"""
    model = program.build(loaded(text), None)
    with pytest.raises(Unsupported, match="large values"):
        agree(model, Extent())


def test_nesting_is_no_trouble() -> None:
    inside = "x"
    for depth in range(30):
        inside = f"(if x > {depth} then {inside} else {depth} - x)"
    text = f"var x: -40..40 = 0\naction go: x = ({inside} + 3) % 41\n"
    assert agree(program.build(loaded(text), None), Extent(), guarded=True) > 10


def test_long_rows_of_statements_are_no_trouble() -> None:
    rows = "\n".join("    x = (x + 1) % 7" for _ in range(9_000))
    model = program.build(loaded(f"var x: 0..6 = 0\naction go:\n{rows}\n"), None)
    assert Runner(model).expand((0,)) == ([(0, (9_000 % 7,))], [])


# ---------------------------------------------------------------- the guard itself


def _beyond(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, word(1))
    e.put(room, 3, e.get(room, 0))


def _before(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, e.get(room, word(-1)))


def _unwritten(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, e.get(room, 2))


def _wild(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, e.get(e.builder.inttoptr(word(64), PTR), 0))


def _copied(e: Emitter, room: LLVM) -> None:
    e.clear(room, 3)
    e.copy(e.words(12), room, 12)


def _zero(e: Emitter, room: LLVM) -> None:
    e.clear(room, 3)
    e.put(room, 0, e.udiv(word(1), e.get(room, 1)))


def _least(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, word(-1))
    e.put(room, 0, e.sdiv(word(1 << 63), e.get(room, 0)))


def _shifted(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, word(64))
    e.put(room, 0, e.builder.shl(word(1), e.get(room, 0)))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (_beyond, "writes memory that is not its own"),
        (_before, "reads memory that is not its own"),
        (_unwritten, "reads memory that was never written"),
        (_wild, "reads memory that is not its own"),
        (_copied, "reads memory that is not its own"),
        (_zero, "divides by zero"),
        (_least, "divides the least number by -1"),
        (_shifted, "shifts by 64 or more"),
    ],
)
def test_the_guard_notices(body: Callable[[Emitter, LLVM], None], kind: str) -> None:
    unit = Unit("wrong")
    made = unit.declare("wrong", I64, [])
    e = Emitter(unit, made)
    body(e, e.words(3))
    e.ret(word(0))
    arena = Arena(1 << 16)
    guard = Guard(unit, arena)
    assert guard.fault() is None
    called(compiled(str(unit.module), 0), "wrong")
    fault = guard.fault()
    assert fault is not None
    assert (fault.kind, fault.function) == (kind, "wrong")


def test_red_zones_show_who_writes_into_them() -> None:
    arena = Arena(1 << 16)
    array = arena.take(2)
    assert arena.intact
    array[1] = 1
    assert arena.intact
    ctypes.memset(ctypes.addressof(array) + 16, 0, 1)
    assert not arena.intact
