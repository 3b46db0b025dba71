"""The modules with which the engine ``compiled`` is tested, and their expected results."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from tests.support.paths import ROOT
from tests.support.tla_runs import blocks, model_at, summary, written

from fencepost.checker.compiled import search
from fencepost.checker.compiled.search import ENGINE, MAX_STATES
from fencepost.checker.request import Unsupported

_FOLDER = ROOT / "tests" / "checker"
OWN = {
    name: block
    for table in ("modules.txt", "behaviours.txt")
    for name, block in blocks((_FOLDER / "compiled" / table).read_text(encoding="utf-8")).items()
}
MODULES = OWN | blocks((_FOLDER / "evaluator" / "modules.txt").read_text(encoding="utf-8"))
"""The blocks of the tables, by name; those for this engine come first."""
_LINES = (_FOLDER / "compiled" / "exceptions.txt").read_text(encoding="utf-8").splitlines()
EXCEPTIONS = dict(line.split(": ", 1) for line in _LINES)
"""The modules with another result: the engine refuses a module, or reports another problem than the
one that TLC meets first.
"""


def expected(name: str) -> str:
    """Returns the expected result of a module."""
    head, _, _ = MODULES[name].partition("\n")
    return EXCEPTIONS.get(name, head.partition(": ")[2])


def compiled_result(name: str, folder: Path) -> str:
    """Searches a module of the tables, and returns the result in their form."""
    path, _ = written(folder, MODULES[name])
    # Types are inferred from few states, so that values often leave them.
    states = 1 if name in OWN else MAX_STATES
    try:
        with mock.patch.object(search, "MAX_STATES", states):
            return summary(model_at(path), engine=ENGINE)
    except Unsupported as reason:
        return f"refused: {reason}"
