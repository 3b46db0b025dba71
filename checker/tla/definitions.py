"""The definitions (`def`) of a spec: where one was called, the core has its body; here it is found
again by its place in the text, and becomes an operator of the module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fencepost.checker.tla.expressions import expression
from fencepost.checker.tla.names import Names
from fencepost.checker.tla.scope import Scope
from fencepost.checker.tla.statements import parts_ways
from fencepost.checker.tla.tree import Definition, Expr, Name, call
from fencepost.spec import ir, syntax, types
from fencepost.spec.source import Span
from fencepost.spec.walk import walk

_LEAVES = (ir.Literal, ir.Local, ir.Variable)


@dataclass(slots=True)
class Definitions:
    """The definitions of the files of a spec, and what has been made of them.

    One that is called with values of several kinds may become several operators.
    """

    names: Names
    variables: dict[int, Expr]
    made: list[Definition] = field(default_factory=list[Definition])
    _known: dict[tuple[int, tuple[str, ...], Expr], str] = field(
        default_factory=dict[tuple[int, tuple[str, ...], Expr], str]
    )
    _declared: list[syntax.DefDecl] = field(default_factory=list[syntax.DefDecl])

    def read(self, files: Iterable[syntax.File]) -> None:
        """Takes up the definitions of some files."""
        for file in files:
            self._declared += [
                one for one in walk(file.declarations) if isinstance(one, syntax.DefDecl)
            ]

    def called(self, scope: Scope, expr: ir.Expr) -> Expr | None:
        """The call of the operator that ``expr`` is the body of; a parameter inside one; None for
        any other expression.
        """
        span = expr.span
        if span is None:
            return None
        if isinstance(expr, _LEAVES):
            if isinstance(scope.inside, syntax.DefDecl) and _within(span, scope.inside.body.span):
                name = scope.parameters.get(span.text)
                return None if name is None else Name(name)
            return None
        if isinstance(scope.inside, syntax.DefDecl) and _within(span, scope.inside.body.span):
            return None
        found = next((one for one in self._declared if _within(span, one.body.span)), None)
        return None if found is None else self._call(scope, found, expr)

    def _call(self, scope: Scope, declared: syntax.DefDecl, expr: ir.Expr) -> Expr:
        inside = replace(scope, inside=declared, parameters={})
        given = self._parameters(declared, expr)
        if given is None or not self._plain(scope, declared, expr, given):
            return expression(inside, expr)
        names = self.names.inner()
        parameters = {text: names.fresh(text) for text in given}
        slots: dict[int, Expr] = {
            leaf.slot: Name(parameters[text])
            for text, leaf in given.items()
            if isinstance(leaf, ir.Local)
        }
        own = replace(
            inside,
            names=names,
            variables=self.variables,
            slots=slots,
            parameters=parameters,
        )
        body = expression(own, expr)
        key = (id(declared), tuple(parameters.values()), body)
        if key not in self._known:
            name = self.names.fresh(declared.name.text)
            self._known[key] = name
            comment = above(declared.span)
            self.made.append(Definition(name, tuple(parameters.values()), body, comment))
            if isinstance(expr.type, types.Bool) and not parts_ways(own, body):
                scope.work.whole.add(name)
        return call(self._known[key], *(expression(scope, leaf) for leaf in given.values()))

    def _parameters(self, declared: syntax.DefDecl, expr: ir.Expr) -> dict[str, ir.Expr] | None:
        """What the parameters stand for, by their names, and so for other locals from outside.
        None where that is not to be told from the text.
        """
        wanted = {one.name.text for one in declared.parameters}
        leaves = [node for node in walk(expr) if isinstance(node, _LEAVES)]
        bound = {
            node.slot
            for node in walk(expr)
            if isinstance(node, ir.Let | ir.BuildMap | ir.Quantified | ir.Collect | ir.Find)
        }
        found: dict[str, ir.Expr] = {}
        for leaf in leaves:
            text = "" if leaf.span is None else leaf.span.text
            free = isinstance(leaf, ir.Local) and leaf.slot not in bound
            named = (
                leaf.span is not None and text in wanted and _within(leaf.span, declared.body.span)
            )
            if not free and not named:
                continue
            if not text.isidentifier():
                return None
            if found.setdefault(text, leaf) != leaf:
                return None
        order = [one.name.text for one in declared.parameters]
        return dict(sorted(found.items(), key=lambda pair: _place(order, pair[0])))

    def _plain(
        self,
        scope: Scope,
        declared: syntax.DefDecl,
        expr: ir.Expr,
        given: dict[str, ir.Expr],
    ) -> bool:
        """Whether the body reads variables only as they are at the beginning of a step."""
        for node in walk(expr):
            if isinstance(node, ir.Variable):
                inside = node.span is not None and _within(node.span, declared.body.span)
                if inside and node.span is not None and node.span.text in given:
                    continue
                if node.next or scope.variables[node.index] != self.variables[node.index]:
                    return False
        return True


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _within(span: Span, outer: Span) -> bool:
    return span.source is outer.source and outer.start <= span.start and span.end <= outer.end


def above(span: Span) -> str:
    """The comment in the lines right above a declaration."""
    number = span.line - 1
    told: list[str] = []
    while number > 0 and (text := span.source.line(number).strip()).startswith("#"):
        told.append(text.lstrip("#").removeprefix(" "))
        number -= 1
    return "\n".join(reversed(told))
