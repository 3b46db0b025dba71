"""From the words of a command to one model to work with, for commands that run no check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fencepost.checker.session import missing_folders
from fencepost.spec.ir import Model
from fencepost.spec.problem import Problem, Rejected, listing, suggestion
from fencepost.spec.program import Check, Program, build, load


def loaded(spec: Path, search: tuple[Path, ...]) -> Program:
    """The spec, read; raises `Rejected`."""
    missing = missing_folders(search)
    if missing:
        raise Rejected(missing)
    return load(spec, search)


def check_named(program: Program, name: str | None) -> Check | None:
    """The check of that name (None: none was named); raises `Rejected`."""
    if name is None:
        return None
    names = [check.name for check in program.checks]
    if name not in names:
        hint = suggestion(name, names)
        raise Rejected([Problem("F023", None, f'{program.path} has no check "{name}"{hint}')])
    return program.checks[names.index(name)]


def concrete(program: Program, check: Check | None, constants: Mapping[str, str]) -> Model:
    """The model, every constant of which has a value; raises `Rejected`."""
    model = build(program, check, constants)
    if model.symbols:
        names = [symbol.path for symbol in model.symbols]
        what = f"{listing(names, 'and')} must have a value here"
        notes = ((None, f"--const {names[0]}=VALUE gives one"),)
        raise Rejected([Problem("F041", model.symbols[0].span, what, notes)])
    return model
