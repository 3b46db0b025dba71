"""Turns the definitions (`def`) of a spec into operators of the module. Where a definition was
called, the core contains its body; this module recognizes the body by its place in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from fencepost.checker.tla_export.expressions import expression
from fencepost.checker.tla_export.names import Names
from fencepost.checker.tla_export.printing import flat
from fencepost.checker.tla_export.scope import Scope
from fencepost.checker.tla_export.simplify import call
from fencepost.checker.tla_export.statements import parts_ways
from fencepost.checker.tla_export.tree import Definition, Expr, Name
from fencepost.spec.core import ir, types
from fencepost.spec.core.signatures import bound
from fencepost.spec.core.traverse import children, walk
from fencepost.spec.elaborate.base.symbols import Definition as Declared
from fencepost.spec.text.source import Span

_LEAVES = (ir.Literal, ir.Local, ir.Variable)


@dataclass(slots=True)
class Definitions:
    """The definitions in the files of a spec, and the operators made from them.

    A definition that is called with values of several kinds may become several operators.
    """

    names: Names
    variables: dict[int, Expr]
    locals: dict[int, str]
    declared: tuple[Declared, ...]
    made: list[Definition] = field(default_factory=list[Definition])
    _known: dict[tuple[int, tuple[str, ...], Expr], str] = field(
        default_factory=dict[tuple[int, tuple[str, ...], Expr], str]
    )

    def called(self, scope: Scope, expr: ir.Expr) -> Expr | None:
        """Returns the call of the operator whose body is ``expr``. Within such a body, returns the
        name of a parameter. Returns None for any other expression.
        """
        span = expr.span
        if span is None:
            return None
        inside = isinstance(scope.inside, Declared) and _within(span, scope.inside.body)
        if isinstance(expr, _LEAVES):
            if inside or not isinstance(expr, ir.Variable):
                return None
            name = scope.parameters.get(expr.index)
            return None if name is None or expr.next else Name(name)
        if inside:
            return None
        enclosing = next(
            (candidate for candidate in self.declared if _within(span, candidate.body)), None
        )
        return None if enclosing is None else self._call(scope, enclosing, expr)

    def _call(self, scope: Scope, declared: Declared, expr: ir.Expr) -> Expr:
        inside = replace(scope, inside=declared, parameters={})
        arguments = self._parameters(declared, expr)
        if any(isinstance(node, ir.Recall) for node in walk(expr)):
            # A recursive operator is defined where it is called.
            arguments = None
        if arguments is None or not self._plain(scope, expr, arguments):
            return expression(inside, expr)
        names = self.names.inner()
        parameters = {text: names.fresh(text) for text in arguments}
        slots: dict[int, Expr] = {}
        handed: dict[int, str] = {}
        for text, leaf in arguments.items():
            if isinstance(leaf, ir.Local):
                slots[leaf.slot] = Name(parameters[text])
            else:
                handed[leaf.index] = parameters[text]
        own = replace(inside, names=names, variables=self.variables, slots=slots, parameters=handed)
        body = expression(own, expr)
        key = (id(declared), tuple(parameters.values()), body)
        if key not in self._known:
            name = self.names.fresh(declared.name)
            self._known[key] = name
            comment = above(declared.span)
            self.made.append(Definition(name, tuple(parameters.values()), body, comment))
            if isinstance(expr.type, types.Bool) and not parts_ways(own, body):
                scope.work.whole.add(name)
        return call(self._known[key], *(expression(scope, leaf) for leaf in arguments.values()))

    def _parameters(
        self, declared: Declared, expr: ir.Expr
    ) -> dict[str, ir.Local | ir.Variable] | None:
        """Returns the arguments by the names of their parameters. Other outer locals are included
        in the same way. Returns None if the arguments cannot be determined from the text.

        In the body, a variable that was passed as an argument has the span of the call.
        """
        inside = {slot for node in walk(expr) if isinstance(node, ir.Expr) for slot in bound(node)}
        locals_: dict[str, ir.Local | ir.Variable] = {}
        for leaf in walk(expr):
            if isinstance(leaf, ir.Local) and leaf.slot not in inside:
                text = self.locals.get(leaf.slot, "")
                if not text.isidentifier() or locals_.setdefault(text, leaf) != leaf:
                    return None
        for part in self._own(declared, expr):
            if not isinstance(part, ir.Variable) or part.next or part.span is None:
                continue
            if not _within(part.span, declared.body):
                locals_.setdefault(flat(self.variables[part.index]), part)
        order = declared.parameters
        missing = [text for text in declared.used if text not in locals_]
        strange = [text for text in locals_ if text not in order]
        if len(missing) == len(strange):
            # An argument that is itself a name has kept the name that it has outside the call.
            for text, other in zip(strange, missing, strict=True):
                locals_[other] = locals_.pop(text)
        return dict(sorted(locals_.items(), key=lambda pair: _place(order, pair[0])))

    def _own(self, declared: Declared, expr: ir.Expr) -> Iterator[ir.Expr]:
        """Yields the parts of a body that do not belong to the body of another definition."""
        for part in children(expr):
            span = getattr(part, "span", None)
            other = span is not None and any(
                candidate is not declared and _within(span, candidate.body)
                for candidate in self.declared
            )
            if not other or isinstance(part, _LEAVES):
                yield part  # type: ignore[misc]
                yield from self._own(declared, part)  # type: ignore[arg-type]

    def _plain(
        self,
        scope: Scope,
        expr: ir.Expr,
        arguments: Mapping[str, ir.Local | ir.Variable],
    ) -> bool:
        """Checks whether the body only reads the values that variables have at the beginning of a
        step.
        """
        handed = [leaf for leaf in arguments.values() if isinstance(leaf, ir.Variable)]
        return not any(
            node.next
            or (node not in handed and scope.variables[node.index] != self.variables[node.index])
            for node in walk(expr)
            if isinstance(node, ir.Variable)
        )


def _place(order: tuple[str, ...], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _within(span: Span, outer: Span) -> bool:
    return span.source is outer.source and outer.start <= span.start and span.end <= outer.end


def above(span: Span) -> str:
    """Returns the comment in the lines directly above a declaration."""
    number = span.line - 1
    rows: list[str] = []
    while number > 0 and (text := span.source.line(number).strip()).startswith("#"):
        rows.append(text.lstrip("#").removeprefix(" "))
        number -= 1
    return "\n".join(reversed(rows))
