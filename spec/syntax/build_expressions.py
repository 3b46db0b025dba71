"""Builds the nodes of expressions, patterns and statements: one small function per grammar rule.

Constraints that the grammar cannot express (a statement must have an effect, ``_`` has no parts)
are checked here, by raising `Mistake`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, cast

from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.nodes import (
    Argument,
    Binder,
    Expr,
    Name,
    Pattern,
    PatternArgument,
    Suite,
)
from fencepost.spec.syntax.tokens import Token
from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span

MAX_DIGITS = 40
"""Maximum number of digits in a number. Python refuses to read very long ones."""


class Mistake(Exception):
    """A form that the grammar accepts but the language does not."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


def at(span: Span, token: Token) -> Span:
    return Span(span.source, token.start, token.end)


def name(span: Span, token: Token) -> Name:
    # Every long text contains many names, so this makes parsing interruptible.
    tick()
    return Name(token.text, span=at(span, token))


def name_or_none(span: Span, token: Token | None) -> Name | None:
    return None if token is None else name(span, token)


def number(span: Span, token: Token) -> int:
    digits = token.text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        message = f"a number has at most {MAX_DIGITS} digits, and this one has {len(digits)}"
        raise Mistake(Problem("F121", at(span, token), message))
    return int(digits)


def unquoted(token: Token) -> str:
    quotes = 3 if token.text.startswith('"""') else 1
    return token.text[quotes:-quotes].replace("\r\n", "\n")


# ---------------------------------------------------------------- expressions and types


def sequence(span: Span, *items: Any) -> tuple[Any, ...]:
    return items


def _names(span: Span, *tokens: Token) -> tuple[Name, ...]:
    return tuple(name(span, token) for token in tokens)


def _integer(span: Span, token: Token) -> Expr:
    return syntax.Integer(number(span, token), span=span)


def _binary(span: Span, left: Expr, operator: Token, right: Expr) -> Expr:
    return syntax.Binary(operator.text, left, right, span=span)


def _true(span: Span) -> Expr:
    return syntax.Boolean(True, span=span)


def _false(span: Span) -> Expr:
    return syntax.Boolean(False, span=span)


def _none(span: Span) -> Expr:
    return syntax.Nothing(span=span)


def _not_in(span: Span, left: Expr, right: Expr) -> Expr:
    return syntax.Binary("not in", left, right, span=span)


def _not(span: Span, operand: Expr) -> Expr:
    return syntax.Unary("not", operand, span=span)


def _minus(span: Span, operand: Expr) -> Expr:
    return syntax.Unary("-", operand, span=span)


def _is(span: Span, operand: Expr, member: Expr) -> Expr:
    return syntax.Is(operand, member, False, span=span)


def _is_not(span: Span, operand: Expr, member: Expr) -> Expr:
    return syntax.Is(operand, member, True, span=span)


def _conditional(span: Span, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return syntax.Conditional(condition, then, otherwise, span=span)


def _binder(span: Span, word: Token, domain: Expr) -> Binder:
    return Binder(name(span, word), domain, span=span)


def _quantifier(
    span: Span, kind: Token, binders: tuple[Binder, ...], condition: Expr | None, body: Expr
) -> Expr:
    quantifier: Literal["forall", "exists"] = "forall" if kind.text == "forall" else "exists"
    return syntax.Quantifier(quantifier, binders, condition, body, span=span)


def _block(span: Span, *lines: Expr | syntax.Let) -> Expr:
    lets = [line for line in lines if isinstance(line, syntax.Let)]
    parts = tuple(line for line in lines if not isinstance(line, syntax.Let))
    body = parts[0]
    if len(parts) > 1:
        body = syntax.Conjunction(parts, span=parts[0].span.to(parts[-1].span))
    for let in reversed(lets):
        body = syntax.LetIn(let.name, let.value, body, span=let.span.to(body.span))
    return body


def _choose(span: Span, binder: Binder, condition: Expr | None) -> Expr:
    return syntax.Choose(binder, condition, span=span)


def _let_in(span: Span, word: Token, value: Expr, body: Expr) -> Expr:
    return syntax.LetIn(name(span, word), value, body, span=span)


def _with(span: Span, record: Expr, field: Argument) -> Expr:
    return syntax.With(record, (field,), span=span)


def _with_more(span: Span, expr: Expr, *fields: Argument) -> Expr:
    between = Span(span.source, expr.span.end, fields[0].span.start)
    # Parentheses leave no node, but they are visible between the expression and the comma.
    closed = ")" in _COMMENT.sub("", between.text)
    longer = None if closed else _extended(expr, fields)
    if longer is None:
        message = 'a field follows "with": r with f: e, g: d'
        raise Mistake(Problem("F101", fields[0].span, message))
    return longer


_COMMENT = re.compile(r"#[^\n]*")

N = TypeVar("N", bound=syntax.Node)


def _extended(node: N, fields: tuple[Argument, ...]) -> N | None:
    """``node`` with more fields in the ``with`` at its very end; None if there is none."""
    changes: dict[str, Any] = {}
    for item in dataclasses.fields(node):
        value: object = getattr(node, item.name)
        parts = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        last = parts[-1] if parts else None
        if isinstance(last, syntax.Node) and last.span.end == node.span.end:
            longer = _extended(last, fields)
            if longer is not None:
                whole = (*parts[:-1], longer)
                changes = {item.name: whole if isinstance(value, tuple) else longer}
    if not changes:
        if not isinstance(node, syntax.With):
            return None
        changes = {"fields": (*node.fields, *fields)}
    span = node.span.to(fields[-1].span)
    return dataclasses.replace(node, **changes, span=span)


def _list(span: Span, elements: tuple[Expr, ...] | None) -> Expr:
    return syntax.Collection("[]", elements or (), span=span)


def _set(span: Span, elements: tuple[Expr, ...] | None) -> Expr:
    return syntax.Collection("{}", elements or (), span=span)


def _entry(span: Span, key: Expr, value: Expr) -> syntax.Entry:
    return syntax.Entry(key, value, span=span)


def _map(span: Span, *entries: syntax.Entry) -> Expr:
    return syntax.Map(entries, span=span)


def _list_comprehension(
    span: Span, element: Expr, binders: tuple[Binder, ...], condition: Expr | None
) -> Expr:
    return syntax.Comprehension("[]", element, binders, condition, span=span)


def _set_comprehension(
    span: Span, element: Expr, binders: tuple[Binder, ...], condition: Expr | None
) -> Expr:
    return syntax.Comprehension("{}", element, binders, condition, span=span)


def _argument(span: Span, value: Expr) -> Argument:
    return Argument(None, value, span=span)


def _any_index(span: Span, base: Expr) -> Expr:
    return syntax.Index(base, (syntax.Anything(span=span),), span=span)


def _anything(span: Span) -> Argument:
    return Argument(None, syntax.Anything(span=span), span=span)


def _named_argument(span: Span, word: Token, value: Expr) -> Argument:
    return Argument(name(span, word), value, span=span)


def _call(span: Span, function: Expr, arguments: tuple[Argument, ...] | None) -> Expr:
    return syntax.Call(function, arguments or (), span=span)


def _index(span: Span, base: Expr, arguments: tuple[Expr, ...]) -> Expr:
    return syntax.Index(base, arguments, span=span)


def _part_from(span: Span, base: Expr, low: Expr) -> Expr:
    return syntax.Part(base, low, None, span=span)


def _part_to(span: Span, base: Expr, high: Expr) -> Expr:
    return syntax.Part(base, None, high, span=span)


def _attribute(span: Span, base: Expr, word: Token) -> Expr:
    return syntax.Attribute(base, name(span, word), span=span)


def _unwrap(span: Span, operand: Expr) -> Expr:
    return syntax.Unwrap(operand, span=span)


def _range(span: Span, low: Expr, high: Expr) -> Expr:
    return syntax.Range(low, high, span=span)


def _optional(span: Span, element: Expr) -> Expr:
    return syntax.Optional(element, span=span)


def _always(span: Span, operand: Expr) -> Expr:
    return syntax.UnaryTemporal("always", operand, span=span)


def _eventually(span: Span, operand: Expr) -> Expr:
    return syntax.UnaryTemporal("eventually", operand, span=span)


def _until(span: Span, left: Expr, right: Expr) -> Expr:
    return syntax.BinaryTemporal("until", left, right, span=span)


def _leads_to(span: Span, left: Expr, right: Expr) -> Expr:
    return syntax.BinaryTemporal("leads to", left, right, span=span)


# ---------------------------------------------------------------- patterns and statements


def _bind(span: Span, word: Token) -> PatternArgument:
    if word.text == "_":
        return syntax.Ignore(span=span)
    return syntax.Bind(name(span, word), span=span)


def _equals(span: Span, value: Expr) -> PatternArgument:
    return syntax.Equals(value, span=span)


def _pattern(
    span: Span, member: Expr, arguments: tuple[PatternArgument, ...] | None, alias: Token | None
) -> Pattern:
    catch_all = isinstance(member, Name) and member.text == "_"
    if catch_all and arguments is not None:
        message = "_ matches any value and has no fields"
        raise Mistake(Problem("F117", span, message))
    tested = None if catch_all else member
    return Pattern(tested, arguments, name_or_none(span, alias), span=span)


def _literal_pattern(span: Span, literal: Expr) -> Pattern:
    return Pattern(literal, None, None, span=span)


def _docstring(span: Span, token: Token) -> str:
    return unquoted(token).strip()


def _require(span: Span, condition: Expr) -> syntax.Statement:
    return syntax.Require(condition, span=span)


def _assert(span: Span, condition: Expr, message: Token | None) -> syntax.Statement:
    reason = None if message is None else unquoted(message)
    return syntax.Assert(condition, reason, span=span)


def _assign(span: Span, target: Expr, operator: Token, value: Expr) -> syntax.Statement:
    match operator.text:
        case "=" | "+=" | "-=" | "|=" | "&=" as sign:
            return syntax.Assign(target, sign, value, span=span)
        case _:
            raise AssertionError(operator)


def _let(span: Span, word: Token, value: Expr) -> syntax.Statement:
    return syntax.Let(name(span, word), value, span=span)


def _pick(span: Span, binder: Binder, condition: Expr | None) -> syntax.Statement:
    return syntax.Pick(binder, condition, span=span)


def _send(span: Span, message: Expr, channel: Expr) -> syntax.Statement:
    return syntax.Send(message, channel, span=span)


def _do(span: Span, call: Expr) -> syntax.Statement:
    if not isinstance(call, syntax.Call):
        message = "this is a value, and does nothing as a statement"
        note = "a statement assigns (x = e), calls (p(x), s.add(x)) or begins with its keyword"
        raise Mistake(Problem("F116", span, message, ((None, note),)))
    return syntax.Do(call, span=span)


def _return(span: Span) -> syntax.Statement:
    return syntax.Return(span=span)


def _skip(span: Span) -> syntax.Statement:
    return syntax.Skip(span=span)


def _branch(span: Span, condition: Expr, body: Suite) -> syntax.Branch:
    return syntax.Branch(condition, body, span=span)


def _if(span: Span, *parts: Any) -> syntax.Statement:
    *branches, otherwise = parts
    return syntax.If(tuple(branches), otherwise, span=span)


def _case(span: Span, pattern: Pattern, body: Suite) -> syntax.Case:
    return syntax.Case(pattern, body, span=span)


def _match(span: Span, subject: Expr, *cases: syntax.Case) -> syntax.Statement:
    return syntax.Match(subject, cases, span=span)


def _for(span: Span, binder: Binder, body: Suite) -> syntax.Statement:
    return syntax.For(binder, body, span=span)


TERMS: Mapping[str, Callable[..., Any]] = {
    "always": _always, "any_index": _any_index, "anything": _anything, "argument": _argument,
    "arguments": sequence, "assert_": _assert,
    "assign": _assign,
    "attribute": _attribute, "binary": _binary, "bind": _bind, "binder": _binder,
    "binders": sequence, "block": _block, "branch": _branch, "call": _call, "case": _case,
    "choose": _choose, "conditional": _conditional, "do": _do, "docstring": _docstring,
    "entry": _entry, "equals": _equals, "eventually": _eventually, "exprs": sequence,
    "false": _false, "for_": _for, "if_": _if, "index": _index, "integer": _integer, "is_": _is,
    "is_not": _is_not, "leads_to": _leads_to, "let": _let, "let_in": _let_in, "list": _list,
    "list_comprehension": _list_comprehension, "literal_pattern": _literal_pattern, "map": _map,
    "match": _match, "minus": _minus, "name": name,
    "named_argument": _named_argument, "names": _names, "none": _none, "not_": _not,
    "not_in": _not_in, "operands": sequence, "optional": _optional, "path": _names,
    "part_from": _part_from, "part_to": _part_to,
    "pattern": _pattern, "pattern_arguments": sequence, "pick": _pick,
    "quantifier": _quantifier, "range": _range, "require": _require, "return_": _return,
    "send": _send, "set": _set, "set_comprehension": _set_comprehension, "skip": _skip,
    "suite": sequence, "true": _true, "until": _until, "unwrap": _unwrap, "with_": _with,
    "with_more": _with_more,
}  # fmt: skip
