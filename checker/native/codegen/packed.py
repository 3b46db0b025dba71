# pyright: basic
"""Packed states in machine code: copied, compared, hashed and placed, whatever they mean."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from llvmlite import ir

from fencepost.checker.native.codegen.emitter import I32, I64, LLVM, PTR, VOID, Emitter, word

INLINE, UNROLLED = 8, 40
"""States of more words than this are compared and hashed by functions; and of more than that, by
loops.
"""
LANES = 4
"""Such functions hash so many parts of a state side by side, since each product waits for the one
before.
"""

I128 = ir.IntType(128)

DIGEST = "digest"
"""The name of 32 bytes in the memory of salted code: what the digest of its text was before."""

SALTS = {"salt0": 0x243F6A8885A308D3, "salt1": 0x13198A2E03707345}
"""The names of two words in the memory of the code that hashes depend on, and what they are before
others are drawn (see `salted`): any odd numbers without pattern do; these are digits of pi.
"""


def _salts(e: Emitter) -> list[LLVM]:
    """The words that hashes depend on."""
    return [_salt(e, name, number) for name, number in SALTS.items()]


def _salt(e: Emitter, name: str, number: int) -> LLVM:
    found: LLVM = e.unit.module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(e.unit.module, I64, name)
        found.linkage = "internal"
        found.global_constant = True
        found.initializer = word(number)
    return e.load(found)


def salted(text: str) -> str:
    """The text of a module, its salts drawn from all that stands in it.

    So a search hashes alike in every run and on every machine, and no spec can aim at a hash: the
    states that it would have to aim with are part of what the salts are drawn from.
    """
    digest = hashlib.sha256(text.encode()).digest()
    # For what depends on the text where it has not been written: see `build.digest`.
    parts = ", ".join(f"i64 {part}" for part in struct.unpack("<4q", digest))
    text += f'\n@"{DIGEST}" = constant [4 x i64] [{parts}]\n'
    for place, (name, number) in enumerate(SALTS.items()):
        drawn = int.from_bytes(digest[8 * place : 8 * place + 8], "little", signed=True) | 1
        line = f'\n@"{name}" = internal constant i64 '
        before, found, behind = text.partition(f"{line}{number}\n")
        assert found, "a module that hashes nothing"
        text = f"{before}{line}{drawn}\n{behind}"
    return text


def copy(e: Emitter, words: int, target: LLVM, source: LLVM) -> None:
    """Copies a state."""
    e.copy(target, source, words)


def same(e: Emitter, words: int, one: LLVM, other: LLVM) -> LLVM:
    """Whether two states are equal."""
    if words > INLINE:
        function = e.unit.helper(
            ("same", words), ir.IntType(1), [PTR, PTR], lambda inner: _same(inner, words)
        )
        return e.call(function, [one, other])
    return _alike(e, words, one, other)


def _alike(e: Emitter, words: int, one: LLVM, other: LLVM) -> LLVM:
    differences = [e.differ(e.get(one, place), e.get(other, place)) for place in range(words)]
    total = differences[0]
    for difference in differences[1:]:
        total = e.either(total, difference)
    return e.eq(total, word(0))


def _same(e: Emitter, words: int) -> None:
    one, other = e.arguments
    if words <= UNROLLED:
        e.ret(_alike(e, words, one, other))
        return
    place, head, equal, differ = e.cell(), e.block(), e.block(), e.block()
    e.store(word(0), place)
    e.goto(head)
    e.at(head)
    now = e.load(place)
    e.store(e.add(now, word(1)), place)
    onward = e.block()
    e.branch(e.eq(e.get(one, now), e.get(other, now)), onward, differ)
    e.at(onward)
    e.branch(e.eq(now, word(words - 1)), equal, head)
    for block, truth in ((equal, 1), (differ, 0)):
        e.at(block)
        e.ret(ir.Constant(ir.IntType(1), truth))


def hashed(e: Emitter, words: int, state: LLVM) -> LLVM:
    """The hash of a state: products of 128 bits, folded."""
    if words > INLINE:
        function = e.unit.helper(("hashed", words), I64, [PTR], lambda inner: _hashed(inner, words))
        return e.call(function, [state])
    return hashed_words(e, [e.get(state, place) for place in range(words)])


def hashed_words(e: Emitter, words: Sequence[LLVM]) -> LLVM:
    """The hash of some words."""
    total, other = _salts(e)
    for place in range(0, len(words), 2):
        first = e.differ(words[place], total)
        second = other
        if place + 1 < len(words):
            second = e.differ(words[place + 1], second)
        total = _fold(e, first, second)
    return total


def _hashed(e: Emitter, words: int) -> None:
    (state,) = e.arguments
    if words <= UNROLLED:
        found = [e.get(state, place) for place in range(words)]
        parts = [hashed_words(e, found[lane::LANES]) for lane in range(LANES)]
        e.ret(hashed_words(e, parts))
        return
    place, total = e.cell(), e.cell()
    e.store(word(words % 2), place)
    start, other = _salts(e)
    if words % 2:
        start = _fold(e, e.differ(e.load(state), start), other)
    e.store(start, total)
    head, end = e.block(), e.block()
    e.goto(head)
    e.at(head)
    now = e.load(place)
    first = e.differ(e.get(state, now), e.load(total))
    second = e.differ(e.get(state, e.add(now, word(1))), other)
    e.store(_fold(e, first, second), total)
    following = e.add(now, word(2))
    e.store(following, place)
    e.branch(e.eq(following, word(words)), end, head)
    e.at(end)
    e.ret(e.load(total))


def _fold(e: Emitter, one: LLVM, other: LLVM) -> LLVM:
    """The two halves of the product, one upon the other."""
    b = e.builder
    product = b.mul(b.zext(one, I128), b.zext(other, I128))
    return b.xor(b.trunc(product, I64), b.trunc(b.lshr(product, ir.Constant(I128, 64)), I64))


def prefetch(e: Emitter, place: LLVM) -> None:
    """Asks for the memory at ``place``, to be written to soon."""
    kind = ir.FunctionType(VOID, [PTR, I32, I32, I32])
    function = e.unit.module.declare_intrinsic("llvm.prefetch", [PTR], kind)
    e.call(function, [place, ir.Constant(I32, 1), ir.Constant(I32, 3), ir.Constant(I32, 1)])


def watched(e: Emitter, place: LLVM) -> LLVM:
    """The word at ``place``, which another thread may write at any time."""
    return e.builder.load_atomic(place, "monotonic", 8, typ=I64)


def address(e: Emitter, pointer: LLVM) -> LLVM:
    """A pointer as a number."""
    return e.builder.ptrtoint(pointer, I64)


def call_pointer(e: Emitter, pointer: LLVM, argument: LLVM) -> None:
    """Calls the function at an address: one that takes a word."""
    e.builder.call_address(pointer, argument)


# ---------------------------------------------------------------- places by hash


def owner_of(e: Emitter, hash_: LLVM, owners: LLVM) -> LLVM:
    """The worker that owns a state: bits 48 and up of the hash, scaled."""
    return e.shr(e.mul(e.shr(hash_, 48), owners), 16)


def table_of(e: Emitter, hash_: LLVM, count: LLVM) -> LLVM:
    """The number of the table of its owner: bits 32 to 47 of the hash, scaled."""
    return e.shr(e.mul(e.both(e.shr(hash_, 32), word(0xFFFF)), count), 16)


def home_of(e: Emitter, hash_: LLVM, capacity: LLVM) -> LLVM:
    """Where in a table of fewer than 2^32 places it is looked for first: the low bits, scaled."""
    return e.shr(e.mul(e.both(hash_, word(0xFFFFFFFF)), capacity), 32)
