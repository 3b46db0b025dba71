"""How much is tried: by a run of the tests a sample, by a nightly run (`.ci/nightly`) far more.

``FENCEPOST_EXAMPLES`` is the number of random specs of a test, and ``FENCEPOST_FIRST`` the number
of the first where specs have numbers.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def amount(what: str, few: int) -> int:
    """The number in the variable ``FENCEPOST_<what>``; ``few`` where it has no value."""
    return int(os.environ.get(f"FENCEPOST_{what}", few))


def everything(what: str) -> bool:
    """Whether the variable ``FENCEPOST_<what>`` is ``all``."""
    return os.environ.get(f"FENCEPOST_{what}") == "all"


def numbers(few: int) -> range:
    """The numbers of random specs, which lead to the same spec in every run."""
    first = amount("FIRST", 0)
    return range(first, first + amount("EXAMPLES", few))


def examples(few: int) -> settings:
    """For tests with Hypothesis: the same specs in every run."""
    return settings(
        max_examples=amount("EXAMPLES", few),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
