"""TLC and Fencepost agree on the verdict and the counts of each pair in docs/for-tla-users.md.

A block ``tla`` consists of a module and, after its last line, TLC's configuration, so that the
block can be saved as one file. The spec is the next block ``fence check``. For blocks with
``orbits``, TLC counts orbits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.tlc_run import Tlc, home
from tests.support.paths import ROOT

from fencepost.checker import api
from fencepost.checker.tla_export.module import Export

PAGE = ROOT / "docs" / "for-tla-users.md"
BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Pair:
    """A TLA+ module, its configuration, the corresponding spec, and the modules that the spec
    imports.
    """

    name: str
    module: str
    configuration: str
    spec: str
    imported: dict[str, str]
    orbits: bool

    def __str__(self) -> str:
        return self.name


def pairs() -> list[Pair]:
    """Returns the pairs on the page, in order."""
    collected: list[Pair] = []
    tla: tuple[bool, str] | None = None
    modules: dict[str, str] = {}
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        match block["info"].split():
            case ["tla", *words] if not any(word.startswith("file=") for word in words):
                tla = ("orbits" in words, block["text"])
            case ["fence", "module", file]:
                modules[file.removeprefix("file=")] = block["text"]
            case ["fence", "check", *_] if tla is not None:
                orbits, text = tla
                module, _, configuration = text.rpartition("====\n")
                (name, *_) = re.findall(r"MODULE (\w+)", module)
                collected.append(
                    Pair(name, f"{module}====\n", configuration, block["text"], modules, orbits)
                )
                tla = None
            case _:
                pass
    return collected


PAIRS = pairs()


def test_every_module_has_a_spec() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(PAIRS) == text.count("\n```tla") - text.count("\n```tla file=") >= 11


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_pair(pair: Pair, tmp_path: Path) -> None:
    for name, text in {**pair.imported, "pair.fence": pair.spec}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ours = api.check(tmp_path / "pair.fence")
    theirs = Tlc.locate(kept=home() / "answers").run(
        Export(pair.name, pair.module, pair.configuration)
    )
    if theirs.ended in ("behaviour", "invariant"):
        # TLC stopped at a violation, so it has not counted all states.
        assert ours.verdict.value == "violated"
        return
    assert (theirs.ended, ours.verdict.value) == ("ok", "ok")
    assert theirs.depth == ours.depth
    if pair.orbits:
        assert theirs.distinct == ours.first.outcome.statistics.orbits
    else:
        assert (theirs.distinct, theirs.generated) == (ours.distinct, ours.generated)
