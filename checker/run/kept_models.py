"""Models kept between runs: to read one takes a tenth of the time that it takes to build it.

A model is found by all that it is made of: the texts of its files, the constants that the check and
the user give, and this package. Checks that differ in their properties alone have the same model.
A program must be as its files say: one whose trees were changed (`spec.mutation`) would be taken
for another.
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
"""Of compression: the least takes a hundredth of the time that it takes to build a model."""


@dataclass(frozen=True, slots=True)
class KeptModels:
    """The models of a program, each read or built once."""

    program: Program
    _models: dict[str, Model] = field(default_factory=dict[str, Model])

    def model(self, check: Check, overrides: Mapping[str, str]) -> tuple[Model, str]:
        """The model of a check, as `build` makes it, and a name for it that no other model has.
        Raises `Rejected` as `build` does.
        """
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
    kept = Cache()
    content = kept.read(parts)
    sources = [tree.source for tree in program.files.files.values()]
    model: Model | None = None
    if content is not None:
        with suppress(Foreign, zlib.error):
            model = decoded(zlib.decompress(content), sources)
    if model is None:
        model = build(program, check, overrides)
        with suppress(Foreign):
            kept.write(parts, zlib.compress(encoded(model, sources), LEVEL))
    return model


def _parts(program: Program, check: Check, overrides: Mapping[str, str]) -> Iterator[str]:
    """All that a model is made of."""
    yield from (__version__, _package(), sys.version, str(program.path), program.name)
    yield from (str(program.files.root), str(program.files.whole))
    for path, tree in program.files.files.items():
        yield from ("file", str(path), tree.source.name, tree.source.text)
    for (path, words), target in program.files.imports.items():
        yield from ("import", str(path), ".".join(words), str(target))
    for item in check.constants:
        place = ".".join(part.text for part in item.path)
        yield from ("check constant", place, item.value.span.text)
    yield from ("unfair", *check.without)
    for name, text in overrides.items():
        yield from ("constant", name, text)


@cache
def _package() -> str:
    """What this package is: of an installed one the version would do, not of one that is edited."""
    root = package_root()
    lines: list[str] = []
    for top in ("spec", "checker"):
        # Not by paths as objects: there are hundreds of files, and this is done at every start.
        for folder, _, names in os.walk(root / top):
            for name in names:
                if name.endswith((".py", ".lark", ".toml", ".json")):
                    file = os.path.join(folder, name)
                    status = os.stat(file)
                    lines.append(f"{file} {status.st_size} {status.st_mtime_ns}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
