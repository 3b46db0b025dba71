"""Runs Lark on a chunk of text: nodes out, or what could have stood where the text broke off.

It knows neither the language nor its nodes: a `Builder` makes those. Nothing else runs Lark.
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
"""How deep a tree may be, so that every later phase may walk it by recursion."""

_ALWAYS_RESERVED = word_set("and or not implies iff in is if then else elif for case where with")
"""The grammar would allow these as names, but a spec that used them so could not be read."""

_IN_PLACES = frozenset({"always", "eventually", "const", "expect"})
"""Where a formula or a line of a scenario may begin these are keywords although a name could stand
there, too; anywhere else they are names like others.
"""

_RESERVED = "RESERVED"
"""The kind of a reserved word where the grammar has no room for it; no rule names it."""


@cache
def keywords() -> frozenset[str]:
    """The words that the grammar has a place for."""
    return frozenset(word for word in spelled().values() if word.isidentifier())


@cache
def reserved() -> frozenset[str]:
    """The keywords that stand where a name could stand too, and so never are names."""
    beside = {spelled().get(name) for row in _rows().values() if NAME in row for name in row}
    return _ALWAYS_RESERVED | ((keywords() & beside) - _IN_PLACES)


@cache
def loaded_parser() -> Any:
    """Lark's parser of the grammar.

    What is no keyword is a token in every place, so that it is never cut short.

    Lark can be loaded from plain data, as the parsers are that it generates, but only through
    this function, which has no public name. So pyproject.toml says up to which version.
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
    """Lark's, which prepares a lexer for each state; here for a state that the parser is in."""

    def __init__(
        self, conf: Any, states: Mapping[int, Sequence[str]], always_accept: Sequence[str] = ()
    ) -> None:
        super().__init__(conf, {}, always_accept)
        self.lexers = _Lexers(conf, states, frozenset((*conf.ignore, *always_accept)))


class _Lexers(dict[int, Any]):
    """The lexers of states, by their numbers; states with the same terminals share one."""

    def __init__(
        self, conf: Any, states: Mapping[int, Sequence[str]], always: frozenset[str]
    ) -> None:
        self._conf = conf
        self._states = states
        self._always = always
        self._made: dict[frozenset[str], BasicLexer] = {}

    def __missing__(self, state: int) -> BasicLexer:
        names = self._always.union(self._states[state])
        if names not in self._made:
            conf = copy(self._conf)
            known = conf.terminals_by_name
            conf.terminals = [known[name] for name in sorted(names) if name in known]
            self._made[names] = BasicLexer(conf)
        self[state] = made = self._made[names]
        return made


class _Parser:
    """What loads Lark's parser, with a table as it is prepared here."""

    @staticmethod
    def deserialize(data: Any, *others: Any) -> Any:
        parser: Any = LALR_Parser
        made = parser.deserialize({**data, "states": {}}, *others)
        tokens = data["tokens"]
        reductions: list[Any] = [(Reduce, rule) for rule in prepared()["rules"]]
        for state, (shifts, reduced) in enumerate(data["states"]):
            row: dict[str, Any] = {tokens[token]: (Shift, to) for token, to in shifts}
            for rule, before in reduced:
                row |= dict.fromkeys([tokens[token] for token in before], reductions[rule])
            made.parser.parse_table.states[state] = row
        return made


def _reserve(token: LarkToken) -> LarkToken:
    if token.value in reserved():
        token.type = _RESERVED
    return token


def _rows() -> Mapping[int, Mapping[str, tuple[Any, Any]]]:
    """What the parser does in each state before each symbol."""
    rows: Mapping[int, Mapping[str, tuple[Any, Any]]]
    rows = loaded_parser().parse_interactive(start="chunk").parser_state.parse_conf.states
    return rows


def rules() -> Sequence[Rule]:
    """The rules of the grammar, alternatives taken apart."""
    found: Sequence[Rule] = loaded_parser().rules
    return found


def node_name(rule: Rule) -> str | None:
    """The node that a rule makes; None for a rule whose parts belong to another node."""
    return None if rule.origin.name.startswith("_") else str(rule.alias or rule.origin.name)


# ---------------------------------------------------------------- nodes


class TooDeep(Exception):
    """A node with more than `MAX_DEPTH` nodes below each other; ``token`` is the first in it.

    ``lets`` is the number of `let` lines directly in it, each a level for the lines after it.
    """

    def __init__(self, token: Token, lets: int) -> None:
        self.token = token
        self.lets = lets
        super().__init__(token)


@dataclass(slots=True)
class _Part:
    """What a rule has become: a node, or the parts of a rule that is a piece of another."""

    children: Any
    """The node, or the list of parts. Lark asks for the latter under this name."""
    first: Any
    """Lark's token that it begins with."""
    end_pos: int
    depth: int


_Reduce: TypeAlias = Callable[[Sequence[Any]], Any]


@cache
def _shapes() -> Mapping[Rule, _Reduce]:
    """For each rule: the children of its node, from its symbols; or its only child itself."""

    def children(_name: str, found: list[Any]) -> list[Any]:
        return found

    make: Any = ParseTreeBuilder
    shapes: Mapping[Rule, _Reduce] = make(
        rules(), children, maybe_placeholders=True
    ).create_callback()
    return shapes


_ONLY: _Reduce = itemgetter(0)


def _passes(rule: Rule) -> bool:
    """Whether a rule stands for its only symbol: most rules of expressions do."""
    if not rule.options.expand1 or rule.alias or len(rule.expansion) != 1:
        return False
    symbol: Any = rule.expansion[0]
    if symbol.is_term:
        return rule.options.keep_all_tokens or not symbol.filter_out
    return not symbol.name.startswith("_")


class Builder:
    """Makes the nodes of a source, each by the function that ``forms`` has for its rule."""

    def __init__(self, source: Source, forms: Mapping[str, Callable[..., Any]]) -> None:
        self._source = source
        self._start = 0
        self._callbacks = {
            rule: _ONLY if _passes(rule) else self._reduce(shape, node_name(rule), forms)
            for rule, shape in _shapes().items()
        }

    def read(self, start: Start, chunk: Chunk) -> Any:
        """The node for a chunk; raises `Unexpected`, `TooDeep`, and what the forms raise."""
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
            made = shape(symbols)
            if made is None or type(made) is _Part or isinstance(made, LarkToken):
                # The only part of a rule, which may be one that is optional and absent.
                value = self._plain(made)
            elif name is None:
                value = made
            else:
                assert form is not None
                span = Span(self._source, self._start + first.start_pos, self._start + end)
                value = form(span, *map(self._plain, made))
                lets = sum(type(part) is _Part and type(part.children) is Let for part in made)
                nested = lets if isinstance(value, LetIn) else 0
                depth += nested + (type(value) is not tuple)
                if depth > MAX_DEPTH:
                    raise TooDeep(_token(first, self._start), nested)
            return _Part(value, first, end, depth)

        return reduce

    def _plain(self, value: Any) -> Any:
        """A part as a form takes it."""
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
    """A token that has no place where it stands; ``parser`` has read the tokens in front of it.

    ``tokens`` end with that line, or with the next if the token is the last of its line, and an
    ``END``.
    """

    def __init__(self, tokens: Sequence[Token], index: int, parser: Any) -> None:
        self.tokens = tokens
        self.index = index
        self._parser = parser
        super().__init__(tokens[index])

    def expected(self) -> frozenset[str]:
        """The tokens (keywords and signs as they are written) that could stand here, but for a
        comma that only the next field of a ``with`` could follow.
        """
        return frozenset(_written(name) for name in self._parser.accepts() - {"_MORE"})

    def rules(self) -> Set[str]:
        """The rules that could begin here."""
        return {name for name in self._parser.choices() if name.islower()}

    def symbols(self) -> tuple[str, ...]:
        """What has been read so far, outermost first: symbols of the grammar."""
        return tuple(_symbols()[state] for state in self._parser.parser_state.state_stack[1:])


def _written(name: str) -> str:
    return spelled().get(name, name)


@cache
def _symbols() -> Mapping[int, str]:
    """The symbol of the grammar that every way into a state reads last."""
    return {
        entry: _written(symbol)
        for row in _rows().values()
        for symbol, (_, entry) in row.items()
        if isinstance(entry, int)
    }


def _unread(start: Start, text: str | None = None) -> Any:
    """A parser that makes no nodes."""
    parser = loaded_parser().parse_interactive(text, start=start)
    parser.parser_state.parse_conf.callbacks = {}
    return parser


def _unexpected(start: Start, chunk: Chunk) -> Unexpected:
    """Where a chunk breaks off that cannot be read."""
    parser = _unread(start, chunk.text)
    found: list[LarkToken] = []
    index = None
    for token in parser.lexer_thread.lex(parser.parser_state):
        if index is None:
            try:
                parser.feed_token(token)
            except UnexpectedToken:
                index = len(found)
        elif found[-1].type == NEWLINE and len(found) > index + 1:
            break
        found.append(token)
    tokens = [_token(token, chunk.start) for token in found]
    tokens.append(Token(END, "", tokens[-1].end, tokens[-1].end))
    if index is None:
        index = len(found)
    # By now the parser may have reduced by rules that only this token, in another place, would
    # call for, and what could have stood here is lost. So the tokens are followed again.
    before = _unread(start)
    for token in found[:index]:
        before.feed_token(token)
    return Unexpected(tokens, index, before)


def keyword_places(chunk: Chunk) -> frozenset[int]:
    """Where in the file the words are that the grammar takes as keywords; in a chunk that cannot be
    read, up to the token that has no place where it stands.
    """
    parser = _unread("chunk", chunk.text)
    found: set[int] = set()
    with suppress(UnexpectedToken):
        for token in parser.iter_parse():
            if spelled().get(token.type) in keywords():
                found.add(chunk.start + token.start_pos)
    return frozenset(found)
