"""Runs modules of TLA+, and states the results in a line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.tla_modules import RandomModule

from fencepost.checker.evaluator.program import load
from fencepost.checker.evaluator.search import ENGINE
from fencepost.checker.request import Engine, Limits, Request
from fencepost.spec.core.ir import Model

UNLIMITED = Limits()


def blocks(text: str) -> dict[str, str]:
    """Returns the blocks of a table of modules, by their names."""
    parts = re.split(r"^==== ", text, flags=re.MULTILINE)[1:]
    return {block.partition(":")[0]: block for block in parts}


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


def model_at(path: Path) -> Model:
    """Reads a module with its configuration. Raises `Rejected`."""
    program = load(path, (), ())
    return program.model(program.checks[0])


def random_result(folder: Path, module: RandomModule, limits: Limits = UNLIMITED) -> str:
    """Writes a random module, and returns the result of its search. Raises `Rejected`."""
    path = folder / f"{module.name}.tla"
    path.write_text(module.module, encoding="utf-8")
    path.with_suffix(".cfg").write_text(module.configuration, encoding="utf-8")
    return summary(model_at(path), limits)


def agree(mine: str, other: str) -> bool:
    """Returns whether our result is TLC's. TLC shows no trace for some errors, and the incomplete
    state in the trace of others.
    """
    return mine.partition(",")[0] == other if other == "error" else mine == other


def summary(model: Model, limits: Limits = UNLIMITED, engine: Engine = ENGINE) -> str:
    """Searches a module, and returns the result in the form of the tables."""
    every = frozenset(range(len(model.properties)))
    request = Request(model, every, deadlock=model.checks_deadlock, limits=limits)
    outcome = engine.run(request)
    statistics, verdict = outcome.statistics, outcome.verdict.value
    if verdict == "ok":
        if not statistics.distinct:
            return verdict
        counts = f"{statistics.distinct} distinct, {statistics.generated} generated"
        return f"ok, {counts}, depth {statistics.depth}"
    if verdict == "inconclusive":
        return verdict
    (finding,) = outcome.findings
    if finding.property is not None:
        verdict = f"{verdict} {model.properties[finding.property].name}"
    if finding.trace is None:
        return verdict
    states = sum(step.state is not None for step in finding.trace.steps)
    return f"{verdict}, {states} states"
