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

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

Frame: TypeAlias = list[Any]
Code: TypeAlias = Callable[[Frame], Any]
"""Expressions give a `Value`; statements a signal: 0 to go on, `DISABLED`, or 1 + a label to
leave. The core is typed, so that Python's types would say it all again."""

MOST_INLINED = 120
"""How long an expression is that becomes a part of the text around it."""
_PART = re.compile(r"\bx(\d+)\b")


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
        self._inlined: dict[Code, tuple[str, list[Any]]] = {}
        self.width = fixed
        """How many places a frame needs in front of its `Run`."""

    def _code(self, text: str, *operands: Code, **extra: Any) -> Code:
        """The code that ``text`` describes: an expression, or lines of which the last returns.

        ``{0}`` stands for the first operand, each is used once; extras are constants by name.
        """
        holes: list[str] = []
        parts: list[Any] = []
        for operand in operands:
            if operand in self._known:
                holes.append(f"x{len(parts)}")
                parts.append(self._known[operand])
            elif operand in self._places:
                holes.append(f"f[x{len(parts)}]")
                parts.append(self._places[operand])
            elif operand in self._inlined:
                inner, own = self._inlined[operand]
                holes.append(_renumbered(inner, len(parts)))
                parts += own
            else:
                holes.append(f"x{len(parts)}(f)")
                parts.append(operand)
        if "\n" in text or text.startswith("raise "):
            return _maker(text.format(*holes), len(parts), tuple(extra))(*parts, *extra.values())
        for name, value in extra.items():
            text = re.sub(rf"\b{name}\b", f"x{len(parts)}", text)
            parts.append(value)
        whole = text.format(*holes)
        code = _maker(whole, len(parts), ())(*parts)
        if len(whole) <= MOST_INLINED:
            self._inlined[code] = f"({whole})", parts
        return code

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
        code = _maker("x0", 1, ())(value)
        self._known[code] = value
        return code

    def _place(self, index: int) -> Code:
        code = _maker("f[x0]", 1, ())(index)
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
def _renumbered(text: str, by: int) -> str:
    """An expression whose parts are numbered from ``by`` on."""
    return _PART.sub(lambda found: f"x{int(found[1]) + by}", text) if by else text


@cache
def _maker(text: str, parts: int, extra: tuple[str, ...]) -> Callable[..., Code]:
    """A function from parts, which the text calls x0, x1, ..., and extras to the code of a text."""
    names = [f"x{index}" for index in range(parts)]
    lines = text.split("\n")
    if len(lines) == 1 and not lines[0].startswith("raise "):
        lines = ["return " + lines[0]]
    body = "".join(f"  {line}\n" for line in lines)
    source = f"def make({', '.join([*names, *extra])}):\n def code(f):\n{body} return code\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    make: Callable[..., Code] = scope["make"]
    return make
