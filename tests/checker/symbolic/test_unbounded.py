"""The engines bmc and induction with integers that have no declared range; the specs are in
``unbounded.txt``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.agreement import loaded
from tests.support.text_tables import Block, blocks

from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.settings import Settings
from fencepost.spec.text.problem import Rejected

BLOCKS = blocks(Path(__file__).with_name("unbounded.txt"))
CASES = [
    pytest.param(block, *said.split(": ", 1), id=f"{block.name}-{said.partition(':')[0]}")
    for block in BLOCKS
    for said in block.expected
]


def said_by(engine: str, block: Block) -> str:
    read = loaded(block.text)
    depth = int(block.rest) if engine == "bmc" else None
    settings = Settings(engine=engine, limits=Limits(depth=depth, timeout=20))
    try:
        result = perform(prepare(read, read.checks[0], settings), ignored)
    except Rejected as rejected:
        problem = rejected.problems[0]
        return f"{problem.code}: {problem.message.partition(' cannot run this: ')[2]}"
    outcome, names = result.outcome, [item.name for item in result.job.model.properties]
    number = outcome.findings[0].property if outcome.findings else None
    name = "" if number is None else f" {names[number]}"
    unproved = [proof.subject for proof in outcome.proofs if proof.reason is not None]
    failed = ", ".join(["", *(subject.removeprefix("invariant ") for subject in unproved)])
    return f"{outcome.verdict.value}{name}{failed}"


@pytest.mark.parametrize(("block", "engine", "said"), CASES)
def test_verdict(block: Block, engine: str, said: str) -> None:
    assert said_by(engine, block).startswith(said)
