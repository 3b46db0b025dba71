"""Types and values of the core in TLA+.

bool, integers   BOOLEAN, integers
enum             strings
record           records
union            records with the field ``tag``
option           sequences of no or one element
set, seq         sets, sequences
bag              bags of the module Bags
map              functions
"""

from __future__ import annotations

from typing import assert_never

from fencepost.spec import types
from fencepost.spec.types import Type, Value, values

MOST = 2**31 - 1
"""TLC's integers are Java's ``int``."""
NARROW = 30
"""A machine integer of at most so many bits wraps in TLA+ as it does in the language; beyond, TLC
itself says when an integer leaves 32 bits.
"""


class NotExported(Exception):
    """A part of a model that is not exported; the text says which."""


def literal(value: Value, kind: Type) -> str:
    """A value of type ``kind``."""
    match kind, value:
        case types.Bool(), _:
            return "TRUE" if value else "FALSE"
        case types.Int() | types.Machine(), int():
            if abs(value) > MOST:
                raise NotExported(f"the number {value}, since TLC's integers have 32 bits")
            return str(value) if value >= 0 else f"(-{-value})"
        case types.Enum(members=members), int():
            return string(members[value])
        case types.Record(fields=fields), tuple():
            inside = zip(fields, value, strict=True)
            return record({f.name: literal(v, f.type) for f, v in inside})
        case types.Union(variants=variants), (int(tag), *payload):
            held = zip(variants[tag].fields, payload, strict=True)
            return variant(kind, tag, [literal(v, f.type) for f, v in held])
        case types.Option(), ():
            return "<<>>"
        case types.Option(element), (content,):
            return f"<<{literal(content, element)}>>"
        case types.Set(element), tuple():
            return f"{{{', '.join(literal(v, element) for v in value)}}}"
        case types.Seq(element), tuple():
            return f"<<{', '.join(literal(v, element) for v in value)}>>"
        case types.Bag(element), tuple():
            return bag([literal(v, element) for v in value])
        case types.Map(key, item), tuple():
            pairs = zip(values(key), value, strict=True)
            return mapping([(literal(k, key), literal(v, item)) for k, v in pairs], key)
        case _:
            raise AssertionError(f"{value!r} is not a value of {kind!r}")


def mapping(pairs: list[tuple[str, str]], key: Type) -> str:
    """The function with these values."""
    contents = {value for _, value in pairs}
    if len(contents) == 1:
        return f"[key \\in {universe(key)} |-> {contents.pop()}]"
    whole = " @@ ".join(f"({k} :> {v})" for k, v in pairs)
    return f"({whole})" if pairs else "<<>>"


def bag(elements: list[str]) -> str:
    """The bag of these elements."""
    if not elements:
        return "EmptyBag"
    return f"({' (+) '.join(f'SetToBag({{{element}}})' for element in elements)})"


def record(fields: dict[str, str]) -> str:
    """The record with these fields."""
    return f"[{', '.join(f'{name} |-> {value}' for name, value in fields.items())}]"


def variant(kind: types.Union, tag: int, texts: list[str]) -> str:
    """The union value with this tag and these fields."""
    named = {field_name(kind, tag, index): text for index, text in enumerate(texts)}
    return record({"tag": string(kind.variants[tag].name), **named})


def field_name(kind: types.Union, tag: int, index: int) -> str:
    """How a field of a variant is called: by its name, unless another variant has a field of that
    name and another type, which TLC could not compare it with.
    """
    field = kind.variants[tag].fields[index]
    same = [f for v in kind.variants for f in v.fields if f.name == field.name]
    plain = field.name != "tag" and all(alike(f.type, field.type) for f in same)
    return field.name if plain else f"{kind.variants[tag].name}_{field.name}"


def alike(one: Type, other: Type) -> bool:
    """Whether TLC can compare values of the types: they differ in ranges and capacities only."""
    match one, other:
        case ((types.Int() | types.Machine()), (types.Int() | types.Machine())):
            return True
        case types.Option(a), types.Option(b):
            return alike(a, b)
        case types.Set(a), types.Set(b):
            return alike(a, b)
        case types.Seq(a), types.Seq(b):
            return alike(a, b)
        case types.Bag(a), types.Bag(b):
            return alike(a, b)
        case types.Map(a, v), types.Map(b, w):
            return alike(a, b) and alike(v, w)
        case _:
            return one == other


def string(text: str) -> str:
    """A string: the names of the language have no character that needs an escape."""
    return f'"{text}"'


def universe(kind: Type) -> str:
    """The set of all values of a type."""
    match kind:
        case types.Bool():
            return "BOOLEAN"
        case types.Int(low, high):
            return f"({literal(low, kind)}..{literal(high, kind)})"
        case types.Machine():
            if kind.bits > NARROW:
                raise NotExported(f"the set of all int[{kind.bits}]")
            return f"({literal(kind.low, kind)}..{literal(kind.high, kind)})"
        case types.Enum(members=members):
            return f"{{{', '.join(map(string, members))}}}"
        case types.Record(fields=fields):
            return f"[{', '.join(f'{f.name} : {universe(f.type)}' for f in fields)}]"
        case types.Union(variants=variants):
            parts: list[str] = []
            union = " \\cup "
            for tag, one in enumerate(variants):
                sets = [f"tag : {{{string(one.name)}}}"]
                sets += [
                    f"{field_name(kind, tag, index)} : {universe(f.type)}"
                    for index, f in enumerate(one.fields)
                ]
                parts.append(f"[{', '.join(sets)}]")
            return f"({union.join(parts)})"
        case types.Option(element):
            return f"({{<<>>}} \\cup {{<<content>> : content \\in {universe(element)}}})"
        case types.Set(element, most):
            if most is None:
                return f"(SUBSET {universe(element)})"
            return f"{{subset \\in SUBSET {universe(element)} : Cardinality(subset) <= {most}}}"
        case types.Seq(element, most):
            return f"(UNION {{[1..length -> {universe(element)}] : length \\in 0..{most}}})"
        case types.Bag():
            raise NotExported("the set of all bags of a type")
        case types.Map(key, value):
            return f"[{universe(key)} -> {universe(value)}]"
        case _:
            assert_never(kind)


def member(text: str, kind: Type, depth: int = 0) -> str:
    """Whether what ``text`` stands for is a value of the type, given that it is alike."""
    element = f"item{depth}"
    match kind:
        case types.Bool() | types.Enum():
            return f"({text} \\in {universe(kind)})"
        case types.Int():
            return f"({text} \\in {literal(kind.low, kind)}..{literal(kind.high, kind)})"
        case types.Machine():
            if kind.bits > NARROW:
                return f"({text} \\in Int)"
            return f"({text} \\in {literal(kind.low, kind)}..{literal(kind.high, kind)})"
        case types.Record(fields=fields):
            return _all([member(f"{text}.{f.name}", f.type, depth) for f in fields])
        case types.Union(variants=variants):
            tested: list[str] = []
            for tag, one in enumerate(variants):
                payload = [
                    member(f"{text}.{field_name(kind, tag, index)}", f.type, depth)
                    for index, f in enumerate(one.fields)
                ]
                if payload:
                    tested.append(f"({text}.tag = {string(one.name)} => {_all(payload)})")
            return _all(tested)
        case types.Option(inner):
            return f"({text} = <<>> \\/ {member(f'{text}[1]', inner, depth)})"
        case types.Set(inner, most):
            small = [] if most is None else [f"(Cardinality({text}) <= {most})"]
            every = f"(\\A {element} \\in {text} : {member(element, inner, depth + 1)})"
            return _all([*small, every])
        case types.Seq(inner, most):
            inside = member(f"{text}[{element}]", inner, depth + 1)
            every = f"(\\A {element} \\in DOMAIN {text} : {inside})"
            return _all([f"(Len({text}) <= {most})", every])
        case types.Bag(inner, most):
            every = f"(\\A {element} \\in DOMAIN {text} : {member(element, inner, depth + 1)})"
            return _all([f"(BagCardinality({text}) <= {most})", every])
        case types.Map(key, value):
            inside = member(f"{text}[{element}]", value, depth + 1)
            return f"(\\A {element} \\in {universe(key)} : {inside})"
        case _:
            assert_never(kind)


def _all(parts: list[str]) -> str:
    kept = [part for part in parts if part != "TRUE"]
    both = " /\\ "
    return f"({both.join(kept)})" if kept else "TRUE"


def ranks(kind: Type) -> str | None:
    """A function that puts values in the order of the language; None: they are numbers. Raises
    `NotExported` for types whose order TLA+ does not know.
    """
    match kind:
        case types.Int() | types.Machine():
            return None
        case types.Bool() | types.Enum():
            pairs = [(literal(v, kind), str(n)) for n, v in enumerate(values(kind))]
            return mapping(pairs, kind)
        case _:
            raise NotExported(f"the order of {types.describe(kind)}")
