"""TLA+ modules as programs. What reads modules is loaded when one is named."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from fencepost.checker.search.interrupts import deferred
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.base.files import Files
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes
from fencepost.spec.text import library
from fencepost.spec.text.problem import Problem, Rejected

SUFFIX = ".tla"


@dataclass(frozen=True, slots=True, eq=False)
class TlaProgram(Program):
    """A TLA+ module with a configuration."""

    config: Path = Path()
    search: tuple[Path, ...] = ()

    def model(self) -> Model:
        """Builds the model. Raises `Rejected` with all mistakes that are found."""
        with deferred():
            module = import_module("fencepost.checker.evaluator.model")
        model: Model = module.read(self.path, self.config, self.search)
        return model


def load(path: Path, config: Path | None, search: Sequence[Path]) -> TlaProgram:
    """Returns the program for a module and its configuration: ``config``, or the file with the name
    of the module. Raises `Rejected`.
    """
    source = library.read(path)
    used = path.with_suffix(".cfg") if config is None else config
    if not library.is_file(used):
        message = f"there is no configuration {used} for the module {path.name}"
        note = (None, "--config FILE names another one")
        raise Rejected([Problem("F656", None, message, (note,))])
    root = library.real(path)
    files = Files(root, {root: nodes.File(source, None, ())})
    check = Check("" if config is None else config.stem)
    return TlaProgram(path, path.stem, None, (check,), (), files, config=used, search=tuple(search))
