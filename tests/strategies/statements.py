"""Random statements for the bodies of actions and procedures."""

from __future__ import annotations

from dataclasses import replace

from tests.strategies.bodies import NOTHING, Body, Suite, Written, block, ghostly, ordinary
from tests.strategies.changes import assign, method, moving, send
from tests.strategies.collecting import domain
from tests.strategies.kinds import telling
from tests.strategies.large import large_choice
from tests.strategies.matching import MATCHED, cases, value_cases
from tests.strategies.numbers import number
from tests.strategies.reading import reading
from tests.strategies.scope import NOT, Readable, Scope, taken_apart
from tests.strategies.truth import condition, conjoined, fields_of, flowing

from fencepost.spec.core.types import Int, Record, Union


def suite(body: Body, depth: int, least: int = 1, most: int = 3, returns: bool = False) -> Suite:
    """Draws some statements; with ``returns``, the last one may be a return."""
    draw = body.scope.world.drawing
    statements = Suite()
    count = least
    while count < most and draw.chance(55):
        count += 1
    for _ in range(count):
        written = statement(body, depth)
        statements.statements.append(written)
        if written.ends:
            return statements
        after = (written.after or body.scope).without(written.assigned)
        body = body.inside(after)
    if returns and draw.chance(15):
        statements.statements.append(Written(["return"], ends=True))
    return statements


def statement(body: Body, depth: int) -> Written:
    """Draws one statement."""
    draw = body.scope.world.drawing
    deep = depth > 0
    return draw.weighted(
        [
            (8, lambda: assign(body, depth)),
            (1, lambda: _assign_match(body, depth) if deep else None),
            (6, lambda: moving(body)),
            (5, lambda: method(body, depth)),
            (6, lambda: send(body, depth)),
            (2, lambda: require(body, depth)),
            (5, lambda: _if(body, depth) if deep else None),
            (4, lambda: _match(body, depth) if deep else None),
            (3, lambda: _for(body, depth) if deep else None),
            (2, lambda: _pick(body, depth)),
            (2, lambda: _let(body, depth)),
            (3, lambda: _call(body, depth)),
            (1, lambda: _assert(body, depth)),
            (1, lambda: Written(["skip"])),
        ]
    )


# ---------------------------------------------------------------- tests, choices, names


def require(body: Body, depth: int) -> Written:
    """Draws a guard, sometimes one that establishes a variant."""
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
    if draw.chance(8):
        large = large_choice(scope)
        line = f"pick {large.binder} where {large.condition}"
        return Written([line], after=body.scope.add(large.local))
    over = domain(scope, min(depth, 1), ordered=True, most=4)
    name, locals_ = over.bound(draw, "p")
    after = body.scope.add(*locals_)
    text = f"pick {name} in {over.text}"
    if draw.chance(40):
        test = condition(replace(after, ghosts=False), min(depth, 1))
        text = f"{text} where {test.text}"
    return Written([text], after=after)


def _let(body: Body, depth: int) -> Written:
    ghost = body.scope.world.drawing.chance(15)
    line, locals_ = _named(ghostly(body, ghost), depth, ghost)
    return Written([line], after=body.scope.add(*locals_))


def _named(scope: Scope, depth: int, ghost: bool) -> tuple[str, list[Readable]]:
    """Returns a line that names a value, and the locals that it introduces."""
    draw = scope.world.drawing
    name = draw.name("y")
    kind = scope.world.kinds.any(1)
    if isinstance(kind, Int) or not telling(kind) or draw.chance(30):
        value = number(scope, depth)
    else:
        value = replace(scope.expression(kind, depth, typed=False), kind=kind)
    locals_ = [Readable(name, value.kind, ghost, fixed=value.fixed)]
    if isinstance(value.kind, Record) and value.kind.is_tuple and draw.chance(70):
        name, locals_ = taken_apart(draw, value.kind, "y", ghost)
    return f"let {name} = {value.text}", locals_


def named(scope: Scope, percent: int) -> tuple[list[str], Scope]:
    """Draws the `let` lines that begin a block of conditions, and returns them with the scope after
    them.
    """
    lines: list[str] = []
    while len(lines) < 2 and scope.world.drawing.chance(percent):
        line, locals_ = _named(scope, 1, scope.ghosts)
        lines.append(line)
        scope = scope.add(*locals_)
    return lines, scope


def _call(body: Body, depth: int) -> Written | None:
    if not body.procedures:
        return None
    procedure = body.scope.world.drawing.pick(body.procedures)
    scope = ordinary(body)
    arguments = [scope.expression(kind, min(depth, 1)).text for kind in procedure.parameters]
    return Written([f"{procedure.name}({', '.join(arguments)})"], procedure.assigns)


# ---------------------------------------------------------------- branches and loops


def _if(body: Body, depth: int) -> Written:
    draw = body.scope.world.drawing
    scope = ordinary(body)
    lines: list[str] = []
    suites: list[Suite] = []
    for word in draw.pick([("if",), ("if",), ("if",), ("if", "elif")]):
        test = condition(scope, min(depth, 2) - 1)
        inner = suite(body, depth - 1, 1, 2, returns=True)
        suites.append(inner)
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
    name, locals_ = over.bound(draw, "i")
    inside = body.scope.lasting().add(*locals_)
    inner = suite(body.inside(inside), depth - 1, 1, 2, returns=True)
    lines = block(f"for {name} in {over.text}:", inner, draw.chance(20))
    return Written(lines, inner.assigned, simple=False)


def _match(body: Body, depth: int) -> Written | None:
    draw = body.scope.world.drawing
    path = ordinary(body).total(*MATCHED)
    if path is None:
        return None
    subject = reading(ordinary(body), path).text.text
    lines = [f"match {subject}:"]
    suites: list[Suite] = []
    for pattern, inside in cases(body.scope, path, subject):
        inner = suite(body.inside(inside), depth - 1, 1, 2, returns=True)
        suites.append(inner)
        lines += [f"    {line}" for line in block(f"case {pattern}:", inner, draw.chance(30))]
    assigned = NOTHING.union(*(inner.assigned for inner in suites))
    return Written(lines, assigned, ends=all(s.ends for s in suites), simple=False)


def _assign_match(body: Body, depth: int) -> Written | None:
    """Returns an assignment of a match expression with its cases on lines of their own."""
    if not body.targets:
        return None
    target = body.scope.world.drawing.pick(body.targets)
    scope = ghostly(body, target.ghost)
    parts = value_cases(scope, target.kind, depth - 1, typed=True)
    if parts is None:
        return None
    subject, listed = parts
    lines = [f"{target.text} = match {subject.text}:"]
    lines += [f"    case {pattern}: {value.text}" for pattern, value in listed]
    return Written(lines, frozenset([target.text]), simple=False)
