"""Specs with random damage, reproducible from a seed; each kind of damage has a name.

The originals are the shipped specs, the golden ones, those of the documentation and of the tables
of examples, and specs that `tests.strategies` generates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeAlias

from tests.docs.test_examples import SPECS, spec_of
from tests.strategies import grown, modules, orbits
from tests.strategies.behaviours import behaviour_spec
from tests.strategies.refinements import refining
from tests.support.examples import EXAMPLES
from tests.support.grammar_forms import DECLARATIONS
from tests.support.paths import ROOT

from fencepost.spec.syntax.tokens import BREAK, Token, scan, spelled

ORDINARY_SIZE = 1_500
"""Bytes of a spec chosen with normal frequency; larger ones are chosen less often."""
MAX_TOKEN_CHANGES = 3
KEYWORDS = frozenset(spelled().values())

SNIPPETS = (
    "(", ")", "[", "]", "{", "}", '"', '"""', "#", "\t", " ", "\n", "\r", "\0", "\u00a0", "é", "'",
    "=", "==", ":=", "..", "!", "?", "_", ":", ";", ",", ".", "-", "99999999999999999999",
    "0..10**12",
    "9" * 50, "if ", "else ", "elif ", "case ", "then ", "forall x in ", " in ", " not ",
    " with f: ",
    "choose x in ", "none", "any", "ghost ", "var ", "role R:\n", "action a:\n", "\n    ", "set[",
    "map[int, ", "seq[int, 9999999999]", "int16", "check c:\n    ", "import ", "from m import a\n",
    "enum E: A\n", "union M: A(x: M)\n", "lossy", "ordered", "persistent", "at most 1",
    "capacity 0",
    "property P: a leads to b\n", "fair ", "symmetric ", "next(", "enabled(", "quiescent", "return",
    "always ", "eventually ", " until ", " iff ", "scenario s:\n    ", " where ", "let y = ",
    "(" * 200, "not " * 200, "-" * 200, "a." * 200, "always " * 200, "\n" + " " * 200, "\ud800",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Original:
    """A spec before damage: its text, its modules, and the folder of further ones."""

    origin: str
    text: bytes
    modules: Mapping[str, str]
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged spec, and the kinds of damage in their order."""

    original: Original
    kinds: tuple[str, ...]
    text: bytes


@cache
def written() -> tuple[Original, ...]:
    """The originals from files."""
    originals: list[Original] = []
    for folder in ("models", "invariants", "tests/golden"):
        for path in sorted((ROOT / folder).rglob("*.fence")):
            originals.append(Original("shipped", path.read_bytes(), {}, path.parent))
    for block in SPECS:
        originals.append(Original("documentation", spec_of(block).encode(), block.files))
    for example in EXAMPLES:
        files = modules.files(example.text)
        originals.append(Original("example", files.pop(modules.ROOT).encode(), _named(files)))
    forms = [part.split("\n=> ")[0] for part in DECLARATIONS.strip().split("\n\n")]
    originals.append(Original("forms", "\n".join(forms).encode(), {}))
    return tuple(original for original in originals if original.text)


def _named(files: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}.fence": text for name, text in files.items()}


def _grown(random: Random) -> Original:
    files = modules.files(grown(random.randrange(10**9)))
    return Original("grown", files.pop(modules.ROOT).encode(), _named(files))


def _behaving(random: Random) -> Original:
    return Original("behaviours", behaviour_spec(random).encode(), {})


def _symmetric(random: Random) -> Original:
    return Original("symmetric", orbits.grown(random.randrange(10**9)).encode(), {})


def _refining(random: Random) -> Original:
    pair = refining(random)
    return Original("refinement", pair.spec.encode(), {"m.fence": pair.module})


def _written(random: Random) -> Original:
    while True:
        original = random.choice(written())
        if random.random() * len(original.text) < ORDINARY_SIZE:
            return original


ORIGINALS = (_written, _written, _written, _grown, _grown, _behaving, _symmetric, _refining)


# ---------------------------------------------------------------- damage

Damage: TypeAlias = Callable[[bytes, Random], bytes]


def byte_flipped(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    position = random.randrange(len(data))
    other = random.choice((data[position] ^ (1 << random.randrange(8)), random.randrange(256)))
    return data[:position] + bytes([other]) + data[position + 1 :]


def byte_inserted(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    return data[:position] + bytes([random.randrange(256)]) + data[position:]


def bytes_deleted(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    return data[:position] + data[position + random.randint(1, random.choice((1, 5, 50))) :]


def truncated(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def snippet_inserted(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    snippet = random.choice(SNIPPETS).encode("utf-8", "surrogatepass")
    return data[:position] + snippet + data[position:]


def spliced(data: bytes, random: Random) -> bytes:
    """Inserts a part of another spec into this one."""
    other = _written(random).text
    start, position = random.randrange(len(other)), random.randrange(len(data) + 1)
    return data[:position] + other[start : start + random.choice((10, 100, 400))] + data[position:]


def line_indented(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    position = random.randrange(len(lines))
    lines[position] = (
        random.choice((b"", b" ", b"    ", b"\t", b"      ")) + lines[position].lstrip()
    )
    return b"\n".join(lines)


def line_deleted(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def line_doubled(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(random.randrange(len(lines)), random.choice(lines))
    return b"\n".join(lines)


def line_moved(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    line = lines.pop(random.randrange(len(lines)))
    lines.insert(random.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _tokens(text: str) -> list[Token]:
    return [token for token in scan(text) if token.kind != BREAK]


def _each_token(change: Callable[[str, list[Token], Random], str]) -> Damage:
    """Damage to one token, or to several in succession."""

    def damage(data: bytes, random: Random) -> bytes:
        text = data.decode("utf-8", "replace")
        for _ in range(random.choice((1, 1, 1, MAX_TOKEN_CHANGES))):
            tokens = _tokens(text)
            if len(tokens) < 2:
                break
            text = change(text, tokens, random)
        return text.encode("utf-8", "replace")

    return damage


def _token_deleted(text: str, tokens: list[Token], random: Random) -> str:
    token = random.choice(tokens)
    return text[: token.start] + text[token.end :]


def _token_doubled(text: str, tokens: list[Token], random: Random) -> str:
    token = random.choice(tokens)
    return f"{text[: token.end]} {text[token.start :]}"


def _tokens_swapped(text: str, tokens: list[Token], random: Random) -> str:
    token = random.choice(tokens)
    other = random.choice(
        [candidate for candidate in _alike(token, tokens, random) if candidate != token] or tokens
    )
    first, second = sorted((token, other), key=lambda item: item.start)
    if first == second:
        return text
    between = text[first.end : second.start]
    return text[: first.start] + second.text + between + first.text + text[second.end :]


def _token_replaced(text: str, tokens: list[Token], random: Random) -> str:
    token = random.choice(tokens)
    if random.random() < 0.2:
        tokens = _tokens(_written(random).text.decode("utf-8", "replace"))
    other = random.choice(_alike(token, tokens, random) or [token])
    return text[: token.start] + other.text + text[token.end :]


def _alike(token: Token, tokens: list[Token], random: Random) -> list[Token]:
    """Usually the tokens of the same kind, so that the text often stays well formed."""
    if random.random() < 0.2:
        return tokens
    word = token.text in KEYWORDS
    return [
        candidate
        for candidate in tokens
        if candidate.kind == token.kind and (candidate.text in KEYWORDS) == word
    ]


DAMAGE: Mapping[str, Damage] = {
    "token deleted": _each_token(_token_deleted),
    "token doubled": _each_token(_token_doubled),
    "tokens swapped": _each_token(_tokens_swapped),
    "token replaced": _each_token(_token_replaced),
    "line deleted": line_deleted,
    "line doubled": line_doubled,
    "line moved": line_moved,
    "line indented": line_indented,
    "byte flipped": byte_flipped,
    "byte inserted": byte_inserted,
    "bytes deleted": bytes_deleted,
    "truncated": truncated,
    "snippet inserted": snippet_inserted,
    "spliced": spliced,
}
FREQUENT = ("token deleted", "tokens swapped", "token replaced", "token replaced", "line moved")
"""Kinds of damage that often leave a spec well formed, so that it is processed further."""


def damaged(seed: int) -> Damaged:
    """The damaged spec of a seed: usually with one kind of damage, at most with four."""
    random = Random(seed)
    original = random.choice(ORIGINALS)(random)
    kinds = tuple(random.choices((*DAMAGE, *FREQUENT), k=random.choice((1, 1, 1, 1, 1, 2, 4))))
    text = original.text
    for kind in kinds:
        text = DAMAGE[kind](text, random)
    return Damaged(original, kinds, text)
