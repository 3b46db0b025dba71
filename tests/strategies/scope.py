"""The material of expressions: texts with their types, and the readable values of each position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tests.strategies.drawing import Drawing
from tests.strategies.kinds import Kinds

from fencepost.spec.core.types import Map, Option, Record, Seq, Type, has_ghost

# Binding strength of a text's outermost operator.
IMPLIES, OR, AND, NOT, COMPARISON, RANGE, SUM, PRODUCT, UNARY, POSTFIX = range(10)

Where: TypeAlias = Literal["constant", "initial", "action", "property", "step"]


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an expression.

    ``kind`` is the type that the generator derived for it. With ``reaching``, it extends as far
    right as possible, like a quantifier. With ``fixed``, it may be evaluated before the run, so
    that it is refused if it is stored and does not fit.
    """

    text: str
    kind: Type
    level: int = POSTFIX
    reaching: bool = False
    fixed: bool = True

    def at(self, level: int) -> str:
        """Returns the text as an operand that has more text after it."""
        return f"({self.text})" if self.level < level or self.reaching else self.text

    def last(self, level: int) -> str:
        """Returns the text as the last operand of an expression."""
        return f"({self.text})" if self.level < level else self.text


def form(
    kind: Type, template: str, *parts: Text, level: int = POSTFIX, reaching: bool = False
) -> Text:
    """Fills parts into a template that delimits them by brackets or commas.

    The result is fixed if all parts are.
    """
    text = template.format(*(part.text for part in parts))
    return Text(text, kind, level, reaching, all(part.fixed for part in parts))


def prefix(sign: str, inner: Text, level: int, kind: Type) -> Text:
    """Returns ``sign inner``, whose operator binds at ``level``."""
    text = inner.last(level)
    return Text(f"{sign}{text}", kind, level, inner.reaching and text == inner.text, inner.fixed)


def infix(left: Text, sign: str, right: Text, level: int, kind: Type) -> Text:
    """Returns ``left sign right``, whose operator binds at ``level`` and groups to the left."""
    if level == IMPLIES:
        sides = left.at(level + 1), right.last(level)
    elif level in (COMPARISON, RANGE):
        sides = left.at(level + 1), right.last(level + 1)
    else:
        sides = left.at(level), right.last(level + 1)
    reaching = right.reaching and sides[1] == right.text
    # One side of a connective may decide its value.
    fixed = (any if level in (IMPLIES, OR, AND) else all)((left.fixed, right.fixed))
    return Text(f"{sides[0]} {sign} {sides[1]}", kind, level, reaching, fixed)


def either(test: Text, then: Text, otherwise: Text, kind: Type) -> Text:
    """Returns ``if test then a else b``."""
    text = f"if {test.text} then {then.text} else {otherwise.text}"
    fixed = test.fixed and (then.fixed or otherwise.fixed)
    return Text(text, kind, UNARY, reaching=True, fixed=fixed)


@dataclass(frozen=True, slots=True)
class Readable:
    """A named value: a variable, local, constant, channel or established field.

    ``text`` binds like a name. ``root`` is the state variable that the value is part of, if any.
    With ``flow``, a test makes the value readable until that variable changes. For a variable of a
    role family, the type is a map, and ``suffix`` is the text after the bracket with the key.
    """

    text: str
    kind: Type
    ghost: bool = False
    root: str | None = None
    flow: bool = False
    fixed: bool = False
    channel: bool = False
    suffix: str = ""


def taken_apart(
    draw: Drawing, kind: Record, stem: str, ghost: bool = False
) -> tuple[str, list[Readable]]:
    """Draws a pattern for a tuple, and returns it with the locals that it introduces."""
    parts: list[str] = []
    locals_: list[Readable] = []
    for item in kind.fields:
        if isinstance(item.type, Record) and item.type.is_tuple and draw.chance(60):
            text, inner = taken_apart(draw, item.type, stem, ghost)
            locals_ += inner
        elif draw.chance(10):
            text = "_"
        else:
            text = draw.name(stem)
            locals_.append(Readable(text, item.type, ghost))
        parts.append(text)
    return f"({', '.join(parts)})", locals_


@dataclass(frozen=True, slots=True)
class Function:
    """A def or procedure: its name, the types of its parameters, its result, and the variables that
    it assigns.
    """

    name: str
    parameters: tuple[Type, ...]
    result: Type | None
    assigns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """An action: the name of its role or "", its own name, the type of the role's index, and the
    types of its parameters.
    """

    role: str
    name: str
    index: Type | None = None
    parameters: tuple[Type, ...] = ()


@dataclass(slots=True)
class World:
    """The parts of a spec that all its positions share.

    ``risk`` is the percentage of partial operations that are left unguarded. ``grow`` generates an
    expression (see `Scope.expression`). ``actions`` are those that `enabled` may refer to.
    """

    drawing: Drawing
    kinds: Kinds
    grow: Callable[[Scope, Type, int, bool], Text]
    risk: int = 0
    actions: list[Known] = field(default_factory=list["Known"])

    def risky(self) -> bool:
        """Decides whether to leave out a guard here."""
        return self.drawing.chance(self.risk)


@dataclass(frozen=True, slots=True)
class Scope:
    """A position in a spec: its readable values, and whether ghosts can be read there."""

    world: World
    values: tuple[Readable, ...]
    where: Where
    ghosts: bool = False
    defs: tuple[Function, ...] = ()

    def expression(self, kind: Type, depth: int, typed: bool = True) -> Text:
        """Draws an expression that fits a type; ``typed`` is set if the context determines the
        type.
        """
        return self.world.grow(self, kind, depth, typed)

    def add(self, *values: Readable) -> Scope:
        return replace(self, values=(*self.values, *values))

    def without(self, assigned: frozenset[str]) -> Scope:
        """Returns the scope after changes of these variables."""
        kept = tuple(v for v in self.values if not (v.flow and v.root in assigned))
        return replace(self, values=kept)

    def lasting(self) -> Scope:
        """Returns the scope with only the values that are readable in every round of a loop."""
        return replace(self, values=tuple(v for v in self.values if not (v.flow and v.root)))

    def readable(self) -> Iterator[Readable]:
        """Yields the readable values."""
        return (value for value in self.values if self.ghosts or not value.ghost)

    def paths(self) -> list[Path]:
        """Returns every path to a value through fields, keys, positions and options."""
        result: list[Path] = []
        for value in self.readable():
            self._follow(Path(value, (), value.kind), result, 2)
        return [path for path in result if path.whole]

    def some(self, wanted: Callable[[Path], bool]) -> Path | None:
        """Draws one of the wanted paths to a value, if there is any."""
        paths = [path for path in self.paths() if wanted(path)]
        return self.world.drawing.pick(paths) if paths else None

    def total(self, *kinds: type[Type]) -> Path | None:
        """Draws a path to a value that has one of these kinds and always exists."""
        return self.some(lambda path: isinstance(path.kind, kinds) and path.total)

    def _follow(self, path: Path, result: list[Path], more: int) -> None:
        result.append(path)
        if not more:
            return
        match path.kind:
            case Record(fields=fields):
                for index, item in enumerate(fields):
                    if self.ghosts or not item.ghost:
                        self._follow(path.into(index, item.type), result, more)
            case Map(value=value):
                self._follow(path.into("key", value), result, more - 1)
            case Seq(element=element):
                self._follow(path.into("position", element), result, more - 1)
            case Option(element):
                self._follow(path.into("content", element), result, more - 1)
            case _:
                pass

    def comparable(self, kind: Type) -> bool:
        """Checks whether values of a type may be compared here."""
        return self.ghosts or not has_ghost(kind)


Step: TypeAlias = "int | Literal['key', 'position', 'content']"


@dataclass(frozen=True, slots=True)
class Path:
    """A path from a readable value to one of its parts; ``steps`` are field numbers or other kinds
    of steps.
    """

    base: Readable
    steps: tuple[Step, ...]
    kind: Type

    def into(self, step: Step, kind: Type) -> Path:
        return Path(self.base, (*self.steps, step), kind)

    @property
    def whole(self) -> bool:
        """Whether the path may end here: of a family, only one process or channel can be read."""
        if self.base.channel:
            return not isinstance(self.kind, Map)
        return not self.base.suffix or bool(self.steps)

    @property
    def total(self) -> bool:
        """Whether the part always exists."""
        return all(isinstance(step, int) or step == "key" for step in self.steps)
