"""What all tests on clusters have in common."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from tests.support.spread import compressed_from


@pytest.fixture(autouse=True)
def compressed() -> Generator[None]:
    """Tables begin with whole states, and are compressed before most searches here are over."""
    with compressed_from(60):
        yield
