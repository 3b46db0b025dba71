# pyright: basic
"""Operations on packed states in machine code: copying, comparing, hashing, and selecting the slot
of a state.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from llvmlite import ir

from fencepost.checker.native.codegen.emitter import I32, I64, LLVM, PTR, VOID, Emitter, word

INLINE, UNROLLED = 8, 40
"""States with more than ``INLINE`` words are compared and hashed by separate functions. The
functions contain loops if there are more than ``UNROLLED`` words.
"""
LANES = 4
"""The number of parts of a state that these functions hash independently of each other, because
each product has to wait for the previous one.
"""

I128 = ir.IntType(128)

DIGEST = "digest"
"""The name of 32 bytes in the memory of salted code, which contain the digest of the text before
salting.
"""

SALTS = {"salt0": 0x243F6A8885A308D3, "salt1": 0x13198A2E03707345}
"""The names of the two words in memory that hashes depend on, and their values before salting (see
`salted`). Any odd numbers without a regular pattern would do; these are digits of pi.
"""


def _salts(e: Emitter) -> list[LLVM]:
    """Loads the words that hashes depend on."""
    return [_salt(e, name, number) for name, number in SALTS.items()]


def _salt(e: Emitter, name: str, number: int) -> LLVM:
    variable: LLVM = e.unit.module.globals.get(name)
    if variable is None:
        variable = ir.GlobalVariable(e.unit.module, I64, name)
        variable.linkage = "internal"
        variable.global_constant = True
        variable.initializer = word(number)
    return e.load(variable)


def salted(text: str) -> str:
    """Returns the text of a module with salts that are derived from the whole text.

    A search therefore computes the same hashes in every run and on every machine. Nevertheless, no
    spec can be written to cause collisions, since adapting the spec to the hashes would also change
    the salts.
    """
    digest = hashlib.sha256(text.encode()).digest()
    # The digest is for data that depends on the text but does not store it: see `build.digest`.
    parts = ", ".join(f"i64 {part}" for part in struct.unpack("<4q", digest))
    text += f'\n@"{DIGEST}" = constant [4 x i64] [{parts}]\n'
    for index, (name, number) in enumerate(SALTS.items()):
        salt = int.from_bytes(digest[8 * index : 8 * index + 8], "little", signed=True) | 1
        line = f'\n@"{name}" = internal constant i64 '
        before, line_found, rest = text.partition(f"{line}{number}\n")
        assert line_found, "a module that hashes nothing"
        text = f"{before}{line}{salt}\n{rest}"
    return text


def copy(e: Emitter, words: int, target: LLVM, source: LLVM) -> None:
    """Copies a state."""
    e.copy(target, source, words)


def same(e: Emitter, words: int, left: LLVM, right: LLVM) -> LLVM:
    """Returns whether two states are equal."""
    if words > INLINE:
        function = e.unit.helper(
            ("same", words), ir.IntType(1), [PTR, PTR], lambda inner: _same(inner, words)
        )
        return e.call(function, [left, right])
    return _alike(e, words, left, right)


def _alike(e: Emitter, words: int, left: LLVM, right: LLVM) -> LLVM:
    differences = [e.differ(e.get(left, index), e.get(right, index)) for index in range(words)]
    total = differences[0]
    for difference in differences[1:]:
        total = e.either(total, difference)
    return e.eq(total, word(0))


def _same(e: Emitter, words: int) -> None:
    left, right = e.arguments
    if words <= UNROLLED:
        e.ret(_alike(e, words, left, right))
        return
    index, head, equal, differ = e.cell(), e.block(), e.block(), e.block()
    e.store(word(0), index)
    e.goto(head)
    e.at(head)
    now = e.load(index)
    e.store(e.add(now, word(1)), index)
    next_word = e.block()
    e.branch(e.eq(e.get(left, now), e.get(right, now)), next_word, differ)
    e.at(next_word)
    e.branch(e.eq(now, word(words - 1)), equal, head)
    for block, truth in ((equal, 1), (differ, 0)):
        e.at(block)
        e.ret(ir.Constant(ir.IntType(1), truth))


def hashed(e: Emitter, words: int, state: LLVM) -> LLVM:
    """Hashes a state by folding 128-bit products."""
    if words > INLINE:
        function = e.unit.helper(("hashed", words), I64, [PTR], lambda inner: _hashed(inner, words))
        return e.call(function, [state])
    return hashed_words(e, [e.get(state, index) for index in range(words)])


def hashed_words(e: Emitter, words: Sequence[LLVM]) -> LLVM:
    """Hashes a sequence of words."""
    total, other = _salts(e)
    for index in range(0, len(words), 2):
        first = e.differ(words[index], total)
        second = other
        if index + 1 < len(words):
            second = e.differ(words[index + 1], second)
        total = _fold(e, first, second)
    return total


def _hashed(e: Emitter, words: int) -> None:
    (state,) = e.arguments
    if words <= UNROLLED:
        contents = [e.get(state, index) for index in range(words)]
        parts = [hashed_words(e, contents[lane::LANES]) for lane in range(LANES)]
        e.ret(hashed_words(e, parts))
        return
    index, total = e.cell(), e.cell()
    e.store(word(words % 2), index)
    start, other = _salts(e)
    if words % 2:
        start = _fold(e, e.differ(e.load(state), start), other)
    e.store(start, total)
    head, end = e.block(), e.block()
    e.goto(head)
    e.at(head)
    now = e.load(index)
    first = e.differ(e.get(state, now), e.load(total))
    second = e.differ(e.get(state, e.add(now, word(1))), other)
    e.store(_fold(e, first, second), total)
    following = e.add(now, word(2))
    e.store(following, index)
    e.branch(e.eq(following, word(words)), end, head)
    e.at(end)
    e.ret(e.load(total))


def _fold(e: Emitter, left: LLVM, right: LLVM) -> LLVM:
    """Returns the exclusive or of the two halves of the product."""
    b = e.builder
    product = b.mul(b.zext(left, I128), b.zext(right, I128))
    return b.xor(b.trunc(product, I64), b.trunc(b.lshr(product, ir.Constant(I128, 64)), I64))


def prefetch(e: Emitter, target: LLVM) -> None:
    """Prefetches the memory at ``target`` for writing."""
    kind = ir.FunctionType(VOID, [PTR, I32, I32, I32])
    function = e.unit.module.declare_intrinsic("llvm.prefetch", [PTR], kind)
    e.call(function, [target, ir.Constant(I32, 1), ir.Constant(I32, 3), ir.Constant(I32, 1)])


def watched(e: Emitter, source: LLVM) -> LLVM:
    """Loads the word at ``source``, which another thread may write at any time."""
    return e.builder.load_atomic(source, "monotonic", 8, typ=I64)


def address(e: Emitter, pointer: LLVM) -> LLVM:
    """Converts a pointer to a number."""
    return e.builder.ptrtoint(pointer, I64)


def call_pointer(e: Emitter, pointer: LLVM, argument: LLVM) -> None:
    """Calls the function at an address. The function takes one word."""
    e.builder.call_address(pointer, argument)


# ---------------------------------------------------------------- owners, tables and slots by hash


def owner_of(e: Emitter, hash_: LLVM, owners: LLVM) -> LLVM:
    """Returns the worker that owns a state, determined by bits 48 and up of the hash."""
    return e.shr(e.mul(e.shr(hash_, 48), owners), 16)


def table_of(e: Emitter, hash_: LLVM, count: LLVM) -> LLVM:
    """Returns the number of the owner's table, determined by bits 32 to 47 of the hash."""
    return e.shr(e.mul(e.both(e.shr(hash_, 32), word(0xFFFF)), count), 16)


def home_of(e: Emitter, hash_: LLVM, capacity: LLVM) -> LLVM:
    """Returns the home slot in a table of fewer than 2^32 slots, determined by the low 32 bits of
    the hash.
    """
    return e.shr(e.mul(e.both(hash_, word(0xFFFFFFFF)), capacity), 32)
