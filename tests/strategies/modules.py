"""A random spec in two files: what stands at the top becomes a module, which the rest imports.

Both are one text: the module stands behind a line of its own, and `files` takes them apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.strategies.drawing import Drawing

ROOT = "random"
"""The name of the file that imports."""
_BEHIND = re.compile(r"^####### file (\w+)\.fence\n", re.M)

_DECLARED = re.compile(
    r"(?:ghost |environment |param )?"
    r"(type|enum|record|union|const|var|channel|def|procedure|role|action|"
    r"invariant|step invariant|reachable|lemma|terminal) (\w+)"
)
_TYPES = ("type", "enum", "record", "union")
_STATE = ("var", "channel", "role")
_PROPERTIES = ("invariant", "step invariant", "reachable", "lemma", "terminal")
_CONSTANT = re.compile(r"const (\w+): (\S+) = (\w+)$")


def files(text: str) -> dict[str, str]:
    """The texts of a spec's files by their names; that of the first is `ROOT`."""
    parts = _BEHIND.split(text)
    return {ROOT: parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def joined(texts: dict[str, str]) -> str:
    """The one text of a spec's files, `ROOT` being the first of them."""
    behind = [f"####### file {name}.fence\n{text}" for name, text in texts.items() if name != ROOT]
    return "".join([texts[ROOT], *behind])


@dataclass(frozen=True, slots=True)
class Split:
    """The lines of the file that imports, and those of the module."""

    root: list[str]
    module: list[str]


def split(drawing: Drawing, lines: Sequence[str]) -> Split | None:
    """A spec in two files that means the same; None where there is no state to be moved.

    Every name that a spec declares is told from every other by its number, so that names can be
    exchanged without reading what they stand in.
    """
    tops = [place for place, line in enumerate(lines) if line and not line.startswith((" ", '"'))]
    first = next((p for p in tops if _declared([lines[p]], _STATE)), None)
    last = next((p for p in tops if lines[p].startswith("check ")), len(lines))
    places = [p for p in [*tops, len(lines)] if first is not None and first < p <= last]
    if not places:
        return None
    place = drawing.pick(places)
    module, root = list(lines[:place]), list(lines[place:])
    given = _parameters(drawing, module)
    named = _named(drawing, module)
    path = drawing.name("b")
    within = [line.strip() for line in module if line.startswith(" ")]
    for name in [*_declared(module), *_declared(within, _PROPERTIES)]:
        if name not in named:
            root = [re.sub(rf"(?<![\w.]){name}\b", f"{path}.{name}", line) for line in root]
    return Split([*_imports(drawing, path, named, given), *root], module)


def _declared(lines: Sequence[str], kinds: Sequence[str] = ()) -> list[str]:
    found = [_DECLARED.match(line) for line in lines]
    return [match[2] for match in found if match and (not kinds or match[1] in kinds)]


def _named(drawing: Drawing, module: Sequence[str]) -> list[str]:
    """What is imported by its own name; the rest is reached through the module.

    Types are, for their members are written as they stand; properties are, because checks name
    them so; and some state is, or the state would have no part in the model.
    """
    state = _declared(module, _STATE)
    sure = {*_declared(module, _TYPES + _PROPERTIES), drawing.pick(state)}
    percent = drawing.pick([100, 50, 0])
    return [name for name in _declared(module) if name in sure or drawing.chance(percent)]


def _parameters(drawing: Drawing, module: list[str]) -> str:
    """Takes values from constants of the module; what the import has to give in their place."""
    given: list[str] = []
    for place, line in enumerate(module):
        constant = _CONSTANT.match(line)
        if constant is None or not drawing.chance(40):
            continue
        name, kind, value = constant.groups()
        given.append(f"{name} = {value}")
        if drawing.chance(50):
            module[place] = f"param const {name}: {kind}"
        else:
            other = "false" if kind == "bool" else "1"
            module[place] = f"const {name}: {kind} = {other}"
    if not given:
        return ""
    return f" with {given[0]}" if len(given) == 1 else f" with ({', '.join(given)})"


def _imports(drawing: Drawing, path: str, named: Sequence[str], given: str) -> list[str]:
    names = ", ".join(named)
    if drawing.chance(30):
        names = f"({names})"
    return [f"import part as {path}{given}", f"from part import {names}{given}"]
