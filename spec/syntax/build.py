"""Builds the nodes of the surface tree. The table has one row for each grammar rule.

Most rules fill the fields of a node class in order (`node`). The other rules have functions of
their own. These functions also check constraints that the grammar cannot express (a statement must
have an effect, ``_`` has no parts), and raise `Mistake`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax import vocabulary
from fencepost.spec.syntax.nodes import Argument, Expr, Name, Parameter, Pattern, Suite
from fencepost.spec.syntax.tokens import Token
from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Span

MAX_DIGITS = 40
"""The maximum number of digits in a number. Python refuses to convert very long ones."""


class Mistake(Exception):
    """The grammar accepts a form that the language does not allow."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem)


# ---------------------------------------------------------------- tokens


def _at(span: Span, token: Token) -> Span:
    return Span(span.source, token.start, token.end)


def _name(span: Span, token: Token) -> Name:
    # Every long text contains many names, so this call makes parsing interruptible.
    tick()
    return Name(token.text, span=_at(span, token))


def _number(span: Span, token: Token) -> int:
    digits = token.text.replace("_", "")
    if len(digits) > MAX_DIGITS:
        message = f"a number has at most {MAX_DIGITS} digits, but this one has {len(digits)}"
        raise Mistake(Problem("F121", _at(span, token), message))
    return int(digits)


def _string(span: Span, token: Token) -> str:
    quotes = 3 if token.text.startswith('"""') else 1
    return token.text[quotes:-quotes].replace("\r\n", "\n")


def _sequence(span: Span, *items: Any) -> tuple[Any, ...]:
    return items


def _names(span: Span, *tokens: Token) -> tuple[Name, ...]:
    return tuple(_name(span, token) for token in tokens)


# ---------------------------------------------------------------- rules by fields


def node(kind: Callable[..., Any], /, *, rest: bool = False, **fixed: object) -> Callable[..., Any]:
    """Returns a function that builds a node of class ``kind``.

    The parts of the rule are the fields of the node, in order, except for fields with a ``fixed``
    value. With ``rest``, the last field is the tuple of all remaining parts.
    """
    # Annotations are not evaluated, so these are strings.
    every = dataclasses.fields(cast("type[syntax.Name]", kind))
    fields = {item.name: str(item.type) for item in every if item.name != "span"}
    parts = [name for name in fields if name not in fixed]
    readers = [(number, _reader(fields[name])) for number, name in enumerate(parts)]
    read = [(number, reader) for number, reader in readers if reader is not None]
    inserted = [(number, fixed[name]) for number, name in enumerate(fields) if name in fixed]
    before = len(parts) - 1

    def build(span: Span, *parts: Any) -> Any:
        values = list(parts)
        if rest:
            values[before:] = [tuple(part for part in parts[before:] if part is not None)]
        for number, reader in read:
            values[number] = reader(span, values[number])
        for number, value in inserted:
            values.insert(number, value)
        return kind(*values, span=span)

    def direct(span: Span, *parts: Any) -> Any:
        return kind(*parts, span=span)

    return build if rest or read or inserted else direct


def _reader(kind: str) -> Callable[[Span, Any], Any] | None:
    """Returns a function that converts a part of a rule to the value of a field of this type, or
    None if the part needs no conversion. Tokens, missing lists and flags are converted.
    """
    if kind == "bool":
        return lambda span, part: part is not None
    if kind.startswith("tuple["):
        item = _reader(kind.removeprefix("tuple[").partition(",")[0])
        if item is not None:
            return lambda span, part: tuple(item(span, inner) for inner in part or ())
        return None if kind.endswith("None") else lambda span, part: part or ()
    if kind.startswith("Literal") or kind == "InputKind":
        return lambda span, part: part.text
    read = {"Name": _name, "int": _number, "str": _string}.get(kind.removesuffix(" | None"))
    if read is None:
        return None
    return lambda span, part: read(span, part) if isinstance(part, Token) else part


# ---------------------------------------------------------------- other rules of expressions
# The first functions are the most frequent ones. They are written out because this is faster.


def _argument(span: Span, value: Expr) -> Argument:
    return Argument(None, value, span=span)


def _attribute(span: Span, base: Expr, word: Token) -> Expr:
    return syntax.Attribute(base, _name(span, word), span=span)


def _component(span: Span, base: Expr, number: Token) -> Expr:
    if isinstance(base, syntax.Integer):
        raise Mistake(Problem("F120", base.span, "there are no fractions, only integers"))
    return _attribute(span, base, number)


def _binary(span: Span, left: Expr, operator: Token, right: Expr) -> Expr:
    return syntax.Binary(operator.text, left, right, span=span)


def _call(span: Span, function: Expr, arguments: tuple[Argument, ...] | None) -> Expr:
    return syntax.Call(function, arguments or (), span=span)


def _integer(span: Span, token: Token) -> Expr:
    return syntax.Integer(_number(span, token), span=span)


def _block(span: Span, *lines: Expr | syntax.Let) -> Expr:
    lets = [line for line in lines if isinstance(line, syntax.Let)]
    parts = tuple(line for line in lines if not isinstance(line, syntax.Let))
    body = parts[0]
    if len(parts) > 1:
        body = syntax.Conjunction(parts, span=parts[0].span.to(parts[-1].span))
    for let in reversed(lets):
        body = syntax.LetIn(let.target, let.value, body, span=let.span.to(body.span))
    return body


def _with(span: Span, record: Expr, field: Argument) -> Expr:
    return syntax.With(record, (field,), span=span)


def _with_more(span: Span, expr: Expr, *fields: Argument) -> Expr:
    between = Span(span.source, expr.span.end, fields[0].span.start)
    # Parentheses have no node, but they appear in the text between the expression and the comma.
    closed = ")" in _COMMENT.sub("", between.text)
    longer = None if closed else _extended(expr, fields)
    if longer is None:
        message = 'a field follows "with": r with f: e, g: d'
        raise Mistake(Problem("F101", fields[0].span, message))
    return longer


_COMMENT = re.compile(r"#[^\n]*")

N = TypeVar("N", bound=syntax.Node)


def _extended(node: N, fields: tuple[Argument, ...]) -> N | None:
    """Returns ``node`` with ``fields`` added to the ``with`` at its very end, or None if it does
    not end with one.
    """
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


def _inline_case(span: Span, pattern: Pattern, value: Expr) -> syntax.ValueCase:
    inner = next((node for node in _last_nodes(value) if isinstance(node, syntax.MatchValue)), None)
    if inner is not None and inner.span.end == span.end:
        message = "put this match in parentheses: it would take the cases after it"
        head = Span(span.source, inner.span.start, inner.subject.span.end)
        raise Mistake(Problem("F113", head, message))
    return syntax.ValueCase(pattern, value, span=span)


def _last_nodes(node: syntax.Node) -> Iterator[syntax.Node]:
    """Yields ``node`` and the nodes inside it that end where it ends, from the outside in."""
    yield node
    for item in dataclasses.fields(node):
        value: object = getattr(node, item.name)
        parts = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        last = parts[-1] if parts else None
        if isinstance(last, syntax.Node) and last.span.end == node.span.end:
            yield from _last_nodes(last)


def _any_index(span: Span, base: Expr) -> Expr:
    return syntax.Index(base, (syntax.Anything(span=span),), span=span)


def _anything(span: Span) -> Argument:
    return Argument(None, syntax.Anything(span=span), span=span)


# ---------------------------------------------------------------- of patterns and statements


def _bind(span: Span, word: Token) -> syntax.PatternArgument:
    if word.text == "_":
        return syntax.Ignore(span=span)
    return syntax.Bind(_name(span, word), span=span)


def _pattern(
    span: Span,
    member: Expr,
    arguments: tuple[syntax.PatternArgument, ...] | None,
    alias: Token | None,
) -> Pattern:
    catch_all = isinstance(member, Name) and member.text == "_"
    if catch_all and arguments is not None:
        message = "_ matches any value and has no fields"
        raise Mistake(Problem("F117", span, message))
    name = None if alias is None else _name(span, alias)
    return Pattern(None if catch_all else member, arguments, name, span=span)


def _docstring(span: Span, token: Token) -> str:
    return _string(span, token).strip()


def _do(span: Span, call: Expr) -> syntax.Statement:
    if not isinstance(call, syntax.Call):
        word = call.text if isinstance(call, Name) else ""
        if (instead := vocabulary.OTHER_NAMES.get(word)) in vocabulary.STATEMENTS:
            message = f'there is no "{word}"; write "{instead}"'
            raise Mistake(Problem("F114", span, message))
        message = "this is a value, and does nothing as a statement"
        note = "a statement assigns (x = e), calls (p(x), s.add(x)) or begins with its keyword"
        raise Mistake(Problem("F116", span, message, ((None, note),)))
    return syntax.Do(call, span=span)


def _if(span: Span, *parts: Any) -> syntax.Statement:
    *branches, otherwise = parts
    return syntax.If(tuple(branches), otherwise, span=span)


# ---------------------------------------------------------------- of declarations


def _channel(
    span: Span, word: Token, indices: tuple[Parameter, ...] | None, message: Expr, *rest: Any
) -> syntax.ChannelDecl:
    *options, content = rest
    return syntax.ChannelDecl(
        _name(span, word), indices or (), message, tuple(options), content, span=span
    )


def _ghost_var(span: Span, var: syntax.VarDecl) -> syntax.VarDecl:
    return dataclasses.replace(var, ghost=True, span=span)


def _role(
    span: Span,
    prefix: tuple[Token, ...] | None,
    word: Token,
    index: Parameter | None,
    *members: syntax.RoleMember,
) -> syntax.RoleDecl:
    return syntax.RoleDecl(_name(span, word), _fairness(prefix or ()), index, members, span=span)


def _fairness(prefix: Sequence[Token | None]) -> syntax.Fairness:
    match [token.text for token in prefix if token is not None]:
        case ["fair", *_]:
            return "fair"
        case ["strongly", *_]:
            return "strongly fair"
        case _:
            return ""


def _fair(
    span: Span,
    prefix: tuple[Token, ...],
    word: Token | None,
    members: tuple[Expr, ...],
    condition: Expr | None,
) -> syntax.FairDecl:
    name = None if word is None else _name(span, word)
    return syntax.FairDecl(name, _fairness(prefix), members, condition, span=span)


def _choices(
    span: Span, binders: tuple[syntax.Binder, ...] | None, condition: Expr | None
) -> syntax.Choices:
    if not binders and condition is not None:
        message = 'there is no parameter here for "where": write "require"'
        raise Mistake(Problem("F101", condition.span, message))
    return syntax.Choices(binders or (), condition, span=span)


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
    each, environment = "each" in words, "environment" in words
    name, fairness = _name(span, word), _fairness(tokens)
    return syntax.ActionDecl(name, fairness, each, environment, choices, receive, body, span=span)


def _property(
    span: Span, kind: tuple[Token, ...], word: Token | None, body: Expr, within: bool = False
) -> syntax.PropertyDecl:
    words = " ".join(token.text for token in kind)
    name = None if word is None else _name(span, word)
    return syntax.PropertyDecl(words, name, body, within, span=span)


def _input_step(span: Span, action: Expr) -> Expr:
    return action


def _minus_number(span: Span, text: Token) -> int:
    return -_number(span, text)


FORMS: Mapping[str, Callable[..., Any]] = {
    # Expressions and types.
    "accumulator": node(syntax.Accumulator),
    "always": node(syntax.UnaryTemporal, operator="always"),
    "any_index": _any_index,
    "anything": _anything,
    "argument": _argument,
    "arguments": _sequence,
    "attribute": _attribute,
    "binary": _binary,
    "binder": node(syntax.Binder),
    "binders": _sequence,
    "block": _block,
    "call": _call,
    "choose": node(syntax.Choose),
    "component": _component,
    "conditional": node(syntax.Conditional),
    "entry": node(syntax.Entry),
    "eventually": node(syntax.UnaryTemporal, operator="eventually"),
    "exprs": _sequence,
    "false": node(syntax.Boolean, value=False),
    "fold": node(syntax.Fold),
    "index": node(syntax.Index),
    "inline_case": _inline_case,
    "integer": _integer,
    "is_": node(syntax.Is, negated=False),
    "is_not": node(syntax.Is, negated=True),
    "leads_to": node(syntax.BinaryTemporal, operator="leads to"),
    "let_in": node(syntax.LetIn),
    "list": node(syntax.Collection, brackets="[]"),
    "list_comprehension": node(syntax.Comprehension, brackets="[]"),
    "map": node(syntax.Map, rest=True),
    "match_value": node(syntax.MatchValue, rest=True),
    "minus": node(syntax.Unary, operator="-"),
    "name": _name,
    "named_argument": node(Argument),
    "names": _names,
    "none": node(syntax.Nothing),
    "not_": node(syntax.Unary, operator="not"),
    "not_in": node(syntax.Binary, operator="not in"),
    "operands": _sequence,
    "optional": node(syntax.Optional),
    "part_from": node(syntax.Part, high=None),
    "part_to": node(syntax.Part, low=None),
    "path": _names,
    "quantifier": node(syntax.Quantifier),
    "range": node(syntax.Range),
    "set": node(syntax.Collection, brackets="{}"),
    "set_comprehension": node(syntax.Comprehension, brackets="{}"),
    "true": node(syntax.Boolean, value=True),
    "tuple": node(syntax.Tuple, rest=True),
    "until": node(syntax.BinaryTemporal, operator="until"),
    "unwrap": node(syntax.Unwrap),
    "value_case": node(syntax.ValueCase),
    "with_": _with,
    "with_more": _with_more,
    # Patterns and statements.
    "assert_": node(syntax.Assert),
    "assign": node(syntax.Assign),
    "bind": _bind,
    "branch": node(syntax.Branch),
    "case": node(syntax.Case),
    "do": _do,
    "docstring": _docstring,
    "equals": node(syntax.Equals),
    "for_": node(syntax.For),
    "if_": _if,
    "let": node(syntax.Let),
    "literal_pattern": node(Pattern, arguments=None, alias=None),
    "match": node(syntax.Match, rest=True),
    "pattern": _pattern,
    "pattern_arguments": _sequence,
    "pick": node(syntax.Pick),
    "require": node(syntax.Require),
    "return_": node(syntax.Return),
    "send": node(syntax.Send),
    "skip": node(syntax.Skip),
    "suite": _sequence,
    "tuple_pattern": node(syntax.TuplePattern, rest=True),
    "whole_tuple": node(Pattern, arguments=None),
    # Declarations.
    "action": _action,
    "action_prefix": _sequence,
    "assume": node(syntax.Assume),
    "capacity": node(syntax.Capacity, block=False),
    "capacity_block": node(syntax.Capacity, block=True),
    "channel": _channel,
    "choices": _choices,
    "const": node(syntax.Const, symbolic=False, condition=None),
    "def_": node(syntax.DefDecl),
    "discipline": node(syntax.Discipline),
    "enum": node(syntax.EnumDecl),
    "fair": _fair,
    "fault": node(syntax.Fault),
    "field": node(syntax.FieldDecl, ghost=False),
    "fields": _sequence,
    "formula_kind": _sequence,
    "ghost_field": node(syntax.FieldDecl, ghost=True),
    "ghost_var": _ghost_var,
    "image": node(syntax.Image),
    "images": _sequence,
    "import_module": node(syntax.Import, names=None),
    "import_names": node(syntax.Import, alias=None),
    "initially": node(syntax.Initially),
    "members": _sequence,
    "module_argument": node(syntax.ModuleArgument),
    "open_kind": _sequence,
    "param": node(syntax.Param),
    "param_type": node(syntax.Param, kind="type", type=None),
    "parameter": node(Parameter),
    "parameters": _sequence,
    "procedure": node(syntax.ProcedureDecl),
    "property": _property,
    "property_kind": _sequence,
    "property_within": partial(_property, within=True),
    "receive": node(syntax.Receive),
    "record": node(syntax.RecordDecl),
    "refinement": node(syntax.RefinementDecl),
    "role": _role,
    "role_prefix": _sequence,
    "symbolic": node(syntax.Const, value=None, symbolic=True),
    "symmetric": node(syntax.SymmetricType),
    "type_decl": node(syntax.TypeDecl),
    "union": node(syntax.UnionDecl),
    "var_any": node(syntax.VarDecl, ghost=False, kind="any", value=None, condition=None),
    "var_member": node(syntax.VarDecl, ghost=False, kind="member"),
    "var_value": node(syntax.VarDecl, ghost=False, kind="value", condition=None),
    "variant": node(syntax.VariantDecl),
    "variants": _sequence,
    "with_arguments": _sequence,
    # Checks and scenarios.
    "check": node(syntax.CheckDecl, rest=True),
    "check_const": node(syntax.CheckConst),
    "check_depth": node(syntax.CheckEngine, engine=None),
    "check_engine": node(syntax.CheckEngine),
    "check_properties": node(syntax.CheckProperties),
    "check_without": node(syntax.CheckWithout),
    "expect_count": node(syntax.ExpectCount),
    "expect_ok": node(syntax.ExpectVerdict, verdict="ok", property=None),
    "expect_verdict": node(syntax.ExpectVerdict, property=None, within=None),
    "expect_violated": node(syntax.ExpectVerdict, verdict="violated", within=None),
    "scenario": node(syntax.ScenarioDecl, rest=True),
    "scenario_expect": node(syntax.ScenarioExpect),
    "scenario_gap": node(syntax.ScenarioGap),
    "scenario_step": node(syntax.ScenarioStep),
    "slow": _sequence,
    # Recordings.
    "drop": node(syntax.DropDecl),
    "event": node(syntax.EventDecl),
    "event_field": node(syntax.EventFieldDecl),
    "event_head": node(syntax.EventHead, rest=True),
    "explain": node(syntax.ExplainDecl),
    "explained_value": node(syntax.ExplainedValue),
    "explanation": _sequence,
    "fixed_minus": _minus_number,
    "fixed_name": node(syntax.FixedName),
    "fixed_number": _number,
    "fixed_string": _string,
    "hidden": node(syntax.HiddenDecl),
    "input": node(syntax.InputDecl),
    "input_step": _input_step,
    "recording": node(syntax.RecordingDecl, rest=True),
    "recording_bind": node(syntax.RecordingBind, rest=True),
    "recording_event": node(syntax.RecordingEvent),
    "recording_key": node(syntax.RecordingKey, rest=True),
    "recording_not_falling": node(syntax.RecordingOrder, rest=True, strict=False),
    "recording_rising": node(syntax.RecordingOrder, rest=True, strict=True),
    "recording_source": node(syntax.RecordingSource, rest=True),
    "shows": node(syntax.ShowsDecl),
    "tolerate": node(syntax.TolerateDecl),
    "under_way": node(syntax.UnderWayDecl),
}
"""Maps each grammar rule to the function that builds its node."""
