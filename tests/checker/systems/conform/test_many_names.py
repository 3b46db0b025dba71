"""Events that introduce too many names at once to try every binding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command import run

MODEL = """\
type Item = 0..11
var taken: 0..1 = 0
action take:
    require taken == 0
    taken = 1
terminal: true
"""
MAPPING = """\
import shelf as m
recording:
    source shop ordered
    bind item: m.Item
event took(items: set[item]) from shop
event paid from shop
input took when items != {}: skip
shows paid on m.take
"""


@pytest.mark.parametrize("engine", ["interpreter", "local"])
@pytest.mark.parametrize(
    ("names", "verdict", "cuts"),
    [
        (3, "allowed", []),
        (12, "unknown", ["took: its names can be bound to values in more than 400,000 ways"]),
        # More names than values.
        (13, "unknown", ["item: 13 names, and 0..11 has 12 values"]),
    ],
)
def test_many_names_in_one_event(
    names: int, verdict: str, cuts: list[str], engine: str, tmp_path: Path
) -> None:
    (tmp_path / "shelf.fence").write_text(MODEL, encoding="utf-8")
    (tmp_path / "map.fence").write_text(MAPPING, encoding="utf-8")
    lines = [{"event": "took", "items": [f"n{n}" for n in range(names)]}, {"event": "paid"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "r.jsonl").write_text(text, encoding="utf-8")
    words = ("--engine", engine, "--format", "json")
    ran = run("conform", "map.fence", "r.jsonl", *words, folder=tmp_path)
    assert ran.stderr == ""
    [history] = json.loads(ran.stdout)["histories"]
    assert (history["verdict"], history["cuts"]) == (verdict, cuts)
