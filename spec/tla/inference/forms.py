# pyright: basic
"""TLA+ values as values of the core, and back."""

from __future__ import annotations

from typing import Any, cast

from fencepost.spec.core import types
from fencepost.spec.core.type_relations import least
from fencepost.spec.tla.inference.kinds import (
    Fun,
    Kind,
    Name,
    Never,
    NotLowered,
    Number,
    Partial,
    Rec,
    Seq,
    SetOf,
    Truth,
    Tup,
    Union,
    core,
)
from fencepost.spec.tla.values.kinds import FALSE, TRUE, Boolean, Function, ModelValue, Value
from fencepost.spec.tla.values.universe import Universe


class Misfit(Exception):
    """A value is not of a kind."""


class Forms:
    """Translates values of one specification."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self._texts: list[str] = []
        self._keys: dict[Kind, tuple[Value, ...]] = {}

    # ------------------------------------------------------------ into the core

    def encode(self, value: Any, kind: Kind) -> types.Value:
        """Returns the form of a value in the core. Raises `Misfit`."""
        match kind:
            case Truth() if isinstance(value, Boolean):
                return value is TRUE
            case Number(low, high):
                if isinstance(value, int) and low <= value <= high:
                    return value
            case Name(model, low, high):
                named = ModelValue if model else str
                if isinstance(value, named):
                    rank = (
                        value.rank if isinstance(value, ModelValue) else self.universe.rank(value)
                    )
                    if low <= rank <= high:
                        return rank
            case Rec(fields) if isinstance(value, Function):
                names = value.domain.position
                if names.keys() == {name for name, _ in fields}:
                    return tuple(self.encode(value[names[name]], part) for name, part in fields)
            case Tup(items) if self._is_sequence(value) and len(value) == len(items):
                return tuple(map(self.encode, value, items))
            case Seq(element, capacity) if self._is_sequence(value) and len(value) <= capacity:
                return tuple(self.encode(item, element) for item in value)
            case SetOf(element, capacity) if isinstance(value, frozenset):
                if len(value) <= capacity:
                    forms = [self.encode(item, element) for item in value]
                    return types.canonical(core(kind), forms)
            case Fun(domain, _, element) if isinstance(value, tuple):
                pairs = self.universe.pairs(value)
                if pairs.keys() == domain:
                    rest = least(core(element))
                    return tuple(
                        self.encode(pairs[key], element) if key in pairs else rest
                        for key in self.keys(kind)
                    )
            case Partial(_, element) if isinstance(value, tuple):
                pairs = self.universe.pairs(value)
                keys = self.keys(kind)
                if pairs.keys() <= set(keys):
                    return tuple(
                        (self.encode(pairs[key], element),) if key in pairs else () for key in keys
                    )
            case Union(cases):
                for number, case in enumerate(cases):
                    try:
                        return number, self.encode(value, case)
                    except Misfit:
                        pass
            case _:
                pass
        raise Misfit(value, kind)

    def _is_sequence(self, value: Any) -> bool:
        return type(value) is tuple

    def keys(self, kind: Fun | Partial) -> tuple[Value, ...]:
        """Returns the value for each key of the core's map, in order. Keys outside of the domain
        of a function are included. A number without a value is None.
        """
        if kind.keys not in self._keys:
            inner = core(kind.keys)
            self._keys[kind.keys] = tuple(
                self.decode(value, kind.keys) for value in types.values(inner)
            )
        return self._keys[kind.keys]

    # ------------------------------------------------------------ out of the core

    def decode(self, value: types.Value, kind: Kind) -> Value:
        """Returns the value that has a form in the core. The form of a rank without a name gives
        None.
        """
        universe = self.universe
        match kind:
            case Never():
                return None
            case Truth():
                return TRUE if value else FALSE
            case Number():
                return value
            case Name(model):
                return self._name(cast("int", value), model)
        assert isinstance(value, tuple)
        match kind:
            case Rec(fields):
                domain = universe.domain_of(frozenset(name for name, _ in fields))
                parts = {
                    name: self.decode(item, part)
                    for (name, part), item in zip(fields, value, strict=True)
                }
                return domain.function([parts[name] for name in domain.elements])
            case Tup(items):
                return tuple(map(self.decode, value, items))
            case Seq(element):
                return tuple(self.decode(item, element) for item in value)
            case SetOf(element):
                return frozenset(self.decode(item, element) for item in value)
            case Fun(domain, _, element):
                pairs = dict(zip(self.keys(kind), value, strict=True))
                order = universe.domain_of(domain)
                return order.function([self.decode(pairs[key], element) for key in order.elements])
            case Partial(_, element):
                present = {
                    key: self.decode(item[0], element)
                    for key, item in zip(self.keys(kind), value, strict=True)
                    if isinstance(item, tuple) and item
                }
                order = universe.domain_of(frozenset(present))
                return order.function([present[key] for key in order.elements])
            case Union(cases):
                number, item = value
                return self.decode(item, cases[cast("int", number)])
            case _:
                raise AssertionError(kind)

    def _name(self, rank: int, model: bool) -> Value:
        names = self.universe.names
        if len(self._texts) < len(names):
            self._texts = [*names]
        text = self._texts[rank]
        return self.universe.model_value(text) if model else text


def is_complete(value: Value) -> bool:
    """Returns whether no part of a decoded value is the rank of a missing name. Such a value never
    occurs in a state.
    """
    if isinstance(value, Function):
        return all(map(is_complete, value[1:]))
    if isinstance(value, tuple | frozenset):
        return all(map(is_complete, value))
    return value is not None


__all__ = ["Forms", "Misfit", "NotLowered"]
