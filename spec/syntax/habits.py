"""Recognizes habits from TLA+ and Python, and gives hints for this language.

Each hint recognizes one form of another notation and ignores all others. `syntax_errors.py` calls
the hints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.spec.syntax import vocabulary
from fencepost.spec.syntax.lalr import Unexpected
from fencepost.spec.syntax.tokens import (
    CLOSING,
    DEDENT,
    END,
    INDENT,
    INTEGER,
    LAYOUT,
    NAME,
    NEWLINE,
    OPENING,
    STRANGE,
    Token,
    word_set,
)
from fencepost.spec.text.problem import Note, Problem, suggestion
from fencepost.spec.text.source import Source, Span


@dataclass(frozen=True)
class Slip:
    """An unexpected token, with access to its context."""

    source: Source
    error: Unexpected

    @property
    def unexpected(self) -> Token:
        return self.near(0)

    @cached_property
    def expected(self) -> frozenset[str]:
        """The expected tokens. Keywords and signs are in their own spelling."""
        return self.error.expected()

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the grammar that have been read, outermost first."""
        return self.error.symbols()

    def near(self, distance: int) -> Token:
        """Returns the token ``distance`` positions after the unexpected one, or an ``END`` token if
        that position is outside the text.
        """
        index = self.error.index + distance
        if 0 <= index < len(self.error.tokens):
            return self.error.tokens[index]
        return Token(END, "", self.error.tokens[-1].end, self.error.tokens[-1].end)

    def begins_line(self, distance: int = 0) -> bool:
        """Returns whether the token at ``distance`` is the first of its line."""
        return self.error.index + distance == 0 or self.near(distance - 1).kind in LAYOUT

    @cached_property
    def line(self) -> tuple[Token, ...]:
        """The tokens before the unexpected one in its line. If the unexpected token is a line end,
        these are all tokens of the line.
        """
        first = self.error.index
        while first > 0 and self.error.tokens[first - 1].kind not in LAYOUT:
            first -= 1
        return tuple(self.error.tokens[first : self.error.index])

    @cached_property
    def inside(self) -> tuple[Token, ...]:
        """The innermost open bracket of the line, and the tokens after it. Empty if no bracket is
        open.
        """
        opened: list[int] = []
        for index, token in enumerate(self.line):
            if token.kind in OPENING:
                opened.append(index)
            elif token.kind in CLOSING and opened:
                opened.pop()
        return self.line[opened[-1] :] if opened else ()

    def span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def problem(self, code: str, message: str, *notes: Note, at: Token | None = None) -> Problem:
        return Problem(code, self.span(at or self.unexpected), message, notes)


_AND, _OR = frozenset({"and", "/\\", "&&", "∧"}), frozenset({"or", "\\/", "||", "∨"})
_LEADING = (vocabulary.CONTINUES | _AND | _OR | {"is"}) - (
    vocabulary.CHANGES | word_set("- not = , then else")
)
"""Tokens that cannot begin a line, because they need a left operand."""

_BEFORE_FORMULAS = word_set("( : not and or implies iff always eventually")
_ARITHMETIC_SIGNS = frozenset("*/%^")
"""Characters of operators that other languages combine with an assignment."""


_COMMENT = re.compile(r"//|--|\(\*(?!\w)|/\*|\\\*")
_WORDS = re.compile(r"[ \t]*(?:[\w,.'-]+[ \t]+)*")
_TWO_WORDS = re.compile(r"[ \t]*[^\W\d]\w*[ \t]+[^\W\d]")


def _comment(slip: Slip) -> Problem | None:
    """Recognizes the comments of other languages. The signs `//` and `--` are also operators, so
    two words must follow them.
    """
    token = next(
        (after for n in range(3) if (after := slip.near(n)).kind not in LAYOUT), slip.unexpected
    )
    text = slip.source.text
    line = text.rfind("\n", 0, token.start) + 1
    for sign in _COMMENT.finditer(text, line, token.end + 1):
        adjacent = token.start <= sign.end() or _WORDS.fullmatch(text, sign.end(), token.start)
        is_operator = sign[0] in ("//", "--") and not _TWO_WORDS.match(text, sign.end())
        if adjacent and not is_operator:
            at = Token(STRANGE, sign[0], *sign.span())
            message = f'a comment begins with "#", not with "{sign[0]}"'
            return slip.problem("F111", message, at=at)
    return None


def _unequal(slip: Slip) -> Problem | None:
    """Recognizes `/=`, which means "not equal" in TLA+ and Haskell, and divides in Python."""
    unexpected, after = slip.unexpected, slip.near(1)
    if unexpected.kind == "=" and after.text == "/" and slip.near(2).kind == "=":
        both = Token(STRANGE, "=/=", unexpected.start, slip.near(2).end)
        return slip.problem("F111", 'there is no "=/=" here; write "!="', at=both)
    if unexpected.text != "/" or after.kind != "=" or after.start != unexpected.end:
        return None
    both = Token(STRANGE, "/=", unexpected.start, after.end)
    if "+=" not in slip.expected:
        return slip.problem("F111", 'there is no "/=" here; to compare, write "!="', at=both)
    target = _target(slip)
    divided = f"to divide, write {target} = {target} // e"
    message = 'there is no "/=" here; two values that differ are compared by "!="'
    return slip.problem("F111", message, (None, divided), at=both)


def _target(slip: Slip) -> str:
    """Returns the assignment target of a statement that has just begun."""
    start = len(slip.line)
    while start > 0 and slip.line[start - 1].kind not in (":", ";"):
        start -= 1
    if start == len(slip.line):
        return "x"
    return slip.source.text[slip.line[start].start : slip.line[-1].end]


def _in_place(slip: Slip) -> Problem | None:
    """Recognizes `x *= 2` and `x++`. The language has only `+=`, `-=`, `|=` and `&=`."""
    unexpected, after = slip.unexpected, slip.near(1)
    if "+=" not in slip.expected or after.start != unexpected.end:
        return None
    target = _target(slip)
    if set(unexpected.kind) <= _ARITHMETIC_SIGNS and after.kind == "=":
        sign = f"{unexpected.text}="
        both = Token(STRANGE, sign, unexpected.start, after.end)
        message = f'there is no "{sign}" here; write {target} = {target} {unexpected.text} e'
        return slip.problem("F111", message, at=both)
    if unexpected.kind in ("+", "-") and after.kind == unexpected.kind:
        both = Token(STRANGE, unexpected.text * 2, unexpected.start, after.end)
        message = f'there is no "{both.text}" here; write {target} {unexpected.text}= 1'
        return slip.problem("F111", message, at=both)
    return None


def _primed(slip: Slip) -> Problem | None:
    """Recognizes `x' = e` in an action."""
    if slip.unexpected.text != "'" or "+=" not in slip.expected:
        return None
    note = (None, f"an assignment gives the value after the step: {_target(slip)} = e")
    return slip.problem("F111", "there is no ' here", note)


def _operator_first(slip: Slip) -> Problem | None:
    """Recognizes a line that begins with `or`, or with the signs of a TLA+ list."""
    unexpected = slip.unexpected
    if slip.begins_line() and unexpected.kind not in LAYOUT:
        # In a block, each line is a condition; elsewhere, the previous line has ended.
        sign, block = unexpected, _in_block(slip)
    elif unexpected.kind == INDENT:
        sign, block = slip.near(1), False
    elif unexpected.kind == NEWLINE and slip.near(1).kind == INDENT:
        sign, block = slip.near(2), False
    else:
        return None
    if sign.text not in _LEADING:
        return None
    if block and sign.text in _AND:
        message = f'a line of a block does not begin with "{sign.text}": omit it'
        note: Note = (None, "each line of a block is a condition, and all of them must hold")
        return slip.problem("F101", message, note, at=sign)
    word = {"\\/": "or", "||": "or", "∨": "or"}.get(sign.text)
    continuing = f'a line continues the line before if it begins with "{word or sign.text}"'
    notes: list[Note] = [(None, f"{continuing} and is indented deeper")]
    if block:
        notes.append((None, "each line of a block is a condition, and all of them must hold"))
    message = f'a line does not begin with "{sign.text}"'
    return slip.problem("F101", message, *notes, at=sign)


def _in_block(slip: Slip) -> bool:
    """Returns whether a condition may begin here as a line of a block, and a statement may not."""
    return INTEGER in slip.expected and "require" not in slip.expected


def _let_in(slip: Slip) -> Problem | None:
    """Recognizes `let x = e in body`."""
    texts = [token.text for token in slip.line]
    if ":" not in slip.expected or "let" not in texts:
        return None
    rest = texts[len(texts) - texts[::-1].index("let") :]
    if "in" not in rest or ":" in rest or "forall" in rest or "exists" in rest:
        return None
    word = slip.line[len(texts) - len(rest) + rest.index("in")]
    return slip.problem("F101", 'a "let" has no "in"; write let x = e: body', at=word)


def _let_line(slip: Slip) -> Problem | None:
    """Recognizes mistakes in the `let` lines of a block: a colon at the end, a `let` after the
    conditions or without any, and `var x = e` or `x = e` instead of `let`.
    """
    unexpected, before = slip.unexpected, slip.near(-1)
    if unexpected.kind == NEWLINE and ":" in slip.expected and slip.line[0].text == "let":
        note: Note = (None, 'a condition may begin with its own "let": let x = e: body')
        if "formula_kind" in slip.symbols:
            message = 'the block of a property has no "let" lines'
            return slip.problem("F101", message, note, at=slip.line[0])
        message = 'the "let" lines of a block come before its conditions'
        return slip.problem("F101", message, note, at=slip.line[0])
    if before.kind == NEWLINE and _line_before(slip)[0].text == "let":
        if slip.expected == frozenset({INDENT}):
            message = 'a "let" line of a block has no ":" at its end'
            return slip.problem("F101", message, at=slip.near(-2))
        if unexpected.kind == DEDENT and INTEGER in slip.expected:
            message = 'the "let" lines of a block are followed by a condition or a value'
            return slip.problem("F101", message, at=slip.near(-2))
    if before.text in ("var", "val", "const") and slip.begins_line(-1) and "==" in slip.expected:
        return slip.problem("F114", f'there is no "{before.text}" here; write "let"', at=before)
    return None


def _line_before(slip: Slip) -> Sequence[Token]:
    """Returns the tokens of the line that ends before the unexpected token."""
    tokens = slip.error.tokens
    first = slip.error.index - 1
    while first > 0 and tokens[first - 1].kind not in LAYOUT:
        first -= 1
    return tokens[first : slip.error.index]


def _chosen(slip: Slip) -> Problem | None:
    """Recognizes other notations for the choice of elements: `{m in P if p}`, `{x in S: p}`, `{x in
    S | p}`, `{e: x in S}`, and `{x for x in S: p}`.
    """
    inside, unexpected = slip.inside, slip.unexpected
    if len(inside) < 2 or inside[0].kind not in "{[":
        return None
    close = "}" if inside[0].kind == "{" else "]"
    name = inside[1].text
    if inside[1].kind == NAME and len(inside) > 3 and inside[2].text == "in":
        bar = next((i for i, token in enumerate(inside) if token.kind == "|"), None)
        if unexpected.text in ("if", ":", "where") or (
            bar and unexpected.text in vocabulary.COMPARISONS
        ):
            at = unexpected if bar is None else inside[bar]
            domain = _text(
                slip, inside[3 : bar if bar and unexpected.text not in ("if", ":") else None]
            )
            written = f"{inside[0].text}{name} for {name} in {domain} if ...{close}"
            sign = at.text if bar is None or unexpected.text in ("if", ":") else "|"
            return slip.problem(
                "F101", f'a choice of elements has no "{sign}"; write {written}', at=at
            )
        return None
    if unexpected.text in (":", "where") and _generator(inside):
        message = f'a choice of elements has no "{unexpected.text}"; write "if"'
        return slip.problem("F101", message)
    after = (slip.near(1).kind, slip.near(2).text)
    if unexpected.kind == ":" and "for" in slip.expected and after == (NAME, "in"):
        value = _text(slip, inside[1:])
        written = f"{inside[0].text}{value} for {slip.near(1).text} in ...{close}"
        return slip.problem(
            "F101", f'the values for elements of a set have no ":"; write {written}'
        )
    return None


def _text(slip: Slip, tokens: Sequence[Token]) -> str:
    return slip.source.text[tokens[0].start : tokens[-1].end] if tokens else "..."


def _generator(tokens: Sequence[Token]) -> bool:
    return any(token.text == "for" for token in tokens)


def _keyed(slip: Slip) -> Problem | None:
    """Recognizes `[k: e for k in K]`."""
    inside = slip.inside
    if slip.unexpected.text != "for" or not inside or inside[0].kind != "[" or _generator(inside):
        return None
    if all(token.kind != ":" for token in inside):
        return None
    return slip.problem("F101", "a map over a type has no keys before its values", (None, _MAP))


_MAP = "the form is: [e for k in K]"
_ONE_IF = 'one "if" follows all sets'


def _several_generators(slip: Slip) -> Problem | None:
    """Recognizes `{e for x in S for y in T}` and `{e for x in S if p, y in T}`."""
    if not slip.inside or slip.inside[0].kind not in "{[" or not _generator(slip.inside):
        return None
    if slip.unexpected.text == "for" and "if" in slip.expected:
        message = 'several sets follow one "for", separated by commas'
        return slip.problem("F101", message, (None, vocabulary.GENERATORS))
    if slip.unexpected.text in (",", "for", "if") and any(
        token.text == "if" for token in slip.inside
    ):
        return slip.problem("F101", _ONE_IF, (None, vocabulary.GENERATORS))
    return None


def _quantified(slip: Slip) -> Problem | None:
    """Recognizes `forall x in S where p: q`, `forall x in S if p, y in T: q`, `forall (x in S): p`
    and `all(... for x in S)`.
    """
    unexpected = slip.unexpected
    if unexpected.text in ("where", ",") and ":" in slip.expected:
        kinds = [token.text for token in slip.line if token.text in ("forall", "exists", ":")]
        if kinds and kinds[-1] != ":" and unexpected.text == ",":
            note = (None, f"the form is: {kinds[-1]} x in S, y in T if p: q")
            return slip.problem("F101", _ONE_IF, note)
        if kinds and kinds[-1] != ":":
            message = f'a quantifier has no "where"; write {kinds[-1]} x in S if p: q'
            return slip.problem("F101", message)
    if (
        unexpected.text == "in"
        and len(slip.inside) == 2
        and slip.near(-3).text in ("forall", "exists")
    ):
        message = f"the brackets are for tuples; write {slip.near(-3).text} x in S: p"
        return slip.problem("F101", message, at=slip.near(-2))
    if unexpected.text == "for" and slip.inside and slip.inside[0].kind == "(":
        before = slip.line[: len(slip.line) - len(slip.inside)]
        if before and before[-1].text in ("all", "any"):
            return _python_quantifier(slip, before[-1])
    if unexpected.text == "any" and slip.near(1).kind == "(" and "(" in slip.expected:
        return _python_quantifier(slip, unexpected)
    return None


def _python_quantifier(slip: Slip, word: Token) -> Problem:
    kind = "forall" if word.text == "all" else "exists"
    message = f'there is no "{word.text}(...)" here; write {kind} x in S: p'
    return slip.problem("F111", message, at=word)


def _where(slip: Slip) -> Problem | None:
    """Recognizes a misplaced `where` in the head of an action, and other words used instead of
    it.
    """
    word, texts = slip.unexpected.text, [token.text for token in slip.line]
    if word not in ("where", "if", "when", "with", "and", "require") or "action" not in texts:
        return None
    if slip.inside:
        parameters = texts[texts.index("action") + 2 :]
        if word == "and" or parameters[:1] != ["("] or ":" in texts:
            return None
        message = f'"{word}" is written inside the parentheses; write (x in S) where p'
    elif "where" in slip.expected:
        message = f'choices and messages are restricted by "where", not by "{word}"'
    elif "where" in texts and word == "where":
        message = 'there is one "where"; write "and" between two conditions'
    elif "from" in slip.expected:
        message = f'"{word}" is written before the channel; write on PATTERN from c where p'
    elif slip.near(-2).text == "action" and word in ("where", "if", "when"):
        message = f'without parameters there is no "{word}"; begin the body with "require p"'
    else:
        return None
    return slip.problem("F101", message)


def _content_first(slip: Slip) -> Problem | None:
    """Recognizes `channel c: M = [m] lossy`."""
    texts = [token.text for token in slip.line]
    words = ("capacity", "lossy", "duplicating", *vocabulary.DISCIPLINES.values(), "persistent")
    if "=" not in texts or texts[0] != "channel" or slip.unexpected.text not in words:
        return None
    message = f'the initial content of a channel comes last, after "{slip.unexpected.text}"'
    return slip.problem("F101", message)


def _slice(slip: Slip) -> Problem | None:
    """Recognizes `q[0:1]`, `q[1:]` and `q[..]`."""
    inside, unexpected = slip.inside, slip.unexpected
    if not inside or inside[0].kind != "[":
        return None
    before = slip.line[: len(slip.line) - len(inside)]
    if not before or before[-1].kind not in (NAME, ")", "]", "!"):
        return None
    if unexpected.kind != ":" and not (unexpected.kind == "]" and slip.near(-1).kind == ".."):
        return None
    message = "a part of a sequence is q[i..j], q[i..] or q[..j]; both ends belong to it"
    return slip.problem("F101", message)


def _several_fields(slip: Slip) -> Problem | None:
    """Recognizes `[r with f: a, g: b]`."""
    if slip.unexpected.kind != ":" or slip.near(-1).kind != NAME or slip.near(-2).kind != ",":
        return None
    if all(token.text != "with" for token in slip.inside):
        return None
    return slip.problem("F101", vocabulary.SEVERAL_FIELDS, at=slip.near(-1))


def _temporal(slip: Slip) -> Problem | None:
    """Recognizes `<>` and `[]` before a value."""
    note = (None, f"a form of it is: {vocabulary.FORMS['property']}")
    if slip.unexpected.text == "<>" and INTEGER in slip.expected:
        message = 'there is no "<>" before a value; use "eventually" in a property'
        return slip.problem("F111", message, note)
    before, left, right = slip.near(-3), slip.near(-2), slip.near(-1)
    if (left.kind, right.kind) != ("[", "]") or left.end != right.start:
        return None
    if before.kind not in LAYOUT and before.text not in _BEFORE_FORMULAS:
        return None
    if slip.unexpected.kind not in (NAME, INTEGER, STRANGE) or "+" not in slip.expected:
        return None
    both = Token(STRANGE, "[]", left.start, right.end)
    message = f'there is no "[]" before a value; {vocabulary.ALWAYS}'
    return slip.problem("F111", message, note, at=both)


def _word_before(slip: Slip) -> Problem | None:
    """Recognizes TLA+ words before an operand, as in `UNION S` or `UNCHANGED x`, and between two
    operands, as in `s subseteq t`.
    """
    before, unexpected = slip.near(-1), slip.unexpected
    if INTEGER in slip.expected or before.kind != NAME:
        return None
    if unexpected.kind in (NAME, "{", INTEGER) and (
        instead := vocabulary.PREFIXES.get(before.text)
    ):
        message = f'there is no "{before.text}" here; {instead}'
        return slip.problem("F111", message, at=before)
    if unexpected.kind == NAME and (instead := vocabulary.BETWEEN.get(unexpected.text)):
        return slip.problem("F111", f'there is no "{unexpected.text}" here; {instead}')
    return None


def _rest_of_pattern(slip: Slip) -> Problem | None:
    """Recognizes `A(x, ...)` as a pattern."""
    if slip.unexpected.text != "..." or not {NAME, "=="} <= slip.expected - {INTEGER}:
        return None
    note = (None, f"the form is: {vocabulary.FORMS['case']}")
    return slip.problem("F117", 'a pattern has no "..."; write "_" for each field to ignore', note)


def _loop(slip: Slip) -> Problem | None:
    """Recognizes a loop in a value, as in the body of a def."""
    if slip.unexpected.text != "for" or INTEGER not in slip.expected:
        return None
    if "require" in slip.expected:
        return None
    message = f'a value has no "for" loop; a fold computes a value from elements: {vocabulary.FOLD}'
    return slip.problem("F101", message)


def _folded(slip: Slip) -> Problem | None:
    """Recognizes `fold(x in S, ...)`, `fold(n = 0, x in S: e)`, `fold(n, x in S: e)`, a misspelt
    word in a fold, and `reduce(n, x in S from 0: e)`.
    """
    texts = [token.text for token in slip.inside]
    before, unexpected = slip.line[: len(slip.line) - len(texts)], slip.unexpected
    if not before or (not texts and "(" not in slip.expected):
        return None
    name = before[-1]
    if unexpected.text == "from" and name.kind == NAME and name.text != "fold":
        message = f'there is no "{name.text}" here; the form of a fold is: {vocabulary.FOLD}'
        return slip.problem("F111", message, at=name)
    if name.text != "fold" or ("from" in texts and ":" in texts[texts.index("from") :]):
        return None
    guess = suggestion(unexpected.text, slip.expected & {"in", "if", "from"})
    if unexpected.text == "where":
        guess = ', and its condition begins with "if"'
    return slip.problem("F101", f"the form of a fold is: {vocabulary.FOLD}{guess}")


def _no_result(slip: Slip) -> Problem | None:
    """Recognizes `return e`."""
    if slip.near(-1).text != "return" or slip.unexpected.kind in LAYOUT or "where" in slip.expected:
        return None
    if slip.unexpected.kind not in (NAME, INTEGER, "(", "[", "{", "-"):
        return None
    note = (None, "a def has a value: def f(x: T): U = e")
    return slip.problem("F101", '"return" ends an action or a procedure, and takes no value', note)


HINTS: tuple[Callable[[Slip], Problem | None], ...] = (
    _comment, _unequal, _in_place, _primed, _operator_first, _let_line, _let_in, _chosen,
    _several_generators, _keyed, _quantified, _where, _content_first, _slice, _several_fields,
    _temporal, _word_before, _rest_of_pattern, _loop, _folded, _no_result,
)  # fmt: skip
