"""The engine ``compiled`` has TLC's results on small modules, or refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.compiled_modules import EXCEPTIONS, MODULES, OWN, compiled_result, expected


@pytest.mark.parametrize("name", MODULES)
def test_results_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    assert compiled_result(name, tmp_path) == expected(name)


def test_exceptions_exist() -> None:
    assert EXCEPTIONS.keys() <= MODULES.keys() - OWN.keys()
