"""The contexts of statements, and the properties of generated statements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.strategies.reading import key
from tests.strategies.scope import Function, Readable, Scope

from fencepost.spec.core.types import Bag, Map, Seq, Set, Type

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Channel:
    """A declared channel; a send fails or blocks if the channel holds ``full`` messages."""

    name: str
    message: Type
    indices: tuple[Type, ...]
    content: Set | Seq | Bag
    full: int | None

    def readable(self) -> Readable:
        kind: Type = self.content
        for index in reversed(self.indices):
            kind = Map(index, kind)
        return Readable(self.name, kind, root=self.name, channel=True)

    def line(self, scope: Scope) -> str:
        """Returns the text of the channel or, if it is a family, of one channel in it."""
        if not self.indices:
            return self.name
        return f"{self.name}[{', '.join(key(scope, index) for index in self.indices)}]"


@dataclass(frozen=True, slots=True)
class Body:
    """The context of statements: the values that they may read, assign, send to and call."""

    scope: Scope
    targets: tuple[Readable, ...] = ()
    channels: tuple[Channel, ...] = ()
    procedures: tuple[Function, ...] = ()

    def inside(self, scope: Scope) -> Body:
        return replace(self, scope=scope)


@dataclass(frozen=True, slots=True)
class Written:
    """A generated statement: its lines, and the variables that it may assign.

    ``after`` is the scope after the statement, or None if the scope is unchanged. With ``ends``,
    the statements after it are unreachable. With ``simple``, it may share a line with others.
    """

    lines: list[str]
    assigned: frozenset[str] = NOTHING
    after: Scope | None = None
    ends: bool = False
    simple: bool = True


@dataclass(slots=True)
class Suite:
    """A sequence of statements."""

    statements: list[Written] = field(default_factory=list[Written])

    @property
    def assigned(self) -> frozenset[str]:
        return NOTHING.union(*(s.assigned for s in self.statements))

    @property
    def ends(self) -> bool:
        return any(statement.ends for statement in self.statements)

    @property
    def simple(self) -> bool:
        return all(statement.simple for statement in self.statements)

    def lines(self) -> list[str]:
        return [line for statement in self.statements for line in statement.lines]


def block(head: str, inner: Suite, one_line: bool) -> list[str]:
    """Returns a line that ends with a colon, followed by the statements of its block."""
    if one_line and inner.simple:
        return [f"{head} {'; '.join(inner.lines())}"]
    return [head, *(f"    {line}" for line in inner.lines())]


def ordinary(body: Body) -> Scope:
    """Returns the scope for positions that exclude ghosts."""
    return replace(body.scope, ghosts=False)


def ghostly(body: Body, ghost: bool) -> Scope:
    """Returns the scope for a value, which may read ghosts if it is a ghost's."""
    return replace(body.scope, ghosts=ghost)
