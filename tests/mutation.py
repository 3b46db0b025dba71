"""Small changes to Python source, one at a time: what `tests.mutants` tries the tests with.

It knows syntax, and the names by which the emitter's instructions go; it does not know what the
changed code is for.
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
"""An instruction, and one that is easily taken for it."""
SIDED = {"sub", "slt", "sle", "ult", "udiv", "urem", "sdiv", "shl", "shr", "store", "less", "min"}
"""Calls whose two operands are exchanged."""
ARMED = {"select", "branch", "unlikely", "chosen", "cbranch"}
"""Calls whose second and third operand are exchanged."""
OPAQUE = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)
"""What is left as it is: these only tell of mistakes, or what there is."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: ``node`` and ``choice`` say where and which, the texts are for people."""

    line: int
    node: int
    choice: int
    before: str
    after: str


def mutants(source: str) -> list[Mutant]:
    """All changes of a module, in the order of its text."""
    found: list[Mutant] = []
    for number, node in enumerate(_nodes(ast.parse(source))):
        for choice, other in enumerate(_alternatives(node)):
            before, after = (_short(item) for item in (node, other))
            found.append(Mutant(_line(node), number, choice, before, after))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.node))


def mutated(source: str, mutant: Mutant, filename: str) -> CodeType:
    """The code of the module with one change."""
    tree = ast.parse(source)
    for number, node in enumerate(_nodes(tree)):
        if number == mutant.node:
            other = ast.copy_location(list(_alternatives(node))[mutant.choice], node)
            _Exchange(node, other).visit(tree)
            return compile(ast.fix_missing_locations(tree), filename, "exec")
    raise AssertionError(mutant)


class _Exchange(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def functions(source: str) -> set[int]:
    """The lines inside functions; what stands on others is run when the module is loaded."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
            for part in body:
                found |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return found


def _line(node: ast.AST) -> int:
    line: int = getattr(node, "lineno", 0)
    return line


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:67]}..."


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes in which a change may matter; not types, texts, assertions or imports."""
    if isinstance(tree, OPAQUE):
        return
    yield tree
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
    for part in parts:
        yield from _nodes(part)


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """What might stand in place of a node."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], [right])
        case ast.BoolOp(operator, parts):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), parts)
            for place in range(len(parts)):
                fewer = [part for number, part in enumerate(parts) if number != place]
                yield fewer[0] if len(fewer) == 1 else ast.BoolOp(operator, fewer)
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
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
