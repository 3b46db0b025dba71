"""A search of all values of a symbolic constant on the cluster finds the same regions as `local`.

With ``FENCEPOST_SPARK_CHECKS``, all specs are searched with 1, 2 and 7 partitions.
"""

from __future__ import annotations

import os

import pytest
from tests.spark.clusters import from_level, on
from tests.support.agreement import run_of
from tests.support.comparisons import outline, regions_of
from tests.support.region_specs import PRELUDE, REFUSED_ON_THE_WAY, SPECS, RegionSpec

from fencepost.checker.native.search import Local
from fencepost.spec.text.problem import Rejected

ALL = "FENCEPOST_SPARK_CHECKS" in os.environ
PARTITIONS = (1, 2, 7) if ALL else (2,)
CHOSEN = ("trap", "messages that are equal", "the order of records")
"""Specs with two values that coincide, with terms inside messages, and with a visible order of
terms.
"""


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize(
    "spec", [pytest.param(spec, id=spec.name) for spec in SPECS if ALL or spec.name in CHOSEN]
)
def test_the_regions_of_local(spec: RegionSpec, partitions: int) -> None:
    wanted = regions_of(run_of(spec.text), Local())
    outcome = regions_of(run_of(spec.text), on(partitions, from_level(1)))
    assert outline(outcome) == outline(wanted)
    assert [(r.ranges, r.value, outline(r.outcome)) for r in outcome.regions] == [
        (r.ranges, r.value, outline(r.outcome)) for r in wanted.regions
    ]


def test_refusals_during_the_search() -> None:
    _, code, _, lines = REFUSED_ON_THE_WAY[0]
    with pytest.raises(Rejected, match=code):
        regions_of(run_of(f"{PRELUDE}{lines}\n"), on(2, from_level(1)))
