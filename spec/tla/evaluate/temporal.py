"""Translates temporal formulas of TLA+. Their atoms are conditions on states and on steps.

A condition on steps is true in the state before the step. Every such condition has the form
``<<A>>_v``, so that a step that changes nothing does not satisfy it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any

from fencepost.spec.core.formulas import (
    Always,
    And,
    Eventually,
    Formula,
    Holds,
    Iff,
    Implies,
    LeadsTo,
    Not,
    Or,
)
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.actions import Actions
from fencepost.spec.tla.evaluate.machine import Code, Env, Frame, Layout, LetOperator, mistake
from fencepost.spec.tla.modules import scopes
from fencepost.spec.tla.modules.scopes import Operator, Substituted
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply, Bound, Expr
from fencepost.spec.tla.values.kinds import EvaluationError, Value

Frames = Callable[[], Frame]
"""Makes the frame for an evaluation. Values of a frame must not outlive a state."""
MAX_CONJUNCTS = 2_000
"""Largest number of values of a quantifier over a constant set in a temporal formula."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A named condition on states or on steps, or another expression about these, with the place
    of its definition.
    """

    name: str
    span: Span
    code: Code
    layout: Layout
    frames: Frames = list
    part: Part | None = None
    """The expression, and where it is written."""

    def frame(self) -> Frame:
        """Returns a frame for an evaluation."""
        frame = self.frames()
        self.layout.widen(frame)
        return frame


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a specification or property: a formula, and where it is written."""

    node: Expr
    env: Env
    frames: Frames = list
    values: tuple[tuple[str, Value], ...] = ()
    """The values of the bound names, for reports."""

    @property
    def span(self) -> Span:
        return self.node.span

    def of(self, node: Expr) -> Part:
        """Returns another formula at the same place."""
        return replace(self, node=node)


@dataclass(frozen=True, slots=True)
class Fair:
    """A fairness constraint: its steps, and the states that allow such a step."""

    label: str
    strong: bool
    span: Span
    enabled: Condition
    taken: Condition


@dataclass(slots=True)
class Temporal:
    """The atoms of the formulas that have been translated. A formula refers to them by number."""

    compiler: Actions
    atoms: list[tuple[Condition, bool]] = field(default_factory=list[tuple[Condition, bool]])
    """Every atom, and whether it is a condition on steps."""

    # ------------------------------------------------------------ parts

    def level(self, part: Part) -> int:
        """Returns the level of a formula: 0 for constants, 1 for states, 2 for steps, and 3."""
        return self.compiler.cond(part.node, part.env).level

    def condition(self, name: str, part: Part) -> Condition:
        """Compiles a condition on states or steps."""
        code = self.compiler.cond(part.node, part.env)
        return Condition(name, part.span, code, part.env.layout, part.frames, part)

    def truth(self, part: Part) -> bool:
        """Returns the value of a condition that is constant, or about the machine's states."""
        condition = self.condition("", part)
        return bool(condition.code.run(condition.frame()))

    def inside(self, part: Part) -> Part | None:
        """Returns the formula that a part names: the body of a definition or LET, or a substituted
        expression. Returns None for other parts.
        """
        node, env, frames = part.node, part.env, part.frames
        compiler = self.compiler
        if isinstance(node, tree.Let):
            inner, memos = compiler.let(node, env)

            def let() -> Frame:
                frame = frames()
                inner.layout.widen(frame)
                for slot in memos:
                    frame[slot] = None
                return frame

            return Part(node.body, inner, let, part.values)
        if not isinstance(node, Apply):
            return None
        local = None if node.path else env.locals.get(node.name)
        if isinstance(local, LetOperator) and local.env is not None:
            pairs = zip(local.parameters, node.args, strict=True)
            slots = [(p.slot, compiler.argument(arg, p.arity, env)[0]) for p, arg in pairs]

            def call_local() -> Frame:
                frame = frames()
                env.layout.widen(frame)
                own = frame.copy()
                for slot, make in slots:
                    own[slot] = make(frame)
                return own

            return Part(local.body, local.env, call_local, part.values)
        sign = not node.path and not node.name.replace("_", "").isalnum()
        if local is not None or sign:
            return None
        entity, makers, codes = compiler.meaning(node, env)
        if isinstance(entity, Substituted) and not node.args:
            return Part(entity.expr, env.outside(entity.outer), frames, part.values)
        if not isinstance(entity, Operator):
            return None
        if isinstance(entity, scopes.Part):
            node = Apply(entity.name, entity.args, node.span)
        makers, _ = compiler.call(entity, node, env, makers, codes)
        layout = Layout()

        def call() -> Frame:
            outer = frames()
            env.layout.widen(outer)
            return [make(outer) for make in makers]

        return Part(entity.body, compiler.inside(entity, layout, env.primed), call, part.values)

    def instances(self, part: Part) -> Iterator[Part]:
        """Yields the body of a quantifier for each vector of values from its sets, which must be
        constant.
        """
        node: Any = part.node
        for bound in node.bounds:
            if bound.domain is None or self.compiler.expr(bound.domain, part.env).level:
                message = "in a temporal formula, a quantifier ranges over a constant set"
                raise mistake("F657", node.span, message)
        try:
            for number, instance in enumerate(self.each(part)):
                if number >= MAX_CONJUNCTS:
                    message = f"this quantifier has more than {MAX_CONJUNCTS:,} values"
                    raise mistake("F657", node.span, message)
                yield instance
        except EvaluationError as error:
            raise mistake("F911", node.span, str(error)) from None

    def each(self, part: Part) -> Iterator[Part]:
        """Yields the body of a quantifier for each vector of values from its sets. Raises
        `EvaluationError`.
        """
        node: Any = part.node
        binders, inner = self.compiler.bound(node.bounds, part.env)
        frame = part.frames()
        inner.layout.widen(frame)
        for vector in product(*[tuple(binder.values(frame)) for binder in binders]):

            def bound_frame(vector: Sequence[Any] = vector) -> Frame:
                own = part.frames()
                inner.layout.widen(own)
                for binder, value in zip(binders, vector, strict=True):
                    binder.bind(own, value)
                return own

            values = (*part.values, *_named_values(node.bounds, vector))
            yield Part(node.body, inner, bound_frame, values)

    def conjuncts(self, part: Part) -> Iterator[Part]:
        """Yields the parts of a conjunction. Definitions are unfolded, unless they are conditions
        on states.
        """
        node = part.node
        if isinstance(node, tree.Junction) and node.sign == "/\\":
            for item in node.items:
                yield from self.conjuncts(part.of(item))
            return
        if self.level(part) > 1:
            if isinstance(node, tree.Quantified) and node.sign == "\\A":
                for instance in self.instances(part):
                    yield from self.conjuncts(instance)
                return
            inner = self.inside(part)
            if inner is not None:
                yield from self.conjuncts(inner)
                return
        yield part

    # ------------------------------------------------------------ fairness

    def fairness(self, part: Part) -> Fair | None:
        """Returns the fairness constraint that a part is, or None if it has another form."""
        node = part.node
        if not isinstance(node, tree.Fair):
            return None
        step = self._step(node, part)
        enabled = part.of(Apply("ENABLED", (step.node,), node.span))
        label = " ".join(node.span.text.split())
        show = self.compiler.universe.show
        chosen = ", ".join(f"{name} = {show(value)}" for name, value in part.values)
        return Fair(
            f"{label} for {chosen}" if chosen else label,
            node.strong,
            node.span,
            self.condition("", enabled),
            self.condition("", step),
        )

    def _step(self, node: tree.Fair | tree.Boxed, part: Part) -> Part:
        return part.of(tree.Boxed(node.action, node.variables, True, node.span))

    # ------------------------------------------------------------ formulas

    def formula(self, part: Part) -> Formula:
        """Translates a formula."""
        node, span = part.node, part.span
        level = self.level(part)
        if level <= 1:
            return self._atom(self.condition("", part), False)

        def of(expr: Expr) -> Formula:
            return self.formula(part.of(expr))

        match node:
            case tree.Junction(sign=sign, items=items):
                parts = tuple(map(of, items))
                return And(parts, span=span) if sign == "/\\" else Or(parts, span=span)
            case tree.Quantified(sign=("\\A" | "\\E") as sign):
                parts = tuple(map(self.formula, self.instances(part)))
                return And(parts, span=span) if sign == "\\A" else Or(parts, span=span)
            case tree.If(condition=test, then=then, otherwise=otherwise):
                first = Implies(of(test), of(then), span=span)
                return And((first, Or((of(test), of(otherwise)), span=span)), span=span)
            case tree.Boxed(angle=True):
                return self._atom(self.condition("", part), True)
            case tree.Boxed(action=action, variables=variables):
                # [A]_v is ~<<~A>>_v.
                fails = Apply("~", (action,), node.span)
                step = part.of(tree.Boxed(fails, variables, True, node.span))
                return Not(self._atom(self.condition("", step), True), span=span)
            case tree.Fair():
                return self._fair(node, part)
            case Apply(name=name, args=args) if not node.path:
                match name, len(args):
                    case "~", 1:
                        return Not(of(args[0]), span=span)
                    case "=>", 2:
                        return Implies(of(args[0]), of(args[1]), span=span)
                    case (("<=>" | "=" | "\\equiv"), 2):
                        return Iff(of(args[0]), of(args[1]), span=span)
                    case "[]", 1:
                        return Always(of(args[0]), span=span)
                    case "<>", 1:
                        return Eventually(of(args[0]), span=span)
                    case "~>", 2:
                        return LeadsTo(of(args[0]), of(args[1]), span=span)
                    case _:
                        pass
            case _:
                pass
        inner = self.inside(part) if level == 3 else None
        if inner is None:
            message = "this form is not supported in a temporal formula"
            if level == 2:
                message = "an action in a temporal formula has the form [A]_v or <<A>>_v"
            raise mistake("F657", span, message)
        return self.formula(inner)

    def _fair(self, node: tree.Fair, part: Part) -> Formula:
        """WF is ``[]<>~ENABLED <<A>>_v \\/ []<><<A>>_v``, and SF is ``<>[]~ENABLED <<A>>_v \\/
        []<><<A>>_v``.
        """
        fair = self.fairness(part)
        assert fair is not None
        span = node.span
        idle = Not(self._atom(fair.enabled, False), span=span)
        often = Always(Eventually(self._atom(fair.taken, True), span=span), span=span)
        rests: Formula = Always(Eventually(idle, span=span), span=span)
        if node.strong:
            rests = Eventually(Always(idle, span=span), span=span)
        return Or((rests, often), span=span)

    def _atom(self, condition: Condition, of_steps: bool) -> Formula:
        self.atoms.append((condition, of_steps))
        return Holds(len(self.atoms) - 1, span=condition.span)


def _named_values(bounds: Sequence[Bound], vector: Sequence[Any]) -> Iterator[tuple[str, Value]]:
    """Yields the names of bounds with the values that they have for a vector."""
    values = iter(vector)
    for bound in bounds:
        if bound.pattern:
            yield from zip(bound.names, next(values), strict=False)
        else:
            yield from ((name, next(values)) for name in bound.names)
