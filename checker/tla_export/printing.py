"""Prints a TLA+ tree, with brackets where precedence requires them and lines of limited length.

Expressions that do not fit on a line are split into their parts. In a vertical list of conjuncts,
every line of a part is to the right of its sign, as TLA+ requires.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never

from fencepost.checker.tla_export.tree import (
    TRUE,
    Always,
    Apply,
    Assume,
    At,
    Cross,
    Definition,
    Dot,
    Except,
    Expr,
    Fields,
    Filter,
    Function,
    Functions,
    If,
    Image,
    Infix,
    Instance,
    Junction,
    Lambda,
    Let,
    Module,
    Name,
    Number,
    Prefix,
    Prime,
    Quantified,
    SetLiteral,
    String,
    Tuple,
    Unchanged,
    Unit,
    WrittenUnit,
)

WIDTH = 100
"""Maximum number of columns of a line. Only a line with a deeply nested part that cannot be split
is longer.
"""
TIGHT = 64
"""If there are fewer columns left than this, parts are indented by the minimum."""
_BOOLEAN = ("=>", "<=>", "~>")
_COMPARING = ("=", "/=", "<", "<=", ">", ">=", "\\in", "\\notin", "\\subseteq")
_CHAINS = ("+", "*", "\\cup", "\\cap", "\\o", "@@", "(+)")
"""Signs that need no brackets between two of the same sign, in any grouping."""

OPEN, BOOLEAN, JUNCTION, COMPARISON, OPERATION, ATOM = range(6)
"""Ranks of precedence, from expressions that extend as far right as possible to atoms."""


def rank(node: Expr) -> int:
    """Returns the rank of an expression."""
    match node:
        case If() | Let() | Quantified() | Lambda():
            return OPEN
        case Junction():
            return JUNCTION
        case Infix(sign):
            if sign in _BOOLEAN:
                return BOOLEAN
            return COMPARISON if sign in _COMPARING else OPERATION
        case Prefix("~" | "ENABLED", _):
            return COMPARISON
        case Prefix():
            return OPERATION
        case Number(value):
            return ATOM if value >= 0 else OPERATION
        case Unchanged() | Cross():
            return OPERATION
        case _:
            return ATOM


def _bracketed(parent: Expr, part: Expr, first: bool) -> bool:
    """Checks whether an operand needs brackets. ``first`` says whether it is the left operand."""
    firm = rank(part)
    match parent:
        case Junction(sign):
            return firm < JUNCTION if not isinstance(part, Junction) else part.sign != sign
        case Infix(sign) if sign in _BOOLEAN:
            return firm <= BOOLEAN
        case Infix(sign) if sign in _COMPARING:
            return firm <= COMPARISON
        case Infix(".."):
            return firm < OPERATION or (isinstance(part, Infix) and part.sign not in "+-*")
        case Infix(sign):
            if firm == ATOM:
                return False
            if not isinstance(part, Infix):
                return True
            if sign in ("+", "-") and part.sign == "*":
                return False
            if sign in _CHAINS and part.sign == sign:
                return not first
            return not (first and sign in ("+", "-") and part.sign in ("+", "-"))
        case _:
            return firm < ATOM


# ---------------------------------------------------------------- on one line


@lru_cache(maxsize=200_000)
def flat(node: Expr) -> str:
    """Prints an expression on one line."""
    match node:
        case Name(text):
            return text
        case Number(value):
            return str(value)
        case String(text):
            return quoted(text)
        case Prime(name):
            return f"{name}'"
        case Apply(operator, arguments):
            return f"{operator}({', '.join(map(flat, arguments))})"
        case Prefix(sign, operand):
            gap = " " if sign.isalpha() else ""
            return f"{sign}{gap}{_operand(node, operand)}"
        case Infix(sign, left, right):
            gap = "" if sign == ".." else " "
            return f"{_operand(node, left)}{gap}{sign}{gap}{_operand(node, right, first=False)}"
        case Junction(sign, parts):
            return f" {sign} ".join(_operand(node, part) for part in parts)
        case At(function, argument):
            return f"{_operand(node, function)}[{flat(_element(argument))}]"
        case Dot(record, field):
            return f"{_operand(node, record)}.{field}"
        case Tuple(parts):
            return f"<<{', '.join(map(flat, parts))}>>"
        case SetLiteral(parts):
            return f"{{{', '.join(flat(_element(part)) for part in parts)}}}"
        case Filter(name, domain, condition):
            return f"{{{name} \\in {_domain(domain)} : {flat(condition)}}}"
        case Image(element, name, domain):
            return f"{{{flat(_element(element))} : {name} \\in {_domain(domain)}}}"
        case Function(name, domain, body):
            return f"[{name} \\in {_domain(domain)} |-> {flat(body)}]"
        case Functions(domain, codomain):
            return f"[{_operand(node, domain)} -> {_operand(node, codomain)}]"
        case Cross(parts):
            return " \\X ".join(_operand(node, part) for part in parts)
        case Fields(sign, fields):
            return f"[{', '.join(f'{name} {sign} {flat(value)}' for name, value in fields)}]"
        case Except(base, path, value):
            return f"[{flat(base)} EXCEPT !{_path(path)} = {flat(value)}]"
        case Quantified(sign, name, domain, body):
            return f"{sign} {name} \\in {_domain(domain)} : {flat(body)}"
        case If(condition, then, otherwise):
            return f"IF {flat(condition)} THEN {flat(then)} ELSE {flat(otherwise)}"
        case Let(definitions, body):
            return f"LET {' '.join(map(_flat_definition, definitions))} IN {flat(body)}"
        case Lambda(names, body):
            return f"LAMBDA {', '.join(names)} : {flat(body)}"
        case Unchanged(names):
            listed = f"<<{', '.join(names)}>>"
            return f"UNCHANGED {names[0] if len(names) == 1 else listed}"
        case Always(body, names):
            return f"[][{flat(_of_a_step(body))}]_{names}"
        case _:
            assert_never(node)


def _element(part: Expr) -> Expr:
    r"""Prepares an element that follows an opening brace or bracket, where ``x \in S`` would bind
    ``x``.
    """
    binds = re.match(r"(\w+|<<[^<>]*>>) \\in ", flat(part))
    return Infix("=", part, TRUE) if binds else part


def _of_a_step(body: Expr) -> Expr:
    """Prepares the body of ``[][body]_v``, where TLC takes a tuple at the start for a bound."""
    return Infix("=", body, TRUE) if flat(body).startswith("<<") else body


def quoted(text: str) -> str:
    """Returns a string in quotation marks. Characters that TLA+ strings cannot contain become
    ``?``.
    """
    safe = "".join(c if " " <= c <= "~" else "?" for c in text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _operand(parent: Expr, part: Expr, *, first: bool = True) -> str:
    text = flat(part)
    return f"({text})" if _bracketed(parent, part, first) else text


def _domain(part: Expr) -> str:
    return flat(part) if rank(part) >= OPERATION else f"({flat(part)})"


def _path(path: tuple[Expr | str, ...]) -> str:
    return "".join(f".{step}" if isinstance(step, str) else f"[{flat(step)}]" for step in path)


def _head(defined: Definition) -> str:
    parameters = f"({', '.join(defined.parameters)})" if defined.parameters else ""
    return f"{defined.name}{parameters} =="


def _flat_definition(defined: Definition) -> str:
    recursive = ""
    if defined.recursive:
        recursive = f"RECURSIVE {defined.name}({', '.join('_' for _ in defined.parameters)}) "
    return f"{recursive}{_head(defined)} {flat(defined.body)}"


# ---------------------------------------------------------------- on several lines


def lines(node: Expr, room: int) -> list[str]:
    """Prints an expression on lines of at most ``room`` columns, if it can be split accordingly."""
    text = flat(node)
    if len(text) <= room and not _tall(node):
        return [text]
    match node:
        case Junction(sign, parts):
            return [
                line for part in parts for line in _led(f"{sign} ", _part(node, part, room - 3))
            ]
        case If(condition, then, otherwise):
            return _conditional(condition, then, otherwise, room)
        case Let(definitions, body):
            if room < TIGHT:
                inside = [line for local in definitions for line in definition(local, room - 2)]
                return ["LET", *_led("  ", ["", *inside])[1:], "IN", *lines(body, room)]
            inside = [line for local in definitions for line in definition(local, room - 4)]
            return [*_led("LET ", inside), *_led("IN  ", lines(body, room - 4))]
        case Quantified(sign, name, domain, body):
            head = f"{sign} {name} \\in "
            return [
                *_ended(_led(head, _part(_MEMBER, domain, room - len(head))), " :"),
                *_led("    ", lines(body, room - 4)),
            ]
        case Lambda(names, body):
            return [f"LAMBDA {', '.join(names)} :", *_led("    ", lines(body, room - 4))]
        case Infix(sign, left, right):
            return _infix(node, sign, left, right, room)
        case Prefix(sign, operand):
            head = f"{sign} " if sign.isalpha() else sign
            return _led(head, _part(node, operand, room - len(head)))
        case Apply(operator, arguments):
            step = 3 if room < TIGHT else 4
            rows_of = [lines(argument, room - step - 1) for argument in arguments]
            return _enclosed(f"{operator}(", rows_of, ")", step)
        case Tuple(parts):
            return _filled("<<", parts, ">>", room)
        case SetLiteral(parts):
            return _filled("{", [_element(part) for part in parts], "}", room)
        case Unchanged(names):
            return _led("UNCHANGED ", _filled("<<", [Name(n) for n in names], ">>", room - 10))
        case At(function, argument):
            inside = _ended(_led("[", lines(_element(argument), room - 5)), "]")
            return [*_part(node, function, room), *_led("    ", inside)]
        case Dot(record, field):
            return _ended(_part(node, record, room), f".{field}")
        case Filter(name, domain, condition):
            return _comprehension("{", f"{name} \\in ", domain, " :", condition, "}", room)
        case Function(name, domain, body):
            return _comprehension("[", f"{name} \\in ", domain, " |->", body, "]", room)
        case Image(element, name, domain):
            inside = _ended(_led("{", lines(_element(element), room - 1)), " :")
            return [*inside, *_ended(_led(f"    {name} \\in ", lines(domain, room - 9)), "}")]
        case Functions(domain, codomain):
            return [
                *_ended(_led("[", _part(node, domain, room - 1)), " ->"),
                *_ended(_led("    ", _part(node, codomain, room - 4)), "]"),
            ]
        case Fields(sign, fields):
            rows = [_led(f"{name} {sign} ", lines(v, room - 8 - len(name))) for name, v in fields]
            return _enclosed("[", rows, "]", step=1)
        case Except(base, path, value):
            return [
                *_ended(_led("[", lines(base, room - 1)), " EXCEPT"),
                *_path_lines(path, room - 4),
                *_ended(_led("        ", lines(value, room - 9)), "]"),
            ]
        case Always(body, names):
            inside = _led("[][", lines(_of_a_step(body), room - 5 - len(names)))
            return _ended(inside, f"]_{names}")
        case _:
            return [text]


_MEMBER = Infix("\\in", Name("TRUE"), Name("TRUE"))
"""Used as the parent of a domain, to determine whether the domain needs brackets."""


def _conditional(
    condition: Expr, then: Expr, otherwise: Expr, room: int, word: str = "IF "
) -> list[str]:
    # Every line of the condition is to the right of the word, because the columns of a vertical
    # list are significant.
    first = _led(word, lines(condition, room - 5 - len(word)))
    if room < TIGHT and len(flat(then)) > room - 5:
        first += ["THEN", *_led("  ", ["", *lines(then, room - 2)])[1:]]
    else:
        first += _led("THEN ", lines(then, room - 5))
    rest = lines(otherwise, room - 5)
    if isinstance(otherwise, If) and len(rest) > 1:
        # Chained conditions keep the same columns.
        parts = otherwise.condition, otherwise.then, otherwise.otherwise
        return [*first, *_conditional(*parts, room, "ELSE IF ")]
    if room < TIGHT and len(rest) > 1:
        return [*first, "ELSE", *_led("  ", ["", *lines(otherwise, room - 2)])[1:]]
    return [*first, *_led("ELSE ", rest)]


def _path_lines(path: tuple[Expr | str, ...], room: int) -> list[str]:
    rows = [f"    !{_path(path)} ="]
    if len(rows[0]) <= room:
        return rows
    rows_of = ["    !"]
    for step in path:
        inside = (
            [f".{step}"] if isinstance(step, str) else _ended(_led("[", lines(step, room - 6)), "]")
        )
        rows_of += _led("     ", inside)
    return _ended(rows_of, " =")


def _tall(node: Expr) -> bool:
    """Checks whether an expression that fits on a line is easier to read on several lines, because
    it contains a definition or a list of assignments.
    """
    match node:
        case Let():
            return True
        case Junction("/\\", parts):
            return any(_tall(p) or isinstance(p, Unchanged) or _assigns(p) for p in parts)
        case If(_, then, otherwise):
            return _tall(then) or _tall(otherwise)
        case Quantified("\\E", _, _, body):
            return _tall(body)
        case _:
            return False


def _assigns(part: Expr) -> bool:
    return isinstance(part, Infix) and isinstance(part.left, Prime) and part.sign == "="


def _part(parent: Expr, part: Expr, room: int, *, first: bool = True) -> list[str]:
    """Prints an operand, in brackets if it needs them."""
    if isinstance(parent, Junction):
        # A vertical list ends where its columns end, so its parts need no brackets.
        return lines(part, room)
    if not _bracketed(parent, part, first):
        rows = lines(part, room)
        # A vertical list continues until a bracket ends it.
        if len(rows) == 1 or rank(part) != JUNCTION:
            return rows
    return _ended(_led("(", lines(part, room - 2)), ")")


def _infix(node: Infix, sign: str, left: Expr, right: Expr, room: int) -> list[str]:
    """Prints the operands of a chain on separate lines. The sign precedes its right operand."""
    if sign in ("=", "\\in", "=>", ":>") and len(flat(left)) <= room - 8:
        head = f"{_operand(node, left)} {sign} "
        if len(head) <= 44:
            below = len(flat(right)) > room - len(head) and rank(right) == ATOM
            if rank(right) in (OPEN, JUNCTION) or (below and len(flat(right)) <= room - 4):
                return [head.rstrip(), *_led("    ", _part(node, right, room - 4, first=False))]
            return _led(head, _part(node, right, room - len(head), first=False))
    upper = _part(node, left, room)
    return [*upper, *_led(f"  {sign} ", _part(node, right, room - len(sign) - 3, first=False))]


def _comprehension(
    opening: str, bound: str, domain: Expr, sign: str, body: Expr, closing: str, room: int
) -> list[str]:
    head = f"{opening}{bound}"
    inside = _part(_MEMBER, domain, room - len(head) - len(sign))
    return [
        *_ended(_led(head, inside), sign),
        *_ended(_led("    ", lines(body, room - 5)), closing),
    ]


def _filled(opening: str, parts: Sequence[Expr], closing: str, room: int) -> list[str]:
    """Prints parts side by side, as many on each line as fit, or one on each line if parts are
    long.
    """
    texts = [flat(part) for part in parts]
    if not texts:
        return [opening + closing]
    if max(map(len, texts)) > room // 2:
        rows_of = [lines(part, room - len(opening) - 2) for part in parts]
        return _enclosed(opening, rows_of, closing, step=len(opening))
    rows: list[str] = []
    line = opening
    gap = " " * len(opening)
    for number, text in enumerate(texts):
        piece = text + ("," if number < len(texts) - 1 else closing)
        if line.strip() and line not in (opening, gap) and len(line) + 1 + len(piece) > room:
            rows.append(line)
            line = gap
        line += piece if line in (opening, gap) else f" {piece}"
    return [*rows, line]


def _enclosed(opening: str, parts: list[list[str]], closing: str, step: int = 4) -> list[str]:
    """Prints parts in brackets, one on each line, with commas."""
    inside: list[str] = []
    for number, part in enumerate(parts):
        inside += _ended(part, "," if number < len(parts) - 1 else closing)
    if step <= 2:
        return _led(opening, inside) if len(opening) == step else [opening, *inside]
    return [opening, *_led(" " * step, inside)]


def _led(lead: str, rest: list[str]) -> list[str]:
    first, *others = rest
    gap = " " * len(lead)
    return [lead + first, *(gap + line for line in others)]


def _ended(rest: list[str], end: str) -> list[str]:
    return [*rest[:-1], rest[-1] + end]


# ---------------------------------------------------------------- definitions and modules


def definition(defined: Definition, room: int = WIDTH) -> list[str]:
    """Prints a definition as lines."""
    rows = comment(defined.comment, room)
    step = 2 if room < TIGHT else 4
    if defined.recursive:
        holes = [Name("_")] * len(defined.parameters)
        rows += _filled(f"RECURSIVE {defined.name}(", holes, ")", room)
    head = [f"{defined.name} =="]
    if defined.parameters:
        parts = [Name(text) for text in defined.parameters]
        head = _ended(_filled(f"{defined.name}(", parts, ")", room - 3), " ==")
    text = flat(defined.body)
    if len(head[-1]) + 1 + len(text) <= room and not _tall(defined.body):
        return [*rows, *_ended(head, f" {text}")]
    return [*rows, *head, *_led(" " * step, lines(defined.body, room - step))]


def comment(text: str, room: int = WIDTH) -> list[str]:
    """Converts text to comment lines. Line breaks are kept, and words that do not fit move to the
    next line of the paragraph.
    """
    rows: list[str] = []
    over = ""
    for line in text.strip().splitlines():
        safe = "".join(c if " " <= c <= "~" else "?" for c in line.rstrip())
        rest = f"{over} {safe}" if over and safe and not safe[0].isspace() else safe
        if over and rest is safe:
            rows.append(f"\\* {over}")
        over = ""
        while len(rest) > room - 3 and (cut := rest.rfind(" ", 1, room - 3)) > 0:
            rows.append(f"\\* {rest[:cut]}")
            rest = rest[cut + 1 :]
            over = rest
        if not over:
            rows.append(f"\\* {rest}".rstrip())
        else:
            over = rest
    if over:
        rows.append(f"\\* {over}")
    return rows


def module(written: Module) -> str:
    """Prints a module."""
    head = f" MODULE {written.name} "
    bar = "-" * max(4, (WIDTH - 24 - len(head)) // 2)
    rows = [f"{bar}{head}{bar}", *comment(written.comment)]
    rows += [f"EXTENDS {', '.join(written.extends)}", "", "VARIABLES"]
    for number, (name, about) in enumerate(written.variables):
        end = "," if number < len(written.variables) - 1 else ""
        rows += [f"    {line}" for line in comment(about, WIDTH - 4)]
        rows.append(f"    {name}{end}")
    for unit in written.units:
        rows += ["", *_unit(unit)]
    return "\n".join([*rows, "", "=" * (2 * len(bar) + len(head)), ""])


def _unit(unit: Unit) -> list[str]:
    match unit:
        case Assume(condition):
            return _led("ASSUME ", lines(condition, WIDTH - 7))
        case Instance(name, inside, values, about):
            head = [*comment(about), f"{name} == INSTANCE {inside} WITH"]
            rows = [
                _led(f"    {variable} <- ", lines(v, WIDTH - 8 - len(variable)))
                for variable, v in values
            ]
            ended = [_ended(row, ",") for row in rows[:-1]]
            return [*head, *(line for row in [*ended, rows[-1]] for line in row)]
        case WrittenUnit(text):
            return text.splitlines()
        case Definition():
            return definition(unit)
        case _:
            assert_never(unit)
