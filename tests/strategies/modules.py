"""A random spec in two files: its first declarations become a module that the rest imports.

Both files are in one text. The module follows a separator line, and `files` splits the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.strategies.drawing import Drawing

ROOT = "random"
"""The name of the importing file."""
_BEHIND = re.compile(r"^####### file (\w+)\.fence\n", re.M)

_DECLARED = re.compile(
    r"(?:ghost |environment |param )?"
    r"(type|enum|record|union|const|var|channel|def|procedure|role|action|"
    r"invariant|step invariant|reachable|lemma|terminal) (\w+)"
)
_TYPES = ("type", "enum", "record", "union")
_STATE = ("var", "channel", "role")
_PROPERTIES = ("invariant", "step invariant", "reachable", "lemma", "terminal")
_RECURSIVE = re.compile(r"def .*: .* at most \d+ = ")
_CONSTANT = re.compile(r"const (\w+): (\S+) = (\w+)$")


def files(text: str) -> dict[str, str]:
    """Returns the texts of a spec's files by name; the first one is `ROOT`."""
    parts = _BEHIND.split(text)
    return {ROOT: parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def joined(texts: dict[str, str]) -> str:
    """Joins the texts of a spec's files, with `ROOT` first."""
    modules = [f"####### file {name}.fence\n{text}" for name, text in texts.items() if name != ROOT]
    return "".join([texts[ROOT], *modules])


@dataclass(frozen=True, slots=True)
class Split:
    """The lines of the importing file, and those of the module."""

    root: list[str]
    module: list[str]


def split(drawing: Drawing, lines: Sequence[str]) -> Split | None:
    """Splits a spec into an equivalent one in two files; returns None if it has no state to move.

    Every declared name has a unique number, so names can be replaced regardless of their context.
    """
    tops = [number for number, line in enumerate(lines) if line and not line.startswith((" ", '"'))]
    first = next((p for p in tops if _declared([lines[p]], _STATE)), None)
    last = next((p for p in tops if lines[p].startswith("check ")), len(lines))
    cuts = [p for p in [*tops, len(lines)] if first is not None and first < p <= last]
    # Defs that call each other stay together.
    cuts = [
        p for p in cuts if p == len(lines) or not all(map(_RECURSIVE.match, lines[p - 1 : p + 1]))
    ]
    if not cuts:
        return None
    cut = drawing.pick(cuts)
    module, root = list(lines[:cut]), list(lines[cut:])
    arguments = _parameters(drawing, module)
    named = _named(drawing, module)
    path = drawing.name("b")
    within = [line.strip() for line in module if line.startswith(" ")]
    for name in [*_declared(module), *_declared(within, _PROPERTIES)]:
        if name not in named:
            root = [re.sub(rf"(?<![\w.]){name}\b", f"{path}.{name}", line) for line in root]
    return Split([*_imports(drawing, path, named, arguments), *root], module)


def _declared(lines: Sequence[str], kinds: Sequence[str] = ()) -> list[str]:
    matches = [_DECLARED.match(line) for line in lines]
    return [match[2] for match in matches if match and (not kinds or match[1] in kinds)]


def _named(drawing: Drawing, module: Sequence[str]) -> list[str]:
    """Returns the names that are imported directly; all others are reached through the module.

    Types are imported because their members are written unqualified, properties because checks name
    them unqualified, and some state because the model would not include it otherwise.
    """
    state = _declared(module, _STATE)
    sure = {*_declared(module, _TYPES + _PROPERTIES), drawing.pick(state)}
    percent = drawing.pick([100, 50, 0])
    return [name for name in _declared(module) if name in sure or drawing.chance(percent)]


def _parameters(drawing: Drawing, module: list[str]) -> str:
    """Removes values from constants of the module, and returns the import's arguments for them."""
    arguments: list[str] = []
    for number, line in enumerate(module):
        constant = _CONSTANT.match(line)
        if constant is None or not drawing.chance(40):
            continue
        name, kind, value = constant.groups()
        arguments.append(f"{name} = {value}")
        if drawing.chance(50):
            module[number] = f"param const {name}: {kind}"
        else:
            other = "false" if kind == "bool" else "1"
            module[number] = f"const {name}: {kind} = {other}"
    if not arguments:
        return ""
    return f" with {arguments[0]}" if len(arguments) == 1 else f" with ({', '.join(arguments)})"


def _imports(drawing: Drawing, path: str, named: Sequence[str], arguments: str) -> list[str]:
    names = ", ".join(named)
    if drawing.chance(30):
        names = f"({names})"
    return [f"import part as {path}{arguments}", f"from part import {names}{arguments}"]
