# pyright: basic
# mypy: allow-subclassing-any
# llvmlite has no types of its own: everything untyped about it stays here and in `emitter`.
"""The instructions that machine code is mostly made of, made and written down in little time.

They are llvmlite's, and stand for the same; but llvmlite takes three times as long, which is most
of the time of a check of few states. It does not check the types of operands: LLVM does, when it
reads the module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, TypeAlias

from llvmlite import ir
from llvmlite.ir import instructions

LLVM: TypeAlias = Any

_VOID = ir.VoidType()
_I1 = ir.IntType(1)
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class _Quick:
    """What these instructions have in common: a name that nothing else in the function has, and a
    line of text.
    """

    flags: Sequence[str] = ()
    metadata: Mapping[str, LLVM] = MappingProxyType({})

    def _begin(self, block: LLVM, name: str, kind: LLVM, opname: str, operands: list[LLVM]) -> None:
        """In place of the constructors of llvmlite."""
        self.parent = block
        self.type = kind
        self._name = name
        self.opname = opname
        self.operands = operands

    def get_reference(self) -> str:
        return f"%{self._name}"

    def descr(self, buf: list[str]) -> None:
        buf.append(str(self))


class _Binary(_Quick, instructions.Instruction):
    def __init__(self, block: LLVM, name: str, opname: str, left: LLVM, right: LLVM) -> None:
        self._begin(block, name, left.type, opname, [left, right])

    def __str__(self) -> str:
        left, right = self.operands
        kind, opname = self.type, self.opname
        return f"%{self._name} = {opname} {kind} {left.get_reference()}, {right.get_reference()}"


class _Comparison(_Quick, instructions.ICMPInstr):
    def __init__(self, block: LLVM, name: str, op: str, left: LLVM, right: LLVM) -> None:
        self._begin(block, name, _I1, "icmp", [left, right])
        self.op = op

    def __str__(self) -> str:
        left, right = self.operands
        references = f"{left.get_reference()}, {right.get_reference()}"
        return f"%{self._name} = icmp {self.op} {left.type} {references}"


class _Cast(_Quick, instructions.CastInstr):
    def __init__(self, block: LLVM, name: str, opname: str, value: LLVM, kind: LLVM) -> None:
        self._begin(block, name, kind, opname, [value])

    def __str__(self) -> str:
        (value,) = self.operands
        kind = value.type
        return f"%{self._name} = {self.opname} {kind} {value.get_reference()} to {self.type}"


class _Select(_Quick, instructions.SelectInstr):
    def __init__(self, block: LLVM, name: str, condition: LLVM, then: LLVM, other: LLVM) -> None:
        self._begin(block, name, then.type, "select", [condition, then, other])

    def __str__(self) -> str:
        condition, then, other = (one.get_reference() for one in self.operands)
        kind = self.type
        return f"%{self._name} = select i1 {condition}, {kind} {then}, {kind} {other}"


class _Load(_Quick, instructions.LoadInstr):
    def __init__(
        self, block: LLVM, name: str, pointer: LLVM, kind: LLVM, align: int | None
    ) -> None:
        self._begin(block, name, kind, "load", [pointer])
        self.align = align

    def __str__(self) -> str:
        (pointer,) = self.operands
        align = "" if self.align is None else f", align {self.align}"
        return f"%{self._name} = load {self.type}, ptr {pointer.get_reference()}{align}"


class _Store(_Quick, instructions.StoreInstr):
    def __init__(self, block: LLVM, value: LLVM, pointer: LLVM, align: int | None) -> None:
        self._begin(block, "", _VOID, "store", [value, pointer])
        self.align = align

    def __str__(self) -> str:
        value, pointer = self.operands
        align = "" if self.align is None else f", align {self.align}"
        kind = value.type
        return f"store {kind} {value.get_reference()}, ptr {pointer.get_reference()}{align}"


class _Address(_Quick, instructions.GEPInstr):
    def __init__(
        self, block: LLVM, name: str, pointer: LLVM, indices: Sequence[LLVM], element: LLVM
    ) -> None:
        self._begin(block, name, pointer.type, "getelementptr", [pointer, *indices])
        self.pointer = pointer
        self.indices = indices
        self.inbounds = False
        self.source_etype = element

    def __str__(self) -> str:
        pointer, *indices = self.operands
        places = ", ".join([f"{one.type} {one.get_reference()}" for one in indices])
        kind, base = self.source_etype, pointer.get_reference()
        return f"%{self._name} = getelementptr {kind}, ptr {base}, {places}"


class _Call(_Quick, instructions.CallInstr):
    def __init__(self, block: LLVM, name: str, function: LLVM, given: Sequence[LLVM]) -> None:
        kind = function.function_type
        assert len(given) == len(kind.args), function
        self._begin(block, name, kind.return_type, "call", [function, *given])

    def __str__(self) -> str:
        function, *given = self.operands
        values = ", ".join([f"{one.type} {one.get_reference()}" for one in given])
        call = f"call {self.type} {function.get_reference()}({values})"
        return call if isinstance(self.type, ir.VoidType) else f"%{self._name} = {call}"


class _Jump(_Quick, instructions.Branch):
    def __init__(self, block: LLVM, target: LLVM) -> None:
        self._begin(block, "", _VOID, "br", [target])

    def __str__(self) -> str:
        return f"br label {self.operands[0].get_reference()}"


class _Branch(_Quick, instructions.ConditionalBranch):
    def __init__(self, block: LLVM, condition: LLVM, then: LLVM, other: LLVM) -> None:
        self._begin(block, "", _VOID, "br", [condition, then, other])
        self.metadata: dict[str, LLVM] = {}

    def __str__(self) -> str:
        condition, then, other = (one.get_reference() for one in self.operands)
        rest = self._stringify_metadata(leading_comma=True)
        return f"br i1 {condition}, label {then}, label {other}{rest}"


def _binary(opname: str) -> Callable[..., LLVM]:
    def made(self: Builder, left: LLVM, right: LLVM) -> LLVM:
        return self.put(_Binary(self.block, self.name(), opname, left, right))

    return made


def _cast(opname: str) -> Callable[..., LLVM]:
    def made(self: Builder, value: LLVM, kind: LLVM) -> LLVM:
        return self.put(_Cast(self.block, self.name(), opname, value, kind))

    return made


class Builder(ir.IRBuilder):
    """Adds instructions to blocks of a function, of which it is the only one to add these."""

    def __init__(self, block: LLVM) -> None:
        super().__init__(block)
        self._numbers = count()

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, urem, sdiv = _binary("udiv"), _binary("urem"), _binary("sdiv")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    zext, trunc = _cast("zext"), _cast("trunc")

    def name(self) -> str:
        """A name for another instruction: no block is called like this."""
        return f"v{next(self._numbers)}"

    def put(self, made: LLVM) -> LLVM:
        """Adds an instruction here."""
        self._insert(made)
        return made

    def not_(self, value: LLVM) -> LLVM:
        return self.xor(value, ir.Constant(value.type, -1))

    def icmp_signed(self, cmpop: str, lhs: LLVM, rhs: LLVM) -> LLVM:
        return self._compared("s", cmpop, lhs, rhs)

    def icmp_unsigned(self, cmpop: str, lhs: LLVM, rhs: LLVM) -> LLVM:
        return self._compared("u", cmpop, lhs, rhs)

    def _compared(self, sign: str, how: str, left: LLVM, right: LLVM) -> LLVM:
        if isinstance(left.type, ir.VectorType):
            return super()._icmp(sign, how, left, right, "")
        op = _COMPARISONS[how] if how in ("==", "!=") else sign + _COMPARISONS[how]
        return self.put(_Comparison(self.block, self.name(), op, left, right))

    def select(self, cond: LLVM, lhs: LLVM, rhs: LLVM) -> LLVM:
        return self.put(_Select(self.block, self.name(), cond, lhs, rhs))

    def load(self, ptr: LLVM, *, typ: LLVM, align: int | None = None) -> LLVM:
        return self.put(_Load(self.block, self.name(), ptr, typ, align))

    def store(self, value: LLVM, ptr: LLVM, align: int | None = None) -> LLVM:
        return self.put(_Store(self.block, value, ptr, align))

    def gep(self, ptr: LLVM, indices: Sequence[LLVM], *, source_etype: LLVM) -> LLVM:
        return self.put(_Address(self.block, self.name(), ptr, indices, source_etype))

    def call(self, fn: LLVM, args: Sequence[LLVM]) -> LLVM:
        return self.put(_Call(self.block, self.name(), fn, args))

    def branch(self, target: LLVM) -> LLVM:
        return self._set_terminator(_Jump(self.block, target))

    def cbranch(self, cond: LLVM, truebr: LLVM, falsebr: LLVM) -> LLVM:
        return self._set_terminator(_Branch(self.block, cond, truebr, falsebr))
