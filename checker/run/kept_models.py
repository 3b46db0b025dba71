"""Caches models between runs, since reading a model takes a tenth of the time of building it.

The key of the cache covers everything that determines a model: the texts of its files, the
constants that the check and the command line set, and this package. Checks that differ only in
their properties share a model. The syntax trees of a program must match its files, since only the
texts are part of the key. For example, a program whose trees `spec.mutation` has changed must not
use the cache.

Models are serialized as data without code, so that a cache file cannot execute anything. The data
is a JSON document that consists of two lists. ``kinds`` holds the names of core classes and Python
collections. ``objects`` holds the parts of the model in dependency order, so the model comes last.
Numbers, strings, booleans and null represent themselves. Any other object is a list of the index of
its kind, followed by the indexes of its parts.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, field, fields, is_dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias, cast

from fencepost import __version__
from fencepost.checker.native.machine.code_cache import Cache
from fencepost.spec.core.ir import Model
from fencepost.spec.core.open_ranges import Ranges
from fencepost.spec.elaborate.claims.program import Check, Program, build
from fencepost.spec.records import dataclass
from fencepost.spec.text import source as text
from fencepost.spec.text.library import package_root
from fencepost.spec.text.source import Source

CORE = "fencepost.spec.core."
"""The prefix of the modules that define model classes. `spec.text.source` defines some, too."""

Maker: TypeAlias = Callable[[list[Any]], Any]
"""Builds an object from its parts."""


_ATOMS = frozenset({type(None), bool, int, str})
_COLLECTIONS: dict[str, type[Any]] = {"tuple": tuple, "frozenset": frozenset}


class Foreign(ValueError):
    """Raised if bytes do not describe a model, or if an object in a model cannot be serialized."""


def encoded(model: Model, sources: Sequence[Source]) -> bytes:
    """Serializes a model whose spans refer to ``sources``. Raises `Foreign`."""
    writer = _Writer(sources)
    try:
        writer.place(model)
    except RecursionError as error:
        raise Foreign("this model is nested too deep") from error
    document = [[*map(_name, writer.kinds)], writer.objects]
    return json.dumps(document, separators=(",", ":")).encode()


def decoded(content: bytes, sources: Sequence[Source]) -> Model:
    """Restores a model whose spans refer to ``sources``. Raises `Foreign`."""
    try:
        document: tuple[list[str], list[Any]] = json.loads(content)
        kinds, objects = document
        makers = [_maker(kind, sources) for kind in kinds]
        built: list[Any] = []
        for item in objects:
            if isinstance(item, list):
                kind, *parts = cast("list[int]", item)
                built.append(makers[kind](list(map(built.__getitem__, parts))))
            elif type(item) in _ATOMS:
                built.append(item)
            else:
                raise Foreign("this is not a model")
        model = built[-1]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise Foreign("this is not a model") from error
    if not isinstance(model, Model):
        raise Foreign("this is not a model")
    return model


# ---------------------------------------------------------------- writing


class _Writer:
    """Gives each object an index that is higher than those of its parts, and writes each object
    once.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.kinds: dict[type[Any], int] = {}
        self.objects: list[object] = []
        self._sources = {id(source): number for number, source in enumerate(sources)}
        self._places: dict[object, int] = {}
        self._parts: list[Callable[[Any], Iterable[object]]] = []

    def place(self, value: object) -> int:
        """Returns the index of an object. If the object has none, writes it first."""
        kind: type[Any] = type(value)
        key = (kind, value) if kind in _ATOMS else id(value)
        index = self._places.get(key)
        if index is not None:
            return index
        if kind in _ATOMS:
            entry = value
        else:
            number = self.kinds.get(kind)
            if number is None:
                number = self.kinds[kind] = len(self.kinds)
                self._parts.append(self._number if kind is Source else _parts_of(kind))
            parts = self._parts[number](value)
            entry = [number, *map(self.place, parts)]
        self.objects.append(entry)
        self._places[key] = index = len(self.objects) - 1
        return index

    def _number(self, source: Source) -> list[int]:
        if id(source) not in self._sources:
            raise Foreign("a place in a text that is not a file of the spec")
        return [self._sources[id(source)]]


def _parts_of(kind: type[Any]) -> Callable[[Any], Iterable[object]]:
    """Returns a function that splits objects of a class into their parts."""
    if kind in _COLLECTIONS.values():
        return list[Any]
    if kind is dict:
        return _flat
    if _name(kind) not in _classes():
        raise Foreign(f"{kind.__name__} is not a part of a model")
    if issubclass(kind, Enum):
        return lambda member: [member.name]
    names = _fields(kind)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [getattr(value, name) for name in names]


def _flat(table: dict[object, object]) -> list[object]:
    return [part for pair in table.items() for part in pair]


# ---------------------------------------------------------------- reading


def _maker(kind: str, sources: Sequence[Source]) -> Maker:
    if kind == _name(Source):
        return lambda parts: sources[int(parts[0])]
    if kind == "dict":
        return _table
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind]
    class_ = _classes()[kind]
    if issubclass(class_, Enum):
        members: Mapping[str, Enum] = class_.__members__
        return lambda parts: members[parts[0]]
    first = sum(not item.kw_only for item in fields(class_) if item.init)
    rest = _fields(class_)[first:]
    if not rest:
        return lambda parts: class_(*parts)
    if rest == ("span",):
        # Most core nodes have this form. This is twice as fast as the general case below.
        return lambda parts: class_(*parts[:-1], span=parts[-1])
    return lambda parts: class_(*parts[:first], **dict(zip(rest, parts[first:], strict=True)))


def _table(parts: list[Any]) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _name(kind: type[Any]) -> str:
    if kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _classes() -> dict[str, type[Any]]:
    """Returns the dataclasses and enums that models consist of, by qualified name."""
    homes = [module for name, module in sys.modules.items() if name.startswith(CORE)]
    return {
        _name(item): item
        for module in (*homes, text)
        for item in vars(module).values()
        if isinstance(item, type) and (is_dataclass(item) or issubclass(item, Enum))
    }


def _fields(kind: type[Any]) -> tuple[str, ...]:
    """Returns the names of the fields in the order of the constructor, with keyword-only fields
    last.
    """
    return tuple(item.name for item in sorted(fields(kind), key=_by_name) if item.init)


def _by_name(field: Field[Any]) -> bool:
    return field.kw_only is True


LEVEL = 1
"""The zlib level. The lowest level takes 1 % of the time of building a model."""


@dataclass(frozen=True, slots=True)
class KeptModels:
    """The models of one program. Each model is read or built at most once."""

    program: Program
    _models: dict[str, Model] = field(default_factory=dict[str, Model])

    def model(
        self, check: Check, overrides: Mapping[str, str], ranges: Ranges | None = None
    ) -> tuple[Model, str]:
        """Returns the model of a check and a name derived from its content. ``ranges`` are assumed
        (see `build`). Raises `Rejected`.
        """
        parts = ["model", *_parts(self.program, check, overrides, ranges)]
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        name = digest.hexdigest()
        if name not in self._models:
            self._models[name] = _read_or_built(self.program, check, overrides, ranges, parts)
        return self._models[name], name


def _read_or_built(
    program: Program,
    check: Check,
    overrides: Mapping[str, str],
    ranges: Ranges | None,
    parts: Sequence[str],
) -> Model:
    cache = Cache()
    content = cache.read(parts)
    sources = [tree.source for tree in program.files.files.values()]
    model: Model | None = None
    if content is not None:
        with suppress(Foreign, zlib.error):
            model = decoded(zlib.decompress(content), sources)
    if model is None:
        model = build(program, check, overrides, ranges=ranges)
        with suppress(Foreign):
            cache.write(parts, zlib.compress(encoded(model, sources), LEVEL))
    return model


def _parts(
    program: Program, check: Check, overrides: Mapping[str, str], ranges: Ranges | None
) -> Iterator[str]:
    """Yields everything that determines a model, as text."""
    yield from (__version__, _package(), sys.version, str(program.path), program.name)
    yield from (str(program.files.root), str(program.files.whole))
    for path, tree in program.files.files.items():
        yield from ("file", str(path), tree.source.name, tree.source.text)
    for (path, words), target in program.files.imports.items():
        yield from ("import", str(path), ".".join(words), str(target))
    for item in check.constants:
        path_text = ".".join(part.text for part in item.path)
        yield from ("check constant", path_text, item.value.span.text)
    yield from ("unfair", *check.without)
    for name, value in overrides.items():
        yield from ("constant", name, value)
    if ranges is not None:
        yield "ranges"
        for key, (low, high) in ranges.items():
            yield from (key, str(low), str(high))


@cache
def _package() -> str:
    """Returns a digest of the sizes and modification times of Fencepost's own files. The version is
    not enough, since an editable install keeps its version when a file changes.
    """
    root = package_root()
    lines: list[str] = []
    for top in ("spec", "checker"):
        # `pathlib` would be too slow, since this visits hundreds of files at every start.
        for folder, _, names in os.walk(root / top):
            for name in names:
                if name.endswith((".py", ".lark", ".toml", ".json")):
                    file = os.path.join(folder, name)
                    status = os.stat(file)
                    lines.append(f"{file} {status.st_size} {status.st_mtime_ns}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
