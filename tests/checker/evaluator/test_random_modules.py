"""The engine ``evaluator`` has TLC's results on random modules.

``python -m bench.tla_oracles random 0 100 --record FILE`` writes TLC's results to the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.tla_modules import random_module
from tests.support.tla_runs import agree, random_result

_RESULTS: dict[str, str] = json.loads(
    Path(__file__).with_name("random_modules.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("seed", _RESULTS)
def test_results_are_those_of_tlc(seed: str, tmp_path: Path) -> None:
    ours = random_result(tmp_path, random_module(int(seed)))
    assert agree(ours, _RESULTS[seed]), f"{ours}, but TLC has {_RESULTS[seed]}"
