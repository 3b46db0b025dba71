"""Verifies that IR is well-formed: types agree, slots are bound, and numbers are in range.

This checks our own code. Tests run it on every elaborated model, and a problem that it reports is
our bug, never the user's. It does not check run-time conditions, such as whether a value fits or an
index exists.
"""

from __future__ import annotations

from fencepost.spec.core import ir, types
from fencepost.spec.core.traverse import may_leave
from fencepost.spec.core.types import Type, is_value
from fencepost.spec.core.verify_types import Defects, Operands, Slots


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
