"""Collects everything that is known about the text of a spec, whether or not the spec is correct.
Editors are the main users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from pathlib import Path

from fencepost.spec.core.traverse import children
from fencepost.spec.elaborate.base.context import Recorder
from fencepost.spec.elaborate.base.files import Files, Trees, read_files
from fencepost.spec.elaborate.base.symbols import Instance
from fencepost.spec.elaborate.claims.program import (
    build,
    representative_builds,
    scanned,
    select,
)
from fencepost.spec.elaborate.ide.references import Declared, References, declared_names, references
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Problem, Rejected

_HEADS = (
    syntax.Binder, syntax.Choices, syntax.Let, syntax.Parameter, syntax.Pattern, syntax.Pick,
    syntax.Receive,
)  # fmt: skip
"""Nodes that bind names for the nodes after them in the same parent."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of a survey: the files of the spec, an index by position, the problems found, and
    the instances of the modules, beginning with those of the root.
    """

    files: Files
    references: References
    problems: tuple[Problem, ...]
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class SurveyCache:
    """Data about files that is kept from one survey to the next."""

    trees: Trees = field(default_factory=Trees)
    declared: Declared = field(default_factory=Declared)


def survey(
    path: Path,
    search: Sequence[Path] = (),
    unsaved: Mapping[Path, str] | None = None,
    engines: Mapping[str, bool] | None = None,
    kept: SurveyCache | None = None,
) -> Survey:
    """Reads a spec with its imports and resolves its names.

    ``unsaved`` maps paths to texts that replace the files. ``engines`` has the same meaning as for
    `load`. ``kept`` holds data from earlier surveys. Only what a mistake hides remains unknown.

    Only `representative_builds` of the spec are built. Raises Rejected only if the root file cannot
    be read.
    """
    files = read_files(path, search, unsaved, None if kept is None else kept.trees)
    program, problems = scanned(path, files, engines)
    recorder = Recorder()
    for check, stated in representative_builds(program):
        try:
            model = build(program, check, recorder=recorder, stated=stated, ranges={})
            select(model, check)
            problems += model.warnings
        except Rejected as rejected:
            problems += rejected.problems
    index = references(files, recorder, None if kept is None else kept.declared)
    return Survey(files, index, tuple(dict.fromkeys(problems)), tuple(recorder.instances))


def path_to(tree: syntax.File, name: str) -> tuple[syntax.Node, ...]:
    """Returns the nodes from the declaration down to the only name with this text, or () if there
    is no such name.
    """
    stack: list[tuple[syntax.Node, ...]] = [(node,) for node in tree.declarations]
    while stack:
        path = stack.pop()
        if isinstance(path[-1], syntax.Name) and path[-1].text == name:
            return path
        stack += [(*path, node) for node in children(path[-1]) if isinstance(node, syntax.Node)]
    return ()


def locals_of(path: tuple[syntax.Node, ...]) -> Iterator[syntax.Name]:
    """Yields the locals and parameters that are visible to the last node of a path, from the
    outermost to the innermost.
    """
    for node, inner in pairwise(path):
        if isinstance(node, syntax.Binder | syntax.Let | syntax.Parameter | syntax.Pattern):
            continue
        # The binders of a comprehension are written after its element.
        all_visible = isinstance(node, syntax.Comprehension)
        if isinstance(node, syntax.LetIn) and inner is node.body:
            yield from syntax.names_of(node.target)
        for part in children(node):
            if part is inner and not all_visible:
                break
            if isinstance(part, _HEADS):
                yield from _bound(part)


def _bound(head: syntax.Node) -> Iterator[syntax.Name]:
    for name, kind in declared_names(head):
        if kind in ("local", "parameter"):
            yield name
    for part in children(head):
        if isinstance(part, (*_HEADS, syntax.Bind)):
            yield from _bound(part)
