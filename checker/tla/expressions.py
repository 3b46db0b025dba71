"""Expressions of the core as TLA+ text.

Whatever is made of parts stands in brackets of its own, so that precedence never matters; the
printer takes the outermost pair away. Conditions under which an operation is defined are left out:
where one is false, TLC stops with an error of its own, or the invariant `TypeOK` fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from fencepost.checker.tla import kinds
from fencepost.checker.tla.kinds import NotExported, literal, universe
from fencepost.spec import ir, types
from fencepost.spec.types import Type

RESERVED = """
ASSUME ASSUMPTION AXIOM Append Ascending BOOLEAN BagCardinality BagIn BagToSet CASE CHOOSE CONSTANT
CONSTANTS Cardinality CopiesIn DOMAIN ELSE ENABLED EXCEPT EXTENDS EmptyBag FALSE FloorDiv FloorMod
Head IF IN INSTANCE Init Int LET LOCAL Len MODULE Nat Next NoDeadlock OTHER Quiescent SF_ STRING
SUBSET SelectSeq Seq SetToBag Spec SubSeq Sum THEN THEOREM TRUE Tail Terminal TypeOK UNCHANGED UNION
VARIABLE VARIABLES WF_ WITH Wrap amounts chosen content dividend divisor domain half item0 item1
item2 item3 item4 item5 item6 key least length number other self subset vars
"""
"""Words of TLA+ and of what every module has; nothing of a spec is called by them."""


FEW = 64
"""The values of a type are written out where there are no more than so many."""


@dataclass(slots=True)
class Names:
    """Names that are not taken yet, in one module."""

    taken: set[str] = field(default_factory=lambda: set(RESERVED.split()))

    def fresh(self, wanted: str) -> str:
        """A name like this one that nothing else has."""
        base = re.sub(r"\W+", "_", wanted).strip("_") or "x"
        if base[0].isdigit():
            base = f"x{base}"
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


@dataclass(frozen=True, slots=True)
class Scope:
    """What variables, slots and actions are called at some place.

    ``variables`` are the present values by number, ``after`` those after the step; ``slots`` the
    texts of locals. ``actions`` are operators, those in ``families`` with a parameter.
    """

    model: ir.Model
    names: Names
    variables: Mapping[int, str]
    after: Mapping[int, str]
    actions: Mapping[int, str]
    families: Mapping[int, str]
    slots: Mapping[int, str] = field(default_factory=dict[int, str])

    def local(self) -> Scope:
        """For a definition of its own: what it names locally may be named so elsewhere, too."""
        return replace(self, names=Names(set(self.names.taken)))

    def bound(self, slot: int, text: str) -> Scope:
        """With a text for a slot."""
        return replace(self, slots={**self.slots, slot: text})

    def assigned(self, variable: int, text: str) -> Scope:
        """With another value of a variable."""
        return replace(self, variables={**self.variables, variable: text})


Body: TypeAlias = "Callable[[Scope], str]"
"""What stands inside a scope."""


def expression(scope: Scope, expr: ir.Expr) -> str:
    """The text of an expression. Raises `NotExported`."""

    def text(part: ir.Expr) -> str:
        return expression(scope, part)

    match expr:
        case ir.Literal(kind, value=value):
            return literal(value, kind)
        case ir.Variable(index=index, next=after):
            return scope.after[index] if after else scope.variables[index]
        case ir.Local(slot=slot):
            return scope.slots[slot]
        case ir.Let(slot=slot, value=value, body=body):
            return let(scope, slot, text(value), lambda inner: expression(inner, body))
        case ir.Demand(body=body) | ir.Witness(body=body) | ir.Observe(body=body):
            return text(body)
        case ir.Not(operand=operand):
            return f"(~{text(operand)})"
        case ir.And(parts=parts) if is_rest(expr):
            return "Quiescent"
        case ir.And(parts=parts):
            return joined(" /\\ ", [text(part) for part in parts], "TRUE")
        case ir.Or(parts=parts):
            return joined(" \\/ ", [text(part) for part in parts], "FALSE")
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            return choice(text(condition), text(then), text(otherwise))
        case ir.Arithmetic(kind, operator=operator, left=left, right=right):
            return _arithmetic(kind, operator, text(left), text(right))
        case ir.Negate(kind, operand=operand):
            return _wrapped(f"(-{text(operand)})", kind)
        case ir.Equal(left=left, right=right):
            return f"({text(left)} = {text(right)})"
        case ir.Less(left=left, right=right, or_equal=or_equal):
            return before(left.type, text(left), text(right), or_equal)
        case ir.Fits(operand=operand, target=target):
            return kinds.member(text(operand), target)
        case ir.Convert(operand=operand):
            return text(operand)
        case ir.MakeRecord(kind, fields=parts):
            assert isinstance(kind, types.Record)
            pairs = zip(kind.fields, parts, strict=True)
            return kinds.record({f.name: text(part) for f, part in pairs})
        case ir.GetField(record=record, index=index):
            assert isinstance(record.type, types.Record)
            return f"{text(record)}.{record.type.fields[index].name}"
        case ir.WithField(kind, record=record, index=index, value=value):
            assert isinstance(kind, types.Record)
            return f"[{text(record)} EXCEPT !.{kind.fields[index].name} = {text(value)}]"
        case ir.MakeVariant(kind, tag=tag, fields=parts):
            assert isinstance(kind, types.Union)
            return kinds.variant(kind, tag, [text(part) for part in parts])
        case ir.HasTag(union=union, tag=tag):
            assert isinstance(union.type, types.Union)
            return f"({text(union)}.tag = {kinds.string(union.type.variants[tag].name)})"
        case ir.Payload(union=union, tag=tag, index=index):
            assert isinstance(union.type, types.Union)
            return f"{text(union)}.{kinds.field_name(union.type, tag, index)}"
        case ir.Some(value=value):
            return f"<<{text(value)}>>"
        case ir.IsSome(option=option):
            return f"({text(option)} /= <<>>)"
        case ir.Content(option=option):
            return f"{text(option)}[1]"
        case ir.At(sequence=sequence, index=index):
            return f"{text(sequence)}[{_next(text(index))}]"
        case ir.Get(map=mapping, key=key):
            return f"{text(mapping)}[{text(key)}]"
        case ir.BuildMap(kind, slot=slot, body=body):
            assert isinstance(kind, types.Map)
            name = scope.names.fresh("k")
            inside = expression(scope.bound(slot, name), body)
            return f"[{name} \\in {universe(kind.key)} |-> {inside}]"
        case ir.Quantified(every=every, slot=slot, domain=domain, body=body, name=wanted):
            name = scope.names.fresh(wanted or "x")
            sign = "\\A" if every else "\\E"
            inside = expression(scope.bound(slot, name), body)
            return f"({sign} {name} \\in {elements(scope, domain)} : {inside})"
        case ir.Enabled(action=action, instance=instance):
            if instance is not None:
                return f"(ENABLED {scope.actions[action]}({text(instance)}))"
            if action in scope.families:
                name = scope.names.fresh("i")
                call = f"{scope.actions[action]}({name})"
                return f"(ENABLED (\\E {name} \\in {scope.families[action]} : {call}))"
            return f"(ENABLED {scope.actions[action]})"
        case ir.Symbol():
            raise NotExported("a constant that stands for all its values at once")
        case _:
            return _of_collections(scope, expr)


_Collections = (
    ir.Universe | ir.Interval | ir.Build | ir.Add | ir.Remove | ir.InsertAt | ir.RemoveAt
    | ir.Contains | ir.Size | ir.SetAlgebra | ir.Collect | ir.Sum | ir.Extreme | ir.Find
    | ir.Occurrences
)  # fmt: skip


def _of_collections(scope: Scope, expr: _Collections) -> str:
    def text(part: ir.Expr) -> str:
        return expression(scope, part)

    match expr:
        case ir.Universe(kind):
            assert isinstance(kind, types.Set)
            return universe(kind.element)
        case ir.Interval(low=low, high=high):
            return f"({text(low)}..{text(high)})"
        case ir.Build(kind, elements=parts):
            listed = [text(part) for part in parts]
            match kind:
                case types.Set():
                    return f"{{{', '.join(listed)}}}"
                case types.Bag():
                    return kinds.bag(listed)
                case _:
                    return f"<<{', '.join(listed)}>>"
        case ir.Add(kind, collection=collection, element=element):
            match kind:
                case types.Set():
                    return f"({text(collection)} \\cup {{{text(element)}}})"
                case types.Bag():
                    return f"({text(collection)} (+) SetToBag({{{text(element)}}}))"
                case _:
                    return f"Append({text(collection)}, {text(element)})"
        case ir.Remove(kind, collection=collection, element=element):
            if isinstance(kind, types.Set):
                return f"({text(collection)} \\ {{{text(element)}}})"
            return f"({text(collection)} (-) SetToBag({{{text(element)}}}))"
        case ir.InsertAt(sequence=sequence, index=index, element=element):
            q, i = text(sequence), text(index)
            left, right = f"SubSeq({q}, 1, {i})", f"SubSeq({q}, {_next(i)}, Len({q}))"
            return f"({left} \\o <<{text(element)}>> \\o {right})"
        case ir.RemoveAt(sequence=sequence, index=index):
            q, i = text(sequence), text(index)
            if i == "0":
                return f"Tail({q})"
            return f"(SubSeq({q}, 1, {i}) \\o SubSeq({q}, ({i} + 2), Len({q})))"
        case ir.Contains(collection=collection, element=element):
            return f"({text(element)} \\in {elements(scope, collection)})"
        case ir.Size(collection=collection):
            match collection.type:
                case types.Seq():
                    operator = "Len"
                case types.Bag():
                    operator = "BagCardinality"
                case _:
                    operator = "Cardinality"
            return f"{operator}({text(collection)})"
        case ir.SetAlgebra(operator=combine, left=left, right=right):
            sign = {"|": "\\cup", "&": "\\cap", "-": "\\"}[combine.value]
            return f"({text(left)} {sign} {text(right)})"
        case ir.Collect():
            return _collect(scope, expr)
        case ir.Sum(collection=collection):
            return _sum(scope, collection)
        case ir.Extreme(kind, greatest=greatest, collection=collection):
            return _first(scope, kind.element, elements(scope, collection), greatest)
        case ir.Find(kind, slot=slot, domain=domain, condition=condition):
            chosen = elements(scope, domain)
            if condition is not None:
                name = scope.names.fresh("x")
                inside = expression(scope.bound(slot, name), condition)
                chosen = f"{{{name} \\in {chosen} : {inside}}}"
            return _first(scope, kind.element, chosen, False)
        case ir.Occurrences(collection=collection, element=element):
            if isinstance(collection.type, types.Bag):
                return f"CopiesIn({text(element)}, {text(collection)})"
            q, name = text(collection), scope.names.fresh("i")
            return f"Cardinality({{{name} \\in DOMAIN {q} : {q}[{name}] = {text(element)}}})"
        case _:
            assert_never(expr)


def elements(scope: Scope, collection: ir.Expr) -> str:
    """The set of the elements of a collection."""
    text = expression(scope, collection)
    match collection.type:
        case types.Seq():
            name = scope.names.fresh("i")
            return f"{{{text}[{name}] : {name} \\in DOMAIN {text}}}"
        case types.Bag():
            return f"BagToSet({text})"
        case _:
            return text


def _collect(scope: Scope, expr: ir.Collect) -> str:
    name = scope.names.fresh("x")
    inner = scope.bound(expr.slot, name)
    element = expression(inner, expr.element)
    condition = None if expr.condition is None else expression(inner, expr.condition)
    if isinstance(expr.type, types.Set):
        chosen = elements(scope, expr.domain)
        if condition is not None:
            chosen = f"{{{name} \\in {chosen} : {condition}}}"
        return chosen if element == name else f"{{{element} : {name} \\in {chosen}}}"
    if not isinstance(expr.type, types.Seq):
        raise NotExported("a comprehension that makes a bag")
    chosen = ordered(scope, expr.domain)
    if condition is not None:
        chosen = f"SelectSeq({chosen}, LAMBDA {name} : {condition})"
    if element == name:
        return chosen
    whole, index = scope.names.fresh("q"), scope.names.fresh("i")
    inside = expression(scope.bound(expr.slot, f"{whole}[{index}]"), expr.element)
    made = f"[{index} \\in 1..Len({whole}) |-> {inside}]"
    return f"(LET {whole} == {chosen} IN {made})"


def ordered(scope: Scope, domain: ir.Expr) -> str:
    """The elements of a collection as a sequence, in the order of the language."""
    text = expression(scope, domain)
    match domain.type:
        case types.Seq():
            return text
        case types.Set(element):
            if not isinstance(element, types.Int | types.Machine):
                return _listed(scope, element, text)
            return f"Ascending({text})"
        case _:
            raise NotExported("a sequence of the elements of a bag")


def _listed(scope: Scope, kind: Type, chosen: str) -> str:
    """The elements of a set as a sequence, where the type has few values: those values, in order,
    that are in the set.
    """
    if types.cardinality(kind) > FEW:
        raise NotExported(f"a sequence of the elements of a set of {types.describe(kind)}")
    every = f"<<{', '.join(literal(value, kind) for value in types.values(kind))}>>"
    name = scope.names.fresh("x")
    return f"SelectSeq({every}, LAMBDA {name} : {name} \\in {chosen})"


def _sum(scope: Scope, collection: ir.Expr) -> str:
    text = expression(scope, collection)
    match collection.type:
        case types.Seq():
            return f"Sum({text}, DOMAIN {text})"
        case types.Bag():
            name = scope.names.fresh("x")
            domain = f"DOMAIN {text}"
            return f"Sum([{name} \\in {domain} |-> {name} * {text}[{name}]], {domain})"
        case _:
            name = scope.names.fresh("x")
            return f"Sum([{name} \\in {text} |-> {name}], {text})"


def _first(scope: Scope, kind: Type, chosen: str, greatest: bool) -> str:
    """The least (or greatest) element of a set, as an option."""
    name, other, whole = (scope.names.fresh(one) for one in ("x", "y", "s"))
    order = before(kind, other, name, True) if greatest else before(kind, name, other, True)
    least = f"CHOOSE {name} \\in {whole} : \\A {other} \\in {whole} : {order}"
    body = f"IF {whole} = {{}} THEN <<>> ELSE <<{least}>>"
    return f"(LET {whole} == {chosen} IN {body})"


def before(kind: Type, left: str, right: str, or_equal: bool) -> str:
    """Whether a value comes before another in the order of the language."""
    sign = "<=" if or_equal else "<"
    rank = kinds.ranks(kind)
    if rank is None:
        return f"({left} {sign} {right})"
    return f"({rank}[{left}] {sign} {rank}[{right}])"


def let(scope: Scope, slot: int, value: str, body: Body) -> str:
    """``body``, with ``value`` under a name where it is more than a word."""
    if _simple(value):
        return body(scope.bound(slot, value))
    name = scope.names.fresh("v")
    inside = body(scope.bound(slot, name))
    if len(re.findall(rf"\b{name}\b", inside)) < 2:
        scope.names.taken.discard(name)
        return put(inside, name, value)
    return f"(LET {name} == {value} IN {inside})"


def put(text: str, name: str, value: str) -> str:
    """``text`` with a value in the place of a name."""
    return re.sub(rf"\b{name}\b", lambda _: value, text)


def _simple(text: str) -> bool:
    return re.fullmatch(r'[\w.]+|"\w*"|[\w.]+\[\w+\]|<<>>', text) is not None


def choice(condition: str, then: str, otherwise: str) -> str:
    """A conditional value."""
    return then if then == otherwise else f"(IF {condition} THEN {then} ELSE {otherwise})"


def joined(sign: str, parts: list[str], empty: str) -> str:
    """The parts with a sign between them."""
    return f"({sign.join(parts)})" if len(parts) > 1 else parts[0] if parts else empty


def _next(index: str) -> str:
    """Positions count from 0 in the language, from 1 in TLA+."""
    last = re.fullmatch(r"\((Len\([\w.]+(?:\[\w+\])?\)) - 1\)", index)
    if last is not None:
        return last[1]
    return str(int(index) + 1) if index.isdigit() else f"({index} + 1)"


def is_rest(expr: ir.Expr) -> bool:
    """Whether this is what `quiescent` stands for: none of several actions can be taken."""
    match expr:
        case ir.And(parts=parts):
            return len(parts) > 1 and all(
                isinstance(part, ir.Not) and isinstance(part.operand, ir.Enabled) for part in parts
            )
        case _:
            return False


def _arithmetic(kind: Type, operator: ir.Operator, left: str, right: str) -> str:
    match operator:
        case ir.Operator.DIVIDE:
            return _wrapped(f"FloorDiv({left}, {right})", kind)
        case ir.Operator.REMAINDER:
            return f"FloorMod({left}, {right})"
        case ir.Operator.ADD | ir.Operator.SUBTRACT | ir.Operator.MULTIPLY:
            return _wrapped(f"({left} {operator.value} {right})", kind)
        case _:
            assert_never(operator)


def _wrapped(text: str, kind: Type) -> str:
    if isinstance(kind, types.Machine) and kind.bits <= kinds.NARROW:
        return f"Wrap({text}, {1 << (kind.bits - 1)})"
    return text
