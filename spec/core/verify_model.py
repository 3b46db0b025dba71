"""Verifies that IR is well-formed: types agree, slots are bound, and numbers are in range.

This checks our own code. Tests run it on every elaborated model, and a problem that it reports is
our bug, never the user's. It does not check run-time conditions, such as whether a value fits or an
index exists. `Operands` verifies one expression in its scope, and `Defects` collects the defects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from fencepost.spec.core import ir, types
from fencepost.spec.core.open_ranges import is_unbounded, saturated
from fencepost.spec.core.operators import result_range
from fencepost.spec.core.signatures import Role, bound, held, operands
from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.traverse import first_picks, may_leave
from fencepost.spec.core.type_relations import element_of, same_shape, within
from fencepost.spec.core.types import Bool, Type, is_value


def problems(model: ir.Model) -> list[str]:
    """Returns the defects of ``model``, in the order of its parts. The list is empty if the model
    is well-formed.
    """
    return _Legal(model).check()


class _Legal:
    """Verifies one model. ``labels`` are the labels of the blocks visited so far."""

    def __init__(self, model: ir.Model) -> None:
        self.model = model
        self.report = Defects(model)
        self.labels: set[int] = set()

    def check(self) -> list[str]:
        model, report = self.model, self.report
        for variable in model.variables:
            report.where = variable.name
            report.range_of(variable.type)
        report.where, report.mode = "initial", "action"
        assigned = self.run(model.initial, {}, frozenset(), frozenset())
        for index, variable in enumerate(model.variables):
            report.expect(index in assigned, variable.name, "is not assigned")
        everything = frozenset(range(len(model.variables)))
        for action in model.actions:
            report.where = action.name
            self.run(action.body, {}, everything, frozenset())
            if action.channel is not None:
                report.number(action.channel, model.variables, "variable")
        for property in model.properties:
            report.where = property.name or str(property.kind)
            on_steps = property.kind.of_steps and property.abstract is None
            report.mode = "step" if on_steps else "state"
            if property.abstract is None:
                Operands(report, {}, everything).truth(property.body)
                continue
            Operands(report, {}, everything).into(property.body, property.body.type)
            report.found += problems(property.abstract)
        report.where, report.mode = "assumption", "constant"
        for assumption in model.assumptions:
            Operands(report, {}, frozenset()).truth(assumption.condition)
        for symbol in model.symbols:
            report.where = symbol.path
            if symbol.condition is not None:
                Operands(report, {}, frozenset()).truth(symbol.condition)
        for constant in model.constants:
            report.where = constant.path
            report.expect(is_value(constant.value, constant.type), "its value is not of its type")
        report.where = "tables"
        for guard in model.guards:
            report.expect(-1 <= guard.action < len(model.actions), "no action", guard.action)
        for mark in model.marks:
            owners = model.properties if mark.kind == "antecedent" else model.actions
            report.expect(0 <= mark.owner < len(owners), "mark of", mark.kind, mark.owner)
        return report.found

    # ------------------------------------------------------------ statements

    def run(
        self,
        statement: ir.Statement,
        slots: Slots,
        assigned: frozenset[int],
        open_labels: frozenset[int],
    ) -> frozenset[int]:
        """Verifies a statement. Returns the variables that are assigned after it, given those that
        are assigned before it.
        """
        report, scope = self.report, Operands(self.report, slots, assigned)
        match statement:
            case ir.Sequence(statements):
                for part in statements:
                    assigned = self.run(part, slots, assigned, open_labels)
                return assigned
            case ir.Assign(variable, path, value):
                return self.assign(variable, path, value, slots, assigned)
            case ir.Bind(slot, value, body):
                kind = scope.see(value)
                return self.run(body, report.bind(slot, kind, slots), assigned, open_labels)
            case ir.Pick(slot, domain, condition, guard, _, body):
                report.number(guard, self.model.guards, "guard")
                inner = report.bind(slot, scope.elements(domain), slots)
                if condition is not None:
                    Operands(report, inner, assigned).truth(condition)
                return self.run(body, inner, assigned, open_labels)
            case ir.Require(condition, guard):
                report.number(guard, self.model.guards, "guard")
                scope.truth(condition)
            case ir.Assert(condition, site) | ir.Ensure(condition, site):
                report.number(site, self.model.sites, "site")
                scope.truth(condition)
            case ir.If(condition, then, otherwise):
                scope.truth(condition)
                first = self.run(then, slots, assigned, open_labels)
                return first & self.run(otherwise, slots, assigned, open_labels)
            case ir.ForEach(slot, domain, body):
                inner = report.bind(slot, scope.elements(domain), slots)
                self.run(body, inner, assigned, open_labels)
            case ir.Block(label, body):
                report.expect(0 <= label < self.model.labels, "no label", label)
                report.expect(label not in self.labels, "two blocks have label", label)
                self.labels.add(label)
                # Assignments in a block that may be left early do not count.
                left = may_leave(body, label)
                after = self.run(body, slots, assigned, open_labels | {label})
                return assigned if left else after
            case ir.Leave(label):
                report.expect(label in open_labels, "no block", label, "around a leave")
            case ir.Mark(mark):
                report.number(mark, self.model.marks, "mark")
        return assigned

    def assign(
        self,
        variable: int,
        path: tuple[ir.Step, ...],
        value: ir.Expr,
        slots: Slots,
        assigned: frozenset[int],
    ) -> frozenset[int]:
        report, scope = self.report, Operands(self.report, slots, assigned)
        report.number(variable, self.model.variables, "variable")
        if not 0 <= variable < len(self.model.variables):
            return assigned
        kind: Type = self.model.variables[variable].type
        report.expect(not path or variable in assigned, "variable", variable, "has no value yet")
        for step in path:
            match step, kind:
                case ir.FieldStep(index), types.Record(fields=fields) if index < len(fields):
                    kind = fields[index].type
                case ir.KeyStep(key), types.Map(key=keys, value=inner):
                    scope.into(key, keys)
                    kind = inner
                case ir.IndexStep(index), types.Seq(element=inner):
                    scope.integer(index)
                    kind = inner
                case _:
                    report.expect(False, step, "leads into", kind)
                    return assigned
        scope.into(value, kind)
        return assigned | {variable}


Slots: TypeAlias = Mapping[int, Type]


def goes_into(source: Type, target: Type) -> bool:
    """Returns whether a value of ``source`` is assignable to ``target``."""
    return same_shape(source, target) and within(source, target)


@dataclass(slots=True)
class Defects:
    """Collects the defects of a model. ``where`` and ``mode`` are the name and kind of the current
    part of the model, and ``bound`` contains all slots bound so far.
    """

    model: ir.Model
    found: list[str] = field(default_factory=list[str])
    where: str = ""
    mode: Literal["action", "state", "step", "constant"] = "constant"
    bound: set[int] = field(default_factory=set[int])

    def expect(self, holds: bool, *problem: object) -> None:
        """Records a defect if ``holds`` is false. ``problem`` describes the defect in words and
        values.
        """
        if not holds:
            self.found.append(f"{self.where}: {' '.join(map(str, problem))}")

    def number(self, number: int, table: Sequence[object], table_name: str) -> None:
        self.expect(0 <= number < len(table), "no", table_name, number)

    def range_of(self, kind: Type) -> None:
        """Verifies the ranges in ``kind``: integers have at most 64 bits, and sets are bounded."""
        match kind:
            case types.Int(low, high):
                self.expect((low, high) == saturated(low, high), kind, "exceeds 64 bits")
            case types.Machine(bits):
                self.expect(2 <= bits <= 64, kind, "has no width of 2 to 64 bits")
            case types.Set(element, capacity):
                small = capacity is not None or countable(element, types.SMALL_SET)
                self.expect(small, kind, "has no capacity")
            case _:
                pass
        for part in types.components(kind):
            self.range_of(part)

    def bind(self, slot: int, kind: Type, slots: Slots) -> Slots:
        self.expect(0 <= slot < self.model.slots, "no slot", slot)
        self.expect(slot not in self.bound, "slot", slot, "is bound twice")
        self.bound.add(slot)
        return {**slots, slot: kind}


class Operands:
    """Verifies one expression, given the types of its free slots and the variables already
    assigned.
    """

    def __init__(
        self,
        report: Defects,
        slots: Slots,
        assigned: frozenset[int],
        recursions: Mapping[tuple[int, ...], ir.Recursion] = MappingProxyType({}),
    ) -> None:
        self.report = report
        self.slots = slots
        self.assigned = assigned
        self.recursions = recursions
        self.expect = report.expect

    def see(self, expr: ir.Expr) -> Type:
        """Verifies an expression. Returns its type."""
        self.check(expr)
        return expr.type

    def into(self, expr: ir.Expr, target: Type) -> None:
        self.goes_into(self.see(expr), target)

    def truth(self, expr: ir.Expr) -> None:
        kind = self.see(expr)
        self.expect(kind == ir.BOOL, kind, "is not a condition")

    def integer(self, expr: ir.Expr) -> None:
        self.number(self.see(expr))

    def elements(self, expr: ir.Expr) -> Type:
        """Verifies a collection. Returns its element type."""
        return self.collection(self.see(expr))

    def collection(self, kind: Type) -> Type:
        """Returns the element type of ``kind``, which must be a collection type."""
        self.expect(element_of(kind) is not None, kind, "is not a collection")
        return element_of(kind) or kind

    def number(self, kind: Type) -> None:
        self.expect(isinstance(kind, types.Integer), kind, "is not an integer")

    def goes_into(self, source: Type, target: Type) -> None:
        self.expect(goes_into(source, target), source, "where", target, "is wanted")

    def same_shape(self, first: Type, second: Type) -> None:
        self.expect(same_shape(first, second), first, "beside", second)

    def check(self, expr: ir.Expr) -> None:
        # A type or range used as a set is only iterated over or tested for membership.
        whole = isinstance(expr, ir.Computed)
        kind = element_of(expr.type) if whole else expr.type
        self.report.range_of(kind or expr.type)
        slots, recursions = self.slots, self.recursions
        if isinstance(expr, ir.Recursion):
            slots, recursions = dict[int, Type](), {**recursions, expr.slots: expr}
        for slot, of in bound(expr).items():
            slots = self.report.bind(slot, of, slots)
        inner = Operands(self.report, slots, self.assigned, recursions)
        before = expr.type
        for operand, role, inside in operands(expr):
            (inner if inside else self).operand(operand, role, expr.type, before)
            before = operand.type
        self.relations(expr)

    def operand(self, expr: ir.Expr, role: Role, kind: Type, before: Type) -> None:
        """Verifies an operand of a node of type ``kind`` against its role; ``before`` is the type
        of the preceding operand.
        """
        match role:
            case "Condition":
                self.truth(expr)
            case "Integer":
                self.integer(expr)
            case "Body":
                self.into(expr, kind)
            case "Alike":
                self.same_shape(self.see(expr), kind)
            case "Element":
                element = held(kind)
                self.expect(element is not None, kind, "holds nothing")
                self.into(expr, element or expr.type)
            case "Collection":
                self.collection(self.see(expr))
            case "Member":
                self.same_shape(self.collection(before), self.see(expr))
            case "Expr":
                self.check(expr)

    def relations(self, expr: ir.Expr) -> None:
        """Verifies the conditions that the roles of operands do not cover: relations between
        operands, and constraints on numbers and types.
        """
        model, number = self.report.model, self.report.number
        match expr:
            case ir.Literal(kind, value):
                self.expect(is_value(value, kind), value, "is not a value of", kind)
            case ir.Symbol(kind, index):
                number(index, model.symbols, "symbolic constant")
                if 0 <= index < len(model.symbols):
                    declared = model.symbols[index].type
                    self.expect(kind == declared, "symbolic constant", index, "as a", kind)
            case ir.Variable(kind, index, next):
                number(index, model.variables, "variable")
                if 0 <= index < len(model.variables):
                    declared = model.variables[index].type
                    self.expect(kind == declared, "variable", index, "as a", kind)
                    self.expect(index in self.assigned, "variable", index, "has no value yet")
                self.expect(not next or self.report.mode == "step", "next outside a step invariant")
            case ir.Local(kind, slot):
                self.expect(slot in self.slots, "slot", slot, "is not bound")
                self.expect(kind == self.slots.get(slot, kind), "slot", slot, "as a", kind)
            case ir.Demand(site=site):
                number(site, model.sites, "site")
            case ir.Witness(mark=mark):
                number(mark, model.marks, "mark")
            case ir.Observe(operands=seen):
                self.expect(len(seen) <= 4, "more than four values are observed")
                for kind in (operand.type for operand in seen):
                    scalar = isinstance(kind, Bool | types.Int | types.Machine)
                    self.expect(scalar, kind, "is observed")
            case ir.Equal(left, right) | ir.Less(left, right):
                self.same_shape(left.type, right.type)
            case ir.Enabled(action, choices):
                number(action, model.actions, "action")
                if 0 <= action < len(model.actions):
                    self.first_choices(model.actions[action], choices)
                self.expect(self.report.mode in ("state", "step"), "enabled outside a property")
            case ir.Arithmetic() | ir.Negate() | ir.Fits() | ir.Convert():
                self.numbers(expr)
            case ir.Recall(kind, slots, arguments):
                recursion = self.recursions.get(slots)
                self.expect(recursion is not None, "no recursion", slots, "around a call")
                if recursion is not None:
                    before = [*(part.type for part in recursion.arguments), recursion.type]
                    now = [*(part.type for part in arguments), kind]
                    self.expect(before == now, before, "called with", now)
            case ir.Recursion(_, _, _, depth):
                self.expect(depth > 0, "no evaluation of the body")
            case ir.Let() | ir.Not() | ir.And() | ir.Or() | ir.Conditional():
                pass
            case _:
                if isinstance(expr, ir.Structural):
                    self.structure(expr)
                else:
                    self.collections(expr)

    def first_choices(self, action: ir.Action, choices: tuple[ir.Expr, ...]) -> None:
        picks = first_picks(action.body, len(choices))
        self.expect(len(picks) == len(choices), action.name, "has fewer choices")
        for pick, choice in zip(picks, choices, strict=False):
            kind = element_of(pick.domain.type)
            self.expect(choice.type == kind, choice.type, "chosen from values of", kind)

    def numbers(self, expr: ir.Arithmetic | ir.Negate | ir.Fits | ir.Convert) -> None:
        match expr:
            case ir.Arithmetic(kind, operator, left, right):
                self.number(kind)
                match left.type, right.type:
                    case types.Int(low, high), types.Int(other_low, other_high):
                        result = result_range(operator, (low, high), (other_low, other_high))
                        if is_unbounded(*result):
                            result = saturated(*result)
                        self.goes_into(types.Int(*result), kind)
                    case _:
                        pass
            case ir.Negate(kind, operand):
                self.number(kind)
                if isinstance(operand.type, types.Int):
                    self.goes_into(types.Int(-operand.type.high, -operand.type.low), kind)
            case ir.Fits(operand, target) | ir.Convert(target, operand):
                source, integers = operand.type, types.Integer
                both = isinstance(source, integers) and isinstance(target, integers)
                self.expect(both or same_shape(source, target), source, "is never a", target)

    def structure(self, expr: ir.Structural) -> None:
        match expr:
            case ir.MakeRecord(kind, parts):
                self.fields(parts, _fields(kind, None))
            case ir.MakeVariant(kind, tag, parts):
                self.fields(parts, _fields(kind, tag))
            case ir.GetField(kind, record, index):
                self.field(_fields(record.type, None), index, lambda of: self.goes_into(of, kind))
            case ir.Payload(kind, union, tag, index):
                self.field(_fields(union.type, tag), index, lambda of: self.goes_into(of, kind))
            case ir.WithField(kind, _, index, value):
                self.field(_fields(kind, None), index, lambda of: self.goes_into(value.type, of))
            case ir.HasTag(union, tag):
                self.expect(_fields(union.type, tag) is not None, "no variant", tag)
            case ir.Some(kind):
                self.expect(isinstance(kind, types.Option), kind, "is not an option")
            case ir.IsSome(option):
                self.expect(isinstance(option.type, types.Option), "is not an option")
            case ir.Content(kind, option):
                self.same_shape(option.type, types.Option(kind))

    def fields(self, parts: Sequence[ir.Expr], fields: Sequence[types.Field] | None) -> None:
        self.expect(fields is not None and len(fields) == len(parts), "wrong number of fields")
        for part, expected in zip(parts, fields or (), strict=False):
            self.goes_into(part.type, expected.type)

    def field(
        self, fields: Sequence[types.Field] | None, index: int, agrees: Callable[[Type], None]
    ) -> None:
        self.expect(fields is not None and index < len(fields), "no field", index)
        if fields is not None and index < len(fields):
            agrees(fields[index].type)

    def collections(self, expr: ir.Collecting) -> None:
        match expr:
            case ir.Universe(kind):
                whole = isinstance(kind, types.Set) and kind.capacity is None
                self.expect(whole, kind, "has not all elements")
            case ir.Subsets(kind, collection):
                self.expect(kind == types.Set(collection.type), kind, "has not all subsets")
            case ir.Interval(kind):
                self.same_shape(kind, types.Set(types.Int(0, 0)))
            case ir.Build(kind) | ir.Add(kind) | ir.Collect(kind):
                self.collection(kind)
            case ir.InsertAt(kind) | ir.RemoveAt(kind):
                self.expect(isinstance(kind, types.Seq), kind, "is not a sequence")
            case ir.Remove(kind):
                self.expect(not isinstance(kind, types.Seq), "a sequence loses positions only")
            case ir.Occurrences(kind) | ir.Size(kind):
                self.expect(isinstance(kind, types.Int), kind, "counts")
            case ir.SetAlgebra(kind):
                self.expect(isinstance(kind, types.Set), kind, "is not a set")
            case ir.At(kind, sequence):
                self.goes_into(self.collection(sequence.type), kind)
                self.expect(isinstance(sequence.type, types.Seq), "a position of no sequence")
            case ir.Get(kind, map, key):
                self.expect(isinstance(map.type, types.Map), map.type, "is not a map")
                if isinstance(map.type, types.Map):
                    self.goes_into(key.type, map.type.key)
                    self.goes_into(map.type.value, kind)
            case ir.BuildMap(kind):
                self.expect(isinstance(kind, types.Map), kind, "is not a map")
            case ir.Gather(kind, parts=parts):
                alike = self.collection(kind) == self.collection(parts.type)
                self.expect(alike, parts.type, "gathered as", kind)
            case ir.Sum(kind, collection):
                self.same_shape(self.collection(collection.type), kind)
                self.number(kind)
            case ir.Extreme(kind, collection=source) | ir.Find(kind, domain=source):
                self.goes_into(self.collection(source.type), kind.element)
            case ir.Contains() | ir.Quantified() | ir.Fold():
                pass


def _fields(kind: Type, tag: int | None) -> Sequence[types.Field] | None:
    """Returns the fields of a record, or of variant ``tag`` of a union. Returns None if ``kind``
    has no such fields.
    """
    match kind:
        case types.Record(fields=fields) if tag is None:
            return fields
        case types.Union(variants=variants) if tag is not None and tag < len(variants):
            return variants[tag].fields
        case _:
            return None
