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

from collections.abc import Callable, Sequence
from functools import cache
from typing import assert_never

from fencepost.checker.tla_export.names import Names, field_names
from fencepost.checker.tla_export.simplify import among, call, conjoined, either, equal, plus
from fencepost.checker.tla_export.tree import (
    FALSE,
    NOTHING,
    TRUE,
    At,
    Cross,
    Dot,
    Expr,
    Fields,
    Filter,
    Function,
    Functions,
    Image,
    Infix,
    Name,
    Number,
    Prefix,
    Quantified,
    SetLiteral,
    String,
    Tuple,
)
from fencepost.spec.core import types
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.spelling import Notation, entries
from fencepost.spec.core.type_relations import component_pairs
from fencepost.spec.core.types import Type, Value
from fencepost.spec.text.source import Span

MAX_INTEGER = 2**31 - 1
"""The maximum of TLC's integers, which are Java's ``int``."""
NARROW = 30
"""Maximum number of bits of machine integers that wrap in TLA+ as in the language. For wider ones,
TLC reports an overflow of 32 bits.
"""
MAX_LISTED = 4096
"""Maximum number of values that are listed explicitly."""


class NotExported(Exception):
    """Signals that a part of a model cannot be exported. ``reason`` says why, and ``span`` is the
    location of the part, or None if it has not been determined yet.
    """

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


# ---------------------------------------------------------------- values


def literal(value: Value, kind: Type, names: Names) -> Expr:
    """Translates a value of type ``kind``. Bound variables get fresh names from ``names``."""
    return _notation(names).of(value, kind)


def _notation(names: Names) -> Notation[Expr]:
    def scalar(value: bool | int | str) -> Expr:
        match value:
            case bool():
                return TRUE if value else FALSE
            case int():
                return number(value)
            case str():
                return String(value)

    def elements(kind: types.Set | types.Seq | types.Bag, items: list[Expr]) -> Expr:
        match kind:
            case types.Set():
                return SetLiteral(tuple(items))
            case types.Seq():
                return Tuple(tuple(items))
            case types.Bag():
                return bag(items)

    def function(
        kind: types.Map, value: tuple[Value, ...], of: Callable[[Value, Type], Expr]
    ) -> Expr:
        if len(set(value)) == 1:
            name = names.fresh("k")
            return Function(name, universe(kind.key, names), of(value[0], kind.value))
        return mapping([*entries(kind, value, of)])

    return Notation(
        scalar=scalar,
        record=lambda kind, parts: record(kind, [part for _, part in parts]),
        variant=lambda kind, tag, parts: variant(kind, tag, [part for _, part in parts]),
        none=NOTHING,
        some=lambda content, _: Tuple((content,)),
        elements=elements,
        map=function,
    )


def number(value: int) -> Expr:
    """Translates an integer."""
    if abs(value) > MAX_INTEGER:
        raise NotExported(f"the number {value}, since TLC's integers have 32 bits")
    return Number(value)


def mapping(pairs: Sequence[tuple[Expr, Expr]]) -> Expr:
    """Returns the function that is given by pairs of an argument and a value."""
    if not pairs:
        return NOTHING
    parts: list[Expr] = [Infix(":>", key, value) for key, value in pairs]
    return chain("@@", parts)


def chain(sign: str, parts: Sequence[Expr]) -> Expr:
    """Joins the parts with a sign between them, left-associatively."""
    whole, *rest = parts
    for part in rest:
        whole = Infix(sign, whole, part)
    return whole


def bag(elements: Sequence[Expr]) -> Expr:
    """Returns the bag of these elements."""
    if not elements:
        return Name("EmptyBag")
    return chain("(+)", [call("SetToBag", SetLiteral((element,))) for element in elements])


@cache
def record_fields(kind: types.Record) -> tuple[str, ...]:
    """Returns the names of the fields of a record."""
    return tuple(field_names([declared.name for declared in kind.fields]))


@cache
def variant_fields(kind: types.Union) -> tuple[tuple[str, ...], ...]:
    """Returns the names of the fields of each variant. A field keeps its own name unless another
    variant has a field with the same name and a type that TLC could not compare.
    """
    rows: list[tuple[str, ...]] = []
    for declared in kind.variants:
        wanted: list[str] = []
        for field in declared.fields:
            same = [f for v in kind.variants for f in v.fields if f.name == field.name]
            plain = field.name != "tag" and all(alike(f.type, field.type) for f in same)
            wanted.append(field.name if plain else f"{declared.name}_{field.name}")
        rows.append(tuple(field_names(["tag", *wanted])[1:]))
    return tuple(rows)


def record(kind: types.Record, parts: Sequence[Expr]) -> Expr:
    """Returns the record with these fields, or the tuple with these components. A record without
    fields gets a dummy field, because TLA+ requires at least one.
    """
    if kind.is_tuple:
        return Tuple(tuple(parts))
    pairs = tuple(zip(record_fields(kind), parts, strict=True))
    return Fields("|->", pairs or (("tag", String(kind.name)),))


def field(value: Expr, kind: types.Record, index: int) -> Expr:
    """Returns a field of a record, or a component of a tuple."""
    step = field_step(kind, index)
    return Dot(value, step) if isinstance(step, str) else At(value, step)


def field_step(kind: types.Record, index: int) -> Expr | str:
    """Returns the step of a path that leads to a field of a record or a component of a tuple."""
    return Number(index + 1) if kind.is_tuple else record_fields(kind)[index]


def _fields_of(value: Expr, kind: types.Record) -> list[Expr]:
    return [field(value, kind, index) for index in range(len(kind.fields))]


def variant(kind: types.Union, tag: int, parts: Sequence[Expr]) -> Expr:
    """Returns the union value with this tag and these fields."""
    pairs = zip(variant_fields(kind)[tag], parts, strict=True)
    return Fields("|->", (("tag", String(kind.variants[tag].name)), *pairs))


def alike(left: Type, right: Type) -> bool:
    """Checks whether TLC can compare values of the types, because they only differ in ranges and
    capacities.
    """
    if isinstance(left, types.Integer) and isinstance(right, types.Integer):
        return True
    if pairs := component_pairs(left, right):
        return all(alike(*pair) for pair in pairs)
    if type(left) is not type(right) or isinstance(left, types.Record | types.Union):
        return left == right
    inside = types.components(left), types.components(right)
    return all(map(alike, *inside)) if inside[0] else left == right


# ---------------------------------------------------------------- sets of values


def universe(kind: Type, names: Names) -> Expr:
    """Returns the set of all values of a type."""
    match kind:
        case types.Bool():
            return Name("BOOLEAN")
        case types.Machine(bits) if bits > NARROW:
            raise NotExported(f"the set of all values of {types.describe(kind)}")
        case types.Int() if is_open(kind):
            raise NotExported("the set of all values of int")
        case types.Integer():
            return interval(kind.low, kind.high)
        case types.Nominal(members=members):
            return SetLiteral(tuple(map(String, members)))
        case types.Record(fields=fields):
            sets = [universe(f.type, names) for f in fields]
            if kind.is_tuple:
                return Cross(tuple(sets))
            pairs = tuple(zip(record_fields(kind), sets, strict=True))
            return Fields(":", pairs or (("tag", SetLiteral((String(kind.name),))),))
        case types.Union(variants=variants):
            parts: list[Expr] = []
            for tag, declared in enumerate(variants):
                inside = [universe(f.type, names) for f in declared.fields]
                pairs = tuple(zip(variant_fields(kind)[tag], inside, strict=True))
                parts.append(Fields(":", (("tag", SetLiteral((String(declared.name),))), *pairs)))
            return chain("\\cup", parts)
        case types.Option(element):
            name = names.fresh("content")
            some = Image(Tuple((Name(name),)), name, universe(element, names))
            return Infix("\\cup", SetLiteral((NOTHING,)), some)
        case types.Set(element, most):
            subsets = Prefix("SUBSET", universe(element, names))
            if most is None:
                return subsets
            name = names.fresh("subset")
            small = Infix("<=", call("Cardinality", Name(name)), number(most))
            return Filter(name, subsets, small)
        case types.Seq(element, most):
            name = names.fresh("length")
            whole = Functions(Infix("..", Number(1), Name(name)), universe(element, names))
            return Prefix("UNION", Image(whole, name, interval(0, most)))
        case types.Bag():
            raise NotExported(f"the set of all values of {types.describe(kind)}")
        case types.Map(key, value):
            return Functions(universe(key, names), universe(value, names))
        case _:
            assert_never(kind)


def interval(low: int, high: int) -> Expr:
    """Returns the set of the integers in a range."""
    return Infix("..", number(low), number(high))


def in_range(value: Expr, low: int, high: int) -> Expr:
    """Returns the condition that an integer is in a range. A bound outside the integers of TLC is
    omitted.
    """
    if low < -MAX_INTEGER and high > MAX_INTEGER:
        return among(value, Name("Int"))
    if low < -MAX_INTEGER:
        return Infix("<=", value, number(high))
    if high > MAX_INTEGER:
        return Infix(">=", value, number(low))
    return among(value, interval(low, high))


def member(value: Expr, kind: Type, names: Names) -> Expr:
    """Returns the condition that ``value`` is a value of the type, given that it is a value of an
    `alike` type.
    """
    match kind:
        case types.Bool() | types.Nominal():
            return among(value, universe(kind, names))
        case types.Integer():
            return in_range(value, kind.low, kind.high)
        case types.Record(fields=fields):
            return conjoined([
                member(part, f.type, names)
                for part, f in zip(_fields_of(value, kind), fields, strict=True)
            ])  # fmt: skip
        case types.Union(variants=variants):
            tested: list[Expr] = []
            for tag, declared in enumerate(variants):
                held = zip(variant_fields(kind)[tag], declared.fields, strict=True)
                inside = conjoined([member(Dot(value, name), f.type, names) for name, f in held])
                if inside != TRUE:
                    tested.append(Infix("=>", has_tag(value, kind, tag), inside))
            return conjoined(tested)
        case types.Option(element):
            some = member(At(value, Number(1)), element, names)
            return either([equal(value, NOTHING), some])
        case types.Set(element, most):
            every = _every(value, element, names)
            if most is None:
                return every
            few = Infix("<=", call("Cardinality", value), number(most))
            return conjoined([few, every])
        case types.Seq(element, most):
            few = Infix("<=", call("Len", value), number(most))
            name = names.fresh("i")
            inner = member(At(value, Name(name)), element, names)
            if inner == TRUE:
                return few
            return conjoined([few, Quantified("\\A", name, Prefix("DOMAIN", value), inner)])
        case types.Bag(element, most):
            few = Infix("<=", call("BagCardinality", value), number(most))
            return conjoined([few, _every(Prefix("DOMAIN", value), element, names)])
        case types.Map(key, item):
            name = names.fresh("k")
            inside = member(At(value, Name(name)), item, names)
            if inside == TRUE:
                return TRUE
            return Quantified("\\A", name, universe(key, names), inside)
        case _:
            assert_never(kind)


def _every(domain: Expr, element: Type, names: Names) -> Expr:
    name = names.fresh("item")
    inside = member(Name(name), element, names)
    return TRUE if inside == TRUE else Quantified("\\A", name, domain, inside)


def has_tag(value: Expr, kind: types.Union, tag: int) -> Expr:
    """Returns the condition that a union value has this tag."""
    return equal(Dot(value, "tag"), String(kind.variants[tag].name))


# ---------------------------------------------------------------- the order of values


def before(left: Expr, right: Expr, kind: Type, names: Names) -> Expr:
    """Returns the condition that a value is less than another in the order of the language. Both
    must be names or parts of names, because they are duplicated.
    """
    match kind:
        case types.Integer():
            return Infix("<", left, right)
        case types.Bool():
            return conjoined([Prefix("~", left), right])
        case types.Nominal(members=members):
            order = Tuple(tuple(map(String, members)))
            return Infix("<", call("Position", left, order), call("Position", right, order))
        case types.Record(fields=fields):
            pairs = zip(_fields_of(left, kind), _fields_of(right, kind), fields, strict=True)
            return _by_parts([(a, b, f.type) for a, b, f in pairs], names)
        case types.Union(variants=variants):
            tags = Tuple(tuple(String(declared.name) for declared in variants))
            first = call("Position", Dot(left, "tag"), tags)
            second = call("Position", Dot(right, "tag"), tags)
            cases: list[Expr] = [Infix("<", first, second)]
            for tag, declared in enumerate(variants):
                held = zip(variant_fields(kind)[tag], declared.fields, strict=True)
                inside = _by_parts([(Dot(left, n), Dot(right, n), f.type) for n, f in held], names)
                both = [has_tag(left, kind, tag), has_tag(right, kind, tag)]
                cases.append(conjoined([*both, inside]) if inside != FALSE else FALSE)
            return either(cases)
        case types.Option(element):
            content = before(At(left, Number(1)), At(right, Number(1)), element, names)
            none, some = equal(left, NOTHING), Infix("/=", right, NOTHING)
            both_some = conjoined([Infix("/=", left, NOTHING), content])
            return conjoined([some, either([none, both_some])])
        case types.Seq(element):
            return _lexicographic(left, right, element, names)
        case types.Set(element):
            x, y, z = names.fresh("d"), names.fresh("x"), names.fresh("y")
            differ = Infix("\\cup", Infix("\\", left, right), Infix("\\", right, left))
            return _by_difference(
                x, y, z, differ, among(Name(x), left), left, right, element, names
            )
        case types.Bag(element):
            x, y, z = names.fresh("d"), names.fresh("x"), names.fresh("y")
            e = names.fresh("e")
            every = Infix("\\cup", Prefix("DOMAIN", left), Prefix("DOMAIN", right))
            copies = [call("CopiesIn", Name(e), left), call("CopiesIn", Name(e), right)]
            unlike = Filter(e, every, Infix("/=", *copies))
            more = Infix(">", call("CopiesIn", Name(x), left), call("CopiesIn", Name(x), right))
            sets = (Prefix("DOMAIN", left), Prefix("DOMAIN", right))
            return _by_difference(x, y, z, unlike, more, *sets, element, names)
        case types.Map(key, item):
            k, j = names.fresh("k"), names.fresh("j")
            keys = universe(key, names)
            earlier = before(Name(j), Name(k), key, names)
            same = equal(At(left, Name(j)), At(right, Name(j)))
            here = before(At(left, Name(k)), At(right, Name(k)), item, names)
            alike_before = Quantified("\\A", j, keys, Infix("=>", earlier, same))
            return Quantified("\\E", k, keys, conjoined([here, alike_before]))
        case _:
            assert_never(kind)


def _by_parts(parts: Sequence[tuple[Expr, Expr, Type]], names: Names) -> Expr:
    whole: Expr = FALSE
    for left, right, kind in reversed(parts):
        rest = conjoined([equal(left, right), whole]) if whole != FALSE else FALSE
        whole = either([before(left, right, kind, names), rest])
    return whole


def _lexicographic(left: Expr, right: Expr, element: Type, names: Names) -> Expr:
    """Compares two sequences. The first difference decides; a sequence that ends there is less."""
    n, i = names.fresh("n"), names.fresh("i")
    position, other = Name(n), Name(i)
    same = Quantified(
        "\\A",
        i,
        Infix("..", Number(1), plus(position, -1)),
        equal(At(left, other), At(right, other)),
    )
    ended = Infix("<", call("Len", left), position)
    here = before(At(left, position), At(right, position), element, names)
    within = Infix("<=", plus(position, -1), call("Len", left))
    tests = conjoined([within, same, either([ended, here])])
    return Quantified("\\E", n, Infix("..", Number(1), call("Len", right)), tests)


def _by_difference(
    x: str,
    y: str,
    z: str,
    differ: Expr,
    here: Expr,
    left: Expr,
    right: Expr,
    element: Type,
    names: Names,
) -> Expr:
    """Compares two collections by their sorted sequences, which first differ at the least element
    ``x`` with different counts. The sequence without this element either continues with a greater
    element and is greater, or has ended and is less.
    """
    o = names.fresh("o")
    least = Quantified("\\A", o, differ, Prefix("~", before(Name(o), Name(x), element, names)))
    left_goes_on = Quantified("\\E", y, right, before(Name(x), Name(y), element, names))
    right_goes_on = Quantified("\\E", z, left, before(Name(x), Name(z), element, names))
    decided = either([
        conjoined([here, left_goes_on]),
        conjoined([Prefix("~", here), Prefix("~", right_goes_on)]),
    ])  # fmt: skip
    return Quantified("\\E", x, differ, conjoined([least, decided]))
