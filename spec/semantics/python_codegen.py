"""Generates Python code from templates, for the concrete domain.

The generated code is a function of a *frame*. This is a list that contains the values of the state
variables, the values of the next state (for step properties only), the slots, and last the `Run`,
which holds everything that is not a value.

An operation is a template of one or more lines of Python with holes for its operands. An operand is
a constant, a position in the frame, or other code. The resulting text is compiled once per process,
and is bound to the operands at each use. It never contains text from a spec. Operations on
constants are evaluated immediately.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

Frame: TypeAlias = list[Any]
Code: TypeAlias = Callable[[Frame], Any]
"""Code for an expression returns a `Value`. Code for a statement returns a signal: 0 to continue,
`DISABLED`, or 1 + a label to leave a block. The core is typed, so more precise Python types would
only repeat its guarantees.
"""

MAX_INLINED = 120
"""The maximum length of an expression that is inlined into its context."""
_PART = re.compile(r"\bx(\d+)\b")


class Stage:
    """Generates code, and allocates positions in its frame.

    The first ``fixed`` positions are given, and slots follow. The first ``changing`` positions may
    change while code runs, whereas a slot keeps its value within its scope.
    """

    def __init__(self, fixed: int, changing: int) -> None:
        self._top = fixed
        self._changing = changing
        self._known: dict[Code, Any] = {}
        self._places: dict[Code, int] = {}
        self._inlined: dict[Code, tuple[str, list[Any]]] = {}
        self.width = fixed
        """The number of positions before the `Run`."""

    def _code(self, text: str, *operands: Code, **extra: Any) -> Code:
        """Returns the code for ``text``, which is an expression, or lines that end with a return.

        ``{0}`` is the first operand. Each operand must be used exactly once. ``extra`` contains
        constants by name.
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
        if len(whole) <= MAX_INLINED:
            self._inlined[code] = f"({whole})", parts
        return code

    def _pure(self, text: str, *operands: Code, **extra: Any) -> Code:
        """Like `_code`, for an expression whose value depends only on its operands. It is evaluated
        immediately if all operands are constants.
        """
        code = self._code(text, *operands, **extra)
        if all(operand in self._known for operand in operands):
            try:
                return self._constant(code([]))
            except (IndexError, KeyError, ZeroDivisionError, TypeError):
                # The value is undefined for these operands, so an enclosing condition prevents the
                # evaluation.
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
        """Permanently reserves a position of the frame, which the caller must fill. Returns the
        position and the code that reads it.
        """
        slot = self._top
        self._top += 1
        self.width = max(self.width, self._top)
        return slot, self._place(slot)

    def _bound(self, body: Callable[[Code], Code]) -> tuple[int, Code]:
        """Returns a slot, and the code of ``body`` applied to the slot. The slot may be reused
        afterwards.
        """
        slot = self._top
        self._top += 1
        self.width = max(self.width, self._top)
        code = body(self._place(slot))
        self._top = slot
        return slot, code

    def _lasting(self, code: Code) -> bool:
        """Returns whether ``code`` costs nothing, and has the same value throughout a scope that
        begins now.
        """
        position = self._places.get(code)
        return code in self._known or (position is not None and position >= self._changing)


@cache
def _renumbered(text: str, by: int) -> str:
    """Returns an expression with the numbers of its parts increased by ``by``."""
    return _PART.sub(lambda match: f"x{int(match[1]) + by}", text) if by else text


@cache
def _maker(text: str, parts: int, extra: tuple[str, ...]) -> Callable[..., Code]:
    """Returns a function that binds the code of ``text`` to its parts, named x0, x1, ..., and to
    its extras.
    """
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
