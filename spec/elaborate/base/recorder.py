"""What names meant and which types expressions had, noted while a model is built.

Elaboration only appends here, so that a recorder changes neither the model nor the problems, and
costs little; `references` makes sense of the notes.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from fencepost.spec.core.types import Type
from fencepost.spec.elaborate.base.symbols import Entity, Instance, LocalName
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax

Path: TypeAlias = tuple[str, ...]
"""A part of a type: () is the type itself, (member,), (field,) or (variant, field)."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorder:
    """The notes of one or more builds of one program, as they were made; most come several times.

    ``names`` are written names, what they mean, and the instance that knows it so; ``parts`` names
    that meant a part of a type; ``types`` the types that expressions had, and locals where they are
    bound.
    """

    instances: list[Instance] = field(default_factory=list[Instance])
    names: list[tuple[syntax.Name, Entity | LocalName, Instance]] = field(
        default_factory=list[tuple[syntax.Name, "Entity | LocalName", Instance]]
    )
    parts: list[tuple[syntax.Name, Type, Path]] = field(
        default_factory=list[tuple[syntax.Name, Type, Path]]
    )
    types: list[tuple[syntax.Node, Type]] = field(default_factory=list[tuple[syntax.Node, Type]])
