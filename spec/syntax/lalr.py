"""Runs Lark on a chunk of text. Produces nodes, or the tokens expected at the position of an error.

A `Builder` creates the nodes of the language. No other module runs Lark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from lark import Lark, UnexpectedToken
from lark import Token as LarkToken
from lark.grammar import Rule
from lark.lexer import BasicLexer, ContextualLexer
from lark.parse_tree_builder import ParseTreeBuilder
from lark.parsers.lalr_analysis import Reduce, Shift
from lark.parsers.lalr_parser import LALR_Parser

from fencepost.spec.syntax.layout import Chunk, Layout
from fencepost.spec.syntax.nodes import Let, LetIn
from fencepost.spec.syntax.parse_table import prepared
from fencepost.spec.syntax.tokens import END, NAME, NEWLINE, Token, kinds, spelled, word_set
from fencepost.spec.text.source import Source, Span

Start: TypeAlias = Literal["chunk", "expression"]

MAX_DEPTH = 120
"""The maximum depth of a tree. It allows every later phase to traverse the tree recursively."""

_ALWAYS_RESERVED = word_set("and or not implies iff in is if then else elif for case where with")
"""The grammar would accept these words as names, but a spec that used them as names would be
unreadable.
"""

_IN_PLACES = frozenset({"always", "eventually", "const", "expect", "action", "each", "role"})
"""Words that are keywords where a formula or a line of a scenario may begin, or after `fair`, even
if a name could also occur there. Elsewhere they are ordinary names.
"""

_RESERVED = "RESERVED"
"""The token type of a reserved word where the grammar does not accept it. No rule mentions it."""


@cache
def keywords() -> frozenset[str]:
    """Returns the keywords of the grammar."""
    return frozenset(word for word in spelled().values() if word.isidentifier())


@cache
def reserved() -> frozenset[str]:
    """Returns the keywords that occur where a name could occur. These are never names."""
    competing = {spelled().get(name) for row in _rows().values() if NAME in row for name in row}
    return _ALWAYS_RESERVED | ((keywords() & competing) - _IN_PLACES)


@cache
def loaded_parser() -> Any:
    """Returns Lark's parser for the grammar.

    Tokens other than keywords are accepted in every state, so that they are never cut short.

    Lark can load plain data, as the parsers that it generates do, but only through this function,
    which has no public name. Therefore pyproject.toml limits the version of Lark.
    """
    words, data = keywords(), prepared()
    layout = Layout([name for name in kinds() if spelled().get(name) not in words])
    load: Any = Lark._load_from_dict  # pyright: ignore
    return load(
        data["data"],
        data["memo"],
        postlex=layout,
        lexer_callbacks={NAME: _reserve},
        _plugins={"ContextualLexer": _Lexer, "LALR_Parser": _Parser},
    )


class _Lexer(ContextualLexer):
    """A contextual lexer that creates the lexers of states on demand. Lark's own lexer creates all
    of them in advance.
    """

    def __init__(
        self, conf: Any, states: Mapping[int, Sequence[str]], always_accept: Sequence[str] = ()
    ) -> None:
        super().__init__(conf, {}, always_accept)
        self.lexers = _Lexers(conf, states, frozenset((*conf.ignore, *always_accept)))


class _Lexers(dict[int, Any]):
    """Maps the number of a state to its lexer. States with the same terminals share a lexer."""

    def __init__(
        self, conf: Any, states: Mapping[int, Sequence[str]], always_accept: frozenset[str]
    ) -> None:
        self._conf = conf
        self._states = states
        self._always = always_accept
        self._made: dict[frozenset[str], BasicLexer] = {}

    def __missing__(self, state: int) -> BasicLexer:
        names = self._always.union(self._states[state])
        if names not in self._made:
            conf = copy(self._conf)
            terminals = conf.terminals_by_name
            conf.terminals = [terminals[name] for name in sorted(names) if name in terminals]
            self._made[names] = BasicLexer(conf)
        self[state] = lexer = self._made[names]
        return lexer


class _Parser:
    """Loads Lark's parser with a parse table in our own format."""

    @staticmethod
    def deserialize(data: Any, *others: Any) -> Any:
        parser: Any = LALR_Parser
        loaded = parser.deserialize({**data, "states": {}}, *others)
        tokens = data["tokens"]
        reductions: list[Any] = [(Reduce, rule) for rule in prepared()["rules"]]
        for state, (shifts, reduced) in enumerate(data["states"]):
            row: dict[str, Any] = {tokens[token]: (Shift, to) for token, to in shifts}
            for rule, before in reduced:
                row |= dict.fromkeys([tokens[token] for token in before], reductions[rule])
            loaded.parser.parse_table.states[state] = row
        return loaded


def _reserve(token: LarkToken) -> LarkToken:
    if token.value in reserved():
        token.type = _RESERVED
    return token


def _rows() -> Mapping[int, Mapping[str, tuple[Any, Any]]]:
    """Returns the action of the parser in each state for each symbol."""
    rows: Mapping[int, Mapping[str, tuple[Any, Any]]]
    rows = loaded_parser().parse_interactive(start="chunk").parser_state.parse_conf.states
    return rows


def rules() -> Sequence[Rule]:
    """Returns the rules of the grammar, one for each alternative."""
    rules_of_grammar: Sequence[Rule] = loaded_parser().rules
    return rules_of_grammar


def node_name(rule: Rule) -> str | None:
    """Returns the name of the node that a rule builds. Returns None for a rule whose parts belong
    to the node of another rule.
    """
    return None if rule.origin.name.startswith("_") else str(rule.alias or rule.origin.name)


# ---------------------------------------------------------------- nodes


class TooDeep(Exception):
    """A node has more than `MAX_DEPTH` levels of nodes below it. ``token`` is its first token.

    ``lets`` is the number of `let` lines directly in the node. Each of them is a level for the
    lines after it.
    """

    def __init__(self, token: Token, lets: int) -> None:
        self.token = token
        self.lets = lets
        super().__init__(token)


@dataclass(slots=True)
class _Part:
    """The result of a rule: a node, or the parts of a rule that is inlined into another rule."""

    children: Any
    """The node, or the list of parts. The name is the one under which Lark accesses the list."""
    first: Any
    """The first token of the node, as Lark's object."""
    end_pos: int
    depth: int


_Reduce: TypeAlias = Callable[[Sequence[Any]], Any]


@cache
def _shapes() -> Mapping[Rule, _Reduce]:
    """Returns a function for each rule, which maps the rule's symbols to the children of its node,
    or to the only child.
    """

    def children(_name: str, parts: list[Any]) -> list[Any]:
        return parts

    make: Any = ParseTreeBuilder
    shapes: Mapping[Rule, _Reduce] = make(
        rules(), children, maybe_placeholders=True
    ).create_callback()
    return shapes


_ONLY: _Reduce = itemgetter(0)


def _passes(rule: Rule) -> bool:
    """Returns whether a rule passes on its only symbol, as most rules of expressions do."""
    if not rule.options.expand1 or rule.alias or len(rule.expansion) != 1:
        return False
    symbol: Any = rule.expansion[0]
    if symbol.is_term:
        return rule.options.keep_all_tokens or not symbol.filter_out
    return not symbol.name.startswith("_")


class Builder:
    """Builds the nodes of a source. ``forms`` contains the function that builds the node of each
    rule.
    """

    def __init__(self, source: Source, forms: Mapping[str, Callable[..., Any]]) -> None:
        self._source = source
        self._start = 0
        self._callbacks = {
            rule: _ONLY if _passes(rule) else self._reduce(shape, node_name(rule), forms)
            for rule, shape in _shapes().items()
        }

    def read(self, start: Start, chunk: Chunk) -> Any:
        """Builds the node of a chunk. Raises `Unexpected`, `TooDeep`, or an exception of the
        functions in ``forms``.
        """
        self._start = chunk.start
        parser = loaded_parser().parse_interactive(chunk.text, start=start)
        parser.parser_state.parse_conf.callbacks = self._callbacks
        try:
            return parser.resume_parse().children
        except UnexpectedToken:
            raise _unexpected(start, chunk) from None

    def _reduce(
        self, shape: _Reduce, name: str | None, forms: Mapping[str, Callable[..., Any]]
    ) -> _Reduce:
        form = forms.get(name or "")

        def reduce(symbols: Sequence[Any]) -> Any:
            depth = 0
            for part in symbols:
                if type(part) is _Part and part.depth > depth:
                    depth = part.depth
            first, end = symbols[0], symbols[-1].end_pos
            if type(first) is _Part:
                first = first.first
            parts = shape(symbols)
            if parts is None or type(parts) is _Part or isinstance(parts, LarkToken):
                # This is the only part of a rule. It may be an absent optional part.
                value = self._plain(parts)
            elif name is None:
                value = parts
            else:
                assert form is not None
                span = Span(self._source, self._start + first.start_pos, self._start + end)
                value = form(span, *map(self._plain, parts))
                lets = sum(type(part) is _Part and type(part.children) is Let for part in parts)
                nested = lets if isinstance(value, LetIn) else 0
                depth += nested + (type(value) is not tuple)
                if depth > MAX_DEPTH:
                    raise TooDeep(_token(first, self._start), nested)
            return _Part(value, first, end, depth)

        return reduce

    def _plain(self, value: Any) -> Any:
        """Converts a part to the form that the functions in ``forms`` expect."""
        if type(value) is _Part:
            return value.children
        return None if value is None else _token(value, self._start)


def _token(token: LarkToken, start: int) -> Token:
    assert token.start_pos is not None
    assert token.end_pos is not None
    kind = NAME if token.type == _RESERVED else kinds().get(token.type, token.type)
    return Token(kind, token.value, start + token.start_pos, start + token.end_pos)


# ---------------------------------------------------------------- what does not fit


class Unexpected(Exception):
    """A token was unexpected. ``parser`` has read the tokens before that token.

    ``tokens`` extend to the end of the line of this token, or of the next line if the token is the
    last of its line. They are followed by an ``END``.
    """

    def __init__(self, tokens: Sequence[Token], index: int, parser: Any) -> None:
        self.tokens = tokens
        self.index = index
        self._parser = parser
        super().__init__(tokens[index])

    @property
    def unexpected(self) -> Token:
        """The token that was not expected."""
        return self.tokens[self.index]

    def expected(self) -> frozenset[str]:
        """Returns the expected tokens, with keywords and signs in their own spelling. A comma that
        could only continue the fields of a ``with`` is omitted.
        """
        return frozenset(_written(name) for name in self._parser.accepts() - {"_MORE"})

    def rules(self) -> Set[str]:
        """Returns the names of the rules that could begin here."""
        return {name for name in self._parser.choices() if name.islower()}

    def symbols(self) -> tuple[str, ...]:
        """Returns the symbols of the grammar that have been read, outermost first."""
        return tuple(_symbols()[state] for state in self._parser.parser_state.state_stack[1:])


def _written(name: str) -> str:
    return spelled().get(name, name)


@cache
def _symbols() -> Mapping[int, str]:
    """Returns, for each state, the last symbol on every path into the state."""
    return {
        entry: _written(symbol)
        for row in _rows().values()
        for symbol, (_, entry) in row.items()
        if isinstance(entry, int)
    }


def _unread(start: Start, text: str | None = None) -> Any:
    """Returns a parser that builds no nodes."""
    parser = loaded_parser().parse_interactive(text, start=start)
    parser.parser_state.parse_conf.callbacks = {}
    return parser


def _unexpected(start: Start, chunk: Chunk) -> Unexpected:
    """Finds the first token of a chunk that cannot be read."""
    parser = _unread(start, chunk.text)
    lexed: list[LarkToken] = []
    index = None
    for token in parser.lexer_thread.lex(parser.parser_state):
        if index is None:
            try:
                parser.feed_token(token)
            except UnexpectedToken:
                index = len(lexed)
        elif lexed[-1].type == NEWLINE and len(lexed) > index + 1:
            break
        lexed.append(token)
    tokens = [_token(token, chunk.start) for token in lexed]
    tokens.append(Token(END, "", tokens[-1].end, tokens[-1].end))
    if index is None:
        index = len(lexed)
    # The parser may already have reduced by rules that this token would require in another
    # position. Such reductions hide tokens that are expected here, so the tokens are fed again, to
    # a new parser.
    before = _unread(start)
    for token in lexed[:index]:
        before.feed_token(token)
    return Unexpected(tokens, index, before)


def keyword_places(chunk: Chunk) -> frozenset[int]:
    """Returns the offsets in the file of the words that the grammar treats as keywords. If the
    chunk has an error, only the words before the error are included.
    """
    parser = _unread("chunk", chunk.text)
    offsets: set[int] = set()
    with suppress(UnexpectedToken):
        for token in parser.iter_parse():
            if spelled().get(token.type) in keywords():
                offsets.add(chunk.start + token.start_pos)
    return frozenset(offsets)
