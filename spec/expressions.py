"""Expressions: names, types and definedness resolved, from the surface tree to the typed core.

Checking runs with an expected type where there is one: it decides what a member's name, an
empty collection, ``none`` or a literal means. An operand that is wrong has been reported and is
None; whoever needs it stays silent. Names are in `names.py`, calls in `calls.py`.
"""

from __future__ import annotations

from typing import assert_never

from fencepost.spec import arithmetic, ir, syntax
from fencepost.spec.defined import (
    MOST_ITERATED,
    bound,
    coerced,
    content,
    element_at,
    join,
    same_shape,
    unified,
    widened,
)
from fencepost.spec.elaboration import Context, first_ghost
from fencepost.spec.entities import Ghost, Operand
from fencepost.spec.flow import when
from fencepost.spec.problem import suggestion
from fencepost.spec.resolve import (
    MOST_CAPACITY,
    countable,
    resolve,
)
from fencepost.spec.source import Span
from fencepost.spec.types import (
    SMALL_SET,
    Bag,
    Bool,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    cardinality,
    describe,
    has_ghost,
)

BOOL = Bool()


def truth(context: Context, node: syntax.Expr) -> Operand | None:
    """A condition: an expression of type bool."""
    operand = context.expression(node, BOOL)
    if operand is None:
        return None
    if operand.type != BOOL:
        context.report(
            "F301", node.span, f"a condition is wanted here, and this is {describe(operand.type)}"
        )
        return None
    return operand


# ---------------------------------------------------------------- truth


def unary(context: Context, node: syntax.Unary, expected: Type | None) -> Operand | None:
    """``not e`` or ``-e``."""
    inner = context.inner()
    if node.operator == "not":
        operand = truth(inner, node.operand)
        return operand and Operand(ir.Not(operand.expr, span=node.span), operand.ghost)
    if isinstance(node.operand, syntax.Integer):
        return integer(inner, -node.operand.value, node.span, expected)
    operand = inner.expression(node.operand, expected)
    return operand and arithmetic.negated(inner, operand, node.span)


def integer(context: Context, value: int, span: Span, expected: Type | None) -> Operand | None:
    """An integer literal; it adapts to an expected machine integer."""
    if isinstance(expected, Option):
        expected = expected.element
    if isinstance(expected, Machine):
        if not expected.low <= value <= expected.high:
            context.report(
                "F701",
                span,
                f"{describe(expected)} holds {expected.low}..{expected.high}, and this is {value}",
            )
            return None
        return Operand(ir.Literal(expected, value, span=span))
    if not -(1 << 63) <= value < 1 << 63:
        context.report("F702", span, "this number does not fit in 64 bits")
        return None
    return Operand(ir.Literal(Int(value, value), value, span=span))


def _chain(node: syntax.Expr, operator: str) -> list[syntax.Expr]:
    """The operands of a chain of one operator, from the left."""
    parts: list[syntax.Expr] = []
    while isinstance(node, syntax.Binary) and node.operator == operator:
        parts.append(node.right)
        node = node.left
    parts.append(node)
    return parts[::-1]


def conjunction(context: Context, parts: tuple[syntax.Expr, ...], span: Span) -> Operand | None:
    """All parts; each is read knowing that those before it hold."""
    operands: list[Operand | None] = []
    for part in parts:
        operand = truth(context, part)
        operands.append(operand)
        if operand is not None:
            context = context.learn(when(operand.expr, True))
    exprs = [operand.expr for operand in operands if operand is not None]
    if len(exprs) < len(operands):
        return None
    return Operand(ir.And(tuple(exprs), span=span), first_ghost(*operands))


def disjunction(context: Context, parts: tuple[syntax.Expr, ...], span: Span) -> Operand | None:
    """Some part; each is read knowing that those before it do not hold."""
    operands: list[Operand | None] = []
    for part in parts:
        operand = truth(context, part)
        operands.append(operand)
        if operand is not None:
            context = context.learn(when(operand.expr, False))
    exprs = [operand.expr for operand in operands if operand is not None]
    if len(exprs) < len(operands):
        return None
    return Operand(ir.Or(tuple(exprs), span=span), first_ghost(*operands))


def implication(context: Context, node: syntax.Binary) -> Operand | None:
    """``a implies b``; the antecedent of a property's outermost one is watched for vacuity."""
    inner = context.inner()
    left = truth(inner, node.left)
    right = truth(inner if left is None else inner.learn(when(left.expr, True)), node.right)
    if left is None or right is None:
        return None
    antecedent = left.expr
    if context.outermost:
        text = " ".join(node.left.span.text.split())
        mark = context.mark("antecedent", node.left.span, context.owner, text)
        antecedent = ir.Witness(mark, antecedent, span=node.left.span)
    expr = ir.Or((ir.Not(antecedent, span=node.left.span), right.expr), span=node.span)
    return Operand(expr, first_ghost(left, right))


# ---------------------------------------------------------------- comparison


def open_ended(context: Context, node: syntax.Expr) -> bool:
    """Whether what ``node`` is depends on what is expected of it."""
    match node:
        case syntax.Nothing() | syntax.Integer():
            return True
        case syntax.Unary(operator="-", operand=syntax.Integer()):
            return True
        case syntax.Collection(elements=elements):
            return all(open_ended(context, element) for element in elements)
        case syntax.Name(text=text):
            return (
                text not in context.locals
                and context.find(text) is None
                and len(context.members(text)) != 1
            )
        case syntax.Call(function=syntax.Name() as function):
            return context.find(function.text) is None and open_ended(context, function)
        case syntax.Conditional(then=then, otherwise=otherwise):
            return open_ended(context, then) and open_ended(context, otherwise)
        case _:
            return False


def pair(
    context: Context, left: syntax.Expr, right: syntax.Expr, expected: Type | None = None
) -> tuple[Operand | None, Operand | None]:
    """Two operands that should be of one type; each may tell what the other is."""
    if open_ended(context, left) and not open_ended(context, right):
        second = context.expression(right, expected)
        return context.expression(left, second.type if second else expected), second
    first = context.expression(left, expected)
    return first, context.expression(right, first.type if first else expected)


def equality(context: Context, node: syntax.Binary) -> Operand | None:
    """``a == b`` or ``a != b``."""
    left, right = pair(context, node.left, node.right)
    if left is None or right is None:
        return None
    both = unified(context, left, right, node.span, "this compares")
    if both is None:
        return None
    ghost = first_ghost(left, right) or comparing(both[2], node.span)
    expr: ir.Expr = ir.Equal(both[0].expr, both[1].expr, span=node.span)
    return Operand(ir.Not(expr, span=node.span) if node.operator == "!=" else expr, ghost)


def comparing(kind: Type, span: Span) -> Ghost | None:
    """Why comparing values of ``kind`` looks at ghosts."""
    if has_ghost(kind):
        return Ghost(span, f"this compares values of {describe(kind)}, which has ghost fields")
    return None


def order(context: Context, node: syntax.Binary) -> Operand | None:
    """``<``, ``<=``, ``>`` or ``>=`` of two integers."""
    left, right = pair(context, node.left, node.right)
    if left is None or right is None:
        return None
    for operand, side in ((left, node.left), (right, node.right)):
        if not isinstance(operand.type, Int | Machine):
            context.report(
                "F308",
                side.span,
                f"{node.operator} compares integers, and this is {describe(operand.type)}",
            )
            return None
    both = unified(context, left, right, node.span, "this compares")
    if both is None:
        return None
    small, large = both[0].expr, both[1].expr
    if node.operator in (">", ">="):
        # The operands keep their order of evaluation: it decides which error is met first.
        less: ir.Expr = ir.Not(
            ir.Less(small, large, or_equal=node.operator == ">", span=node.span), span=node.span
        )
    else:
        less = ir.Less(small, large, or_equal=node.operator == "<=", span=node.span)
    return Operand(less, first_ghost(left, right))


def membership(context: Context, node: syntax.Binary) -> Operand | None:
    """``e in S`` or ``e not in S``."""
    element: Operand | None
    if isinstance(node.right, syntax.Collection) or open_ended(context, node.right):
        element = context.expression(node.left)
        wanted = None if element is None else Set(element.type)
        collection = context.expression(node.right, wanted)
    else:
        collection = elements(context, node.right, iterated=False)
        inner = _element(collection.type) if collection else None
        element = context.expression(node.left, inner)
    if element is None or collection is None:
        return None
    inner = _element(collection.type)
    if inner is None:
        _no_collection(context, node.right.span, collection.type)
        return None
    target = join(element.type, inner)
    if target is None:
        context.report(
            "F302",
            node.span,
            f"this looks for {describe(element.type)} among {describe(inner)}",
        )
        return None
    ghost = first_ghost(element, collection) or comparing(inner, node.span)
    expr = _contains(context, element.expr, collection.expr, node.span)
    return Operand(ir.Not(expr, span=node.span) if node.operator == "not in" else expr, ghost)


def _contains(context: Context, element: ir.Expr, collection: ir.Expr, span: Span) -> ir.Expr:
    inner = _element(collection.type)
    assert inner is not None
    if isinstance(collection, ir.Universe):
        if same_shape(element.type, inner):
            return ir.Fits(element, inner, span=span)
    elif isinstance(collection, ir.Literal) and isinstance(collection.value, tuple):
        # A few equalities are cheaper than a set, in every engine.
        if 0 < len(collection.value) <= 8:
            target = join(element.type, inner)
            assert target is not None
            options = [ir.Literal(inner, value, span=span) for value in collection.value]
            whole = widened(Operand(element), target).expr
            return bound(
                context,
                whole,
                lambda e: ir.Or(
                    tuple(
                        ir.Equal(e, widened(Operand(option), target).expr, span=span)
                        for option in options
                    ),
                    span=span,
                ),
            )
    target = join(element.type, inner)
    assert target is not None
    if isinstance(inner, Option) and not isinstance(element.type, Option):
        element = widened(Operand(element), target).expr
    return ir.Contains(collection, element, span=span)


def is_test(context: Context, node: syntax.Is) -> Operand | None:
    """``m is Marker``."""
    operand = context.expression(node.operand)
    if operand is None:
        return None
    tag = member_of(context, node.member, operand.type)
    if tag is None:
        return None
    expr: ir.Expr
    if isinstance(operand.type, Union):
        expr = ir.HasTag(operand.expr, tag, span=node.span)
    else:
        expr = ir.Equal(operand.expr, ir.Literal(operand.type, tag), span=node.span)
    return Operand(ir.Not(expr, span=node.span) if node.negated else expr, operand.ghost)


def member_of(context: Context, node: syntax.Expr, kind: Type) -> int | None:
    """The number of the member of ``kind`` (an enum or union) that ``node`` names."""
    from_type = member_names(kind)
    if from_type is None:
        context.report(
            "F309",
            node.span,
            f"`is` and patterns tell the members of an enum or union apart, and this is"
            f" {describe(kind)}",
        )
        return None
    name = node.name if isinstance(node, syntax.Attribute) else node
    assert isinstance(name, syntax.Name)
    if isinstance(node, syntax.Attribute) and not _names_type(context, node.base, kind):
        return None
    if name.text not in from_type:
        if name.text not in context.module.file.broken.names:
            hint = suggestion(name.text, from_type)
            context.report("F211", node.span, f'{describe(kind)} has no member "{name.text}"{hint}')
        return None
    return from_type.index(name.text)


def _names_type(context: Context, base: syntax.Expr, kind: Type) -> bool:
    """Whether ``base`` (in front of a member) is the type ``kind``, or a module that has it."""
    if isinstance(base, syntax.Name) and type(context.find(base.text)).__name__ == "ModuleEntity":
        return True
    resolved = resolve(context, base)
    if resolved is not None and resolved != kind:
        context.report(
            "F302", base.span, f"this is {describe(resolved)}, and {describe(kind)} is matched"
        )
    return resolved == kind


def member_names(kind: Type) -> tuple[str, ...] | None:
    """The members of an enum or the variants of a union; None for any other type."""
    if isinstance(kind, Union):
        return tuple(variant.name for variant in kind.variants)
    return getattr(kind, "members", None)


# ---------------------------------------------------------------- collections


def _element(kind: Type) -> Type | None:
    return kind.element if isinstance(kind, Set | Seq | Bag) else None


def _no_collection(context: Context, span: Span, kind: Type) -> None:
    hint = "; name its key type to go through its keys" if isinstance(kind, Map) else ""
    context.report(
        "F311",
        span,
        f"a set, sequence, bag or finite type is wanted here, and this is {describe(kind)}{hint}",
    )


def elements(
    context: Context, node: syntax.Expr, *, iterated: bool = True, expected: Type | None = None
) -> Operand | None:
    """A collection, or a finite type in its place; ``iterated`` bounds its size (F710)."""
    operand = context.inner().expression(node, expected)
    if operand is None:
        return None
    kind = operand.type
    if _element(kind) is None:
        _no_collection(context, node.span, kind)
        return None
    if iterated and isinstance(operand.expr, ir.Universe | ir.Interval):
        assert isinstance(kind, Set)
        if not countable(kind.element, MOST_ITERATED):
            context.report(
                "F710",
                node.span,
                f"{describe(kind.element)} has too many values to go through, more than"
                f" {MOST_ITERATED}",
            )
            return None
    return operand


def most(kind: Type) -> int:
    """The most elements that a collection of this type can have."""
    match kind:
        case Set(element, None):
            return cardinality(element)
        case Set(_, capacity) | Seq(_, capacity) | Bag(_, capacity):
            assert capacity is not None
            return capacity
        case _:
            raise AssertionError(kind)


def set_of(context: Context, element: Type, size: int, span: Span) -> Set | None:
    """The type of a set of at most ``size`` elements of a type."""
    if countable(element, SMALL_SET):
        return Set(element)
    if size > MOST_CAPACITY:
        context.report(
            "F705", span, f"this set can have {size} elements, more than {MOST_CAPACITY}"
        )
        return None
    return Set(element, size)


def literal_collection(
    context: Context, node: syntax.Collection, expected: Type | None
) -> Operand | None:
    """``[a, b]`` or ``{a, b}``."""
    inner = context.inner()
    if isinstance(expected, Option):
        expected = expected.element
    wanted = _element(expected) if expected is not None else None
    if not node.elements:
        if isinstance(expected, Set) or (isinstance(expected, Seq | Bag) and node.brackets == "[]"):
            return Operand(ir.Literal(expected, (), span=node.span))
        context.report(
            "F307", node.span, "the type of this empty collection cannot be told from its place"
        )
        return None
    operands: list[Operand | None] = [None] * len(node.elements)
    # What an element is may follow from the others, so those that know are read first.
    places = sorted(range(len(operands)), key=lambda i: open_ended(inner, node.elements[i]))
    for place in places:
        operands[place] = inner.expression(node.elements[place], wanted)
        found = operands[place]
        if wanted is None and found is not None and not isinstance(found.type, Int):
            wanted = found.type
    good = [operand for operand in operands if operand is not None]
    if len(good) < len(operands):
        return None
    kind = good[0].type
    for operand, written in zip(good, node.elements, strict=True):
        joint = join(kind, operand.type)
        if joint is None:
            context.report(
                "F302",
                written.span,
                f"this is {describe(operand.type)}, and the elements before it are"
                f" {describe(kind)}",
            )
            return None
        kind = joint
    ghost = first_ghost(*good)
    target: Type | None
    if node.brackets == "{}":
        target = set_of(context, kind, len(good), node.span)
        if has_ghost(kind):
            ghost = Ghost(node.span, f"a set depends on the ghost fields of {describe(kind)}")
    elif isinstance(expected, Bag):
        target = Bag(kind, len(good))
    else:
        target = Seq(kind, len(good))
    if target is None:
        return None
    parts = tuple(widened(operand, kind).expr for operand in good)
    return Operand(_built(target, parts, node.span), ghost)


def _built(target: Type, parts: tuple[ir.Expr, ...], span: Span) -> ir.Expr:
    values = [part.value for part in parts if isinstance(part, ir.Literal)]
    if len(values) == len(parts):
        if isinstance(target, Set):
            values = sorted(set(values))  # type: ignore[type-var]  # one type, so comparable
        elif isinstance(target, Bag):
            values = sorted(values)  # type: ignore[type-var]  # one type, so comparable
        return ir.Literal(target, tuple(values), span=span)
    return ir.Build(target, parts, span=span)


def comprehension(
    context: Context,
    node: syntax.Comprehension,
    expected: Type | None,
    sequence: bool = False,
) -> Operand | None:
    """``{e for x in S if p}``, ``[e for x in S if p]``, or a map, ``[e for k in K]``.

    With ``sequence``, brackets always make a sequence.
    """
    if isinstance(expected, Option):
        expected = expected.element
    domain = elements(context, node.binder.domain)
    if domain is None:
        context.inner().bind(node.binder.name, None)
        return None
    kind = _element(domain.type)
    assert kind is not None
    whole = isinstance(domain.expr, ir.Universe)
    mapping = (
        node.brackets == "[]"
        and not sequence
        and (isinstance(expected, Map) or (whole and not isinstance(expected, Seq | Bag)))
    )
    slot = context.work.slot()
    inner = context.inner().bind(
        node.binder.name, Operand(ir.Local(kind, slot, span=node.binder.name.span), domain.ghost)
    )
    condition = None if node.condition is None else truth(inner, node.condition)
    if node.condition is not None and condition is None:
        return None
    if condition is not None:
        inner = inner.learn(when(condition.expr, True))
    wanted = _element(expected) if expected is not None else None
    if mapping:
        wanted = expected.value if isinstance(expected, Map) else None
    element = inner.expression(node.element, wanted)
    if element is None:
        return None
    if mapping:
        return _mapping(context, node, expected, domain, element, slot)
    ghost = first_ghost(domain, condition, element) or going_through(domain.type, node.span)
    size = most(domain.type)
    target: Type | None
    if node.brackets == "{}":
        target = set_of(context, element.type, size, node.span)
        if has_ghost(element.type):
            ghost = Ghost(
                node.span, f"a set depends on the ghost fields of {describe(element.type)}"
            )
    elif size > MOST_CAPACITY:
        context.report(
            "F705", node.span, f"this sequence can have {size} elements, more than {MOST_CAPACITY}"
        )
        return None
    else:
        target = Bag(element.type, size) if isinstance(expected, Bag) else Seq(element.type, size)
    if target is None:
        return None
    test = None if condition is None else condition.expr
    return Operand(ir.Collect(target, slot, domain.expr, test, element.expr, span=node.span), ghost)


def _mapping(
    context: Context,
    node: syntax.Comprehension,
    expected: Type | None,
    domain: Operand,
    element: Operand,
    slot: int,
) -> Operand | None:
    kind = _element(domain.type)
    assert kind is not None
    if not isinstance(domain.expr, ir.Universe) or node.condition is not None:
        context.report(
            "F312", node.span, "a map has a value for every key: [e for k in K], where K is a type"
        )
        return None
    if isinstance(expected, Map) and expected.key != kind:
        context.report(
            "F302",
            node.binder.domain.span,
            f"the keys are {describe(expected.key)}, and this is {describe(kind)}",
        )
        return None
    if isinstance(expected, Map):
        converted = coerced(context, element, expected.value, node.element.span, "the map")
        if converted is None:
            return None
        element = converted
    target = Map(kind, element.type)
    return Operand(ir.BuildMap(target, slot, element.expr, span=node.span), element.ghost)


def going_through(kind: Type, span: Span) -> Ghost | None:
    """Why going through a collection of this type looks at ghosts (a bag's order does)."""
    if isinstance(kind, Bag) and has_ghost(kind.element):
        return Ghost(
            span, f"the order of a bag depends on the ghost fields of {describe(kind.element)}"
        )
    return None


def quantifier(context: Context, node: syntax.Quantifier) -> Operand | None:
    """``forall x in S, y in T: e`` or ``exists``."""
    every = node.kind == "forall"
    inner = context if every else context.inner()
    outer: list[tuple[int, str, Operand]] = []
    good = True
    for binder in node.binders:
        domain = elements(inner, binder.domain)
        if domain is None:
            good = False
            inner = inner.bind(binder.name, None)
            continue
        kind = _element(domain.type)
        assert kind is not None
        slot = context.work.slot()
        # Unlike elsewhere, the order of a bag (which ghost fields decide) does not matter here.
        local = Operand(ir.Local(kind, slot, span=binder.name.span), domain.ghost)
        inner = inner.bind(binder.name, local)
        outer.append((slot, binder.name.text, domain))
    body = truth(inner, node.body)
    if body is None or not good:
        return None
    expr, ghost = body.expr, body.ghost
    for slot, name, domain in reversed(outer):
        expr = ir.Quantified(every, slot, domain.expr, expr, name=name, span=node.span)
        ghost = ghost or domain.ghost
    return Operand(expr, ghost)


def choice(context: Context, node: syntax.Choose) -> Operand | None:
    """``choose x in S where p``."""
    found = find(context, node.binder, node.condition, node.span)
    if found is None:
        return None
    site = context.site("F905", node.span, "there is no such element to choose")
    return Operand(content(context, found.expr, node.span, site), found.ghost)


def find(
    context: Context, binder: syntax.Binder, condition: syntax.Expr | None, span: Span
) -> Operand | None:
    """The least element that fits, as an option."""
    domain = elements(context, binder.domain)
    kind = _element(domain.type) if domain else None
    slot = context.work.slot()
    local = None if kind is None else Operand(ir.Local(kind, slot, span=binder.name.span))
    inner = context.inner().bind(binder.name, local)
    test = None if condition is None else truth(inner, condition)
    if domain is None or kind is None or (condition is not None and test is None):
        return None
    ghost = first_ghost(domain, test) or going_through(domain.type, span)
    expr = ir.Find(Option(kind), slot, domain.expr, test.expr if test else None, span=span)
    return Operand(expr, ghost)


# ---------------------------------------------------------------- the rest


def conditional(
    context: Context, node: syntax.Conditional, expected: Type | None
) -> Operand | None:
    """``if c then a else b``."""
    inner = context.inner()
    condition = truth(inner, node.condition)
    yes = inner if condition is None else inner.learn(when(condition.expr, True))
    no = inner if condition is None else inner.learn(when(condition.expr, False))
    if expected is None and open_ended(yes, node.then) and not open_ended(no, node.otherwise):
        otherwise = no.expression(node.otherwise)
        then = yes.expression(node.then, otherwise.type if otherwise else None)
    else:
        then = yes.expression(node.then, expected)
        otherwise = no.expression(node.otherwise, expected or (then.type if then else None))
    if condition is None or then is None or otherwise is None:
        return None
    both = unified(context, then, otherwise, node.span, "the arms are")
    if both is None:
        return None
    expr = ir.Conditional(both[2], condition.expr, both[0].expr, both[1].expr, span=node.span)
    return Operand(expr, first_ghost(condition, then, otherwise))


def indexed(context: Context, node: syntax.Index, expected: Type | None) -> Operand | None:
    """``q[i]``, ``m[k]``, ``m[a, b]``; channel families and types are met by `names.py`."""
    inner = context.inner()
    base = inner.expression(node.base)
    for written in node.arguments:
        index = inner.expression(
            written, base.type.key if base and isinstance(base.type, Map) else None
        )
        if base is None or index is None:
            base = None
            continue
        base = _index(context, base, index, node, written)
    return base


def _index(
    context: Context, base: Operand, index: Operand, node: syntax.Index, written: syntax.Expr
) -> Operand | None:
    match base.type:
        case Seq():
            if not isinstance(index.type, Int):
                context.report(
                    "F301",
                    written.span,
                    f"an index is an integer, and this is {describe(index.type)}",
                )
                return None
            expr = element_at(context, base.expr, index.expr, node.span)
        case Map(key, value):
            converted = coerced(context, index, key, written.span, "the key")
            if converted is None:
                return None
            expr = ir.Get(value, base.expr, converted.expr, span=node.span)
        case other:
            context.report(
                "F313", node.span, f"a sequence or map is indexed, and this is {describe(other)}"
            )
            return None
    return Operand(expr, first_ghost(base, index))


def field_of(context: Context, node: syntax.Attribute) -> Operand | None:
    """``r.f``: a field of a record, or of a variant that is known here."""
    operand = context.inner().expression(node.base)
    if operand is None:
        return None
    name = node.name.text
    kind = operand.type
    if isinstance(kind, Record):
        for index, item in enumerate(kind.fields):
            if item.name == name:
                ghost = operand.ghost or ghost_field(item.ghost, name, node.span)
                return Operand(ir.GetField(item.type, operand.expr, index, span=node.span), ghost)
        hint = suggestion(name, [item.name for item in kind.fields])
        context.report("F314", node.name.span, f'{describe(kind)} has no field "{name}"{hint}')
        return None
    if isinstance(kind, Union):
        return _payload(context, node, operand, kind)
    hint = "; `!` unwraps an option" if isinstance(kind, Option) else ""
    context.report("F314", node.name.span, f'{describe(kind)} has no field "{name}"{hint}')
    return None


def ghost_field(is_ghost: bool, name: str, span: Span) -> Ghost | None:
    """Why reading a field is reading a ghost."""
    return Ghost(span, f'"{name}" is a ghost field') if is_ghost else None


def _payload(
    context: Context, node: syntax.Attribute, operand: Operand, kind: Union
) -> Operand | None:
    name = node.name.text
    holders = {
        tag: [item.name for item in variant.fields].index(name)
        for tag, variant in enumerate(kind.variants)
        if any(item.name == name for item in variant.fields)
    }
    if not holders:
        names = [item.name for variant in kind.variants for item in variant.fields]
        context.report(
            "F314",
            node.name.span,
            f'no variant of {describe(kind)} has a field "{name}"{suggestion(name, names)}',
        )
        return None
    possible = context.facts.get(operand.expr, frozenset(range(len(kind.variants))))
    if not possible <= holders.keys():
        variants = " or ".join(kind.variants[tag].name for tag in holders)
        context.report(
            "F315",
            node.span,
            f'"{name}" is a field of {variants}; `is` or `match` must establish before that this'
            " is one",
        )
        return None
    result: Operand | None = None
    for tag in sorted(possible, reverse=True):
        item = kind.variants[tag].fields[holders[tag]]
        ghost = operand.ghost or ghost_field(item.ghost, name, node.span)
        this = Operand(
            ir.Payload(item.type, operand.expr, tag, holders[tag], span=node.span), ghost
        )
        if result is None:
            result = this
            continue
        both = unified(context, this, result, node.span, f'"{name}" can be')
        if both is None:
            return None
        test = ir.HasTag(operand.expr, tag, span=node.span)
        expr = ir.Conditional(both[2], test, both[0].expr, both[1].expr, span=node.span)
        result = Operand(expr, first_ghost(this, result))
    return result


def with_field(context: Context, node: syntax.With) -> Operand | None:
    """``r with f: e``."""
    inner = context.inner()
    operand = inner.expression(node.record)
    if operand is None:
        inner.expression(node.value)
        return None
    kind = operand.type
    names = [item.name for item in kind.fields] if isinstance(kind, Record) else []
    if not isinstance(kind, Record) or node.name.text not in names:
        hint = suggestion(node.name.text, names)
        context.report(
            "F314", node.name.span, f'{describe(kind)} has no field "{node.name.text}"{hint}'
        )
        return None
    index = names.index(node.name.text)
    item = kind.fields[index]
    value = coerced(
        context, inner.expression(node.value, item.type), item.type, node.value.span, item.name
    )
    if value is None:
        return None
    ghost = operand.ghost or (None if item.ghost else value.ghost)
    return Operand(ir.WithField(kind, operand.expr, index, value.expr, span=node.span), ghost)


def unwrapped(context: Context, node: syntax.Unwrap) -> Operand | None:
    """``e!``."""
    operand = context.inner().expression(node.operand)
    if operand is None:
        return None
    if not isinstance(operand.type, Option):
        context.report(
            "F316", node.span, f"`!` unwraps an option, and this is {describe(operand.type)}"
        )
        return None
    site = context.site("F906", node.span, "this is none, and `!` unwraps a value")
    return Operand(content(context, operand.expr, node.span, site), operand.ghost)


def interval(context: Context, node: syntax.Range) -> Operand | None:
    """``low..high`` as a set."""
    inner = context.inner()
    low, high = inner.expression(node.low), inner.expression(node.high)
    if low is None or high is None:
        return None
    for operand, side in ((low, node.low), (high, node.high)):
        if not isinstance(operand.type, Int):
            context.report(
                "F301",
                side.span,
                f"an integer is wanted here, and this is {describe(operand.type)}",
            )
            return None
    assert isinstance(low.type, Int)
    assert isinstance(high.type, Int)
    least, greatest = low.type.low, high.type.high
    if isinstance(low.expr, ir.Literal) and isinstance(high.expr, ir.Literal):
        if least > greatest:
            return Operand(ir.Literal(Set(Int(greatest, least)), (), span=node.span))
        return Operand(ir.Universe(Set(Int(least, greatest)), span=node.span))
    kind = Set(Int(min(least, greatest), max(least, greatest)))
    return Operand(ir.Interval(kind, low.expr, high.expr, span=node.span), first_ghost(low, high))


def universe(context: Context, kind: Type | None, span: Span) -> Operand | None:
    """A finite type as the set of its values."""
    if kind is None:
        return None
    if not countable(kind, 1 << 64):
        context.report("F710", span, f"{describe(kind)} has too many values to be used as a set")
        return None
    return Operand(ir.Universe(Set(kind), span=span))


def binary(context: Context, node: syntax.Binary, expected: Type | None) -> Operand | None:
    """``left operator right``."""
    inner = context.inner()
    match node.operator:
        case "and":
            return conjunction(inner, tuple(_chain(node, "and")), node.span)
        case "or":
            return disjunction(inner, tuple(_chain(node, "or")), node.span)
        case "implies":
            return implication(context, node)
        case "iff":
            left, right = truth(inner, node.left), truth(inner, node.right)
            if left is None or right is None:
                return None
            expr = ir.Equal(left.expr, right.expr, span=node.span)
            return Operand(expr, first_ghost(left, right))
        case "==" | "!=":
            return equality(inner, node)
        case "<" | "<=" | ">" | ">=":
            return order(inner, node)
        case "in" | "not in":
            return membership(inner, node)
        case "+" | "-" | "*" | "//" | "%" | "|" | "&":
            left, right = pair(inner, node.left, node.right, expected)
            if left is None or right is None:
                return None
            return arithmetic.combined(inner, node.operator, left, right, node.span)
        case _:
            assert_never(node.operator)


def lines(context: Context, node: syntax.Conjunction) -> Operand | None:
    """The lines of a block, conjoined; each may hold an outermost implication."""
    return conjunction(context, node.lines, node.span)
