"""Lowers actions. Each way through the next-state relation is one step, as in the evaluator.

Disjunctions on the way to the first condition become actions of the core, one for each way. Others
are choices inside an action.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Expr, Statement
from fencepost.spec.core.type_relations import least
from fencepost.spec.records import dataclass
from fencepost.spec.tla.evaluate.machine import Lazy, Local, OperatorValue, forced
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.evaluate.temporal import Part as Written
from fencepost.spec.tla.inference.bounds import with_bets
from fencepost.spec.tla.inference.forms import Misfit
from fencepost.spec.tla.inference.kinds import (
    Fun,
    Kind,
    Never,
    NotLowered,
    Number,
    Partial,
    Rec,
    Seq,
    SetOf,
    Tup,
    core,
    join,
)
from fencepost.spec.tla.lowering.places import Argument, Binding, Definition, Place
from fencepost.spec.tla.lowering.terms import (
    FALSE,
    TRUE,
    Bet,
    Term,
    chosen,
    conjunction,
    is_fixed,
    literal,
    negation,
)
from fencepost.spec.tla.lowering.ways import Ways
from fencepost.spec.tla.modules.scopes import BuiltIn, Operator, Part, Substituted
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply

MAX_ACTIONS = 1_000
"""The maximum number of actions of the core."""


ELEMENT = "element of \\in"
"""The name of the value that ``x' \\in S`` chooses, which is not one of a module."""


class Wider(Exception):
    """A value that is stored in a variable has another structure than its kind."""

    def __init__(self, variable: int, kind: Kind) -> None:
        super().__init__(variable, kind)
        self.variable = variable
        self.kind = kind


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """A part of a variable with a new value. ``steps`` lead to the part, which is of ``kind``."""

    steps: tuple[ir.Step, ...]
    test: Expr
    kind: Kind
    value: Term


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way through an action up to some point: the variables that have values in the next state,
    and what is to be stored in them. A variable that is not stored keeps its value.
    """

    after: Mapping[int, Callable[[], Term]]
    stores: Mapping[int, Term | tuple[Update, ...]]

    def having(
        self, index: int, term: Callable[[], Term], store: Term | tuple[Update, ...] | None
    ) -> Way:
        stores = self.stores if store is None else {**self.stores, index: store}
        return Way({**self.after, index: term}, stores)


Then: TypeAlias = Callable[[Way], Statement]


class Actions(Ways):
    """Lowers actions. ``bets`` has the number of each bet, by key."""

    def __init__(
        self, specification: Specification, kinds: list[Kind], bets: Mapping[str, int]
    ) -> None:
        super().__init__(specification, kinds)
        self.bets = bets
        self.hidden_variables = {}
        self.guards: list[ir.Guard] = []
        self.leaving: dict[tuple[str, bool], int] = {}
        self._script: list[tuple[int, int]] = []
        self._position = 0
        self._label: Operator | None = None
        self._action = 0
        self.allowed: list[Written] = []
        """The action constraints."""
        self.invariants: list[Written] = []
        """The invariants, which also hold after steps outside of the action constraints."""
        self.step_invariants: list[Written] = []
        """The conditions on steps, which also hold on steps outside of the action constraints."""

    def initially(self, parts: Sequence[Written]) -> Statement:
        """Lowers the initial condition. Raises `NotLowered` or `Wider`."""
        self.initial, self._label = True, None

        def rest(position: int, way: Way) -> Statement:
            if position == len(parts):
                return self._complete(way)
            part = parts[position]
            return self._act(
                part.node, self.place(part), way, lambda next: rest(position + 1, next), False
            )

        statement = rest(0, Way({}, {}))
        self.initial = False
        return statement

    def actions(self, node: tree.Expr, env: Place) -> list[tuple[Operator | None, Statement]]:
        """Lowers the next-state relation. Returns its actions with the definitions that name them.
        Raises `NotLowered` or `Wider`.
        """
        result: list[tuple[Operator | None, Statement]] = []
        self._script = []
        while True:
            self._position, self._label = 0, None
            statement = self._act(node, env, Way({}, {}), self._complete, True)
            result.append((self._label, statement))
            self._action += 1
            if len(result) > MAX_ACTIONS:
                raise NotLowered("the next-state relation has too many ways")
            while self._script and self._script[-1][0] + 1 == self._script[-1][1]:
                self._script.pop()
            if not self._script:
                return result
            index, count = self._script[-1]
            self._script[-1] = index + 1, count

    # ------------------------------------------------------------ forms

    def _act(self, node: Any, env: Place, way: Way, then: Then, outer: bool) -> Statement:
        try:
            return self._act_of(node, env, way, then, outer)
        except NotLowered as reason:
            raise reason.at(node.span) from None

    def _act_of(self, node: Any, env: Place, way: Way, then: Then, outer: bool) -> Statement:
        self.after = way.after
        if len(way.after) == len(self.kinds) and not self.possible:
            return self._required(node, env, way, then)
        match node:
            case tree.Junction(sign="/\\", items=items):
                return self._chain([*items], env, way, then, outer and len(items) == 1)
            case tree.Junction(items=items):
                return self._either([*items], env, way, then, outer)
            case tree.Quantified(sign="\\E"):
                return self._some(node, env, way, then, outer)
            case tree.Quantified(sign="\\A"):
                return self._every(node, env, way, then)
            case tree.If(condition=condition, then=first, otherwise=second):
                test = self.cond(condition, env)
                return self._branch(
                    test,
                    lambda: self._act(first, env, way, then, False),
                    lambda: self._act(second, env, way, then, False),
                )
            case tree.Case():
                return self._cases([*node.arms], node, env, way, then)
            case tree.Let(body=body):
                inner, held = self.let_place(node, env)
                return self._holding(held, self._act(body, inner, way, then, outer))
            case tree.Labelled(body=body):
                return self._act(body, env, way, then, outer)
            case tree.Boxed(action=action, variables=variables, angle=angle):
                same = Apply("UNCHANGED", (variables,), node.span)
                if angle:
                    differs = Apply("~", (same,), node.span)
                    return self._chain([action, differs], env, way, then, False)
                return self._either([action, same], env, way, then, outer)
            case Apply():
                return self._apply(node, env, way, then, outer)
            case _:
                return self._required(node, env, way, then)

    def _required(self, node: Any, env: Place, way: Way, then: Then) -> Statement:
        if isinstance(node, Apply) and node.name == "Assert" and len(node.args) == 2:
            entity = self.meaning(node, env)[0]
            if isinstance(entity, BuiltIn):
                condition = self.cond(node.args[0], env)
                site = self.site(node.span, "the condition of Assert is false")
                return _sequence(ir.Assert(condition, site), then(way))
        condition = self.cond(node, env)
        return self.require(condition, node, lambda: then(way))

    def require(self, condition: Expr, node: Any, rest: Callable[[], Statement]) -> Statement:
        """Continues if a condition holds."""
        if condition == TRUE:
            return rest()
        required = ir.Require(condition, self._guard(node))
        if condition == FALSE:
            return required
        return _sequence(required, rest())

    def _guard(self, node: Any, kind: Any = "require") -> int:
        self.guards.append(ir.Guard(kind, node.span, self._action))
        return len(self.guards) - 1

    def _chain(self, items: list[Any], env: Place, way: Way, then: Then, outer: bool) -> Statement:
        first, *rest = items
        if not rest:
            return self._act(first, env, way, then, outer)
        return self._act(
            first, env, way, lambda next: self._chain(rest, env, next, then, False), False
        )

    def _either(self, items: list[Any], env: Place, way: Way, then: Then, outer: bool) -> Statement:
        if outer:
            if self._position == len(self._script):
                self._script.append((0, len(items)))
            index = self._script[self._position][0]
            self._position += 1
            return self._act(items[index], env, way, then, True)
        ways = [partial(self._act, item, env, way, then, False) for item in items]
        return self._picked(ways, items[0])

    def _picked(self, ways: Sequence[Callable[[], Statement]], node: Any) -> Statement:
        """Chooses one of several ways."""
        slot, count = self.slot(), len(ways)
        kind = types.Int(0, count - 1)
        number = ir.Local(kind, slot)
        body: Statement = ways[-1]()
        for index in reversed(range(count - 1)):
            test = ir.Equal(number, ir.Literal(types.Int(index, index), index))
            body = ir.If(test, ways[index](), body)
        every = ir.Universe(types.Set(kind))
        return ir.Pick(slot, every, None, self._guard(node, "choice"), None, body)

    def _branch(
        self, test: Expr, first: Callable[[], Statement], second: Callable[[], Statement]
    ) -> Statement:
        if test in (TRUE, FALSE):
            return first() if test == TRUE else second()
        return ir.If(test, first(), second())

    def _holding(self, held: list[tuple[int, Expr]], body: Statement) -> Statement:
        for slot, value in reversed(held):
            body = ir.Bind(slot, value, body)
        return body

    def _some(self, node: Any, env: Place, way: Way, then: Then, outer: bool) -> Statement:
        if any(bound.domain is None for bound in node.bounds):
            raise NotLowered("a quantifier has no set")

        def around(slot: int, domain: Expr, inner: Statement) -> Statement:
            return ir.Pick(slot, domain, None, self._guard(node, "choice"), None, inner)

        result: Statement = self.enumerated(
            node.bounds,
            env,
            lambda inner: self._act(node.body, inner, way, then, outer),
            around,
            ir.Bind,
            self._restricted,
        )
        return result

    def _every(self, node: Any, env: Place, way: Way, then: Then) -> Statement:
        if not self.splits(node.body, env, frozenset()):
            return self._required(node, env, way, then)
        if not all(
            bound.domain is not None and self.is_constant(bound.domain, env) and not bound.pattern
            for bound in node.bounds
        ):
            return self._one_of_ways(self.ways(node, env), node, lambda: then(way))
        places = [env]
        for bound in node.bounds:
            values = self.written(self.evaluated(bound.domain, env)).value
            for name in bound.names:
                places = [
                    each.having({name: self.constant(value)})
                    for each in places
                    for value in self.universe.elements(values)
                ]

        def taken(position: int, way: Way) -> Statement:
            if position == len(places):
                return then(way)
            return self._act(
                node.body, places[position], way, lambda next: taken(position + 1, next), False
            )

        return taken(0, way)

    def _one_of_ways(self, count: Term, node: Any, rest: Callable[[], Statement]) -> Statement:
        """Continues once for each of a number of ways."""
        number = count.kind
        assert isinstance(number, Number)
        if number.high <= 1:
            return self.require(ir.Equal(self.own(count), literal(1)), node, rest)
        kind = types.Int(1, number.high)
        every = ir.Interval(types.Set(kind), literal(1), self.own(count))
        return ir.Pick(self.slot(), every, None, self._guard(node, "choice"), None, rest())

    def _cases(self, arms: list[Any], node: Any, env: Place, way: Way, then: Then) -> Statement:
        if not arms:
            if node.other is not None:
                return self._act(node.other, env, way, then, False)
            message = "no condition of this CASE is true, and it has no OTHER"
            return ir.Ensure(FALSE, self.site(node.span, message))
        (test, action), *rest = arms
        self.after = way.after
        return self._branch(
            self.cond(test, env),
            lambda: self._act(action, env, way, then, False),
            lambda: self._cases(rest, node, env, way, then),
        )

    def _apply(self, node: Any, env: Place, way: Way, then: Then, outer: bool) -> Statement:
        args = node.args
        match node.name, len(args):
            case (("=" | "\\in"), 2) if not node.path:
                index = self.target(args[0], env)
                if index is None or index in way.after:
                    return self._required(node, env, way, then)
                if node.name == "=":
                    return self._assigned(index, args[1], env, way, then)
                return self._element(index, args[1], node, env, way, then)
            case "=>", 2:
                test = self.cond(args[0], env)
                return self._branch(
                    test, lambda: self._act(args[1], env, way, then, False), lambda: then(way)
                )
            case "UNCHANGED", 1 if not self.initial:
                return self._unchanged_variables(args[0], node, env, way, then)
            case _:
                pass
        if not node.path:
            if node.name in self.LANGUAGE_FORMS:
                return self._required(node, env, way, then)
            local = env.names.get(node.name)
            if isinstance(local, Definition):
                inner = self.entered(local, node, env)
                return self._act(local.body, inner, way, then, outer)
            if isinstance(local, Argument):
                if env.primed:
                    return self._required(node, env, way, then)
                return self._act(local.node, local.env, way, then, False)
            if local is not None:
                return self._required(node, env, way, then)
        entity, instance = self.meaning(node, env)
        if isinstance(entity, Substituted) and not node.args:
            return self._act(entity.expr, env.outside(entity.outer), way, then, outer)
        if not isinstance(entity, Operator):
            return self._required(node, env, way, then)
        inner = self.called(entity, node, env, instance)
        if outer:
            self._label = entity
        held: list[tuple[int, Expr]] = []
        if not isinstance(entity, Part):
            names = dict(inner.names)
            for name in [p.name for p in entity.parameters]:
                binding = names[name]
                if isinstance(binding, Argument) and binding.term is None:
                    early = self.early(binding.node, binding.env)
                    if early is not None:
                        names[name], more = early
                        held += more
            inner = Place(inner.scope, names, inner.base, inner.primed, inner.trail)
        return self._holding(held, self._act(entity.body, inner, way, then, outer))

    # ------------------------------------------------------------ assignments

    def _current(self, index: int) -> Term:
        if index >= len(self.kinds):
            entity, outside = [*self.hidden_variables.items()][index - len(self.kinds)]
            return self.written(self.expr(entity.expr, outside))
        return Term(self.kinds[index], ir.Variable(core(self.kinds[index]), index))

    def _unchanged_variables(
        self, node: Any, whole: Any, env: Place, way: Way, then: Then
    ) -> Statement:
        variables = self.variables_of(node, env)
        if variables is None:
            return self._required(whole, env, way, then)
        conditions: list[Expr] = []
        for index in variables:
            if index in way.after:
                before = self._current(index)
                conditions.append(self.equal(way.after[index](), before, whole.span))
            else:
                way = way.having(index, partial(self._current, index), None)

        def rest(position: int) -> Statement:
            if position == len(conditions):
                return then(way)
            return self.require(conditions[position], whole, lambda: rest(position + 1))

        return rest(0)

    def _assigned(self, index: int, value: Any, env: Place, way: Way, then: Then) -> Statement:
        hidden = index >= len(self.kinds)
        updates = None if self.initial or hidden else self._updates(index, value, env)
        if updates is not None:
            held, changes = updates

            def whole() -> Term:
                return self.expr(value, env)

            return self._holding(held, then(way.having(index, whole, changes)))
        term = self.written(self.expr(value, env))
        return self._stored(index, term, way, then)

    def _stored(self, index: int, term: Term, way: Way, then: Then) -> Statement:
        """Continues with a value for a variable."""
        if not self.initial and term.expr == self._current(index).expr:
            return then(way.having(index, lambda: term, None))
        if term.expr is None and not term.is_constant:
            return ir.Ensure(FALSE, term.site)
        if term.expr is None or is_fixed(term.expr):
            return then(way.having(index, lambda: term, term))
        slot = self.slot()
        local = Term(term.kind, ir.Local(term.expr.type, slot))
        body = then(way.having(index, lambda: local, local))
        return ir.Bind(slot, term.expr, body)

    def _element(
        self, index: int, values: Any, node: Any, env: Place, way: Way, then: Then
    ) -> Statement:
        bound = tree.Bound((ELEMENT,), values, False, node.span)

        def body(inner: Place) -> Statement:
            term = inner.names[ELEMENT]
            assert isinstance(term, Term)
            return then(way.having(index, lambda: term, term))

        def around(slot: int, domain: Expr, inner: Statement) -> Statement:
            return ir.Pick(slot, domain, None, self._guard(node, "choice"), None, inner)

        result: Statement = self.enumerated((bound,), env, body, around, ir.Bind, self._restricted)
        return result

    def _restricted(self, condition: Expr, inner: Statement) -> Statement:
        """Restricts choices to those that satisfy a condition. All of them are tried, so that a
        condition without a value is always found.
        """
        if condition == TRUE:
            return inner
        span = self.specification.config.source_span
        self.guards.append(ir.Guard("choice", span, self._action))
        return _sequence(ir.Require(condition, len(self.guards) - 1), inner)

    def _updates(
        self, index: int, value: Any, env: Place
    ) -> tuple[list[tuple[int, Expr]], tuple[Update, ...]] | None:
        """Returns the changes of parts of a variable that `[x EXCEPT ...]` makes, if they can be
        stored one by first.
        """
        if not isinstance(value, tree.Except) or self.variables_of(value.function, env) != [index]:
            return None
        if len(value.updates) != 1:
            return None
        (update,) = value.updates
        held: list[tuple[int, Expr]] = []
        kind: Kind = self.kinds[index]
        expr = self._current(index).code
        steps: list[ir.Step] = []
        test: Expr = TRUE
        for part in update.path:
            key = self.written(self.expr(part, env))
            if isinstance(kind, Rec):
                names = [name for name, _ in kind.fields]
                if not key.is_constant or key.value not in names:
                    return None
                number = names.index(key.value)
                kind = kind.fields[number][1]
                steps.append(ir.FieldStep(number))
                expr = ir.GetField(core(kind), expr, number)
            elif isinstance(kind, Tup):
                if not key.is_constant or key.value not in range(1, len(kind.items) + 1):
                    return None
                number = int(key.value) - 1
                kind = kind.items[number]
                steps.append(ir.FieldStep(number))
                expr = ir.GetField(core(kind), expr, number)
            elif isinstance(kind, Fun):
                bound, inside, converted = self.key_in(kind, key)
                if inside != TRUE:
                    return None
                held += bound
                if not is_fixed(converted):
                    slot = self.slot()
                    held.append((slot, converted))
                    converted = ir.Local(converted.type, slot)
                kind = kind.element
                steps.append(ir.KeyStep(converted))
                expr = ir.Get(core(kind), expr, converted)
            else:
                return None
        old = Term(kind, expr)
        term = self.written(self.expr(update.value, env.having({"@": old})))
        if term.expr is None and not term.is_constant:
            return None
        if term.expr is not None and not is_fixed(term.expr):
            slot = self.slot()
            held.append((slot, term.expr))
            term = Term(term.kind, ir.Local(term.expr.type, slot))
        return held, (Update(tuple(steps), test, kind, term),)

    LANGUAGE_FORMS: ClassVar[dict[str, Callable[[Any, Any, Place], Term]]] = {
        **Ways.LANGUAGE_FORMS,
        "ENABLED": lambda self, node, env: self._enabled(node, env),
    }

    # ------------------------------------------------------------ the end of an action

    def _complete(self, way: Way) -> Statement:
        missing = [
            variable.name if self.initial else f"{variable.name}'"
            for index, variable in enumerate(self.specification.variables)
            if index not in way.after
        ]
        if missing:
            span = self._label.place if self._label else self.specification.config.source_span
            verb = "has" if len(missing) == 1 else "have"
            where = "in an initial state" if self.initial else "at the end of this action"
            message = f"{', '.join(missing)} {verb} no value {where}"
            return ir.Ensure(FALSE, self.site(span, message))
        checks: list[Statement] = []
        stores: list[Statement] = []
        for index, store in way.stores.items():
            if isinstance(store, Term):
                self._store(index, (), self.kinds[index], store, checks, stores)
                continue
            for update in store:
                self._store(index, update.steps, update.kind, update.value, checks, stores)
        stored = ir.Sequence((*checks, *stores))
        if self.initial or not self.allowed:
            return stored
        # A step outside of the action constraints is one that changes nothing: it counts, and it
        # prevents a deadlock.
        self.after = way.after
        allowed = conjunction([self.cond(part.node, self.place(part)) for part in self.allowed])
        return self._branch(allowed, lambda: stored, self._not_taken)

    def _not_taken(self) -> Statement:
        """Returns the end of a step outside of the action constraints."""
        after = [self.cond(part.node, self.place(part).prime()) for part in self.invariants]
        steps = [self.cond(part.node, self.place(part)) for part in self.step_invariants]
        checked = conjunction([*after, *steps])
        if checked == TRUE:
            return ir.Sequence(())
        message = "an invariant is false on a step outside of the action constraints"
        return ir.Ensure(checked, self.site(self.specification.config.source_span, message))

    def place(self, part: Written) -> Place:
        """Returns the place of a part of a specification. Its local names are constants: names of
        quantifiers, and parameters of definitions and instances.
        """
        env, frame = part.env, part.frames()
        env.layout.widen(frame)
        names: dict[str, Binding] = {}
        for name in env.locals.keys() & (self.words(part.node) | env.base.keys()):
            local = env.locals[name]
            value = frame[local.slot] if isinstance(local, Local) else None
            if value is None or isinstance(value, OperatorValue):
                raise NotLowered(f'a property uses "{name}", which is an operator').at(part.span)
            if isinstance(value, Lazy) and value.source.level:
                message = f'a property uses "{name}", whose value changes'
                raise NotLowered(message).at(part.span)
            names[name] = self.constant(self._written(forced(value)))
        return Place(env.scope, names, {name: names[name] for name in env.base})

    def _enabled(self, node: Any, env: Place) -> Term:
        """Lowers ENABLED to a condition: some way leads through the action."""
        if env.primed or self.initial:
            raise NotLowered("ENABLED is about the next state, or about an initial state")
        after, guards, ends = self.after, len(self.guards), ir.Sequence(())
        self.possible += 1
        try:
            way = Way({}, {})
            statement = self._act(node.args[0], env, way, lambda way: ends, False)
            return self.condition(exists(statement))
        finally:
            self.possible -= 1
            self.after = after
            del self.guards[guards:]

    def _store(
        self,
        index: int,
        steps: tuple[ir.Step, ...],
        kind: Kind,
        term: Term,
        checks: list[Statement],
        stores: list[Statement],
    ) -> None:
        """Adds the checks and the assignment that store a value in a part of a variable."""
        term = self.written(term)
        if isinstance(term.kind, Never):
            # An element of a set that is always empty, as far as is known, is never stored.
            message = "a value of no kind is stored"
            checks.append(
                ir.Ensure(FALSE, self.site(self.specification.config.source_span, message))
            )
            return
        wider = join(kind, term.kind)
        if structure(wider) != structure(kind):
            whole = replaced(self.kinds[index], steps, wider)
            raise Wider(index, whole)
        expr = self.own(term)
        for bet in self.misfits(expr, term.kind, kind):
            checks.append(ir.Ensure(bet[2], self.leaves(bet)))
        stores.append(ir.Assign(index, steps, self.into_bounds(expr, term, kind)))

    def into_bounds(self, expr: Expr, term: Term, kind: Kind) -> Expr:
        """Returns a value as one of a kind whose bounds it is cached to keep."""
        if term.is_constant:
            try:
                return self.into(term, kind)
            except Misfit:
                return ir.Literal(core(kind), least(core(kind)))
        return self.convert(expr, term.kind, kind)

    def leaves(self, bet: Bet) -> int:
        """Returns the number of the site at which a bet is lost."""
        key, above, _ = bet
        if (key, above) not in self.leaving:
            span = self.specification.config.source_span
            self.leaving[key, above] = len(self.sites)
            message = f"{key} is outside of the assumed bounds"
            self.sites.append(ir.Site("F911", span, message, leaves=self.bets[key], above=above))
        return self.leaving[key, above]


def exists(statement: Statement) -> Expr:
    """Returns whether some choices lead to the end of a statement that assigns nothing."""
    match statement:
        case ir.Sequence(statements):
            result: Expr = TRUE
            for part in reversed(statements):
                match part:
                    case ir.Require(condition):
                        result = conjunction([condition, result])
                    case ir.Ensure(condition, site) | ir.Assert(condition, site):
                        result = ir.Demand(ir.BOOL, condition, site, result)
                    case _:
                        assert result == TRUE, "only the last part makes choices"
                        result = exists(part)
            return result
        case ir.If(condition, then, otherwise):
            return chosen(condition, exists(then), exists(otherwise), ir.BOOL)
        case ir.Pick(slot=slot, domain=domain, body=body):
            return ir.Quantified(False, slot, domain, exists(body))
        case ir.Bind(slot, value, body):
            return ir.Let(ir.BOOL, slot, value, exists(body))
        case _:
            return exists(ir.Sequence((statement,)))


def structure(kind: Kind) -> Kind:
    """Returns a kind without its bounds, to compare the structure of kinds."""
    return with_bets(kind, "", _Everywhere())


class _Everywhere(dict[str, tuple[int, int]]):
    """The same bounds for every key."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> tuple[int, int]:
        return (0, 0)


def replaced(kind: Kind, steps: tuple[ir.Step, ...], part: Kind) -> Kind:
    """Returns a kind with another kind for a part."""
    if not steps:
        return part
    step, *rest = steps
    match kind, step:
        case Rec(fields), ir.FieldStep(index):
            name, old = fields[index]
            new = (name, replaced(old, tuple(rest), part))
            return Rec((*fields[:index], new, *fields[index + 1 :]))
        case Tup(items), ir.FieldStep(index):
            new_item = replaced(items[index], tuple(rest), part)
            return Tup((*items[:index], new_item, *items[index + 1 :]))
        case Fun(domain, keys, element), _:
            return Fun(domain, keys, replaced(element, tuple(rest), part))
        case _:
            raise AssertionError((kind, step))


def _sequence(first: Statement, second: Statement) -> Statement:
    rest = second.statements if isinstance(second, ir.Sequence) else (second,)
    return ir.Sequence((first, *rest))


__all__ = ["Actions", "Partial", "Seq", "SetOf", "Wider", "negation"]
