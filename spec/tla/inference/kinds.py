# pyright: basic
"""Types of TLA+ values, their joins, and their types in the core.

A kind describes the structure of a value. Numbers and collections have bounds, which are bets: what
is stored in a variable is checked against them (see `bounds`). Structure is never a bet: the kind
of a variable includes everything that the module stores in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from fencepost.spec.core import types
from fencepost.spec.core.open_ranges import saturated
from fencepost.spec.core.size_limits import MAX_CAPACITY, countable
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text.source import Span
from fencepost.spec.tla.values.kinds import Boolean, Function, ModelValue, Value
from fencepost.spec.tla.values.universe import Universe

MAX_FIELDS = 256
"""The maximum number of fields of a record."""
MAX_KEYS = 4_096
"""The maximum number of keys in the core's type of a function."""
FLAGS = 128
"""A set over a type with at most this many values has a flag for each value."""


class NotLowered(Exception):
    """Raised for what has no form in the core. The message is a clause about the module. ``span``
    is that of the innermost expression without a form, or None if it is unknown.
    """

    span: Span | None = None

    def at(self, span: Span) -> NotLowered:
        """Returns the exception with a span, unless it has one."""
        if self.span is None:
            self.span = span
        return self


@dataclass(frozen=True, slots=True)
class Never:
    """No value at all, such as the elements of ``{}``."""


@dataclass(frozen=True, slots=True)
class Truth:
    """TRUE and FALSE."""


@dataclass(frozen=True, slots=True)
class Number:
    """The integers from ``low`` to ``high``. ``key`` is the key of the bet, or "" for a value that
    was computed.
    """

    low: int
    high: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """The strings, or model values if ``model``, whose ranks are from ``low`` to ``high``."""

    model: bool
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Rec:
    """Records with these fields, in the order of their names' ranks. A function whose arguments are
    of several kinds is a record, too: each argument is the name of a field.
    """

    fields: tuple[tuple[Value, Kind], ...]


@dataclass(frozen=True, slots=True)
class Tup:
    """Tuples with these components. There is at least one."""

    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Seq:
    """Sequences of at most ``capacity`` elements."""

    element: Kind
    capacity: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class SetOf:
    """Sets of at most ``capacity`` elements."""

    element: Kind
    capacity: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class Fun:
    """Functions with one domain, which is not a set of strings. ``keys`` is the kind of its
    elements.
    """

    domain: frozenset[Value]
    keys: Kind
    element: Kind


@dataclass(frozen=True, slots=True)
class Partial:
    """Functions whose domains differ. Each is a set of values of ``keys``."""

    keys: Kind
    element: Kind


@dataclass(frozen=True, slots=True)
class Union:
    """Values of several kinds. Their heads differ (see `head`)."""

    cases: tuple[Kind, ...]


Kind: TypeAlias = Never | Truth | Number | Name | Rec | Tup | Seq | SetOf | Fun | Partial | Union

NEVER: Final = Never()
TRUTH: Final = Truth()


def head(kind: Kind) -> object:
    """Returns the mark that distinguishes the cases of a union. The join of kinds with one head is
    not a union.
    """
    match kind:
        case Rec(fields):
            return tuple(name for name, _ in fields)
        case Name(model):
            return f"name {model}"
        case Tup() | Seq() | Fun() | Partial():
            return "function"
        case _:
            return type(kind).__name__


def cases(kind: Kind) -> tuple[Kind, ...]:
    """Returns the cases of a union, or the kind itself."""
    return kind.cases if isinstance(kind, Union) else () if isinstance(kind, Never) else (kind,)


def comparable(left: Kind, right: Kind) -> bool:
    """Returns whether TLC compares values of two kinds with different heads: they differ then.
    Otherwise it reports an error.
    """
    kinds = (left, right)
    if any(isinstance(kind, Name) and kind.model for kind in kinds):
        return True
    return all(isinstance(kind, Rec) for kind in kinds)


# ---------------------------------------------------------------- joins


def join(left: Kind, right: Kind) -> Kind:
    """Returns the least kind that includes both. Raises `NotLowered`."""
    if left == right or isinstance(right, Never):
        return left
    if isinstance(left, Never):
        return right
    if isinstance(left, Union) or isinstance(right, Union) or head(left) != head(right):
        return _united(left, right)
    match left, right:
        case Number(), Number():
            key = left.key or right.key
            return Number(min(left.low, right.low), max(left.high, right.high), key)
        case Name(), Name():
            return Name(left.model, min(left.low, right.low), max(left.high, right.high))
        case Rec(), Rec():
            pairs = zip(left.fields, right.fields, strict=True)
            return Rec(tuple((name, join(a, b)) for (name, a), (_, b) in pairs))
        case SetOf(), SetOf():
            capacity = max(left.capacity, right.capacity)
            return set_of(join(left.element, right.element), capacity, left.key or right.key)
        case Truth(), Truth():
            return left
        case _:
            return _joined_functions(left, right)


def _united(left: Kind, right: Kind) -> Kind:
    parts: dict[object, Kind] = {}
    for part in (*cases(left), *cases(right)):
        before = parts.get(head(part))
        parts[head(part)] = part if before is None else join(before, part)
    # The order is that of the text of the heads, so that equal sets of cases are equal kinds.
    ordered = tuple(parts[key] for key in sorted(parts, key=str))
    return ordered[0] if len(ordered) == 1 else Union(ordered)


def _joined_functions(left: Kind, right: Kind) -> Kind:
    match left, right:
        case Fun(), Fun() if left.domain == right.domain:
            return Fun(left.domain, join(left.keys, right.keys), join(left.element, right.element))
        case Tup(a), Tup(b) if len(a) == len(b):
            return Tup(tuple(map(join, a, b)))
        case (Fun() | Tup(), Fun() | Tup()) if length(left) == length(right) is not None:
            fun, tup = (left, right) if isinstance(left, Fun) else (right, left)
            element = join(element_of(fun), element_of(tup))
            if isinstance(fun, Fun) and not isinstance(element, Union):
                return replace(fun, element=element)
            return Tup(tuple(join(item, element_of(fun)) for item in items_of(tup)))
        case _:
            pass
    first, second = as_sequence(left), as_sequence(right)
    if first is not None and second is not None:
        capacity = max(first.capacity, second.capacity)
        return Seq(join(first.element, second.element), capacity, first.key or second.key)
    parts = as_partial(left), as_partial(right)
    keys, element = (join(parts[0].keys, parts[1].keys), join(parts[0].element, parts[1].element))
    if isinstance(keys, Union):
        raise NotLowered("a function has arguments of different kinds")
    return Partial(keys, element)


def length(kind: Kind) -> int | None:
    """Returns the length of sequences of one length, or None for another kind."""
    match kind:
        case Tup(items):
            return len(items)
        case Fun(domain) if domain == frozenset(range(1, len(domain) + 1)):
            return len(domain)
        case _:
            return None


def items_of(kind: Kind) -> tuple[Kind, ...]:
    """Returns the kinds of the components of sequences of one length."""
    return kind.items if isinstance(kind, Tup) else (element_of(kind),) * (length(kind) or 0)


def element_of(kind: Kind) -> Kind:
    """Returns the kind of the values of a function, or of the elements of a set."""
    match kind:
        case Tup(items):
            return joined(items)
        case Seq(element) | SetOf(element) | Fun(_, _, element) | Partial(_, element):
            return element
        case _:
            return NEVER


def as_sequence(kind: Kind) -> Seq | None:
    """Returns a kind of sequences as one of sequences of any length, or None for another kind."""
    if isinstance(kind, Seq):
        return kind
    size = length(kind)
    return None if size is None else Seq(element_of(kind), size)


def as_partial(kind: Kind) -> Partial:
    """Returns a kind of functions as one of functions with any domain."""
    match kind:
        case Partial():
            return kind
        case Fun(_, keys, element):
            return Partial(keys, element)
        case Seq(element, capacity):
            return Partial(Number(1, capacity) if capacity else NEVER, element)
        case _:
            return Partial(Number(1, length(kind) or 0), element_of(kind))


def joined(kinds: Iterable[Kind]) -> Kind:
    """Returns the join of any number of kinds."""
    result: Kind = NEVER
    for kind in kinds:
        result = join(result, kind)
    return result


def set_of(element: Kind, capacity: int, key: str = "") -> SetOf:
    """Returns a kind of sets. Raises `NotLowered` if the elements cannot all be compared."""
    parts = cases(element)
    for index, part in enumerate(parts):
        if not all(comparable(part, other) for other in parts[:index]):
            raise NotLowered("a set has elements that cannot be compared")
    if not settled(element):
        raise NotLowered("a set has elements with parts that cannot be compared")
    if capacity > MAX_CAPACITY:
        raise NotLowered(f"a set may have more than {MAX_CAPACITY:,} elements")
    return SetOf(element, capacity, key)


def settled(kind: Kind) -> bool:
    """Returns whether the equality of two values of this kind is that of their forms in the core:
    no comparison of their parts is an error of TLC.
    """
    parts = cases(kind)
    if any(not comparable(a, b) for index, a in enumerate(parts) for b in parts[:index]):
        return False
    return all(settled(inner) for part in parts for inner in components(part))


def components(kind: Kind) -> tuple[Kind, ...]:
    """Returns the kinds of the parts of a value."""
    match kind:
        case Rec(fields):
            return tuple(inner for _, inner in fields)
        case Tup(items) | Union(items):
            return items
        case Seq(element) | SetOf(element):
            return (element,)
        case Fun(_, keys, element) | Partial(keys, element):
            return (keys, element)
        case _:
            return ()


# ---------------------------------------------------------------- values


def kind_of(universe: Universe, value: Value) -> Kind:
    """Returns the least kind of a value that is written out. Raises `NotLowered`."""
    if isinstance(value, Boolean):
        return TRUTH
    if isinstance(value, int):
        return Number(value, value)
    if isinstance(value, str):
        return Name(False, universe.rank(value), universe.rank(value))
    if isinstance(value, ModelValue):
        if value.kind:
            raise NotLowered(f"{value.name} is a typed model value")
        return Name(True, value.rank, value.rank)
    if isinstance(value, frozenset):
        return set_of(joined(kind_of(universe, item) for item in value), len(value))
    if isinstance(value, Function):
        domain = value.domain
        kinds = [kind_of(universe, item) for item in value[1:]]
        if domain.is_record or not has_keys(universe, domain.values):
            return record(universe, dict(zip(domain.elements, kinds, strict=True)))
        return function(universe, domain.values, joined(kinds))
    if isinstance(value, tuple):
        kinds = [kind_of(universe, item) for item in value]
        return sequence(kinds) if kinds else Seq(NEVER, 0)
    raise NotLowered("a set or function that is not written out is used as a value")


def record(universe: Universe, fields: Mapping[Value, Kind]) -> Rec:
    """Returns the kind of records with these fields."""
    if len(fields) > MAX_FIELDS:
        raise NotLowered(f"a function has more than {MAX_FIELDS} arguments of several kinds")
    names = universe.domain_of(frozenset(fields)).elements
    return Rec(tuple((name, fields[name]) for name in names))


def sequence(kinds: Sequence[Kind]) -> Kind:
    """Returns the kind of sequences with these components: functions if all are of one kind."""
    element = joined(kinds)
    if isinstance(element, Union) or len(kinds) == 1:
        return Tup(tuple(kinds))
    return Fun(frozenset(range(1, len(kinds) + 1)), Number(1, len(kinds)), element)


def has_keys(universe: Universe, domain: frozenset[Value]) -> bool:
    """Returns whether the elements of a domain are keys of a map of the core: they are of one kind
    with few values.
    """
    keys = joined(kind_of(universe, key) for key in domain)
    return not isinstance(keys, Union) and countable(core(keys), MAX_KEYS)


def function(universe: Universe, domain: frozenset[Value], element: Kind) -> Fun:
    """Returns the kind of functions with a domain that has keys."""
    return Fun(domain, joined(kind_of(universe, key) for key in domain), element)


# ---------------------------------------------------------------- the core


def core(kind: Kind) -> types.Type:
    """Returns the type of a kind in the core. Raises `NotLowered` if that would be too large."""
    match kind:
        case Never():
            return types.Int(0, 0)
        case Truth():
            return types.Bool()
        case Number(low, high):
            low, high = saturated(low, high)
            if max(-low, high) >= types.UNBOUNDED:
                raise NotLowered("a number may need more than 64 bits")
            return types.Int(low, high)
        case Name(_, low, high):
            return types.Int(low, high)
        case Rec() | Tup():
            return types.tuple_type(map(core, components(kind)))
        case Seq(element, capacity):
            return types.Seq(core(element), capacity)
        case SetOf(element, capacity):
            inner = core(element)
            return types.Set(inner) if countable(inner, FLAGS) else types.Set(inner, capacity)
        case Fun(_, keys, element):
            return types.Map(core(keys), core(element))
        case Partial(keys, element):
            if not countable(core(keys), MAX_KEYS):
                raise NotLowered("the domain of a function is among too many values")
            return types.Map(core(keys), types.Option(core(element)))
        case Union(parts):
            variants = [
                types.Variant(f"case{number}", (types.Field("value", core(part)),))
                for number, part in enumerate(parts)
            ]
            return types.Union("union", tuple(variants))
        case _:
            assert_never(kind)
