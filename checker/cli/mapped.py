"""Loads a model together with its recording mapping, for commands that use recordings."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.checker.cli.models import broken, no_symbols, warn
from fencepost.checker.run.judge import Exit
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.spec.elaborate.claims.program import Check, Program, mapped
from fencepost.spec.text.problem import Problem, Rejected


def mapped_model(
    program: Program, check: Check, constants: Mapping[str, str]
) -> MappedModel | Exit:
    """Builds the model of a check with its recording mapping. If an assumption is false, reports it
    and returns the exit code instead. Raises `Rejected` if the spec cannot be used.
    """
    model, recording = mapped(program, check, constants)
    warn(model.warnings)
    no_symbols(model)
    code = broken(model)
    if code is not None:
        return code
    if recording is None:
        message = f"{program.path} does not define the lines of a recording"
        note = (None, "a mapping begins with `recording:` (docs/conformance.md)")
        raise Rejected([Problem("F048", None, message, (note,))])
    return MappedModel(model, recording)
