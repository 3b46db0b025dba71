"""Which types agree: of every node's operands with each other and with its result.

`Operands` checks one expression in its scope; `Report` collects what is wrong. Statements and the
tables of a model are checked by `legal`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from fencepost.spec.core import ir, types
from fencepost.spec.core.intervals import result_range
from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.type_relations import element_of, same_shape, within
from fencepost.spec.core.types import Bool, Type, Value

Slots: TypeAlias = Mapping[int, Type]


def is_value(value: Value, kind: Type) -> bool:
    """Whether ``value`` is written as a value of ``kind``, and is one."""
    match kind, value:
        case Bool(), bool():
            return True
        case ((types.Int(low, high) | types.Machine(low=low, high=high)), int()):
            return not isinstance(value, bool) and low <= value <= high
        case types.Enum(members=members), int():
            return not isinstance(value, bool) and 0 <= value < len(members)
        case types.Record(fields=fields), tuple():
            return _are_values(value, [field.type for field in fields])
        case types.Union(variants=variants), (int(tag), *payload) if 0 <= tag < len(variants):
            return _are_values(tuple(payload), [field.type for field in variants[tag].fields])
        case types.Option(element), tuple():
            return value == () or (len(value) == 1 and is_value(value[0], element))
        case types.Map(key, item), tuple():
            return len(value) == types.cardinality(key) and all(is_value(v, item) for v in value)
        case ((types.Set() | types.Seq() | types.Bag()), tuple()):
            if kind.capacity is not None and len(value) > kind.capacity:
                return False
            if isinstance(kind, types.Set) and len(set(value)) < len(value):
                return False
            if not all(is_value(item, kind.element) for item in value):
                return False
            items: tuple[Any, ...] = value
            return isinstance(kind, types.Seq) or items == tuple(sorted(items))
        case _:
            return False


def _are_values(items: tuple[Value, ...], kinds: Sequence[Type]) -> bool:
    return len(items) == len(kinds) and all(map(is_value, items, kinds))


def goes_into(source: Type, target: Type) -> bool:
    """Whether a value of ``source`` may stand where one of ``target`` is wanted."""
    return same_shape(source, target) and within(source, target)


@dataclass(slots=True)
class Report:
    """What is wrong with a model. ``where`` is the part being looked at, ``mode`` says what kind
    of part it is, ``bound`` are the slots bound so far, anywhere.
    """

    model: ir.Model
    found: list[str] = field(default_factory=list[str])
    where: str = ""
    mode: Literal["action", "state", "step", "constant"] = "constant"
    bound: set[int] = field(default_factory=set[int])

    def expect(self, holds: bool, *problem: object) -> None:
        """Reports a problem, given as words and values, unless the condition holds."""
        if not holds:
            self.found.append(f"{self.where}: {' '.join(map(str, problem))}")

    def number(self, number: int, table: Sequence[object], what: str) -> None:
        self.expect(0 <= number < len(table), "no", what, number)

    def range_of(self, kind: Type) -> None:
        """What stands in ``kind``: integers of at most 64 bits, and sets that have an end."""
        match kind:
            case types.Int(low, high):
                inside = low >= types.INT64_LOW and high <= types.INT64_HIGH
                self.expect(inside, kind, "exceeds 64 bits")
            case types.Machine(bits):
                self.expect(2 <= bits <= 64, kind, "has no width of 2 to 64 bits")
            case types.Record(fields=fields):
                for field in fields:
                    self.range_of(field.type)
            case types.Union(variants=variants):
                for variant in variants:
                    for field in variant.fields:
                        self.range_of(field.type)
            case types.Option(element):
                self.range_of(element)
            case types.Set(element, capacity):
                small = capacity is not None or countable(element, types.SMALL_SET)
                self.expect(small, kind, "has no capacity")
                self.range_of(element)
            case types.Seq(element) | types.Bag(element):
                self.range_of(element)
            case types.Map(key, value):
                self.range_of(key)
                self.range_of(value)
            case types.Bool() | types.Enum():
                pass

    def bind(self, slot: int, kind: Type, slots: Slots) -> Slots:
        self.expect(0 <= slot < self.model.slots, "no slot", slot)
        self.expect(slot not in self.bound, "slot", slot, "is bound twice")
        self.bound.add(slot)
        return {**slots, slot: kind}


class Operands:
    """The check of one expression, its free slots and the variables that have a value given."""

    def __init__(self, report: Report, slots: Slots, assigned: frozenset[int]) -> None:
        self.report = report
        self.slots = slots
        self.assigned = assigned
        self.expect = report.expect

    def see(self, expr: ir.Expr) -> Type:
        """Checks an expression; its type."""
        self.check(expr)
        return expr.type

    def into(self, expr: ir.Expr, target: Type) -> None:
        self.goes_into(self.see(expr), target)

    def truth(self, *exprs: ir.Expr | None) -> None:
        for expr in exprs:
            if expr is not None:
                kind = self.see(expr)
                self.expect(kind == ir.BOOL, kind, "is no condition")

    def integer(self, *exprs: ir.Expr) -> None:
        for expr in exprs:
            kind = self.see(expr)
            self.expect(isinstance(kind, types.Int | types.Machine), kind, "is no integer")

    def elements(self, expr: ir.Expr) -> Type:
        """The element type of a collection."""
        kind = self.see(expr)
        self.expect(element_of(kind) is not None, kind, "is no collection")
        return element_of(kind) or kind

    def under(self, slot: int, kind: Type) -> Operands:
        """The scope inside a node that binds ``slot``."""
        return Operands(self.report, self.report.bind(slot, kind, self.slots), self.assigned)

    def goes_into(self, source: Type, target: Type) -> None:
        self.expect(goes_into(source, target), source, "where", target, "is wanted")

    def same_shape(self, one: Type, other: Type) -> None:
        self.expect(same_shape(one, other), one, "beside", other)

    def check(self, expr: ir.Expr) -> None:
        model = self.report.model
        # Of a type or range that stands for a set, one goes through the elements, or asks for one.
        whole = isinstance(expr, ir.Universe | ir.Interval)
        kind = element_of(expr.type) if whole else expr.type
        self.report.range_of(kind or expr.type)
        match expr:
            case ir.Literal(kind, value):
                self.expect(is_value(value, kind), value, "is no value of", kind)
            case ir.Symbol(kind, index):
                self.report.number(index, model.symbols, "symbolic constant")
                if 0 <= index < len(model.symbols):
                    declared = model.symbols[index].type
                    self.expect(kind == declared, "symbolic constant", index, "as a", kind)
            case ir.Variable(kind, index, next):
                self.report.number(index, model.variables, "variable")
                if 0 <= index < len(model.variables):
                    self.expect(
                        kind == model.variables[index].type, "variable", index, "as a", kind
                    )
                    self.expect(index in self.assigned, "variable", index, "has no value yet")
                self.expect(not next or self.report.mode == "step", "next outside a step invariant")
            case ir.Local(kind, slot):
                self.expect(slot in self.slots, "slot", slot, "is not bound")
                if slot in self.slots:
                    self.expect(kind == self.slots[slot], "slot", slot, "as a", kind)
            case ir.Let(kind, slot, bound, body):
                self.under(slot, self.see(bound)).into(body, kind)
            case ir.Demand(kind, condition, site, body):
                self.truth(condition)
                self.report.number(site, model.sites, "site")
                self.into(body, kind)
            case ir.Not(operand):
                self.truth(operand)
            case ir.And(parts) | ir.Or(parts):
                self.truth(*parts)
            case ir.Conditional(kind, condition, then, otherwise):
                self.truth(condition)
                self.into(then, kind)
                self.into(otherwise, kind)
            case ir.Witness(mark, body):
                self.report.number(mark, model.marks, "mark")
                self.truth(body)
            case ir.Observe(kind, _, condition, operands, body):
                self.truth(condition)
                self.expect(len(operands) <= 4, "more than four values are observed")
                for operand in operands:
                    seen = self.see(operand)
                    scalar = isinstance(seen, Bool | types.Int | types.Machine)
                    self.expect(scalar, seen, "is observed")
                self.into(body, kind)
            case ir.Equal(left, right):
                self.same_shape(self.see(left), self.see(right))
            case ir.Less(left, right):
                self.same_shape(self.see(left), self.see(right))
            case ir.Enabled(action, instance):
                self.report.number(action, model.actions, "action")
                self.expect(self.report.mode in ("state", "step"), "enabled outside a property")
                if instance is not None:
                    self.see(instance)
            case ir.Arithmetic() | ir.Negate() | ir.Fits() | ir.Convert() | ir.Interval():
                self.number(expr)
            case (
                ir.MakeRecord() | ir.GetField() | ir.WithField() | ir.MakeVariant() | ir.HasTag()
                | ir.Payload() | ir.Some() | ir.IsSome() | ir.Content()
            ):  # fmt: skip
                self.structure(expr)
            case _:
                self.collection(expr)

    def number(
        self,
        expr: ir.Arithmetic | ir.Negate | ir.Fits | ir.Convert | ir.Interval,
    ) -> None:
        match expr:
            case ir.Arithmetic(kind, operator, left, right):
                self.integer(left, right)
                self.same_shape(left.type, kind)
                self.same_shape(right.type, kind)
                match left.type, right.type:
                    case types.Int(low, high), types.Int(least, most):
                        result = result_range(operator, (low, high), (least, most))
                        self.goes_into(types.Int(*result), kind)
                    case _:
                        pass
            case ir.Negate(kind, operand):
                self.integer(operand)
                self.same_shape(operand.type, kind)
                if isinstance(operand.type, types.Int):
                    self.goes_into(types.Int(-operand.type.high, -operand.type.low), kind)
            case ir.Fits(operand, target) | ir.Convert(target, operand):
                source = self.see(operand)
                numbers = types.Int | types.Machine
                both = isinstance(source, numbers) and isinstance(target, numbers)
                self.expect(both or same_shape(source, target), source, "is never a", target)
            case ir.Interval(kind, low, high):
                self.integer(low, high)
                self.same_shape(kind, types.Set(types.Int(0, 0)))

    def structure(
        self,
        expr: ir.MakeRecord
        | ir.GetField
        | ir.WithField
        | ir.MakeVariant
        | ir.HasTag
        | ir.Payload
        | ir.Some
        | ir.IsSome
        | ir.Content,
    ) -> None:
        match expr:
            case ir.MakeRecord(kind, parts):
                self.fields(parts, _fields(kind, None))
            case ir.MakeVariant(kind, tag, parts):
                self.fields(parts, _fields(kind, tag))
            case ir.GetField(kind, record, index):
                self.field(_fields(self.see(record), None), index, kind)
            case ir.Payload(kind, union, tag, index):
                self.field(_fields(self.see(union), tag), index, kind)
            case ir.WithField(kind, record, index, value):
                self.into(record, kind)
                fields = _fields(kind, None)
                self.expect(fields is not None and index < len(fields), "no field", index)
                if fields is not None and index < len(fields):
                    self.into(value, fields[index].type)
            case ir.HasTag(union, tag):
                self.expect(_fields(self.see(union), tag) is not None, "no variant", tag)
            case ir.Some(kind, value):
                self.expect(isinstance(kind, types.Option), kind, "is no option")
                if isinstance(kind, types.Option):
                    self.into(value, kind.element)
            case ir.IsSome(option):
                self.expect(isinstance(self.see(option), types.Option), "is no option")
            case ir.Content(kind, option):
                self.same_shape(self.see(option), types.Option(kind))

    def fields(self, parts: Sequence[ir.Expr], fields: Sequence[types.Field] | None) -> None:
        self.expect(fields is not None and len(fields) == len(parts), "wrong number of fields")
        for part, wanted in zip(parts, fields or (), strict=False):
            self.into(part, wanted.type)

    def field(self, fields: Sequence[types.Field] | None, index: int, kind: Type) -> None:
        self.expect(fields is not None and index < len(fields), "no field", index)
        if fields is not None and index < len(fields):
            self.goes_into(fields[index].type, kind)

    def collection(
        self,
        expr: ir.Universe
        | ir.Build
        | ir.Add
        | ir.Remove
        | ir.InsertAt
        | ir.RemoveAt
        | ir.Contains
        | ir.Size
        | ir.SetAlgebra
        | ir.At
        | ir.Get
        | ir.BuildMap
        | ir.Quantified
        | ir.Collect
        | ir.Sum
        | ir.Extreme
        | ir.Find
        | ir.Occurrences,
    ) -> None:
        match expr:
            case ir.Universe(kind):
                whole = isinstance(kind, types.Set) and kind.capacity is None
                self.expect(whole, kind, "has not all elements")
            case ir.Build(kind, elements):
                self.expect(element_of(kind) is not None, kind, "is no collection")
                for element in elements:
                    self.into(element, element_of(kind) or element.type)
            case ir.Add(kind, collection, element):
                self.same_shape(self.see(collection), kind)
                self.into(element, element_of(kind) or element.type)
            case ir.InsertAt(kind, sequence, index, element):
                self.same_shape(self.see(sequence), kind)
                self.expect(isinstance(kind, types.Seq), kind, "is no sequence")
                self.integer(index)
                self.into(element, element_of(kind) or element.type)
            case ir.Remove(kind, collection, element):
                self.same_shape(self.see(collection), kind)
                self.expect(not isinstance(kind, types.Seq), "a sequence loses positions only")
                self.same_shape(self.see(element), element_of(collection.type) or kind)
            case ir.RemoveAt(kind, sequence, index):
                self.same_shape(self.see(sequence), kind)
                self.expect(isinstance(kind, types.Seq), kind, "is no sequence")
                self.integer(index)
            case ir.Contains(collection, element):
                self.same_shape(self.elements(collection), self.see(element))
            case ir.Occurrences(kind, collection, element):
                self.same_shape(self.elements(collection), self.see(element))
                self.expect(isinstance(kind, types.Int), kind, "counts")
            case ir.Size(kind, collection):
                self.elements(collection)
                self.expect(isinstance(kind, types.Int), kind, "counts")
            case ir.SetAlgebra(kind, _, left, right):
                self.expect(isinstance(kind, types.Set), kind, "is no set")
                for operand in (left, right):
                    self.same_shape(self.see(operand), kind)
            case ir.At(kind, sequence, index):
                self.goes_into(self.elements(sequence), kind)
                self.expect(isinstance(sequence.type, types.Seq), "a position of no sequence")
                self.integer(index)
            case ir.Get(kind, map, key):
                source = self.see(map)
                self.expect(isinstance(source, types.Map), source, "is no map")
                if isinstance(source, types.Map):
                    self.into(key, source.key)
                    self.goes_into(source.value, kind)
            case ir.BuildMap(kind, slot, body):
                self.expect(isinstance(kind, types.Map), kind, "is no map")
                if isinstance(kind, types.Map):
                    self.under(slot, kind.key).into(body, kind.value)
            case ir.Quantified(_, slot, domain, body):
                self.under(slot, self.elements(domain)).truth(body)
            case ir.Collect(kind, slot, domain, condition, element):
                inner = self.under(slot, self.elements(domain))
                inner.truth(condition)
                self.expect(element_of(kind) is not None, kind, "is no collection")
                inner.into(element, element_of(kind) or element.type)
            case ir.Sum(kind, collection):
                self.same_shape(self.elements(collection), kind)
                self.expect(isinstance(kind, types.Int | types.Machine), kind, "is no integer")
            case ir.Extreme(kind, _, collection):
                self.goes_into(self.elements(collection), kind.element)
            case ir.Find(kind, slot, domain, condition):
                self.goes_into(self.elements(domain), kind.element)
                self.under(slot, element_of(domain.type) or kind.element).truth(condition)


def _fields(kind: Type, tag: int | None) -> Sequence[types.Field] | None:
    """The fields of a record, or of variant ``tag`` of a union; None where there are none such."""
    match kind:
        case types.Record(fields=fields) if tag is None:
            return fields
        case types.Union(variants=variants) if tag is not None and tag < len(variants):
            return variants[tag].fields
        case _:
            return None
