"""Absurd sizes and depths are refused at once, before anything of that size is constructed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.support.checked_specs import codes, problems

SOON = 3
"""A limit in seconds. All these specs take less than one second on an idle machine."""

SKIP = "\naction idle: skip\n"


def _records(leaf: str, count: int) -> str:
    text = f"record R0: f: {leaf}\n"
    for number in range(1, count):
        text += f"record R{number}: f: R{number - 1}, g: R{number - 1}\n"
    return text


def _defs(count: int) -> str:
    """Writes functions that each call the previous one twice."""
    text = "def d0(n: 0..9): 0..9 = n\n"
    for number in range(1, count):
        text += f"def d{number}(n: 0..9): 0..9 = (d{number - 1}(n) + d{number - 1}(n)) % 10\n"
    return f"{text}var x: 0..9 = 0\naction a: x = d{count - 1}(x)\n"


def _procedures(count: int) -> str:
    text = "var x: 0..9 = 0\nprocedure p0: x = 1\n"
    for number in range(1, count):
        text += f"procedure p{number}:\n    p{number - 1}()\n    p{number - 1}()\n"
    return f"{text}action a: p{count - 1}()\n"


def _ifs(count: int) -> str:
    text = "var x: 0..9 = 0\naction a:\n"
    for number in range(count):
        text += " " * (number + 4) + "if x == 0:\n"
    return text + " " * (count + 4) + "x = 1\n"


def _absurd() -> Iterator[tuple[str, str, str]]:
    big = 10**12
    yield "a set of it", f"type T = 0..{big}\nvar x: set[T] = {{}}", "F704"
    yield "a set with room", f"type T = 0..{big}\nvar x: set[T, {big}] = {{}}", "F705"
    yield "a capacity", f"var x: seq[bool, {2**63}] = []", "F705"
    yield "a smaller capacity", f"var x: bag[bool, {2**62}] = []", "F705"
    yield "a map", "var x: map[int64, bool] = [true for k in int64]", "F706"
    yield "a map of maps", "type M = map[0..99, map[0..99, map[0..99, bool]]]", "F708"
    yield "sets of sets", "type S = set[set[set[set[0..3]]]]", "F704"
    yield "wide elements", "type S = seq[seq[seq[int64, 99], 99], 99]", "F708"
    yield "a channel", f"channel c: int64 capacity {big}", "F705"
    yield "a wide channel", "channel c: int64 capacity 60_000", "F708"
    yield "a persistent channel", "channel c: int64 persistent", "F412"
    yield "a family", "channel c[i: int32]: bool capacity 1", "F706"
    yield "a role", "role R[i: int32]:\n    var x: 0..1 = 0", "F706"
    yield "a wide role", "role R[i: 0..4000]:\n    var x: int64 = 0", "F708"
    yield "a number", "var x: 0..9 = " + "9" * 4000, "F121"
    yield "a bound", "type T = 0.." + "9" * 4000, "F121"
    yield "the size of a type", "invariant I: len(int64) > 0", "F710"
    yield (
        "the number of subsets",
        "var s: set[0..99] = {}\ninvariant I: len(subsets(s)) > 0",
        "F710",
    )
    yield "a set as a value", f"action b:\n    let s = 0..{big}", "F710"
    yield "a comprehension", "action b:\n    let s = {x * x for x in 0..900_000}", "F705"
    yield "a comprehended map", "action b:\n    let s = [0 for x in 0..900_000]", "F706"
    loops = "forall a in 0..999, b in 0..999, c in 0..999: a + b >= c - 999"
    yield "a long constant", f"const N: bool = {loops}", "F712"
    pairs = "{a % 2 for a in 0..9999, b in 0..9999}"
    yield "a long constant of pairs", f"const N: 0..2 = len({pairs})", "F712"
    yield "records of bits", _records("bool", 60), "F708"
    yield "records of nothing", _records("0..0", 60), "F708"
    yield "5,000 wide variables", "".join(f"var x{i}: int64 = 0\n" for i in range(5000)), "F708"
    yield "defs that double", _defs(20), "F709"
    yield "procedures that double", _procedures(20), "F709"
    yield "100 nested ifs", _ifs(100), "F122"
    yield "nested options", "type T0 = bool\n" + "".join(
        f"type T{i} = map[bool, T{i - 1}]\n" for i in range(1, 300)
    ), "F708"  # fmt: skip


ABSURD = {name: (text, code) for name, text, code in _absurd()}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_sizes_are_refused_at_once(name: str) -> None:
    text, code = ABSURD[name]
    start = time.process_time()
    reported = codes(text + SKIP)
    assert time.process_time() - start < SOON
    assert {each[: len(code)] for each in reported} == {code}, problems(text + SKIP)[:3]


@pytest.mark.parametrize(
    "text",
    [
        f"type T = 0..{10**12}\nvar x: T = any",
        f"action b:\n    for i in 0..{10**12}: skip",
        "invariant I: forall i in int64: true",
        "action b(i in int32): skip",
        "var s: set[0..99] = {}\naction b(t in subsets(s)): s = t",
        "type S = seq[set[0..99], 600]\naction b(s in S) where len(s) < 2: skip",
        "type M = map[0..4000, int8]\ninvariant I: exists m in M: m[0] == 1",
        "type B = bag[int64, 1000]\naction b:\n    pick m in B where len(m) == 9",
    ],
)
def test_large_types_are_accepted_at_once(text: str) -> None:
    start = time.process_time()
    assert codes(text + SKIP) == []
    assert time.process_time() - start < SOON


def _chain(count: int) -> Iterator[tuple[str, str]]:
    yield "constants", "const C0: int = 0\n" + "".join(
        f"const C{i}: int = C{i - 1} + 1\n" for i in range(1, count)
    )  # fmt: skip
    yield "types", "record R0: f: bool\n" + "".join(
        f"type R{i} = R{i - 1}\n" for i in range(1, count)
    )  # fmt: skip


@pytest.mark.parametrize("name", ["constants", "types"])
def test_long_chains_are_fine_in_order(name: str) -> None:
    assert codes(dict(_chain(400))[name] + SKIP) == []


def _deep() -> Iterator[tuple[str, str, str]]:
    yield "constants backwards", "".join(
        f"const C{i}: int = C{i + 1} + 1\n" for i in range(400)
    ) + "const C400: int = 0\n", "F711"  # fmt: skip
    yield "types backwards", "".join(
        f"record R{i}: f: R{i + 1}\n" for i in range(400)
    ) + "record R400: f: bool\n", "F711"  # fmt: skip
    yield "defs", "def d0(n: int): int = n\n" + "".join(
        f"def d{i}(n: int): int = d{i - 1}(n) + 1\n" for i in range(1, 400)
    ), "F711"  # fmt: skip
    yield "procedures", "procedure p0: skip\n" + "".join(
        f"procedure p{i}: p{i - 1}()\n" for i in range(1, 400)
    ) + "action b: p399()\n", "F711"  # fmt: skip
    yield "lets", "var x: 0..9 = 0\naction b:\n    let a0 = x + 1\n" + "".join(
        f"    let a{i} = (a{i - 1} + 1) % 9\n" for i in range(1, 400)
    ), "F711"  # fmt: skip
    binders = ", ".join(f"x{i} in bool" for i in range(2000))
    yield "parameters", f"action b({binders}): skip\n", "F711"
    yield "quantifiers", f"invariant I: forall {binders}: true\n", "F711"
    names = ", ".join(f"A{i}" for i in range(2000))
    cases = "".join(f"        case A{i}: skip\n" for i in range(2000))
    enum = f"enum E: {names}\nvar e: E = A0\n"
    yield "cases", f"{enum}action b:\n    match e:\n{cases}", "F711"
    elifs = "".join(f"    elif e == A{i}: skip\n" for i in range(2000))
    yield "elifs", f"{enum}action b:\n    if e == A1: skip\n{elifs}", "F711"
    variants = ", ".join(f"V{i}(f: bool)" for i in range(300))
    yield "fields", f"union U: {variants}\nvar u: U = V0(true)\ninvariant I: u.f\n", "F711"
    indices = ", ".join(f"i{i}: bool" for i in range(300))
    yield "indices", f"channel c[{indices}]: bool capacity 1\n", "F708"
    parameters = ", ".join(f"n{i}: 0..9" for i in range(300))
    arguments = ", ".join("x + 0" for _ in range(300))
    yield (
        "arguments",
        (f"var x: 0..9 = 0\ndef f({parameters}): bool = true\ninvariant I: f({arguments})\n"),
        "F711",
    )


DEEP = {name: (text, code) for name, text, code in _deep()}


@pytest.mark.parametrize("name", DEEP)
def test_depth_is_refused_at_once(name: str) -> None:
    text, code = DEEP[name]
    start = time.process_time()
    reported = codes(text + SKIP)
    assert time.process_time() - start < SOON
    assert reported == [code], problems(text + SKIP)[:3]
