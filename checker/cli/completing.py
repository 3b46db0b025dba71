"""Shell completion of option values, based on the specs on the same command line.

If the command line or a spec has an error, there are no completions, because a shell cannot show
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import click

from fencepost.checker.folders import SpecFinder
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.library import is_file, is_folder, read, shipped
from fencepost.spec.text.problem import Rejected

Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]
MAX_SPECS = 100
"""The maximum number of specs in a folder that are read for names."""


def checks(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Completes the names of checks and scenarios."""
    kinds = (syntax.CheckDecl, syntax.ScenarioDecl)
    names = (d.name.text for d in _declarations(ctx) if isinstance(d, kinds))
    return _beginning(names, begun)


def constants(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Completes the names of constants, and appends ``=``."""
    names = (f"{d.name.text}=" for d in _declarations(ctx) if isinstance(d, syntax.Const))
    return _beginning(names, begun)


def properties(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Completes the names of properties."""
    kinds = (syntax.PropertyDecl, syntax.RefinementDecl)
    names = (d.name.text for d in _declarations(ctx) if isinstance(d, kinds) and d.name is not None)
    return _beginning(names, begun)


def one_of(words: Iterable[str]) -> Completion:
    """Returns a function that completes from fixed words."""
    choices = tuple(words)

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
        return _beginning(choices, begun)

    return complete


def _beginning(words: Iterable[str], begun: str) -> list[str]:
    return [word for word in dict.fromkeys(words) if word.startswith(begun)]


def _declarations(ctx: click.Context) -> Iterable[syntax.Declaration]:
    """Yields the top-level declarations of the specs on the command line."""
    for path in _specs(ctx)[:MAX_SPECS]:
        try:
            yield from parse(read(path))[0].declarations
        except (Rejected, OSError):
            continue


def _specs(ctx: click.Context) -> list[Path]:
    # While the value of an option is missing, click has not assigned the positional arguments.
    words = ctx.params.get("specs") or ctx.params.get("spec") or ctx.args
    paths = [Path(word) for word in ([words] if isinstance(words, str | Path) else words)]
    specs: list[Path] = []
    for path in paths:
        if is_folder(path):
            specs += SpecFinder(paths).specs(path)
        else:
            specs += [path] if is_file(path) else [p for p in [shipped(str(path))] if p]
    return specs
