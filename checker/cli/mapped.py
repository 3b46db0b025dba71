"""From the words of a command to a model and what its spec says of recordings."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.checker.cli.models import broken, no_symbols, warn
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.run.judge import Exit
from fencepost.spec.elaborate.claims.program import Check, Program, mapped
from fencepost.spec.text.problem import Problem, Rejected


def mapped_model(program: Program, check: Check, constants: Mapping[str, str]) -> Mapped | Exit:
    """The model of a check with its mapping; where an assumption is broken, which is reported, the
    exit code. Raises `Rejected`.
    """
    model, recording = mapped(program, check, constants)
    warn(model.warnings)
    no_symbols(model)
    false = broken(model)
    if false is not None:
        return false
    if recording is None:
        what = f"{program.path} does not say what the lines of a recording mean"
        note = (None, "a mapping begins with `recording:` (docs/conformance.md)")
        raise Rejected([Problem("F048", None, what, (note,))])
    return Mapped(model, recording)
