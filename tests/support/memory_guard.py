# pyright: basic
# mypy: allow-subclassing-any
# llvmlite is untyped.
"""Instruments machine code to check every memory access, division and shift.

`guard` changes a module before LLVM sees it. All memory of the module then comes from an `Arena`,
whose shadow records for each byte whether it may be accessed and whether it has been written. A
fault is recorded and made harmless: the access goes to a dummy location, and the run continues.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from llvmlite import ir
from llvmlite.ir import instructions

from fencepost.checker.native.codegen import emitter
from fencepost.checker.native.codegen.emitter import I8, I64, LLVM, PTR, VOID, Emitter, Unit, word

FORBIDDEN, FRESH, WRITTEN = 0, 1, 2
RED_ZONE = 64
"""The number of bytes between two blocks of memory; they must not be accessed."""
CANARY = 0xA5
"""The content of the red zones."""
HEADER = 4
"""The number of words at the beginning of an arena; they hold the used size and the first fault."""
USED, FAULT, WHERE, ADDRESS = range(HEADER)
KINDS = {
    1: "reads memory that is not its own",
    2: "reads memory that was never written",
    3: "writes memory that is not its own",
    4: "needs more memory than there is",
    5: "divides by zero",
    6: "divides the least number by -1",
    7: "shifts by 64 or more",
}


class Inspectable(ir.IRBuilder):
    """llvmlite's own builder, which creates instructions as objects that a guard can inspect."""

    def gep(self, ptr: LLVM, indices: Sequence[LLVM], **options: LLVM) -> LLVM:
        pointer = super().gep(ptr, indices, **options)
        pointer.type = PTR  # LLVM has only opaque pointers.
        return pointer

    def unlikely(self, condition: LLVM, then: LLVM, other: LLVM) -> None:
        """Branches like `cbranch`, with a hint that ``then`` is unlikely."""
        self.cbranch(condition, then, other).set_weights([1, 1000])


@contextmanager
def inspectable() -> Generator[None]:
    """Makes emitters that are created within the block build inspectable instructions.

    The resulting text is the same.
    """
    with patch.object(emitter, "Builder", Inspectable):
        yield


@dataclass(frozen=True, slots=True)
class Fault:
    """The first fault of the machine code: its instruction, and the function that contains it."""

    kind: str
    function: str
    instruction: str
    address: int


class Arena:
    """Memory for machine code: ``size`` bytes, followed by the same amount of shadow and a dummy
    location.

    Unguarded code can use an arena as well. The red zones then show whether it wrote outside its
    arrays.
    """

    def __init__(self, size: int = 1 << 25) -> None:
        self.size = size
        # Pages take up memory only once they are accessed.
        self._memory = mmap.mmap(-1, 3 * size + 64)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.base = -(-start // 64) * 64
        self._words = (ctypes.c_uint64 * HEADER).from_address(self.base)
        self._words[USED] = 8 * HEADER
        self._zones: list[int] = []
        self._end_zone()

    def take(self, words: int) -> Any:
        """Returns a zeroed array of words for the caller; it counts as written."""
        count = 8 * max(words, 1)
        start = self._words[USED]
        assert start + count < self.size // 2, "the arena is too small"
        self._words[USED] = start + count
        ctypes.memset(self.base + self.size + start, WRITTEN, count)
        self._end_zone()
        return (ctypes.c_uint64 * max(words, 1)).from_address(self.base + start)

    def _end_zone(self) -> None:
        start = self.base + self._words[USED]
        ctypes.memset(start, CANARY, RED_ZONE)
        self._zones.append(start)
        self._words[USED] += RED_ZONE

    @property
    def intact(self) -> bool:
        """Whether the red zones between arrays are unchanged."""
        untouched = bytes([CANARY]) * RED_ZONE
        return all(ctypes.string_at(start, RED_ZONE) == untouched for start in self._zones)

    @property
    def noted(self) -> tuple[int, int, int] | None:
        """The first fault: its kind, the number of the instruction, and the address."""
        kind = self._words[FAULT]
        return (kind, self._words[WHERE], self._words[ADDRESS]) if kind else None

    def forgive(self) -> None:
        """Clears the fault."""
        self._words[FAULT] = 0


class Guard:
    """The checks added to one module, and the faults they have found."""

    def __init__(self, unit: Unit, arena: Arena) -> None:
        """Instruments all functions that the module has so far."""
        self.arena = arena
        self._unit = unit
        self._places: list[tuple[str, str]] = []
        functions = [function for function in unit.module.functions if function.blocks]
        self._tables = [
            item for item in unit.module.globals.values() if isinstance(item, ir.GlobalVariable)
        ]
        self._room = self._function("room", PTR, [I64, I64], self._body_of_room)
        self._leave = self._function("leave", VOID, [I64], self._body_of_leave)
        self._read = self._function("read", PTR, [PTR, I64, I64], lambda e: self._access(e, False))
        self._write = self._function("write", PTR, [PTR, I64, I64], lambda e: self._access(e, True))
        self._divisor = self._function("divisor", I64, [I64, I64, I64, I64], self._body_of_divisor)
        self._shift = self._function("shift", I64, [I64, I64], self._body_of_shift)
        for function in functions:
            self._change(function)

    def fault(self) -> Fault | None:
        """The first fault since the last one was cleared."""
        noted = self.arena.noted
        if noted is None:
            return None
        kind, where, address = noted
        return Fault(KINDS[kind], *self._places[where], address - self.arena.base)

    # ------------------------------------------------------------ the checks

    def _function(self, name: str, result: LLVM, parameters: Sequence[LLVM], body: Any) -> LLVM:
        function = self._unit.function(f"guard_{name}", result, parameters, aliasing=True)
        function.attributes.add("noinline")
        body(Emitter(self._unit, function))
        return function

    def _header(self, e: Emitter, index: int) -> LLVM:
        return e.builder.inttoptr(word(self.arena.base + 8 * index), PTR)

    def _sink(self, e: Emitter) -> LLVM:
        return e.builder.inttoptr(word(self.arena.base + 2 * self.arena.size), PTR)

    def _note(self, e: Emitter, kind: LLVM, where: LLVM, address: LLVM) -> None:
        first, on = e.block(), e.block()
        e.branch(e.eq(e.load(self._header(e, FAULT)), word(0)), first, on)
        e.at(first)
        e.store(kind, self._header(e, FAULT))
        e.store(where, self._header(e, WHERE))
        e.store(address, self._header(e, ADDRESS))
        e.goto(on)
        e.at(on)

    def _set_shadow(self, e: Emitter, start: LLVM, count: LLVM, value: int) -> None:
        fill = self._unit.intrinsic("llvm.memset", [PTR, I64], VOID, [PTR, I8, I64, ir.IntType(1)])
        shadow = e.builder.inttoptr(e.add(start, word(self.arena.size)), PTR)
        e.builder.call(fill, [shadow, I8(value), count, ir.IntType(1)(0)])

    def _body_of_room(self, e: Emitter) -> None:
        """Builds room(bytes, where), which returns fresh memory until the function returns."""
        count, where = e.arguments
        used = e.load(self._header(e, USED))
        start = e.add(e.both(e.add(used, word(7)), word(-8)), word(RED_ZONE))
        end = e.add(start, count)
        good, bad = e.block(), e.block()
        e.branch(e.ult(end, word(self.arena.size - RED_ZONE)), good, bad)
        e.at(bad)
        self._note(e, word(4), where, end)
        e.ret(self._sink(e))
        e.at(good)
        e.store(end, self._header(e, USED))
        address = e.add(start, word(self.arena.base))
        self._set_shadow(e, address, count, FRESH)
        e.ret(e.builder.inttoptr(address, PTR))

    def _body_of_leave(self, e: Emitter) -> None:
        """Builds leave(used), which frees the memory taken since."""
        (before,) = e.arguments
        used = e.load(self._header(e, USED))
        self._set_shadow(e, e.add(before, word(self.arena.base)), e.sub(used, before), FORBIDDEN)
        e.store(before, self._header(e, USED))
        e.ret()

    def _access(self, e: Emitter, writes: bool) -> None:
        """Builds read(pointer, bytes, where) or write(...), which return the pointer, or one to the
        dummy location.
        """
        pointer, count, where = e.arguments
        address = e.builder.ptrtoint(pointer, I64)
        offset = e.sub(address, word(self.arena.base))
        size = self.arena.size
        own, other, bad = e.block(), e.block(), e.block()
        inside = e.both(e.ult(offset, word(size)), e.ult(count, e.sub(word(size), offset)))
        e.branch(inside, own, other)
        e.at(other)
        if not writes:
            for table in self._tables:
                start = e.builder.ptrtoint(table, I64)
                length = _bytes(table.value_type)
                within = e.both(
                    e.ult(e.sub(address, start), word(length)),
                    e.sle(e.add(e.sub(address, start), count), word(length)),
                )
                good, on = e.block(), e.block()
                e.branch(within, good, on)
                e.at(good)
                e.ret(pointer)
                e.at(on)
        e.goto(bad)
        e.at(own)
        index = e.cell()
        e.store(word(0), index)
        head, look, each, end = (e.block() for _ in range(4))
        e.goto(head)
        e.at(head)
        now = e.load(index)
        e.branch(e.ult(now, count), look, end)
        e.at(look)
        shadow = e.builder.inttoptr(e.add(e.add(address, word(size)), now), PTR)
        mark = e.builder.zext(e.load(shadow, I8), I64)
        e.store(e.add(now, word(1)), index)
        e.branch(e.eq(mark, word(FORBIDDEN)), bad, each)
        e.at(each)
        if writes:
            e.store(I8(WRITTEN), shadow)
            e.goto(head)
        else:
            fresh = e.block()
            e.branch(e.eq(mark, word(FRESH)), fresh, head)
            e.at(fresh)
            self._note(e, word(2), where, address)
            e.ret(pointer)
        e.at(end)
        e.ret(pointer)
        e.at(bad)
        self._note(e, word(3 if writes else 1), where, address)
        e.ret(self._sink(e))

    def _body_of_divisor(self, e: Emitter) -> None:
        """Builds divisor(left, right, signed, where), which returns the divisor, or 1 if it must
        not be used.
        """
        left, right, signed, where = e.arguments
        zero, some, least, good = (e.block() for _ in range(4))
        e.branch(e.eq(right, word(0)), zero, some)
        e.at(zero)
        self._note(e, word(5), where, word(0))
        e.ret(word(1))
        e.at(some)
        wrong = e.both(e.eq(right, word(-1)), e.eq(left, word(1 << 63)))
        e.branch(e.both(wrong, e.as_flag(signed)), least, good)
        e.at(least)
        self._note(e, word(6), where, word(0))
        e.ret(word(1))
        e.at(good)
        e.ret(right)

    def _body_of_shift(self, e: Emitter) -> None:
        """Builds shift(by, where), which returns a number of bits that is less than 64."""
        by, where = e.arguments
        good, bad = e.block(), e.block()
        e.branch(e.ult(by, word(64)), good, bad)
        e.at(bad)
        self._note(e, word(7), where, by)
        e.goto(good)
        e.at(good)
        e.ret(e.both(by, word(63)))

    # ------------------------------------------------------------ instrumentation

    def _change(self, function: LLVM) -> None:
        rooms: dict[int, LLVM] = {}
        kept = [item for block in function.blocks for item in block.instructions]
        allocated = any(isinstance(item, instructions.AllocaInstr) for item in kept)
        before: LLVM = None
        for block in function.blocks:
            old, block.instructions = block.instructions, []
            builder = ir.IRBuilder(block)
            if block is function.entry_basic_block and allocated:
                header = builder.inttoptr(word(self.arena.base + 8 * USED), PTR)
                before = builder.load(header, typ=I64)
            for item in old:
                builder.position_at_end(block)
                if isinstance(item, instructions.AllocaInstr):
                    count = word(_bytes(item.allocated_type))
                    rooms[id(item)] = builder.call(self._room, [count, self._location(item)])
                    continue
                self._check(builder, item)
                if allocated and isinstance(item, instructions.Ret):
                    builder.call(self._leave, [before])
                block.instructions.append(item)
        for block in function.blocks:
            for item in block.instructions:
                for operand in list(item.operands):
                    if id(operand) in rooms:
                        item.replace_usage(operand, rooms[id(operand)])
                if isinstance(item, instructions.GEPInstr):
                    item.pointer = item.operands[0]
                assert not isinstance(item, instructions.PhiInstr) or item.type != PTR, item

    def _location(self, item: LLVM) -> LLVM:
        parts: list[str] = []
        item.descr(parts)
        self._places.append((item.function.name, "".join(parts).strip()))
        return word(len(self._places) - 1)

    def _check(self, builder: LLVM, item: LLVM) -> None:
        def checked(function: LLVM, operand: int, *arguments: LLVM) -> None:
            checked_call = builder.call(function, [*arguments, self._location(item)])
            operands = list(item.operands)
            operands[operand] = checked_call
            item.operands = operands

        match item:
            case instructions.LoadInstr() | instructions.LoadAtomicInstr():
                checked(self._read, 0, item.operands[0], word(_bytes(item.type)))
            case instructions.StoreInstr() | instructions.StoreAtomicInstr():
                count = word(_bytes(item.operands[0].type))
                checked(self._write, 1, item.operands[1], count)
            case instructions.CallInstr() if item.callee.name.startswith("llvm.memmove"):
                checked(self._read, 2, item.operands[2], item.operands[3])
                checked(self._write, 1, item.operands[1], item.operands[3])
            case instructions.CallInstr() if item.callee.name.startswith("llvm.memset"):
                checked(self._write, 1, item.operands[1], item.operands[3])
            case instructions.CallInstr():
                allowed = ("llvm.ctlz", "llvm.ctpop", "llvm.cttz", "llvm.prefetch")
                name = item.callee.name
                assert not name.startswith("llvm.") or name.startswith(allowed), name
            case instructions.Instruction(opname="udiv" | "urem" | "sdiv" | "srem"):
                signed = word(item.opname.startswith("s"))
                checked(self._divisor, 1, *item.operands, signed)
            case instructions.Instruction(opname="shl" | "lshr" | "ashr"):
                checked(self._shift, 1, item.operands[1])
            case _:
                assert not item.flags, item


def _bytes(kind: LLVM) -> int:
    """Returns the size of a value in memory, in bytes."""
    match kind:
        case ir.ArrayType():
            return int(kind.count) * _bytes(kind.element)
        case ir.IntType():
            return -(-int(kind.width) // 8)
        case ir.PointerType():
            return 8
        case _:
            raise AssertionError(kind)
