"""Where a name is declared and used across the specs of the open folders, and a new name for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fencepost.checker.lsp.desk import Desk, Names, Place, View, has_word
from fencepost.checker.lsp.places import Edits, changed
from fencepost.spec.elaborate.base.built_in import BUILT_IN
from fencepost.spec.elaborate.ide.references import Declaration
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.lalr import keywords, reserved
from fencepost.spec.text.source import Span


class Refused(Exception):
    """Why a name cannot be changed, in a sentence for the user."""


async def around(desk: Desk, view: View, meant: Iterable[Declaration]) -> list[View]:
    """The views, the given one first, in which some declarations may be used: of specs of the open
    folders which have their name in them, and have the files in which they are declared.
    """
    found = [view]
    wanted = [one for one in meant if one.kind not in ("local", "parameter")]
    homes = {view.path_of(one.span.source) for one in wanted}
    if not wanted:
        return found
    covered = set[Path]() if view.survey is None else set(view.survey.files.files)
    texts = dict(desk.specs())
    named = {p for p, text in texts.items() if any(has_word(text, one.name) for one in wanted)}
    for path in texts:
        if path == view.path:
            continue
        files = await desk.files(path)
        if not homes & files.keys():
            continue
        # A module with parameters, and one that is in no open folder, is known by its importers.
        open_ended = {
            one
            for one, tree in files.items()
            if any(isinstance(node, syntax.Param) for node in tree.declarations)
        }
        inside = files.keys() & (named | (open_ended - texts.keys()))
        if path in named or inside - covered or inside & open_ended:
            other = await desk.view(path)
            found.append(other)
            covered |= inside
    return found


def closed(views: Iterable[Names], start: Iterable[Place]) -> tuple[set[Place], set[Place]]:
    """The declarations that bear one name with some others, and every use of those: where a name
    means several things at once, they belong together.
    """
    every = list(views)
    declared = set(start)
    uses = set[Place]()
    while True:
        touched = {p for one in every for p, meant in one.uses.items() if meant & declared}
        more = {d for one in every for p in touched for d in one.uses.get(p, ())}
        if touched <= uses and more <= declared:
            return declared, uses
        uses |= touched
        declared |= more


async def uses(desk: Desk, view: View, offset: int) -> tuple[set[Place], set[Place]]:
    """Where the name at an offset is declared, and where it is used."""
    meant = view.meant(offset)
    views = await around(desk, view, meant)
    own = view.names
    start = {place for place, one in own.declarations.items() if one in meant}
    found = {p for one in views for p, several in one.names.uses.items() if several & start}
    return start, found


# ---------------------------------------------------------------- a new name


def renamable(view: View, offset: int) -> Span:
    """The name at an offset; raises `Refused` for what has no other name."""
    span = view.name_at(offset)
    if span is None:
        raise Refused("this is no name that a spec declares, so it cannot be renamed")
    for one in view.meant(offset):
        if one.kind == "module" and one.node is None:
            raise Refused(f'"{one.name}" is called as its file: rename the file')
    return span


async def renamed(desk: Desk, view: View, offset: int, new: str) -> dict[Path, Edits]:
    """The changes that give the name at an offset another one, by file; raises `Refused`."""
    old = renamable(view, offset).text
    if not new.isidentifier() or not new.isascii() or new in reserved() or new in BUILT_IN:
        raise Refused(f'"{new}" cannot be a name: it is a word of the language, or no word at all')
    meant = view.meant(offset)
    views = await around(desk, view, meant)
    own = view.names
    start = {place for place, one in own.declarations.items() if one in meant}
    declared, found = closed((one.names for one in views), start)
    edits: dict[Path, dict[tuple[int, int], str]] = {}
    for path, begin, end in declared | found:
        edits.setdefault(path, {})[begin, end] = new
    for one in views:
        for place in declared & one.names.declarations.keys():
            node = one.names.declarations[place].node
            if isinstance(node, syntax.Import) and node.alias is None:
                # The word is the path of a file as well.
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
    """Raises `Refused` where the new name would be wrong, or something would mean something else.

    A word that is nowhere yet, and none of the language, can do neither.
    """
    for view in views:
        files = {} if view.survey is None else view.survey.files.files
        known = any(has_word(tree.source.text, new) for tree in files.values())
        if not (known or new in keywords()) or not files.keys() & changes.keys():
            continue
        texts = {p: changed(files[p].source.text, changes[p]) for p in files if p in changes}
        after = await desk.with_texts(view.path, texts)
        before = {(one.code, one.message.replace(old, new)) for one in view.problems}
        for problem in after.problems:
            if (problem.code, problem.message) not in before and not problem.warning:
                raise Refused(f'it cannot be called "{new}": {problem.message}')
        if any(text != new for edits in changes.values() for _, _, text in edits):
            # An import got an alias: its word goes on to mean the file.
            continue
        moved = {
            _moved(p, changes): {_moved(d, changes) for d in m} for p, m in view.names.uses.items()
        }
        if moved != {p: set(m) for p, m in after.names.uses.items()}:
            raise Refused(f'it cannot be called "{new}": that name means something here already')


def _moved(place: Place, changes: Mapping[Path, Edits]) -> Place:
    """Where a name is after the changes."""
    path, start, end = place
    ahead = 0
    longer = 0
    for begin, stop, text in changes.get(path, ()):
        if stop <= start:
            ahead += len(text) - (stop - begin)
        elif begin == start and stop == end:
            longer = len(text) - (stop - begin)
    return path, start + ahead, end + ahead + longer
