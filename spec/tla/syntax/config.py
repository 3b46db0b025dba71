"""Parses TLC's configuration files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import NoReturn, TypeAlias

from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected, suggestion
from fencepost.spec.text.source import Source, Span


@dataclass(frozen=True, slots=True)
class Word:
    """A name in a configuration."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ModelName:
    """A value that is only a name: a model value."""

    name: str


ConfigValue: TypeAlias = "int | str | bool | ModelName | tuple[ConfigValue, ...]"
"""A value of a constant. A tuple is a set."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """``name = value``, or ``name = [module] value`` in a module."""

    name: str
    value: ConfigValue
    module: str
    span: Span


@dataclass(frozen=True, slots=True)
class Replaced:
    """``name <- by``, or ``name <- [module] by`` for the uses of the name in a module."""

    name: str
    by: str
    module: str
    span: Span


@dataclass(slots=True)
class Config:
    """A configuration. The lists have the names in the order of the file."""

    source: Source
    assigned: list[Assigned] = field(default_factory=list[Assigned])
    replaced: list[Replaced] = field(default_factory=list[Replaced])
    sections: dict[str, list[Word]] = field(default_factory=dict[str, list[Word]])
    deadlock: bool = True

    @property
    def source_span(self) -> Span:
        """The begin of the file."""
        return Span(self.source, 0, 0)

    def words(self, section: str) -> Sequence[Word]:
        """Returns the names in a section."""
        return self.sections.get(section, ())

    def word(self, section: str) -> Word | None:
        """Returns the name in a section that has one."""
        words = self.words(section)
        return words[0] if words else None


_PLURALS = {
    "INVARIANTS": "INVARIANT", "PROPERTIES": "PROPERTY", "CONSTRAINTS": "CONSTRAINT",
    "ACTION_CONSTRAINTS": "ACTION_CONSTRAINT", "CONSTANTS": "CONSTANT",
}  # fmt: skip
_LISTS = ("INVARIANT", "PROPERTY", "CONSTRAINT", "ACTION_CONSTRAINT")
_SINGLE = ("SPECIFICATION", "INIT", "NEXT", "SYMMETRY", "VIEW", "ALIAS", "POSTCONDITION")
SECTIONS = ("CONSTANT", *_LISTS, *_SINGLE, "CHECK_DEADLOCK")
_UNREAD = ("TYPE", "TYPE_CONSTRAINT")
_TOKEN = re.compile(
    r"""(?P<space>\s+|\\\*[^\n]*)|(?P<comment>\(\*)|(?P<number>-?[0-9]+(?![A-Za-z0-9_]))
    |(?P<word>[A-Za-z0-9_]+(?:![A-Za-z0-9_]+)*)|(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<sign><-|[={},\[\]()])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    span: Span


def parse_config(source: Source) -> Config:
    """Parses a configuration. Raises `Rejected`."""
    return _Parser(source).config()


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = self._tokens()
        self.position = 0

    def _tokens(self) -> list[_Token]:
        text, position, result = self.source.text, 0, list[_Token]()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                self._fail(Span(self.source, position, position + 1), "this has no meaning here")
            end = match.end()
            if match.lastgroup == "comment":
                end = text.find("*)", end) + 2
                if end < 2:
                    self._fail(Span(self.source, position, position + 2), "*) is missing")
            elif match.lastgroup != "space":
                span = Span(self.source, position, end)
                result.append(_Token(match.lastgroup or "", match[0], span))
            position = end
        return result

    def _fail(self, span: Span, message: str) -> NoReturn:
        raise Rejected([Problem("F656", span, message)])

    @property
    def _here(self) -> _Token:
        if self.position < len(self.tokens):
            return self.tokens[self.position]
        size = len(self.source.text)
        return _Token("end", "", Span(self.source, size, size))

    def _next(self) -> _Token:
        token = self._here
        self.position += 1
        return token

    def _takes(self, text: str) -> bool:
        if self._here.kind != "string" and self._here.text == text:
            self.position += 1
            return True
        return False

    def _section(self) -> str | None:
        """Returns the section that the next word begins."""
        word = _PLURALS.get(self._here.text, self._here.text)
        return word if self._here.kind == "word" and word in (*SECTIONS, *_UNREAD) else None

    def config(self) -> Config:
        config = Config(self.source)
        while self._here.kind != "end":
            section, token = self._section(), self._next()
            if section is None:
                hint = suggestion(token.text, (*SECTIONS, *_PLURALS))
                self._fail(token.span, f'"{token.text}" begins no section{hint}')
            if section in _UNREAD:
                raise Rejected([Problem("F657", token.span, f"{section} is not supported")])
            if section == "CONSTANT":
                while self._here.kind != "end" and self._section() is None:
                    self._constant(config)
            elif section == "CHECK_DEADLOCK":
                value = self._next()
                if value.text not in ("TRUE", "FALSE"):
                    self._fail(value.span, "TRUE or FALSE is expected here")
                config.deadlock = value.text == "TRUE"
            else:
                words = self._words(section)
                section_words = config.sections.setdefault(section, [])
                section_words += words
                if section in _SINGLE and len(section_words) != 1:
                    self._fail(words[-1].span if words else token.span, f"{section} has one name")
        return config

    def _words(self, section: str) -> list[Word]:
        words: list[Word] = []
        while self._here.kind == "word" and self._section() is None:
            token = self._next()
            words.append(Word(token.text, token.span))
            self._takes(",")
            if section in _SINGLE:
                break
        return words

    def _constant(self, config: Config) -> None:
        name = self._next()
        if name.kind != "word":
            self._fail(name.span, "the name of a constant is expected here")
        if self._takes("<-"):
            module = self._module()
            by = self._next()
            if by.kind != "word":
                self._fail(by.span, "the name of a definition is expected here")
            config.replaced.append(Replaced(name.text, by.text, module, name.span))
        elif self._takes("="):
            module = self._module()
            config.assigned.append(Assigned(name.text, self._value(), module, name.span))
        elif self._takes("("):
            self._fail(name.span, "values of operators for given arguments are not supported")
        else:
            self._fail(self._here.span, '"=" or "<-" is expected here')
        self._takes(",")

    def _module(self) -> str:
        """Parses a module in brackets, if there is one."""
        if not self._takes("["):
            return ""
        module = self._next().text
        if not self._takes("]"):
            self._fail(self._here.span, '"]" is expected here')
        return module

    def _value(self) -> ConfigValue:
        token = self._next()
        if token.kind == "number":
            return int(token.text)
        if token.kind == "string":
            return token.text[1:-1]
        if token.kind == "word":
            truths = {"TRUE": True, "FALSE": False}
            return truths[token.text] if token.text in truths else ModelName(token.text)
        if token.text != "{":
            self._fail(token.span, "a value is expected here")
        items: list[ConfigValue] = []
        while not self._takes("}"):
            items.append(self._value())
            if not self._takes(",") and self._here.text != "}":
                self._fail(self._here.span, '"," or "}" is expected here')
        return tuple(items)
