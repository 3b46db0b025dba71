"""Random specs: declarations, roles, channels, properties and checks around random bodies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fencepost.spec.types import (
    Bag,
    Bool,
    Enum,
    Int,
    Machine,
    Map,
    Record,
    Seq,
    Set,
    Type,
    Union,
    describe,
    has_ghost,
)
from tests.strategies.drawing import Drawing
from tests.strategies.expressions import expression
from tests.strategies.kinds import BOOL, Kinds, size
from tests.strategies.reading import integer, literal
from tests.strategies.scope import (
    NOT,
    Function,
    Readable,
    Scope,
    Where,
    World,
)
from tests.strategies.statements import (
    Body,
    Channel,
    Written,
    block,
    moving,
    pattern,
    require,
    suite,
)
from tests.strategies.truth import condition, conjoined

MOST_INITIAL = 40
"""About so many initial states at most."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role, or family of roles; ``index`` is the type of the family's index."""

    name: str
    index: Type | None
    local: str


@dataclass(slots=True)
class Model:
    """A spec being written, from the top."""

    world: World
    lines: list[str] = field(default_factory=list[str])
    constants: list[Readable] = field(default_factory=list[Readable])
    overridden: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    variables: list[tuple[Role | None, Readable]] = field(
        default_factory=list[tuple[Role | None, Readable]]
    )
    channels: list[Channel] = field(default_factory=list[Channel])
    defs: list[Function] = field(default_factory=list[Function])
    named: list[str] = field(default_factory=list[str])
    initial: int = 1

    @property
    def draw(self) -> Drawing:
        return self.world.drawing

    def write(self) -> str:
        """The whole text."""
        if self.draw.chance(15):
            self.lines.append('"""A random spec."""')
        self._constants()
        self.world.kinds.declare()
        self.lines += self.world.kinds.lines
        for _ in range(self.draw.pick([2, 1, 2, 3, 3, 4])):
            self._variable(None, self.lines)
        for _ in range(self.draw.pick([0, 0, 1, 1, 2])):
            self._channel()
        if self.draw.chance(8):
            test = conjoined(self._scope(None, "initial"), 1)
            self.lines.append(f"initially: not {test.at(NOT + 1)}")
        for _ in range(self.draw.pick([0, 0, 1, 2])):
            self._def(None, self.lines)
        procedures: list[Function] = []
        for _ in range(self.draw.pick([0, 0, 0, 1])):
            self._procedure(None, self.lines, procedures)
        for _ in range(self.draw.pick([0, 1, 1, 2])):
            self._role(procedures)
        least = 0 if self.world.actions else 1
        for _ in range(self.draw.number(least, 3)):
            self._action(None, self.lines, procedures, self.defs)
        for channel in self.channels:
            if self.draw.chance(70):
                self._sender(channel)
        self._properties(None, self.lines, self.draw.pick([0, 1, 1, 2]))
        self._rest()
        self._checks()
        return "\n".join(self._commented()) + "\n"

    def _commented(self) -> list[str]:
        """Some lines with comments and blank lines between them."""
        lines: list[str] = []
        for line in self.lines:
            if line and not line.startswith(" ") and self.draw.chance(10):
                lines += ["", f"# {line.split()[0]}"]
            lines.append(f"{line}  # here" if self.draw.chance(3) else line)
        return lines

    # ------------------------------------------------------------ scopes

    def _scope(
        self, role: Role | None, where: Where, ghosts: bool = False, *more: Function
    ) -> Scope:
        """What can be read in a role or at the top."""
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

    def _constants(self) -> None:
        for _ in range(self.draw.pick([0, 0, 1, 2])):
            name = self.draw.name("N")
            values = [str(self.draw.number(0, 3)) for _ in range(3)]
            low, high = min(map(int, values)), max(map(int, values))
            kind = self.draw.pick(["int", "0..3"])
            self.lines.append(f"const {name}: {kind} = {values[0]}")
            self.constants.append(Readable(name, Int(low, high), fixed=True))
            self.overridden[name] = values[1:]
            if self.draw.chance(20):
                test = self.draw.pick([f"{name} >= 0", f"{name} < 4", f"{name} < 3"])
                self.lines.append(f"assume {test}")
        if self.draw.chance(25):
            name = self.draw.name("N")
            value = self.draw.pick(["true", "false"])
            self.lines.append(f"const {name}: bool = {value}")
            self.constants.append(Readable(name, BOOL, fixed=True))
            self.overridden[name] = ["true", "false"]

    def _variable(self, role: Role | None, lines: list[str]) -> None:
        draw = self.draw
        name = draw.name("x")
        kind = self.world.kinds.any()
        if size(kind) < 2:
            kind = BOOL
        ghost = draw.chance(10)
        scope = self._scope(role, "initial", ghost)
        head = f"{'ghost ' if ghost else ''}var {name}: {self.world.kinds.text(kind)}"
        processes = size(role.index) if role and role.index else 1
        count = size(kind) ** processes
        if draw.chance(12) and self.initial * count <= MOST_INITIAL and _nameable(kind):
            self.initial *= count
            lines.append(f"{head} = any")
        elif not has_ghost(kind) and draw.chance(12) and self.initial * count <= MOST_INITIAL:
            self.initial *= count
            among = scope.expression(Set(kind), 1)
            text = f"{head} in {among.at(6 - 1)}"
            if draw.chance(50):
                inside = scope.add(Readable(name, kind))
                text = f"{text} where {condition(inside, 1).text}"
            lines.append(text)
        else:
            value = scope.expression(kind, 1) if draw.chance(30) else literal(scope, kind)
            assert value is not None
            lines.append(f"{head} = {value.text}")
        self.variables.append((role, Readable(name, kind, ghost, root=name)))

    def _channel(self) -> None:
        draw, kinds = self.draw, self.world.kinds
        name = draw.name("c")
        message: Type = draw.pick([*kinds.unions, *kinds.unions, *kinds.enums, BOOL])
        if draw.chance(15):
            message = kinds.small(30)
        indices = tuple(draw.several(lambda: _index(kinds), 0, 2, 20))
        head = f"channel {name}"
        if indices:
            keys = ", ".join(f"{draw.name('h')}: {kinds.text(index)}" for index in indices)
            head += f"[{keys}]"
        head += f": {kinds.text(message)}"
        discipline = draw.pick(["unordered", "unordered", "ordered", "persistent"])
        if discipline == "persistent" and (has_ghost(message) or size(message) > 12):
            discipline = "ordered"
        if discipline != "unordered" or draw.chance(40):
            head += f" {discipline}"
        if discipline == "persistent":
            self.channels.append(Channel(name, message, indices, Set(message), None))
            self.lines.append(head)
            return
        capacity = draw.number(1, 3)
        options = [f"capacity {capacity}"]
        blocks = draw.chance(50)
        if blocks:
            options = [f"capacity {capacity} or block"]
        for word in ("lossy", "duplicating"):
            for _ in range(draw.pick([0, 0, 0, 1, 1, 2])):
                options.append(self._fault(word, message))
        if len(options) > 1 and draw.chance(50):
            options.append(options.pop(0))
        content = Seq(message, capacity) if discipline == "ordered" else Bag(message, capacity)
        full = None if blocks else capacity
        self.channels.append(Channel(name, message, indices, content, full))
        self.lines.append(" ".join([head, *options]))

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
        """Some parameters; ``open``: they may leave a capacity to the argument."""
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
            # A literal may be given, and then what cannot fit is refused.
            scope = scope.add(Readable(name, kind, fixed=isinstance(kind, Int)))
        return scope, tuple(kinds), f"({', '.join(texts)})" if texts else ""

    def _def(self, role: Role | None, lines: list[str]) -> Function:
        name = self.draw.name("d")
        scope, parameters, text = self._parameters(self._scope(role, "action"), True)
        kind = BOOL if self.draw.chance(40) else self.world.kinds.any(1)
        body = scope.expression(kind, 2)
        lines.append(f"def {name}{text}: {self.world.kinds.text(kind)} = {body.text}")
        function = Function(name, parameters, kind)
        if role is None:
            self.defs.append(function)
        return function

    def _procedure(
        self,
        role: Role | None,
        lines: list[str],
        procedures: list[Function],
        defs: tuple[Function, ...] = (),
    ) -> None:
        name = self.draw.name("r")
        inside = self._scope(role, "action", True, *defs)
        scope, parameters, text = self._parameters(inside, False)
        body = self._body(role, scope, procedures)
        inner = suite(body, 1, 1, 2, returns=True)
        lines += block(f"procedure {name}{text}:", inner, False)
        procedures.append(Function(name, parameters, None, inner.assigned))

    def _body(self, role: Role | None, scope: Scope, procedures: list[Function]) -> Body:
        targets = [v for owner, v in self.variables if owner is None or owner == role]
        return Body(scope, tuple(targets), tuple(self.channels), tuple(procedures))

    # ------------------------------------------------------------ roles and actions

    def _role(self, procedures: list[Function]) -> None:
        draw = self.draw
        name = draw.name("R")
        index = _index(self.world.kinds) if draw.chance(45) else None
        role = Role(name, index, draw.name("j"))
        head = f"role {name}:"
        if index is not None:
            head = f"role {name}[{role.local}: {self.world.kinds.text(index)}]:"
        lines: list[str] = []
        for _ in range(draw.number(1, 2)):
            self._variable(role, lines)
        defs: list[Function] = []
        for _ in range(draw.pick([0, 0, 0, 1])):
            defs.append(self._def(role, lines))
        own = list(procedures)
        for _ in range(draw.pick([0, 0, 0, 1])):
            self._procedure(role, lines, own, tuple(defs))
        for _ in range(draw.number(1, 3)):
            self._action(role, lines, own, [*self.defs, *defs])
        if draw.chance(15):
            self._properties(role, lines, 1, tuple(defs))
        self.lines += [head, *(f"    {line}" for line in lines)]

    def _action(
        self,
        role: Role | None,
        lines: list[str],
        procedures: list[Function],
        defs: list[Function],
    ) -> None:
        draw = self.draw
        name = draw.name("a")
        scope = replace(self._scope(role, "action", True), defs=tuple(defs))
        head = f"{'environment ' if draw.chance(12) else ''}action {name}"
        binders: list[str] = []
        from tests.strategies.collecting import domain

        for _ in range(draw.pick([0, 0, 0, 1, 1, 2])):
            over = domain(replace(scope, ghosts=False), 1, ordered=True, most=4)
            local = draw.name("p")
            binders.append(f"{local} in {over.text}")
            scope = scope.add(over.element(local))
        if binders:
            head += f"({', '.join(binders)})"
        if self.channels and draw.chance(45):
            text, scope = self._received(scope)
            head += text
        body = self._body(role, scope, procedures)
        first: list[Written] = []
        if draw.chance(35):
            first.append(require(body, 2))
            body = body.inside(first[0].after or body.scope)
        if draw.chance(60):
            first += [written for written in [moving(body)] if written]
            body = body.inside(body.scope.without(frozenset().union(*(w.assigned for w in first))))
        inner = suite(body, 2, 0 if first else 1, 4, returns=True)
        inner.statements[:0] = first
        lines += block(f"{head}:", inner, draw.chance(20))
        self.world.actions.append((role.name if role else "", name, role.index if role else None))

    def _sender(self, channel: Channel) -> None:
        """An action that may always send."""
        draw = self.draw
        name, local = draw.name("a"), draw.name("p")
        scope = self._scope(None, "action")
        line = channel.line(scope)
        lines = [f"send {scope.expression(channel.message, 1).text} to {line}"]
        if channel.full is not None and not self.world.risky():
            lines.insert(0, f"require len({line}) < {channel.full}")
        head = f"action {name}:"
        if not has_ghost(channel.message) and _short(channel.message) and draw.chance(60):
            head = f"action {name}({local} in {self.world.kinds.text(channel.message)}):"
            lines[-1] = f"send {local} to {line}"
        self.lines += [head, *(f"    {text}" for text in lines)]
        self.world.actions.append(("", name, None))

    def _received(self, scope: Scope) -> tuple[str, Scope]:
        draw = self.draw
        channel = draw.pick(self.channels)
        line = channel.line(replace(scope, ghosts=False))
        text = "_"
        match channel.message:
            case Union() as kind:
                tag = draw.number(0, len(kind.variants) - 1)
                text, scope = pattern(scope, kind, tag, compare=draw.chance(30))
            case Enum(members=members):
                text = draw.pick(members)
            case Record(name, fields) if draw.chance(60):
                locals = [draw.name("b") for _ in fields]
                text = f"{name}({', '.join(locals)})"
                scope = scope.add(
                    *(
                        Readable(local, item.type, item.ghost)
                        for local, item in zip(locals, fields, strict=True)
                    )
                )
            case kind:
                if draw.chance(60):
                    local = draw.name("m")
                    text = f"_ as {local}"
                    scope = scope.add(Readable(local, kind))
        return f" on {text} from {line}", scope

    # ------------------------------------------------------------ properties and checks

    def _properties(
        self, role: Role | None, lines: list[str], count: int, defs: tuple[Function, ...] = ()
    ) -> None:
        draw = self.draw
        for _ in range(count):
            kind = draw.pick(["invariant", "invariant", "step invariant", "reachable", "lemma"])
            where: Where = "step" if kind == "step invariant" else "property"
            scope = self._scope(role, where, True, *defs)
            name = draw.name("P")
            self.named.append(name)
            lines += self._property(f"{kind} {name}:", scope, kind == "reachable")

    def _property(self, head: str, scope: Scope, rare: bool) -> list[str]:
        """A property that is probable: what is rarely true is asked to be reachable only."""
        draw = self.draw
        if draw.chance(20):
            tests = draw.several(lambda: self._weak(scope, rare), 1, 3)
            return [head, *(f"    {test}" for test in tests)]
        return [f"{head} {self._weak(scope, rare)}"]

    def _weak(self, scope: Scope, rare: bool) -> str:
        draw = self.draw
        if draw.chance(35):
            return condition(scope, 3).text
        test = conjoined(scope, 2)
        if rare:
            return test.text
        if draw.chance(50):
            return f"not {test.at(NOT + 1)}"
        other = condition(scope, 2)
        return f"{test.at(1)} implies {other.last(0)}"

    def _rest(self) -> None:
        draw = self.draw
        lot = draw.number(0, 9)
        scope = self._scope(None, "property", True)
        if lot >= 4:
            self.lines.append("terminal: true")
        elif lot >= 2:
            name = f" {draw.name('P')}" if draw.chance(30) else ""
            self.lines.append(f"terminal{name}: {condition(scope, 2).text}")
        if draw.chance(10):
            self.lines.append(f"constraint: {self._weak(scope, False)}")

    def _checks(self) -> None:
        draw = self.draw
        for _ in range(draw.pick([0, 0, 0, 1, 2])):
            lines = [f"check {draw.name('k')}:"]
            for name, values in self.overridden.items():
                if draw.chance(60):
                    lines.append(f"    const {name} = {draw.pick(values)}")
            searched = self.named
            if self.named and draw.chance(30):
                searched = self.named[: draw.number(1, len(self.named))]
                lines.append(f"    properties: {', '.join(searched)}")
            if draw.chance(20):
                lines.append(f"    depth {draw.number(1, 6)}")
            verdict = draw.pick(["ok", "ok", "deadlock", "error", "assertion"])
            if searched and draw.chance(30):
                verdict = f"violated {draw.pick(searched)}"
            lines.append(f"    expect {verdict}")
            self.lines += lines


def _nameable(kind: Type) -> bool:
    return size(kind) <= 16


def _short(kind: Type) -> bool:
    """Whether the name of a type stands for a set of a few values."""
    return size(kind) <= 6 and isinstance(kind, Bool | Int | Enum | Record | Union)


def _index(kinds: Kinds) -> Type:
    """An index of a family: a type of two or three values."""
    options = [kind for kind in kinds.enums if len(kind.members) < 4]
    ranges = [kind for kind in kinds.ranges.values() if size(kind) < 4]
    return kinds.drawing.pick([Int(0, 1), BOOL, Int(0, 2), Int(-1, 0), *options, *ranges])


def _seen(owner: Role | None, variable: Readable, role: Role | None) -> Readable:
    """A variable as it is read in ``role`` (None: at the top)."""
    if owner is None or owner == role:
        return variable
    if owner.index is None:
        return replace(variable, text=f"{owner.name}.{variable.text}")
    kind = Map(owner.index, variable.kind)
    return replace(variable, text=owner.name, kind=kind, suffix=f".{variable.text}")


def _next(value: Readable) -> Readable:
    """The value after the step."""
    if value.suffix:
        return replace(value, text=f"next({value.text}", suffix=f"{value.suffix})")
    return replace(value, text=f"next({value.text})", channel=False)
