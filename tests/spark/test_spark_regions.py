"""All values of a symbolic constant, searched on the cluster: the regions that `local` finds.

``FENCEPOST_SPARK_CHECKS`` has all specs searched, with 1, 2 and 7 partitions.
"""

from __future__ import annotations

import os

import pytest
from tests.spark.clusters import behind, on
from tests.support.agreement import run_of
from tests.support.comparisons import outline, regions_of
from tests.support.region_specs import PRELUDE, REFUSED_ON_THE_WAY, SPECS, RegionSpec

from fencepost.checker.native.search import Local
from fencepost.spec.text.problem import Rejected

ALL = "FENCEPOST_SPARK_CHECKS" in os.environ
PARTITIONS = (1, 2, 7) if ALL else (2,)
CHOSEN = ("trap", "messages that are equal", "the order of records")
"""Two values that coincide; terms inside messages, and where their order shows."""


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize(
    "spec", [pytest.param(spec, id=spec.name) for spec in SPECS if ALL or spec.name in CHOSEN]
)
def test_the_regions_of_local(spec: RegionSpec, partitions: int) -> None:
    wanted = regions_of(run_of(spec.text), Local())
    found = regions_of(run_of(spec.text), on(partitions, behind(1)))
    assert outline(found) == outline(wanted)
    assert [(r.ranges, r.value, outline(r.outcome)) for r in found.regions] == [
        (r.ranges, r.value, outline(r.outcome)) for r in wanted.regions
    ]


def test_what_is_refused_on_the_way() -> None:
    _, code, _, lines = REFUSED_ON_THE_WAY[0]
    with pytest.raises(Rejected, match=code):
        regions_of(run_of(f"{PRELUDE}{lines}\n"), on(2, behind(1)))
