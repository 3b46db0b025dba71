"""Data classes as the library `dataclasses` makes them, in a fraction of the time.

A check loads hundreds of them, and for each the library writes and compiles six functions. Here
frozen classes with slots share what they can, and a function that depends on the fields is compiled
when it is first called, which for most of them is never. Objects are made in less time, too, and
know their hash once it was asked for. To type checkers, and to `fields`, `replace` and `pickle`,
the classes are what the library makes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import dataclass, replace
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, kw_only=False, **others):
        """As that of `dataclasses`, which makes whatever is not frozen or has other options."""
        if not (frozen and slots) or others:
            return dataclasses.dataclass(
                cls, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only, **others
            )
        if cls is None:
            return lambda cls: record(cls, eq, kw_only)
        return record(cls, eq, kw_only)

    def replace(record, /, **changes):
        """As that of `dataclasses`, for whatever it takes."""
        cls = record.__class__
        names = cls.__dict__.get(_INIT)
        if names is None:
            return dataclasses.replace(record, **changes)
        for name in names:
            if name not in changes:
                changes[name] = getattr(record, name)
        return cls(**changes)


__all__ = ["dataclass", "replace"]

_INIT = "__record_init__"
"""The names of the fields by which an object is made, in an attribute of the class."""
_HASH = "_hash"
"""The slot for a hash that is known: it is no field, and not pickled, as another process may have
another.
"""


def record(cls: type[Any], eq: bool, kw_only: bool) -> type[Any]:
    # Where there is no docstring the library writes one, which takes as long as all the rest.
    cls.__doc__ = cls.__doc__ or cls.__name__
    own = set(vars(cls))
    plain = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    fields = dataclasses.fields(plain)
    made = _with_slots(plain, [field.name for field in fields], eq)
    setattr(made, _INIT, tuple(field.name for field in fields if field.init))
    functions = _frozen(made, tuple(field.name for field in fields))
    functions["__init__"] = _later(made, "__init__", lambda: _init(made, fields))
    functions["__repr__"] = _repr
    if eq:
        compared = [field.name for field in fields if field.compare]
        functions["__eq__"] = _later(made, "__eq__", lambda: _eq(compared))
        hashed = [
            field.name for field in fields if (field.compare if field.hash is None else field.hash)
        ]
        # Python itself leaves a None where a class has an ``__eq__`` of its own.
        if vars(cls).get("__hash__") is None:
            own.discard("__hash__")
        functions["__hash__"] = _later(made, "__hash__", lambda: _hash(made, hashed))
    for name, function in functions.items():
        if name not in own:
            setattr(made, name, function)
    return made


def _with_slots(cls: type[Any], names: Sequence[str], hashed: bool) -> type[Any]:
    """The class again, with slots for its fields."""
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    slots = tuple(one for one in (*names, *[_HASH] * hashed) if one not in inherited)
    left_out = {*names, "__dict__", "__weakref__"}
    namespace = {name: value for name, value in vars(cls).items() if name not in left_out}
    kind: Any = type(cls)
    made: type[Any] = kind(cls.__name__, cls.__bases__, {**namespace, "__slots__": slots})
    made.__qualname__ = cls.__qualname__
    return made


def _frozen(cls: type[Any], names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """What keeps objects as they were made, and what pickles and copies them."""

    def set_(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": set_,
        "__delattr__": delete,
        "__getstate__": state,
        "__setstate__": restore,
    }


def _repr(self: Any) -> str:
    parts = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(parts)})"


# ---------------------------------------------------------------- compiled when called


def _later(cls: type[Any], name: str, make: Callable[[], Callable[..., Any]]) -> Any:
    """A function that puts the one that is made in its place when it is called."""

    def first(*given: Any, **by_name: Any) -> Any:
        made = make()
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, made)
        return made(*given, **by_name)

    return first


def _init(cls: type[Any], fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., Any]:
    known: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    parameters: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for number, field in enumerate(fields):
        # A slot is set in less time by its own function than by name.
        known[f"set{number}"] = getattr(cls, field.name).__set__
        value, default = field.name, ""
        if field.default is not dataclasses.MISSING:
            known[f"default{number}"] = field.default
            default = f"default{number}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"make{number}"] = field.default_factory
            default = "MISSING"
            value = f"make{number}() if {field.name} is MISSING else {field.name}"
        if field.init:
            listed = by_name if field.kw_only else parameters
            listed.append(f"{field.name}={default}" if default else field.name)
        else:
            value = default.replace("MISSING", f"make{number}()")
        if value:
            lines.append(f"set{number}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters += ["*", *by_name] if by_name else []
    return _compiled("__init__", ["self", *parameters], lines or ["pass"], known)


def _eq(names: Sequence[str]) -> Callable[..., Any]:
    lines = [
        "if other.__class__ is not self.__class__: return NotImplemented",
        f"return self is other or {_tuple('self', names)} == {_tuple('other', names)}",
    ]
    return _compiled("__eq__", ["self", "other"], lines, {})


def _hash(cls: type[Any], names: Sequence[str]) -> Callable[..., Any]:
    lines = [
        f"try: return self.{_HASH}",
        "except AttributeError: pass",
        f"found = hash({_tuple('self', names)})",
        "keep(self, found)",
        "return found",
    ]
    return _compiled("__hash__", ["self"], lines, {"keep": getattr(cls, _HASH).__set__})


def _tuple(owner: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in names)})"


def _compiled(
    name: str, parameters: Sequence[str], lines: Sequence[str], known: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function of these lines, in which ``known`` are the names that are no built-ins."""
    text = "\n ".join([f"def {name}({', '.join(parameters)}):", *lines])
    namespace = dict(known)
    exec(text, namespace)
    made: Callable[..., Any] = namespace[name]
    return made
