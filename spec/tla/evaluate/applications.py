"""Takes applications of functions apart where they are actions.

TLC does not compute all values of a function that it only applies. Where the application has the
place of an action, TLC takes the body as the action, so that each way through the body is a step of
its own. It does so unless it has computed the function before: functions in a state, and
definitions without parameters that depend on constants only, if their domain is finite and they are
not recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from fencepost.spec.text.source import Span
from fencepost.spec.tla.evaluate.expressions import Binder, deferred
from fencepost.spec.tla.evaluate.machine import (
    Act,
    Code,
    Env,
    Frame,
    Layout,
    Lazy,
    LetOperator,
    Local,
    Run,
)
from fencepost.spec.tla.evaluate.names import Maker, Names
from fencepost.spec.tla.modules.scopes import Operator, Part, Substituted
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.tree import Apply, Expr
from fencepost.spec.tla.values.kinds import EvaluationError, LazyFunction
from fencepost.spec.tla.values.lazy_sets import Product

Keep = Callable[[Frame], Any]
"""Computes a function like TLC where it is only applied: it may be a `Closure`."""


class _Body:
    """The body of a function as an action, in the frame of the place where it is written.
    ``whole`` computes the function itself, for its own name in the body.
    """

    def __init__(self, slot: int, layout: Layout, whole: Run | None) -> None:
        self.slot = slot
        self.layout = layout
        self.whole = whole
        self.domain: Run | None = None
        self.bind: Callable[[Frame, Any], None] | None = None
        self.act: Act | None = None
        self.keep: Keep | None = None


class Closure:
    """A function that TLC has not computed."""

    __slots__ = ("body", "frame")

    def __init__(self, body: _Body, frame: Frame) -> None:
        self.body = body
        self.frame = frame


class Applications(Names):
    """Compiles applications of functions as actions."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._splitting: list[Span] = []
        self._arguments: list[Span] = []
        """The functions that are arguments."""
        self._applies_parameters = False
        self.conditions: set[Act] = set()
        """The actions that are only conditions."""
        self._bodies: dict[Local, _Body] = {}
        """The bodies of functions, by their own names in these."""

    @property
    def splitting(self) -> list[Span]:
        """The functions that an action takes apart. A function that is an argument may be one."""
        return self._splitting + (self._arguments if self._applies_parameters else [])

    def argument(self, node: Expr, arity: int, env: Env) -> tuple[Maker, Code]:
        written: Expr | None = node
        if isinstance(node, Apply):
            local = None if node.path else env.locals.get(node.name)
            entity = None if node.path or local else env.scope.names.get(node.name)
            definition: Any = local or entity
            named = isinstance(definition, LetOperator | Operator)
            written = definition.body if named else None
        if isinstance(written, tree.Function):
            self._arguments.append(node.span)
        return super().argument(node, arity, env)

    def applied(self, node: tree.Index, env: Env, initial: bool) -> Act | None:
        """Compiles an application of a function as an action, or returns None for a condition."""
        keep = self.keep(node.function, env, initial)
        if keep is None:
            return None
        argument = self.expr(node.argument, env).run
        test = deferred(env, lambda: self.cond(node, env).run)

        def run(frame: Frame, then: Callable[[], None]) -> None:
            function = keep(frame)
            if not isinstance(function, Closure):
                if test(frame):
                    then()
                return
            own, act = self._bound(function, argument(frame)), function.body.act
            if own is None or act is None:
                # It has no value: this reports the error.
                test(frame)
            else:
                act(own, then)

        return run

    def keep(
        self, node: Expr, env: Env, initial: bool, trail: tuple[object, ...] = ()
    ) -> Keep | None:
        """Compiles a function that is only applied. Returns None if TLC has computed it."""
        match node:
            case tree.Function():
                return self._closure(node, env, initial)
            case tree.Let():
                inner, memos = self.let(node, env)
                return _inside(self.keep(node.body, inner, initial, trail), _cleared(inner, memos))
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                return self._chosen([(condition, then)], otherwise, node, env, initial, trail)
            case tree.Case(arms=arms, other=other):
                return self._chosen(arms, other, node, env, initial, trail)
            case tree.Index():
                return self._applied_twice(node, env, initial, trail)
            case Apply() if node.path or node.name.replace("_", "").isalnum():
                local = None if node.path else env.locals.get(node.name)
                if local is None:
                    return self._named_function(node, env, initial, trail)
                if isinstance(local, Local):
                    return self._local_function(local, initial)
                if not isinstance(local, LetOperator) or local.env is None or local in trail:
                    return None
                pairs = [
                    (p.slot, self.argument(arg, p.arity, env)[0])
                    for p, arg in zip(local.parameters, node.args, strict=True)
                ]

                def call(frame: Frame) -> Frame:
                    own = frame.copy() if pairs else frame
                    for slot, make in pairs:
                        own[slot] = make(frame)
                    return own

                return _inside(self.keep(local.body, local.env, initial, (*trail, local)), call)
            case _:
                return None

    def _chosen(
        self,
        arms: Sequence[tuple[Expr, Expr]],
        other: Expr | None,
        node: Expr,
        env: Env,
        initial: bool,
        trail: tuple[object, ...],
    ) -> Keep | None:
        """Compiles the function in the first arm whose condition is true."""
        keeps = [self.keep(value, env, initial, trail) for _, value in arms]
        last = None if other is None else self.keep(other, env, initial, trail)
        if last is None and not any(keeps):
            return None
        tests = [self.cond(test, env).run for test, _ in arms]

        def run(frame: Frame) -> Any:
            for test, keep in zip(tests, keeps, strict=True):
                if test(frame):
                    return keep and keep(frame)
            return last and last(frame)

        return run

    def _applied_twice(
        self, node: tree.Index, env: Env, initial: bool, trail: tuple[object, ...]
    ) -> Keep | None:
        """Compiles a function that is a value of another one."""
        keep = self.keep(node.function, env, initial, trail)
        if keep is None:
            return None
        argument = self.expr(node.argument, env).run

        def run(frame: Frame) -> Any:
            function = keep(frame)
            if not isinstance(function, Closure) or function.body.keep is None:
                return None
            inside = self._bound(function, argument(frame))
            return inside and function.body.keep(inside)

        return run

    def _bound(self, function: Closure, value: Any) -> Frame | None:
        """Returns the frame of the body of a function for an argument, or None if the argument is
        not in its domain.
        """
        body, own = function.body, function.frame.copy()
        body.layout.widen(own)
        if body.whole is not None:
            own[body.slot] = body.whole(own)
        assert body.domain is not None
        assert body.bind is not None
        if not self.universe.contains(body.domain(own), value):
            return None
        body.bind(own, value)
        return own

    def _closure(self, node: tree.Function, env: Env, initial: bool) -> Keep:
        local = Local("value", env.layout.slot())
        named = env.having({node.name: local}) if node.name else env
        body = _Body(local.slot, env.layout, self.expr(node, env).run if node.name else None)
        self._bodies[local] = body
        binders, inner = self.bound(node.bounds, named)
        body.domain, body.bind = _joint(binders)
        body.act = self.act(node.body, inner, initial)
        body.keep = self.keep(node.body, inner, initial)
        domain, finite = body.domain, self.universe.is_finite
        if not initial or _mentions(node.body, node.name):
            if body.act not in self.conditions:
                self._splitting.append(node.body.span)
            return lambda frame: Closure(body, frame)
        # In an initial condition, TLC computes a function if it can.
        return lambda frame: None if finite(domain(frame)) else Closure(body, frame)

    def _local_function(self, local: Local, initial: bool) -> Keep | None:
        body, slot = self._bodies.get(local), local.slot
        if body is not None:
            return lambda frame: Closure(body, frame)
        if local.kind != "lazy":
            return None
        self._applies_parameters = True

        def keep(frame: Frame) -> Any:
            value = frame[slot]
            return value.source.keep(value.frame, initial) if type(value) is Lazy else value

        return keep

    def _named_function(
        self, node: Apply, env: Env, initial: bool, trail: tuple[object, ...]
    ) -> Keep | None:
        if not node.path and (self.named_condition(node, env) or self.set_operator(node, env)):
            return None
        entity, makers, codes = self.meaning(node, env)
        if isinstance(entity, Substituted) and not node.args:
            return self.keep(entity.expr, env.outside(entity.outer), initial, (*trail, entity))
        if not isinstance(entity, Operator) or entity in trail:
            return None
        if isinstance(entity, Part):
            node = Apply(entity.name, entity.args, node.span)
        makers, _ = self.call(entity, node, env, makers, codes)
        inner = self.inside(entity, Layout(), env.primed, env.enabled)
        before = len(self._splitting)
        keep = _inside(
            self.keep(entity.body, inner, initial, (*trail, entity)),
            lambda frame: [make(frame) for make in makers],
        )
        if keep is not None and not makers and self._is_computed(entity):
            del self._splitting[before:]
            return None
        return keep

    def _is_computed(self, operator: Operator) -> bool:
        code = self.expr(Apply(operator.name, (), operator.place), Env(operator.scope, Layout()))
        body = operator.body
        recursive = isinstance(body, tree.Function) and _mentions(body.body, body.name)
        if code.level or code.free or recursive:
            return False
        try:
            value = code.run([])
        except (EvaluationError, RecursionError):
            return False
        if not isinstance(value, LazyFunction):
            return True
        return self.universe.is_finite(value.domain)


def _inside(keep: Keep | None, frames: Callable[[Frame], Frame]) -> Keep | None:
    """Returns a function that is written in another frame than it is used."""
    return None if keep is None else lambda frame: keep(frames(frame))


def _cleared(env: Env, memos: Sequence[int]) -> Callable[[Frame], Frame]:
    def frames(frame: Frame) -> Frame:
        env.layout.widen(frame)
        for slot in memos:
            frame[slot] = None
        return frame

    return frames


def _joint(binders: list[Binder]) -> tuple[Run, Callable[[Frame, Any], None]]:
    """Returns the domain of a function, and what binds the names to an element of it."""
    if len(binders) == 1:
        return binders[0].domain.run, binders[0].bind

    def domain(frame: Frame) -> Any:
        return Product([binder.domain.run(frame) for binder in binders])

    def bind(frame: Frame, value: Any) -> None:
        for binder, part in zip(binders, value, strict=True):
            binder.bind(frame, part)

    return domain, bind


def _mentions(node: object, name: str) -> bool:
    """Returns whether an expression has a name."""
    waiting: list[Any] = [node]
    while waiting:
        item = waiting.pop()
        match item:
            case Apply(path=()) if item.name == name:
                return True
            case _:
                pass
        if item.__class__ is tuple:
            waiting.extend(item)
        elif type(item).__module__ == tree.__name__:
            waiting += [getattr(item, part.name) for part in fields(item)]
    return False
