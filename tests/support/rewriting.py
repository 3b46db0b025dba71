"""Rewrites a spec in ways that must not change its meaning.

A second interpreter does not test how a text is translated into a model. Two equivalent texts do:
if their results differ, one of them has been elaborated wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar, cast

from fencepost.spec.elaborate.claims.program import Program
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

Rule: TypeAlias = "Callable[[syntax.Expr], syntax.Expr] | Stepwise"
"""Replaces an expression whose parts have been rewritten already, or rewrites statements."""

N = TypeVar("N", bound=syntax.Node)

OPAQUE = "opaque"
"""A variable that is always true, although its value cannot be derived before the run."""

TYPES = ("bool", "int", "int8", "int16", "int32", "int64", "set", "seq", "bag", "map")


def rewritten(program: Program, rule: Rule) -> Program:
    """Rewrites every expression of a spec that is evaluated during the run."""
    tree = program.files.files[program.files.root]
    span = Span(tree.source, 0, 0)
    opaque = syntax.VarDecl(
        False,
        syntax.Name(OPAQUE, span=span),
        syntax.Name("bool", span=span),
        "value",
        syntax.Boolean(True, span=span),
        None,
        span=span,
    )
    declarations = tuple(_declaration(node, rule) for node in tree.declarations)
    tree = replace(tree, declarations=(opaque, *declarations))
    files = replace(program.files, files={**program.files.files, program.files.root: tree})
    return replace(program, files=files)


def _declaration(node: syntax.Declaration, rule: Rule) -> syntax.Declaration:
    match node:
        case (
            syntax.VarDecl()
            | syntax.Initially()
            | syntax.ActionDecl()
            | syntax.DefDecl()
            | syntax.ProcedureDecl()
            | syntax.PropertyDecl()
            | syntax.RoleDecl()
        ):
            return _walk(node, rule)
        case _:
            return node


def _walk(node: N, rule: Rule) -> N:
    """Rewrites the expressions of a node, except types, names and members."""
    kept: set[str] = set()
    if not isinstance(node, syntax.ActionDecl):
        kept = {"type", "result", "parameters"}
    match node:
        case syntax.Pattern() | syntax.Is():
            kept |= {"member"}
        case syntax.RoleDecl() | syntax.Optional():
            kept |= {"index", "element"}
        case syntax.Entry():
            # The key is a constant.
            kept |= {"key"}
        case syntax.DefDecl():
            # The bound of a recursion is a constant.
            kept |= {"bound"}
        case syntax.Range(low, high) if _literal(low) and _literal(high):
            # The range may be a type.
            return node
        case syntax.Index(syntax.Name(text=text)) if text in TYPES:
            return node
        case syntax.Unary("-", syntax.Integer()):
            return _applied(node, rule)
        case _:
            pass
    if isinstance(node, syntax.ActionDecl) and isinstance(rule, Stepwise):
        node = cast("N", rule.action(node))
    changes: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if item.name not in kept and item.name != "span":
            changes[item.name] = _inside(value, rule)
    return _applied(replace(node, **changes), rule)


def _inside(value: object, rule: Rule) -> object:
    if isinstance(value, tuple):
        parts = [_inside(part, rule) for part in cast("tuple[object, ...]", value)]
        if isinstance(rule, Stepwise) and parts and isinstance(parts[0], STATEMENTS):
            return rule.suite(cast("list[syntax.Statement]", parts))
        return tuple(parts)
    if is_dataclass(value) and isinstance(value, syntax.Node):
        return _walk(value, rule)
    return value


EXPRESSIONS = (
    syntax.Integer, syntax.Boolean, syntax.Nothing, syntax.Unary, syntax.Binary, syntax.Is,
    syntax.Conditional, syntax.Quantifier,
)  # fmt: skip


STATEMENTS = (
    syntax.Require, syntax.Assert, syntax.Assign, syntax.Let, syntax.Pick, syntax.Send, syntax.Do,
    syntax.Return, syntax.Skip, syntax.If, syntax.Match, syntax.For,
)  # fmt: skip


def _applied(node: N, rule: Rule) -> N:
    if not isinstance(node, EXPRESSIONS) or isinstance(rule, Stepwise):
        return node
    # A rule maps expressions to expressions.
    return cast(N, rule(node))


def _literal(node: syntax.Expr) -> bool:
    match node:
        case syntax.Integer() | syntax.Unary("-", syntax.Integer()):
            return True
        case _:
            return False


# ---------------------------------------------------------------- rules


def opaque(node: syntax.Expr) -> syntax.Expr:
    """Hides literals from evaluation before the run, which prevents constant folding."""
    match node:
        case syntax.Integer() | syntax.Boolean() | syntax.Unary("-", syntax.Integer()):
            return _hidden(node)
        case _:
            return node


def _hidden(node: syntax.Expr) -> syntax.Expr:
    name = syntax.Name(OPAQUE, span=node.span)
    return syntax.Conditional(name, node, node, span=node.span)


def spelt_out(node: syntax.Expr) -> syntax.Expr:
    """Expresses operators and quantifiers by their opposites."""
    match node:
        case syntax.Binary("!=", left, right):
            return _not(syntax.Binary("==", left, right, span=node.span))
        case syntax.Binary(">", left, right) if _literal(left) or _literal(right):
            return _not(syntax.Binary("<=", left, right, span=node.span))
        case syntax.Binary("<", left, right) if _literal(left) or _literal(right):
            return _not(syntax.Binary(">=", left, right, span=node.span))
        case syntax.Binary("<" | ">" as sign, left, right):
            # Neither of two sets may be a subset of the other.
            weak = "<=" if sign == "<" else ">="
            below = syntax.Binary(weak, left, right, span=node.span)
            differ = _not(syntax.Binary("==", left, right, span=node.span))
            return syntax.Binary("and", below, differ, span=node.span)
        case syntax.Binary("not in", left, right):
            return _not(syntax.Binary("in", left, right, span=node.span))
        case syntax.Binary("implies", left, right):
            return syntax.Binary("or", _not(left), right, span=node.span)
        case syntax.Binary("iff", left, right):
            return syntax.Binary("==", left, right, span=node.span)
        case syntax.Is(operand, member, True):
            return _not(syntax.Is(operand, member, False, span=node.span))
        case syntax.Conditional(condition, then, otherwise):
            return syntax.Conditional(_not(condition), otherwise, then, span=node.span)
        case syntax.Quantifier(kind, binders, test, body):
            other: Literal["forall", "exists"] = "exists" if kind == "forall" else "forall"
            return _not(syntax.Quantifier(other, binders, test, _not(body), span=node.span))
        case _:
            return node


def branching(node: syntax.Expr) -> syntax.Expr:
    """Turns connectives into conditionals, except where a test of a variant matters."""
    match node:
        case syntax.Binary("and" | "or" as word, left, right) if not _tests(node):
            constant = syntax.Boolean(word == "or", span=node.span)
            if word == "and":
                return syntax.Conditional(left, right, constant, span=node.span)
            return syntax.Conditional(left, constant, right, span=node.span)
        case syntax.Binary("in", left, syntax.Collection("{}", elements)) if _cheap(elements):
            disjunction: syntax.Expr = syntax.Boolean(False, span=node.span)
            for element in elements:
                equal = syntax.Binary("==", left, element, span=node.span)
                disjunction = syntax.Binary("or", disjunction, equal, span=node.span)
            return disjunction
        case syntax.Quantifier(kind, (first, *rest), test, body) if rest:
            inner = syntax.Quantifier(kind, tuple(rest), test, body, span=node.span)
            return syntax.Quantifier(kind, (first,), None, inner, span=node.span)
        case syntax.Quantifier(kind, binders, test, body) if test is not None and not _tests(node):
            sign = "implies" if kind == "forall" else "and"
            whole = syntax.Binary(sign, test, body, span=node.span)
            return syntax.Quantifier(kind, binders, None, whole, span=node.span)
        case _:
            return node


def _cheap(elements: tuple[syntax.Expr, ...]) -> bool:
    """Checks that it makes no difference which of the elements are evaluated."""
    return all(_literal(e) or isinstance(e, syntax.Boolean | syntax.Nothing) for e in elements)


def _not(node: syntax.Expr) -> syntax.Expr:
    return syntax.Unary("not", node, span=node.span)


def _tests(node: object) -> bool:
    return any(isinstance(part, syntax.Is) for part in _parts(node))


def _parts(node: object) -> Iterator[object]:
    yield node
    if isinstance(node, tuple):
        for part in cast("tuple[object, ...]", node):
            yield from _parts(part)
    elif isinstance(node, syntax.Node):
        for item in fields(node):
            if item.name != "span":
                yield from _parts(getattr(node, item.name))


class Stepwise:
    """Splits statements into smaller steps. A condition on parameters becomes a guard."""

    def action(self, node: syntax.ActionDecl) -> syntax.ActionDecl:
        choices = node.choices
        # When the body begins, a received message has already been removed from its channel.
        if choices is None or choices.condition is None or node.receive is not None:
            return node
        guard = syntax.Require(choices.condition, span=node.span)
        body = (guard, *node.body)
        return replace(node, choices=replace(choices, condition=None), body=body)

    def suite(self, statements: Sequence[syntax.Statement]) -> syntax.Suite:
        return tuple(step for statement in statements for step in self._steps(statement))

    def _steps(self, statement: syntax.Statement) -> Iterator[syntax.Statement]:
        span = statement.span
        match statement:
            case syntax.Assign(target, "+=" | "-=" | "|=" | "&=" as sign, value):
                operator = sign[0]
                whole = syntax.Binary(operator, target, value, span=span)
                yield syntax.Assign(target, "=", whole, span=span)
            case syntax.Assign(target, "=", syntax.MatchValue(subject, cases)):
                bodies = [syntax.Assign(target, "=", _hidden(c.value), span=span) for c in cases]
                whole_cases = tuple(
                    syntax.Case(case.pattern, (body,), span=case.span)
                    for case, body in zip(cases, bodies, strict=True)
                )
                yield syntax.Match(subject, whole_cases, span=span)
            case syntax.Require(syntax.Binary("and", left, right)):
                yield from self._steps(syntax.Require(left, span=span))
                yield syntax.Require(right, span=span)
            case syntax.Pick(binder, condition) if condition is not None:
                yield syntax.Pick(binder, None, span=span)
                yield syntax.Require(condition, span=span)
            case syntax.If((first, *rest), otherwise) if rest:
                inner = syntax.If(tuple(rest), otherwise, span=span)
                yield syntax.If((first,), tuple(self._steps(inner)), span=span)
            case _:
                yield statement


RULES: dict[str, Rule] = {
    "opaque": opaque,
    "spelt_out": spelt_out,
    "branching": branching,
    "stepwise": Stepwise(),
}
