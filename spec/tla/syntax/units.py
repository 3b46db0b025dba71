"""Parses modules. Theorems and proofs are passed over."""

from __future__ import annotations

import re

from fencepost.spec.records import replace
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.expressions import Expressions
from fencepost.spec.tla.syntax.lexer import Token, refused
from fencepost.spec.tla.syntax.operators import INFIX, NEGATIVE, POSTFIX, SYNONYMS
from fencepost.spec.tla.syntax.tree import Definition, Expr, Instance, Parameter, Unit

_BEGIN = re.compile(r"-{4,}[ \t]*MODULE[ \t]+([A-Za-z0-9_]+)[ \t]*-{4,}")
_THEOREMS = frozenset({"THEOREM", "LEMMA", "PROPOSITION", "COROLLARY"})
_ASSUMES = frozenset({"ASSUME", "ASSUMPTION", "AXIOM"})
_VARIABLES = ("VARIABLE", "VARIABLES")
_CONSTANTS = ("CONSTANT", "CONSTANTS")
_FIRST_WORDS = _THEOREMS | _ASSUMES | {*_VARIABLES, *_CONSTANTS, "LOCAL", "INSTANCE", "RECURSIVE"}


def has_module(source: Source, name: str) -> bool:
    """Returns whether a file has a module with a name."""
    return any(begin[1] == name for begin in _BEGIN.finditer(source.text))


def parse_module(source: Source, name: str = "") -> tree.Module:
    """Parses the first module in a file, or the one with a name if there is one. The file may have
    other text before and after it. Raises `Rejected`.
    """
    begins = [*_BEGIN.finditer(source.text)]
    if not begins:
        message = 'this file has no module: a line "---- MODULE Name ----" is expected'
        raise refused(source, 0, min(1, len(source.text)), message)
    begin = next((begin for begin in begins if begin[1] == name), begins[0])
    try:
        reader = Units(source, begin.start())
        return replace(reader.module(), words=reader.words("name"), strings=reader.words("string"))
    except RecursionError:
        raise refused(source, 0, 1, "expressions are nested too deep in this module") from None


def parse_expression(source: Source) -> Expr:
    """Parses a text that is one expression. Raises `Rejected`."""
    reader = Units(source, 0, "expression")
    try:
        expr = reader.expression()
    except RecursionError:
        raise refused(source, 0, 1, "the expression is nested too deep") from None
    if reader.peek().kind != "end":
        reader.fail("the end of the expression is expected here")
    return expr


class Units(Expressions):
    """Parses the units of a module."""

    def module(self) -> tree.Module:
        """Parses a module from its first line to its last."""
        if self.next().kind != "line":
            self.fail("a module is expected here")
        self.expect("MODULE")
        name = self.name("the name of the module")
        if self.next().kind != "line":
            self.fail('"----" is expected here')
        extends: list[tuple[str, Span]] = []
        if self.takes("EXTENDS"):
            while True:
                extended = self.name("the name of a module")
                span = Span(self.source, extended.start, extended.end)
                extends.append((extended.text, span))
                if not self.takes(","):
                    break
        units: list[Unit] = []
        while self.peek().kind != "double":
            if self.peek().kind == "end":
                self.fail('"====" is expected at the end of the module')
            units += self._unit()
        self.next()
        span = Span(self.source, name.start, name.end)
        return tree.Module(name.text, tuple(extends), tuple(units), span)

    def _unit(self) -> tuple[Unit, ...]:
        token = self.peek()
        if token.kind == "line":
            if self.sees("MODULE", ahead=1):
                return (self.module(),)
            self.next()
            return ()
        text = token.text if token.kind == "name" else ""
        if text in _VARIABLES:
            self.next()
            return (tree.Variables(self._declared(), self.span(token.start)),)
        if text in _CONSTANTS:
            self.next()
            return (tree.Constants(self._declared(), self.span(token.start)),)
        if text in _ASSUMES:
            self.next()
            name = self._title()
            body = self.expression()
            self._skip_proof()
            return (tree.Assume(name, body, body.span),)
        if text in _THEOREMS:
            self.next()
            return self._theorem()
        if text == "USE" or text == "HIDE":
            self._skip_to_unit()
            return ()
        return (self._defined(),)

    def _title(self) -> str:
        if self.peek().kind == "name" and self.sees("==", ahead=1):
            name = self.next().text
            self.next()
            return name
        return ""

    def units(self) -> tuple[Unit, ...]:
        """Parses the definitions of a LET."""
        units = [self._defined()]
        while not self.sees("IN"):
            units.append(self._defined())
        return tuple(units)

    def _defined(self) -> Unit:
        """Parses a definition, an INSTANCE or a RECURSIVE declaration."""
        token = self.peek()
        if self.takes("RECURSIVE"):
            return tree.Recursive(self._declared(), self.span(token.start))
        local = self.takes("LOCAL")
        if self.sees("INSTANCE"):
            return self._instance("", (), local)
        start = self.peek()
        name, parameters = self._head()
        head = Span(self.source, start.start, start.end)
        if name is None:
            bounds = self._function_bounds()
            self.expect("==")
            body: Expr = self.expression()
            function = tree.Function(bounds, body, self.span(start.start), start.text)
            return Definition(start.text, (), function, local, head)
        self.expect("==", self._hint())
        if self.sees("INSTANCE"):
            return self._instance(name, parameters, local)
        body = self.expression()
        self._skip_proof()
        return Definition(name, parameters, body, local, head)

    def _hint(self) -> str:
        return ", after the name of a definition" if not self.sees("=") else ': "==" defines'

    def _head(self) -> tuple[str | None, tuple[Parameter, ...]]:
        """Parses what is defined: its name and parameters. The name is None for a function."""
        token = self.peek()
        if self.takes(NEGATIVE):
            return NEGATIVE, (self._parameter(),)
        first = self.peek(1)
        if token.kind == "name" and first.kind == "sign":
            if first.text in INFIX and self.peek(2).kind == "name" and self.sees("==", ahead=3):
                left = self._parameter()
                self.next()
                return SYNONYMS.get(first.text, first.text), (left, self._parameter())
            if first.text in POSTFIX and self.sees("==", ahead=2):
                left = self._parameter()
                self.next()
                return first.text, (left,)
        name = self.name("a definition").text
        if self.sees("["):
            return None, ()
        if not self.takes("("):
            return name, ()
        parameters = [self._parameter()]
        while self.takes(","):
            parameters.append(self._parameter())
        self.expect(")")
        return name, tuple(parameters)

    def _function_bounds(self) -> tuple[tree.Bound, ...]:
        self.expect("[")
        bounds = self.bounds()
        self.expect("]")
        return bounds

    def _parameter(self) -> Parameter:
        """Parses ``x``, ``Op(_, _)`` or ``_+_``."""
        token = self.peek()
        if self.takes("_"):
            sign = self.next()
            self.takes("_")
            arity = 2 if sign.text in INFIX else 1
            return Parameter(SYNONYMS.get(sign.text, sign.text), arity, self.span(token.start))
        name = self.name("a parameter")
        arity = 0
        if self.takes("("):
            while True:
                self.expect("_")
                arity += 1
                if not self.takes(","):
                    break
            self.expect(")")
        return Parameter(name.text, arity, Span(self.source, name.start, name.end))

    def _declared(self) -> tuple[Parameter, ...]:
        names = [self._parameter()]
        while self.takes(","):
            names.append(self._parameter())
        return tuple(names)

    def _instance(self, name: str, parameters: tuple[Parameter, ...], local: bool) -> Instance:
        start = self.expect("INSTANCE").start
        module = self.name("the name of a module")
        substitutions: list[tuple[str, Expr, Span]] = []
        if self.takes("WITH"):
            while True:
                token = self.next()
                self.expect("<-")
                if self.peek().kind == "sign" and self.peek().text in INFIX:
                    sign = self.next()
                    text = SYNONYMS.get(sign.text, sign.text)
                    value: Expr = tree.Apply(text, (), self.span(sign.start))
                else:
                    value = self.expression()
                span = Span(self.source, token.start, token.end)
                substitutions.append((SYNONYMS.get(token.text, token.text), value, span))
                if not self.takes(","):
                    break
        span = Span(self.source, start, module.end)
        return Instance(name, parameters, module.text, tuple(substitutions), local, span)

    # ------------------------------------------------------------ proofs

    def _theorem(self) -> tuple[Unit, ...]:
        """Passes over a theorem and its proof. Returns the formula if it has a name."""
        start, name = self.peek(), self._title()
        position, depth, limit = self.position, self.depth, self.limit
        if name and not self.sees("ASSUME"):
            try:
                body = self.expression()
                self._skip_proof()
                span = Span(self.source, start.start, start.end)
                return (tree.Theorem(name, body, span),)
            except Rejected:
                self.position, self.depth, self.limit = position, depth, limit
        while not self._proof_begins() and not self._unit_begins():
            self._skip()
        self._skip_proof()
        return ()

    def _proof_begins(self) -> bool:
        token = self.peek()
        return token.kind == "step" or (
            token.kind == "name" and token.text in ("PROOF", "BY", "OBVIOUS", "OMITTED")
        )

    def _skip_proof(self) -> None:
        """Passes over a proof, if there is one: up to the QED of its outermost level, and the proof
        of that step.
        """
        if not self._proof_begins():
            return
        while self.sees("PROOF"):
            self.next()
        if self.peek().kind != "step":
            self.position += 1
            self._skip_to_unit()
            return
        level = _level(self.peek())
        while self.peek().kind != "end":
            token = self.next()
            if token.kind == "step" and _level(token) == level and self.sees("QED"):
                self.next()
                break
        if self.peek().kind == "end":
            self.fail("a proof ends with a QED step")
        self._skip_proof()

    def _skip_to_unit(self) -> None:
        while not self._unit_begins():
            self._skip()

    def _skip(self) -> None:
        """Passes over a token, or the definitions of a LET."""
        lets = 0
        while True:
            lets += self.sees("LET")
            lets -= self.sees("IN")
            self.position += 1
            if lets < 1 or self.peek().kind == "end":
                return

    def _unit_begins(self) -> bool:
        """Returns whether the next tokens begin a unit of the module."""
        token = self.peek()
        if token.kind in ("line", "double", "end"):
            return True
        if token.kind != "name":
            return False
        if token.text in _FIRST_WORDS:
            # A theorem may be a sequent, which begins with ASSUME.
            return token.text not in ("ASSUME", "CONSTANT", "VARIABLE") or not token.column
        if token.text in ("DEF", "DEFS", "DEFINE"):
            return False
        ahead = 1
        if self.sees("(", "[", ahead=1):
            depth = 0
            while self.peek(ahead).kind != "end":
                depth += self.sees("(", "[", ahead=ahead)
                depth -= self.sees(")", "]", ahead=ahead)
                ahead += 1
                if not depth:
                    break
        elif self.peek(1).text in INFIX and self.peek(2).kind == "name":
            ahead = 3
        return self.sees("==", ahead=ahead)


def _level(step: Token) -> str:
    return step.text.partition(">")[0]


def expression_of(source: Source) -> Expr:
    """Parses a text that is one expression. Raises `Rejected`."""
    reader = Units(source)
    result = reader.expression()
    if reader.peek().kind != "end":
        reader.fail("the expression ends here")
    return result


def unsupported(span: Span | None, message: str, *notes: str) -> Rejected:
    """Returns the error for a part of TLA+ that is not supported."""
    return Rejected([Problem("F657", span, message, tuple((None, note) for note in notes))])
