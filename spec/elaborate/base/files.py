"""Reads the files of a program: the root and its imports, with the target of each import, and warns
about comments that were probably meant as part of the spec.

In TLA+, `#` means "not equal". Here it begins a comment, so `done # true` is just `done`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fencepost.spec.core.size_limits import MAX_NESTED
from fencepost.spec.core.traverse import walk
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.parser import parse
from fencepost.spec.text import library
from fencepost.spec.text.clock import tick
from fencepost.spec.text.problem import Problem, Rejected, suggestion
from fencepost.spec.text.source import Source, Span

Trees: TypeAlias = dict[Path, tuple[syntax.File, tuple[Problem, ...]]]
"""The latest syntax tree of each file, with the problems found in the file. If a caller keeps the
trees between readings, a file is parsed again only when its text or its name has changed.
"""
_SHIPPED: Trees = {}
"""Trees of the files shipped with Fencepost. These files are few, and many models import them."""


@dataclass(slots=True)
class Files:
    """All files of a program by resolved path, and the target of each import.

    ``imports`` omits imports whose module does not exist, and those that would close a cycle or are
    nested too deeply.
    """

    root: Path
    files: dict[Path, syntax.File] = field(default_factory=dict[Path, syntax.File])
    imports: dict[tuple[Path, tuple[str, ...]], Path] = field(
        default_factory=dict[tuple[Path, tuple[str, ...]], Path]
    )
    problems: list[Problem] = field(default_factory=list[Problem])

    @property
    def whole(self) -> bool:
        """Whether every file could be read in full. Warnings do not count."""
        return all(problem.warning for problem in self.problems)


def read_files(
    path: Path,
    search: Sequence[Path],
    unsaved: Mapping[Path, str] | None = None,
    trees: Trees | None = None,
) -> Files:
    """Reads the root file and everything that it imports. Raises Rejected if the root cannot be
    read.

    ``unsaved`` maps paths to texts that replace the contents of files; these files need not exist.
    Trees in ``trees`` are reused if they are up to date, and new trees are added to it.
    """
    texts = {library.real(file): text for file, text in (unsaved or {}).items()}
    source = library.read(path, texts)
    files = Files(library.real(path))
    _Reading(files, search, texts, {} if trees is None else trees).enter(path, source, ())
    return files


@dataclass(slots=True)
class _Reading:
    """Reads a program. ``search`` contains the folders of --path. ``unsaved`` maps resolved paths
    to texts that replace the contents of files.
    """

    files: Files
    search: Sequence[Path]
    unsaved: Mapping[Path, str]
    trees: Trees

    def enter(self, path: Path, source: Source, trail: tuple[Path, ...]) -> None:
        """Parses a file and reads its imports. ``trail`` contains the files on the chain of imports
        from the root to this file.
        """
        tick()
        here = library.real(path)
        tree, problems = self._tree(here, source)
        self.files.files[here] = tree
        self.files.problems += problems
        for node in tree.declarations:
            if isinstance(node, syntax.Import):
                self._follow(path, node, (*trail, here))

    def _tree(self, here: Path, source: Source) -> tuple[syntax.File, tuple[Problem, ...]]:
        trees = _SHIPPED if library.is_shipped(here) else self.trees
        cached = trees.get(here)
        same = cached is not None and cached[0].source.text == source.text
        if cached is None or not same or cached[0].source.name != source.name:
            tree, problems = parse(source)
            cached = trees[here] = (tree, (*problems, *swallowed(tree)))
        return cached

    def _follow(self, path: Path, node: syntax.Import, trail: tuple[Path, ...]) -> None:
        parts = tuple(part.text for part in node.module)
        where = node.module[0].span.to(node.module[-1].span)
        module = library.find_module(parts, path, self.search, self.unsaved)
        if module is None:
            hint = _similar(parts, path, self.search)
            places = "next to this file, on --path, or in the shipped library"
            message = f'no module "{".".join(parts)}" is found {places}{hint}'
            self.files.problems.append(Problem("F601", where, message))
            return
        target = library.real(module)
        if target in trail:
            circle = [*trail[trail.index(target) :], target]
            names = " imports ".join(file.stem for file in circle)
            message = f"modules must not import each other in a cycle: {names}"
            self.files.problems.append(Problem("F602", where, message))
            return
        if len(trail) > MAX_NESTED:
            message = f"imports are nested more than {MAX_NESTED} files deep here"
            self.files.problems.append(Problem("F608", where, message))
            return
        self.files.imports[library.real(path), parts] = target
        if target in self.files.files:
            return
        try:
            source = library.read(module, self.unsaved)
        except Rejected as rejected:
            self.files.problems += rejected.problems
            return
        self.enter(module, Source(_shown(module), source.text), trail)


def _shown(path: Path) -> str:
    """Returns the name of a module in messages. The name of a shipped module is the same on every
    machine.
    """
    shipped = library.package_root()
    return str(path.relative_to(shipped) if path.is_relative_to(shipped) else path)


def _similar(parts: tuple[str, ...], path: Path, search: Sequence[Path]) -> str:
    """Returns a suggestion for a module that was not found."""
    names: set[str] = set()
    for folder in (path.parent, *search, library.package_root()):
        below = folder.joinpath(*parts[:-1])
        if below == library.package_root() or not library.is_folder(below):
            continue
        try:
            entries = list(below.iterdir())
        except OSError:
            continue
        stems = [entry.stem for entry in entries if entry.suffix == library.SUFFIX]
        names |= {".".join((*parts[:-1], stem)) for stem in stems}
    return suggestion(".".join(parts), names)


_TEXTS_AND_COMMENTS = re.compile(r'"""[\s\S]*?"""|"[^"\r\n]*"|(?P<comment>#[^\n]*)')
_OPERAND = re.compile(r"#+[ \t]*(?P<operand>-?[0-9][0-9_]*|[A-Za-z_]\w*(?:\.\w+)*)\s*", re.ASCII)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
_CONNECTIVES = ("or", "and", "implies", "iff")


def swallowed(file: syntax.File) -> Iterator[Problem]:
    """Warns (F126) about each comment that consists of a single operand and comes right after a
    condition that is not a comparison.
    """
    source = file.source
    ends: dict[int, bool] = {}
    for condition in _conditions(file):
        for end, compared in _ends(condition):
            ends[end] = ends.get(end, True) and compared
    # A comment after an assigned value may give another value, such as a number. Only the operands
    # true and false are unambiguous there.
    assigned = {node.value.span.end: False for node in _assignments(file)}
    if not ends and not assigned:
        return
    for match in _TEXTS_AND_COMMENTS.finditer(source.text):
        if match["comment"] is None:
            continue
        operand = _OPERAND.fullmatch(match["comment"])
        if operand is None:
            continue
        candidates = {**assigned, **ends} if operand["operand"] in ("true", "false") else ends
        if _follows(source, match.start(), candidates):
            yield _warning(source, match.start(), operand["operand"])


def _warning(source: Source, start: int, operand: str) -> Problem:
    return Problem(
        "F126",
        Span(source, start, start + 1),
        f'"#" begins a comment, so this does not compare with {operand}',
        (
            (
                None,
                f'write "!= {operand}"; a comment of several words does not look like an operand',
            ),
        ),
        warning=True,
    )


def _follows(source: Source, start: int, ends: dict[int, bool]) -> bool:
    """Returns whether the comment at ``start`` directly follows a condition, or the closing
    parentheses after one. After a comparison, only a comment after parentheses counts.
    """
    end, closed = start, False
    while end not in ends:
        end -= 1
        char = source.text[end : end + 1]
        if end < 0 or char not in " \t)":
            return False
        closed = closed or char == ")"
    return closed or not ends[end]


def _assignments(file: syntax.File) -> Iterator[syntax.Assign | syntax.Let]:
    for node in walk(file.declarations):
        if isinstance(node, syntax.Assign | syntax.Let) and not isinstance(
            node.value, syntax.Boolean
        ):
            yield node


def _conditions(file: syntax.File) -> Iterator[syntax.Expr]:
    """Yields each expression of a file whose position makes it a condition."""
    for node in walk(file.declarations):
        condition: syntax.Expr | None = getattr(node, "condition", None)
        if condition is not None:
            yield condition
        match node:
            case (
                syntax.PropertyDecl(body=condition)
                | syntax.DefDecl(result=syntax.Name(text="bool"), body=condition)
                | syntax.Unary(operator="not", operand=condition)
                | syntax.Quantifier(body=condition)
                | syntax.UnaryTemporal(operand=condition)
            ):
                yield condition
            case (
                syntax.Const(type=syntax.Name(text="bool"), value=value)
                | syntax.VarDecl(type=syntax.Name(text="bool"), value=value)
            ) if value is not None:
                yield value
            case syntax.BinaryTemporal(left=left, right=right):
                yield from (left, right)
            case syntax.Binary(operator=operator) if operator in _CONNECTIVES:
                yield from (node.left, node.right)
            case syntax.Conjunction(lines=lines):
                yield from lines
            case _:
                pass


def _ends(condition: syntax.Expr) -> Iterator[tuple[int, bool]]:
    """Yields the end offset of a condition, and whether a comparison ends there. Yields nothing for
    a condition that ends with another one that `_conditions` yields itself.
    """
    match condition:
        case syntax.Binary(operator=operator) if operator in _CONNECTIVES:
            return
        case syntax.Binary(operator=operator):
            yield condition.span.end, operator in _COMPARISONS
        case syntax.Is():
            yield condition.span.end, True
        case syntax.Unary(operator="not") | syntax.Quantifier() | syntax.Conjunction():
            return
        case (
            syntax.Conditional(otherwise=last)
            | syntax.LetIn(body=last)
            | syntax.MatchValue(cases=(*_, syntax.ValueCase(value=last)))
        ):
            yield from _ends(last)
        case syntax.Boolean():
            # In `const Verify: bool = true  # false`, the comment gives the other possible value.
            return
        case _:
            yield condition.span.end, False
