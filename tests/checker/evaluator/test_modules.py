"""The engine ``evaluator`` has TLC's results on small modules: verdict, counts, length of trace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fencepost.checker.evaluator.program import load
from fencepost.checker.evaluator.search import ENGINE
from fencepost.checker.request import Request
from fencepost.spec.core.ir import Model

_TABLE = Path(__file__).with_name("modules.txt").read_text(encoding="utf-8")
_BLOCKS = {
    block.partition(":")[0]: block for block in re.split(r"^==== ", _TABLE, flags=re.MULTILINE)[1:]
}


def written(folder: Path, block: str) -> tuple[Path, str]:
    """Writes a block of the table as modules, and returns the path of the first and the expected
    result.
    """
    head, config, body = block.split("\n", 2)
    name, _, expected = head.partition(": ")
    path = folder / f"{name}.tla"
    parts = re.split(r"^%% (\w+)\n", f"%% {name}\n{body}", flags=re.MULTILINE)[1:]
    for module, text in zip(parts[::2], parts[1::2], strict=True):
        whole = f"---- MODULE {module} ----\n{text.strip()}\n====\n"
        (folder / f"{module}.tla").write_text(whole, encoding="utf-8")
    path.with_suffix(".cfg").write_text(config.replace(";", "\n"), encoding="utf-8")
    return path, expected


def summary(model: Model) -> str:
    """Searches a module, and returns the result in the form of the table."""
    every = frozenset(range(len(model.properties)))
    outcome = ENGINE.run(Request(model, every, deadlock=model.checks_deadlock))
    statistics, verdict = outcome.statistics, outcome.verdict.value
    if verdict == "ok":
        if not statistics.distinct:
            return verdict
        counts = f"{statistics.distinct} distinct, {statistics.generated} generated"
        return f"ok, {counts}, depth {statistics.depth}"
    (finding,) = outcome.findings
    if finding.property is not None:
        verdict = f"{verdict} {model.properties[finding.property].name}"
    if finding.trace is None:
        return verdict
    states = sum(step.state is not None for step in finding.trace.steps)
    return f"{verdict}, {states} states"


@pytest.mark.parametrize("name", _BLOCKS)
def test_results_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    path, expected = written(tmp_path, _BLOCKS[name])
    program = load(path, (), ())
    assert summary(program.model(program.checks[0])) == expected
