"""The node for each rule of the grammar: one small function per form.

It knows what the parts of a rule are, and makes them a node of `syntax`. What the grammar cannot
say (a statement must do something, ``_`` has no parts) is refused here, with `Mistake`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from fencepost.spec import syntax
from fencepost.spec.problem import Problem
from fencepost.spec.source import Source, Span
from fencepost.spec.syntax import (
    Argument,
    Binder,
    Expr,
    FieldDecl,
    ModuleArgument,
    Name,
    Parameter,
    Pattern,
    PatternArgument,
    Suite,
    VariantDecl,
)
from fencepost.spec.tokens import Token

MAX_DIGITS = 40
"""How many digits a number may have: Python itself refuses to read very long ones."""


class Mistake(Exception):
    """A form that the grammar allows and the language does not."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


def builder(source: Source) -> Callable[[str, Sequence[Any], int, int], Any]:
    """What `automaton.run` needs to make nodes with spans in ``source``; raises `Mistake`."""

    def build(rule: str, children: Sequence[Any], start: int, end: int) -> Any:
        return FORMS[rule](Span(source, start, end), *children)

    return build


def _at(span: Span, token: Token) -> Span:
    return Span(span.source, token.start, token.end)


def _name(span: Span, token: Token) -> Name:
    return Name(token.text, span=_at(span, token))


def _name_or_none(span: Span, token: Token | None) -> Name | None:
    return None if token is None else _name(span, token)


def _number(span: Span, token: Token) -> int:
    digits = token.text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        message = f"a number has at most {MAX_DIGITS} digits, and this one has {len(digits)}"
        raise Mistake(Problem("F121", _at(span, token), message))
    return int(digits)


def _unquoted(token: Token) -> str:
    quotes = 3 if token.text.startswith('"""') else 1
    return token.text[quotes:-quotes].replace("\r\n", "\n")


# ---------------------------------------------------------------- expressions and types


def _sequence(span: Span, *items: Any) -> tuple[Any, ...]:
    return items


def _names(span: Span, *tokens: Token) -> tuple[Name, ...]:
    return tuple(_name(span, token) for token in tokens)


def _integer(span: Span, token: Token) -> Expr:
    return syntax.Integer(_number(span, token), span=span)


def _binary(span: Span, left: Expr, operator: Token, right: Expr) -> Expr:
    return syntax.Binary(cast(syntax.BinaryOperator, operator.text), left, right, span=span)


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


def _binder(span: Span, name: Token, domain: Expr) -> Binder:
    return Binder(_name(span, name), domain, span=span)


def _quantifier(span: Span, kind: Token, binders: tuple[Binder, ...], body: Expr) -> Expr:
    word = "forall" if kind.text == "forall" else "exists"
    return syntax.Quantifier(word, binders, body, span=span)


def _block(span: Span, *lines: Expr) -> Expr:
    if len(lines) == 1:
        return lines[0]
    return syntax.Conjunction(lines, span=lines[0].span.to(lines[-1].span))


def _choose(span: Span, binder: Binder, condition: Expr | None) -> Expr:
    return syntax.Choose(binder, condition, span=span)


def _with(span: Span, record: Expr, name: Token, value: Expr) -> Expr:
    return syntax.With(record, _name(span, name), value, span=span)


def _list(span: Span, elements: tuple[Expr, ...] | None) -> Expr:
    return syntax.Collection("[]", elements or (), span=span)


def _set(span: Span, elements: tuple[Expr, ...] | None) -> Expr:
    return syntax.Collection("{}", elements or (), span=span)


def _list_comprehension(
    span: Span, element: Expr, binder: Binder, condition: Expr | None
) -> Expr:
    return syntax.Comprehension("[]", element, binder, condition, span=span)


def _set_comprehension(span: Span, element: Expr, binder: Binder, condition: Expr | None) -> Expr:
    return syntax.Comprehension("{}", element, binder, condition, span=span)


def _argument(span: Span, value: Expr) -> Argument:
    return Argument(None, value, span=span)


def _named_argument(span: Span, name: Token, value: Expr) -> Argument:
    return Argument(_name(span, name), value, span=span)


def _call(span: Span, function: Expr, arguments: tuple[Argument, ...] | None) -> Expr:
    return syntax.Call(function, arguments or (), span=span)


def _index(span: Span, base: Expr, arguments: tuple[Expr, ...]) -> Expr:
    return syntax.Index(base, arguments, span=span)


def _attribute(span: Span, base: Expr, name: Token) -> Expr:
    return syntax.Attribute(base, _name(span, name), span=span)


def _unwrap(span: Span, operand: Expr) -> Expr:
    return syntax.Unwrap(operand, span=span)


def _range(span: Span, low: Expr, high: Expr) -> Expr:
    return syntax.Range(low, high, span=span)


def _optional(span: Span, element: Expr) -> Expr:
    return syntax.Optional(element, span=span)


# ---------------------------------------------------------------- patterns and statements


def _bind(span: Span, name: Token) -> PatternArgument:
    if name.text == "_":
        return syntax.Ignore(span=span)
    return syntax.Bind(_name(span, name), span=span)


def _equals(span: Span, value: Expr) -> PatternArgument:
    return syntax.Equals(value, span=span)


def _pattern(
    span: Span, member: Expr, arguments: tuple[PatternArgument, ...] | None, alias: Token | None
) -> Pattern:
    catch_all = isinstance(member, Name) and member.text == "_"
    if catch_all and arguments is not None:
        message = "_ stands for anything; it has no fields to look at"
        raise Mistake(Problem("F117", span, message))
    known = None if catch_all else member
    return Pattern(known, arguments, _name_or_none(span, alias), span=span)


def _literal_pattern(span: Span, literal: Expr) -> Pattern:
    return Pattern(literal, None, None, span=span)


def _docstring(span: Span, token: Token) -> str:
    return _unquoted(token).strip()


def _require(span: Span, condition: Expr) -> syntax.Statement:
    return syntax.Require(condition, span=span)


def _assert(span: Span, condition: Expr, message: Token | None) -> syntax.Statement:
    why = None if message is None else _unquoted(message)
    return syntax.Assert(condition, why, span=span)


def _assign(span: Span, target: Expr, operator: Token, value: Expr) -> syntax.Statement:
    match operator.text:
        case "=" | "+=" | "-=" as sign:
            return syntax.Assign(target, sign, value, span=span)
        case _:
            raise AssertionError(operator)


def _let(span: Span, name: Token, value: Expr) -> syntax.Statement:
    return syntax.Let(_name(span, name), value, span=span)


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


# ---------------------------------------------------------------- declarations


def _module_argument(span: Span, name: Token, value: Expr) -> ModuleArgument:
    return ModuleArgument(_name(span, name), value, span=span)


def _import_module(
    span: Span,
    module: tuple[Name, ...],
    alias: Token | None,
    arguments: tuple[ModuleArgument, ...] | None,
) -> syntax.Import:
    return syntax.Import(module, _name_or_none(span, alias), None, arguments or (), span=span)


def _import_names(
    span: Span,
    module: tuple[Name, ...],
    names: tuple[Name, ...],
    arguments: tuple[ModuleArgument, ...] | None,
) -> syntax.Import:
    return syntax.Import(module, None, names, arguments or (), span=span)


def _const(span: Span, name: Token, type_: Expr, value: Expr) -> syntax.Const:
    return syntax.Const(_name(span, name), type_, value, False, None, span=span)


def _symbolic(span: Span, name: Token, type_: Expr, condition: Expr | None) -> syntax.Const:
    return syntax.Const(_name(span, name), type_, None, True, condition, span=span)


def _param(span: Span, kind: Token, name: Token, type_: Expr | None) -> syntax.Param:
    word = "const" if kind.text == "const" else "channel"
    return syntax.Param(word, _name(span, name), type_, span=span)


def _param_type(span: Span, name: Token) -> syntax.Param:
    return syntax.Param("type", _name(span, name), None, span=span)


def _assume(span: Span, condition: Expr) -> syntax.Assume:
    return syntax.Assume(condition, span=span)


def _type_decl(span: Span, name: Token, type_: Expr) -> syntax.TypeDecl:
    return syntax.TypeDecl(_name(span, name), type_, span=span)


def _symmetric(span: Span, name: Token, members: tuple[Name, ...]) -> syntax.SymmetricType:
    return syntax.SymmetricType(_name(span, name), members, span=span)


def _enum(span: Span, name: Token, members: tuple[Name, ...]) -> syntax.EnumDecl:
    return syntax.EnumDecl(_name(span, name), members, span=span)


def _field(span: Span, name: Token, type_: Expr) -> FieldDecl:
    return FieldDecl(_name(span, name), type_, False, span=span)


def _ghost_field(span: Span, name: Token, type_: Expr) -> FieldDecl:
    return FieldDecl(_name(span, name), type_, True, span=span)


def _record(span: Span, name: Token, fields: tuple[FieldDecl, ...]) -> syntax.RecordDecl:
    return syntax.RecordDecl(_name(span, name), fields, span=span)


def _variant(span: Span, name: Token, fields: tuple[FieldDecl, ...] | None) -> VariantDecl:
    return VariantDecl(_name(span, name), fields or (), span=span)


def _union(span: Span, name: Token, variants: tuple[VariantDecl, ...]) -> syntax.UnionDecl:
    return syntax.UnionDecl(_name(span, name), variants, span=span)


def _parameter(span: Span, name: Token, type_: Expr) -> Parameter:
    return Parameter(_name(span, name), type_, span=span)


def _discipline(span: Span, kind: Token) -> syntax.Discipline:
    match kind.text:
        case "unordered" | "ordered" | "persistent" as word:
            return syntax.Discipline(word, span=span)
        case _:
            raise AssertionError(kind)


def _fault(
    span: Span, kind: Token, variants: tuple[Expr, ...] | None, budget: Expr | None
) -> syntax.Fault:
    word = "lossy" if kind.text == "lossy" else "duplicating"
    return syntax.Fault(word, variants, budget, span=span)


def _capacity(span: Span, size: Expr) -> syntax.Capacity:
    return syntax.Capacity(size, False, span=span)


def _capacity_block(span: Span, size: Expr) -> syntax.Capacity:
    return syntax.Capacity(size, True, span=span)


def _channel(
    span: Span,
    name: Token,
    indices: tuple[Parameter, ...] | None,
    message: Expr,
    *options: syntax.Discipline | syntax.Fault | syntax.Capacity,
) -> syntax.ChannelDecl:
    return syntax.ChannelDecl(_name(span, name), indices or (), message, options, span=span)


def _var_value(span: Span, name: Token, type_: Expr, value: Expr) -> syntax.VarDecl:
    return syntax.VarDecl(False, _name(span, name), type_, "value", value, None, span=span)


def _var_any(span: Span, name: Token, type_: Expr) -> syntax.VarDecl:
    return syntax.VarDecl(False, _name(span, name), type_, "any", None, None, span=span)


def _var_member(
    span: Span, name: Token, type_: Expr, value: Expr, condition: Expr | None
) -> syntax.VarDecl:
    return syntax.VarDecl(False, _name(span, name), type_, "member", value, condition, span=span)


def _ghost_var(span: Span, var: syntax.VarDecl) -> syntax.VarDecl:
    return syntax.VarDecl(
        True, var.name, var.type, var.kind, var.value, var.condition, span=span
    )


def _initially(span: Span, condition: Expr) -> syntax.Initially:
    return syntax.Initially(condition, span=span)


def _role(
    span: Span, name: Token, index: Parameter | None, *members: syntax.RoleMember
) -> syntax.RoleDecl:
    return syntax.RoleDecl(_name(span, name), index, members, span=span)


def _receive(span: Span, pattern: Pattern, channel: Expr) -> syntax.Receive:
    return syntax.Receive(pattern, channel, span=span)


def _action(
    span: Span,
    prefix: tuple[Token, ...] | None,
    name: Token,
    parameters: tuple[Binder, ...] | None,
    receive: syntax.Receive | None,
    body: Suite,
) -> syntax.ActionDecl:
    fairness, environment = "", False
    match [token.text for token in prefix or ()]:
        case []:
            pass
        case ["fair"]:
            fairness = "fair"
        case ["strongly", "fair"]:
            fairness = "strongly fair"
        case _:
            environment = True
    return syntax.ActionDecl(
        _name(span, name), fairness, environment, parameters or (), receive, body, span=span
    )


def _def(
    span: Span, name: Token, parameters: tuple[Parameter, ...] | None, result: Expr, body: Expr
) -> syntax.DefDecl:
    return syntax.DefDecl(_name(span, name), parameters or (), result, body, span=span)


def _procedure(
    span: Span, name: Token, parameters: tuple[Parameter, ...] | None, body: Suite
) -> syntax.ProcedureDecl:
    return syntax.ProcedureDecl(_name(span, name), parameters or (), body, span=span)


def _property(
    span: Span, kind: tuple[Token, ...], name: Token | None, body: Expr
) -> syntax.PropertyDecl:
    words = cast(syntax.PropertyKind, " ".join(token.text for token in kind))
    return syntax.PropertyDecl(words, _name_or_none(span, name), body, span=span)


def _leads_to(span: Span, name: Token, left: Expr, right: Expr) -> syntax.LivenessDecl:
    return syntax.LivenessDecl(_name(span, name), "leads to", left, right, span=span)


def _always_eventually(span: Span, name: Token, left: Expr) -> syntax.LivenessDecl:
    return syntax.LivenessDecl(_name(span, name), "always eventually", left, None, span=span)


def _eventually_always(span: Span, name: Token, left: Expr) -> syntax.LivenessDecl:
    return syntax.LivenessDecl(_name(span, name), "eventually always", left, None, span=span)


def _check(
    span: Span, name: Token, slow: Any, *items: syntax.CheckItem
) -> syntax.CheckDecl:
    return syntax.CheckDecl(_name(span, name), slow is not None, items, span=span)


def _check_const(span: Span, path: tuple[Name, ...], value: Expr) -> syntax.CheckItem:
    return syntax.CheckConst(path, value, span=span)


def _check_engine(span: Span, name: Token, depth: Token | None) -> syntax.CheckItem:
    steps = None if depth is None else _number(span, depth)
    return syntax.CheckEngine(_name(span, name), steps, span=span)


def _check_depth(span: Span, depth: Token) -> syntax.CheckItem:
    return syntax.CheckEngine(None, _number(span, depth), span=span)


def _check_properties(span: Span, names: tuple[Expr, ...]) -> syntax.CheckItem:
    return syntax.CheckProperties(names, span=span)


def _expect_ok(span: Span, within: Token | None) -> syntax.CheckItem:
    steps = None if within is None else _number(span, within)
    return syntax.ExpectVerdict("ok", None, steps, span=span)


def _expect_violated(span: Span, name: Expr) -> syntax.CheckItem:
    return syntax.ExpectVerdict("violated", name, None, span=span)


def _expect_verdict(span: Span, verdict: Token) -> syntax.CheckItem:
    match verdict.text:
        case "deadlock" | "assertion" | "error" as word:
            return syntax.ExpectVerdict(word, None, None, span=span)
        case _:
            raise AssertionError(verdict)


def _expect_count(span: Span, what: Token, count: Token) -> syntax.CheckItem:
    match what.text:
        case "states" | "generated" | "depth" as word:
            return syntax.ExpectCount(word, _number(span, count), span=span)
        case _:
            raise AssertionError(what)


FORMS: Mapping[str, Callable[..., Any]] = {
    "action": _action, "action_prefix": _sequence, "always_eventually": _always_eventually,
    "argument": _argument, "arguments": _sequence, "assert_": _assert, "assign": _assign,
    "assume": _assume, "attribute": _attribute, "binary": _binary, "bind": _bind, "binder":
    _binder, "binders": _sequence, "block": _block, "branch": _branch, "call": _call,
    "capacity": _capacity, "capacity_block": _capacity_block, "case": _case, "channel":
    _channel, "check": _check, "check_const": _check_const, "check_depth": _check_depth,
    "check_engine": _check_engine, "check_properties": _check_properties, "choose": _choose,
    "conditional": _conditional, "const": _const, "def_": _def, "discipline": _discipline, "do":
    _do, "docstring": _docstring, "enum": _enum, "equals": _equals, "eventually_always":
    _eventually_always, "expect_count": _expect_count, "expect_ok": _expect_ok,
    "expect_verdict": _expect_verdict, "expect_violated": _expect_violated, "exprs": _sequence,
    "false": _false, "fault": _fault, "field": _field, "fields": _sequence, "for_": _for,
    "ghost_field": _ghost_field, "ghost_var": _ghost_var, "if_": _if, "import_module":
    _import_module, "import_names": _import_names, "index": _index, "initially": _initially,
    "integer": _integer, "is_": _is, "is_not": _is_not, "leads_to": _leads_to, "let": _let,
    "list": _list, "list_comprehension": _list_comprehension, "literal_pattern":
    _literal_pattern, "match": _match, "members": _sequence, "minus": _minus, "module_argument":
    _module_argument, "name": _name, "named_argument": _named_argument, "names": _names, "none":
    _none, "not_": _not, "not_in": _not_in, "open_kind": _sequence, "operands": _sequence,
    "optional": _optional, "param": _param, "param_type": _param_type, "parameter": _parameter,
    "parameters": _sequence, "path": _names, "pattern": _pattern, "pattern_arguments":
    _sequence, "pick": _pick, "procedure": _procedure, "property": _property, "property_kind":
    _sequence, "quantifier": _quantifier, "range": _range, "receive": _receive, "record":
    _record, "require": _require, "return_": _return, "role": _role, "send": _send, "set": _set,
    "set_comprehension": _set_comprehension, "skip": _skip, "slow": _sequence, "suite":
    _sequence, "symbolic": _symbolic, "symmetric": _symmetric, "true": _true, "type_decl":
    _type_decl, "union": _union, "unwrap": _unwrap, "var_any": _var_any, "var_member":
    _var_member, "var_value": _var_value, "variant": _variant, "variants": _sequence, "with_":
    _with, "with_arguments": _sequence,
}  # fmt: skip
