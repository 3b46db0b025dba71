"""Small changes to Python source, one at a time: the mutants of `bench.engine_mutants`.

This module depends on the syntax and on the names of the emitter's instructions, but not on the
purpose of the changed code.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
INSTRUCTIONS = {
    "add": "sub",
    "sub": "add",
    "mul": "add",
    "both": "either",
    "either": "both",
    "differ": "either",
    "shl": "shr",
    "shr": "shl",
    "sar": "shr",
    "udiv": "urem",
    "urem": "udiv",
    "eq": "ne",
    "ne": "eq",
    "slt": "sle",
    "sle": "slt",
    "ult": "slt",
    "as_flag": "invert",
    "icmp_signed": "icmp_unsigned",
    "icmp_unsigned": "icmp_signed",
    "ashr": "lshr",
    "lshr": "ashr",
    "sdiv": "udiv",
}
"""An instruction, and a similar one that replaces it."""
SIDED = {"sub", "slt", "sle", "ult", "udiv", "urem", "sdiv", "shl", "shr", "store", "less", "min"}
"""Calls whose two operands are exchanged."""
ARMED = {"select", "branch", "unlikely", "chosen", "cbranch"}
"""Calls whose second and third operand are exchanged."""
PREDICATES = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
"""Comparisons named by their sign."""
NAMED = ("comparison", "bound", "shift", "mask")
KINDS = (*NAMED, "number", "arithmetic", "condition", "operands", "call")
"""Kinds of changes: see `Mutant`."""
FAMILIES = {
    "comparison": {"eq", "ne", "slt", "sle", "ult", "as_flag", "less"}
    | {"icmp_signed", "icmp_unsigned"},
    "shift": {"shl", "shr", "sar", "ashr", "lshr", "_shift"},
    "mask": {"both", "either", "differ", "invert", "merged", "bits"},
}
"""Calls by family."""
COUNTED = {"counted", "words", "bytes", "clear", "copy"}
"""Calls with a count or a size."""
OPAQUE = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)
"""Statements without mutants: they only report mistakes or import names."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change, identified by ``node`` and ``choice``; the texts are for the report.

    ``kind`` is one of `KINDS`. A number or a sum inside a comparison, a range, a slice or a minimum
    is a *bound*; inside a shift it is a *shift*, and next to a mask a *mask*. A *call* is removed;
    *operands* are exchanged.
    """

    line: int
    node: int
    choice: int
    kind: str
    function: str
    before: str
    after: str


def mutants(source: str) -> list[Mutant]:
    """All changes of a module, in the order of its text."""
    changes: list[Mutant] = []
    tree = ast.parse(source)
    names = _names(tree)
    for number, (node, around) in enumerate(_nodes(tree)):
        for choice, other in enumerate(_alternatives(node)):
            before, after = (_short(item) for item in (node, other))
            line = _line(node)
            kind, name = _kind(node, around), names.get(line, "")
            changes.append(Mutant(line, number, choice, kind, name, before, after))
    return sorted(changes, key=lambda mutant: (mutant.line, mutant.node))


def mutated(source: str, mutant: Mutant, filename: str) -> CodeType:
    """The code of the module with one change."""
    tree = ast.parse(source)
    for number, (node, _) in enumerate(_nodes(tree)):
        if number == mutant.node:
            other = ast.copy_location(list(_alternatives(node))[mutant.choice], node)
            _Exchange(node, other).visit(tree)
            return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)
    raise AssertionError(mutant)


class _Exchange(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def functions(source: str) -> set[int]:
    """The lines inside functions; all others run when the module is loaded."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
            for part in body:
                lines |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return lines


def _names(tree: ast.AST) -> dict[int, str]:
    """The innermost named function around each line."""
    names: dict[int, str] = {}
    # Outer functions come before inner ones.
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                names[line] = node.name
    return names


def _line(node: ast.AST) -> int:
    line: int = getattr(node, "lineno", 0)
    return line


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:67]}..."


def _nodes(tree: ast.AST, around: str = "") -> Iterator[tuple[ast.AST, str]]:
    """The nodes whose change may matter; not types, texts, assertions or imports.

    Each comes with its context: operand of a comparison or the like (``bound``), of a shift, or of
    a mask.
    """
    if isinstance(tree, OPAQUE):
        return
    yield tree, around
    match tree:
        case ast.FunctionDef(args=arguments, body=body):
            parts: list[ast.AST] = [*arguments.defaults, *body]
        case ast.ClassDef(body=body):
            parts = list(body)
        case ast.AnnAssign(value=value):
            parts = [] if value is None else [value]
        case ast.match_case(pattern=_, guard=guard, body=body):
            parts = [*([guard] if guard else []), *body]
        case ast.JoinedStr():
            parts = []
        case _:
            parts = list(ast.iter_child_nodes(tree))
    inside = _inside(tree, around)
    for part in parts:
        yield from _nodes(part, inside)


def _inside(node: ast.AST, around: str) -> str:
    """The context that a node gives to its parts."""
    match node:
        case ast.Compare() | ast.Slice():
            return "bound"
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            return _family(operator) or around
        case ast.Call(ast.Name("min" | "max" | "range")):
            return "bound"
        case ast.Call(ast.Attribute(attr=name)):
            family = "bound" if name in COUNTED else _named(name)
            return "bound" if family == "comparison" else family
        case ast.Call(ast.Name("word" | "signed")) | ast.UnaryOp():
            return around
        case ast.Call() | ast.Subscript() | ast.stmt() | ast.Lambda():
            return ""
        case _:
            return around


def _named(name: str) -> str:
    return next((family for family, names in FAMILIES.items() if name in names), "")


def _family(operator: ast.operator) -> str:
    match operator:
        case ast.LShift() | ast.RShift():
            return "shift"
        case ast.BitAnd() | ast.BitOr():
            return "mask"
        case _:
            return ""


def _kind(node: ast.AST, around: str) -> str:
    """The kind of all changes of a node."""
    match node:
        case ast.Compare() | ast.Constant(str()):
            return "comparison"
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            return _family(operator) or around or "arithmetic"
        case ast.UnaryOp(ast.Invert()):
            return "mask"
        case ast.Constant(bool()) | ast.UnaryOp(ast.Not()) | ast.BoolOp() | ast.If() | ast.IfExp():
            return "condition"
        case ast.Constant() | ast.UnaryOp():
            return around or "number"
        case ast.Call(ast.Name()):
            return "bound"
        case ast.Call(ast.Attribute(attr=name)):
            if name in ARMED or name == "store":
                return "operands"
            return _named(name) or around or "arithmetic"
        case _:
            return "call"


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """The replacements for a node."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], [right])
        case ast.Compare(left, [_, _, *_] as operators, rights):
            for index, operator in enumerate(operators):
                if type(operator) in COMPARISONS:
                    others = list(operators)
                    others[index] = COMPARISONS[type(operator)]()
                    yield ast.Compare(left, others, rights)
        case ast.BoolOp(operator, parts):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), parts)
            for index in range(len(parts)):
                fewer = [part for number, part in enumerate(parts) if number != index]
                yield fewer[0] if len(fewer) == 1 else ast.BoolOp(operator, fewer)
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS:
            yield ast.AugAssign(target, OPERATORS[type(operator)](), value)
        case ast.Constant(str() as sign) if sign in PREDICATES:
            yield ast.Constant(PREDICATES[sign])
        case ast.Constant(bool() as truth):
            yield ast.Constant(not truth)
        case ast.Constant(int() as number):
            yield ast.Constant(number + 1)
            yield ast.Constant(number - 1)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(test):
            other = copy.copy(node)
            other.test = ast.UnaryOp(ast.Not(), test)
            yield other
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.Call(ast.Attribute(owner, name) as function, [*arguments]):
            if name in INSTRUCTIONS:
                other_name = ast.Attribute(owner, INSTRUCTIONS[name], function.ctx)
                yield ast.Call(other_name, arguments, node.keywords)
            if name in SIDED and len(arguments) == 2:
                yield ast.Call(function, arguments[::-1], node.keywords)
            if name in ARMED and len(arguments) == 3:
                yield ast.Call(function, [arguments[0], arguments[2], arguments[1]], node.keywords)
        case ast.Call(ast.Name("min" | "max") as function, [_, _] as arguments, []):
            yield ast.Call(
                ast.Name("max" if function.id == "min" else "min", function.ctx), arguments, []
            )
        case _:
            pass
