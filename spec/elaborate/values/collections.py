"""Collections: written out, comprehended, gone through by quantifiers and ``choose``."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import MOST_CAPACITY, MOST_ITERATED, countable, most
from fencepost.spec.core.type_relations import element_of, join, set_type
from fencepost.spec.core.types import (
    Bag,
    Map,
    Option,
    Seq,
    Set,
    Type,
    as_collection,
    bits,
    describe,
    has_ghost,
)
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.ghosts import comparing, going_through
from fencepost.spec.elaborate.base.size_checks import map_type
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.elaborate.types.bidirectional import Need, need, wanted_of
from fencepost.spec.elaborate.types.narrowing import when
from fencepost.spec.elaborate.types.partiality import content, settled, widened
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


def no_collection(context: Context, span: Span, kind: Type) -> None:
    """Reports (F311) that something is no collection."""
    hint = "; name its key type to go through its keys" if isinstance(kind, Map) else ""
    if isinstance(kind, Option):
        hint = "; `!` unwraps an option"
    context.report(
        "F311",
        span,
        f"a set, sequence, bag or finite type is wanted here, and this is {describe(kind)}{hint}",
    )


def elements(
    context: Context, node: syntax.Expr, *, iterated: bool = True, expected: Type | None = None
) -> Operand | None:
    """A collection, or a finite type in its place; ``iterated`` bounds its size (F710)."""
    operand = context.inner().of_any_size().expression(node, expected)
    if operand is None:
        return None
    kind = operand.type
    if not isinstance(kind, Set | Seq | Bag):
        no_collection(context, node.span, kind)
        return None
    unbuilt = isinstance(operand.expr, ir.Universe | ir.Interval)
    if iterated and unbuilt and not countable(kind.element, MOST_ITERATED):
        context.report(
            "F710",
            node.span,
            f"{describe(kind.element)} has too many values to go through, more than"
            f" {MOST_ITERATED}",
        )
        return None
    return operand


def universe(context: Context, kind: Type | None, span: Span) -> Operand | None:
    """A finite type as the set of its values."""
    if kind is None:
        return None
    if bits(kind) > 64:
        context.report("F710", span, f"{describe(kind)} has too many values to be used as a set")
        return None
    return Operand(ir.Universe(Set(kind), span=span))


# ---------------------------------------------------------------- written out


def literal_collection(
    context: Context, node: syntax.Collection, expected: Type | None
) -> Operand | None:
    """``[a, b]`` or ``{a, b}``."""
    inner = context.inner()
    if isinstance(expected, Option):
        expected = expected.element
    wanted = element_of(expected) if expected is not None else None
    if not node.elements:
        return _empty(context, node, expected)
    operands = each(inner, node.elements, wanted)
    if operands is None:
        return None
    kind = common(context, operands, node.elements)
    if kind is None:
        return None
    if isinstance(wanted, Option) and not isinstance(kind, Option):
        kind = Option(kind)
    ghost = first_ghost(*operands)
    target: Type
    if node.brackets == "{}":
        target = set_type(kind, len(operands))
        ghost = _gathering(kind, node.span) or ghost
    elif isinstance(expected, Bag):
        target = Bag(kind, len(operands))
    else:
        target = Seq(kind, len(operands))
    if len(operands) > MOST_CAPACITY:
        _too_many(context, node.span, len(operands))
        return None
    parts = tuple(widened(operand, kind).expr for operand in operands)
    return Operand(settled(ir.Build(target, parts, span=node.span), *parts), ghost)


def _empty(context: Context, node: syntax.Collection, expected: Type | None) -> Operand | None:
    fits = isinstance(expected, Set) or (isinstance(expected, Seq | Bag) and node.brackets == "[]")
    if expected is not None and fits:
        return Operand(ir.Literal(expected, (), span=node.span))
    if expected is None:
        message = (
            "the type of this empty collection cannot be told from its place;"
            f" write it where it is stored or compared: x = {node.brackets}, x == {node.brackets}"
        )
    elif isinstance(expected, Seq | Bag):
        message = f"{describe(expected)} is written in square brackets: []"
    else:
        message = f"{describe(expected)} is wanted here, and this is an empty collection"
        if isinstance(expected, Map):
            message += f"; a map has a value for every key: [e for k in {describe(expected.key)}]"
    context.report("F307", node.span, message)
    return None


def each(
    context: Context, nodes: tuple[syntax.Expr, ...], wanted: Type | None
) -> list[Operand] | None:
    """The elements, in order. What one is may follow from the others: those that know go first."""
    found: dict[int, Operand] = {}
    kind = wanted
    good = True
    for place in sorted(range(len(nodes)), key=lambda i: need(context, nodes[i])):
        node = nodes[place]
        if not good and kind is None and need(context, node) > Need.TASTE:
            # An element that was to tell is wrong.
            continue
        operand = context.expression(node, wanted_of(node, kind) if wanted is None else wanted)
        if operand is None:
            good = False
        else:
            found[place] = operand
            kind = kind or operand.type
    return [found[place] for place in range(len(nodes))] if len(found) == len(nodes) else None


def common(
    context: Context, operands: Sequence[Operand], written: Sequence[syntax.Expr]
) -> Type | None:
    """The type of all operands, which are some; F302 where there is none."""
    kind = operands[0].type
    for operand, part in zip(operands, written, strict=True):
        joint = join(kind, operand.type)
        if joint is None:
            message = f"this is {describe(operand.type)}, and those before it are {describe(kind)}"
            context.report("F302", part.span, message)
            return None
        kind = joint
    return kind


def _gathering(element: Type, span: Span) -> Ghost | None:
    """Why putting values into a set looks at ghosts."""
    if has_ghost(element):
        return Ghost(span, f"a set depends on the ghost fields of {describe(element)}")
    return None


def _too_many(context: Context, span: Span, size: int) -> None:
    context.report(
        "F705", span, f"this can have {size} elements, and a collection has {MOST_CAPACITY} at most"
    )


# ---------------------------------------------------------------- comprehensions


def comprehension(
    context: Context,
    node: syntax.Comprehension,
    expected: Type | None,
    sequence: bool = False,
) -> Operand | None:
    """``{e for x in S, y in T if p}``, ``[e for x in S if p]``, or a map, ``[e for k in K]``.

    With ``sequence``, brackets always make a sequence.
    """
    if isinstance(expected, Option):
        expected = expected.element
    generators, inner = _bound(context.inner(), node.binders, node.span)
    first = generators[0] if generators else None
    condition = None if node.condition is None else truth(inner, node.condition)
    if condition is not None:
        inner = inner.learn(when(condition.expr, True))
    mapping = node.brackets == "[]" and not sequence and _maps(node, first, expected)
    wanted = element_of(expected) if expected is not None else None
    if mapping:
        wanted = expected.value if isinstance(expected, Map) else None
    element = inner.expression(node.element, wanted)
    if element is None or (node.condition is not None and condition is None):
        return None
    if first is None or len(generators) < len(node.binders):
        return None
    if isinstance(wanted, Option) and not isinstance(element.type, Option):
        element = widened(element, Option(element.type))
    if mapping:
        return _mapping(context, node, expected, first, element)
    domains = [one.domain for one in generators]
    orders = (going_through(domain.type, node.span) for domain in domains)
    ghost = first_ghost(*domains, condition, element) or next(filter(None, orders), None)
    size = 1
    for domain in domains:
        size *= most(as_collection(domain.type))
    target: Type
    if node.brackets == "{}":
        target = set_type(element.type, size)
        ghost = _gathering(element.type, node.span) or ghost
    elif isinstance(expected, Bag):
        target = Bag(element.type, size)
    else:
        target = Seq(element.type, size)
    if target.capacity is not None and target.capacity > MOST_CAPACITY:
        _too_many(context, node.span, size)
        return None
    test = None if condition is None else condition.expr
    *outer, last = generators
    expr: ir.Expr = ir.Collect(
        target, last.slot, last.domain.expr, test, element.expr, span=node.span
    )
    for one in reversed(outer):
        expr = ir.Gather(target, one.slot, one.domain.expr, expr, span=node.span)
    return Operand(expr, ghost)


@dataclass(frozen=True, slots=True)
class _Generator:
    """``x in S``: what is gone through, the slot of the element, and what it is called."""

    domain: Operand
    slot: int
    name: str


def _bound(
    context: Context, binders: tuple[syntax.Binder, ...], span: Span
) -> tuple[list[_Generator], Context]:
    """The generators that are right, each of which sees those before it, and what is seen behind
    them.
    """
    context.work.limit(len(binders), span)
    found: list[_Generator] = []
    for binder in binders:
        domain = elements(context, binder.domain)
        kind = element_of(domain.type) if domain else None
        local: Operand | None = None
        if domain is not None and kind is not None:
            slot = context.work.slot()
            local = Operand(ir.Local(kind, slot, span=binder.name.span), domain.ghost)
            found.append(_Generator(domain, slot, binder.name.text))
        context = context.bind(binder.name, local)
    return found, context


def _maps(node: syntax.Comprehension, first: _Generator | None, expected: Type | None) -> bool:
    """Whether a comprehension in square brackets makes a map."""
    whole = first is not None and isinstance(first.domain.expr, ir.Universe)
    single = len(node.binders) == 1
    return isinstance(expected, Map) or (single and whole and not isinstance(expected, Seq | Bag))


def _mapping(
    context: Context,
    node: syntax.Comprehension,
    expected: Type | None,
    generator: _Generator,
    element: Operand,
) -> Operand | None:
    domain = generator.domain
    kind = element_of(domain.type)
    assert kind is not None
    single = len(node.binders) == 1 and node.condition is None
    if not isinstance(domain.expr, ir.Universe) or not single:
        context.report(
            "F312", node.span, "a map has a value for every key: [e for k in K], where K is a type"
        )
        return None
    if isinstance(expected, Map) and expected.key != kind and context.convert is None:
        context.report(
            "F302",
            node.binders[0].domain.span,
            f"the keys are {describe(expected.key)}, and this is {describe(kind)}",
        )
        return None
    target = map_type(context, kind, element.type, node.span)
    if target is None:
        return None
    return Operand(ir.BuildMap(target, generator.slot, element.expr, span=node.span), element.ghost)


# ---------------------------------------------------------------- quantifiers and choice


def quantifier(context: Context, node: syntax.Quantifier) -> Operand | None:
    """``forall x in S, y in T if p: e`` or ``exists``."""
    every = node.kind == "forall"
    # Unlike elsewhere, the order of a bag (which ghost fields decide) does not matter here.
    outer, inner = _bound(context if every else context.inner(), node.binders, node.span)
    written = node.body
    if node.condition is not None:
        span = node.condition.span.to(written.span)
        connective = "implies" if every else "and"
        written = syntax.Binary(connective, node.condition, written, span=span)
    body = truth(inner, written)
    if body is None or len(outer) < len(node.binders):
        return None
    expr, ghost = body.expr, body.ghost
    for one in reversed(outer):
        expr = ir.Quantified(every, one.slot, one.domain.expr, expr, name=one.name, span=node.span)
        ghost = ghost or one.domain.ghost
    return Operand(expr, ghost)


def choice(context: Context, node: syntax.Choose) -> Operand | None:
    """``choose x in S where p``."""
    domain = elements(context, node.binder.domain)
    kind = element_of(domain.type) if domain else None
    slot = context.work.slot()
    local: Operand | None = None
    if domain is not None and kind is not None:
        local = Operand(ir.Local(kind, slot, span=node.binder.name.span), domain.ghost)
    inner = context.inner().bind(node.binder.name, local)
    test = None if node.condition is None else truth(inner, node.condition)
    if domain is None or kind is None or (node.condition is not None and test is None):
        return None
    ghost = first_ghost(domain, test) or comparing(kind, node.span)
    condition = test.expr if test else None
    found = ir.Find(Option(kind), slot, domain.expr, condition, span=node.span)
    site = context.site("F905", node.span, "there is no such element to choose")
    return Operand(content(context, found, node.span, site), ghost)
