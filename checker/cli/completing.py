"""What a shell completes behind an option: the names that the spec on the same line declares.

Whatever is wrong with the line or with the spec, nothing is completed: a shell shows no errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import click

from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text.library import is_file, is_folder, read, shipped, specs_below
from fencepost.spec.text.problem import Rejected

Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]
MOST = 100
"""Specs of a folder that are read for their names."""


def checks(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Names of checks and scenarios."""
    kinds = (syntax.CheckDecl, syntax.ScenarioDecl)
    found = (d.name.text for d in _declarations(ctx) if isinstance(d, kinds))
    return _beginning(found, begun)


def constants(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Names of constants, each with the ``=`` behind it."""
    found = (f"{d.name.text}=" for d in _declarations(ctx) if isinstance(d, syntax.Const))
    return _beginning(found, begun)


def properties(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Names of properties."""
    kinds = (syntax.PropertyDecl, syntax.RefinementDecl)
    found = (d.name.text for d in _declarations(ctx) if isinstance(d, kinds) and d.name is not None)
    return _beginning(found, begun)


def one_of(words: Iterable[str]) -> Completion:
    """Words that are known beforehand."""
    known = tuple(words)

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
        return _beginning(known, begun)

    return complete


def _beginning(words: Iterable[str], begun: str) -> list[str]:
    return [word for word in dict.fromkeys(words) if word.startswith(begun)]


def _declarations(ctx: click.Context) -> Iterable[syntax.Declaration]:
    """The declarations of the specs on the line, those of roles left out."""
    for path in _specs(ctx)[:MOST]:
        try:
            yield from parse(read(path))[0].declarations
        except (Rejected, OSError):
            continue


def _specs(ctx: click.Context) -> list[Path]:
    # While a value is missing, click has not given its place to any word that is no option.
    given = ctx.params.get("specs") or ctx.params.get("spec") or ctx.args
    paths = [Path(one) for one in ([given] if isinstance(given, str | Path) else given)]
    found: list[Path] = []
    for path in paths:
        if is_folder(path):
            found += specs_below(path)
        else:
            found += [path] if is_file(path) else [p for p in [shipped(str(path))] if p]
    return found
