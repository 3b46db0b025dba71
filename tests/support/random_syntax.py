"""Random specs generated from the grammar, with random spaces, comments and line breaks.

The parser may refuse a text: the grammar is ambiguous for forms that extend far to the right, and a
few rules are not part of the grammar. Such texts are discarded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from tests.support.syntax_trees import source

from fencepost.spec.syntax import lalr
from fencepost.spec.syntax.parser import parse
from fencepost.spec.syntax.tokens import scan, spelled, word_set

Rules = Mapping[str, Sequence[tuple[str, ...]]]

WORDS = {
    "NAME": ("x", "y", "net", "Entry", "log", "_", "type", "to", "ok", "depth", "lossy", "channel"),
    "INTEGER": ("0", "1", "20", "32_767"),
    "STRING": ('"why"', '""', '"# no remark"'),
    "DOCSTRING": ('"""About."""',),
}
_BUDGET = 60
_OPERATORS = word_set("and or implies iff == != < <= > >= in is + - | * // % & .. until then else")


@cache
def rules() -> tuple[Rules, Mapping[str, int]]:
    """Returns the alternatives of each symbol, and the number of tokens in the symbol's shortest
    text.
    """
    alternatives: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for rule in lalr.rules():
        symbols: Sequence[Any] = rule.expansion
        names = tuple(spelled().get(symbol.name, str(symbol.name)) for symbol in symbols)
        # Keywords and signs are quoted to distinguish them from rules of the same name.
        marked = (f"'{n}" if s.is_term else n for s, n in zip(symbols, names, strict=True))
        alternatives[str(rule.origin.name)].append(tuple(marked))
    least: dict[str, int] = {}
    while len(least) < len(alternatives):
        for symbol, options in alternatives.items():
            sizes = [_size(option, least) for option in options]
            finite = [size for size in sizes if size is not None]
            if finite:
                least[symbol] = min(finite)
    return alternatives, least


def _size(option: Sequence[str], least: Mapping[str, int]) -> int | None:
    if any(symbol[0] != "'" and symbol not in least for symbol in option):
        return None
    return sum(1 if symbol[0] == "'" else least[symbol] for symbol in option)


def _grow(symbol: str, random: Random, budget: int) -> list[str]:
    """Returns the tokens of a random text of ``symbol``, with approximately ``budget`` tokens at
    most.
    """
    alternatives, least = rules()
    if symbol[0] == "'":
        return [symbol[1:]]
    options = alternatives[symbol]
    sizes = [_size(option, least) or 0 for option in options]
    most = max(budget, min(sizes))
    option = random.choice([o for o, size in zip(options, sizes, strict=True) if size <= most])
    tokens: list[str] = []
    share = max(len([part for part in option if part[0] != "'"]), 1)
    for part in option:
        tokens += _grow(part, random, (budget - len(option)) // share)
    return tokens


def declaration(random: Random) -> str:
    """Generates a random declaration that parses, with careless layout."""
    while True:
        text = _written(_grow("declaration", random, _BUDGET), random)
        if not parse(source(text))[1]:
            return text


def spec(random: Random) -> str:
    """Generates a random spec with comments."""
    parts = ['"""About\n  this.  """\n'] if random.random() < 0.3 else []
    for _ in range(random.randint(1, 4)):
        parts.append(_remark(random, ""))
        parts.append("\n" * random.choice((0, 0, 1, 4)))
        parts.append(declaration(random))
    parts.append(_remark(random, ""))
    text = "".join(parts)
    if random.random() < 0.2:
        text = text.replace("\n", "\r\n")
    return text.rstrip("\r\n") if random.random() < 0.2 else text


def _remark(random: Random, indent: str) -> str:
    text = random.choice(("", "", "", "# remark", "#", "#  two  spaces  ", '# """ ( [ '))
    return f"{indent}{text}\n" if text else ""


def _written(tokens: Sequence[str], random: Random) -> str:
    """Joins tokens with random spaces and comments, and with line breaks inside brackets and next
    to operators.
    """
    step = random.choice(("  ", "    ", "\t", " "))
    text, before, depth, level = "", "", 0, 0
    for token in [*tokens, "_NEWLINE"]:
        if token == "_INDENT":
            level += 1
        elif token == "_DEDENT":
            level -= 1
        elif token == "_NEWLINE":
            # The line that opens a block has no further tokens after it.
            if before:
                end = random.choice(("\n", "\n", "\n", "  \n", " # end\n", "#end \n", "\n\n\n"))
                text += end + _remark(random, step * random.randint(0, level))
            before = ""
        else:
            word = random.choice(WORDS[token]) if token in WORDS else token
            if not before:
                text += step * level
            elif depth and random.random() < 0.1:
                text += random.choice(("\n", "\n   ", " # in\n\t", "\n# in\n\n"))
            elif not depth and _breakable(before, word) and random.random() < 0.3:
                text += random.choice(("\n", " # in\n", "\n# in\n\n")) + step * (level + 1)
            elif not _joinable(before, word) or random.random() < 0.5:
                text += random.choice((" ", " ", "  ", "\t"))
            text += word
            depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
            before = word
    return text


def _breakable(left: str, right: str) -> bool:
    """Returns whether a line may break between two tokens outside brackets."""
    begins = right in _OPERATORS and left not in ("=", ":", "when", "where")
    return begins or left in _OPERATORS


def _joinable(left: str, right: str) -> bool:
    return [token.text for token in scan(left + right)] == [left, right]
