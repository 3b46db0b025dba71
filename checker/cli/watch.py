"""The option `fencepost check --watch`, which runs specs again when they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from fencepost.checker.cli.terminal import complain
from fencepost.checker.folders import SpecFinder
from fencepost.checker.run.check import load
from fencepost.checker.run.session import has_checks, in_time, spec_finder
from fencepost.checker.run.settings import Request
from fencepost.checker.run.words import plural
from fencepost.spec.text.library import is_folder, real
from fencepost.spec.text.problem import Rejected

EVERY = 0.3
"""The interval at which the files are polled, in seconds."""


def watch(
    request: Request,
    run: Callable[[Request], int],
    *,
    whole: bool = False,
    wait: Callable[[], None] = lambda: time.sleep(EVERY),
) -> int:
    """Runs a request, and runs it again whenever one of its files changes, until the user stops it.
    Returns the exit code of the last run.

    Only specs that changed or that import a changed file are run again. If ``whole`` is true, all
    specs are.
    """
    finder = spec_finder(request)
    needs = _dependencies(request, finder)
    before = _stamps(request, needs, finder)
    code = run(request)
    try:
        while True:
            complain(f"watching {plural(len(before), 'file')}; Ctrl-C ends")
            while (now := _stamps(request, needs, finder)) == before:
                wait()
            changed = {path for path in {*before, *now} if before.get(path) != now.get(path)}
            # The list of files that git ignores may have changed.
            finder = spec_finder(request)
            needs = _dependencies(request, finder)
            # If a file is written after this point, the next round notices it.
            before = _stamps(request, needs, finder)
            specs = tuple(spec for spec, files in needs.items() if files & changed)
            code = run(request if whole or not specs else replace(request, specs=specs))
    except KeyboardInterrupt:
        return code


def _dependencies(request: Request, finder: SpecFinder) -> Mapping[Path, frozenset[Path]]:
    """Maps each spec of a request to the files that it consists of. In a folder, only specs that
    have a check or cannot be read are included.
    """
    needs: dict[Path, frozenset[Path]] = {}
    for argument in request.specs:
        for spec in finder.specs(argument):
            files = {real(spec)}
            try:
                with in_time(spec, request.settings):
                    program = load(spec, request.search, configs=request.settings.configs)
            except Rejected:
                needs[spec] = frozenset(files)
                continue
            if not is_folder(argument) or has_checks(program):
                needs[spec] = frozenset(files | set(program.files.files))
    return needs


def _stamps(
    request: Request, needs: Mapping[Path, frozenset[Path]], finder: SpecFinder
) -> Mapping[Path, tuple[int, int] | None]:
    """Returns the modification time and the size of each file, or None for a file that does not
    exist. Includes the files in a folder that no spec needs, because they may be new specs.
    """
    paths = {path for files in needs.values() for path in files}
    for argument in request.specs:
        if is_folder(argument):
            paths |= {real(spec) for spec in finder.specs(argument)}
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
