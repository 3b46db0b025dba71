"""Random specs: declarations, roles, channels, properties and checks around random bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tests.strategies.bodies import NOTHING, Body, Channel, Written, block, ordinary
from tests.strategies.changes import moving
from tests.strategies.collecting import domain
from tests.strategies.continuing import continued
from tests.strategies.declarations import Declarations, Role, index_of, is_short
from tests.strategies.failing import dared, daring
from tests.strategies.kinds import BOOL
from tests.strategies.large import large_choice
from tests.strategies.matching import pattern
from tests.strategies.modules import ROOT, joined, split
from tests.strategies.reading import call
from tests.strategies.scope import (
    AND,
    IMPLIES,
    NOT,
    OR,
    Function,
    Known,
    Readable,
    Scope,
    Where,
)
from tests.strategies.statements import named, require, suite
from tests.strategies.truth import asking, condition, probable

from fencepost.spec.core.types import Enum, Record, Seq, Set, Type, Union, has_ghost


@dataclass(slots=True)
class Model(Declarations):
    """A spec that is written from top to bottom.

    ``rest`` is a def; while it is true, no action is enabled.
    """

    fails: ClassVar[bool] = True
    """Whether conditions may have no value on purpose."""
    rest: str | None = None
    extent: tuple[int, int, int] = (2, 1, 4)
    """The depth of an action's statements, and their minimal and maximal number."""

    def write(self, modules: bool) -> str:
        """Writes the whole text; with ``modules``, it sometimes has two files (see
        `modules.files`).
        """
        if self.draw.chance(15):
            self.lines.append('"""A random spec."""')
        self.dared = dared(self.draw) if self.fails else frozenset()
        self.constant_lines()
        self.world.kinds.declare()
        self.lines += self.world.kinds.lines
        for _ in range(self.draw.pick([2, 1, 2, 3, 3, 4])):
            self.variable(None, self.lines)
        for _ in range(self.draw.pick([1 if "send" in self.dared else 0, 0, 1, 1, 2])):
            self.channel()
        if "initially" in self.dared:
            self.lines.append(f"initially: {daring(self.scope(None, 'initial')).text}")
        elif self.draw.chance(8):
            self.lines.append(f"initially: {probable(self.scope(None, 'initial'), False)}")
        if self.dared:
            self._narrow_definitions()
        for _ in range(self.draw.pick([0, 0, 1, 2])):
            self.definition(None, self.lines)
        if self.draw.chance(10):
            self._recursive(None, self.lines)
        if self.draw.chance(60 if {"terminal", "quiescent"} & self.dared else 25):
            self.rest = self.draw.name("d")
            still = probable(self.scope(None, "action"), True)
            self.lines.append(f"def {self.rest}: bool = {still}")
        procedures: list[Function] = []
        for _ in range(self.draw.pick([0, 0, 0, 1])):
            self.procedure(None, self.lines, procedures)
        for _ in range(self.draw.pick([0, 1, 1, 2])):
            self._role(procedures)
        least = 0 if self.world.actions else 1
        for _ in range(self.draw.number(least, 3)):
            self._action(None, self.lines, procedures, self.defs)
        for _ in range(self.draw.pick([0, 1, 1, 2, 3])):
            self._mover()
        for channel in self.channels:
            if self.draw.chance(70):
                self._sender(channel)
        self._properties(None, self.lines, self.draw.pick([0, 1, 1, 2, 3]))
        self._daring_properties()
        self._rest()
        self._checks()
        halves = split(self.draw, self.lines) if modules and self.draw.chance(20) else None
        if halves is None:
            return self._commented(self.lines)
        return joined({ROOT: self._commented(halves.root), "part": self._commented(halves.module)})

    def _commented(self, written: list[str]) -> str:
        """Joins the lines, with comments and blank lines between some of them."""
        lines: list[str] = []
        for line in written:
            if line and not line.startswith(" ") and self.draw.chance(10):
                lines += ["", f"# {line.split()[0]}"]
            parts = continued(self.draw, line)
            lines += (f"{part}  # here" if self.draw.chance(3) else part for part in parts)
        return "\n".join(lines) + "\n"

    def write_large(self) -> str:
        """Writes a spec that changes and compares a few variables of large types."""
        self.extent = 3, 3, 6
        self.world.kinds.declare()
        self.lines += self.world.kinds.lines
        for _ in range(self.draw.number(3, 5)):
            self.variable(None, self.lines)
        if self.draw.chance(40):
            self.channel()
        for _ in range(self.draw.number(0, 2)):
            self.definition(None, self.lines)
        for _ in range(self.draw.number(3, 5)):
            self._action(None, self.lines, [], self.defs)
        self._properties(None, self.lines, self.draw.number(3, 5))
        self._rest()
        return "\n".join(self.lines) + "\n"

    # ------------------------------------------------------------ roles and actions

    def _role(self, procedures: list[Function]) -> None:
        draw = self.draw
        name = draw.name("R")
        index = index_of(self.world.kinds) if draw.chance(45) else None
        role = Role(name, index, draw.name("j"))
        head = f"role {name}:"
        if index is not None:
            head = f"role {name}[{role.local}: {self.world.kinds.text(index)}]:"
        lines: list[str] = []
        for _ in range(draw.number(1, 2)):
            self.variable(role, lines)
        defs: list[Function] = []
        for _ in range(draw.pick([0, 0, 0, 1])):
            defs.append(self.definition(role, lines))
        own = list(procedures)
        for _ in range(draw.pick([0, 0, 0, 1])):
            self.procedure(role, lines, own, tuple(defs))
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
        scope = replace(self.scope(role, "action", True), defs=tuple(defs))
        head = f"{'environment ' if draw.chance(12) else ''}action {name}"
        binders: list[str] = []
        kinds: list[Type] = []
        for _ in range(draw.pick([0, 0, 0, 1, 1, 2])):
            over = domain(replace(scope, ghosts=False), 1, ordered=True, most=4)
            target, locals_ = over.bound(draw, "p")
            binders.append(f"{target} in {over.text}")
            kinds.append(over.kind)
            scope = scope.add(*locals_)
        large = large_choice(replace(scope, ghosts=False)) if draw.chance(6) else None
        if large is not None:
            binders.append(large.binder)
            kinds.append(large.local.kind)
            scope = scope.add(large.local)
        if binders:
            where = self._where(scope) if large is None else f" where {large.condition}"
            head += f"({', '.join(binders)}){where}"
        if self.channels and draw.chance(45):
            text, scope = self._received(scope)
            head += text + self._where(scope)
        body = self.body(role, scope, procedures)
        first: list[Written] = self._daring_statements(body)
        if first:
            body = body.inside(first[-1].after or body.scope)
        if self.recursive and draw.chance(40):
            function = draw.pick(self.recursive)
            local, kind = draw.name("y"), function.result
            assert kind is not None
            value = call(replace(ordinary(body), defs=(function,)), kind, 1)
            assert value is not None
            after = body.scope.add(Readable(local, kind))
            first.append(Written([f"let {local} = {value.text}"], after=after))
            body = body.inside(after)
        if draw.chance(25):
            first.append(require(body, 2))
            body = body.inside(first[-1].after or body.scope)
        if draw.chance(60):
            first += [written for written in [moving(body)] if written]
            body = body.inside(body.scope.without(NOTHING.union(*(w.assigned for w in first))))
        depth, least, most = self.extent
        inner = suite(body, depth, 0 if first else least, most, returns=True)
        inner.statements[:0] = [*(Written([line]) for line in self._awake()), *first]
        lines += block(f"{head}:", inner, draw.chance(20))
        index = role.index if role else None
        self.world.actions.append(Known(role.name if role else "", name, index, tuple(kinds)))

    def _where(self, scope: Scope) -> str:
        """Returns a condition on choices or a received message, or ""."""
        if not self.draw.chance(30):
            return ""
        scope = replace(scope, ghosts=False)
        if "choice" in self.dared and self.draw.chance(50):
            return f" where {daring(scope).text}"
        return f" where {condition(scope, 1).text}"

    def _mover(self) -> None:
        """Adds an action that keeps the model running."""
        draw = self.draw
        name, local = draw.name("a"), draw.name("p")
        body = self.body(None, self.scope(None, "action", True), [])
        small = [v for v in body.targets if not v.ghost and is_short(v.kind)]
        if small and draw.chance(40):
            variable = draw.pick(small)
            head = f"action {name}({local} in {self.world.kinds.text(variable.kind)}):"
            lines = [f"{variable.text} = {local}"]
            kinds: tuple[Type, ...] = (variable.kind,)
        else:
            moved = moving(body)
            if moved is None:
                return
            head, lines, kinds = f"action {name}:", moved.lines, ()
        self.lines += [head, *(f"    {line}" for line in [*self._awake(), *lines])]
        self.world.actions.append(Known("", name, parameters=kinds))

    def _awake(self) -> list[str]:
        """Returns the guard that every action has, if the spec has one."""
        return [] if self.rest is None else [f"require not {self.rest}"]

    def _sender(self, channel: Channel) -> None:
        """Adds an action that sends a message and needs no condition except room in the channel."""
        draw = self.draw
        name, local = draw.name("a"), draw.name("p")
        scope = self.scope(None, "action")
        line = channel.line(scope)
        lines = [f"send {scope.expression(channel.message, 1).text} to {line}"]
        if channel.full is not None and not ("send" in self.dared or self.world.risky()):
            lines.insert(0, f"require len({line}) < {channel.full}")
        head = f"action {name}:"
        kinds: tuple[Type, ...] = ()
        if not has_ghost(channel.message) and is_short(channel.message) and draw.chance(60):
            head = f"action {name}({local} in {self.world.kinds.text(channel.message)}):"
            kinds = (channel.message,)
            lines[-1] = f"send {local} to {line}"
        self.lines += [head, *(f"    {text}" for text in [*self._awake(), *lines])]
        self.world.actions.append(Known("", name, parameters=kinds))

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

    # ------------------------------------------------------------ partial definitions

    def _narrow_definitions(self) -> None:
        """Adds defs whose parameters have narrow ranges."""
        number, element = self.draw.name("d"), self.draw.name("d")
        kind = self.world.kinds.range()
        local = self.draw.name("q")
        self.lines.append(
            f"def {number}({local}: {self.world.kinds.text(kind)}): bool = {local} != {kind.high}"
        )
        self.defs.append(Function(number, (kind,), BOOL))
        seen = [v.kind for _, v in self.variables if isinstance(v.kind, Seq | Set)]
        inner = seen[0].element if seen else kind
        capacity = self.draw.number(0, 1)
        ways: list[Type] = [Set(inner, capacity), Seq(inner, capacity)]
        parameter = self.draw.pick(ways)
        if has_ghost(inner):
            return
        local = self.draw.name("q")
        text = self.world.kinds.text(parameter)
        self.lines.append(f"def {element}({local}: {text}): bool = len({local}) == 0")
        self.defs.append(Function(element, (parameter,), BOOL))

    def _daring_statements(self, body: Body) -> list[Written]:
        """Returns the first statements of an action, if its guards, choices or ghosts dare to
        fail.
        """
        draw = self.draw
        statements: list[Written] = []
        if {"guard", "enabled"} & self.dared and draw.chance(60):
            statements.append(Written([f"require {daring(ordinary(body)).text}"]))
        if "choice" in self.dared and draw.chance(60):
            over = domain(ordinary(body), 1, ordered=True, most=4)
            name = draw.name("p")
            after = body.scope.add(*over.element(name))
            test = daring(replace(after, ghosts=False))
            statements.append(
                Written([f"pick {name} in {over.text} where {test.text}"], after=after)
            )
        ghosts = [target for target in body.targets if target.ghost and target.kind == BOOL]
        if "ghost change" in self.dared and ghosts and draw.chance(60):
            scope = replace(
                statements[-1].after or body.scope if statements else body.scope, ghosts=True
            )
            target = draw.pick(ghosts).text
            line = f"{target} = {daring(scope).text}"
            statements.append(
                Written([line], frozenset([target]), statements[-1].after if statements else None)
            )
        return statements

    def _daring_properties(self) -> None:
        """Adds a property of each kind that the spec lets fail."""
        draw = self.draw
        for kind in ("invariant", "step invariant", "reachable", "lemma"):
            if kind in self.dared:
                where: Where = "step" if kind == "step invariant" else "property"
                name = draw.name("P")
                self.named.append(name)
                test = daring(self.scope(None, where, True))
                self.lines.append(f"{kind} {name}: {test.text}")
        scope = self.scope(None, "property", True)
        if "constraint" in self.dared:
            self.lines.append(f"constraint: {daring(scope).text}")
        if "terminal" in self.dared:
            self.lines.append(f"terminal: {daring(scope).text}")
        asked: list[str] = []
        if "quiescent" in self.dared:
            asked.append("quiescent")
        if "enabled" in self.dared:
            asked.append(asking(scope))
        for question in asked:
            name = draw.name("P")
            self.named.append(name)
            test = daring(scope)
            text = draw.pick(
                [
                    f"{question} implies {test.last(IMPLIES)}",
                    f"not {question} or {test.at(OR)}",
                    f"{question} and {test.at(NOT)}",
                    f"{test.at(AND)} or {question}",
                ]
            )
            kind = draw.pick(["invariant", "lemma", "reachable"])
            self.lines.append(f"{kind} {name}: {text}")

    # ------------------------------------------------------------ properties and checks

    def _properties(
        self, role: Role | None, lines: list[str], count: int, defs: tuple[Function, ...] = ()
    ) -> None:
        draw = self.draw
        for _ in range(count):
            kind = draw.pick(["invariant", "invariant", "step invariant", "reachable", "lemma"])
            where: Where = "step" if kind == "step invariant" else "property"
            scope = self.scope(role, where, True, *defs)
            name = draw.name("P")
            self.named.append(name)
            lines += self._property(f"{kind} {name}:", scope, kind == "reachable")

    def _property(self, head: str, scope: Scope, rare: bool) -> list[str]:
        """Returns the lines of a property that usually holds or, if it is ``rare``, rarely."""
        draw = self.draw
        if draw.chance(30):
            lets, scope = named(scope, 60)
            tests = draw.several(lambda: probable(scope, rare), 1, 3)
            return [head, *(f"    {line}" for line in [*lets, *tests])]
        return [f"{head} {probable(scope, rare)}"]

    def _rest(self) -> None:
        draw = self.draw
        lot = draw.number(0, 9 if self.rest is None else 4)
        scope = self.scope(None, "property", True)
        if lot >= 5 and "terminal" not in self.dared:
            self.lines.append("terminal: true")
        elif lot >= 3:
            name = f" {draw.name('P')}" if draw.chance(30) else ""
            self.lines.append(f"terminal{name}: {condition(scope, 2).text}")
        if draw.chance(10):
            self.lines.append(f"constraint: {probable(scope, False)}")

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
            if draw.chance(15):
                lines.append(f"    expect states == {draw.number(1, 9)}")
            self.lines += lines
