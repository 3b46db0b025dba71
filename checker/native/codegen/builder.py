# pyright: basic
# mypy: allow-subclassing-any
# llvmlite has no types of its own: everything untyped about it stays here and in `emitter`.
"""Emits the most common machine instructions directly as text.

The text equals that of llvmlite's instructions, but llvmlite creates an object for each and takes
four times as long, which dominates the time of a check of few states. Operand types are not checked
here: LLVM checks them when it reads the module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeAlias

from llvmlite import ir

LLVM: TypeAlias = Any

_I1, _I64 = ir.IntType(1), ir.IntType(64)
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class _Value:
    """The result of an instruction, as its users see it."""

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
    """Adds instructions to blocks of a function; it must be the only builder of the function."""

    def __init__(self, block: LLVM) -> None:
        super().__init__(block)
        self._numbers = count()

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, urem, sdiv = _binary("udiv"), _binary("urem"), _binary("sdiv")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    zext, trunc = _cast("zext"), _cast("trunc")

    def put(self, kind: LLVM, text: str) -> LLVM:
        """Adds an instruction with a result. Block names never equal the result's name."""
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
        """Calls the function at an address, which takes one argument and returns nothing."""
        operand = f"{argument.type} {argument.get_reference()}"
        self._insert(f"call void {address.get_reference()}({operand})")

    def branch(self, target: LLVM) -> None:
        self._set_terminator(f"br label {target.get_reference()}")

    def cbranch(self, cond: LLVM, truebr: LLVM, falsebr: LLVM) -> None:
        condition, then, other = (operand.get_reference() for operand in (cond, truebr, falsebr))
        self._set_terminator(f"br i1 {condition}, label {then}, label {other}")

    def unlikely(self, condition: LLVM, then: LLVM, other: LLVM) -> None:
        """Like `cbranch`, but ``then`` is rare."""
        super().cbranch(condition, then, other).set_weights([1, 1000])
