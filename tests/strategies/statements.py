"""Random statements: bodies of actions and procedures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fencepost.spec.types import (
    Bag,
    Bool,
    Enum,
    Field,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    has_ghost,
)
from tests.strategies.collecting import domain
from tests.strategies.kinds import telling
from tests.strategies.numbers import number
from tests.strategies.reading import key, reading
from tests.strategies.scope import (
    NOT,
    Function,
    Path,
    Readable,
    Scope,
)
from tests.strategies.truth import condition, conjoined, fields_of, flowing

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Channel:
    """A declared channel; ``full`` is how many messages are too many for a send, if any are."""

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
        """One channel of it."""
        if not self.indices:
            return self.name
        return f"{self.name}[{', '.join(key(scope, index) for index in self.indices)}]"


@dataclass(frozen=True, slots=True)
class Body:
    """A place for statements: what they may read, assign, send to and call."""

    scope: Scope
    targets: tuple[Readable, ...] = ()
    channels: tuple[Channel, ...] = ()
    procedures: tuple[Function, ...] = ()

    def inside(self, scope: Scope) -> Body:
        return replace(self, scope=scope)


@dataclass(frozen=True, slots=True)
class Written:
    """A statement: its lines, what it may assign, and what is known behind it (None: as before).

    ``ends``: nothing behind it is reached. ``simple``: it may share a line with others.
    """

    lines: list[str]
    assigned: frozenset[str] = NOTHING
    after: Scope | None = None
    ends: bool = False
    simple: bool = True


@dataclass(slots=True)
class Suite:
    """Statements in order."""

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


def suite(body: Body, depth: int, least: int = 1, most: int = 3, returns: bool = False) -> Suite:
    """Some statements; ``returns``: they may end with a return."""
    draw = body.scope.world.drawing
    made = Suite()
    count = least
    while count < most and draw.chance(55):
        count += 1
    for _ in range(count):
        written = statement(body, depth)
        made.statements.append(written)
        if written.ends:
            return made
        after = (written.after or body.scope).without(written.assigned)
        body = body.inside(after)
    if returns and draw.chance(15):
        made.statements.append(Written(["return"], ends=True))
    return made


def block(head: str, inner: Suite, one_line: bool) -> list[str]:
    """A line that ends with a colon, and the statements that belong to it."""
    if one_line and inner.simple:
        return [f"{head} {'; '.join(inner.lines())}"]
    return [head, *(f"    {line}" for line in inner.lines())]


def moving(body: Body) -> Written | None:
    """A statement that can be taken again and again and leads elsewhere, so that runs are long."""
    draw = body.scope.world.drawing
    targets = [target for target in body.targets if not target.ghost]
    base = draw.pick(targets) if targets else None
    if base is None or base.root is None:
        return None
    scope, text, kind = ordinary(body), base.text, base.kind
    guards: tuple[str, ...] = ()
    if isinstance(kind, Map):
        text, kind = f"{text}[{key(scope, kind.key)}]", kind.value
    match kind:
        case Bool():
            line = f"{text} = not {text}"
        case Int(low, high):
            line = f"{text} = if {text} < {high} then {text} + 1 else {low}"
        case Machine():
            line = f"{text} += 1"
        case Set(element, None):
            line = f"{text}.{draw.pick(['add', 'remove'])}({scope.expression(element, 0).text})"
        case Seq(element, capacity) if not has_ghost(element):
            line = f"{text}.append({scope.expression(element, 1).text})"
            guards = (f"len({text}) < {capacity}",)
            if draw.chance(40):
                line, guards = f"{text}.pop_first()", (f"len({text}) > 0",)
        case _:
            line = f"{text} = {scope.expression(kind, 1).text}"
    return _checked(body, guards, [line], base.root)


def statement(body: Body, depth: int) -> Written:
    """One statement."""
    draw = body.scope.world.drawing
    deep = depth > 0
    return draw.weighted(
        [
            (8, lambda: _assign(body, depth)),
            (6, lambda: moving(body)),
            (5, lambda: _method(body, depth)),
            (6, lambda: _send(body, depth)),
            (2, lambda: require(body, depth)),
            (5, lambda: _if(body, depth) if deep else None),
            (4, lambda: _match(body, depth) if deep else None),
            (3, lambda: _for(body, depth) if deep else None),
            (2, lambda: _pick(body, depth)),
            (2, lambda: _let(body, depth)),
            (3, lambda: _call(body, depth)),
            (1, lambda: _assert(body, depth)),
            (0, lambda: Written(["skip"])),
        ]
    )


def ordinary(body: Body) -> Scope:
    return replace(body.scope, ghosts=False)


def ghostly(body: Body, ghost: bool) -> Scope:
    return replace(body.scope, ghosts=ghost)


# ---------------------------------------------------------------- assignment


@dataclass(frozen=True, slots=True)
class Target:
    """A place that can be assigned, and the conditions under which it exists."""

    text: str
    kind: Type
    ghost: bool
    root: str
    guards: tuple[str, ...] = ()


def _target(body: Body) -> Target | None:
    draw = body.scope.world.drawing
    if not body.targets:
        return None
    base = draw.pick(body.targets)
    made = Target(base.text, base.kind, base.ghost, base.text)
    scope = ordinary(body)
    for _ in range(2):
        if not draw.chance(65):
            break
        match made.kind:
            case Record(fields=fields):
                item = draw.pick(fields)
                ghost = made.ghost or item.ghost
                made = replace(made, text=f"{made.text}.{item.name}", kind=item.type, ghost=ghost)
            case Map(keys, value):
                made = replace(made, text=f"{made.text}[{key(scope, keys)}]", kind=value)
            case Seq(element, capacity) if not made.ghost and not has_ghost(made.kind):
                position = draw.number(0, capacity - 1)
                guard = f"len({made.text}) > {position}"
                text = f"{made.text}[{position}]"
                made = replace(made, text=text, kind=element, guards=(*made.guards, guard))
            case _:
                break
    return made


def _checked(body: Body, guards: tuple[str, ...], lines: list[str], root: str) -> Written:
    """The statement behind the conditions that keep it from failing (or not, at some risk)."""
    draw = body.scope.world.drawing
    assigned = frozenset([root])
    if not guards or body.scope.world.risky():
        return Written(lines, assigned)
    test = " and ".join(guards)
    if draw.chance(50):
        return Written([f"require {test}", *lines], assigned)
    return Written([f"if {test}:", *(f"    {line}" for line in lines)], assigned, simple=False)


def _assign(body: Body, depth: int) -> Written | None:
    draw = body.scope.world.drawing
    target = _target(body)
    if target is None:
        return None
    scope = ghostly(body, target.ghost)
    if isinstance(target.kind, Int) and not target.ghost and draw.chance(45):
        return _counted(body, target)
    sign = "="
    if isinstance(target.kind, Machine) and draw.chance(50):
        sign = draw.pick(["+=", "-="])
    elif isinstance(target.kind, Set) and draw.chance(25):
        sign = "-="
    value = scope.expression(target.kind, depth)
    return _checked(body, target.guards, [f"{target.text} {sign} {value.text}"], target.root)


def _counted(body: Body, target: Target) -> Written:
    """``x += 1`` and its like, within the range."""
    draw = body.scope.world.drawing
    kind = target.kind
    assert isinstance(kind, Int)
    step = draw.number(1, 2)
    if draw.chance(65):
        guard, line = f"{target.text} <= {kind.high - step}", f"{target.text} += {step}"
    else:
        guard, line = f"{target.text} >= {kind.low + step}", f"{target.text} -= {step}"
    return _checked(body, (*target.guards, guard), [line], target.root)


def _method(body: Body, depth: int) -> Written | None:
    draw = body.scope.world.drawing
    for _ in range(3):
        target = _target(body)
        if target is not None and isinstance(target.kind, Set | Seq | Bag):
            return _changed(body, target, depth, draw.number(0, 9))
    return None


def _changed(body: Body, target: Target, depth: int, lot: int) -> Written | None:
    kind, text = target.kind, target.text
    assert isinstance(kind, Set | Seq | Bag)
    if lot == 9:
        return _checked(body, target.guards, [f"{text}.clear()"], target.root)
    guards: tuple[str, ...] = ()
    if isinstance(kind, Seq):
        adds = lot < 6
        guards = (f"len({text}) < {kind.capacity}",) if adds else (f"len({text}) > 0",)
    else:
        adds = lot < 6
        if adds and kind.capacity is not None:
            guards = (f"len({text}) < {kind.capacity}",)
    if guards and target.ghost and not body.scope.world.risk:
        return None
    if isinstance(kind, Seq) and not adds:
        line = f"{text}.pop_first()"
    else:
        element = ghostly(body, target.ghost).expression(kind.element, depth)
        word = ("append" if isinstance(kind, Seq) else "add") if adds else "remove"
        if word == "remove" and has_ghost(kind.element) and not target.ghost:
            return None
        line = f"{text}.{word}({element.text})"
    if target.ghost:
        return Written([line], frozenset([target.root]))
    return _checked(body, (*target.guards, *guards), [line], target.root)


def _send(body: Body, depth: int) -> Written | None:
    if not body.channels:
        return None
    draw = body.scope.world.drawing
    channel = draw.pick(body.channels)
    scope = ordinary(body)
    line = channel.line(scope)
    message = scope.expression(channel.message, min(depth, 1))
    guards = () if channel.full is None else (f"len({line}) < {channel.full}",)
    return _checked(body, guards, [f"send {message.text} to {line}"], channel.name)


# ---------------------------------------------------------------- tests, choices, names


def require(body: Body, depth: int) -> Written:
    """A guard; sometimes one that establishes a variant."""
    draw = body.scope.world.drawing
    scope = ordinary(body)
    paths = flowing(scope)
    if paths and draw.chance(30):
        path = draw.pick(paths)
        kind = path.kind
        assert isinstance(kind, Union)
        text = reading(scope, path).text.text
        tag = draw.number(0, len(kind.variants) - 1)
        after = body.scope.add(*fields_of(path, text, tag, True))
        return Written([f"require {text} is {kind.variants[tag].name}"], after=after)
    return Written([f"require {condition(scope, min(depth, 2)).text}"])


def _assert(body: Body, depth: int) -> Written:
    draw = body.scope.world.drawing
    inner = conjoined(replace(body.scope, ghosts=True), min(depth, 1))
    text = f"assert not {inner.at(NOT + 1)}"
    return Written([f'{text}, "why"' if draw.chance(40) else text])


def _pick(body: Body, depth: int) -> Written:
    draw = body.scope.world.drawing
    scope = ordinary(body)
    over = domain(scope, min(depth, 1), ordered=True, most=4)
    name = draw.name("p")
    after = body.scope.add(over.element(name))
    text = f"pick {name} in {over.text}"
    if draw.chance(40):
        test = condition(replace(after, ghosts=False), min(depth, 1))
        text = f"{text} where {test.text}"
    return Written([text], after=after)


def _let(body: Body, depth: int) -> Written:
    draw = body.scope.world.drawing
    ghost = draw.chance(15)
    scope = ghostly(body, ghost)
    name = draw.name("y")
    kind = body.scope.world.kinds.any(1)
    if isinstance(kind, Int) or not telling(kind) or draw.chance(30):
        value = number(scope, depth)
    else:
        value = replace(scope.expression(kind, depth, told=False), kind=kind)
    local = Readable(name, value.kind, ghost, fixed=value.fixed)
    return Written([f"let {name} = {value.text}"], after=body.scope.add(local))


def _call(body: Body, depth: int) -> Written | None:
    if not body.procedures:
        return None
    procedure = body.scope.world.drawing.pick(body.procedures)
    scope = ordinary(body)
    given = [scope.expression(kind, min(depth, 1)).text for kind in procedure.parameters]
    return Written([f"{procedure.name}({', '.join(given)})"], procedure.assigns)


# ---------------------------------------------------------------- branches and loops


def _if(body: Body, depth: int) -> Written:
    draw = body.scope.world.drawing
    scope = ordinary(body)
    lines: list[str] = []
    suites: list[Suite] = []
    for number in range(draw.pick([1, 1, 1, 2])):
        test = condition(scope, min(depth, 2) - 1)
        inner = suite(body, depth - 1, 1, 2, returns=True)
        suites.append(inner)
        word = "elif" if number else "if"
        lines += block(f"{word} {test.text}:", inner, draw.chance(20))
    last = draw.chance(45)
    if last:
        inner = suite(body, depth - 1, 1, 2, returns=True)
        suites.append(inner)
        lines += block("else:", inner, draw.chance(20))
    assigned = NOTHING.union(*(inner.assigned for inner in suites))
    ends = last and all(inner.ends for inner in suites)
    return Written(lines, assigned, ends=ends, simple=False)


def _for(body: Body, depth: int) -> Written:
    draw = body.scope.world.drawing
    over = domain(ordinary(body), min(depth, 1), ordered=True, most=4)
    name = draw.name("i")
    inner = suite(
        body.inside(body.scope.lasting().add(over.element(name))), depth - 1, 1, 2, returns=True
    )
    lines = block(f"for {name} in {over.text}:", inner, draw.chance(20))
    return Written(lines, inner.assigned, simple=False)


def _match(body: Body, depth: int) -> Written | None:
    draw = body.scope.world.drawing
    scope = ordinary(body)
    paths = [
        path
        for path in scope.paths()
        if isinstance(path.kind, Union | Enum | Option | Bool) and path.total
    ]
    if not paths:
        return None
    path = draw.pick(paths)
    subject = reading(scope, path).text.text
    lines = [f"match {subject}:"]
    suites: list[Suite] = []
    for pattern, inside in _cases(body, path, subject):
        inner = suite(body.inside(inside), depth - 1, 1, 2, returns=True)
        suites.append(inner)
        lines += [f"    {line}" for line in block(f"case {pattern}:", inner, draw.chance(30))]
    assigned = NOTHING.union(*(inner.assigned for inner in suites))
    return Written(lines, assigned, ends=all(s.ends for s in suites), simple=False)


def _cases(body: Body, path: Path, subject: str) -> list[tuple[str, Scope]]:
    """The cases of a match, which cover everything."""
    draw, scope = body.scope.world.drawing, body.scope
    match path.kind:
        case Enum(name, members):
            names = [f"{name}.{member}" if draw.chance(10) else member for member in members]
        case Union(variants=variants):
            return _variants(body, path, subject, tuple(v.name for v in variants))
        case Option():
            return [("none", scope), ("_", scope)] if draw.chance(60) else [("_", scope)]
        case _:
            names = ["false", "true"]
    count = draw.number(1, len(names))
    cases = [(text, scope) for text in names[:count]]
    return cases if count == len(names) else [*cases, ("_", scope)]


def _variants(
    body: Body, path: Path, subject: str, names: tuple[str, ...]
) -> list[tuple[str, Scope]]:
    draw = body.scope.world.drawing
    assert isinstance(path.kind, Union)
    count = draw.number(1, len(names))
    cases: list[tuple[str, Scope]] = []
    simple = path in flowing(body.scope)
    for tag in range(count):
        scope = body.scope
        if simple:
            scope = scope.add(*fields_of(path, subject, tag, True))
        if draw.chance(20):
            case = pattern(scope, path.kind, tag, compare=True)
            if "==" in case[0]:
                cases.append(case)
        cases.append(pattern(scope, path.kind, tag, compare=False))
    return cases if count == len(names) else [*cases, ("_", body.scope)]


def pattern(scope: Scope, kind: Union, tag: int, compare: bool) -> tuple[str, Scope]:
    """A pattern for a variant, and what is known where it fits.

    ``compare``: it may look into the fields, so that it does not cover the variant.
    """
    draw = scope.world.drawing
    variant = kind.variants[tag]
    name = f"{kind.name}.{variant.name}" if draw.chance(10) else variant.name
    if not compare and draw.chance(30):
        alias = draw.name("m")
        path = Path(Readable(alias, kind), (), kind)
        inside = scope.add(Readable(alias, kind), *fields_of(path, alias, tag, True))
        return f"{name} as {alias}", inside
    if not variant.fields or (not compare and draw.chance(15)):
        return name, scope
    parts: list[str] = []
    inside = scope
    for item in variant.fields:
        text, inside = _argument(inside, item, compare)
        parts.append(text)
    return f"{name}({', '.join(parts)})", inside


def _argument(scope: Scope, item: Field, compare: bool) -> tuple[str, Scope]:
    draw = scope.world.drawing
    ordinary = replace(scope, ghosts=False)
    lot = draw.number(0, 9)
    if compare and lot < 6 and not item.ghost and not has_ghost(item.type):
        return f"=={ordinary.expression(item.type, 1).text}", scope
    if lot < 8:
        name = draw.name("b")
        return name, scope.add(Readable(name, item.type, item.ghost))
    return "_", scope
