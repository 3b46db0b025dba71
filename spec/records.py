"""A faster implementation of `dataclasses`.

A check loads hundreds of data classes, and the standard library generates and compiles six
functions for each. Here, frozen classes with slots share functions where possible. A function that
depends on the fields is compiled when it is first called, which for most of these functions never
happens. Objects are also created faster, and cache their hash. To type checkers, `fields`,
`replace` and `pickle`, they are ordinary data classes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import dataclass, replace
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, kw_only=False, **others):
        """Behaves like `dataclasses.dataclass`, to which it delegates any class that is not both
        frozen and slotted, or that has other options.
        """
        if not (frozen and slots) or others:
            return dataclasses.dataclass(
                cls, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only, **others
            )
        if cls is None:
            return lambda cls: record(cls, eq, kw_only)
        return record(cls, eq, kw_only)

    def replace(record, /, **changes):
        """Behaves like `dataclasses.replace`, and accepts the same arguments."""
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
"""The class attribute that contains the names of the fields that the constructor takes."""
_HASH = "_hash"
"""The slot for the cached hash. It is not a field. It is not pickled, because the hash may differ
in another process.
"""


def record(cls: type[Any], eq: bool, kw_only: bool) -> type[Any]:
    # The library generates a docstring for a class without one, which takes as long as everything
    # else.
    cls.__doc__ = cls.__doc__ or cls.__name__
    own = set(vars(cls))
    plain = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    fields = dataclasses.fields(plain)
    slotted = _with_slots(plain, [field.name for field in fields], eq)
    setattr(slotted, _INIT, tuple(field.name for field in fields if field.init))
    functions = _frozen(slotted, tuple(field.name for field in fields))
    functions["__init__"] = _later(slotted, "__init__", lambda: _init(slotted, fields))
    functions["__repr__"] = _repr
    if eq:
        compared = [field.name for field in fields if field.compare]
        functions["__eq__"] = _later(slotted, "__eq__", lambda: _eq(compared))
        hashed = [
            field.name for field in fields if (field.compare if field.hash is None else field.hash)
        ]
        # Python itself sets ``__hash__`` to None in a class that defines ``__eq__``.
        if vars(cls).get("__hash__") is None:
            own.discard("__hash__")
        functions["__hash__"] = _later(slotted, "__hash__", lambda: _hash(slotted, hashed))
    for name, function in functions.items():
        if name not in own:
            setattr(slotted, name, function)
    return slotted


def _with_slots(cls: type[Any], names: Sequence[str], hashed: bool) -> type[Any]:
    """Returns a copy of the class with slots for its fields."""
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    slots = tuple(name for name in (*names, *[_HASH] * hashed) if name not in inherited)
    left_out = {*names, "__dict__", "__weakref__"}
    namespace = {name: value for name, value in vars(cls).items() if name not in left_out}
    kind: Any = type(cls)
    slotted: type[Any] = kind(cls.__name__, cls.__bases__, {**namespace, "__slots__": slots})
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _frozen(cls: type[Any], names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Returns the methods that make objects immutable, and that support pickling and copying."""

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
    """Returns a function that, when first called, creates its replacement and installs it in the
    class.
    """

    def first(*positional: Any, **by_name: Any) -> Any:
        function = make()
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, function)
        return function(*positional, **by_name)

    return first


def _init(cls: type[Any], fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., Any]:
    globals_: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    parameters: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for number, field in enumerate(fields):
        # Calling the slot's setter is faster than setting the attribute by name.
        globals_[f"set{number}"] = getattr(cls, field.name).__set__
        value, default = field.name, ""
        if field.default is not dataclasses.MISSING:
            globals_[f"default{number}"] = field.default
            default = f"default{number}"
        elif field.default_factory is not dataclasses.MISSING:
            globals_[f"make{number}"] = field.default_factory
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
    return _compiled("__init__", ["self", *parameters], lines or ["pass"], globals_)


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
    name: str, parameters: Sequence[str], lines: Sequence[str], globals_: Mapping[str, Any]
) -> Callable[..., Any]:
    """Compiles a function. ``globals_`` contains the global names that it uses."""
    text = "\n ".join([f"def {name}({', '.join(parameters)}):", *lines])
    namespace = dict(globals_)
    exec(text, namespace)
    function: Callable[..., Any] = namespace[name]
    return function
