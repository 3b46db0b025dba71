"""The options and arguments of commands, and messages about wrong ones."""

from __future__ import annotations

import gc
import os
import re
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import click
from click.shell_completion import CompletionItem

from fencepost.checker.cli import completing
from fencepost.checker.cli.terminal import WIDTH
from fencepost.checker.engines import ENGINES
from fencepost.checker.options import BY_FLAG, OPTIONS, SPARK, mistakes, number
from fencepost.checker.printing import units
from fencepost.checker.report.formats import FORMS, REPORTS
from fencepost.checker.resources import without_collection
from fencepost.checker.run.settings import request_of
from fencepost.checker.search.interrupts import deferred
from fencepost.spec.records import dataclass
from fencepost.spec.text.library import (
    CONFIG_SUFFIX,
    MODULE_SUFFIX,
    SUFFIX,
    is_file,
    is_folder,
    shipped,
    shipped_models,
)
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

_Command = TypeVar("_Command", bound=Callable[..., Any])
F = TypeVar("F", bound=str)
R = TypeVar("R")
V = TypeVar("V")


class Unlisted(click.Option):
    """An option that the help lists without a description."""

    def get_help_record(self, ctx: click.Context) -> None:
        return None


COMPLETIONS: Mapping[str, completing.Completion] = {
    "--check": completing.checks,
    "--const": completing.constants,
    "--invariant": completing.properties,
    "--engine": completing.one_of(ENGINES),
}
"""The shell completions for the values of options."""


def value(read: Callable[[str], V]) -> Callable[[str], V]:
    """Converts a reader that raises `ValueError` to a click type."""

    def convert(text: str) -> V:
        try:
            return read(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return convert


def shared_option(
    flag: str, name: str | None = None, **changes: Any
) -> Callable[[_Command], _Command]:
    """Creates a command's option from a row of the table. ``name`` is the command's parameter.
    ``changes`` override arguments of `click.option`.
    """
    row = BY_FLAG[flag]
    arguments: dict[str, Any] = {"shell_complete": COMPLETIONS.get(flag)}
    if not row.help:
        arguments["cls"] = Unlisted
    else:
        arguments["help"] = row.help
    if row.metavar:
        arguments |= {"metavar": row.metavar, "multiple": row.several}
        arguments["type"] = FILES.get(flag) or (None if row.read is str else value(row.read))
    else:
        arguments["is_flag"] = True
    if flag == "--const":
        arguments["callback"] = constants
    return click.option(flag, name or row.name, **(arguments | changes))


def request_options(command: _Command) -> _Command:
    """Adds all options of the table to a command, in order."""
    for row in reversed([row for row in OPTIONS if row.flag.startswith("--")]):
        command = shared_option(row.flag)(command)
    return command


def cluster_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the cluster options to a command. The command receives them as its first argument, which
    is a `Cluster`, or None if no option is given.
    """
    rows = [row for row in OPTIONS if row.topic == SPARK and row.flag.startswith("--")]

    @wraps(command)
    def wrapped(*args: Any, **values: Any) -> R:
        of_cluster = {row.name: values.pop(row.name) for row in rows}
        return command(request_of((), of_cluster).settings.cluster, *args, **values)

    result: Callable[..., R] = wrapped
    for row in reversed(rows):
        result = shared_option(row.flag)(result)
    return result


def topics(*topics: str) -> str:
    """Returns lines of a help text that list the options of each topic."""
    lines: list[str] = []
    for topic in topics:
        rows = [row for row in OPTIONS if row.topic == topic and row.flag.startswith("--")]
        words = f"{topic}: {', '.join(row.flag for row in rows)}"
        lines += textwrap.wrap(words, WIDTH - 2, break_on_hyphens=False)
    return "\n".join(lines)


def checked(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns ``values`` unchanged. Raises `click.UsageError` if they conflict."""
    for mistake in mistakes(values, {row.flag: row.flag for row in OPTIONS}):
        raise click.UsageError(mistake)
    return values


def constants(
    ctx: click.Context, param: click.Parameter, settings: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Returns ``settings`` unchanged. Raises `click.BadParameter` if a constant is set twice."""
    names = [name for name, _ in settings]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f'the constant "{name}" is set more than once')
    return settings


def at_least(low: int, high: int | None = None) -> Callable[[str], int]:
    """Returns a click type for integers within bounds, see `number`."""
    return value(number(low, high))


duration = value(units.duration)


def report_form(forms: Sequence[F]) -> Callable[[str], tuple[F, Path | None]]:
    """Returns a click type that reads ``junit`` or ``junit=FILE`` as a pair of a format and a
    file.
    """

    def convert(text: str) -> tuple[F, Path | None]:
        word, equals, file = text.partition("=")
        form = next((candidate for candidate in forms if candidate == word), None)
        if form is None:
            hint = suggestion(word, forms) or f"; there is {listing(forms, 'and')}"
            raise click.BadParameter(f'"{word}" is not a format{hint}')
        if equals and not file:
            raise click.BadParameter(f'"{text}" is not a file name')
        return form, Path(file) if equals else None

    return convert


FORMATS = click.option(
    "--format",
    "forms",
    metavar="FORM[=FILE]",
    type=report_form(FORMS),
    multiple=True,
    shell_complete=completing.one_of(FORMS),
    help=f"{', '.join(FORMS)}; repeatable.",
)
FILE = click.Path(path_type=Path, readable=False)
"""The type of a path that the shell completes and that need not exist."""
FILES: Mapping[str, click.ParamType[Any]] = {
    "--path": FILE,
    "--dump-smt2": FILE,
    "--config": FILE,
    "--allow-read": FILE,
}
"""The options whose values the shell completes as paths."""


READ_MODULES = ("check", "explore", "simulate", "replay")
"""The commands that read TLA+ modules."""


def refuse_modules(path: Path, command: str) -> None:
    """Raises `Rejected` (F052) if a file is a TLA+ module and the command does not read these."""
    if path.suffix == MODULE_SUFFIX and command not in READ_MODULES:
        message = f"fencepost {command} does not read TLA+ modules"
        note = (None, f"fencepost check {path} checks the module")
        raise Rejected([Problem("F052", None, message, (note,))])
    if path.suffix == CONFIG_SUFFIX and is_file(path):
        message = f"{path} is a configuration of TLC; the argument is the module"
        module = path.with_suffix(MODULE_SUFFIX)
        words = f"{module}" if is_file(module) else f"MODULE.tla --config {path}"
        note = (None, f"write: fencepost {command} {words}")
        raise Rejected([Problem("F052", None, message, (note,))])


class _Spec(click.Path):
    """The type of an argument that is the path of a spec or folder, or the name of a shipped
    spec.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is not None and ctx.info_name:
            refuse_modules(path, ctx.info_name)
        exists = is_file(path) or is_folder(path)
        return path if exists else shipped(str(path)) or path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        files = super().shell_complete(ctx, param, incomplete)
        if not incomplete:
            return files
        names = [name for name in shipped_models() if name.startswith(incomplete)]
        return [*files, *(CompletionItem(name) for name in names)]


SPEC = _Spec(path_type=Path, readable=False)


def refuse_exchanged(command: str, spec: Path, other: Path | str, *, spec_first: bool) -> None:
    """Raises `Rejected` if ``other`` is a spec and ``spec`` is not, because the user has probably
    exchanged the arguments.
    """
    suffixes = (SUFFIX, MODULE_SUFFIX)
    if spec.suffix in suffixes or not str(other).endswith(suffixes) or not is_file(Path(other)):
        return
    ordered = (other, spec) if spec_first else (spec, other)
    words = shlex.join(["fencepost", *command.split(), *map(str, ordered)])
    message = f"{other} is a spec and {spec} is not: are the arguments in the wrong order?"
    raise Rejected([Problem("F021", None, message, ((None, f"write: {words}"),))])


PATHS = shared_option("--path", "search")
CONFIGS = shared_option("--config", "configs")
ALLOW_READ = shared_option("--allow-read", "readable")
CONSTANTS = shared_option("--const", "constants")


def one_check(help: str = "Use the constants of this check.") -> Callable[[_Command], _Command]:
    """Creates the option that names a check."""
    return click.option(
        "--check", "name", metavar="NAME", shell_complete=completing.checks, help=help
    )


CHECKS = shared_option("--check")
INVARIANTS = shared_option("--invariant")


class OptionalValues(click.Command):
    """A command with options that take an optional value after ``=``, as in ``--x`` or ``--x=V``.

    click would also accept the next word of the command line as the value, but here this word may
    be a file.
    """

    def __init__(self, *, optional: Sequence[str], **rest: Any) -> None:
        super().__init__(**rest)
        self._optional = frozenset(optional)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        words = [f"{word}=" if word in self._optional else word for word in args[:end]]
        short = {name for option in self.params for name in option.opts if len(name) == 2}
        for word in words:
            # click would take each letter for an option.
            if _WORD.fullmatch(word) and not {f"-{letter}" for letter in word[1:]} <= short:
                raise click.NoSuchOption(word, ctx=ctx)
        return super().parse_args(ctx, [*words, *args[end:]])


class SuggestingGroup(click.Group):
    """A group of commands that suggests corrections of misspelt commands.

    ``elsewhere`` maps each command to the module that defines it and its name there. These modules
    are imported on demand.
    """

    def __init__(
        self, *, elsewhere: Mapping[str, tuple[str, str]] | None = None, **rest: Any
    ) -> None:
        super().__init__(**rest)
        self._elsewhere = elsewhere or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        # The order must not depend on which commands have been loaded.
        return [*(name for name in self.commands if name not in self._elsewhere), *self._elsewhere]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._elsewhere and cmd_name not in self.commands:
            module, name = self._elsewhere[cmd_name]
            with deferred(), without_collection():
                self.add_command(getattr(import_module(module), name))
            # Loaded modules live until the process ends.
            gc.freeze()
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            names = self.list_commands(ctx)
            hint = suggestion(word, names)
            if not hint and word.endswith((SUFFIX, MODULE_SUFFIX)):
                hint = f'; did you mean "fencepost check {word}"?'
            commands = ", ".join(names)
            ctx.fail(f'there is no command "{word}"{hint}\nnote: the commands are {commands}')
        return super().resolve_command(ctx, args)


_WORD = re.compile("-[A-Za-z]{2,}")
"""An option as TLC writes it."""
OTHER_OPTIONS = {
    "--property": "--invariant", "--properties": "--invariant", "--inv": "--invariant",
    "--max-depth": "--depth", "--threads": "--workers", "--jobs": "--workers",
    "--constant": "--const", "--cfg": "--config",
}  # fmt: skip
"""Options of other tools, with the equivalent here."""


def usage_problem(error: click.UsageError) -> Problem:
    """Converts a usage error to a problem, with a suggestion if possible."""
    help_ = f"{error.ctx.command_path} --help" if error.ctx else "fencepost --help"
    notes: tuple[tuple[None, str], ...] = ((None, f'"{help_}" lists the options'),)
    match error:
        case click.NoSuchOption():
            options: list[str] = []
            if error.ctx is not None:
                for parameter in error.ctx.command.params:
                    options += parameter.opts if isinstance(parameter, click.Option) else []
            hint = suggestion(error.option_name, options)
            if _WORD.fullmatch(error.option_name):
                notes = ((None, "docs/tla.md lists what replaces the options of TLC"), *notes)
            for meant in (OTHER_OPTIONS.get(error.option_name), f"-{error.option_name}"):
                if meant in options:
                    hint = f'; did you mean "{meant}"?'
            return Problem("F020", None, f'there is no option "{error.option_name}"{hint}', notes)
        case click.MissingParameter():
            name = error.param.make_metavar(error.ctx) if error.param and error.ctx else "argument"
            if isinstance(error.param, click.Option):
                name = error.param.opts[0]
            return Problem("F021", None, f"{name} is missing", notes)
        case click.BadParameter():
            name = error.param.opts[0] if error.param and error.param.opts else "argument"
            return Problem("F021", None, f"{name}: {_lower(error.message)}", notes)
        case _:
            first, _, more = _lower(error.format_message()).partition("\nnote: ")
            code = "F022" if first.startswith("there is no command") else "F021"
            extra = ((None, more),) if more else notes
            return Problem(code, None, first, extra)


def _lower(message: str) -> str:
    """Adapts a sentence from click to the style of our messages."""
    return f"{message[:1].lower()}{message[1:]}".rstrip(".")


# ---------------------------------------------------------------- reports

ALONE = tuple(form for form, row in REPORTS.items() if row.alone)
"""The formats that form a complete document. Nothing else may be written to the same stream."""


@dataclass(frozen=True, slots=True)
class Outputs(Generic[F]):
    """The destinations of reports. ``printed`` holds the formats for standard output, and ``files``
    the formats for files.
    """

    printed: tuple[F, ...]
    files: tuple[tuple[F, Path], ...]


def outputs_of(
    forms: Sequence[tuple[F, Path | None]], output: Path | None, default: F
) -> Outputs[F]:
    """Returns the destinations that --format and --output select. ``default`` is the format if
    these options name none. Raises `Rejected` if they contradict each other.
    """
    printed = list(dict.fromkeys(form for form, path in forms if path is None))
    files = [(form, path) for form, path in forms if path is not None]
    if output is not None:
        if len(printed) > 1:
            raise _unclear("--output takes one format; say --format FORM=FILE for each")
        files.append((printed[0] if printed else default, output))
        printed = []
    elif not printed:
        printed = [default]
    if len(printed) > 1 and any(form in ALONE for form in printed):
        message = f"{' and '.join(printed)} cannot both be printed; say --format FORM=FILE"
        raise _unclear(message)
    paths = [path for _, path in files]
    for path in paths:
        if paths.count(path) > 1:
            raise _unclear(f"{path} is given for two reports")
    return Outputs(tuple(printed), tuple(files))


def _unclear(message: str) -> Rejected:
    return Rejected([Problem("F021", None, message)])
