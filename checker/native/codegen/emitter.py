# pyright: basic
# mypy: allow-subclassing-any
# llvmlite has no types of its own: everything untyped about it stays in this module.
"""Builds one function of machine code: its instructions, blocks and cells, operating on words and
flags.

A word is an ``i64`` and a flag is an ``i1``. Operations on constants are folded at once, which
keeps the text for LLVM short.

`Builder` emits the most common instructions directly as text, which equals the text of llvmlite's
own instructions. llvmlite creates an object for each instruction and takes four times as long,
which would dominate the time of a check with few states. Operand types are not checked here; LLVM
checks them when it parses the module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import Any, TypeAlias

from llvmlite import ir

from fencepost.spec.core.operators import Operator

_I1, _I64 = ir.IntType(1), ir.IntType(64)
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class _Value:
    """The result of an instruction, with the interface that llvmlite expects of an operand."""

    __slots__ = ("_reference", "type")

    def __init__(self, kind: LLVM, reference: str) -> None:
        self.type = kind
        self._reference = reference

    def get_reference(self) -> str:
        return self._reference


def _binary(opname: str) -> Callable[..., LLVM]:
    def made(self: Builder, left: LLVM, right: LLVM) -> LLVM:
        kind = left.type
        written = "i64" if kind is _I64 else kind
        text = f"{opname} {written} {left.get_reference()}, {right.get_reference()}"
        return self.put(kind, text)

    return made


def _cast(opname: str) -> Callable[..., LLVM]:
    def made(self: Builder, value: LLVM, kind: LLVM) -> LLVM:
        return self.put(kind, f"{opname} {value.type} {value.get_reference()} to {kind}")

    return made


class Builder(ir.IRBuilder):
    """Adds instructions to the blocks of a function. It must be the only builder of the
    function.
    """

    def __init__(self, block: LLVM) -> None:
        super().__init__(block)
        self._numbers = count()

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, urem, sdiv = _binary("udiv"), _binary("urem"), _binary("sdiv")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    zext, trunc = _cast("zext"), _cast("trunc")

    def put(self, kind: LLVM, text: str) -> LLVM:
        """Adds an instruction with a result. The name of the result never equals the name of a
        block.
        """
        reference = f"%v{next(self._numbers)}"
        self._insert(f"{reference} = {text}")
        return _Value(kind, reference)

    def not_(self, value: LLVM) -> LLVM:
        return self.xor(value, ir.Constant(value.type, -1))

    def icmp_signed(self, cmpop: str, lhs: LLVM, rhs: LLVM) -> LLVM:
        return self._compared("s", cmpop, lhs, rhs)

    def icmp_unsigned(self, cmpop: str, lhs: LLVM, rhs: LLVM) -> LLVM:
        return self._compared("u", cmpop, lhs, rhs)

    def _compared(self, sign: str, sign_of: str, left: LLVM, right: LLVM) -> LLVM:
        kind = left.type
        if isinstance(kind, ir.VectorType):
            return super()._icmp(sign, sign_of, left, right, "")
        op = _COMPARISONS[sign_of] if sign_of in ("==", "!=") else sign + _COMPARISONS[sign_of]
        written = "i64" if kind is _I64 else kind
        text = f"icmp {op} {written} {left.get_reference()}, {right.get_reference()}"
        return self.put(_I1, text)

    def select(self, cond: LLVM, lhs: LLVM, rhs: LLVM) -> LLVM:
        condition, then, other = (operand.get_reference() for operand in (cond, lhs, rhs))
        kind = lhs.type
        return self.put(kind, f"select i1 {condition}, {kind} {then}, {kind} {other}")

    def load(self, ptr: LLVM, *, typ: LLVM, align: int | None = None) -> LLVM:
        aligned = "" if align is None else f", align {align}"
        return self.put(typ, f"load {typ}, ptr {ptr.get_reference()}{aligned}")

    def store(self, value: LLVM, ptr: LLVM, align: int | None = None) -> None:
        aligned = "" if align is None else f", align {align}"
        target = ptr.get_reference()
        self._insert(f"store {value.type} {value.get_reference()}, ptr {target}{aligned}")

    def gep(self, ptr: LLVM, indices: Sequence[LLVM], *, source_etype: LLVM) -> LLVM:
        offsets = ", ".join([f"{index.type} {index.get_reference()}" for index in indices])
        text = f"getelementptr {source_etype}, ptr {ptr.get_reference()}, {offsets}"
        return self.put(ptr.type, text)

    def call(self, fn: LLVM, args: Sequence[LLVM]) -> LLVM:
        kind = fn.function_type
        assert len(args) == len(kind.args), fn
        values = ", ".join([f"{argument.type} {argument.get_reference()}" for argument in args])
        text = f"call {kind.return_type} {fn.get_reference()}({values})"
        if isinstance(kind.return_type, ir.VoidType):
            self._insert(text)
            return None
        return self.put(kind.return_type, text)

    def call_address(self, address: LLVM, argument: LLVM) -> None:
        """Calls the function at an address. The function takes one argument and returns nothing."""
        operand = f"{argument.type} {argument.get_reference()}"
        self._insert(f"call void {address.get_reference()}({operand})")

    def branch(self, target: LLVM) -> None:
        self._set_terminator(f"br label {target.get_reference()}")

    def cbranch(self, cond: LLVM, truebr: LLVM, falsebr: LLVM) -> None:
        condition, then, other = (operand.get_reference() for operand in (cond, truebr, falsebr))
        self._set_terminator(f"br i1 {condition}, label {then}, label {other}")

    def unlikely(self, condition: LLVM, then: LLVM, other: LLVM) -> None:
        """Like `cbranch`, for a ``condition`` that is rarely true."""
        super().cbranch(condition, then, other).set_weights([1, 1000])


LLVM: TypeAlias = Any
"""An llvmlite value (a word, a flag or a pointer), block or function."""

I64 = ir.IntType(64)
I32 = ir.IntType(32)
I16 = ir.IntType(16)
I8 = ir.IntType(8)
I1 = ir.IntType(1)
PTR = ir.PointerType()
VOID = ir.VoidType()
MASK = (1 << 64) - 1


def signed(number: int) -> int:
    """Returns the signed number that has the same 64 bits."""
    number &= MASK
    return number - (1 << 64) if number >> 63 else number


@lru_cache(1 << 12)
def word(number: int) -> LLVM:
    """Returns a constant word."""
    return ir.Constant(I64, signed(number))


@cache
def flag(truth: bool) -> LLVM:
    """Returns a constant flag."""
    return ir.Constant(I1, int(truth))


NULL = ir.Constant(PTR, None)


def known(value: LLVM) -> int | None:
    """Returns the unsigned number or the truth value of a constant, or None if ``value`` is not a
    constant.
    """
    # This is called for every operand. Most operands are not constants, hence the order of the
    # tests.
    if type(value) is not ir.Constant or not isinstance(value.constant, int):
        return None
    return value.constant & (MASK if value.type is I64 or value.type != I1 else 1)


def _bytes(kind: LLVM) -> int:
    """Returns the maximum size in bytes of a number or of an array of numbers."""
    if isinstance(kind, ir.ArrayType):
        return int(kind.count) * _bytes(kind.element)
    return 1 if kind == I8 else 8


class Unit:
    """A module of machine code: its functions and constant tables.

    ``rooms`` maps the name of each function to the stack bytes that its local memory takes.
    """

    def __init__(self, name: str) -> None:
        self.module = ir.Module(name=name)
        self.helpers: dict[object, LLVM] = {}
        self.rooms: dict[str, int] = {}
        self._tables: dict[tuple[int, ...], LLVM] = {}
        self._make_room()

    def _make_room(self) -> None:
        """Adds unused data, so that LLVM allocates a page when it loads the code. LLVM puts the
        addresses of library functions into the rest of this page, because it does not allocate
        space for them.
        """
        room: LLVM = ir.GlobalVariable(self.module, I64, "room")
        room.initializer = ir.Constant(I64, 0)

    def text(self) -> str:
        """Returns the module as text for LLVM. This empties the module to break the reference
        cycles between its many parts.
        """
        text = str(self.module)
        for function in self.module.functions:
            for block in function.blocks:
                block.instructions.clear()
        return text

    def declare(self, name: str, result: LLVM, parameters: Sequence[LLVM]) -> LLVM:
        """Returns the function with this name. The function is declared if it is new."""
        known_function = self.module.globals.get(name)
        if known_function is not None:
            return known_function
        return ir.Function(self.module, ir.FunctionType(result, list(parameters)), name)

    def function(
        self, name: str, result: LLVM, parameters: Sequence[LLVM], aliasing: bool = False
    ) -> LLVM:
        """Returns a function with internal linkage and without a body. Its pointer arguments must
        not overlap unless ``aliasing`` is true.
        """
        function = self.declare(name, result, parameters)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        if not aliasing:
            # The first argument is excluded. It is the context, which Python changes when a block
            # is full.
            for argument in function.args[1:]:
                if argument.type == PTR:
                    argument.add_attribute("noalias")
        return function

    def helper(
        self,
        key: object,
        result: LLVM,
        parameters: Sequence[LLVM],
        body: Callable[[Emitter], None],
    ) -> LLVM:
        """Returns the helper function for ``key``, which is created only once."""
        if key not in self.helpers:
            function = self.function(
                f"helper{len(self.helpers)}", result, parameters, aliasing=True
            )
            self.helpers[key] = function
            body(Emitter(self, function))
        return self.helpers[key]

    def table(self, words: Sequence[int]) -> LLVM:
        """Returns a constant array of words."""
        key = tuple(words)
        if key not in self._tables:
            kind = ir.ArrayType(I64, max(len(key), 1))
            variable: LLVM = ir.GlobalVariable(self.module, kind, f"table{len(self._tables)}")
            variable.linkage = "internal"
            variable.global_constant = True
            variable.initializer = ir.Constant(kind, [signed(item) for item in key] or [0])
            self._tables[key] = variable
        return self._tables[key]

    def number(self, name: str) -> LLVM:
        """Returns a word in memory that is initially 0 and may change between two calls."""
        variable: LLVM = self.module.globals.get(name)
        if variable is None:
            variable = ir.GlobalVariable(self.module, I64, name)
            variable.initializer = ir.Constant(I64, 0)
        return variable

    def intrinsic(
        self, name: str, types: Sequence[LLVM], result: LLVM, parameters: Sequence[LLVM]
    ) -> LLVM:
        """Returns an LLVM intrinsic. ``types`` are the types that are part of its name."""
        kind = ir.FunctionType(result, list(parameters))
        return self.module.declare_intrinsic(name, list(types), kind)


class Emitter:
    """Emits the body of one function, instruction by instruction."""

    def __init__(self, unit: Unit, function: LLVM) -> None:
        self.unit = unit
        self.function = function
        self.arguments: list[LLVM] = list(function.args)
        self._entry = function.append_basic_block("entry")
        self._cells = ir.IRBuilder(self._entry)
        start = function.append_basic_block("start")
        self._cells.branch(start)
        self._cells.position_before(self._entry.terminator)
        self.builder = Builder(start)

    # ------------------------------------------------------------ blocks

    @property
    def here(self) -> LLVM:
        """The current block."""
        return self.builder.block

    @property
    def ended(self) -> bool:
        """Whether the current block has a terminator."""
        return bool(self.here.is_terminated)

    def block(self, name: str = "b") -> LLVM:
        """Creates an empty block."""
        return self.function.append_basic_block(name)

    def at(self, block: LLVM) -> None:
        """Continues at the end of ``block``."""
        self.builder.position_at_end(block)

    def goto(self, block: LLVM) -> None:
        """Terminates the current block with a jump, unless it already has a terminator."""
        if not self.ended:
            self.builder.branch(block)

    def branch(self, condition: LLVM, then: LLVM, otherwise: LLVM) -> None:
        """Terminates the current block with a conditional branch."""
        truth = known(condition)
        if truth is None:
            self.builder.cbranch(condition, then, otherwise)
        else:
            self.builder.branch(then if truth else otherwise)

    def unlikely(self, condition: LLVM, then: LLVM, otherwise: LLVM) -> None:
        """Like `branch`, for a ``condition`` that is rarely true."""
        truth = known(condition)
        if truth is None:
            self.builder.unlikely(condition, then, otherwise)
        else:
            self.builder.branch(then if truth else otherwise)

    def ret(self, value: LLVM | None = None) -> None:
        """Returns from the function."""
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(value)

    def phi(self, incoming: Sequence[tuple[LLVM, LLVM]]) -> LLVM:
        """Returns one of several values, selected by the preceding block."""
        if len(incoming) == 1:
            return incoming[0][0]
        node = self.builder.phi(incoming[0][0].type)
        for value, block in incoming:
            node.add_incoming(value, block)
        return node

    # ------------------------------------------------------------ memory

    def cell(self, kind: LLVM = I64) -> LLVM:
        """Allocates memory for one value. It belongs to the whole function."""
        return self._room(kind)

    def words(self, count: int) -> LLVM:
        """Allocates memory for ``count`` words. It belongs to the whole function and is not
        cleared.
        """
        return self._room(ir.ArrayType(I64, max(count, 1)))

    def bytes(self, count: int) -> LLVM:
        """Allocates memory for ``count`` bytes. It belongs to the whole function and is not
        cleared.
        """
        return self._room(ir.ArrayType(I8, max(count, 1)))

    def _room(self, kind: LLVM) -> LLVM:
        pointer = self._cells.alloca(kind)
        pointer.type = PTR  # LLVM has only one pointer type.
        rooms, name = self.unit.rooms, self.function.name
        rooms[name] = rooms.get(name, 0) + _bytes(kind)
        return pointer

    def load(self, pointer: LLVM, kind: LLVM = I64) -> LLVM:
        return self.builder.load(pointer, typ=kind)

    def store(self, value: LLVM, pointer: LLVM) -> None:
        self.builder.store(value, pointer)

    def shared_byte(self, pointer: LLVM) -> LLVM:
        """Loads a byte that another thread may write at any time."""
        return self.builder.put(
            I8, f"load atomic i8, ptr {pointer.get_reference()} monotonic, align 1"
        )

    def exchanged_byte(self, operation: str, pointer: LLVM, value: LLVM) -> LLVM:
        """Applies an operation of LLVM, such as ``and``, to the byte at ``pointer`` and the low
        byte of ``value``, in one atomic step. Returns the previous byte.
        """
        operands = f"ptr {pointer.get_reference()}, i8 {self.low_byte(value).get_reference()}"
        return self.builder.put(I8, f"atomicrmw {operation} {operands} monotonic")

    def load_unaligned(self, pointer: LLVM) -> LLVM:
        """Loads a word that is aligned to half a word."""
        return self.builder.load(pointer, align=4, typ=I64)

    def store_unaligned(self, value: LLVM, pointer: LLVM) -> None:
        """Stores a word that is aligned to half a word."""
        self.builder.store(value, pointer, align=4)

    def index(self, pointer: LLVM, offset: LLVM | int, kind: LLVM = I64) -> LLVM:
        """Returns the address of element ``offset`` of an array whose elements are of type
        ``kind``.
        """
        if isinstance(offset, int):
            offset = word(offset)
        if known(offset) == 0:
            return pointer
        return self.builder.gep(pointer, [offset], source_etype=kind)

    def get(self, pointer: LLVM, offset: LLVM | int) -> LLVM:
        """Loads the word at index ``offset`` of an array of words."""
        return self.load(self.index(pointer, offset))

    def put(self, pointer: LLVM, offset: LLVM | int, value: LLVM) -> None:
        """Stores a word at index ``offset`` of an array of words."""
        self.store(value, self.index(pointer, offset))

    def pointer(self, pointer: LLVM, offset: LLVM | int) -> LLVM:
        """Loads the pointer at index ``offset`` of an array of words."""
        return self.load(self.index(pointer, offset), PTR)

    def copy(self, target: LLVM, source: LLVM, count: int) -> None:
        """Copies ``count`` words. The two areas may overlap."""
        if count <= 8:
            moved = [self.get(source, offset) for offset in range(count)]
            for offset, value in enumerate(moved):
                self.put(target, offset, value)
            return
        self.move(target, source, word(count))

    def move(self, target: LLVM, source: LLVM, count: LLVM) -> None:
        """Copies a number of words that is determined at run time. The two areas may overlap."""
        move = self.unit.intrinsic("llvm.memmove", [PTR, PTR, I64], VOID, [PTR, PTR, I64, I1])
        self.builder.call(move, [target, source, self.shl(count, 3), flag(False)])

    def clear(self, target: LLVM, count: int) -> None:
        """Sets ``count`` words to zero."""
        if count <= 8:
            for offset in range(count):
                self.put(target, offset, word(0))
            return
        fill = self.unit.intrinsic("llvm.memset", [PTR, I64], VOID, [PTR, I8, I64, I1])
        self.builder.call(fill, [target, ir.Constant(I8, 0), word(8 * count), flag(False)])

    # ------------------------------------------------------------ arithmetic, modulo 2^64

    def add(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return word(a + b)
        if a == 0:
            return right
        return left if b == 0 else self.builder.add(left, right)

    def sub(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return word(a - b)
        return left if b == 0 else self.builder.sub(left, right)

    def mul(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return word(a * b)
        if a == 1:
            return right
        return left if b == 1 else self.builder.mul(left, right)

    def arithmetic(self, operator: Operator, left: LLVM, right: LLVM, natural: bool) -> LLVM:
        """Computes ``left operator right`` with wraparound. ``natural`` means that neither operand
        is negative.
        """
        row = operator.row
        if row.native is None:
            assert row.lowered is not None, operator

            def apply(inner: Operator, a: LLVM, b: LLVM) -> LLVM:
                return self.arithmetic(inner, a, b, natural and a is left and b is right)

            return row.lowered(apply, left, right)
        compute = getattr(self, row.native)
        return compute(left, right, natural) if row.divides else compute(left, right)

    def both(self, left: LLVM, right: LLVM) -> LLVM:
        """Computes the bitwise and."""
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return word(a & b) if left.type == I64 else flag(bool(a & b))
        if left.type == I64:
            if a == 0 or b == 0:
                return word(0)
            if a == MASK:
                return right
            if b == MASK:
                return left
        return self.builder.and_(left, right)

    def either(self, left: LLVM, right: LLVM) -> LLVM:
        """Computes the bitwise or."""
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return word(a | b) if left.type == I64 else flag(bool(a | b))
        if a == 0:
            return right
        return left if b == 0 else self.builder.or_(left, right)

    def differ(self, left: LLVM, right: LLVM) -> LLVM:
        """Computes the bitwise exclusive or."""
        return self.builder.xor(left, right)

    def invert(self, value: LLVM) -> LLVM:
        """Computes the bitwise complement; for a flag, the negation."""
        a = known(value)
        if a is not None:
            return flag(not a) if value.type == I1 else word(~a)
        return self.builder.not_(value)

    def shl(self, value: LLVM, by: LLVM | int) -> LLVM:
        """Shifts left by 0 to 63 bits. A larger shift is taken modulo 64."""
        return self._shift(value, by, self.builder.shl, lambda a, n: a << n)

    def shr(self, value: LLVM, by: LLVM | int) -> LLVM:
        """Shifts right by 0 to 63 bits, filling with zeros. A larger shift is taken modulo 64."""
        return self._shift(value, by, self.builder.lshr, lambda a, n: a >> n)

    def _shift(
        self,
        value: LLVM,
        by: LLVM | int,
        emit: Callable[..., LLVM],
        fold: Callable[[int, int], int],
    ) -> LLVM:
        if isinstance(by, int):
            by = word(by)
        # LLVM leaves the result undefined if the shift is 64 or more.
        by = self.both(by, word(63))
        a, n = known(value), known(by)
        if n == 0:
            return value
        if a is not None and n is not None:
            return word(fold(a, n))
        return emit(value, by)

    def sar(self, value: LLVM, by: int) -> LLVM:
        """Shifts right by a constant number of bits, 0 to 63, keeping the sign."""
        return value if by == 0 else self.builder.ashr(value, word(by))

    def udiv(self, left: LLVM, right: LLVM) -> LLVM:
        """Computes the unsigned quotient. The divisor must not be zero."""
        a, b = known(left), known(right)
        if a is not None and b:
            return word(a // b)
        return left if b == 1 else self.builder.udiv(left, right)

    def urem(self, left: LLVM, right: LLVM) -> LLVM:
        """Computes the unsigned remainder. The divisor must not be zero."""
        a, b = known(left), known(right)
        if a is not None and b:
            return word(a % b)
        return word(0) if b == 1 else self.builder.urem(left, right)

    def floordiv(self, left: LLVM, right: LLVM, natural: bool) -> LLVM:
        """Computes the quotient, rounded down. If the divisor is zero, the result is an arbitrary
        word, which is never used.

        ``natural`` means that neither operand is negative.
        """
        if natural:
            return self.udiv(left, self.select(self.eq(right, word(0)), word(1), right))
        # LLVM leaves x / 0 and MIN / -1 undefined, so neither is computed.
        unsafe = self.either(self.eq(right, word(0)), self.eq(right, word(-1)))
        divisor = self.select(unsafe, word(1), right)
        truncated = self.builder.sdiv(left, divisor)
        rest = self.sub(left, self.mul(truncated, divisor))
        signs_differ = self.slt(self.differ(rest, divisor), word(0))
        inexact = self.both(self.as_flag(rest), signs_differ)
        floor = self.sub(truncated, self.as_word(inexact))
        return self.select(self.eq(right, word(-1)), self.sub(word(0), left), floor)

    def count_ones(self, value: LLVM) -> LLVM:
        count = self.unit.intrinsic("llvm.ctpop", [I64], I64, [I64])
        return self.builder.call(count, [value])

    def leading_zeros(self, value: LLVM) -> LLVM:
        """Returns the number of zeros above the highest set bit, or 64 for zero."""
        count = self.unit.intrinsic("llvm.ctlz", [I64], I64, [I64, I1])
        return self.builder.call(count, [value, flag(False)])

    def lowest_one(self, value: LLVM) -> LLVM:
        """Returns the position of the lowest set bit, or 64 for zero."""
        count = self.unit.intrinsic("llvm.cttz", [I64], I64, [I64, I1])
        return self.builder.call(count, [value, flag(False)])

    # ------------------------------------------------------------ comparison

    def eq(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return flag(a == b)
        return self.builder.icmp_unsigned("==", left, right)

    def ne(self, left: LLVM, right: LLVM) -> LLVM:
        return self.invert(self.eq(left, right))

    def ult(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return flag(a < b)
        return self.builder.icmp_unsigned("<", left, right)

    def slt(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return flag(signed(a) < signed(b))
        return self.builder.icmp_signed("<", left, right)

    def sle(self, left: LLVM, right: LLVM) -> LLVM:
        a, b = known(left), known(right)
        if a is not None and b is not None:
            return flag(signed(a) <= signed(b))
        return self.builder.icmp_signed("<=", left, right)

    def select(self, condition: LLVM, then: LLVM, otherwise: LLVM) -> LLVM:
        truth = known(condition)
        if truth is not None:
            return then if truth else otherwise
        return self.builder.select(condition, then, otherwise)

    def as_word(self, truth: LLVM) -> LLVM:
        """Converts a flag to the word 0 or 1."""
        a = known(truth)
        return word(a) if a is not None else self.builder.zext(truth, I64)

    def as_flag(self, value: LLVM) -> LLVM:
        """Tests whether a word is not zero."""
        return self.ne(value, word(0))

    def as_byte(self, truth: LLVM) -> LLVM:
        return self.builder.zext(truth, I8)

    def low_byte(self, value: LLVM) -> LLVM:
        """Returns the lowest eight bits of a word."""
        return self.builder.trunc(value, I8)

    def narrowed(self, value: LLVM, kind: LLVM) -> LLVM:
        """Returns the low bits of a word as a number of type ``kind``."""
        return self.builder.trunc(value, kind)

    def widened(self, value: LLVM) -> LLVM:
        """Returns a shorter number as a word, filled with zeros."""
        return self.builder.zext(value, I64)

    def is_natural(self, half: LLVM) -> LLVM:
        """Tests whether a 32-bit number, interpreted as signed, is not negative."""
        return self.builder.icmp_signed(">=", half, ir.Constant(I32, 0))

    def is_byte_set(self, byte: LLVM) -> LLVM:
        """Tests whether a byte is not zero."""
        return self.builder.icmp_unsigned("!=", byte, ir.Constant(I8, 0))

    def call(self, function: LLVM, arguments: Sequence[LLVM]) -> LLVM:
        return self.builder.call(function, list(arguments))
