"""Fixtures for all tests on clusters."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from tests.support.spread import compressed_from


@pytest.fixture(autouse=True)
def compressed() -> Generator[None]:
    """Tables start with whole states, and are compressed in the course of most of these
    searches.
    """
    with compressed_from(60):
        yield
