# pyright: basic
"""Each instruction computes the operation in its name, also with constant operands."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import product

import pytest
from tests.support.core_builders import python_value
from tests.support.native_steps import called, compiled

from fencepost.checker.native.codegen.emitter import (
    I1,
    I64,
    LLVM,
    MASK,
    PTR,
    VOID,
    Emitter,
    Unit,
    flag,
    word,
)
from fencepost.spec.core.operators import Operator

NUMBERS = (0, 1, 2, 3, 7, 63, 64, 65, 1 << 31, (1 << 63) - 1, 1 << 63, MASK - 1, MASK)
Meaning = Callable[[int, int], int | None]


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


WORDS: dict[str, Meaning] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "both": lambda a, b: a & b,
    "either": lambda a, b: a | b,
    "differ": lambda a, b: a ^ b,
    "shl": lambda a, b: a << (b & 63),
    "shr": lambda a, b: a >> (b & 63),
    "udiv": lambda a, b: a // b if b else None,
    "urem": lambda a, b: a % b if b else None,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ult": lambda a, b: a < b,
    "slt": lambda a, b: signed(a) < signed(b),
    "sle": lambda a, b: signed(a) <= signed(b),
}
FLAGS: dict[str, Meaning] = {
    "both": lambda a, b: a & b,
    "either": lambda a, b: a | b,
    "differ": lambda a, b: a ^ b,
}


def results(emit: Callable[[Emitter, LLVM, LLVM], LLVM], pairs: list[tuple[int, int]]) -> list[int]:
    """Returns the results for pairs of numbers, four per pair: each operand is passed as a constant
    and as a loaded value.
    """
    unit = Unit("emitter")
    e = Emitter(unit, unit.declare("test", VOID, [PTR, PTR]))
    numbers, outputs = e.arguments
    for index, (a, b) in enumerate(pairs):
        read = [e.get(numbers, 2 * index), e.get(numbers, 2 * index + 1)]
        for way, (left, right) in enumerate(product((word(a), read[0]), (word(b), read[1]))):
            value = emit(e, left, right)
            e.put(outputs, 4 * index + way, e.as_word(value) if value.type == I1 else value)
    e.ret()
    inputs = (ctypes.c_uint64 * (2 * len(pairs)))(*(number for pair in pairs for number in pair))
    room = (ctypes.c_uint64 * (4 * len(pairs)))()
    called(compiled(str(unit.module), 0), "test", ctypes.addressof(inputs), ctypes.addressof(room))
    return list(room)


def agrees(emit: Callable[[Emitter, LLVM, LLVM], LLVM], meaning: Meaning, among: list[int]) -> None:
    pairs = [pair for pair in product(among, among) if meaning(*pair) is not None]
    wanted = [int(meaning(a, b) or 0) & MASK for a, b in pairs for _ in range(4)]
    assert results(emit, pairs) == wanted


@pytest.mark.parametrize("name", WORDS)
def test_words(name: str) -> None:
    def emit(e: Emitter, left: LLVM, right: LLVM) -> LLVM:
        return getattr(e, name)(left, right)

    agrees(emit, WORDS[name], list(NUMBERS))


@pytest.mark.parametrize("natural", [False, True])
@pytest.mark.parametrize("sign", Operator)
def test_integer_operators(sign: Operator, natural: bool) -> None:
    def emit(e: Emitter, left: LLVM, right: LLVM) -> LLVM:
        return e.arithmetic(sign, left, right, natural)

    def meaning(a: int, b: int) -> int | None:
        left, right = signed(a), signed(b)
        if (natural and (left < 0 or right < 0)) or (right == 0 and sign.row.divides):
            return None
        return python_value(sign, left, right)

    agrees(emit, meaning, list(NUMBERS))


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name: str) -> None:
    def emit(e: Emitter, left: LLVM, right: LLVM) -> LLVM:
        value = getattr(e, name)(e.as_flag(left), e.as_flag(right))
        assert value.type == I1
        return value

    agrees(emit, FLAGS[name], [0, 1])


def test_unary_operations() -> None:
    operations: dict[str, tuple[Callable[[Emitter, LLVM], LLVM], Callable[[int], int]]] = {
        "invert": (lambda e, a: e.invert(a), lambda a: ~a),
        "opposite": (lambda e, a: e.invert(e.as_flag(a)), lambda a: a == 0),
        "as_flag": (lambda e, a: e.as_flag(a), lambda a: a != 0),
        "count_ones": (lambda e, a: e.count_ones(a), lambda a: a.bit_count()),
        "lowest_one": (
            lambda e, a: e.lowest_one(a),
            lambda a: (a & -a).bit_length() - 1 if a else 64,
        ),
        "sar": (lambda e, a: e.sar(a, 3), lambda a: signed(a) >> 3),
        "sar by nothing": (lambda e, a: e.sar(a, 0), lambda a: a),
        "sar by one": (lambda e, a: e.sar(a, 1), lambda a: signed(a) >> 1),
        "byte": (lambda e, a: e.widened(e.as_byte(e.as_flag(a))), lambda a: a != 0),
        "byte set": (lambda e, a: e.is_byte_set(e.as_byte(e.as_flag(a))), lambda a: a != 0),
    }
    for name, (emit, meaning) in operations.items():
        pairs = [(number, 0) for number in NUMBERS]
        wanted = [int(meaning(number)) & MASK for number in NUMBERS for _ in range(4)]

        def first(e: Emitter, left: LLVM, _: LLVM, emit: Callable[..., LLVM] = emit) -> LLVM:
            return emit(e, left)

        assert results(first, pairs) == wanted, name


def test_a_choice_between_two() -> None:
    for fixed in (flag(True), flag(False), None):
        pairs: list[tuple[int, int]] = list(product((0, 1, 5), (0, 7)))

        def emit(e: Emitter, left: LLVM, right: LLVM, fixed: LLVM | None = fixed) -> LLVM:
            return e.select(e.as_flag(left) if fixed is None else fixed, left, right)

        taken = {True: lambda a, b: a, False: lambda a, b: b}
        if fixed is None:
            wanted = [a or b for a, b in pairs for _ in range(4)]
        else:
            wanted = [taken[bool(fixed.constant)](*pair) for pair in pairs for _ in range(4)]
        assert results(emit, pairs) == wanted


def test_tables_of_any_size() -> None:
    tables = [(), (7,), (MASK, 1 << 63, 0)]

    def emit(e: Emitter, left: LLVM, _: LLVM) -> LLVM:
        total = word(0)
        for words in tables:
            table = e.unit.table(words)
            assert e.unit.table(list(words)) is table
            for index in range(len(words) or 1):
                total = e.differ(e.add(total, total), e.get(table, index))
        return e.add(total, left)

    total = 0
    for number in (0, 7, MASK, 1 << 63, 0):
        total = (2 * total & MASK) ^ number
    assert results(emit, [(5, 0)]) == [(total + 5) & MASK] * 4


def test_stack_bytes_of_a_function() -> None:
    unit = Unit("rooms")
    e = Emitter(unit, unit.declare("some", VOID, []))
    for pointer in (e.cell(), e.cell(I1), e.words(3), e.words(1), e.words(0)):
        assert pointer.type == PTR
    assert unit.rooms == {"some": 8 + 8 + 24 + 8 + 8}
    for count in (5, 1, 0):
        e.bytes(count)
    assert unit.rooms == {"some": 56 + 5 + 1 + 1}
    other = Emitter(unit, unit.declare("other", VOID, []))
    other.words(2)
    assert unit.rooms == {"some": 63, "other": 16}


def test_pointers_declared_not_to_overlap() -> None:
    unit = Unit("pointers")
    parameters = [PTR, PTR, I64, PTR]

    def alone(function: LLVM) -> list[bool]:
        return ["noalias" in argument.attributes for argument in function.args]

    assert alone(unit.function("apart", VOID, parameters)) == [False, True, False, True]
    assert alone(unit.function("aliasing", VOID, parameters, aliasing=True)) == [False] * 4
    assert alone(unit.helper("key", VOID, parameters, Emitter.ret)) == [False] * 4


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 20])
def test_copies_and_clears_words(count: int) -> None:
    """The words before and after the target stay unchanged; source and target may overlap."""
    unit = Unit("blocks")
    e = Emitter(unit, unit.declare("test", VOID, [PTR, PTR, PTR]))
    source, target, cleared = e.arguments
    e.copy(e.index(target, 1), source, count)
    e.clear(e.index(cleared, 1), count)
    e.copy(e.index(source, 1), source, count)
    e.ret()
    size = count + 2
    rooms = [(ctypes.c_uint64 * size)(*range(10 * n + 1, 10 * n + 1 + size)) for n in range(3)]
    before = [list(room) for room in rooms]
    called(compiled(str(unit.module), 0), "test", *map(ctypes.addressof, rooms))
    after = [list(room) for room in rooms]
    assert after[0] == [before[0][0], *before[0][:count], before[0][-1]]
    assert after[1] == [before[1][0], *before[0][:count], before[1][-1]]
    assert after[2] == [before[2][0], *[0] * count, before[2][-1]]
