"""Small specs with what every engine must find in them: verdict, counts, and the trace.

The figures were worked out by hand; a comment says how where it is not plain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fencepost.checker.engines import ENGINES

EXPLICIT = tuple(name for name, entry in ENGINES.items() if entry.visits_states and name != "spark")
"""The engines that visit and count states; Spark, which starts Java, has tests of its own."""


@dataclass(frozen=True, slots=True)
class Example:
    """``trace`` are the steps behind the initial state as ``action(choices)``; the instance of a
    role and a received message count as choices. ``property`` is the one that is violated.
    ``deadlock``: whether deadlocks are looked for.
    """

    name: str
    text: str
    verdict: Literal["ok", "violated", "deadlock", "assertion", "error", "unreached"]
    distinct: int
    generated: int
    depth: int
    trace: tuple[str, ...] = ()
    property: str = ""
    deadlock: bool = True


EXAMPLES = (
    Example(
        "ring",
        """
var n: 0..2 = 0
action next: n = (n + 1) % 3
invariant Small: n < 3
""",
        "ok", 3, 4, 3,
    ),
    Example(
        "counter",
        """
var n: 0..2 = 0
action up: require n < 2; n += 1
""",
        "deadlock", 3, 3, 3, ("up", "up"),
    ),
    Example(
        "terminal",
        """
var n: 0..2 = 0
action up: require n < 2; n += 1
terminal: n == 2
""",
        "ok", 3, 3, 3,
    ),
    Example(
        "out_of_range",
        """
var n: 0..2 = 0
action up: n += 1
""",
        "error", 3, 3, 4, ("up", "up", "up"),
    ),
    Example(
        "assertion",
        """
var n: 0..5 = 0
action up: n += 1; assert n < 2, "too high"
action zero: n = 0
""",
        # Out of 1, up fails; zero does not: 1 + 2 + 1 successors.
        "assertion", 2, 4, 3, ("up", "up"),
    ),
    Example(
        "least_state_and_predecessor",
        """
var n: 0..9 = 0
action far: require n == 4; n = 9
action fan(x in 2..4): require n == 0; n = x
action near: require n == 2; n = 9
action back: require n == 3; n = 0
invariant Low: n < 9
""",
        # 2 and 4 both lead to 9; the trace goes through 2.
        "violated", 5, 7, 3, ("fan(2)", "near"), "Low",
    ),
    Example(
        "first_choice",
        """
var n: 0..1 = 0
action a(x in 1..2, y in 1..2): require y == 2; n = 1
invariant Zero: n == 0
""",
        "violated", 2, 3, 2, ("a(1, 2)",), "Zero",
    ),
    Example(
        "errors_before_violations",
        """
var n: 0..1 = 0
action up: n = 1
action fail: n = n + 2
invariant Zero: n == 0
""",
        "error", 2, 2, 2, ("fail",),
    ),
    Example(
        "step_invariants_before_invariants",
        """
var n: 0..1 = 0
action up: n = 1
invariant Zero: n == 0
step invariant Same: next(n) == n
""",
        "violated", 2, 2, 2, ("up",), "Same",
    ),
    Example(
        "step_invariant_on_a_known_state",
        """
var n: 0..2 = 0
action turn: n = (n + 1) % 3
step invariant Grows: next(n) > n
""",
        "violated", 3, 4, 4, ("turn", "turn", "turn"), "Grows",
    ),
    Example(
        "invariant_before_deadlock",
        """
var n: 0..1 = 0
action up: require n == 0; n = 1
invariant Zero: n == 0
""",
        "violated", 2, 2, 2, ("up",), "Zero",
    ),
    Example(
        "error_in_a_property",
        """
var q: seq[0..3, 2] = [1]
action pop: require len(q) > 0; q.pop_first()
invariant First: q[0] == 1
""",
        "error", 2, 2, 2, ("pop",),
    ),
    Example(
        "constraint",
        """
var n: 0..100 = 0
action up: n += 1
action same: skip
constraint Few: n < 3
invariant Low: n < 4
""",
        # 3 is outside: checked, not expanded, not counted.
        "ok", 3, 7, 3,
    ),
    Example(
        "violated_outside_the_constraint",
        """
var n: 0..100 = 0
action up: n += 1
constraint Few: n < 3
invariant Low: n < 3
""",
        "violated", 3, 4, 4, ("up", "up", "up"), "Low",
    ),
    Example(
        "unreached",
        """
var n: 0..3 = 0
action flip: n = 1 - n
reachable One: n == 1
reachable Two: n == 2
""",
        "unreached", 2, 3, 2, (), "Two",
    ),
    Example(
        "initial_states",
        """
var a: 0..3 in {1, 3}
var b: 0..3 in 0..3 where b < a
initially: a + b > 1
action swap: require a < 3; b = a; a = 3
terminal: a == 3
invariant Order: b < a
""",
        # (1,0) is dropped; (3,0), (3,1), (3,2) stay.
        "ok", 3, 3, 1,
    ),
    Example(
        "trace_from_the_least_initial_state",
        """
var a: 0..3 = any
action up: require a > 1; a = 0
step invariant Stays: next(a) >= a
""",
        # 2 and 3 lead to 0; level 1 has four states, two of which have a successor.
        "violated", 4, 6, 2, ("up",), "Stays", False,
    ),
    Example(
        "machine_integers_wrap",
        """
var n: int[3] = 2
action up: n += 1
action low: require n == -4; n = n - 1
invariant Any: n >= -4 and n <= 3
""",
        # 2, 3, -4, -3, ... 1: eight states, one has two successors.
        "ok", 8, 10, 8,
    ),
    Example(
        "roles",
        """
type Id = 1..2
var turn: Id = 1
role Worker[i: Id]:
    var done: 0..2 = 0
    action work:
        require turn == i and done < 2
        done += 1
        turn = 3 - i
terminal: forall i in Id: Worker[i].done == 2
invariant Fair: Worker[1].done >= Worker[2].done
""",
        "ok", 5, 5, 5,
    ),
    Example(
        "roles_race",
        """
type Id = 1..2
var busy: 0..2 = 0
role Worker[i: Id]:
    var inside: bool = false
    action enter:
        require not inside
        inside = true
        busy += 1
    action leave:
        require inside
        inside = false
        busy -= 1
invariant Alone: not (Worker[1].inside and Worker[2].inside)
""",
        # The least predecessor is the state in which the first is still outside.
        "violated", 4, 7, 3, ("Worker.enter(2)", "Worker.enter(1)"), "Alone",
    ),
    Example(
        "ordered_channel",
        """
channel c: 1..2 ordered capacity 2
var got: seq[1..2, 2] = []
var sent: 0..2 = 0
action put: require sent < 2; sent += 1; send sent to c
action take on _ as m from c: got.append(m)
terminal: len(got) == 2
invariant InOrder: got in {[], [1], [1, 2]}
""",
        "ok", 6, 7, 5,
    ),
    Example(
        "bag_channel",
        """
union M: A(x: 1..2)
channel c: M capacity 3
var got: seq[1..2, 3] = []
var sent: 0..3 = 0
action put(x in 1..2): require sent < 1; sent += 1; send A(x) to c; send A(x) to c; send A(1) to c
action take on A(x) from c: got.append(x)
terminal: len(got) == 3
""",
        # 1 1 1 is taken in one order only; of 1 2 2: 1, 2, 12, 21, 22, 122, 212, 221.
        "ok", 14, 14, 5,
    ),
    Example(
        "lossy_channel",
        """
union M: Ping
channel c: M lossy at most 1 capacity 1
var got: 0..2 = 0
var sent: 0..2 = 0
action put: require sent < 2 and count(c) == 0; sent += 1; send Ping to c
action take on Ping from c: got += 1
reachable Both: got == 2
terminal: sent == 2 and c == []
""",
        # (sent, got, in c, lost): 000 -> 1 0 c 0 -> {1 1 - 0, 1 0 - 1} -> {2 1 c 0, 2 0 c 1}
        # -> {2 2 - 0, 2 1 - 1, 2 1 - 1}.
        "ok", 8, 9, 5,
    ),
    Example(
        "duplicating_channel",
        """
union M: Ping
channel c: M duplicating at most 1 capacity 2
var got: 0..1 = 0
action put: require got == 0 and count(c) == 0; send Ping to c
action take on Ping from c: got += 1
terminal: got == 1
""",
        # Without the copy, one take ends it; with it, the second take leaves the range.
        "error", 5, 5, 5, ("put", "c.duplicate(Ping)", "take(Ping)", "take(Ping)"),
    ),
    Example(
        "persistent_channel",
        """
union M: Commit, Abort
channel c: M persistent
var seen: bool = false
action commit: require Abort not in c; send Commit to c
action abort: require Commit not in c; send Abort to c
action see on Commit from c: seen = true
invariant One: not (Commit in c and Abort in c)
""",
        # Nothing sent: 2 steps. {Abort}: abort again. {Commit}, seen or not: commit again, and see.
        "ok", 4, 8, 3,
    ),
    Example(
        "full_channel",
        """
union M: Ping
channel c: M capacity 1
action put: send Ping to c
""",
        "error", 2, 2, 3, ("put", "put"),
    ),
    Example(
        "blocking_channel",
        """
union M: Ping
channel c: M capacity 1 or block
action put: send Ping to c
action take on Ping from c: skip
""",
        "ok", 2, 3, 2,
    ),
    Example(
        "a_false_require_leaves_the_message",
        """
union M: Ping
channel c: M capacity 1
var ready: bool = false
var got: bool = false
action put: require c == [] and not got; send Ping to c
action prepare: require not ready; ready = true
action take on Ping from c: require ready; got = true
terminal: got
""",
        # put and prepare in either order, then take.
        "ok", 5, 6, 4,
    ),
    Example(
        "quiescent",
        """
var n: 0..2 = 0
action up: require n < 2; n += 1
environment action crash: n = 0
invariant EndsAtOne: quiescent implies n == 1
""",
        "violated", 3, 5, 3, ("up", "up"), "EndsAtOne",
    ),
    Example(
        "enabled",
        """
type Id = 1..2
var n: 0..2 = 0
role R[i: Id]:
    action go: require n < i; n += 1
invariant Upto: forall i in Id: enabled(R[i].go) iff n < i
terminal: n == 2
""",
        # 0: both; 1: only the second; 2: none.
        "ok", 3, 4, 3,
    ),
    Example(
        "procedures_and_return",
        """
var n: 0..9 = 0
var last: 0..9 = 0
procedure raise_to(x: 0..9):
    if n >= x: return
    n = x
action go(x in {3, 5}):
    raise_to(x)
    last = x
    if n == 5: return
    raise_to(4)
invariant Seen: n in {0, 4, 5}
""",
        # (0,0) -> (4,3) or (5,5); (4,3) -> (4,3), (5,5); (5,5) -> (5,3), (5,5); (5,3) the same.
        "ok", 4, 9, 3,
    ),
    Example(
        "loops_and_collections",
        """
var s: set[0..3] = {}
var q: seq[0..3, 4] = []
action fill: require s == {}; s = {x * x % 4 for x in 0..3 if x != 2} | {3}
action line:
    require q == [] and s != {}
    for x in s: q.append(x)
terminal: q == [0, 1, 3]
invariant Sums: q == [] or sum(q) == 4 and max(s) == 3 and first(q) == min(s)
""",
        "ok", 3, 3, 3,
    ),
    Example(
        "options_and_matches",
        """
union Shape: Dot, Box(w: 1..2, h: 1..2)
var s: Shape? = none
var area: 0..4 = 0
action make(w in 1..2): require s == none; s = Box(w, 2)
action clear: require s != none; s = Dot
action measure:
    require s != none
    match s!:
        case Dot: area = 0
        case Box(w, h): area = w * h
reachable Four: area == 4
""",
        # none; Box(1,2), Box(2,2), Dot with area 0; 2 and 4 with their box, and with Dot.
        # none: 2. Each other state: clear and measure.
        "ok", 8, 17, 4,
    ),
    Example(
        "picks_in_branches",
        """
var n: 0..9 = 0
action go:
    pick x in 1..2
    if x == 2:
        pick y in 7..9 where y != 8
        n = y
    else: n = x
invariant Not9: n != 9
""",
        "violated", 4, 4, 2, ("go(2, 9)",), "Not9",
    ),
    Example(
        "an_empty_pick_is_not_enabled",
        """
var s: set[1..2] = {1, 2}
action take: pick x in s; s.remove(x)
terminal: s == {}
""",
        "ok", 4, 5, 3,
    ),
    Example(
        "maps",
        """
enum Key: A, B
var m: map[Key, 0..1] = [0 for k in Key]
action fill(k in Key): require m[k] == 0; m[k] = 1
invariant NotBoth: m != [1 for k in Key]
""",
        "violated", 4, 5, 3, ("fill(B)", "fill(A)"), "NotBoth",
    ),
    Example(
        "options_as_keys_and_intervals",
        """
type Slot = 0..2
type Maybe = Slot?
var m: map[Maybe, 0..1] = [0 for k in Maybe]
var s: set[Maybe] = {}
var low: 1..3 = 1
action mark(k in Maybe): require k not in s; m[k] = 1; s.add(k)
action raise: require low < 3; low += 1
invariant Same: forall k in Maybe: (k in s) iff m[k] == 1
invariant From: exists i in low..3: i == low
invariant To: not exists i in low..3: i < low or i > 3
terminal: true
""",
        # 16 sets and 3 numbers: 32 elements are to be added to the sets, and 2 numbers are raised.
        "ok", 48, 1 + 3 * 32 + 2 * 16, 7,
    ),
    Example(
        "stuck_is_no_deadlock",
        """
union M: Ping
channel c: M lossy capacity 1
var n: 0..1 = 0
action put: require n == 0; n = 1; send Ping to c
terminal: false
""",
        # The message can be lost; then there is nothing left.
        "deadlock", 3, 3, 3, ("put", "c.lose(Ping)"),
    ),
)  # fmt: skip
