"""Loads a single model, for commands that do not run checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fencepost.checker.cli.terminal import complain
from fencepost.checker.evaluator.program import ModuleProgram, module_assumptions
from fencepost.checker.run.check import load, refuse_language
from fencepost.checker.run.judge import Exit, exit_of
from fencepost.checker.run.session import missing_folders
from fencepost.checker.run.settings import Settings
from fencepost.checker.search.account import broken_assumptions
from fencepost.checker.trace.findings import headline
from fencepost.spec.core.ir import Model
from fencepost.spec.core.open_ranges import NO_RANGES
from fencepost.spec.elaborate.claims.program import Check, Program, build, select
from fencepost.spec.text.library import MODULE_SUFFIX
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion


def loaded(spec: Path, search: tuple[Path, ...], configs: Sequence[Path] = ()) -> Program:
    """Reads a spec and prints its warnings. ``configs`` are the configurations of a TLA+ module.
    Raises `Rejected` if the spec cannot be used.
    """
    if configs and spec.suffix != MODULE_SUFFIX:
        raise Rejected([Problem("F052", None, "--config is for TLA+ modules")])
    missing = missing_folders(search)
    if missing:
        raise Rejected(missing)
    program = load(spec, search, configs=configs)
    warn(program.warnings)
    return program


def warn(warnings: Iterable[Problem]) -> None:
    """Prints each warning once."""
    for warning in dict.fromkeys(warnings):
        complain(str(warning) if warning.minor else f"{warning}\n")


def check_named(program: Program, name: str | None) -> Check | None:
    """Returns the check or scenario ``name``, or None if ``name`` is None. Raises `Rejected` if the
    spec does not have it.
    """
    if name is None:
        return None
    names = [check.name for check in program.runs]
    if name not in names:
        hint = suggestion(name, names)
        raise Rejected([Problem("F023", None, f'{program.path} has no check "{name}"{hint}')])
    return program.runs[names.index(name)]


def check_meant(program: Program, name: str | None) -> Check:
    """Returns the check ``name``, or the only check if ``name`` is None. Raises `Rejected` if there
    is no such check, if it is a scenario, or if ``name`` is None and there are several checks.
    """
    check = check_named(program, name)
    if check is not None and check.scenario is not None:
        message = f"{name} is a scenario, but a check is required here"
        raise Rejected([Problem("F854", check.span, message)])
    if check is not None:
        return check
    if len(program.checks) == 1:
        return program.checks[0]
    names = listing([check.name for check in program.checks], "and")
    notes = ((None, f"the checks are {names}"),)
    raise Rejected([Problem("F021", None, "--check is missing: there are several", notes)])


def concrete(
    program: Program,
    check: Check | None,
    constants: Mapping[str, str],
    readable: Sequence[Path] = (),
) -> Model:
    """Builds a model without symbolic constants, and prints its warnings. Integers without a
    declared range have no bounds. A TLA+ module may read files in the folders ``readable``. Raises
    `Rejected` if a constant has no value, or if the check names something that does not exist.
    """
    refuse_language(program, Settings(dict(constants), readable=tuple(readable)))
    if isinstance(program, ModuleProgram):
        model = program.model(check_meant(program, None) if check is None else check, readable)
        refuse_without_behaviour(program, model)
        return model
    model = build(program, check, constants, ranges=NO_RANGES)
    if check is not None:
        select(model, check)
    warn(model.warnings)
    no_symbols(model)
    return model


def refuse_without_behaviour(program: Program, model: Model) -> None:
    """Raises `Rejected` if a TLA+ module has only assumptions."""
    if model.is_opaque and not model.actions:
        message = f"{program.path} has no behaviour: its configuration names no SPECIFICATION"
        raise Rejected([Problem("F656", None, message)])


def no_symbols(model: Model) -> None:
    """Raises `Rejected` if a constant has no value."""
    if model.symbols:
        names = [symbol.path for symbol in model.symbols]
        message = f"{listing(names, 'and')} must have a value here"
        notes = ((None, f"--const {names[0]}=VALUE gives one"),)
        raise Rejected([Problem("F041", model.symbols[0].span, message, notes)])


def broken(model: Model) -> Exit | None:
    """Reports assumptions that are false or undefined in the same way as `fencepost check`. Returns
    the exit code, or None if all assumptions hold.
    """
    outcome = module_assumptions(model) if model.is_opaque else broken_assumptions(model)
    if outcome is None:
        return None
    for finding in outcome.findings:
        if finding.site is not None:
            site = finding.site
            complain(str(Problem(site.code, site.span, site.message)))
        else:
            assert finding.failing is not None
            complain(f"{headline(model, finding, None)}\n{finding.failing.excerpt()}")
    return exit_of(model, outcome)
