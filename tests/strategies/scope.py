"""What an expression can be made of: texts with their types, and what can be read where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tests.strategies.drawing import Drawing
from tests.strategies.kinds import Kinds

from fencepost.spec.core.types import Map, Option, Record, Seq, Type, has_ghost

# How tightly the outermost operator of a text binds.
IMPLIES, OR, AND, NOT, COMPARISON, RANGE, SUM, PRODUCT, UNARY, POSTFIX = range(10)

Where: TypeAlias = Literal["constant", "initial", "action", "property", "step"]


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an expression.

    ``kind`` is its type as far as the generator knows. ``reaching``: it takes in all that follows,
    like a quantifier. ``fixed``: it may be known before the run, so that it is refused where it
    is stored and does not fit.
    """

    text: str
    kind: Type
    level: int = POSTFIX
    reaching: bool = False
    fixed: bool = True

    def at(self, level: int) -> str:
        """The text where an operand stands that something follows."""
        return f"({self.text})" if self.level < level or self.reaching else self.text

    def last(self, level: int) -> str:
        """The text where an operand stands at the end of its expression."""
        return f"({self.text})" if self.level < level else self.text


def form(
    kind: Type, template: str, *parts: Text, level: int = POSTFIX, reaching: bool = False
) -> Text:
    """A text with parts that brackets or commas delimit; it is fixed if all of them are."""
    text = template.format(*(part.text for part in parts))
    return Text(text, kind, level, reaching, all(part.fixed for part in parts))


def prefix(sign: str, inner: Text, level: int, kind: Type) -> Text:
    """``sign inner``, whose operator binds at ``level``."""
    text = inner.last(level)
    return Text(f"{sign}{text}", kind, level, inner.reaching and text == inner.text, inner.fixed)


def infix(left: Text, sign: str, right: Text, level: int, kind: Type) -> Text:
    """``left sign right``, whose operator binds at ``level`` and groups to the left."""
    if level == IMPLIES:
        sides = left.at(level + 1), right.last(level)
    elif level in (COMPARISON, RANGE):
        sides = left.at(level + 1), right.last(level + 1)
    else:
        sides = left.at(level), right.last(level + 1)
    reaching = right.reaching and sides[1] == right.text
    # One side of a connective may decide it.
    fixed = (any if level in (IMPLIES, OR, AND) else all)((left.fixed, right.fixed))
    return Text(f"{sides[0]} {sign} {sides[1]}", kind, level, reaching, fixed)


def either(test: Text, then: Text, otherwise: Text, kind: Type) -> Text:
    """``if test then a else b``."""
    text = f"if {test.text} then {then.text} else {otherwise.text}"
    fixed = test.fixed and (then.fixed or otherwise.fixed)
    return Text(text, kind, UNARY, reaching=True, fixed=fixed)


@dataclass(frozen=True, slots=True)
class Readable:
    """Something with a value: a variable, local, constant, channel or a field that is known.

    ``text`` binds like a name. ``root`` is the state variable that it is part of, if any, and
    ``flow`` says that it is readable because of a test, until that variable changes. Of a role
    family's variable the type is a map, and ``suffix`` is what stands behind the key's bracket.
    """

    text: str
    kind: Type
    ghost: bool = False
    root: str | None = None
    flow: bool = False
    fixed: bool = False
    channel: bool = False
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A def or procedure: its name and the types of its parameters (a text for an open one)."""

    name: str
    parameters: tuple[Type, ...]
    result: Type | None
    assigns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """An action: the name of its role or "", its own, the type of the role's index, and the types
    of its parameters.
    """

    role: str
    name: str
    index: Type | None = None
    parameters: tuple[Type, ...] = ()


@dataclass(slots=True)
class World:
    """What all parts of one spec share.

    ``risk``: in how many of a hundred places something partial is left unguarded.
    ``grow`` makes an expression (see `Scope.expression`). ``actions`` are those that `enabled` may
    ask about.
    """

    drawing: Drawing
    kinds: Kinds
    grow: Callable[[Scope, Type, int, bool], Text]
    risk: int = 0
    actions: list[Known] = field(default_factory=list["Known"])

    def risky(self) -> bool:
        """Whether to leave out a guard here."""
        return self.drawing.chance(self.risk)


@dataclass(frozen=True, slots=True)
class Scope:
    """A place in a spec: what can be read there, and whether ghosts can."""

    world: World
    values: tuple[Readable, ...]
    where: Where
    ghosts: bool = False
    defs: tuple[Function, ...] = ()

    def expression(self, kind: Type, depth: int, told: bool = True) -> Text:
        """An expression that fits a type; ``told``: whether its place says which."""
        return self.world.grow(self, kind, depth, told)

    def add(self, *values: Readable) -> Scope:
        return replace(self, values=(*self.values, *values))

    def without(self, assigned: frozenset[str]) -> Scope:
        """What is still known when these variables have changed."""
        kept = tuple(v for v in self.values if not (v.flow and v.root in assigned))
        return replace(self, values=kept)

    def lasting(self) -> Scope:
        """What is known in every round of a loop."""
        return replace(self, values=tuple(v for v in self.values if not (v.flow and v.root)))

    def readable(self) -> Iterator[Readable]:
        """What may be read here."""
        return (value for value in self.values if self.ghosts or not value.ghost)

    def paths(self) -> list[Path]:
        """Every way to a value, through fields, keys, positions and options."""
        found: list[Path] = []
        for value in self.readable():
            self._follow(Path(value, (), value.kind), found, 2)
        return [path for path in found if path.whole]

    def some(self, wanted: Callable[[Path], bool]) -> Path | None:
        """One of the ways to a value that are wanted, if there are any."""
        paths = [path for path in self.paths() if wanted(path)]
        return self.world.drawing.pick(paths) if paths else None

    def total(self, *kinds: type[Type]) -> Path | None:
        """A way to a value of one of these kinds that always exists."""
        return self.some(lambda path: isinstance(path.kind, kinds) and path.total)

    def _follow(self, path: Path, found: list[Path], more: int) -> None:
        found.append(path)
        if not more:
            return
        match path.kind:
            case Record(fields=fields):
                for index, item in enumerate(fields):
                    if self.ghosts or not item.ghost:
                        self._follow(path.into(index, item.type), found, more)
            case Map(value=value):
                self._follow(path.into("key", value), found, more - 1)
            case Seq(element=element):
                self._follow(path.into("position", element), found, more - 1)
            case Option(element):
                self._follow(path.into("content", element), found, more - 1)
            case _:
                pass

    def comparable(self, kind: Type) -> bool:
        """Whether values of a type may be compared here."""
        return self.ghosts or not has_ghost(kind)


Step: TypeAlias = "int | Literal['key', 'position', 'content']"


@dataclass(frozen=True, slots=True)
class Path:
    """A way from something readable to a part of it: field numbers, and kinds of other steps."""

    base: Readable
    steps: tuple[Step, ...]
    kind: Type

    def into(self, step: Step, kind: Type) -> Path:
        return Path(self.base, (*self.steps, step), kind)

    @property
    def whole(self) -> bool:
        """Whether the way may end here: of a family only one process or channel is read."""
        if self.base.channel:
            return not isinstance(self.kind, Map)
        return not self.base.suffix or bool(self.steps)

    @property
    def total(self) -> bool:
        """Whether there is always such a part."""
        return all(isinstance(step, int) or step == "key" for step in self.steps)
