"""What is known of a spec, right or wrong, for those who look at its text: editors above all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from pathlib import Path

from fencepost.spec.core.traverse import children, walk
from fencepost.spec.elaborate.base.files import Files, Trees, read_files
from fencepost.spec.elaborate.base.recorder import Recorder
from fencepost.spec.elaborate.base.symbols import Instance
from fencepost.spec.elaborate.claims.program import Check, build, scanned, select
from fencepost.spec.elaborate.ide.references import Declared, References, declared_names, references
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Problem, Rejected

_HEADS = (
    syntax.Binder, syntax.Choices, syntax.Let, syntax.Parameter, syntax.Pattern, syntax.Pick,
    syntax.Receive,
)  # fmt: skip
"""What binds names for that which stands behind it in the same node."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The files of a spec, what is known by place, what is wrong, as far as that was met, and the
    instances of its modules, that of the root first.
    """

    files: Files
    references: References
    problems: tuple[Problem, ...]
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What surveys know of files, for those that follow."""

    trees: Trees = field(default_factory=Trees)
    declared: Declared = field(default_factory=Declared)


def survey(
    path: Path,
    search: Sequence[Path] = (),
    unsaved: Mapping[Path, str] | None = None,
    engines: Mapping[str, bool] | None = None,
    kept: Kept | None = None,
) -> Survey:
    """Reads a spec and all that it imports, and finds out what its names mean.

    ``unsaved`` are texts that stand for those of files, by path; ``engines`` are as `load` takes
    them, and ``kept`` has what earlier surveys have made of files. What a mistake hides is not
    known; everything else is. The spec is built for its first check, and for each other in which a
    constant is given a value by names; scenarios with it, or with the constants that
    they give. Raises Rejected only when the root file cannot be read.
    """
    files = read_files(path, search, unsaved, None if kept is None else kept.trees)
    program, problems = scanned(path, files, engines)
    recorder = Recorder()
    first, *others = program.checks
    plain = tuple(one.scenario for one in program.scenarios if one.scenario and not one.constants)
    given = [one for one in program.scenarios if one.constants]
    # Scenarios run with constants of their own, or with those of the spec.
    asked: list[tuple[Check, tuple[syntax.ScenarioDecl, ...]]]
    asked = [(first, () if first.constants else plain)]
    asked += [(Check(""), plain)] if plain and first.constants else []
    asked += [(check, ()) for check in (*filter(_names_something, others), *given)]
    for check, stated in asked:
        try:
            model = build(program, check, recorder=recorder, stated=stated)
            select(model, check)
            problems += model.warnings
        except Rejected as rejected:
            problems += rejected.problems
    found = references(files, recorder, None if kept is None else kept.declared)
    return Survey(files, found, tuple(dict.fromkeys(problems)), tuple(recorder.instances))


def _names_something(check: Check) -> bool:
    return any(isinstance(node, syntax.Name) for one in check.constants for node in walk(one.value))


def path_to(tree: syntax.File, name: str) -> tuple[syntax.Node, ...]:
    """The nodes around the only name of this text, from the declaration to the name itself; ()
    where there is none.
    """
    stack: list[tuple[syntax.Node, ...]] = [(node,) for node in tree.declarations]
    while stack:
        path = stack.pop()
        if isinstance(path[-1], syntax.Name) and path[-1].text == name:
            return path
        stack += [(*path, node) for node in children(path[-1]) if isinstance(node, syntax.Node)]
    return ()


def locals_of(path: tuple[syntax.Node, ...]) -> Iterator[syntax.Name]:
    """The locals and parameters that the last node of a path can see, the innermost last."""
    for node, inner in pairwise(path):
        if isinstance(node, syntax.Binder | syntax.Let | syntax.Parameter | syntax.Pattern):
            continue
        # What a comprehension binds stands behind the element.
        seen = isinstance(node, syntax.Comprehension)
        if isinstance(node, syntax.LetIn) and inner is node.body:
            yield node.name
        for part in children(node):
            if part is inner and not seen:
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
