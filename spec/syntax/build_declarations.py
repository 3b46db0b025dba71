"""Builds the nodes of declarations: one small function per grammar rule.

`build_expressions.py` builds their parts, expressions and statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.build_expressions import (
    Mistake,
    name,
    name_or_none,
    number,
    sequence,
    unquoted,
)
from fencepost.spec.syntax.nodes import (
    Binder,
    Expr,
    FieldDecl,
    ModuleArgument,
    Name,
    Parameter,
    Pattern,
    Suite,
    VariantDecl,
)
from fencepost.spec.syntax.tokens import Token
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span


def _module_argument(span: Span, word: Token, value: Expr) -> ModuleArgument:
    return ModuleArgument(name(span, word), value, span=span)


def _import_module(
    span: Span,
    module: tuple[Name, ...],
    alias: Token | None,
    arguments: tuple[ModuleArgument, ...] | None,
) -> syntax.Import:
    return syntax.Import(module, name_or_none(span, alias), None, arguments or (), span=span)


def _import_names(
    span: Span,
    module: tuple[Name, ...],
    names: tuple[Name, ...],
    arguments: tuple[ModuleArgument, ...] | None,
) -> syntax.Import:
    return syntax.Import(module, None, names, arguments or (), span=span)


def _const(span: Span, word: Token, type_: Expr, value: Expr) -> syntax.Const:
    return syntax.Const(name(span, word), type_, value, False, None, span=span)


def _symbolic(span: Span, word: Token, type_: Expr, condition: Expr | None) -> syntax.Const:
    return syntax.Const(name(span, word), type_, None, True, condition, span=span)


def _param(span: Span, kind: Token, word: Token, type_: Expr | None) -> syntax.Param:
    param_kind: Literal["const", "channel"] = "const" if kind.text == "const" else "channel"
    return syntax.Param(param_kind, name(span, word), type_, span=span)


def _param_type(span: Span, word: Token) -> syntax.Param:
    return syntax.Param("type", name(span, word), None, span=span)


def _assume(span: Span, condition: Expr) -> syntax.Assume:
    return syntax.Assume(condition, span=span)


def _type_decl(span: Span, word: Token, type_: Expr) -> syntax.TypeDecl:
    return syntax.TypeDecl(name(span, word), type_, span=span)


def _symmetric(span: Span, word: Token, members: tuple[Name, ...]) -> syntax.SymmetricType:
    return syntax.SymmetricType(name(span, word), members, span=span)


def _enum(span: Span, word: Token, members: tuple[Name, ...]) -> syntax.EnumDecl:
    return syntax.EnumDecl(name(span, word), members, span=span)


def _field(span: Span, word: Token, type_: Expr) -> FieldDecl:
    return FieldDecl(name(span, word), type_, False, span=span)


def _ghost_field(span: Span, word: Token, type_: Expr) -> FieldDecl:
    return FieldDecl(name(span, word), type_, True, span=span)


def _record(span: Span, word: Token, fields: tuple[FieldDecl, ...]) -> syntax.RecordDecl:
    return syntax.RecordDecl(name(span, word), fields, span=span)


def _variant(span: Span, word: Token, fields: tuple[FieldDecl, ...] | None) -> VariantDecl:
    return VariantDecl(name(span, word), fields or (), span=span)


def _union(span: Span, word: Token, variants: tuple[VariantDecl, ...]) -> syntax.UnionDecl:
    return syntax.UnionDecl(name(span, word), variants, span=span)


def _parameter(span: Span, word: Token, type_: Expr) -> Parameter:
    return Parameter(name(span, word), type_, span=span)


def _discipline(span: Span, kind: Token) -> syntax.Discipline:
    match kind.text:
        case "unordered" | "ordered" | "persistent" | "distinct" as discipline:
            return syntax.Discipline(discipline, span=span)
        case _:
            raise AssertionError(kind)


def _fault(
    span: Span, kind: Token, variants: tuple[Expr, ...] | None, budget: Expr | None
) -> syntax.Fault:
    fault_kind: Literal["lossy", "duplicating"] = "lossy" if kind.text == "lossy" else "duplicating"
    return syntax.Fault(fault_kind, variants, budget, span=span)


def _capacity(span: Span, size: Expr) -> syntax.Capacity:
    return syntax.Capacity(size, False, span=span)


def _capacity_block(span: Span, size: Expr) -> syntax.Capacity:
    return syntax.Capacity(size, True, span=span)


def _channel(
    span: Span,
    word: Token,
    indices: tuple[Parameter, ...] | None,
    message: Expr,
    *rest: Any,
) -> syntax.ChannelDecl:
    *options, content = rest
    return syntax.ChannelDecl(
        name(span, word), indices or (), message, tuple(options), content, span=span
    )


def _var_value(span: Span, word: Token, type_: Expr, value: Expr) -> syntax.VarDecl:
    return syntax.VarDecl(False, name(span, word), type_, "value", value, None, span=span)


def _var_any(span: Span, word: Token, type_: Expr) -> syntax.VarDecl:
    return syntax.VarDecl(False, name(span, word), type_, "any", None, None, span=span)


def _var_member(
    span: Span, word: Token, type_: Expr, value: Expr, condition: Expr | None
) -> syntax.VarDecl:
    return syntax.VarDecl(False, name(span, word), type_, "member", value, condition, span=span)


def _ghost_var(span: Span, var: syntax.VarDecl) -> syntax.VarDecl:
    return syntax.VarDecl(True, var.name, var.type, var.kind, var.value, var.condition, span=span)


def _initially(span: Span, condition: Expr) -> syntax.Initially:
    return syntax.Initially(condition, span=span)


def _role(
    span: Span,
    prefix: tuple[Token, ...] | None,
    word: Token,
    index: Parameter | None,
    *members: syntax.RoleMember,
) -> syntax.RoleDecl:
    return syntax.RoleDecl(name(span, word), _fairness(prefix or ()), index, members, span=span)


def _fairness(prefix: Sequence[Token | None]) -> syntax.Fairness:
    match [token.text for token in prefix if token is not None]:
        case ["fair", *_]:
            return "fair"
        case ["strongly", *_]:
            return "strongly fair"
        case _:
            return ""


def _choices(
    span: Span, binders: tuple[Binder, ...] | None, condition: Expr | None
) -> syntax.Choices:
    if not binders and condition is not None:
        message = 'there is no parameter here for "where": write "require"'
        raise Mistake(Problem("F101", condition.span, message))
    return syntax.Choices(binders or (), condition, span=span)


def _receive(span: Span, pattern: Pattern, channel: Expr, condition: Expr | None) -> syntax.Receive:
    return syntax.Receive(pattern, channel, condition, span=span)


def _action(
    span: Span,
    prefix: tuple[Token | None, ...] | None,
    word: Token,
    choices: syntax.Choices | None,
    receive: syntax.Receive | None,
    body: Suite,
) -> syntax.ActionDecl:
    tokens = [token for token in prefix or () if token is not None]
    words = [token.text for token in tokens]
    return syntax.ActionDecl(
        name(span, word),
        _fairness(tokens),
        "each" in words,
        "environment" in words,
        choices,
        receive,
        body,
        span=span,
    )


def _def(
    span: Span, word: Token, parameters: tuple[Parameter, ...] | None, result: Expr, body: Expr
) -> syntax.DefDecl:
    return syntax.DefDecl(name(span, word), parameters or (), result, body, span=span)


def _procedure(
    span: Span, word: Token, parameters: tuple[Parameter, ...] | None, body: Suite
) -> syntax.ProcedureDecl:
    return syntax.ProcedureDecl(name(span, word), parameters or (), body, span=span)


def _property(
    span: Span, kind: tuple[Token, ...], word: Token | None, body: Expr
) -> syntax.PropertyDecl:
    words = " ".join(token.text for token in kind)
    return syntax.PropertyDecl(words, name_or_none(span, word), body, span=span)


def _image(span: Span, path: tuple[Name, ...], value: Expr) -> syntax.Image:
    return syntax.Image(path, value, span=span)


def _refinement(
    span: Span, word: Token, module: Token, images: tuple[syntax.Image, ...]
) -> syntax.RefinementDecl:
    return syntax.RefinementDecl(name(span, word), name(span, module), images, span=span)


def _check(span: Span, word: Token, slow: Any, *items: syntax.CheckItem) -> syntax.CheckDecl:
    return syntax.CheckDecl(name(span, word), slow is not None, items, span=span)


def _check_const(span: Span, path: tuple[Name, ...], value: Expr) -> syntax.CheckItem:
    return syntax.CheckConst(path, value, span=span)


def _check_engine(span: Span, word: Token, depth: Token | None) -> syntax.CheckItem:
    steps = None if depth is None else number(span, depth)
    return syntax.CheckEngine(name(span, word), steps, span=span)


def _check_depth(span: Span, depth: Token) -> syntax.CheckItem:
    return syntax.CheckEngine(None, number(span, depth), span=span)


def _check_properties(span: Span, names: tuple[Expr, ...]) -> syntax.CheckItem:
    return syntax.CheckProperties(names, span=span)


def _check_without(span: Span, names: tuple[Expr, ...]) -> syntax.CheckItem:
    return syntax.CheckWithout(names, span=span)


def _expect_ok(span: Span, within: Token | None) -> syntax.CheckItem:
    steps = None if within is None else number(span, within)
    return syntax.ExpectVerdict("ok", None, steps, span=span)


def _expect_violated(span: Span, name: Expr) -> syntax.CheckItem:
    return syntax.ExpectVerdict("violated", name, None, span=span)


def _expect_verdict(span: Span, verdict: Token) -> syntax.CheckItem:
    match verdict.text:
        case "deadlock" | "assertion" | "error" as word:
            return syntax.ExpectVerdict(word, None, None, span=span)
        case _:
            raise AssertionError(verdict)


def _expect_count(span: Span, word: Token, count: Token) -> syntax.CheckItem:
    match word.text:
        case "states" | "generated" | "depth" as counted:
            return syntax.ExpectCount(counted, number(span, count), span=span)
        case _:
            raise AssertionError(word)


def _scenario(
    span: Span, word: Token, slow: Any, *items: syntax.ScenarioItem
) -> syntax.ScenarioDecl:
    return syntax.ScenarioDecl(name(span, word), slow is not None, items, span=span)


def _scenario_expect(span: Span, condition: Expr) -> syntax.ScenarioItem:
    return syntax.ScenarioExpect(condition, span=span)


def _scenario_gap(span: Span) -> syntax.ScenarioItem:
    return syntax.ScenarioGap(span=span)


def _scenario_step(span: Span, action: Expr) -> syntax.ScenarioItem:
    return syntax.ScenarioStep(action, span=span)


def _recording(span: Span, *items: syntax.RecordingItem) -> syntax.RecordingDecl:
    return syntax.RecordingDecl(items, span=span)


def _names_of(span: Span, tokens: Sequence[Token | None]) -> tuple[Name, ...]:
    return tuple(name(span, token) for token in tokens if token is not None)


def _recording_key(span: Span, word: Token, *by: Token | None) -> syntax.RecordingItem:
    return syntax.RecordingKey(name(span, word), _names_of(span, by), span=span)


def _recording_event(span: Span, word: Token) -> syntax.RecordingItem:
    return syntax.RecordingEvent(name(span, word), span=span)


def _recording_source(span: Span, word: Token, *patterns: Token | None) -> syntax.RecordingItem:
    texts = tuple(unquoted(pattern) for pattern in patterns if pattern is not None)
    return syntax.RecordingSource(name(span, word), texts, span=span)


def _recording_rising(span: Span, word: Token, *by: Token | None) -> syntax.RecordingItem:
    return syntax.RecordingOrder(name(span, word), _names_of(span, by), strict=True, span=span)


def _recording_not_falling(span: Span, word: Token, *by: Token | None) -> syntax.RecordingItem:
    return syntax.RecordingOrder(name(span, word), _names_of(span, by), strict=False, span=span)


def _recording_bind(
    span: Span, word: Token, type_: Expr, *fixed: syntax.FixedName | None
) -> syntax.RecordingItem:
    names = tuple(name_node for name_node in fixed if name_node is not None)
    return syntax.RecordingBind(name(span, word), type_, names, span=span)


def _fixed_name(span: Span, text: str | int, value: Expr) -> syntax.FixedName:
    return syntax.FixedName(text, value, span=span)


def _fixed_string(span: Span, text: Token) -> str:
    return unquoted(text)


def _fixed_minus(span: Span, text: Token) -> int:
    return -number(span, text)


def _event_field(
    span: Span, word: Token, alias: Token | None, type_: Expr
) -> syntax.EventFieldDecl:
    return syntax.EventFieldDecl(name(span, word), name_or_none(span, alias), type_, span=span)


def _event_head(
    span: Span,
    alias: Token | None,
    fields: tuple[syntax.EventFieldDecl, ...] | None,
    *sources: Token,
) -> syntax.EventHead:
    alias_name = name_or_none(span, alias)
    return syntax.EventHead(alias_name, fields or (), _names_of(span, sources), span=span)


def _event(span: Span, word: Token, head: syntax.EventHead) -> syntax.EventDecl:
    return syntax.EventDecl(name(span, word), head, span=span)


def _shows(
    span: Span,
    event: Token,
    arguments: tuple[Expr, ...] | None,
    action: Expr | None,
    binders: tuple[Binder, ...] | None,
    condition: Expr | None,
) -> syntax.ShowsDecl:
    event_name = name(span, event)
    return syntax.ShowsDecl(
        event_name, arguments or (), action, binders or (), condition, span=span
    )


def _input(
    span: Span,
    kind: Token,
    event: Token,
    head: syntax.EventHead | None,
    condition: Expr | None,
    receive: syntax.Receive | None,
    body: Suite | Expr,
) -> syntax.InputDecl:
    match kind.text:
        case "input" | "ahead" | "answers" as word:
            event_name = name(span, event)
            return syntax.InputDecl(word, event_name, head, condition, receive, body, span=span)
        case _:
            raise AssertionError(kind)


def _input_step(span: Span, action: Expr) -> Expr:
    return action


def _drop(span: Span, messages: tuple[Expr, ...], channel: Expr) -> syntax.DropDecl:
    return syntax.DropDecl(messages, channel, span=span)


def _hidden(span: Span, names: tuple[Expr, ...]) -> syntax.HiddenDecl:
    return syntax.HiddenDecl(names, span=span)


def _tolerate(span: Span, event: Token, condition: Expr | None) -> syntax.TolerateDecl:
    return syntax.TolerateDecl(name(span, event), condition, span=span)


def _under_way(span: Span, count: Expr) -> syntax.UnderWayDecl:
    return syntax.UnderWayDecl(count, span=span)


DECLARATIONS: Mapping[str, Callable[..., Any]] = {
    "action": _action, "action_prefix": sequence, "assume": _assume, "capacity": _capacity,
    "capacity_block": _capacity_block,
    "channel": _channel, "check": _check, "check_const": _check_const,
    "check_depth": _check_depth, "check_engine": _check_engine,
    "check_properties": _check_properties, "check_without": _check_without, "choices": _choices,
    "const": _const, "def_": _def, "discipline": _discipline, "enum": _enum,
    "drop": _drop, "event": _event,
    "event_field": _event_field, "event_head": _event_head,
    "recording_rising": _recording_rising, "recording_not_falling": _recording_not_falling,
    "expect_count": _expect_count, "expect_ok": _expect_ok, "expect_verdict": _expect_verdict,
    "expect_violated": _expect_violated, "fault": _fault, "field": _field, "fields": sequence,
    "fixed_minus": _fixed_minus, "fixed_name": _fixed_name, "fixed_number": number,
    "fixed_string": _fixed_string,
    "formula_kind": sequence, "ghost_field": _ghost_field, "ghost_var": _ghost_var,
    "hidden": _hidden,
    "image": _image, "images": sequence,
    "import_module": _import_module, "import_names": _import_names, "initially": _initially,
    "input": _input, "input_step": _input_step,
    "members": sequence, "module_argument": _module_argument, "open_kind": sequence,
    "param": _param, "param_type": _param_type, "parameter": _parameter, "parameters": sequence,
    "procedure": _procedure, "property": _property, "property_kind": sequence,
    "receive": _receive, "record": _record, "recording": _recording,
    "recording_bind": _recording_bind, "recording_event": _recording_event,
    "recording_key": _recording_key, "recording_source": _recording_source,
    "refinement": _refinement,
    "role": _role, "role_prefix": sequence,
    "scenario": _scenario, "scenario_expect": _scenario_expect, "scenario_gap": _scenario_gap,
    "scenario_step": _scenario_step,
    "shows": _shows, "slow": sequence,
    "symbolic": _symbolic, "symmetric": _symmetric, "tolerate": _tolerate,
    "type_decl": _type_decl, "under_way": _under_way, "union": _union,
    "var_any": _var_any, "var_member": _var_member, "var_value": _var_value,
    "variant": _variant, "variants": sequence, "with_arguments": sequence,
}  # fmt: skip
