# pyright: basic
"""Quotient tables: hash tables of pairs of numbers that store only the bits not implied by the
slot.

A key is a pair (left, right) with left < 2^LEFT_BITS and right < 2^(RIGHT_BITS + TABLE_BITS). The
low bits of ``right``, xored with a hash of the rest, select the table. This hash does not depend on
the widths, so each table can be widened separately. The rest of the key is permuted into KEY_BITS
bits. The high part of the permuted key selects the home of the key, which is a line of 64 bytes;
the bits implied by the line are not stored. An entry consists of the lowest bits of the permuted
key and, below them, the number of the probe that found its line: 1 to `TRIES`, or 0 for a free
slot.

A line begins with the low bytes of its SLOTS entries, which are compared together. The other BODY
bits of each entry follow. Lines fill from the front, so a search ends at the first free slot.
"""

from __future__ import annotations

from enum import IntEnum, auto

from llvmlite import ir

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import I8, I32, I64, LLVM, Emitter, word
from fencepost.checker.native.codegen.flow import each, when
from fencepost.checker.native.codegen.packed import I128

TABLE_BITS = 5
TABLE_COUNT = 1 << TABLE_BITS
LINE_BYTES = 64
PLACE_BITS = 3
TRIES = 6
MAX_DISTANCE = 1 << (TRIES - 1)
"""The number of additional lines after the last home. Since adjacent lines fill up together, the
probes examine lines at distances 0, 1, 3, 7, ... from the home.
"""

_BYTES = ir.VectorType(I8, LINE_BYTES)


class Quotient(IntEnum):
    """The words of a table's descriptor."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count

    ADDRESS = auto()
    LINES = auto()  # the number of homes; MAX_DISTANCE more lines follow
    COUNT = auto()
    LIMIT = auto()  # the maximum number of keys
    LEFT_BITS = auto()
    RIGHT_BITS = auto()  # without the bits that select the table
    KEY_BITS = auto()  # LEFT_BITS + RIGHT_BITS
    REST = auto()  # a mask of the stored bits of a permuted key
    SLOTS = auto()
    SLOT_MASK = auto()  # one bit per slot
    BODY = auto()  # the number of bits of an entry beyond its low byte
    BODY_MASK = auto()


QUOTIENT_WORDS = len(Quotient)


class Factor(IntEnum):
    """The words of the array of mixing factors: two odd numbers and their inverses."""

    ONE = 0
    TWO = 1
    ONE_BACK = 2
    TWO_BACK = 3


def factors(first: int, second: int) -> list[int]:
    """Returns the array of mixing factors for two odd numbers, in the order of `Factor`."""
    return [first, second, pow(first, -1, 1 << 64), pow(second, -1, 1 << 64)]


class Keys:
    """Looks up keys in the tables whose descriptors start at ``tables``. ``mix`` is the address of
    an array as returned by `factors`.
    """

    def __init__(self, e: Emitter, tables: LLVM, mix: LLVM) -> None:
        self._e = e
        self._tables = tables
        self._one, self._two = e.get(mix, Factor.ONE), e.get(mix, Factor.TWO)
        self._line, self._slot, self._entry = e.cell(ir.PointerType()), e.cell(), e.cell()

    def table_of(self, left: LLVM, right: LLVM) -> LLVM:
        """Returns the number of the table that a key belongs to."""
        e = self._e
        rest = e.either(e.shl(left, 32), e.shr(right, TABLE_BITS))
        turned = e.mul(rest, self._two)
        turned = e.mul(e.differ(turned, e.shr(turned, 32)), self._one)
        turned = e.shr(turned, 64 - TABLE_BITS)
        return e.both(e.differ(right, turned), word(TABLE_COUNT - 1))

    def table(self, number: LLVM) -> LLVM:
        """Returns the address of a table's descriptor."""
        return self._e.index(self._tables, self._e.mul(number, word(QUOTIENT_WORDS)))

    def permuted(self, table: LLVM, left: LLVM, right: LLVM) -> LLVM:
        """Returns the permuted key. The table's widths must suffice for both halves."""
        e = self._e
        key = e.either(e.shl(left, e.get(table, Quotient.RIGHT_BITS)), e.shr(right, TABLE_BITS))
        return _mixed(e, key, e.get(table, Quotient.KEY_BITS), self._one, self._two)

    def home(self, table: LLVM, key: LLVM) -> LLVM:
        """Returns the home line of a permuted key."""
        e, b = self._e, self._e.builder
        # The high part of the key, scaled by the number of lines.
        high = e.shl(key, e.sub(word(64), e.get(table, Quotient.KEY_BITS)))
        product = b.mul(b.zext(high, I128), b.zext(e.get(table, Quotient.LINES), I128))
        number = b.trunc(b.lshr(product, ir.Constant(I128, 64)), I64)
        return e.index(
            e.pointer(table, Quotient.ADDRESS), e.shl(number, LINE_BYTES.bit_length() - 1), I8
        )

    def find(self, table: LLVM, key: LLVM, home: LLVM, exists: LLVM | None, crowded: LLVM) -> None:
        """Jumps to ``exists`` if the table contains the key, or to ``crowded`` if all lines that
        may hold the key are full. Otherwise continues. If ``exists`` is None, the caller guarantees
        that the key is new.
        """
        e, b = self._e, self._e.builder
        rest = e.shl(e.both(key, e.get(table, Quotient.REST)), PLACE_BITS)
        slots = e.get(table, Quotient.SLOT_MASK)
        tries, hits = e.cell(), e.cell()
        e.store(word(0), tries)
        look, further, room, new = (e.block(name) for name in ("line", "on", "room", "new"))
        e.goto(look)
        e.at(look)
        now = e.load(tries)
        away = e.sub(e.shl(word(1), now), word(1))
        line = e.index(home, e.shl(away, LINE_BYTES.bit_length() - 1), I8)
        entry = e.either(rest, e.add(now, word(1)))
        e.store(line, self._line)
        e.store(entry, self._entry)
        low = b.load(line, typ=_BYTES, align=LINE_BYTES)
        if exists is not None:
            e.store(e.both(_equal(e, low, b.trunc(entry, I8)), slots), hits)
            hit, compare = e.block("hit"), e.block("compare")
            e.goto(hit)
            e.at(hit)
            left = e.load(hits)
            e.branch(e.as_flag(left), compare, room)
            e.at(compare)
            slot = e.lowest_one(left)
            e.store(slot, self._slot)
            e.store(e.both(left, e.sub(left, word(1))), hits)
            address, shift = _body(e, table, line, slot)
            body = e.both(
                e.shr(b.load(address, typ=I64, align=1), shift), e.get(table, Quotient.BODY_MASK)
            )
            e.branch(e.eq(body, e.shr(entry, 8)), exists, hit)
        else:
            e.goto(room)
        e.at(room)
        free = e.both(_equal(e, low, ir.Constant(I8, 0)), slots)
        e.store(e.lowest_one(free), self._slot)
        e.branch(e.as_flag(free), new, further)
        e.at(further)
        following = e.add(e.load(tries), word(1))
        e.store(following, tries)
        e.unlikely(e.eq(following, word(TRIES)), crowded, look)
        e.at(new)

    def add(self, table: LLVM) -> None:
        """Adds the key that the preceding `find` did not find."""
        e, b = self._e, self._e.builder
        line, slot, entry = (
            e.load(self._line, ir.PointerType()),
            e.load(self._slot),
            e.load(self._entry),
        )
        e.store(b.trunc(entry, I8), e.index(line, slot, I8))
        address, shift = _body(e, table, line, slot)
        more = e.either(b.load(address, typ=I64, align=1), e.shl(e.shr(entry, 8), shift))
        b.store(more, address, align=1)
        e.put(table, Quotient.COUNT, e.add(e.get(table, Quotient.COUNT), word(1)))


def move(e: Emitter) -> None:
    """move(ctx, mix, old, new): copies the keys of table ``old`` into the empty table ``new``. Sets
    DONE to 0 if all keys fit, and to 1 otherwise.
    """
    ctx, mix, old, new = e.arguments
    b, keys = e.builder, Keys(e, new, mix)
    crowded = e.block("crowded")
    bits, lines = e.get(old, Quotient.KEY_BITS), e.get(old, Quotient.LINES)
    # Line n is the home of the keys that start at ceil(n * 2^bits / lines).
    range_ = e.shl(word(1), bits)
    whole, part = e.udiv(range_, lines), e.urem(range_, lines)
    least = e.words(MAX_DISTANCE)
    for address in range(MAX_DISTANCE):
        e.put(least, address, word(0))
    start = e.pointer(old, Quotient.ADDRESS)
    same = e.both(
        e.eq(e.get(old, Quotient.LEFT_BITS), e.get(new, Quotient.LEFT_BITS)),
        e.eq(e.get(old, Quotient.RIGHT_BITS), e.get(new, Quotient.RIGHT_BITS)),
    )
    key = e.cell()
    with each(e, e.add(lines, word(MAX_DISTANCE))) as number:
        line = e.index(start, e.shl(number, LINE_BYTES.bit_length() - 1), I8)
        rounded = e.sub(e.add(e.mul(number, part), lines), word(1))
        first = e.add(e.mul(number, whole), e.udiv(rounded, lines))
        e.store(first, e.index(least, e.both(number, word(MAX_DISTANCE - 1))))
        slots, ended, slot = e.get(old, Quotient.SLOTS), e.block("ended"), e.cell()
        e.store(word(0), slot)
        head, one, some, next_ = (e.block(name) for name in ("slot", "one", "some", "next"))
        e.goto(head)
        e.at(head)
        now = e.load(slot)
        e.branch(e.ult(now, slots), one, ended)
        e.at(one)
        low = e.widened(b.load(e.index(line, now, I8), typ=I8))
        e.store(e.add(now, word(1)), slot)
        e.branch(e.eq(low, word(0)), ended, some)
        e.at(some)
        code = e.both(low, word((1 << PLACE_BITS) - 1))
        address, shift = _body(e, old, line, now)
        body = e.both(
            e.shr(b.load(address, typ=I64, align=1), shift), e.get(old, Quotient.BODY_MASK)
        )
        rest = e.shr(e.either(e.shl(body, 8), low), PLACE_BITS)
        away = e.sub(e.shl(word(1), e.sub(code, word(1))), word(1))
        home = e.both(e.sub(number, away), word(MAX_DISTANCE - 1))
        least_key = e.load(e.index(least, home))
        e.store(e.add(least_key, e.both(e.sub(rest, least_key), e.get(old, Quotient.REST))), key)
        with when(e, e.invert(same)):
            plain = _mixed(
                e, e.load(key), bits, e.get(mix, Factor.TWO_BACK), e.get(mix, Factor.ONE_BACK)
            )
            old_right = e.get(old, Quotient.RIGHT_BITS)
            right = e.both(plain, e.sub(e.shl(word(1), old_right), word(1)))
            left = e.shr(plain, old_right)
            e.store(keys.permuted(new, left, e.shl(right, TABLE_BITS)), key)
        moved = e.load(key)
        keys.find(new, moved, keys.home(new, moved), None, crowded)
        keys.add(new)
        e.goto(next_)
        e.at(next_)
        e.goto(head)
        e.at(ended)
    e.put(ctx, Word.DONE, word(0))
    e.ret()
    e.at(crowded)
    e.put(ctx, Word.DONE, word(1))
    e.ret()


def _mixed(e: Emitter, key: LLVM, bits: LLVM, first: LLVM, second: LLVM) -> LLVM:
    """Applies a permutation of the numbers with ``bits`` bits to ``key``. The inverse permutation
    uses the inverse factors in reverse order.
    """
    half = e.shr(e.add(bits, word(1)), 1)
    mask = e.sub(e.shl(word(1), bits), word(1))
    for factor in (first, second):
        key = e.differ(key, e.shr(key, half))
        key = e.both(e.mul(key, factor), mask)
    return e.differ(key, e.shr(key, half))


def _equal(e: Emitter, line: LLVM, byte: LLVM) -> LLVM:
    """Compares each byte of a line with ``byte`` and returns one bit per byte."""
    b = e.builder
    vector = b.insert_element(ir.Constant(_BYTES, ir.Undefined), byte, ir.Constant(I32, 0))
    places = ir.Constant(ir.VectorType(I32, LINE_BYTES), [ir.Constant(I32, 0)] * LINE_BYTES)
    all_ = b.shuffle_vector(vector, ir.Constant(_BYTES, ir.Undefined), places)
    return b.bitcast(b.icmp_unsigned("==", line, all_), I64)


def _body(e: Emitter, table: LLVM, line: LLVM, slot: LLVM) -> tuple[LLVM, LLVM]:
    """Returns the address and the bit offset of an entry's body."""
    bit = e.add(e.shl(e.get(table, Quotient.SLOTS), 3), e.mul(slot, e.get(table, Quotient.BODY)))
    return e.index(line, e.shr(bit, 3), I8), e.both(bit, word(7))
