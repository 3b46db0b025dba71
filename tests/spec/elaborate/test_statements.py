"""Statements: what a step does, and what is no statement (docs/language.md sections 5, 6)."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict

PRELUDE = """
type Slot = 0..2
enum Color: Red, Amber, Green
record Meta: pid: 0..3, epoch: 0..7
record Box: inner: Meta, many: map[Slot, Meta]
var done: bool = false
var x: 0..9 = 4
var y: 0..9 = 0
var log: seq[0..9, 4] = [7, 8]
var pool: bag[Slot, 4] = [1, 0, 1]
var waiting: set[Slot] = {0, 2}
var some: set[0..9, 2] = {1, 2}
var owner: Slot? = none
var meta: Meta = Meta(1, 2)
var box: Box = Box(Meta(0, 0), [Meta(k, k) for k in Slot])
var stock: map[Slot, 0..9] = [k for k in Slot]
var grid: map[bool, map[Slot, 0..9]] = [[k for k in Slot] for b in bool]
var rows: seq[seq[0..9, 2], 2] = [[1], [2, 3]]
"""


def becomes(body: str, expected: str) -> str:
    """What comes of one step with this body; ``expected`` is asked of the state behind it."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    text = f"{PRELUDE}\naction go:\n    require not done\n    done = true\n{lines}"
    text += f"terminal: true\nreachable Happened: done\ninvariant I: done implies {expected}\n"
    return verdict(text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Statements run in order, and each sees what those before it assigned.
        ("x = 1; y = x + 1; x = y + y", "x == 4 and y == 2"),
        ("x += 3; x -= 1", "x == 6"),
        ("x = 5", "x == 5 and y == 0 and log == [7, 8]"),
        ("let a = x; x = 9; y = a", "y == 4"),
        ("let a = x\nif x > 1:\n    let b = a + 1\n    y = b", "y == 5"),
        # Places.
        ("log[1] = 3", "log == [7, 3]"),
        ("stock[x - 2] = 9", "stock[2] == 9 and stock[0] == 0 and stock[1] == 1"),
        ("grid[true][1] = 5; grid[true, 2] += 3", "grid[true, 1] == 5 and grid[true][2] == 5"),
        ("grid[true][1] = 5", "grid[false][1] == 1"),
        ("meta.epoch = 6", "meta == Meta(1, 6)"),
        ("box.inner.pid = 3", "box.inner == Meta(3, 0)"),
        ("box.many[1].epoch += 4", "box.many[1] == Meta(1, 5) and box.many[0] == Meta(0, 0)"),
        ("rows[1][0] = 9", "rows == [[1], [9, 3]]"),
        ("let i = 1; stock[i] = 7; let j = i", "stock[1] == 7"),
        ("stock[stock[2]] = 8", "stock[2] == 8"),
        # Methods.
        ("waiting.add(1)", "waiting == {0, 1, 2}"),
        ("waiting.add(2)", "waiting == {0, 2}"),
        ("waiting.remove(2); waiting.remove(1)", "waiting == {0}"),
        ("waiting.remove(x)", "waiting == {0, 2}"),
        ("pool.add(1)", "pool == [0, 1, 1, 1]"),
        ("pool.remove(1); pool.remove(2)", "pool == [0, 1]"),
        ("pool.remove(x)", "len(pool) == 3"),
        ("log.append(x)", "log == [7, 8, 4]"),
        ("log.pop_first()", "log == [8]"),
        (
            "log.clear(); waiting.clear(); pool.clear()",
            "log == [] and waiting == {} and pool == []",
        ),
        ("rows[0].append(5); rows[1].pop_first()", "rows == [[1, 5], [3]]"),
        ("some.add(1)", "some == {1, 2}"),
        ("owner = 2; if owner != none: waiting.remove(owner)", "waiting == {0}"),
        # Branches.
        ("if x == 4: y = 1\nelif x == 4: y = 2\nelse: y = 3", "y == 1"),
        ("if x == 3: y = 1\nelif x == 4: y = 2\nelse: y = 3", "y == 2"),
        ("if x == 3: y = 1\nelif x == 5: y = 2\nelse: y = 3", "y == 3"),
        ("if x == 3: y = 1", "y == 0"),
        ("if x == 4: x = 3\nelif x == 3: y = 5", "x == 3 and y == 0"),
        # Loops: the domain is what it was before.
        ("for k in waiting: y += k + 1", "y == 4"),
        ("for k in waiting: waiting.remove(k)", "waiting == {}"),
        ("for k in log: log[0] = k", "log == [8, 8]"),
        ("for k in Slot: stock[k] = 2 - k", "stock[0] == 2 and stock[1] == 1 and stock[2] == 0"),
        ("for k in 1..x: y += 1", "y == 4"),
        # return ends the action, and what was assigned stands.
        ("x = 1; if x == 1: return\nx = 2", "x == 1"),
        ("for k in Slot:\n    y = k\n    if k == 1: return\ny = 9", "y == 1"),
        ("return", "x == 4"),
        ("skip", "x == 4"),
    ],
)
def test_effect(body: str, expected: str) -> None:
    assert becomes(body.replace("; if ", "\nif "), expected) == "ok"
    assert becomes(body.replace("; if ", "\nif "), f"not ({expected})") == "violated I"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        # A value outside its type, an index or capacity exceeded, and so on.
        ("x += 6", "F901"),
        ("x = x - 5", "F901"),
        ("x = -1 + y", "F901"),
        ("stock[x] = 0", "F901"),
        ("stock[0] = x + 6", "F901"),
        ("log[2] = 0", "F903"),
        ("log[y - 1] = 0", "F903"),
        ("log = [x + 6]", "F902"),
        ("rows[1].append(3)", "F902"),
        ("some.add(x)", "F902"),
        ("some = {1, x, y}", "F902"),
        ("for k in 1..3: log.append(k)", "F902"),
        ("pool.add(x)", "F901"),
        ("log.clear(); log.pop_first()", "F903"),
        ("y = x // y", "F904"),
        ("y = owner!", "F906"),
        ("y = choose z in 0..9 where z > x + 5", "F905"),
        ("y = max({z for z in waiting if z > 4})", "F905"),
        ("let a = 1 // y", "F904"),
        ("if 1 // y == 0: skip", "F904"),
        ("for k in 0..1 // y: skip", "F904"),
    ],
)
def test_evaluation_errors(body: str, code: str) -> None:
    assert becomes(body, "true") == f"error {code}"


def test_the_failing_step_is_told_and_not_counted() -> None:
    result = ran("var x: 0..1 = 0\naction up(d in 0..1): x += d\nterminal: true")
    assert result.verdict == "error F901"
    assert (result.states, result.generated, result.depth) == (2, 4, 3)
    assert result.steps == ["up(1)", "up(1)"]


def test_require_undoes_everything() -> None:
    """The whole action is undone, the message stays."""
    spec = """
        enum M: Ping
        channel net: M capacity 2
        var x: 0..3 = 0
        action start:
            require x == 0 and len(net) == 0
            send Ping to net
        action take on Ping from net:
            x = 2
            send Ping to net
            send Ping to net
            require x == 1
        invariant Untouched: x == 0 and len(net) <= 1
        terminal: len(net) == 1
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert (result.states, result.generated, result.never) == (2, 2, ["take"])


def test_a_false_require_wins_over_an_error_behind_it_only() -> None:
    spec = "var x: 0..1 = 0\naction go:\n    {}\nterminal: true\n"
    assert verdict(spec.format("require x == 1\n    x = 1 // x")) == "ok"
    assert verdict(spec.format("x = 1 // x\n    require x == 1")) == "error F904"


def test_assert_tells_why() -> None:
    result = ran('var x: 0..1 = 0\naction go:\n    x = 1\n    assert x == 0, "never"\n')
    assert result.verdict == "assertion F908"
    site = result.outcome.findings[0].site
    assert site is not None
    assert site.message == "never"
    assert (result.states, result.generated, result.depth) == (1, 1, 2)


# ---------------------------------------------------------------- choices


def test_parameters_and_picks_are_choices_from_the_left() -> None:
    spec = """
        var x: 0..9 = 0
        var y: 0..9 = 0
        action go(a in 1..2, b in a..2):
            require x == 0
            x = a
            pick c in {a, x + b, 9} where c < 9
            y = c
        terminal: true
        invariant I: not (x == 2 and y == 4)
    """
    result = ran(spec)
    assert result.verdict == "violated I"
    assert result.steps == ["go(2, 2, 4)"]
    # (1, 1, {1, 2}), (1, 2, {1, 3}), (2, 2, {2, 4}): equal results are counted again.
    assert (result.depth, result.generated) == (2, 1 + 6)


def test_generated_counts_every_vector_of_choices() -> None:
    spec = """
        var x: 0..3 = 0
        action go(a in 0..2, b in {0, 1}):
            pick c in [1, 1, 2]
            x = a
        terminal: true
    """
    result = ran(spec)
    # From each of 3 states 3 * 2 vectors, times the places of the sequence.
    assert result.states == 3
    assert result.generated == 1 + 3 * 6 * 3


def test_equal_messages_of_a_bag_are_one_choice() -> None:
    spec = """
        var pool: bag[0..1, 3] = [0, 0, 1]
        var x: 0..1 = 0
        action go(a in pool): x = a
        terminal: true
    """
    assert ran(spec).generated == 1 + 2 * 2


def test_from_an_empty_set_the_action_is_not_enabled() -> None:
    spec = """
        var free: set[0..1] = {0, 1}
        var seen: bag[0..1, 2] = []
        action take(a in free):
            free.remove(a)
            pick b in {c for c in 0..1 if c != a} where b > 4 or a == 0
            seen.add(a)
        terminal: free == {1}
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert result.states == 2


def test_a_pick_sees_what_was_assigned_before_it() -> None:
    spec = """
        var x: 0..3 = 0
        var y: 0..3 = 0
        action go:
            require x == 0
            x = 2
            pick a in x..3
            y = a
        terminal: true
        invariant I: x == 2 implies y >= 2
        reachable Three: y == 3
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert result.states == 3


def test_picks_inside_branches_and_loops() -> None:
    spec = """
        var done: bool = false
        var bits: map[0..1, 0..1] = [0 for k in 0..1]
        action go:
            require not done
            done = true
            for k in 0..1:
                pick b in 0..1
                if b == 1:
                    pick c in 0..1
                    bits[k] = c
        terminal: done
    """
    result = ran(spec)
    # Each round: b = 0, or b = 1 with two values.
    assert (result.states, result.generated) == (5, 1 + 9)


# ---------------------------------------------------------------- procedures and defs


def test_procedures_are_inlined_with_parameters_by_value() -> None:
    spec = """
        var x: 0..9 = 3
        var y: 0..9 = 0
        var log: seq[0..9, 3] = []
        procedure note(v: 0..9, old: int):
            x = 7
            log.append(v)
            if v == 3: return
            log.append(old)
        procedure both(a: 0..9):
            note(a, x)
            note(x, a)
            y = a
        action go:
            require y == 0
            both(x)
        terminal: true
        invariant I: y != 0 implies y == 3 and log == [3, 7, 3] and x == 7
    """
    assert verdict(spec) == "ok"


def test_return_ends_the_procedure_only() -> None:
    spec = """
        var x: 0..9 = 0
        procedure stop:
            if x == 0: return
            x = 9
        action go:
            require x == 0
            stop()
            x = 1
            stop()
            x -= 1
            x -= 1
        invariant I: x in {0, 7}
        terminal: x == 7
    """
    assert verdict(spec) == "ok"


def test_a_procedure_may_send_require_pick_and_assert() -> None:
    spec = """
        enum M: Ping
        channel net: M capacity 1
        var x: 0..3 = 0
        procedure work(limit: 0..3):
            require x < limit
            pick d in 1..2
            x += d
            assert x < 3, "too far"
            if len(net) == 0: send Ping to net
        action go: work(2)
        action drop on Ping from net: skip
    """
    result = ran(spec)
    assert result.verdict == "assertion F908"
    assert result.steps == ["go(1)", "go(2)"]


def test_defs_bind_their_arguments_once_and_leave_capacities_open() -> None:
    spec = """
        enum Color: Red, Green
        var short: seq[Color, 1] = [Red]
        var long: seq[Color, 9] = [Green, Green]
        var few: set[0..9, 2] = {3}
        var all: set[0..9] = {3, 4}
        def reds(q: seq[Color]): int = count(q, Red)
        def twice(n: int): int = n + n
        def biggest(s: set[0..9]): 0..9 = max(s)
        def nothing: seq[Color] = []
        def longer(q: seq[Color], r: seq[Color]): bool = len(q) > len(r)
        def both(f: seq[Color]): 0..20 = reds(f) + twice(len(f))
        action stay: skip
        invariant I:
            reds(short) == 1 and reds(long) == 0 and reds([Red, Red, Green]) == 2
            twice(twice(3)) == 12
            biggest(few) == 3 and biggest(all) == 4 and biggest({1}) == 1
            not longer(short, long) and longer(long, nothing) and not longer([], short)
            both(short) == 3
            reds([Red for k in 0..3]) == 4
    """
    assert (
        codes(spec.replace("def nothing: seq[Color] = []", "def nothing: seq[Color, 0] = []")) == []
    )
    assert verdict(spec.replace("seq[Color] = []", "seq[Color, 0] = []")) == "ok"


def test_the_result_of_a_def_is_checked_against_its_type() -> None:
    spec = "var x: 0..9 = 5\ndef f(n: int): 0..9 = n * 2\naction go: x = f(x) - 1\nterminal: true"
    assert verdict(spec) == "error F901"


def test_defs_of_roles_and_procedures_of_roles() -> None:
    spec = """
        type Id = 0..1
        role Node[me: Id]:
            var x: 0..2 = 0
            def ahead(by: int): bool = x >= by + Node[1 - me].x
            def zero: bool = x == 0
            procedure step(n: 0..2): x = n
            action up:
                require zero
                step(me + 1)
        def any_ahead: bool = exists i in Id: Node[i].ahead(1)
        invariant I: Node[1].ahead(2) implies Node[1].x == 2 and Node[0].zero
        reachable Far: Node[1].ahead(2) and any_ahead
        def first_up: Id = min(Node[0].x, 1)
        invariant J:
            Node[min(Node[0].x, 1)].ahead(0) iff exists i in Id: i == first_up and Node[i].ahead(0)
        terminal: forall i in Id: not Node[i].zero
    """
    result = ran(spec)
    assert (result.verdict, result.states) == ("ok", 4)


@pytest.mark.parametrize(
    ("body", "code", "phrase"),
    [
        ("z = 1", "F201", 'no variable "z" is known here'),
        ("lgo = []", "F201", 'did you mean "log"?'),
        ("let a = 1; a = 2", "F402", '"a" is a local and keeps its value'),
        ("Slot = 1", "F401", '"Slot" is a type, and only a variable can be assigned'),
        ("Red = 1", "F401", '"Red" is a member of Color'),
        ("owner! = 2", "F401", "this cannot be assigned"),
        ("limit = 2", "F403", '"limit" is a constant and keeps its value'),
        ("x = true", "F301", "x holds 0..9, and this is bool"),
        ("x = 12", "F701", "x holds 0..9, and this is 12"),
        ("x = owner", "F301", "`!` unwraps an option"),
        ("log = {1}", "F301", "log holds seq[0..9, 4], and this is set[1..1]"),
        ("log = [1, 2, 3, 4, 5]", "F701", "log holds seq[0..9, 4]"),
        ("meta.epok = 1", "F314", 'did you mean "epoch"?'),
        ("meta.epoch = 9", "F701", "epoch holds 0..7, and this is 9"),
        ("x[0] = 1", "F313", "a sequence or map is indexed"),
        ("log[true] = 1", "F301", "an index is an integer"),
        ("stock[true] = 1", "F301", "the key holds 0..2"),
        ("waiting += {1}", "F308", "+ takes two integers"),
        ("x.append(1)", "F415", '0..9 has no method "append"'),
        (
            "log.add(1)",
            "F415",
            'seq[0..9, 4] has no method "add"; it is called "append"',
        ),
        ("log.apend(1)", "F415", 'did you mean "append"?'),
        ("log.append()", "F321", "append takes 1 argument, and none is given"),
        ("log.append(true)", "F301", "an element of log holds 0..9"),
        ("log.pop_first(1)", "F321", "pop_first takes no argument, and 1 is given"),
        ("len(log)", "F201", 'no procedure "len"'),
        ("double(x)", "F414", '"double" is a def'),
        ("helo(x)", "F201", 'did you mean "help"?'),
        ("help(x, y)", "F321", "help takes 1 argument, and 2 are given"),
        ("help(true)", "F301", "n holds 0..9, and this is bool"),
        ("x = help(1)", "F319", '"help" is a procedure: a statement'),
        ("x = double()", "F321", "double takes 1 argument, and none is given"),
        ("return\nx = 1", "F407", "never reached"),
        ("if x == 1: return\nelse: return\nx = 1", "F407", "never reached"),
        ("let x = 1", "F203", '"x" is a variable here already'),
        ("let help = 1", "F203", '"help" is a procedure here already'),
        ("let go = 1", "F203", '"go" is an action here already'),
        ("let limit = 1", "F203", '"limit" is a constant here already'),
        ("let Amber = 1", "F203", '"Amber" is a member of Color here already'),
        ("let a = 1; let a = 2", "F203", '"a" is a local here already'),
        ("pick p in x where true", "F311", "a set, sequence, bag or finite type is wanted"),
        ("pick p in Slot where p", "F301", "a condition is wanted here"),
        ("for k in x: skip", "F311", ""),
        ("for x in Slot: skip", "F203", ""),
        ("require x", "F301", "a condition is wanted here, and this is 0..9"),
        ("assert x", "F301", "a condition is wanted here"),
        ("if x: skip", "F301", ""),
        ("let a = none", "F307", "the type of this none"),
        ("let a = []", "F307", "the type of this empty collection"),
        ("send x to log", "F413", '"log" is a variable'),
        ("x = next(x)", "F318", ""),
        ("require enabled(go)", "F318", "known in properties only"),
        ("require quiescent", "F318", "known in properties only"),
    ],
)
def test_misuse(body: str, code: str, phrase: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    extra = (
        "const limit: int = 1\ndef double(n: 0..9): int = n + n\nprocedure help(n: 0..9): y = n\n"
    )
    refused(f"{PRELUDE}{extra}action go:\n{lines}", code, phrase)


def test_a_let_is_known_to_the_end_of_its_block_only() -> None:
    spec = (
        "var x: 0..9 = 0\naction go:\n    if x == 0:\n        let a = 1\n        x = a\n    x = a\n"
    )
    refused(spec, "F201", 'no name "a" is known here')


def test_recursion_is_refused() -> None:
    refused(
        "def f(n: int): bool = n == 0 or g(n)\ndef g(n: int): bool = f(n - 1)\n"
        "action a: skip\ninvariant I: f(3)\n",
        "F213",
        '"f" calls itself',
    )
    refused("procedure p: q()\nprocedure q: p()\naction a: p()\n", "F213", '"p" calls itself')
    refused("def f(n: int): bool = f(n)\naction a: skip\n", "F213", '"f" calls itself')
    # A def as its own argument is no recursion.
    assert codes("def f(n: int): int = n\naction a: skip\ninvariant I: f(f(f(1))) == 1\n") == []


def test_an_unused_def_or_procedure_is_checked_all_the_same() -> None:
    refused("def f(n: int): bool = n\naction a: skip\n", "F301", "the result of f holds bool")
    refused("procedure p(n: int): x = n\naction a: skip\n", "F201", 'no variable "x"')
    refused("role R:\n    var y: 0..1 = 0\n    def f: bool = z\n    action a: y = 0\n", "F201")
    assert codes("procedure p(n: int, q: seq[bool]): let b = n + len(q)\naction a: skip\n") == []
