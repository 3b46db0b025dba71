"""Runs modules of TLA+, and states the results in a line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.tla_modules import RandomModule

from fencepost.checker.evaluator.program import load
from fencepost.checker.evaluator.search import ENGINE
from fencepost.checker.request import Engine, Limits, Request
from fencepost.spec.core.ir import Model
from fencepost.spec.text.problem import Rejected
from fencepost.spec.tla.evaluate.specification import Specification
from fencepost.spec.tla.modules.loader import Loader
from fencepost.spec.tla.modules.scopes import Constant

UNLIMITED = Limits()
_CONFIGURATION = ("F656", "F657", "F658")
"""Codes of problems with a configuration, and of what is not supported."""


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


def accepted(path: Path) -> str:
    """Returns "accepted" if a module is valid, else "refused" with a reason. Each constant gets a
    value, and there is no behaviour.
    """
    config = path.with_suffix(".cfg")
    try:
        names = [*Loader(path).load().names.items()]
        constants = [name for name, e in names if isinstance(e, Constant) and not e.arity]
        text = "".join(f"CONSTANT {name} = {name}\n" for name in constants)
        config.write_text(text, encoding="utf-8")
        Specification(path, config)
    except Rejected as rejected:
        wrong = [problem for problem in rejected.problems if problem.code not in _CONFIGURATION]
        if wrong:
            return f"refused: {wrong[0].code} {wrong[0].message}"
    return "accepted"


def random_result(
    folder: Path, module: RandomModule, limits: Limits = UNLIMITED, engine: Engine = ENGINE
) -> str:
    """Writes a random module, and returns the result of its search. Raises `Rejected`."""
    path = folder / f"{module.name}.tla"
    path.write_text(module.module, encoding="utf-8")
    path.with_suffix(".cfg").write_text(module.configuration, encoding="utf-8")
    return summary(model_at(path), limits, engine)


def agree(mine: str, other: str) -> bool:
    """Returns whether our result is TLC's. TLC shows no trace for some errors, and the incomplete
    state in the trace of others.
    """
    if other == "error" or first_word(other) == "refused":
        return first_word(mine) == first_word(other)
    return mine == other


def first_word(result: str) -> str:
    """Returns a result without details."""
    return re.split("[,:]", result, maxsplit=1)[0]


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
