"""The number of random examples in tests: few in an ordinary run, many in a nightly run.

``FENCEPOST_EXAMPLES`` is the number of random specs in a test. Where the specs are numbered,
``FENCEPOST_FIRST`` is the number of the first one. The nightly run is `.ci/nightly`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def amount(name: str, default: int) -> int:
    """Returns the number in the variable ``FENCEPOST_<name>``, or ``default`` if it is not set."""
    return int(os.environ.get(f"FENCEPOST_{name}", default))


def everything(name: str) -> bool:
    """Checks whether the variable ``FENCEPOST_<name>`` is ``all``."""
    return os.environ.get(f"FENCEPOST_{name}") == "all"


def numbers(few: int) -> range:
    """Returns the numbers of the random specs. The same number gives the same spec in every run."""
    first = amount("FIRST", 0)
    return range(first, first + amount("EXAMPLES", few))


def examples(few: int) -> settings:
    """Returns settings with which Hypothesis generates the same specs in every run."""
    return settings(
        max_examples=amount("EXAMPLES", few),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
