"""Small specs that combine every kind of evaluated place with every kind and time of failure.

All specs count ``x`` from 0 to a last number. A place contains an expression that fails if its test
holds and is true otherwise. A failure is such an expression, or some lines of an action. The
expected results are derived from docs/language.md by the rules in `expected`, without an engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LAST = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """An expression that fails if ``{t}`` is true, and is true otherwise.

    With ``lines``, it consists of such statements instead. ``code`` is the code of the error.
    """

    name: str
    code: str
    declared: str = ""
    expression: str = ""
    lines: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A place for an expression ``{E}`` that is true unless it fails.

    ``late`` is the number of levels between the state that satisfies the test and the error. With
    ``ends``, the place is evaluated only in a state without successors; with ``first``, only at the
    beginning. ``on`` is the expression to test in place of ``x``: the next value, or a constant.
    With ``statements``, ``{E}`` may also be lines of an action that have no effect unless they
    fail. ``violates`` means that a failing action causes a violation because it counts as one that
    can be taken.
    """

    name: str
    text: str
    late: int = 0
    ends: bool = False
    first: bool = False
    on: str = "x"
    statements: bool = False
    violates: bool = False
    terminal: bool = False
    plain: bool = False


SMALL = "def small(a: 0..1): bool = true\n"
MAP = "var m: map[0..1, 0..1] = [0 for i in 0..1]\n"
SEQUENCE = "var q: seq[0..1, 2] = [0]\n"
WIDE = "var wide: int64 = 4_611_686_018_427_387_904\n"

EXPRESSIONS = (
    Failure("a range left", "F901", SMALL, "small(if {t} then 2 else 0)"),
    Failure("a range left below", "F901", SMALL, "small(if {t} then -1 else 0)"),
    Failure("a conversion that does not fit", "F901", "", "int[2](if {t} then 5 else 0) == 0"),
    Failure(
        "a conversion of 64 bits", "F901", WIDE, "int8(if {t} then int(wide) else 0) == 0"
    ),
    Failure("a map key", "F901", MAP, "m[if {t} then 2 else 0] == 0"),
    Failure(
        "a set too large", "F902", "def few(s: set[0..1, 1]): bool = true\n",
        "few(if {t} then {{0, 1}} else {{0}})",
    ),
    Failure(
        "a sequence too long", "F902", "def few(s: seq[0..1, 1]): bool = true\n",
        "few(if {t} then [0, 1] else [0])",
    ),
    Failure("an index outside", "F903", SEQUENCE, "q[if {t} then 1 else 0] == 0"),
    Failure("an index below", "F903", SEQUENCE, "q[if {t} then -1 else 0] == 0"),
    Failure(
        "first of an empty sequence", "F903", f"{SEQUENCE}var e: seq[0..1, 2] = []\n",
        "first(if {t} then e else q) == 0",
    ),
    Failure("a division by zero", "F904", "", "1 // (if {t} then 0 else 1) == 1"),
    Failure("a modulo by zero", "F904", "", "1 % (if {t} then 0 else 2) == 1"),
    Failure(
        "a machine division by zero", "F904", "var w8: int8 = 1\n",
        "w8 // (if {t} then w8 - 1 else w8) == 1",
    ),
    Failure(
        "a machine modulo by zero in 64 bits", "F904", WIDE,
        "wide % (if {t} then wide - wide else wide) == 0",
    ),
    Failure("an empty choose", "F905", "", "(choose u in 0..1 where u == 0 and not ({t})) == 0"),
    Failure(
        "min of an empty set", "F905", "", "min({{u for u in 0..1 if not ({t})}}) == 0"
    ),
    Failure(
        "! of none", "F906", "var o: 0..1? = 0\nvar nothing: 0..1? = none\n",
        "(if {t} then nothing else o)! == 0",
    ),
)  # fmt: skip

STATEMENTS = (
    Failure("a range left by an assignment", "F901", "var v: 0..1 = 0\n",
            lines="v = if {t} then 2 else 0"),
    Failure("a range left by addition", "F901", "var v: 0..1 = 0\n",
            lines="v += if {t} then 2 else 0"),
    Failure("a range left in a field", "F901",
            "record Pair: a: 0..1, b: 0..1\nvar p: Pair = Pair(a: 0, b: 0)\n",
            lines="p.a = if {t} then 2 else 0"),
    Failure("a key that is assigned", "F901", MAP, lines="m[if {t} then 2 else 0] = 0"),
    Failure("an index that is assigned", "F903", SEQUENCE, lines="q[if {t} then 1 else 0] = 0"),
    Failure("an append to what is full", "F902", "var f: seq[0..1, 1] = [0]\n",
            lines="if {t}: f.append(0)"),
    Failure("an element too many in a set", "F902", "var f: set[0..1, 1] = {0}\n",
            lines="f.add(if {t} then 1 else 0)"),
    Failure("an element too many in a bag", "F902", "var f: bag[0..1, 1] = [0]\n",
            lines="if {t}: f.add(0)"),
    Failure("taking from what is empty", "F903", "var f: seq[0..1, 1] = []\n",
            lines="if {t}: f.pop_first()"),
    Failure("a send to a full channel", "F907", "channel c: bool capacity 1\n",
            lines="send true to c\nif {t}: send true to c"),
    Failure("a send to a full ordered channel", "F907", "channel c: bool ordered capacity 1\n",
            lines="send true to c\nif {t}: send true to c"),
)  # fmt: skip

PREDICATES = (
    Place("invariant", "invariant P: {E}", plain=True),
    Place("invariant of two lines", "invariant P:\n    x < 9\n    {E}", plain=True),
    Place("let of a block", "invariant P:\n    let u = {E}\n    x < 9\n    u", plain=True),
    Place("lemma", "lemma P: {E}", plain=True),
    Place("step invariant", "step invariant P: {E}", late=1),
    Place("step invariant of the next state", "step invariant P: {E}", on="next(x)"),
    Place("reachable", "reachable P: not ({E})"),
    Place("terminal", "terminal: {E}", ends=True, terminal=True),
    Place("second terminal", "terminal: x == 9\nterminal: {E}", ends=True, terminal=True),
    Place("constraint", "constraint: {E}"),
    Place("second constraint", "constraint: x < 9\nconstraint: {E}"),
    Place("assume", "const K: 0..3 = 0\nassume {E}", first=True, on="K"),
    Place("initially", "initially: {E}", first=True),
    Place("where of an initial value", "var z: 0..1 in 0..1 where {E}", first=True),
    Place("initial value", "var z: bool = {E}", first=True),
    Place("what a channel begins with", "channel d: bool capacity 1 = [{E}]", first=True),
    Place("quiescent", "invariant P: quiescent implies {E}", ends=True),
    Place("quiescent, behind it", "lemma P: not ({E}) or quiescent or x < 9", ends=False),
    Place("enabled", "invariant P: enabled(go) or x == 3 or {E}", ends=True),
    Place("step invariant with enabled", "step invariant P: enabled(go) and {E}", late=1),
)

SYMBOLIC = Place(
    "where of a symbolic constant", "const E0: 0..3 = any where {E}", first=True, on="E0"
)
"""A place that only engines searching for all values of a constant evaluate."""

QUIET = "guard that quiescent asks for"

ACTIONS = (
    Place("guard", "action other:\n    require not ({E})", late=1),
    Place("guard of the environment", "environment action other:\n    require not ({E})", late=1),
    Place("choice", "action other:\n    pick y in 0..1 where not ({E})", late=1),
    Place("where of parameters", "action other(y in 0..1) where not ({E}): skip", late=1),
    Place(
        "where of a message",
        "channel d: bool capacity 1 = [true]\naction other on _ from d where not ({E}): skip",
        late=1,
    ),
    Place("parameter", "action other(y in {{i for i in 0..1 if not ({E})}}): skip", late=1),
    Place("branch", "action other:\n    if not ({E}): skip\n    require false", late=1),
    Place("let", "action other:\n    let y = {E}\n    require not y", late=1),
    Place(
        "loop",
        "action other:\n    for y in {{i for i in 0..1 if not ({E})}}: skip\n    require false",
        late=1,
    ),
    Place("assertion", "action other:\n    assert {E}\n    require false", late=1),
    Place(
        "assignment", "var g: bool = true\naction other:\n    g = {E}\n    require not g", late=1
    ),
    Place(
        "ghost assignment",
        "ghost var g: bool = true\naction other:\n    g = {E}\n    require false",
        late=1,
    ),
    Place(
        "argument of a procedure",
        "procedure proc(a: bool): skip\naction other:\n    proc({E})\n    require false",
        late=1,
    ),
    Place(
        "message that is sent",
        "channel d: bool capacity 1\naction other:\n    send {E} to d\n    require false",
        late=1,
    ),
    Place("statement", "action other:\n    {E}\n    require false", late=1, statements=True),
    Place(
        "statement behind a guard",
        "action other:\n    require x < 9\n    {E}\n    require false",
        late=1,
        statements=True,
    ),
    Place(
        "statement of a procedure",
        "procedure proc:\n    {E}\naction other:\n    proc()\n    require false",
        late=1,
        statements=True,
    ),
    Place(
        "guard that enabled asks for",
        "action other:\n    require not ({E})\ninvariant P: not enabled(other)",
        late=1,
        violates=True,
    ),
    Place(
        QUIET,
        "action other:\n    require not ({E})\nlemma P: not quiescent or x != {k}",
        late=1,
        ends=True,
    ),
)

WHENS = ("at first", "at a step", "two steps on", "after a violation", "after its own", "never")
"""The time of the failure: a state, or the problem before it. With ``never``, a test prevents
it.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """An expected problem: its verdict, the name of the property, the depth and the error's
    code.
    """

    verdict: str
    name: str
    depth: int
    code: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A spec of the table and its expected results: up to the first problem, and with
    ``--continue``.
    """

    site: Place
    failure: Failure
    when: str
    text: str
    first: tuple[Problem, ...]
    going: tuple[Problem, ...]

    @property
    def name(self) -> str:
        return f"{self.site.name}: {self.failure.name}, {self.when}"


def cells() -> Iterator[Cell]:
    """Yields all specs of the table."""
    for site in (*PREDICATES, *ACTIONS, SYMBOLIC):
        for failure in STATEMENTS if site.statements else EXPRESSIONS:
            for when in WHENS:
                spec = cell(site, failure, when)
                if spec is not None:
                    yield spec


def cell(site: Place, failure: Failure, when: str, symbolic: bool = False) -> Cell | None:
    """Returns one spec of the table, or None if the combination does not exist.

    With ``symbolic``, the spec fails for only one value of a symbolic constant.
    """
    k = {"at first": 0, "at a step": 1}.get(when, 2)
    if site.first and when not in ("at first", "never"):
        return None
    if site.on in ("K", "E0") and failure.declared.startswith("var"):
        return None
    if site.on == "K" and failure.code in ("F901", "F902"):
        # Errors that depend only on constants are refused before any run.
        return None
    if site.on == "next(x)" and when == "at first":
        return None
    if when == "after its own" and not site.plain:
        return None
    k = 0 if site.first else k
    test = f"{site.on} == {k} and E0 == 2" if symbolic else f"{site.on} == {k}"
    if failure.lines:
        inner = failure.lines.format(t=test if when != "never" else f"{test} and x == 9")
        inner = inner.replace("\n", "\n    ")
    else:
        inner = failure.expression.format(t=test)
        if when == "never":
            inner = f"({site.on} == {k} or {inner})"
        if when == "after its own":
            inner = f"x != 1 and {inner}"
    last = k if site.ends else LAST
    terminal = "" if site.terminal else "terminal: true\n"
    early = "invariant Early: x != 1\n" if when == "after a violation" else ""
    declared = site.text.format(E=inner, k=k)
    constant = "const E0: 0..3 = any\n" if symbolic else ""
    text = (
        f"{constant}var x: 0..9 = 0\n{failure.declared}{early}action go:\n    require x < {last}\n"
        f"    x += 1\n{declared}\n{terminal}"
    )
    problems = expected(site, failure, when, k, symbolic)
    first = () if not problems else (min(problems, key=_order),)
    return Cell(site, failure, when, text, first, problems)


def expected(
    site: Place, failure: Failure, when: str, k: int, symbolic: bool
) -> tuple[Problem, ...]:
    """Returns all problems in the order of reporting.

    An error in a state with x == k has depth k + 1, since the first level is 1. An error on a step
    from that state is one level deeper, and an error before there is any state has depth 0
    (docs/language, "Which problem is reported"). A search with ``--continue`` ends at the first
    error. According to `enabled`, a failing action can be taken.
    """
    problems: list[Problem] = []
    if when == "after a violation" and k > 1:
        problems.append(Problem("violated", "Early", 2, ""))
    if when == "after its own":
        problems.append(Problem("violated", "P", 2, ""))
    if site.name == QUIET and (when == "never" or symbolic):
        # No action can be taken, so the state is quiescent.
        problems.append(Problem("violated", "P", k + 1, ""))
    if when != "never":
        if site.violates:
            problems.append(Problem("violated", "P", k + 1, ""))
        depth = 0 if site.on in ("K", "E0") else k + 1 + site.late
        problems.append(Problem("error", "", depth, failure.code))
    return tuple(problems)


def covering(every: Sequence[Cell]) -> list[Cell]:
    """Selects cells so that each place occurs at each time, and each failure several times."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell_ in every:
        groups.setdefault((cell_.site.name, cell_.when), []).append(cell_)
    # There are few cells with statements, so they are counted separately.
    counts = {True: 0, False: 0}
    chosen: list[Cell] = []
    for group in groups.values():
        statements = group[0].site.statements
        chosen.append(group[counts[statements] % len(group)])
        counts[statements] += 1
    return chosen


def _order(problem: Problem) -> tuple[int, bool]:
    return problem.depth, problem.verdict != "error"
