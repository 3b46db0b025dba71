"""Tables for expressions without a form in the core.

A table has the value of an expression for each combination of values of the components that the
expression reads: variables of the state, and bound names. The evaluator fills it when the module is
lowered.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NoReturn

from fencepost.spec.core import ir, types
from fencepost.spec.core.type_relations import least
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.machine import EFFECT, Layout
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.inference.forms import is_complete
from fencepost.spec.tla.inference.kinds import (
    NEVER,
    Kind,
    Never,
    NotLowered,
    core,
    join,
    kind_of,
)
from fencepost.spec.tla.lowering.constants import MAX_WRITTEN
from fencepost.spec.tla.lowering.operators import Operators
from fencepost.spec.tla.lowering.places import Argument, Place
from fencepost.spec.tla.lowering.terms import Term, conjunction
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.values.kinds import EvaluationError, LazySet, Value

MAX_ENTRIES = 4_096
"""The maximum number of entries of a table."""
MAX_SECONDS = 5.0
"""The maximum processor time for the entries of a table."""
MAX_ALL_ENTRIES = 1 << 16
"""The maximum number of entries of all tables together, without the last one."""


class _Unread(Exception):
    """The expression reads a variable that is not a component yet."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class _TooLarge(Exception):
    """A value of the expression is a large set, or the evaluation of all values takes too long."""


class Tables(Operators):
    """Lowers expressions, with tables for those that have no other form."""

    def __init__(self, specification: Specification, kinds: list[Kind]) -> None:
        super().__init__(specification, kinds)
        self.tables: list[tuple[Span, int]] = []
        """The tables, with their numbers of entries."""
        self.seconds = 0.0
        """The processor time of the evaluator for the tables."""

    def expr(self, node: tree.Expr, env: Place) -> Term:
        try:
            return super().expr(node, env)
        except NotLowered as reason:
            # In the next state of ENABLED, a name may be a hidden variable.
            term = None if self.possible and env.primed else self.table(node, env)
            if term is None:
                raise reason.at(node.span) from None
            return term

    def table(self, node: tree.Expr, env: Place) -> Term | None:
        """Returns the value of an expression from a table, or None if that would be too large."""
        if isinstance(node, tree.Lambda):
            return None
        layout, frame = Layout(), list[Any]()
        outer, self._unknown = self._unknown, set[int]()
        try:
            inside = self._environment(node, env, layout, frame, {})
            if env.primed:
                inside = inside.prime()
            code = self.compiler.expr(node, inside)
            unknown = self._unknown
        except Rejected:
            return None
        finally:
            self._unknown = outer
        if code.level > 1 or code.free & EFFECT:
            return None
        layout.widen(frame)
        slots: list[tuple[int, Term]] = []
        for name, local in inside.locals.items():
            slot = getattr(local, "slot", None)
            if slot in unknown:
                if slot not in code.free:
                    continue
                binding = env.names.get(name, env.base.get(name))
                if not isinstance(binding, Term | Argument):
                    return None
                slots.append((slot, self.written(self.bound_value(binding, env.primed))))
        if code.free & unknown - {slot for slot, _ in slots}:
            # A definition of a LET reads a name that is bound elsewhere.
            return None
        return self._filled(node.span, code.run, frame, slots, env.primed)

    def _filled(
        self,
        span: Span,
        run: Any,
        frame: list[Any],
        slots: Sequence[tuple[int, Term]],
        primed: bool,
    ) -> Term | None:
        variables: dict[int, Term] = {}
        while True:
            components = [*(term for _, term in slots), *variables.values()]
            if any(isinstance(term.kind, Never) for term in components):
                return None
            kinds = [core(term.kind) for term in components]
            counts = [types.count_values(kind, MAX_ENTRIES) for kind in kinds]
            if prod(counts) > MAX_ENTRIES or sum(n for _, n in self.tables) > MAX_ALL_ENTRIES:
                return None
            began = time.process_time()
            try:
                values = [*self._values(run, frame, slots, [*variables], components, primed)]
            except _Unread as unread:
                term = self.variable(unread.index, span, primed)
                variables[unread.index] = self.written(term)
                continue
            except (RecursionError, _TooLarge):
                # A combination that never occurs may lead to a recursion without an end.
                return None
            finally:
                self.seconds += time.process_time() - began
            self.tables.append((span, len(values)))
            return self._looked_up_in(values, components, span)

    def _values(
        self,
        run: Any,
        frame: list[Any],
        slots: Sequence[tuple[int, Term]],
        variables: Sequence[int],
        components: Sequence[Term],
        primed: bool,
    ) -> Iterator[Value]:
        """Yields the value for each combination of values, or None if there is none. Raises
        `_Unread`.
        """
        machine = self.specification.machine
        state = machine.following if primed else machine.current
        saved = [*state]

        now = primed

        def unread(index: int, primed: bool, span: Span) -> NoReturn:
            if primed != now or index >= len(self.kinds):
                raise EvaluationError("a variable of the next state has no value")
            raise _Unread(index)

        forms = [
            [self.forms.decode(value, term.kind) for value in types.values(core(term.kind))]
            for term in components
        ]
        end = time.process_time() + MAX_SECONDS
        # A variable without a value is one that the expression reads, and the table gets a column.
        machine.no_value = unread  # type: ignore[method-assign]
        state[:] = [None] * len(state)
        try:
            for combination in product(*forms):
                if time.process_time() > end:
                    raise _TooLarge
                if not all(map(is_complete, combination)):
                    yield None
                    continue
                own = frame.copy()
                for (slot, _), value in zip(slots, combination, strict=False):
                    own[slot] = value
                for index, value in zip(variables, combination[len(slots) :], strict=True):
                    state[index] = value
                try:
                    result = run(own)
                    if isinstance(result, LazySet) and not self._is_small(result):
                        raise _TooLarge
                    yield self.universe.normalise(result)
                except EvaluationError:
                    yield None
        finally:
            state[:] = saved
            del machine.no_value

    def _is_small(self, values: LazySet) -> bool:
        finite = values.is_finite(self.universe)
        return finite and values.size(self.universe) <= MAX_WRITTEN

    def _looked_up_in(
        self, values: Sequence[Value], components: Sequence[Term], span: Span
    ) -> Term:
        kind: Kind = NEVER
        for value in dict.fromkeys(values):
            if value is not None:
                kind = join(kind, kind_of(self.universe, value))
        message = "this expression has no value"
        if isinstance(kind, Never):
            return self.failing(span, message)
        key = types.tuple_type(core(term.kind) for term in components)
        held = ir.MakeRecord(key, tuple(self.own(term) for term in components))
        stored = core(kind)
        rest = least(stored)
        forms = tuple(rest if value is None else self.forms.encode(value, kind) for value in values)
        table = ir.Literal(types.Map(key, stored), forms)
        defined = ir.Literal(types.Map(key, ir.BOOL), tuple(v is not None for v in values))

        def looked_up(key_: ir.Expr) -> ir.Expr:
            value = ir.Get(stored, table, key_)
            if None not in values:
                return value
            test = conjunction([ir.Get(ir.BOOL, defined, key_)])
            return ir.Demand(stored, test, self.site(span, message), value)

        return Term(kind, self.let(held, NEVER, looked_up))
