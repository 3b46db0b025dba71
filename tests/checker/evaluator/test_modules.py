"""The engine ``evaluator`` has TLC's results on small modules: verdict, counts, length of trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tla_runs import blocks, model_at, summary, written

_TABLE = Path(__file__).with_name("modules.txt").read_text(encoding="utf-8")
_BLOCKS = blocks(_TABLE)


@pytest.mark.parametrize("name", _BLOCKS)
def test_results_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    path, expected = written(tmp_path, _BLOCKS[name])
    assert summary(model_at(path)) == expected
