"""Python code made from templates: how the concrete domain turns the core into functions.

Code is a function of a *frame*, a list: the values of the state variables; behind them, for a step
property, those of the next state; then the slots; at the very end the `Run`, which holds what is
not a value.

Each operation is a line or a few of Python text with holes. The holes are filled with what is known
of the operands (a constant, a place in the frame, any code); the text is compiled once per process
and tied to the operands each time. No text of a spec gets into it. Operations on constants are
computed on the spot. This module does not know the core.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

Frame: TypeAlias = list[Any]
Code: TypeAlias = Callable[[Frame], Any]
"""Expressions give a `Value`; statements a signal: 0 to go on, `DISABLED`, or 1 + a label to
leave. The core is typed, so that Python's types would say it all again."""


class Stage:
    """Makes code, and hands out the places of its frame.

    The first ``fixed`` places are given; slots lie behind them. What is in the first ``changing``
    places may change while code runs; what is in a slot stays as long as its scope lasts.
    """

    def __init__(self, fixed: int, changing: int) -> None:
        self._top = fixed
        self._changing = changing
        self._known: dict[Code, Any] = {}
        self._places: dict[Code, int] = {}
        self.width = fixed
        """How many places a frame needs in front of its `Run`."""

    def _code(self, text: str, *operands: Code, **extra: Any) -> Code:
        """The code that ``text`` describes: an expression, or lines of which the last returns.

        ``{0}`` stands for the first operand, each is used once; extras are constants by name.
        """
        shapes: list[str] = []
        parts: list[Any] = []
        for operand in operands:
            if operand in self._known:
                shapes.append("x")
                parts.append(self._known[operand])
            elif operand in self._places:
                shapes.append("f[x]")
                parts.append(self._places[operand])
            else:
                shapes.append("x(f)")
                parts.append(operand)
        return _maker(text, tuple(shapes), tuple(extra))(*parts, *extra.values())

    def _pure(self, text: str, *operands: Code, **extra: Any) -> Code:
        """`_code` of an expression whose value depends on its operands only."""
        code = self._code(text, *operands, **extra)
        if all(operand in self._known for operand in operands):
            try:
                return self._constant(code([]))
            except (IndexError, KeyError, ZeroDivisionError, TypeError):
                # It is not defined here, so a condition around it keeps it from being run.
                return code
        return code

    def _constant(self, value: Any) -> Code:
        code = _maker("{0}", ("x",), ())(value)
        self._known[code] = value
        return code

    def _place(self, index: int) -> Code:
        code = _maker("{0}", ("f[x]",), ())(index)
        self._places[code] = index
        return code

    def reserved(self) -> tuple[int, Code]:
        """A place of the frame for good, which who runs the code fills, and what is in it."""
        slot = self._top
        self._top += 1
        self.width = max(self.width, self._top)
        return slot, self._place(slot)

    def _bound(self, body: Callable[[Code], Code]) -> tuple[int, Code]:
        """A slot, and the code of ``body`` of what is in it; the slot is free again behind it."""
        slot = self._top
        self._top += 1
        self.width = max(self.width, self._top)
        code = body(self._place(slot))
        self._top = slot
        return slot, code

    def _lasting(self, code: Code) -> bool:
        """Whether the code gives the same value in all of a scope that begins now, for free."""
        place = self._places.get(code)
        return code in self._known or (place is not None and place >= self._changing)


@cache
def _maker(text: str, shapes: tuple[str, ...], extra: tuple[str, ...]) -> Callable[..., Code]:
    """A function from operands (of these shapes) and extras to the code of a template."""
    names = [f"x{index}" for index in range(len(shapes))]
    holes = [shape.replace("x", name) for shape, name in zip(shapes, names, strict=True)]
    lines = text.format(*holes).split("\n")
    if len(lines) == 1 and not lines[0].startswith("raise "):
        lines = ["return " + lines[0]]
    body = "".join(f"  {line}\n" for line in lines)
    source = f"def make({', '.join([*names, *extra])}):\n def code(f):\n{body} return code\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    make: Callable[..., Code] = scope["make"]
    return make
