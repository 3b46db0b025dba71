"""A record of the meanings of names and the types of expressions, made during elaboration.

Elaboration only appends to it, so a recorder changes neither the model nor the problems and costs
little; `references` interprets the record.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from fencepost.spec.core.types import Type
from fencepost.spec.elaborate.base.symbols import Entity, Instance, LocalName
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax

Path: TypeAlias = tuple[str, ...]
"""A part of a type: () is the type itself; (member,), (field,) and (variant, field) are its
parts.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Recorder:
    """Records of one or more builds of one program, in order. Most entries occur several times.

    ``names`` are names in the text, their declarations, and the instance of each use; ``parts``
    are names of parts of types; ``types`` are the types of expressions and of bound locals.
    """

    instances: list[Instance] = field(default_factory=list[Instance])
    names: list[tuple[syntax.Name, Entity | LocalName, Instance]] = field(
        default_factory=list[tuple[syntax.Name, "Entity | LocalName", Instance]]
    )
    parts: list[tuple[syntax.Name, Type, Path]] = field(
        default_factory=list[tuple[syntax.Name, Type, Path]]
    )
    types: list[tuple[syntax.Node, Type]] = field(default_factory=list[tuple[syntax.Node, Type]])
