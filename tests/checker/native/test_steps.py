"""Generated code and the interpreter do the same with every state, in every detail.

There are two random models in core to five random specs.
"""

from __future__ import annotations

import pytest
from tests.strategies import grown
from tests.support.agreement import loaded
from tests.support.amounts import numbers
from tests.support.examples import EXAMPLES, Example
from tests.support.random_core_models import grown_core
from tests.support.shipped import MODELS, ShippedCheck, a_few, is_port, quick, turn
from tests.support.steps_agreement import Extent, agree, probing

from fencepost.checker.request import Unsupported
from fencepost.spec.elaborate.claims import program

SPECS = numbers(40)
CORES = SPECS[: 2 * len(SPECS) // 5]
LOT = 10
"""So many random specs are one test."""
SHARE = 5
"""One of so many is run under guard."""


@pytest.mark.parametrize("guarded", [False, True], ids=["", "guarded"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example: Example, guarded: bool) -> None:
    agree(probing(program.build(loaded(example.text), None)), Extent(), guarded=guarded)


@pytest.mark.parametrize(
    "shipped",
    turn([c for path in MODELS if not is_port(path) for c in a_few(path, quick(path), 1)], 0),
    ids=str,
)
def test_shipped_models(shipped: ShippedCheck) -> None:
    model, _ = shipped.build()
    agree(probing(model), Extent(reached=25, random=15), guarded=True)


@pytest.mark.parametrize("lot", range(0, len(SPECS), LOT))
def test_random_specs(lot: int) -> None:
    for seed in SPECS[lot : lot + LOT]:
        read = loaded(grown(seed))
        model = probing(program.build(read, read.checks[0]))
        agree(model, Extent(30, 30, 4_000), seed, guarded=seed % SHARE == 0)


@pytest.mark.parametrize("lot", range(0, len(CORES), LOT))
def test_random_models_of_every_size(lot: int) -> None:
    for seed in CORES[lot : lot + LOT]:
        try:
            agree(probing(grown_core(seed)), Extent(10, 30, 3_000), seed, guarded=seed % SHARE == 0)
        except Unsupported as refused:
            pytest.fail(f"random model {seed} is refused: {refused}")
