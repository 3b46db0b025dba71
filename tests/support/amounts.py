"""The extent of tests: a sample in a run of the tests, far more in a nightly run (`.ci/nightly`).

``FENCEPOST_EXAMPLES`` is the number of random specs of a test, and ``FENCEPOST_FIRST`` the number
of the first if specs have numbers.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def amount(name: str, default: int) -> int:
    """The number in the variable ``FENCEPOST_<name>``; ``default`` if it is not set."""
    return int(os.environ.get(f"FENCEPOST_{name}", default))


def everything(name: str) -> bool:
    """Whether the variable ``FENCEPOST_<name>`` is ``all``."""
    return os.environ.get(f"FENCEPOST_{name}") == "all"


def numbers(few: int) -> range:
    """The numbers of random specs; a number gives the same spec in every run."""
    first = amount("FIRST", 0)
    return range(first, first + amount("EXAMPLES", few))


def examples(few: int) -> settings:
    """Settings of Hypothesis that give the same specs in every run."""
    return settings(
        max_examples=amount("EXAMPLES", few),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
