"""Parses expressions by the precedences of their operators and the columns of junction lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.spec.records import replace
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span
from fencepost.spec.tla.syntax import tree
from fencepost.spec.tla.syntax.lexer import Token
from fencepost.spec.tla.syntax.operators import (
    INFIX,
    NEGATIVE,
    POSTFIX,
    PREFIX,
    SYNONYMS,
    Fixity,
)
from fencepost.spec.tla.syntax.reader import RESERVED, Reader
from fencepost.spec.tla.syntax.tree import Apply, Bound, Expr

JUNCTIONS = ("/\\", "\\/", "\\land", "\\lor")
SELECTORS = (":", "<<", ">>")
"""Words that select a part of a definition, besides numbers and arguments: ``Def!:``."""
_APPLICATION = Fixity(16, 16, True)


class Expressions(Reader):
    """Parses expressions. `units` is the parser of the definitions in a LET."""

    def units(self) -> tuple[tree.Unit, ...]:
        raise NotImplementedError

    # ------------------------------------------------------------ operators

    def expression(self, left: tuple[str, Fixity] | None = None) -> Expr:
        """Parses an expression that may be the right operand of an operator ``left``."""
        with self.deeper():
            start = self.peek().start
            result = self._operand()
            chained = ""
            while True:
                token = self.peek()
                fixity = None if token.kind in ("string", "name") else INFIX.get(token.text)
                if fixity is None and token.text in POSTFIX and token.kind == "sign":
                    self.next()
                    result = self._applied(Apply(token.text, (result,), self.span(start)), start)
                    continue
                if fixity is None or self.sees("==", ahead=1) or self.sees(",", ")", ahead=1):
                    return result
                if left is not None and not self._tighter(left, token, fixity):
                    return result
                sign = SYNONYMS.get(token.text, token.text)
                if chained and not (chained == sign and fixity.left):
                    self._looser(chained, fixity, token)
                self.next()
                right = self.expression((sign, fixity))
                result = self._joined(sign, result, right, chained == sign, self.span(start))
                chained = sign

    def _looser(self, before: str, fixity: Fixity, token: Token) -> None:
        """Checks that an operator binds less than the operation to its left."""
        if fixity.high >= INFIX[before].low:
            self.conflict(before, token)

    def _tighter(self, left: tuple[str, Fixity], token: Token, fixity: Fixity) -> bool:
        """Returns whether an operator takes the operand between it and ``left``."""
        sign, before = left
        if fixity.low > before.high:
            return True
        if fixity.high < before.low:
            return False
        if not (sign == SYNONYMS.get(token.text, token.text) and fixity.left):
            self.conflict(sign, token)
        return False

    def _joined(self, sign: str, left: Expr, right: Expr, chained: bool, span: Span) -> Expr:
        """Returns an operation. A chain of junctions or of products is one node."""
        if sign in ("/\\", "\\/"):
            if chained and isinstance(left, tree.Junction):
                return tree.Junction(sign, (*left.items, right), span)
            return tree.Junction(sign, (left, right), span)
        if sign == "\\X":
            if chained and isinstance(left, tree.Product):
                return tree.Product((*left.items, right), span)
            return tree.Product((left, right), span)
        return Apply(sign, (left, right), span)

    def _operand(self) -> Expr:
        """Parses a prefix operator with its operand, a junction list, or a primary expression with
        what is applied to it.
        """
        token = self.peek()
        if token.kind != "string" and token.text in PREFIX:
            self.next()
            sign = NEGATIVE if token.text == "-" else SYNONYMS.get(token.text, token.text)
            operand = self.expression((token.text, PREFIX[token.text]))
            return Apply(sign, (operand,), self.span(token.start))
        if token.text in JUNCTIONS and token.kind == "sign":
            return self._list(token)
        return self._applied(self._primary(), token.start)

    def _list(self, bullet: Token) -> Expr:
        """Parses a junction list, whose bullets have one column."""
        sign, items = SYNONYMS.get(bullet.text, bullet.text), list[Expr]()
        while self.peek().column == bullet.column and self.sees(bullet.text):
            self.next()
            with self.right_of(bullet.column):
                items.append(self.expression())
        return tree.Junction(sign, tuple(items), self.span(bullet.start))

    def _applied(self, result: Expr, start: int) -> Expr:
        """Parses the arguments and fields that follow an expression."""
        while True:
            if self.sees("["):
                self.next()
                arguments = self._listed("]")
                if not arguments:
                    self.fail("an argument is expected here")
                self.expect("]")
                result = tree.Index(result, self._single(arguments), self.span(start))
            elif self.sees(".") and self.peek(1).kind == "name":
                self.next()
                result = tree.FieldOf(result, self.name("a field").text, self.span(start))
            else:
                return result

    @staticmethod
    def _single(items: Sequence[Expr]) -> Expr:
        if len(items) == 1:
            return items[0]
        first, last = items[0].span, items[-1].span
        return tree.Tuple(tuple(items), Span(first.source, first.start, last.end))

    def _listed(self, closing: str) -> list[Expr]:
        """Parses expressions between commas, up to a closing token, which is not read."""
        items: list[Expr] = []
        while items or not self.sees(closing):
            items.append(self.expression())
            if not self.takes(","):
                break
        return items

    # ------------------------------------------------------------ primary expressions

    def _primary(self) -> Expr:
        token = self.peek()
        match token.kind:
            case "number":
                self.next()
                return tree.Number(int(token.text), self.span(token.start))
            case "string":
                self.next()
                return tree.String(_unescaped(token.text), self.span(token.start))
            case "name":
                return self._word(token)
            case "sign" if token.text in INFIX and self.sees("(", ahead=1):
                return self.named()
            case _:
                parse = self._SIGNS.get(token.text)
                if parse is None or token.kind == "end":
                    self.fail("an expression is expected here")
                self.next()
                return parse(self, token)

    def _word(self, token: Token) -> Expr:
        if token.text in ("TRUE", "FALSE"):
            self.next()
            return tree.Truth(token.text == "TRUE", self.span(token.start))
        parse = self._WORDS.get(token.text)
        if parse is not None:
            self.next()
            return parse(self, token)
        if token.text in RESERVED:
            self.fail("an expression is expected here")
        if self.sees("::", ahead=1):
            self.next()
            self.next()
            return tree.Labelled(token.text, self.expression(), self.span(token.start))
        return self.named()

    def named(self, with_arguments: bool = True) -> Expr:
        """Parses a name with its arguments, and the names of instances before it."""
        start, path = self.peek().start, list[tree.Call]()
        while True:
            if path and (self.peek().kind == "number" or self.sees(*SELECTORS)):
                token = self.next()
            elif path and self.sees("("):
                token = replace(self.peek(), text="()")
            elif self.peek().kind == "name":
                token = self.name()
            else:
                token = self._operator_name()
            arguments: tuple[Expr, ...] = ()
            if with_arguments and self.sees("("):
                arguments = self._arguments()
            if self.peek().text == "!" and self.peek().kind == "sign":
                self.next()
                path.append(tree.Call(token.text, arguments))
                continue
            text = SYNONYMS.get(token.text, token.text)
            return Apply(text, arguments, self.span(start), tuple(path))

    def _operator_name(self) -> Token:
        token = self.peek()
        if token.text not in INFIX and token.text not in POSTFIX and token.text != NEGATIVE:
            self.fail("a name is expected here")
        return self.next()

    def _arguments(self) -> tuple[Expr, ...]:
        self.expect("(")
        items: list[Expr] = []
        while True:
            token = self.peek()
            sign = token.kind == "sign" or token.text in PREFIX
            if sign and self.sees(",", ")", ahead=1) and token.text not in (")", "]", "@"):
                self.next()
                name = SYNONYMS.get(token.text, token.text)
                items.append(Apply(name, (), self.span(token.start)))
            else:
                items.append(self.expression())
            if not self.takes(","):
                break
        self.expect(")")
        return tuple(items)

    def _parenthesised(self, token: Token) -> Expr:
        inside = self.expression()
        self.expect(")")
        return inside

    def _set(self, token: Token) -> Expr:
        if self.takes("}"):
            return tree.SetOf((), self.span(token.start))
        first = self.expression()
        if self.takes(":"):
            bound = self._as_bound(first)
            if bound is not None:
                condition = self.expression()
                self.expect("}")
                return tree.Filter(bound, condition, self.span(token.start))
            bounds = self.bounds()
            self.expect("}")
            return tree.Image(first, bounds, self.span(token.start))
        items = [first]
        while self.takes(","):
            items.append(self.expression())
        self.expect("}")
        return tree.SetOf(tuple(items), self.span(token.start))

    @staticmethod
    def _as_bound(expr: Expr) -> Bound | None:
        """Returns ``x \\in S`` as a bound, or None if an expression has another form."""
        if not (isinstance(expr, Apply) and expr.name == "\\in" and len(expr.args) == 2):
            return None
        names, domain = expr.args
        parts = names.items if isinstance(names, tree.Tuple) else (names,)
        texts = [p.name for p in parts if isinstance(p, Apply) and not p.args and not p.path]
        if not texts or len(texts) != len(parts):
            return None
        return Bound(tuple(texts), domain, isinstance(names, tree.Tuple), names.span)

    def bounds(self) -> tuple[Bound, ...]:
        """Parses ``x, y \\in S, <<a, b>> \\in T``."""
        result = [self._bound()]
        while self.takes(","):
            result.append(self._bound())
        return tuple(result)

    def _bound(self, bounded: bool = True) -> Bound:
        start = self.peek().start
        pattern = self.takes("<<")
        names = [self.name().text]
        while self.takes(","):
            names.append(self.name().text)
        if pattern:
            self.expect(">>")
        span = self.span(start)
        if not self.sees("\\in") and not bounded:
            return Bound(tuple(names), None, pattern, span)
        self.expect("\\in")
        return Bound(tuple(names), self.expression(), pattern, span)

    def _quantified(self, token: Token) -> Expr:
        first = self._bound(bounded=False)
        bounds = [first]
        while first.domain is not None and self.takes(","):
            bounds.append(self._bound())
        self.expect(":")
        body = self.expression()
        return tree.Quantified(token.text, tuple(bounds), body, self.span(token.start))

    def _choose(self, token: Token) -> Expr:
        bound = self._bound(bounded=False)
        self.expect(":")
        return tree.Choose(bound, self.expression(), self.span(token.start))

    def _tuple(self, token: Token) -> Expr:
        items: list[Expr] = []
        while items or not self.sees(">>", ">>_"):
            items.append(self.expression())
            if not self.takes(","):
                break
        if self.takes(">>_"):
            if len(items) != 1:
                self.fail("<<A>>_v has one action")
            variables = self._subscript()
            return tree.Boxed(items[0], variables, True, self.span(token.start))
        self.expect(">>")
        return tree.Tuple(tuple(items), self.span(token.start))

    def _bracket(self, token: Token) -> Expr:
        start = token.start
        if self.peek().kind == "name" and self.sees("|->", ":", ahead=1):
            return self._record(start)
        if self._has_bound():
            position, depth, limit = self.position, self.depth, self.limit
            try:
                bounds = self.bounds()
                self.expect("|->")
            except Rejected:
                self.position, self.depth, self.limit = position, depth, limit
            else:
                body = self.expression()
                self.expect("]")
                return tree.Function(bounds, body, self.span(start))
        first = self.expression()
        if self.takes("->"):
            range_ = self.expression()
            self.expect("]")
            return tree.FunctionSet(first, range_, self.span(start))
        if self.takes("EXCEPT"):
            return self._except(first, start)
        if not self.takes("]_"):
            self.fail('"]_", "->", "|->" or EXCEPT is expected here')
        return tree.Boxed(first, self._subscript(), False, self.span(start))

    def _has_bound(self) -> bool:
        """Returns whether names and ``\\in`` follow."""
        ahead = 0
        while self.peek(ahead).kind == "name" or self.sees(",", "<<", ">>", ahead=ahead):
            ahead += 1
        return ahead > 0 and self.sees("\\in", ahead=ahead)

    def _record(self, start: int) -> Expr:
        arrow = self.peek(1).text
        fields: list[tuple[str, Expr]] = []
        while True:
            name = self.name("a field").text
            self.expect(arrow)
            fields.append((name, self.expression()))
            if not self.takes(","):
                break
        self.expect("]")
        kind = tree.Record if arrow == "|->" else tree.RecordSet
        return kind(tuple(fields), self.span(start))

    def _except(self, function: Expr, start: int) -> Expr:
        updates: list[tree.Update] = []
        while True:
            begin = self.expect("!").start
            path: list[Expr] = []
            while not self.sees("="):
                if self.takes("."):
                    field = self.name("a field")
                    path.append(tree.String(field.text, self.span(field.start)))
                else:
                    self.expect("[")
                    path.append(self._single(self._listed("]")))
                    self.expect("]")
            self.expect("=")
            updates.append(tree.Update(tuple(path), self.expression(), self.span(begin)))
            if not self.takes(","):
                break
        self.expect("]")
        return tree.Except(function, tuple(updates), self.span(start))

    def _subscript(self) -> Expr:
        """Parses the variables after ``]_``, ``>>_`` or ``WF_``."""
        token = self.peek()
        if token.kind == "name":
            return self.named(with_arguments=False)
        if token.text not in ("<<", "("):
            self.fail("variables are expected here")
        return self._primary()

    def _fair(self, token: Token) -> Expr:
        variables = self._subscript()
        self.expect("(")
        action = self.expression()
        self.expect(")")
        return tree.Fair(token.text == "SF_", variables, action, self.span(token.start))

    def _if(self, token: Token) -> Expr:
        condition = self.expression()
        self.expect("THEN")
        then = self.expression()
        self.expect("ELSE")
        return tree.If(condition, then, self.expression(), self.span(token.start))

    def _case(self, token: Token) -> Expr:
        arms: list[tuple[Expr, Expr]] = []
        other: Expr | None = None
        while True:
            if self.takes("OTHER"):
                self.expect("->")
                other = self.expression()
                break
            condition = self.expression()
            self.expect("->")
            arms.append((condition, self.expression()))
            if not self.takes("[]"):
                break
        return tree.Case(tuple(arms), other, self.span(token.start))

    def _let(self, token: Token) -> Expr:
        units = self.units()
        self.expect("IN")
        return tree.Let(units, self.expression(), self.span(token.start))

    def _lambda(self, token: Token) -> Expr:
        names = [self.name()]
        while self.takes(","):
            names.append(self.name())
        self.expect(":")
        parameters = tuple(
            tree.Parameter(name.text, 0, Span(self.source, name.start, name.end)) for name in names
        )
        return tree.Lambda(parameters, self.expression(), self.span(token.start))

    def _at(self, token: Token) -> Expr:
        return tree.At(self.span(token.start))

    _WORDS: dict[str, Callable[[Expressions, Token], Expr]] = {  # noqa: RUF012
        "IF": _if, "CASE": _case, "LET": _let, "LAMBDA": _lambda, "CHOOSE": _choose,
    }  # fmt: skip
    _SIGNS: dict[str, Callable[[Expressions, Token], Expr]] = {  # noqa: RUF012
        "(": _parenthesised, "{": _set, "<<": _tuple, "[": _bracket, "WF_": _fair, "SF_": _fair,
        "\\A": _quantified, "\\E": _quantified, "\\AA": _quantified, "\\EE": _quantified,
        "@": _at,
    }  # fmt: skip


_ESCAPES = {"n": "\n", "t": "\t", "f": "\f", "r": "\r"}


def _unescaped(text: str) -> str:
    inside, result, index = text[1:-1], list[str](), 0
    while index < len(inside):
        if inside[index] == "\\":
            index += 1
            result.append(_ESCAPES.get(inside[index], inside[index]))
        else:
            result.append(inside[index])
        index += 1
    return "".join(result)
