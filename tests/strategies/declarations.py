"""Random declarations: constants, variables, channels, defs and procedures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.strategies.bodies import Body, Channel, block
from tests.strategies.drawing import Drawing
from tests.strategies.failing import daring
from tests.strategies.folding import recursive
from tests.strategies.kinds import BOOL, Kinds, size
from tests.strategies.reading import literal
from tests.strategies.scope import (
    RANGE,
    Function,
    Readable,
    Scope,
    Where,
    World,
)
from tests.strategies.statements import named, suite
from tests.strategies.truth import probable

from fencepost.spec.core.types import (
    Bag,
    Bool,
    Enum,
    Int,
    Map,
    Record,
    Seq,
    Set,
    Type,
    Union,
    has_ghost,
)

MAX_INITIAL = 40
"""The approximate maximum of the number of initial states."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role or a family of roles; ``index`` is the type of the family's index."""

    name: str
    index: Type | None
    local: str


@dataclass(slots=True)
class Declarations:
    """The declarations of a spec so far, and their lines.

    ``dared`` lists the kinds of places that get a condition that may have no value.
    """

    world: World
    lines: list[str] = field(default_factory=list[str])
    constants: list[Readable] = field(default_factory=list[Readable])
    overridden: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    variables: list[tuple[Role | None, Readable]] = field(
        default_factory=list[tuple[Role | None, Readable]]
    )
    channels: list[Channel] = field(default_factory=list[Channel])
    defs: list[Function] = field(default_factory=list[Function])
    recursive: list[Function] = field(default_factory=list[Function])
    named: list[str] = field(default_factory=list[str])
    initial: int = 1
    dared: frozenset[str] = frozenset()

    @property
    def among(self) -> bool:
        """Whether the initial values of a variable are restricted by a condition that may have no
        value.
        """
        return "where of an initial value" in self.dared

    @property
    def draw(self) -> Drawing:
        return self.world.drawing

    # ------------------------------------------------------------ scopes

    def scope(
        self, role: Role | None, where: Where, ghosts: bool = False, *more: Function
    ) -> Scope:
        """Returns the scope in a role, or at the top level if ``role`` is None."""
        values = list(self.constants)
        if where != "constant":
            for owner, variable in self.variables:
                values.append(_seen(owner, variable, role))
            if where != "initial":
                values += [channel.readable() for channel in self.channels]
        if role is not None and role.index is not None:
            values.append(Readable(role.local, role.index))
        if where == "step":
            values += [_next(value) for value in values if value.root]
        defs = () if where in ("constant", "initial") else (*self.defs, *more)
        return Scope(self.world, tuple(values), where, ghosts, defs)

    # ------------------------------------------------------------ declarations

    def constant_lines(self) -> None:
        least = 1 if "assume" in self.dared else 0
        for _ in range(max(least, self.draw.pick([0, 0, 1, 2]))):
            name = self.draw.name("N")
            values = [str(self.draw.number(0, 3)) for _ in range(3)]
            low, high = min(map(int, values)), max(map(int, values))
            kind = self.draw.pick(["int", "0..3"])
            self.lines.append(f"const {name}: {kind} = {values[0]}")
            self.constants.append(Readable(name, Int(low, high), fixed=True))
            self.overridden[name] = values[1:]
            if "assume" in self.dared:
                self.lines.append(f"assume {daring(self.scope(None, 'constant')).text}")
            elif self.draw.chance(20):
                test = self.draw.pick([f"{name} >= 0", f"{name} < 4", f"{name} < 3"])
                self.lines.append(f"assume {test}")
        if self.draw.chance(25):
            name = self.draw.name("N")
            value = self.draw.pick(["true", "false"])
            self.lines.append(f"const {name}: bool = {value}")
            self.constants.append(Readable(name, BOOL, fixed=True))
            self.overridden[name] = ["true", "false"]

    def variable(self, role: Role | None, lines: list[str]) -> None:
        draw = self.draw
        name = draw.name("x")
        kind = self.world.kinds.any()
        if size(kind) < self.world.kinds.min_size:
            kind = BOOL
        ghost = draw.chance(10)
        if "ghost change" in self.dared and not any(v.ghost for _, v in self.variables):
            ghost, kind = True, BOOL
        scope = self.scope(role, "initial", ghost)
        head = f"{'ghost ' if ghost else ''}var {name}: {self.world.kinds.text(kind)}"
        processes = size(role.index) if role and role.index else 1
        count = size(kind) ** processes
        if draw.chance(12) and self.initial * count <= MAX_INITIAL and _nameable(kind):
            self.initial *= count
            lines.append(f"{head} = any")
        elif (
            not has_ghost(kind)
            and draw.chance(60 if self.among else 12)
            and self.initial * count <= MAX_INITIAL
        ):
            self.initial *= count
            lines.append(f"{head} in {self._among(scope, name, kind)}")
        else:
            value = scope.expression(kind, 1) if draw.chance(30) else literal(scope, kind)
            assert value is not None
            lines.append(f"{head} = {value.text}")
        self.variables.append((role, Readable(name, kind, ghost, root=name)))

    def _among(self, scope: Scope, name: str, kind: Type) -> str:
        """Returns some values of a type, sometimes with a condition that restricts them further.

        A variable has one of these values initially.
        """
        draw = self.draw
        # The number of initial states must not depend on a ghost.
        scope = replace(scope, ghosts=False)
        least = 0 if draw.chance(10) else 1
        values = draw.several(lambda: scope.expression(kind, 1), least, 3)
        text = f"{{{', '.join(value.text for value in values)}}}"
        if draw.chance(15):
            text = scope.expression(Set(kind), 1).at(RANGE)
        inside = scope.add(Readable(name, kind))
        if self.among:
            text = f"{text} where {daring(inside).text}"
        elif draw.chance(35):
            text = f"{text} where {probable(inside, False)}"
        return text

    def channel(self) -> None:
        draw, kinds = self.draw, self.world.kinds
        name = draw.name("c")
        messages: list[Type] = [*kinds.unions, *kinds.unions, *kinds.enums, *kinds.tuples, BOOL]
        message = draw.pick(messages)
        if draw.chance(15):
            message = kinds.small(30)
        indices = tuple(draw.several(lambda: index_of(kinds), 0, 2, 20))
        names = [draw.name("h") for _ in indices]
        head = f"channel {name}"
        if indices:
            both = zip(names, indices, strict=True)
            head += f"[{', '.join(f'{name}: {kinds.text(index)}' for name, index in both)}]"
        head += f": {kinds.text(message)}"
        discipline = draw.pick(["unordered", "unordered", "ordered", "persistent", "distinct"])
        sets = discipline in ("persistent", "distinct")
        if sets and (has_ghost(message) or size(message) > 12):
            discipline, sets = "ordered", False
        if discipline != "unordered" or draw.chance(40):
            head += f" {discipline}"
        capacity = draw.number(1, 3)
        options: list[str] = []
        blocks = draw.chance(50)
        content: Set | Seq | Bag = Set(message)
        full = None
        if not sets or draw.chance(30 if discipline == "distinct" else 0):
            options = [f"capacity {capacity} or block" if blocks else f"capacity {capacity}"]
            if sets:
                content = Set(message, capacity) if capacity < size(message) else content
            else:
                ordered = discipline == "ordered"
                content = Seq(message, capacity) if ordered else Bag(message, capacity)
            full = None if blocks else capacity
        for word in {"persistent": (), "distinct": ("lossy",)}.get(
            discipline, ("lossy", "duplicating")
        ):
            for _ in range(draw.pick([0, 0, 0, 1, 1, 2])):
                options.append(self._fault(word, message))
        if len(options) > 1 and draw.chance(50):
            options.append(options.pop(0))
        if draw.chance(30):
            scope = self.scope(None, "initial").add(
                *(Readable(name, index) for name, index in zip(names, indices, strict=True))
            )
            options.append(f"= {self._content(scope, content)}")
        self.channels.append(Channel(name, message, indices, content, full))
        self.lines.append(" ".join([head, *options]))

    def _content(self, scope: Scope, content: Set | Seq | Bag) -> str:
        """Returns the initial content of a channel."""
        most = 2 if content.capacity is None else content.capacity
        if self.draw.chance(40):
            return scope.expression(content, 1).text
        messages = self.draw.several(lambda: scope.expression(content.element, 1), 1, most)
        return f"[{', '.join(message.text for message in messages)}]"

    def _fault(self, word: str, message: Type) -> str:
        draw = self.draw
        names: tuple[str, ...] = ()
        if isinstance(message, Union):
            names = tuple(variant.name for variant in message.variants)
        elif isinstance(message, Enum):
            names = message.members
        if names and draw.chance(50):
            word += f"({', '.join(names[: draw.number(1, len(names))])})"
        if draw.chance(60):
            word += f" at most {draw.number(0, 2)}"
        return word

    # ------------------------------------------------------------ defs and procedures

    def _parameters(self, scope: Scope, open: bool) -> tuple[Scope, tuple[Type, ...], str]:
        """Draws some parameters; with ``open``, their capacity may be left to the argument."""
        kinds: list[Type] = []
        texts: list[str] = []
        for _ in range(self.draw.number(0, 2)):
            name, kind = self.draw.name("q"), self.world.kinds.any(0)
            text = self.world.kinds.text(kind)
            if open and self.draw.chance(25):
                kind = Seq(self.world.kinds.scalar(), 2)
                text = f"seq[{self.world.kinds.text(kind.element)}]"
            kinds.append(kind)
            texts.append(f"{name}: {text}")
            # The argument may be a literal, which is refused if it cannot fit.
            scope = scope.add(Readable(name, kind, fixed=True))
        return scope, tuple(kinds), f"({', '.join(texts)})" if texts else ""

    def definition(self, role: Role | None, lines: list[str]) -> Function:
        if self.draw.chance(20):
            return self._recursive(role, lines)
        name = self.draw.name("d")
        scope, parameters, text = self._parameters(self.scope(role, "action"), True)
        kind = BOOL if self.draw.chance(40) else self.world.kinds.any(1)
        lets, scope = named(scope, 15)
        body = scope.expression(kind, 2)
        head = f"def {name}{text}: {self.world.kinds.text(kind)} ="
        lines += (
            [head, *(f"    {line}" for line in [*lets, body.text])]
            if lets
            else [f"{head} {body.text}"]
        )
        function = Function(name, parameters, kind)
        if role is None:
            self.defs.append(function)
        return function

    def _recursive(self, role: Role | None, lines: list[str]) -> Function:
        names = tuple(self.draw.name("d") for _ in range(self.draw.pick([1, 1, 2])))
        kind = BOOL if self.draw.chance(50) else self.world.kinds.any(1)
        cycle = recursive(self.scope(role, "action"), names, kind)
        lines += cycle.lines
        if role is None:
            self.defs += cycle.functions
            self.recursive += cycle.functions
        return cycle.functions[0]

    def procedure(
        self,
        role: Role | None,
        lines: list[str],
        procedures: list[Function],
        defs: tuple[Function, ...] = (),
    ) -> None:
        name = self.draw.name("r")
        inside = self.scope(role, "action", True, *defs)
        scope, parameters, text = self._parameters(inside, False)
        body = self.body(role, scope, procedures)
        inner = suite(body, 1, 1, 2, returns=True)
        lines += block(f"procedure {name}{text}:", inner, False)
        procedures.append(Function(name, parameters, None, inner.assigned))

    def body(self, role: Role | None, scope: Scope, procedures: list[Function]) -> Body:
        targets = [v for owner, v in self.variables if owner is None or owner == role]
        return Body(scope, tuple(targets), tuple(self.channels), tuple(procedures))


def _nameable(kind: Type) -> bool:
    return size(kind) <= 16


def is_short(kind: Type) -> bool:
    """Checks whether the name of a type denotes a set of only a few values."""
    return size(kind) <= 6 and isinstance(kind, Bool | Int | Enum | Record | Union)


def index_of(kinds: Kinds) -> Type:
    """Draws the index of a family, a type of two or three values."""
    options: list[Type] = [k for k in kinds.named if 1 < size(k) < 4 and isinstance(k, Enum | Int)]
    options += [k for k in kinds.tuples if 1 < size(k) <= 4 and not has_ghost(k)]
    return kinds.drawing.pick([Int(0, 1), BOOL, Int(0, 2), Int(-1, 0), *options])


def _seen(owner: Role | None, variable: Readable, role: Role | None) -> Readable:
    """Returns a variable as it is read in ``role``, or at the top level if ``role`` is None."""
    if owner is None or owner == role:
        return variable
    if owner.index is None:
        return replace(variable, text=f"{owner.name}.{variable.text}")
    kind = Map(owner.index, variable.kind)
    return replace(variable, text=owner.name, kind=kind, suffix=f".{variable.text}")


def _next(value: Readable) -> Readable:
    """Returns the value that is read after the step."""
    if value.suffix:
        return replace(value, text=f"next({value.text}", suffix=f"{value.suffix})")
    return replace(value, text=f"next({value.text})", channel=False)
