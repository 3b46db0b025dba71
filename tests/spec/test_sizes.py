"""Long lists and deep nesting of every kind are read, or refused, in bounded time.

Each construct that can repeat or nest is written with an increasing number of parts, and passed to
``check``, ``info``, ``fmt`` and the language server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.amounts import everything
from tests.support.command import run
from tests.support.damaged_runs import PHASES, Trials
from tests.support.damaged_specs import Damaged, Original

from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

Write = Callable[[int], str]

SECONDS = 20
"""Time limit of each command for one spec, also on a busy machine."""
COMMANDS = 4
"""``check``, ``fmt``, the requests of an editor and ``info``."""

VAR = "var x: 0..1 = 0\naction flip: x = 1 - x\n"


def joined(separator: str, form: str, count: int) -> str:
    """``count`` copies of a form; ``#`` is replaced by the number of the copy."""
    return separator.join(form.replace("#", str(number)) for number in range(count))


def line(start: str, separator: str, form: str, end: str = "") -> Write:
    """A spec with a list on one line."""
    return lambda count: f"{VAR}{start}{joined(separator, form, count)}{end}\n"


def lines(start: str, form: str, end: str = "") -> Write:
    """A spec with one line for each part."""
    return lambda count: f"{VAR}{start}{joined('', form, count)}{end}"


LISTS: dict[str, Write] = {
    "members of an enum": line("enum E: ", ", ", "M#"),
    "members on lines": lines("enum E:\n", "    M#\n"),
    "variants": line("union U: ", ", ", "V#"),
    "fields of a record": line("record R: ", ", ", "f#: bool"),
    "fields of a variant": line("union U: V(", ", ", "f#: bool", ")"),
    "parameters of a def": line("def d(", ", ", "p#: int", "): bool = true"),
    "parameters of an action": line("action a(", ", ", "p# in {0}", "): x = 0"),
    "parameters of a procedure": line("procedure p(", ", ", "p#: int", "):\n    x = 0"),
    "arguments": lambda count: (
        f"{VAR}def d({joined(', ', 'p#: int', count)}): bool = true\n"
        f"invariant P: d({joined(', ', 'x', count)})\n"
    ),
    "elements of a set": line("invariant P: x in {", ", ", "#", "}"),
    "elements of a sequence": line("invariant P: len([", ", ", "x", "]) > 0"),
    "entries of a map": line("invariant P: [", ", ", "#: x", "][0] == x"),
    "conjuncts on lines": lines("invariant P:\n", "    x == x\n"),
    "let lines": lines("invariant P:\n", "    let v# = x\n", "    x == x\n"),
    "let statements": lines("action a:\n", "    let v# = x\n", "    x = 0\n"),
    "statements": lines("action a:\n", "    x = 0\n"),
    "statements on a line": line("action a: ", "; ", "x = 0"),
    "branches": lines(
        "action a:\n    if x == 0:\n        x = 1\n", "    elif x == #:\n        x = 0\n"
    ),
    "cases": lambda count: (
        "enum E: " + joined(", ", "M#", count) + "\nvar e: E = M0\naction a:\n    match e:\n"
        + joined("", "        case M#: e = M0\n", count)
    ),
    "chain of and": line("invariant P: ", " and ", "x == x"),
    "chain of or": line("invariant P: ", " or ", "x == x"),
    "chain of implies": line("invariant P: ", " implies ", "x == x"),
    "chain of +": line("invariant P: 0 <= ", " + ", "x"),
    "chain of *": line("invariant P: 0 <= ", " * ", "x"),
    "chain of |": line("invariant P: {x} <= ", " | ", "{x}"),
    "comparisons": line("invariant P: ", " < ", "x"),
    "binders": line("invariant P: forall ", ", ", "b# in {0}", ": true"),
    "generators": line("invariant P: len({0 for ", ", ", "b# in {0}", "}) > 0"),
    "fields of with": lambda count: (
        f"record R: {joined(', ', 'f#: bool', count)}\n"
        f"var r: R = R({joined(', ', 'f#: true', count)})\n"
        f"action a: r = r with {joined(', ', 'f#: false', count)}\n"
    ),
    "indexes": line("invariant P: x", "", "[0]", " == x"),
    "fields": line("invariant P: x", "", ".f", " == x"),
    "unwraps": line("invariant P: x", "", "!", " == x"),
    "not": line("invariant P: ", "", "not ", "true"),
    "minus": line("invariant P: 0 == ", "", "- ", "x"),
    "variables": lines("", "var v#: bool = false\n"),
    "constants": lines("", "const C#: bool = false\n"),
    "types": lines("", "type T# = 0..1\n"),
    "enums": lines("", "enum E#: M#\n"),
    "channels": lines("", "channel c#: bool capacity 1\n"),
    "defs": lines("", "def d#: bool = true\n"),
    "defs that call each other": lines(
        "def d0: bool = true\n", "def e#: bool = d0\n", "invariant P: d0\n"
    ),
    "actions": lines("", "action a#: x = 0\n"),
    "invariants": lines("", "invariant P#: true\n"),
    "properties": lines("", "property P#: always x == x\n"),
    "roles": lines("", "role R#:\n    action a: x = 0\n"),
    "variables of a role": lines("role R:\n", "    var v#: bool = false\n"),
    "checks": lines("", "check c#: expect ok\n"),
    "items of a check": lines("invariant P: true\ncheck c:\n", "    expect ok\n"),
    "scenarios": lines("", "scenario s#: flip; expect x == 1\n"),
    "steps of a scenario": line("scenario s: ", "; ", "flip", "; expect true"),
    "imports": lines("", "import m#\n"),
    "comments": lambda count: VAR + "# a comment\n" * count,
    "blank lines": lines("", "\n"),
    "symmetric values": line("symmetric type T = {", ", ", "t#", "}"),
    "operands of a temporal formula": line("property P: ", " and ", "always x == #"),
    "characters of a name": line("invariant ", "", "P", ": true"),
    "digits": line("invariant P: x < ", "", "9"),
    "docstring": lambda count: f'"""{"word " * count}"""\n{VAR}',
}  # fmt: skip
"""By name: a spec whose list has a number of elements."""


def around(start: str, before: str, core: str, after: str, end: str = "\n") -> Write:
    return lambda depth: f"{VAR}{start}{before * depth}{core}{after * depth}{end}"


def numbered(start: str, before: str, core: str) -> Write:
    """Each level around the core has a number, counted from 0."""
    return lambda depth: f"{VAR}{start}{joined('', before, depth)}{core}\n"


def blocks(start: str, head: str, body: str) -> Write:
    """Nested blocks, each indented further."""

    def write(depth: int) -> str:
        heads = "".join(
            f"{' ' * (4 + level)}{head.replace('#', str(level))}\n" for level in range(depth)
        )
        return f"{VAR}{start}\n{heads}{' ' * (4 + depth)}{body}\n"

    return write


NESTS: dict[str, Write] = {
    "brackets": around("invariant P: ", "(", "true", ")"),
    "sets": around("invariant P: ", "{", "0", "}", " == {}\n"),
    "sequences": around("invariant P: ", "[", "0", "]", " == []\n"),
    "open brackets": around("invariant P: ", "(", "true", ""),
    "open set brackets": around("action a ", "[{(", "true", ""),
    "closed brackets": around("invariant P: ", "", "true", ")"),
    "conditionals": around("invariant P: ", "if true then ", "true", " else false"),
    "conditions of conditionals": around("invariant P: ", "if ", "true", " then true else false"),
    "quantifiers": numbered("invariant P: ", "forall i# in {0}: ", "true"),
    "let in": numbered("invariant P: ", "let v# = x: ", "true"),
    "calls": around("def d(a: int): int = a\ninvariant P: 0 == ", "d(", "x", ")"),
    "functions": around("invariant P: 0 == ", "min(x, ", "x", ")"),
    "indexes in indexes": around(
        "var m: map[0..1, 0..1] = [0: 0, 1: 0]\ninvariant P: 0 == ", "m[", "x", "]"
    ),
    "options": around("var o: ", "", "bool", "?", " = none\n"),
    "types of sets": around("var o: ", "set[", "bool", "]", " = {}\n"),
    "types of maps": around("def d(m: ", "map[bool, ", "bool", "]", "): bool = true\n"),
    "if statements": blocks("action a:", "if x == 0:", "x = 1"),
    "for statements": blocks("action a:", "for i# in {0}:", "x = 1"),
    "conjunctions in blocks": blocks("invariant P:", "forall i# in {0}:", "true"),
    "until": around("property P: ", "x == 0 until (", "x == 0", ")"),
    "always": around("property P: ", "always ", "x == 0", ""),
    "eventually always": around("property P: ", "eventually (always ", "x == 0", ")"),
    "defs": lambda depth: VAR + "def d0: bool = true\n" + "".join(
        f"def d{n + 1}: bool = d{n}\n" for n in range(depth)
    ) + f"invariant P: d{depth}\n",
    "types by name": lambda depth: VAR + "type T0 = bool\n" + "".join(
        f"type T{n + 1} = T{n}\n" for n in range(depth)
    ) + f"var v: T{depth} = false\n",
    "records in records": lambda depth: VAR + "record R0: f: bool\n" + "".join(
        f"record R{n + 1}: f: R{n}\n" for n in range(depth)
    ) + f"def d(r: R{depth}): bool = true\n",
    "procedures": lambda depth: VAR + "procedure p0: x = 0\n" + "".join(
        f"procedure p{n + 1}: p{n}()\n" for n in range(depth)
    ) + f"action a: p{depth}()\n",
    "constants": lambda depth: VAR + "const C0: 0..1 = 0\n" + "".join(
        f"const C{n + 1}: 0..1 = C{n}\n" for n in range(depth)
    ),
}  # fmt: skip
"""By name: a spec that nests a construct to a depth."""

WHOLE = everything("SIZES")
SIZES = (10, 100, 1_000, 10_000) if WHOLE else (400,)
DEPTHS = (10, 50, 95, 150, 400, 1_000) if WHOLE else (400,)
RUN_EACH = frozenset({"checks", "scenarios"})
"""Lists of runs: each element takes a separate search."""
MAX_RUN = 1_000
WRONG = frozenset({
    "comparisons", "open brackets", "open set brackets", "closed brackets",
})  # fmt: skip
"""Texts with a syntax error at every size."""
CASES = [
    (name, size)
    for written, sizes in ((LISTS, SIZES), (NESTS, DEPTHS))
    for name in written
    for size in sizes
    if size <= MAX_RUN or name not in RUN_EACH
]
FAULTS = [("let lines", 990), ("fields of with", 2_000)]
"""Sizes that used to be internal errors."""
DEEP = [("parameters of an action", 100)]
"""Sizes that used to be internal errors of machine code."""
MAX_EDITED = 1_000
"""With longer lists in one line some requests of an editor exceed its timeout."""


def problems(text: str, path: Path) -> set[str]:
    """The codes of the problems of a spec and its first models."""
    path.write_text(text, "utf-8")
    try:
        read = program.load(path)
        for check in read.runs[:2]:
            program.build(read, check)
    except Rejected as rejected:
        return {problem.code for problem in rejected.problems}
    return set()


@pytest.mark.parametrize("name", LISTS | NESTS)
def test_every_text_has_its_expected_syntax(name: str, tmp_path: Path) -> None:
    codes = problems((LISTS | NESTS)[name](10), tmp_path / "s.fence")
    assert any(code.startswith("F1") for code in codes) == (name in WRONG), codes


@pytest.mark.parametrize(("name", "size"), CASES + FAULTS)
def test_a_spec_of_any_size_is_read_or_refused(name: str, size: int, tmp_path: Path) -> None:
    began = time.monotonic()
    problems((LISTS | NESTS)[name](size), tmp_path / "s.fence")
    assert time.monotonic() - began < SECONDS


@pytest.fixture(scope="module")
def trials() -> Iterator[Trials]:
    with Trials() as started:
        yield started


@pytest.mark.parametrize(("name", "size"), CASES if WHOLE else [*CASES[::12], *DEEP])
def test_commands_and_editors(name: str, size: int, trials: Trials, tmp_path: Path) -> None:
    text = (LISTS | NESTS)[name](size)
    began = time.monotonic()
    original = Original("written", VAR.encode(), {})
    phases = PHASES if size <= MAX_EDITED else PHASES[:2]
    failures = trials.failures(Damaged(original, (), text.encode()), size, phases)
    assert not failures, failures[0]
    (tmp_path / "s.fence").write_text(text, "utf-8")
    assert run("info", "s.fence", folder=tmp_path).code in (0, 150)
    assert time.monotonic() - began < COMMANDS * SECONDS
