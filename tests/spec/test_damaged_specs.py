"""Broken specs of every kind get problems, never a traceback.

Shipped specs are damaged byte by byte and token by token. ``FENCEPOST_FUZZ=10000`` says how many
damaged specs to try; each has its own seed, which a failure names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from unicodedata import category

import pytest
from tests.support import grammar_forms
from tests.support.amounts import amount
from tests.support.paths import ROOT

from fencepost.spec.elaborate import program
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.syntax.parser import parse
from fencepost.spec.syntax.tokens import BREAK, scan
from fencepost.spec.text.library import read
from fencepost.spec.text.problem import Problem, Rejected

RUNS = amount("FUZZ", 120)
BATCHES = 6
BUILT = 2
"""At most so many checks of a spec are built."""

CONTROL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that no message may send to a terminal."""

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
    "(" * 200, "not " * 200, "-" * 200, "a." * 200, "\n" + " " * 200, "\ud800",
)  # fmt: skip


def specs() -> list[bytes]:
    """What to damage: all shipped specs, those with golden reports, and one line of every form.

    The first spec of the language's documentation is among those with golden reports.
    """
    folders = ("models", "invariants", "tests/golden")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.fence")]
    written = [path.read_bytes() for path in sorted(paths)]
    blocks = [block.split("\n=> ")[0] for block in grammar_forms.DECLARATIONS.strip().split("\n\n")]
    return [data for data in written if data] + ["\n".join(blocks).encode()]


SPECS = specs()


def flip(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    return data[:position] + bytes([random.randrange(256)]) + data[position + random.randrange(2) :]


def cut(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    length = random.choice((1, 5, 50, len(data)))
    return data[:position] + data[position + random.randint(1, length) :]


def insert(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data) + 1)
    snippet = random.choice(SNIPPETS).encode("utf-8", "surrogatepass")
    return data[:position] + snippet + data[position:]


def splice(data: bytes, random: Random) -> bytes:
    """A part of another spec in the middle of this one."""
    other = random.choice(SPECS)
    start, position = random.randrange(len(other)), random.randrange(len(data) + 1)
    return data[:position] + other[start : start + random.choice((10, 100, 400))] + data[position:]


def retoken(data: bytes, random: Random) -> bytes:
    """Tokens dropped, doubled, swapped or replaced by others of the spec."""
    text = data.decode("utf-8", "replace")
    tokens = [token for token in scan(text) if token.kind != BREAK]
    for _ in range(random.randint(1, 3)):
        if len(tokens) < 2:
            return data
        one, two = random.choice(tokens), random.choice(tokens)
        word = random.choice(("", f"{one.text} {one.text}", two.text, f"{two.text} {one.text}"))
        text = text[: one.start] + word + text[one.end :]
        tokens = [token for token in scan(text) if token.kind != BREAK]
    return text.encode("utf-8", "replace")


def reindent(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    index = random.randrange(len(lines))
    lines[index] = random.choice((b"", b" ", b"    ", b"\t", b"      ")) + lines[index].lstrip()
    return b"\n".join(lines)


def reline(data: bytes, random: Random) -> bytes:
    """Lines moved, doubled or dropped: what is declared twice, too late or not at all."""
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(3):
        case 0:
            lines[one], lines[two] = lines[two], lines[one]
        case 1:
            lines.insert(two, lines[one])
        case _:
            del lines[one]
    return b"\n".join(lines)


DAMAGES: Sequence[Callable[[bytes, Random], bytes]] = (
    flip, cut, insert, splice, retoken, retoken, retoken, reindent, reline, reline,
)  # fmt: skip


def damaged(random: Random) -> bytes:
    data = random.choice(SPECS)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = random.choice(DAMAGES)(data, random)
    return data


def front(path: Path) -> list[Problem]:
    """Everything that the front end says about a file: reader, parser, formatter, checker."""
    try:
        source = read(path)
    except Rejected as rejected:
        return list(rejected.problems)
    file, found = parse(source)
    if not found:
        formatted(source)
    else:
        with pytest.raises(Rejected):
            formatted(source)
    try:
        loaded = program.load(path)
        # Of many checks a few, the first among them: they have the rest of the spec in common.
        for check in loaded.checks[:: -(-len(loaded.checks) // BUILT) or 1]:
            program.build(loaded, check)
    except Rejected as rejected:
        return list(rejected.problems)
    assert not found, file
    return list(loaded.warnings)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_specs(batch: int, tmp_path: Path) -> None:
    path = tmp_path / "damaged.fence"
    for seed in range(batch, RUNS, BATCHES):
        path.write_bytes(damaged(Random(seed)))
        try:
            for problem in front(path):
                assert not CONTROL & {category(char) for char in str(problem) if char != "\n"}
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_some_damage_goes_unnoticed_and_most_does_not(tmp_path: Path) -> None:
    """So that the fuzz neither stops at the first token nor damages nothing."""
    path = tmp_path / "damaged.fence"
    clean = 0
    for seed in range(60):
        path.write_bytes(damaged(Random(seed)))
        clean += not parse_problems(path)
    assert 3 < clean < 40


def parse_problems(path: Path) -> bool:
    try:
        return bool(parse(read(path))[1])
    except Rejected:
        return True
