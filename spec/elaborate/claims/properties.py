"""Elaborates the declared properties, including those of behaviours, the refinements, and the
conditions on symbolic constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.spec.core import ir
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Bool, Set, Type
from fencepost.spec.elaborate.base.context import Context, Elaboration, Place, Position, role_locals
from fencepost.spec.elaborate.base.symbols import ConstEntity, Instance, PropertyEntity, RoleEntity
from fencepost.spec.elaborate.claims import refinements
from fencepost.spec.elaborate.claims.module_state import every_instance
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.formulas import Formulas
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


@dataclass(slots=True)
class Properties:
    """Collects the properties of a program in the order of their declarations.

    ``paths`` holds the paths from the root to the modules. ``again`` creates a separate model, with
    its own entities, for the instance at the given position of `every_instance`. It is used for
    refined modules.
    """

    work: Elaboration
    root: Instance
    paths: Mapping[Instance, str]
    again: Callable[[int], refinements.Machine]
    properties: list[ir.Property] = field(default_factory=list[ir.Property])

    def of(self, instance: Instance) -> None:
        """Adds the properties that this module instance declares."""
        for node in instance.file.declarations:
            if isinstance(node, syntax.PropertyDecl):
                self._property(instance, None, node)
            elif isinstance(node, syntax.RefinementDecl):
                self._refinement(instance, node)
            elif isinstance(node, syntax.RoleDecl):
                role = instance.names.get(node.name.text)
                if not isinstance(role, RoleEntity) or role.decl is not node:
                    continue
                for member in node.members:
                    if isinstance(member, syntax.PropertyDecl):
                        self._property(instance, role, member)

    def _property(
        self, instance: Instance, role: RoleEntity | None, node: syntax.PropertyDecl
    ) -> None:
        name = self._property_name(instance, role, node.name)
        kind = PropertyKind.declared_by(node.kind)
        position: Place = "step" if kind.of_steps else "property"
        owner = len(self.properties)
        context = Context(
            self.work, instance, Position(position, outermost=True, owner=owner), role=role
        )
        slot: int | None = None
        if role is not None and role.index_type is not None:
            slot = self.work.slot()
            local = ir.Local(role.index_type, slot, span=node.span)
            context = replace(context, instance=local, locals=role_locals(role, local))
        if kind.of_behaviours:
            self._behaviour(context, node, name, slot)
            return
        body = truth(context, node.body)
        if body is None:
            return
        expr = body.expr
        if slot is not None and role is not None and role.index_type is not None:
            assert role.decl.index is not None
            expr = ir.Quantified(
                not kind.must_be_reached,
                slot,
                ir.Universe(Set(role.index_type)),
                expr,
                name=role.decl.index.name.text,
                span=node.body.span,
            )
        span = node.name.span if node.name else node.body.span
        self.properties.append(ir.Property(name, kind, expr, span))

    def _behaviour(
        self, context: Context, node: syntax.PropertyDecl, name: str, slot: int | None
    ) -> None:
        builder = Formulas(len(self.properties))
        index: tuple[str, Type, int, Span] | None = None
        role = context.role
        if slot is not None and role is not None and role.index_type is not None:
            assert role.decl.index is not None
            decl = role.decl.index
            index = decl.name.text, role.index_type, slot, decl.span
        formula = builder.formula(context, node.body, index)
        if formula is not None and node.name is not None:
            kind, span = PropertyKind.declared_by(node.kind), node.name.span
            body = ir.Literal(Bool(), True, span=node.body.span)
            self.properties.append(ir.Property(name, kind, body, span, formula, within=node.within))
            self.properties += builder.predicates

    def _refinement(self, instance: Instance, node: syntax.RefinementDecl) -> None:
        name = self._property_name(instance, None, node.name)
        context = Context(self.work, instance, Position("property", owner=len(self.properties)))
        module = refinements.module(context, node)
        if module is None:
            return
        other = self.again(every_instance(self.root).index(module))
        prop = refinements.refinement(context, node, name, other)
        if prop is not None:
            self.properties.append(prop)

    def _property_name(
        self, instance: Instance, role: RoleEntity | None, name: syntax.Name | None
    ) -> str:
        """Returns the name of a property in checks and reports, or an empty string for a property
        without a name. Reports (F202) a name that another property already has.
        """
        if name is None:
            return ""
        imported = self.root.imports.get(name.text)
        own = isinstance(imported, PropertyEntity) and imported.module is instance
        prefix = "" if instance is self.root or own else f"{self.paths[instance]}."
        shown = prefix + name.text
        other = next((declared for declared in self.properties if declared.name == shown), None)
        # Names within one file, and within one role, have already been compared.
        declared = role is not None and isinstance(role.names.get(name.text), PropertyEntity)
        if other is not None and declared and name.text not in instance.names:
            self.work.report(
                "F202",
                name.span,
                f'"{shown}" is declared twice; checks name a property without its role',
                (other.span, "first declared here"),
            )
        return shown


def symbolic_constants(
    work: Elaboration, root: Instance, paths: Mapping[Instance, str], instances: Sequence[Instance]
) -> tuple[tuple[ir.SymbolicConstant, ...], tuple[ir.Assumption, ...]]:
    """Returns the symbolic constants of a model, and the assumptions about constants that are
    declared symbolic but were given a value.
    """
    conditions: dict[int, list[ir.Expr]] = {}
    assumptions: list[ir.Assumption] = []
    for instance in instances:
        context = Context(work, instance, Position("constant", symbolic=True))
        for node in instance.file.declarations:
            if not isinstance(node, syntax.Const) or node.condition is None:
                continue
            entity = instance.names.get(node.name.text)
            checked = truth(context, node.condition)
            if checked is None or not isinstance(entity, ConstEntity):
                continue
            mentioned = [part.index for part in walk(checked.expr) if isinstance(part, ir.Symbol)]
            # The condition of a constant that was given a value may mention symbolic constants.
            owner = min(mentioned, default=None) if entity.symbol is None else entity.symbol
            if owner is None:
                assumptions.append(ir.Assumption(checked.expr, node.condition.span))
            else:
                conditions.setdefault(owner, []).append(checked.expr)
    symbols: list[ir.SymbolicConstant] = []
    for number, entity in enumerate(work.symbols):
        assert entity.type is not None
        shown = entity.name
        if entity.module is not root and root.imports.get(shown) is not entity:
            shown = f"{paths[entity.module]}.{shown}"
        parts = tuple(conditions.get(number, ()))
        whole = parts[0] if len(parts) == 1 else ir.And(parts) if parts else None
        symbols.append(ir.SymbolicConstant(shown, entity.type, whole, entity.span))
    return tuple(symbols), tuple(assumptions)
