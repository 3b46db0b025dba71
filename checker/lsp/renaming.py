"""Finds the uses of a name in the specs of the open folders, and renames it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fencepost.checker.lsp.desk import Desk, Names, Place, View, has_word
from fencepost.checker.lsp.places import Edits, changed
from fencepost.spec.elaborate.ide.references import Declaration
from fencepost.spec.elaborate.values.functions import BUILT_IN
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.lalr import keywords, reserved
from fencepost.spec.text.source import Span


class Refused(Exception):
    """Raised when a name cannot be changed. The text is a sentence for the user."""


async def around(desk: Desk, view: View, meant: Iterable[Declaration]) -> list[View]:
    """Returns the views that may use some declarations, beginning with ``view``. The others are
    specs in the open folders that contain one of the names, or that read a file of the
    declarations.
    """
    views = [view]
    wanted = [
        declaration for declaration in meant if declaration.kind not in ("local", "parameter")
    ]
    homes = {view.path_of(declaration.span.source) for declaration in wanted}
    if not wanted:
        return views
    covered = set[Path]() if view.survey is None else set(view.survey.files.files)
    texts = dict(desk.specs())
    named = {
        p
        for p, text in texts.items()
        if any(has_word(text, declaration.name) for declaration in wanted)
    }
    for path in texts:
        if path == view.path:
            continue
        files = await desk.files(path)
        if not homes & files.keys():
            continue
        # Modules that have parameters or are outside the open folders are surveyed through the
        # specs that import them.
        open_ended = {
            file
            for file, tree in files.items()
            if any(isinstance(node, syntax.Param) for node in tree.declarations)
        }
        inside = files.keys() & (named | (open_ended - texts.keys()))
        if path in named or inside - covered or inside & open_ended:
            other = await desk.view(path)
            views.append(other)
            covered |= inside
    return views


def closed(views: Iterable[Names], start: Iterable[Place]) -> tuple[set[Place], set[Place]]:
    """Returns the declarations that are linked to ``start`` by common uses, directly or indirectly,
    and all their uses. If a use of a name can refer to several declarations, all of them are thus
    renamed together.
    """
    every = list(views)
    declared = set(start)
    uses = set[Place]()
    while True:
        touched = {p for names in every for p, meant in names.uses.items() if meant & declared}
        more = {d for names in every for p in touched for d in names.uses.get(p, ())}
        if touched <= uses and more <= declared:
            return declared, uses
        uses |= touched
        declared |= more


async def uses(desk: Desk, view: View, offset: int) -> tuple[set[Place], set[Place]]:
    """Returns the places at which the name at an offset is declared, and those at which it is
    used.
    """
    meant = view.meant(offset)
    views = await around(desk, view, meant)
    own = view.names
    start = {place for place, declaration in own.declarations.items() if declaration in meant}
    used = {p for other in views for p, several in other.names.uses.items() if several & start}
    return start, used


# ---------------------------------------------------------------- a new name


def renamable(view: View, offset: int) -> Span:
    """Returns the span of the name at an offset. Raises `Refused` if the name cannot be renamed."""
    span = view.name_at(offset)
    if span is None:
        raise Refused("this name is not declared in a spec, so it cannot be renamed")
    for declaration in view.meant(offset):
        if declaration.kind == "module" and declaration.node is None:
            raise Refused(f'"{declaration.name}" is named after its file: rename the file')
    return span


async def renamed(desk: Desk, view: View, offset: int, new: str) -> dict[Path, Edits]:
    """Returns the edits in each file that rename the name at an offset. Raises `Refused` if it
    cannot be renamed.
    """
    old = renamable(view, offset).text
    if not new.isidentifier() or not new.isascii() or new in reserved() or new in BUILT_IN:
        raise Refused(f'"{new}" cannot be a name: it is a keyword, or not an identifier')
    meant = view.meant(offset)
    views = await around(desk, view, meant)
    own = view.names
    start = {place for place, declaration in own.declarations.items() if declaration in meant}
    declared, used = closed((other.names for other in views), start)
    edits: dict[Path, dict[tuple[int, int], str]] = {}
    for path, begin, end in declared | used:
        edits.setdefault(path, {})[begin, end] = new
    for other in views:
        for place in declared & other.names.declarations.keys():
            node = other.names.declarations[place].node
            if isinstance(node, syntax.Import) and node.alias is None:
                # The word is also part of the path of a file, so the import gets an alias.
                edits[place[0]][place[1:]] = f"{old} as {new}"
    changes: dict[Path, Edits] = {
        path: [(begin, end, text) for (begin, end), text in sorted(places.items())]
        for path, places in edits.items()
    }
    for path in changes:
        if not desk.writable(path):
            raise Refused(f'"{old}" is also in {path}, which cannot be written')
    if old != new:
        await _fitting(desk, views, changes, old, new)
    return changes


async def _fitting(
    desk: Desk,
    views: Iterable[View],
    changes: Mapping[Path, Edits],
    old: str,
    new: str,
) -> None:
    """Raises `Refused` if the new name is invalid or would change what some name refers to.

    A word that is not a keyword and occurs nowhere is safe.
    """
    for view in views:
        files = {} if view.survey is None else view.survey.files.files
        occurs = any(has_word(tree.source.text, new) for tree in files.values())
        if not (occurs or new in keywords()) or not files.keys() & changes.keys():
            continue
        texts = {p: changed(files[p].source.text, changes[p]) for p in files if p in changes}
        after = await desk.with_texts(view.path, texts)
        before = {(problem.code, problem.message.replace(old, new)) for problem in view.problems}
        for problem in after.problems:
            if (problem.code, problem.message) not in before and not problem.warning:
                raise Refused(f'it cannot be called "{new}": {problem.message}')
        if any(text != new for edits in changes.values() for _, _, text in edits):
            # An import that gets an alias keeps the name in its path, so the places cannot be
            # compared.
            continue
        moved = {
            _moved(p, changes): {_moved(d, changes) for d in m} for p, m in view.names.uses.items()
        }
        if moved != {p: set(m) for p, m in after.names.uses.items()}:
            raise Refused(f'it cannot be called "{new}": this name is already used here')


def _moved(place: Place, changes: Mapping[Path, Edits]) -> Place:
    """Returns the place of a name after the edits."""
    path, start, end = place
    ahead = 0
    longer = 0
    for begin, stop, text in changes.get(path, ()):
        if stop <= start:
            ahead += len(text) - (stop - begin)
        elif begin == start and stop == end:
            longer = len(text) - (stop - begin)
    return path, start + ahead, end + ahead + longer
