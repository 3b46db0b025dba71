"""Elaborates ``refinement R: m where x = e``. It builds a separate model for the module m, and
computes the image of a state in that model.

The engines compare the steps of the two models. A refinement matches members of enums and unions by
name, and records by the names of their fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.traverse import rebuilt, variables_read, walk
from fencepost.spec.core.type_relations import same_shape, set_type
from fencepost.spec.core.types import (
    Bag,
    Field,
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    has_ghost,
)
from fencepost.spec.elaborate.base.context import Context, Elaboration, Stop
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    Instance,
    ModuleEntity,
    Operand,
    VariableEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.partiality import bound, coerced, converted_value
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing, suggestion_or_all
from fencepost.spec.text.source import Span


class Machine(Protocol):
    """A module that is being built as a separate model (see `Assembly`)."""

    work: Elaboration
    root: Instance
    instances: list[Instance]
    entities: list[VariableEntity | ChannelEntity | None]

    def abstract(self) -> ir.Model: ...


def module(context: Context, node: syntax.RefinementDecl) -> Instance | None:
    """Returns the refined module. If the name does not denote a module, reports a problem and
    returns None.
    """
    entity = context.look_up(node.module)
    if entity is None:
        context.unknown(node.module, "module", kinds=(ModuleEntity,))
    elif isinstance(entity, ModuleEntity):
        return entity.instance
    elif not isinstance(entity, BrokenEntity):
        message = f'"{entity.name}" is {kind_of(entity)}: name an imported module'
        context.report("F834", node.module.span, message, (entity.span, "declared here"))
    return None


def refinement(
    context: Context, node: syntax.RefinementDecl, name: str, machine: Machine
) -> ir.Property | None:
    """Returns the property that a refinement declares. If the refinement is wrong, reports a
    problem and returns None.
    """
    work = context.work
    try:
        model = machine.abstract()
    except Stop:
        model = None
    errors = [
        problem
        for problem in machine.work.problems
        if not problem.warning and problem not in work.problems
    ]
    work.problems += errors
    if any(instance.file.broken.names for instance in (context.module, *machine.instances)):
        # The module may lack state that depends on a broken declaration.
        return None
    if model is None or errors or not _fits(context, node, model, machine):
        return None
    images = _images(context, node, model, machine.entities)
    if images is None:
        return None
    abstract = replace(without_ghosts(model), name=node.module.text)
    fields = tuple(Field(variable.name, variable.type) for variable in abstract.variables)
    record = Record(node.module.text, fields)
    body = ir.MakeRecord(record, images, span=node.span)
    return ir.Property(name, PropertyKind.REFINEMENT, body, node.name.span, abstract=abstract)


def _fits(context: Context, node: syntax.RefinementDecl, model: ir.Model, machine: Machine) -> bool:
    """Returns whether a module can be refined. Reports F834 if it cannot."""
    name, name_span = node.module.text, node.module.span

    def refuse(message: str, span: Span | None) -> bool:
        notes = () if span is None else ((span, "here"),)
        context.report("F834", name_span, message, *notes)
        return False

    if not model.variables:
        return refuse(f'module "{name}" has no state, so it cannot be refined', None)
    for instance in machine.instances:
        if instance.home == "":
            return refuse(f'module "{name}" shares state with this spec', None)
        for declared in _properties(instance.file):
            if PropertyKind.declared_by(declared.kind).bounds_search:
                message = (
                    f'module "{name}" has a constraint, but a refined module must not have one'
                )
                return refuse(message, declared.span)
    for variable in model.variables:
        if not variable.ghost and has_ghost(variable.type):
            message = f'"{variable.name}" of module "{name}" has ghost fields, which have no image'
            return refuse(message, variable.span)
    bodies = (model.initial, *(action.body for action in model.actions))
    if any(isinstance(part, ir.Symbol) for part in walk(bodies)):
        message = f'module "{name}" depends on a symbolic constant; give it a value in the check'
        return refuse(message, None)
    return True


def _properties(file: syntax.File) -> Iterator[syntax.PropertyDecl]:
    """Yields the properties of a module and of its roles."""
    for node in file.declarations:
        for member in node.members if isinstance(node, syntax.RoleDecl) else (node,):
            if isinstance(member, syntax.PropertyDecl):
                yield member


def _images(
    context: Context,
    node: syntax.RefinementDecl,
    model: ir.Model,
    entities: Sequence[VariableEntity | ChannelEntity | None],
) -> tuple[ir.Expr, ...] | None:
    """Returns the image of each non-ghost variable. If an image is missing or wrong, reports a
    problem, such as F835, and returns None.
    """
    numbers = {variable.name: number for number, variable in enumerate(model.variables)}
    required = [variable.name for variable in model.variables if not variable.ghost]
    images: dict[str, ir.Expr | None] = {}
    spans: dict[str, Span] = {}
    image_context = context.at(replace(context.position, convert=converted))
    for image in node.images:
        text = ".".join(part.text for part in image.path)
        span = _spanned(image.path)
        if text not in required:
            message = f'module "{node.module.text}" has no variable "{text}"'
            if text in numbers:
                message = f'"{text}" is a ghost, and ghosts have no images'
            hint = suggestion_or_all(text, required)
            context.report("F835", span, message + ("" if text in numbers else hint))
            continue
        if text in spans:
            note = (spans[text], "first given here")
            context.report("F835", span, f'"{text}" is given two images', note)
            continue
        spans[text], variable = span, model.variables[numbers[text]]
        _meant(context, image.path, entities[numbers[text]])
        note = (variable.span, f"{text} is declared here")
        value = converted_value(image_context, image.value, variable.type, text, note)
        images[text] = None if value is None else value.expr
    missing = [text for text in required if text not in spans]
    if missing:
        message = listing([f'"{text}"' for text in missing], "and")
        first = model.variables[numbers[missing[0]]]
        context.report(
            "F835",
            node.name.span,
            f'{message} of module "{node.module.text}" {"has" if len(missing) == 1 else "have"} '
            "no image: every variable except ghosts needs one",
            (first.span, f"{missing[0]} is declared here"),
        )
    result = [images.get(text) for text in required]
    return None if None in result else cast("tuple[ir.Expr, ...]", tuple(result))


def _spanned(path: Sequence[syntax.Name]) -> Span:
    """Returns the span from the first name of a path to its last."""
    return Span(path[0].span.source, path[0].span.start, path[-1].span.end)


def _meant(
    context: Context,
    path: Sequence[syntax.Name],
    entity: VariableEntity | ChannelEntity | None,
) -> None:
    """Records the meanings of the names on the left-hand side of an image."""
    if entity is None:
        return
    if isinstance(entity, VariableEntity) and entity.role is not None and len(path) > 1:
        context.meant(path[-2], entity.role, entity.module)
    context.meant(path[-1], entity, entity.module)


# ---------------------------------------------------------------- without ghosts


def without_ghosts(model: ir.Model) -> ir.Model:
    """Returns the model without ghost variables, coverage marks, and code that only serves ghosts.
    The remaining code does not read ghosts.
    """
    kept = [number for number, variable in enumerate(model.variables) if not variable.ghost]
    work = _Stripping(
        {old: new for new, old in enumerate(kept)},
        frozenset(number for number, variable in enumerate(model.variables) if variable.ghost),
    )
    return replace(
        model,
        variables=tuple(model.variables[number] for number in kept),
        initial=work.without(model.initial),
        actions=tuple(
            replace(
                action,
                body=work.without(action.body),
                channel=None if action.channel is None else work.numbers[action.channel],
            )
            for action in model.actions
        ),
        marks=(),
    )


class _Stripping:
    """Removes ghosts from code. ``numbers`` maps the old numbers of variables to the new ones.
    ``slots`` contains the slots that hold values of ghosts.
    """

    def __init__(self, numbers: Mapping[int, int], ghosts: frozenset[int]) -> None:
        self.numbers = numbers
        self.ghosts = ghosts
        self.slots: set[int] = set()

    def without(self, part: ir.Statement) -> ir.Statement:
        return cast("ir.Statement", self._part(part))

    def _reads(self, tree: object) -> bool:
        locals_ = (node.slot for node in walk(tree) if isinstance(node, ir.Local))
        reads = not self.ghosts.isdisjoint(variables_read(tree))
        return reads or not self.slots.isdisjoint(locals_)

    def _part(self, part: object) -> object:
        nothing = ir.Sequence(())
        match part:
            case ir.Mark():
                return nothing
            case ir.Assign(variable) if variable in self.ghosts:
                return nothing
            case ir.Ensure(condition) | ir.Assert(condition) | ir.If(condition) if self._reads(
                condition
            ):
                return nothing
            case ir.ForEach(_, domain) if self._reads(domain):
                return nothing
            case ir.Bind(slot, value, body) if self._reads(value):
                self.slots.add(slot)
                return self._part(body)
            case ir.Witness(_, body):
                return self._part(body)
            case ir.Assign(variable):
                renumbered = rebuilt(part, self._part)
                return replace(renumbered, variable=self.numbers[variable])
            case ir.Variable(_, index):
                return replace(part, index=self.numbers[index])
            case _:
                return rebuilt(part, self._part)


def converted(context: Context, expr: ir.Expr, target: Type, span: Span) -> ir.Expr | None:
    """Converts ``expr`` to a type that differs from ``target`` only in ranges and capacities.
    Returns None if a member or field has no counterpart.
    """
    if not _convertible(expr.type, target):
        return None
    return bound(context, expr, lambda value: _made(context, value, target, span))


def _convertible(source: Type, target: Type) -> bool:
    if same_shape(source, target):
        return True
    match source, target:
        case Nominal(members=members), Nominal(members=others):
            return set(members) <= set(others)
        case Union(variants=variants), Union(variants=others):
            named = {variant.name: variant.fields for variant in others}
            return all(
                variant.name in named and _fields_match(variant.fields, named[variant.name])
                for variant in variants
            )
        case Record(fields=fields), Record(fields=others):
            return _fields_match(fields, others)
        case (Set(a), Set(b)) | (Bag(a), Bag(b)) | (Seq(a), Seq(b)) | (Option(a), Option(b)):
            return _convertible(a, b)
        case Map(key, value), Map(other, other_value):
            same_keys = key == other
            if isinstance(key, Nominal) and isinstance(other, Nominal):
                same_keys = sorted(key.members) == sorted(other.members)
            return same_keys and _convertible(value, other_value)
        case _:
            return False


def _fields_match(fields: tuple[Field, ...], others: tuple[Field, ...]) -> bool:
    named = {field.name: field.type for field in fields if not field.ghost}
    return named.keys() == {field.name for field in others} and all(
        _convertible(named[field.name], field.type) for field in others
    )


def _made(context: Context, expr: ir.Expr, target: Type, span: Span) -> ir.Expr:
    source = expr.type
    if same_shape(source, target):
        return expr
    match source, target:
        case Nominal(members=members), Nominal(members=others):
            table = Map(source, target)
            value = tuple(others.index(name) for name in members)
            return ir.Get(target, ir.Literal(table, value, span=span), expr, span=span)
        case Union(variants=variants), Union():
            converted = [_variant(context, expr, tag, target, span) for tag in range(len(variants))]
            result = converted[-1]
            for tag in reversed(range(len(variants) - 1)):
                test = ir.HasTag(expr, tag, span=span)
                result = ir.Conditional(target, test, converted[tag], result, span=span)
            return result
        case Record(fields=fields), Record(fields=others):
            parts = {f.name: ir.GetField(f.type, expr, index) for index, f in enumerate(fields)}
            return ir.MakeRecord(target, _fields(context, parts, others, span), span=span)
        case Option(element), Option(target_part):
            inner = _made(context, ir.Content(element, expr, span=span), target_part, span)
            option = Option(inner.type)
            some, none = ir.Some(option, inner, span=span), ir.Literal(option, (), span=span)
            return ir.Conditional(option, ir.IsSome(expr, span=span), some, none, span=span)
        case Map(key, value), Map(other, target_part):
            slot = context.work.slot()
            back = _made(context, ir.Local(other, slot, span=span), key, span)
            body = _made(context, ir.Get(value, expr, back, span=span), target_part, span)
            return ir.BuildMap(Map(other, body.type), slot, body, span=span)
        case (Set(a), Set(b)) | (Bag(a), Bag(b)) | (Seq(a), Seq(b)):
            slot = context.work.slot()
            body = _made(context, ir.Local(a, slot, span=span), b, span)
            kind: Type
            match source:
                case Set():
                    kind = set_type(body.type, most(source))
                case Bag(_, capacity):
                    kind = Bag(body.type, capacity)
                case Seq(_, capacity):
                    kind = Seq(body.type, capacity)
            return ir.Collect(kind, slot, expr, None, body, span=span)
        case _:
            raise AssertionError((source, target))


def _variant(context: Context, expr: ir.Expr, tag: int, target: Union, span: Span) -> ir.Expr:
    """Converts ``expr``, whose tag is known to be ``tag``, to ``target``."""
    assert isinstance(expr.type, Union)
    variant = expr.type.variants[tag]
    wanted = next(n for n, other in enumerate(target.variants) if other.name == variant.name)
    parts = {f.name: ir.Payload(f.type, expr, tag, n) for n, f in enumerate(variant.fields)}
    values = _fields(context, parts, target.variants[wanted].fields, span)
    return ir.MakeVariant(target, wanted, values, span=span)


def _fields(
    context: Context, parts: Mapping[str, ir.Expr], fields: tuple[Field, ...], span: Span
) -> tuple[ir.Expr, ...]:
    """Converts the parts with the names of ``fields`` to the types of these fields."""
    values: list[ir.Expr] = []
    for field in fields:
        converted = coerced(context, Operand(parts[field.name]), field.type, span)
        assert converted is not None
        values.append(converted.expr)
    return tuple(values)
