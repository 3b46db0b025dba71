"""Damaged modules are accepted if and only if SANY accepts them, and never cause an exception.

``python -m bench.tla_oracles damaged 0 100 --record FILE`` writes SANY's answers to the file.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.amounts import numbers
from tests.support.tla_damaged import FORMS, broken_module, damaged_module
from tests.support.tla_runs import accepted, first_word, random_result

from fencepost.checker.request import Limits
from fencepost.spec.text.problem import Rejected

_ANSWERS: dict[str, str] = json.loads(
    Path(__file__).with_name("damaged_modules.json").read_text(encoding="utf-8")
)
_BATCH = 20


@pytest.mark.parametrize("first", range(0, len(_ANSWERS), _BATCH))
def test_answers_are_those_of_sany(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + _BATCH, len(_ANSWERS))):
        path = tmp_path / f"D{seed}.tla"
        path.write_text(damaged_module(seed), encoding="utf-8")
        answer = accepted(path)
        assert first_word(answer) == _ANSWERS[str(seed)], f"{seed}: {answer}"


def test_the_original_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "F.tla"
    path.write_text(f"---- MODULE F ----\n{FORMS}====\n", encoding="utf-8")
    assert accepted(path) == "accepted"


@pytest.mark.parametrize("seed", numbers(40))
def test_any_damage_is_reported(seed: int, tmp_path: Path) -> None:
    with suppress(Rejected):
        assert random_result(tmp_path, broken_module(seed), Limits(max_states=500))
