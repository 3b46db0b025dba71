"""Elaborates collection and map literals, comprehensions, quantifiers and ``choose``."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.size_limits import MAX_CAPACITY, MAX_KEYS, countable, most
from fencepost.spec.core.spelling import show
from fencepost.spec.core.type_relations import element_of, join, set_type
from fencepost.spec.core.types import (
    SMALL_SET,
    Bag,
    Map,
    Option,
    Seq,
    Set,
    Type,
    Value,
    as_collection,
    count_values,
    describe,
    has_ghost,
    values,
)
from fencepost.spec.elaborate.base.context import Context, Reported, first_ghost
from fencepost.spec.elaborate.base.ghosts import comparing, going_through
from fencepost.spec.elaborate.base.size_checks import boundless, map_type
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.elaborate.types.bidirectional import alternatives
from fencepost.spec.elaborate.types.narrowing import bound_to, when
from fencepost.spec.elaborate.types.partiality import bound_all, coerced, content, settled, widened
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.patterns import bind
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing
from fencepost.spec.text.source import Span


def no_collection(context: Context, span: Span, kind: Type) -> Reported:
    """Reports that an expression is not a collection (F311)."""
    hint = "; iterate over its key type instead" if isinstance(kind, Map) else ""
    rule = "a set, sequence, bag or finite type is required here"
    return context.mismatch("F311", span, rule, kind, hint)


def elements(context: Context, node: syntax.Expr, expected: Type | None = None) -> Operand | None:
    """Elaborates a collection, or a finite type used as one. The result may be too large to be
    stored.
    """
    operand = context.inner().of_any_size().expression(node, expected)
    if operand is None:
        return None
    kind = operand.type
    if not isinstance(kind, Set | Seq | Bag):
        return no_collection(context, node.span, kind)
    return operand


def universe(context: Context, kind: Type | None, span: Span) -> Operand | None:
    """Converts a finite type to the set of its values. Reports F303 if it contains an ``int``."""
    if kind is not None and is_open(kind):
        return context.report("F303", span, boundless(kind, "this needs all its values"))
    return None if kind is None else Operand(ir.Universe(Set(kind), span=span))


def stored(context: Context, operand: Operand, span: Span) -> Operand | None:
    """Returns ``operand`` as a value that can be stored. If it is a set that is too large, reports
    F710 and returns None.
    """
    expr, kind = operand.expr, operand.type
    if not isinstance(expr, ir.Computed) or not isinstance(kind, Set):
        return operand
    element = kind.element
    limit = MAX_CAPACITY if isinstance(expr, ir.Subsets) else SMALL_SET
    if not countable(element, limit):
        return context.report(
            "F710",
            span,
            f"{describe(element)} has more than {limit} values: it can be iterated over and tested "
            "with `in`, but is too large to be stored as a set",
        )
    if not isinstance(expr, ir.Subsets):
        return operand
    slot = context.work.slot()
    target = set_type(element, count_values(element, limit))
    every = ir.Collect(target, slot, expr, None, ir.Local(element, slot, span=span), span=span)
    return Operand(settled(every, expr.collection), operand.ghost)


# ---------------------------------------------------------------- literals


def literal_collection(
    context: Context, node: syntax.Collection, expected: Type | None
) -> Operand | None:
    """Elaborates ``[a, b]`` and ``{a, b}``."""
    inner = context.inner()
    if isinstance(expected, Option):
        expected = expected.element
    element_type = element_of(expected) if expected is not None else None
    if not node.elements:
        return _empty(context, node, expected)
    operands = each(inner, node.elements, element_type)
    if operands is None:
        return None
    kind = common(context, operands, node.elements)
    if kind is None:
        return None
    if isinstance(element_type, Option) and not isinstance(kind, Option):
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
    if len(operands) > MAX_CAPACITY:
        return _too_many(context, node.span, len(operands))
    parts = tuple(widened(operand, kind).expr for operand in operands)
    return Operand(settled(ir.Build(target, parts, span=node.span), *parts), ghost)


def _empty(context: Context, node: syntax.Collection, expected: Type | None) -> Operand | None:
    fits = isinstance(expected, Set) or (isinstance(expected, Seq | Bag) and node.brackets == "[]")
    if expected is not None and fits:
        return Operand(ir.Literal(expected, (), span=node.span))
    if expected is None:
        message = (
            "the type of this empty collection cannot be inferred here; write it where it is "
            f"stored or compared: x = {node.brackets}, x == {node.brackets}"
        )
    elif isinstance(expected, Seq | Bag):
        message = f"{describe(expected)} is written in square brackets: []"
    else:
        message = f"{describe(expected)} is required here, but this is an empty collection"
        if isinstance(expected, Map):
            message += f"; a map has a value for every key: [e for k in {describe(expected.key)}]"
    return context.report("F307", node.span, message)


def each(
    context: Context, nodes: tuple[syntax.Expr, ...], expected: Type | None
) -> list[Operand] | None:
    """Elaborates the elements of a literal (see `alternatives`). Returns None if one is wrong."""
    operands = alternatives([(context, node) for node in nodes], expected)
    good = [operand for operand in operands if operand is not None]
    return good if len(good) == len(nodes) else None


def common(
    context: Context, operands: Sequence[Operand], written: Sequence[syntax.Expr]
) -> Type | None:
    """Returns the common type of the operands (at least one). Reports F302 if they have none."""
    kind = operands[0].type
    for operand, part in zip(operands, written, strict=True):
        joint = join(kind, operand.type)
        if joint is None:
            message = f"this is {describe(operand.type)}, and those before it are {describe(kind)}"
            return context.report("F302", part.span, message)
        kind = joint
    return kind


def _gathering(element: Type, span: Span) -> Ghost | None:
    """Returns the reason why putting values of type ``element`` into a set reads ghosts, or
    None.
    """
    if has_ghost(element):
        return Ghost(span, f"a set depends on the ghost fields of {describe(element)}")
    return None


def _too_many(context: Context, span: Span, size: int) -> Reported:
    return context.report(
        "F705", span, f"this can have {size} elements, but a collection has at most {MAX_CAPACITY}"
    )


# ---------------------------------------------------------------- comprehensions


def comprehension(
    context: Context,
    node: syntax.Comprehension,
    expected: Type | None,
    sequence: bool = False,
) -> Operand | None:
    """Elaborates ``{e for x in S, y in T if p}``, ``[e for x in S if p]``, and the map ``[e for k
    in K]``.

    If ``sequence``, a comprehension in square brackets always makes a sequence.
    """
    if isinstance(expected, Option):
        expected = expected.element
    sources, inner = generators(context.inner(), node.binders, node.span)
    first = sources[0] if sources else None
    condition = None if node.condition is None else truth(inner, node.condition)
    if condition is not None:
        inner = inner.learn(when(condition.expr, True))
    mapping = node.brackets == "[]" and not sequence and _maps(node, first, expected)
    element_type = element_of(expected) if expected is not None else None
    if mapping:
        element_type = expected.value if isinstance(expected, Map) else None
    element = inner.expression(node.element, element_type)
    if element is None or (node.condition is not None and condition is None):
        return None
    if first is None or len(sources) < len(node.binders):
        return None
    if isinstance(element_type, Option) and not isinstance(element.type, Option):
        element = widened(element, Option(element.type))
    if mapping:
        return _mapping(context, node, expected, first, element)
    domains = [generator.domain for generator in sources]
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
    if target.capacity is not None and target.capacity > MAX_CAPACITY:
        return _too_many(context, node.span, size)
    test = None if condition is None else condition.expr
    *outer, last = sources
    expr: ir.Expr = ir.Collect(
        target, last.slot, last.domain.expr, test, element.expr, span=node.span
    )
    for generator in reversed(outer):
        expr = ir.Gather(target, generator.slot, generator.domain.expr, expr, span=node.span)
    return Operand(expr, ghost)


@dataclass(frozen=True, slots=True)
class Generator:
    """A generator ``x in S``: the domain, and the slot and the name of the element."""

    domain: Operand
    slot: int
    name: str


def drawn(
    context: Context, binder: syntax.Binder, domain: Operand | None, ghost: Ghost | None = None
) -> tuple[int, Context]:
    """Returns a slot for the elements of ``domain``, and the context with the names of the binder
    bound to it. If the domain is wrong, the names are bound to nothing.
    """
    slot = context.work.slot()
    kind = element_of(domain.type) if domain else None
    if domain is None or kind is None:
        return slot, bind(context, binder.target, None)
    local = ir.Local(kind, slot, span=binder.target.span)
    inner = bind(context, binder.target, Operand(local, ghost))
    return slot, bound_to(inner, local, domain.expr)


def generators(
    context: Context, binders: tuple[syntax.Binder, ...], span: Span
) -> tuple[list[Generator], Context]:
    """Elaborates the generators. Returns the correct ones and the context after all of them. Each
    generator may use the names of those before it.
    """
    context.work.limit(len(binders), span)
    sources: list[Generator] = []
    for binder in binders:
        domain = elements(context, binder.domain)
        slot, context = drawn(context, binder, domain, None if domain is None else domain.ghost)
        if domain is not None:
            sources.append(Generator(domain, slot, binder.label))
    return sources, context


def _maps(node: syntax.Comprehension, first: Generator | None, expected: Type | None) -> bool:
    """Whether a comprehension in square brackets makes a map."""
    whole = first is not None and isinstance(first.domain.expr, ir.Universe)
    single = len(node.binders) == 1
    return isinstance(expected, Map) or (single and whole and not isinstance(expected, Seq | Bag))


def _mapping(
    context: Context,
    node: syntax.Comprehension,
    expected: Type | None,
    generator: Generator,
    element: Operand,
) -> Operand | None:
    domain = generator.domain
    kind = element_of(domain.type)
    assert kind is not None
    single = len(node.binders) == 1 and node.condition is None
    if not isinstance(domain.expr, ir.Universe) or not single:
        return context.report(
            "F312", node.span, "a map has a value for every key: [e for k in K], where K is a type"
        )
    if isinstance(expected, Map) and expected.key != kind and context.position.convert is None:
        rule = f"the keys are {describe(expected.key)}"
        return context.mismatch("F302", node.binders[0].domain.span, rule, kind)
    target = map_type(context, kind, element.type, node.span)
    if target is None:
        return None
    return Operand(ir.BuildMap(target, generator.slot, element.expr, span=node.span), element.ghost)


# ---------------------------------------------------------------- quantifiers and choice


def quantifier(context: Context, node: syntax.Quantifier) -> Operand | None:
    """Elaborates ``forall x in S, y in T if p: e`` and ``exists``."""
    every = node.kind == "forall"
    # The order of a bag may depend on ghost fields, but it does not affect a quantifier, so
    # `going_through` is not applied here.
    outer, inner = generators(context if every else context.inner(), node.binders, node.span)
    body = truth(inner, restricted(node))
    if body is None or len(outer) < len(node.binders):
        return None
    expr, ghost = body.expr, body.ghost
    for generator in reversed(outer):
        expr = ir.Quantified(
            every, generator.slot, generator.domain.expr, expr, name=generator.name, span=node.span
        )
        ghost = ghost or generator.domain.ghost
    return Operand(expr, ghost)


def restricted(node: syntax.Quantifier) -> syntax.Expr:
    """Returns the body of a quantifier, combined with its condition if it has one."""
    if node.condition is None:
        return node.body
    connective = "implies" if node.kind == "forall" else "and"
    span = node.condition.span.to(node.body.span)
    return syntax.Binary(connective, node.condition, node.body, span=span)


def choice(context: Context, node: syntax.Choose) -> Operand | None:
    """Elaborates ``choose x in S where p``."""
    domain = elements(context, node.binder.domain)
    slot, inner = drawn(
        context.inner(), node.binder, domain, None if domain is None else domain.ghost
    )
    test = None if node.condition is None else truth(inner, node.condition)
    if domain is None or (node.condition is not None and test is None):
        return None
    kind = as_collection(domain.type).element
    ghost = first_ghost(domain, test) or comparing(kind, node.span)
    condition = test.expr if test else None
    element = ir.Find(Option(kind), slot, domain.expr, condition, span=node.span)
    site = context.site("F905", node.span, "no element satisfies the condition")
    return Operand(content(context, element, node.span, site), ghost)


# ---------------------------------------------------------------- maps


FEW = 4
"""The maximum number of missing keys that a message names."""


def literal_map(context: Context, node: syntax.Map, expected: Type | None) -> Operand | None:
    """Elaborates ``[A: 1, B: 2]``. The keys must be constants, and each value of the key type must
    occur exactly once.
    """
    if isinstance(expected, Option):
        expected = expected.element
    expected_map = expected if isinstance(expected, Map) else None
    context.work.limit(len(node.entries), node.span)
    inner = context.inner()
    keys = _keys(inner, node, expected_map and expected_map.key)
    written = tuple(entry.value for entry in node.entries)
    operands = each(inner, written, expected_map and expected_map.value)
    if keys is None or operands is None:
        return None
    value = common(context, operands, written)
    if value is None:
        return None
    if expected_map and isinstance(expected_map.value, Option) and not isinstance(value, Option):
        value = Option(value)
    key = keys[0].type
    target = map_type(context, key, value, node.span)
    if target is None or not _all_there(context, keys, key, node):
        return None
    widened_values = [widened(operand, value) for operand in operands]
    expr = _built(context, target, keys, widened_values, node.span)
    return Operand(expr, first_ghost(*widened_values))


def _keys(context: Context, node: syntax.Map, kind: Type | None) -> list[ir.Literal] | None:
    """Elaborates the keys to literals of one type. Reports keys that are not constant or occur
    twice.
    """
    written = tuple(entry.key for entry in node.entries)
    operands = each(context, written, kind)
    kind = kind or (None if operands is None else common(context, operands, written))
    if operands is None or kind is None:
        return None
    keys: list[ir.Literal] = []
    first: dict[Value, Span] = {}
    for operand, part in zip(operands, written, strict=True):
        key = coerced(context, operand, kind, part.span, "the key")
        if key is None:
            return None
        if not isinstance(key.expr, ir.Literal):
            message = "the keys of a map literal are constants"
            note = (None, "the form with any keys is: [e for k in K], where K is a type")
            return context.report("F312", part.span, message, note)
        keys.append(key.expr)
        value = key.expr.value
        if value in first:
            message = f"{show(value, kind)} has a value already"
            return context.report("F312", part.span, message, (first[value], "first given here"))
        first[value] = part.span
    return keys


def _all_there(context: Context, keys: Sequence[ir.Literal], kind: Type, node: syntax.Map) -> bool:
    """Whether every value of the key type is among the keys. Reports F312 if one is missing."""
    assert countable(kind, MAX_KEYS)
    present = {key.value for key in keys}
    missing = [show(value, kind) for value in values(kind) if value not in present]
    if missing:
        rest = len(missing) - FEW
        named = missing if rest <= 0 else [*missing[:FEW], f"{rest} more"]
        message = f"a map has a value for every key, but this has none for {listing(named, 'and')}"
        context.report("F312", node.span, message)
    return not missing


def _built(
    context: Context, kind: Map, keys: Sequence[ir.Literal], operands: Sequence[Operand], span: Span
) -> ir.Expr:
    """Builds the map. All values are evaluated once, in the order of the text, before they are
    assigned to their keys.
    """
    slot = context.work.slot()
    key_local = ir.Local(kind.key, slot, span=span)

    def build(values: Sequence[ir.Expr]) -> ir.Expr:
        chosen = values[-1]
        for key, value in zip(reversed(keys[:-1]), reversed(values[:-1]), strict=True):
            test = ir.Equal(key_local, key, span=span)
            chosen = ir.Conditional(kind.value, test, value, chosen, span=span)
        return settled(ir.BuildMap(kind, slot, chosen, span=span), *values)

    return bound_all(context, [operand.expr for operand in operands], build)
