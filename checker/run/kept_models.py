"""Caches models between runs: reading one takes a tenth of the time of building it.

The key covers everything a model is built from: the texts of its files, constants from the check
and the command line, and this package. Checks that differ only in their properties share a model.
The syntax trees of a program must match its files, since only the texts are part of the key;
`spec.mutation` changes trees.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache

from fencepost import __version__
from fencepost.checker.native.machine.code_cache import Cache
from fencepost.checker.run.model_data import Foreign, decoded, encoded
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import Check, Program, build
from fencepost.spec.records import dataclass
from fencepost.spec.text.library import package_root

LEVEL = 1
"""The zlib level; the lowest takes 1 % of the time of building a model."""


@dataclass(frozen=True, slots=True)
class KeptModels:
    """The models of one program, each read or built at most once."""

    program: Program
    _models: dict[str, Model] = field(default_factory=dict[str, Model])

    def model(self, check: Check, overrides: Mapping[str, str]) -> tuple[Model, str]:
        """Returns the model of a check and a name derived from its content. Raises `Rejected`."""
        parts = ["model", *_parts(self.program, check, overrides)]
        digest = hashlib.sha256()
        for part in parts:
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        name = digest.hexdigest()
        if name not in self._models:
            self._models[name] = _read_or_built(self.program, check, overrides, parts)
        return self._models[name], name


def _read_or_built(
    program: Program, check: Check, overrides: Mapping[str, str], parts: Sequence[str]
) -> Model:
    cache = Cache()
    content = cache.read(parts)
    sources = [tree.source for tree in program.files.files.values()]
    model: Model | None = None
    if content is not None:
        with suppress(Foreign, zlib.error):
            model = decoded(zlib.decompress(content), sources)
    if model is None:
        model = build(program, check, overrides)
        with suppress(Foreign):
            cache.write(parts, zlib.compress(encoded(model, sources), LEVEL))
    return model


def _parts(program: Program, check: Check, overrides: Mapping[str, str]) -> Iterator[str]:
    """Everything that determines a model, as text."""
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
    for name, text in overrides.items():
        yield from ("constant", name, text)


@cache
def _package() -> str:
    """A digest of the sizes and times of our own files, since an editable install has a fixed
    version.
    """
    root = package_root()
    lines: list[str] = []
    for top in ("spec", "checker"):
        # Not `pathlib`, since this covers hundreds of files at every start.
        for folder, _, names in os.walk(root / top):
            for name in names:
                if name.endswith((".py", ".lark", ".toml", ".json")):
                    file = os.path.join(folder, name)
                    status = os.stat(file)
                    lines.append(f"{file} {status.st_size} {status.st_mtime_ns}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
