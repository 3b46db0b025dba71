"""Elaborates symbolic constants. A symbolic constant ranges over all values of its type that
satisfy its condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position
from fencepost.spec.elaborate.base.symbols import ConstEntity, Instance
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.syntax import nodes as syntax


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
