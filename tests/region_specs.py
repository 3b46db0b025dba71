"""Small specs with a symbolic constant, each about one thing that a search of all its values at
once must record, or must refuse. What each value comes to by itself is worked out by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """``kind`` is what must be recorded: without it some value would come out otherwise.

    ``regions`` are the values of each region, worked out by hand; empty: not worth writing down.
    """

    name: str
    kind: str
    text: str
    regions: tuple[str, ...] = ()


TRAP = """
const E0: int[4] = any
var x: int[4] = 0
action A: x = E0
action B: x = 5
invariant I: x in {0, 5}
terminal: true
check trap:
    expect violated I
"""

SPECS = (
    RegionSpec("trap", "comparison and field", TRAP, ("-8..-1, 1..4, 6..7", "0", "5")),
    RegionSpec(
        "a guard",
        "comparison",
        """
const E0: int[4] = any
var x: int[4] = E0
action up:
    require x < 3
    x += 1
terminal: x >= 3
""",
        ("-8", "-7", "-6", "-5", "-4", "-3", "-2", "-1", "0", "1", "2", "3..7"),
    ),
    RegionSpec(
        "a sum that wraps",
        "comparison",
        """
const E0: int[4] = any where E0 >= 0
var x: int[4] = E0
action up: x = E0 + 3
invariant Grows: x >= E0
terminal: true
""",
        ("0..4", "5..7"),
    ),
    RegionSpec(
        "two terms",
        "comparison",
        """
const E0: int[4] = any
var x: int[4] = E0
var y: int[4] = E0
action up:
    require y - E0 < 4
    y += 2
invariant Above: y >= x
terminal: true
""",
        ("-8..3", "4..5", "6..7"),
    ),
    RegionSpec(
        "a range check",
        "comparison",
        """
const E0: int[4] = any
var n: 0..5 = 0
action put:
    n = int(E0)
terminal: true
""",
        ("-8..-1", "0", "1..5", "6..7"),
    ),
    RegionSpec(
        "an option in a range",
        "comparison",
        """
const E0: int[4] = any
var x: int? = none
var n: (0..5)? = none
action put:
    n = some_number(int(E0))
def some_number(i: -8..7): (-8..7)? = i
terminal: true
""".replace("var x: int? = none\n", ""),
    ),
    RegionSpec(
        "a choice",
        "comparison",
        """
const E0: int[4] = any where E0 <= 4
var x: int[4] = 0
action take(y in {E0, E0 + 1, 3} where y > 1): x = y
terminal: true
""".replace(
            "(y in {E0, E0 + 1, 3} where y > 1): x = y",
            """:
    pick y in {E0, E0 + 1, 3} where y > 1
    x = y""",
        ),
    ),
    RegionSpec(
        "an action that is enabled",
        "comparison",
        """
const E0: int[4] = any
var x: int[4] = 0
var done: bool = false
action go:
    require E0 + x < 2
    x += 1
invariant Able: x < 2 implies enabled(go)
terminal: true
""",
    ),
    RegionSpec(
        "options that are equal",
        "field",
        """
const E0: int[4] = any
var o: int[4]? = none
var p: int[4]? = 2
var same: bool = false
action put: o = E0
action look: same = o == p
terminal: true
""",
        ("-8..1, 3..7", "2"),
    ),
    RegionSpec(
        "records that are equal",
        "field",
        """
const E0: int[4] = any
record R:
    a: bool
    e: int[4]
var r: R = R(a: true, e: 1)
action put: r = R(a: true, e: E0)
action up:
    require r == R(a: true, e: E0)
    r.e += 1
    assert r != R(a: true, e: 4), "four"
terminal: true
""",
    ),
    RegionSpec(
        "an element of a set",
        "comparison and field",
        """
const E0: int[4] = any
var s: set[int[4], 3] = {1, 4}
var in_it: bool = false
action look:
    in_it = E0 in s
action add:
    require len(s) < 3 or E0 in s
    s.add(E0)
action drop:
    s.remove(E0)
terminal: true
""",
    ),
    RegionSpec(
        "messages that are equal",
        "field",
        """
const E0: int[4] = any
union M: Go(e: int[4]), Stop
channel net: M unordered capacity 3
var got: 0..3 = 0
action send_it:
    require len(net) < 2
    send Go(E0) to net
action send_two:
    require len(net) < 2
    send Go(2) to net
action take on Go(e) from net:
    require got < 2
    got += 1
terminal: true
""",
        ("-8..1, 3..7", "2"),
    ),
    RegionSpec(
        "messages that only meet",
        "field",
        """
const E0: int[4] = any
union M: Go(e: int[4]), Stop
channel net: M persistent capacity 4
action send_it: send Go(E0 + 1) to net
action send_two: send Go(3) to net
terminal: true
""",
        ("-8..1, 3..7", "2"),
    ),
    RegionSpec(
        "a loop over a set",
        "order",
        """
const E0: int[4] = any
var s: set[int[4], 2] = {2}
var q: seq[int[4], 2] = []
action add:
    require E0 not in s
    s.add(E0)
action list:
    require len(s) == 2 and len(q) == 0
    for y in s: q.append(y)
invariant First: len(q) > 0 implies q[0] != 2
terminal: true
""",
    ),
    RegionSpec(
        "the least that is chosen",
        "order",
        """
const E0: int[4] = any
var s: set[int[4], 2] = {}
var two: bool = false
action add: s = {E0, 2}
action look:
    require len(s) > 0
    two = (choose y in s where true) == 2
terminal: true
""",
    ),
    RegionSpec(
        "least and greatest",
        "order",
        """
const E0: int[4] = any
var s: set[int[4], 3] = {}
var x: int[4] = 0
action add: s = {E0, E0 + 1, 2}
action least:
    require len(s) > 0
    x = min(s)
    assert x == E0, "another one is less"
action most:
    require len(s) > 0
    x = max(s)
terminal: true
""",
    ),
    RegionSpec(
        "the order of records",
        "order",
        """
const E0: int[4] = any
record R:
    e: int[4]
    n: 0..1
var r: R = R(e: 0, n: 1)
var s: set[R, 3] = {}
var low: 0..1 = 0
action one: s = {R(e: E0, n: 0), r}
action up: r = R(e: E0 + 1, n: 1)
action look:
    require len(s) > 0
    low = min(s).n
terminal: true
""",
    ),
    RegionSpec(
        "which of two fails first",
        "order",
        """
const E0: int[4] = any
var s: set[int[4], 2] = {}
var q: seq[bool, 1] = []
var found: bool = false
action add: s = {E0, 2}
action look:
    found = exists y in s: y == E0 or q[0]
terminal: true
""",
    ),
    RegionSpec(
        "a number that is widened",
        "widening",
        """
const E0: int[4] = any
var n: -9..9 = 0
action put: n = int(E0 + 1)
action more:
    require n < 9
    n = int(E0) + 1
invariant One: n != 0 implies n == int(E0) + 1
terminal: true
""",
    ),
    RegionSpec(
        "a wider machine integer",
        "widening",
        """
const E0: int[4] = any
var x: int[8] = 0
action put: x = int[8](E0 + 2)
action more: x = int[8](E0) + 2
terminal: true
""",
    ),
    RegionSpec(
        "a difference",
        "comparison",
        """
const E0: int[4] = any
var x: int[4] = E0
var d: int[4] = 0
var s: seq[bool, 3] = [true, false, true]
action up:
    require x - E0 < 2
    x += 1
action apart:
    d = x - E0
    assert s[int(d)] or x < 6, "six"
terminal: true
""",
    ),
    RegionSpec(
        "next and before",
        "comparison",
        """
const E0: int[4] = any where E0 != 3 and E0 != -8
var x: int[4] = E0 - 1
action up:
    require x != E0 + 2
    x += 1
step invariant Grows: next(x) > x
reachable Top: x == 7
terminal: true
""",
    ),
    RegionSpec(
        "a constraint",
        "comparison",
        """
const E0: int[4] = any
var x: int[4] = E0
var y: int[4] = 0
action up: x += 1
action other: y = x
constraint: x < 6 and x - E0 < 4
terminal: x >= 6
""",
    ),
    RegionSpec(
        "a map, and what is around",
        "field",
        """
const E0: int[4] = any
enum N: A, B
var m: map[N, int[4]] = [0 for n in N]
var b: bag[int[4], 2] = []
role R[n: N]:
    var e: int[4] = E0
    action put:
        m[n] = if n == A then e else 3
    action keep:
        require len(b) < 2
        b.add(e)
    action up:
        require e - E0 < 1
        e += 1
invariant Two: forall n in N: count(b, m[n]) < 2
terminal: true
""",
    ),
    RegionSpec(
        "a range as the type",
        "comparison",
        """
const E0: 0..20 = any where E0 != 4
var x: 0..25 = 0
action put: x = E0
action up:
    require x < 22
    x += 3
invariant Small: x < 18
terminal: true
""",
    ),
)
"""One for each kind of fact at least, and for each place in the language where it arises."""

PRELUDE = """
const E0: int[4] = any
var x: int[4] = E0
var n: -8..7 = 0
var q: seq[bool, 8] = []
terminal: true
"""

REFUSED: tuple[tuple[str, str, str, str], ...] = (
    ("index", "F811", "int(x)", "action a: n = if q[int(x)] then 1 else 0"),
    (
        "key",
        "F811",
        "x",
        "type K = int[4]\nvar m: map[K, bool] = [false for k in K]\naction a: m[x] = true",
    ),
    ("bit set", "F811", "s", "var s: set[int[4]] = {}\naction a: s.add(x)"),
    ("end of a range", "F811", "int(x)", "action a(i in 0..int(x)): n = i"),
    ("product", "F812", "x * 2", "action a: x = x * 2"),
    ("quotient", "F812", "x // 2", "action a: x = x // 2"),
    ("remainder", "F812", "x % 2", "action a: x = x % 2"),
    ("divisor", "F812", "3 // x", "action a:\n    require x != 0\n    x = 3 // x"),
    ("opposite", "F812", "-x", "action a: x = -x"),
    ("taken from a constant", "F812", "3 - x", "action a: x = 3 - x"),
    (
        "sum of a set",
        "F812",
        "sum({int(x), 3})",
        "action a:\n    require sum({int(x), 3}) > 2\n    n = 1",
    ),
    ("narrowing", "F813", "int[3](x)", "var y: int[3] = 0\naction a: y = int[3](x)"),
    ("narrowing a number", "F813", "int[4](int(x) + 1)", "action a: x = int[4](int(x) + 1)"),
    ("a second one", "F814", "E1", "const E1: int[4] = any\naction a: x = E1"),
)
"""What is refused before the search: name, code, the source text pointed at, lines."""

REFUSED_ON_THE_WAY: tuple[tuple[str, str, str, str], ...] = (
    ("sum", "F812", "x + y", "var y: int[4] = 0\naction a: y = E0\naction b: x = x + y"),
    ("difference", "F812", "y - x", "var y: int[4] = 0\naction b: y = y - x\naction c: y = E0"),
)
"""What is refused when it comes up: a sum of two numbers that both depend on the constant."""
