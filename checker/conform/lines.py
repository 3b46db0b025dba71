"""Recordings as files have them: JSON lines, plain or compressed, become histories of events.

What is read is untrusted: lines are limited in length, values in depth, and whatever is wrong is a
problem with its file and line. It does not know what an event means to the model.
"""

from __future__ import annotations

import gzip
import json
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias, cast

from fencepost.checker.conform.binding import Called, Name, Read, names_in
from fencepost.checker.conform.fields import FieldReader, Unread, is_text, quoted
from fencepost.checker.printing.json_values import Json
from fencepost.checker.resources import without_collection
from fencepost.spec.core.recording import Recording
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, listing, suggestion

MOST_NESTED = 64
"""How deep the values of a line may be nested."""
MOST_SHARED = 10_000
"""How many orders of lines are kept to be shared."""
MOST_BYTES = 1 << 20
"""A line is at most this long, without its end."""
MOST_PROBLEMS = 20
"""The problems of a file that are listed; the others are counted."""

Key: TypeAlias = Name | None


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a kind of event, and those of its fields, as lines have them."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """An event: its number among the events of the recording, what its fields say, and how a report
    writes it: ``heading``, and what the line has for the fields (``said``).

    ``beyond`` are the fields whose values lie outside their types, with the reason; such an event
    fits no step. One that is ``misplaced`` cannot come there; the text says why.
    """

    event: int
    fields: tuple[Read, ...]
    heading: Heading
    said: tuple[Json, ...]
    beyond: tuple[str, ...] = ()
    misplaced: str = ""

    @property
    def text(self) -> str:
        """How a report writes it."""
        fields = zip(self.heading.fields, self.said, strict=True)
        parts = [f"{name}: {_short(said)}" for name, said in fields]
        why = f", which is misplaced: {self.misplaced}" if self.misplaced else ""
        return f"{self.heading.name}({', '.join(parts)}){why}"


@dataclass(slots=True)
class History:
    """The events of one key, source by source; ``unread``: how many of its lines could not be read.

    Of a source the first events are kept, as many as a search may come to; of the others their
    number and (``called``) the names in them.
    """

    key: Key
    sources: dict[tuple[int, str], list[Line]] = field(
        default_factory=dict[tuple[int, str], "list[Line]"]
    )
    left: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    called: set[Called] = field(default_factory=set[Called])
    unread: int = 0
    last: dict[tuple[Standing, tuple[int, str]], int] = field(
        default_factory=dict[tuple["Standing", tuple[int, str]], int]
    )

    def add(self, located: Located, most: int | None) -> None:
        """Adds an event; of a source at most ``most`` are kept."""
        line, source = located.line, located.source
        if line is None:
            self.unread += 1
            return
        if located.standings:
            line = self._placed(line, source, located.standings)
        lines = self.sources.setdefault(source, [])
        if most is None or len(lines) < most:
            lines.append(line)
        else:
            self.left[source] = self.left.get(source, 0) + 1
            self.called.update(one for read in line.fields for one in names_in(read))

    def _placed(
        self, line: Line, source: tuple[int, str], standings: Sequence[tuple[Standing, int]]
    ) -> Line:
        """An event behind all that its source has so far, and that it is misplaced there."""
        for standing, value in standings:
            before = self.last.get((standing, source))
            self.last[standing, source] = value
            if before is not None and value < before + standing.step:
                line = replace(line, misplaced=f"{standing.name} {value} after {before}")
        return line

    @property
    def total(self) -> int:
        """How many events there are."""
        return sum(map(len, self.sources.values())) + sum(self.left.values())

    def ordered(self) -> list[tuple[int, str, tuple[Line, ...], int]]:
        """The sources, in the order of the recording and their names: which one, its name, the
        events that are kept, and how many there are.
        """
        return [
            (n, name, tuple(lines), len(lines) + self.left.get((n, name), 0))
            for (n, name), lines in sorted(self.sources.items())
        ]


@dataclass(slots=True)
class Histories:
    """What was read, by keys in ascending order, and what was wrong. ``strays`` is the number of
    events that belong to no history.
    """

    histories: list[History]
    problems: list[Problem]
    strays: int
    events: int


class Standing(NamedTuple):
    """An order of lines: its field, what a value exceeds the one before by at least, and what such
    lines have in common.
    """

    name: str
    step: int
    by: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """An event, and what its line says of the history that it belongs to: its key, and the values
    of the fields ``by`` of the recording. ``line`` is None where the event cannot be read.
    ``standings`` are the orders that it stands in, with its values.
    """

    key: Key
    by: tuple[Key, ...]
    source: tuple[int, str]
    line: Line | None
    standings: tuple[tuple[Standing, int], ...] = ()


def read(recording: Recording, paths: Sequence[Path], most: int | None = None) -> Histories:
    """The histories in some files; of each source of one at most ``most`` events are kept."""
    problems: list[Problem] = []
    located: list[Located] = []
    numbers = array("q")
    ends: list[int] = []
    with without_collection():
        for path in paths:
            for number, one in _of_file(recording, path, problems):
                numbers.append(number)
                located.append(one)
            ends.append(len(located))

        def place(index: int) -> str:
            return f"{paths[bisect_right(ends, index)]}:{numbers[index]}"

        return _split(recording, located, place, problems, most)


def _split(
    recording: Recording,
    located: Sequence[Located],
    place: Callable[[int], str],
    problems: list[Problem],
    most: int | None,
) -> Histories:
    found: dict[Key, History] = {}
    owners: list[dict[Key, tuple[Key, Key]]] = [{} for _ in recording.by]
    disputed: dict[tuple[int, Key], int] = {}
    for one in located:
        key = one.key
        if key is not None:
            for owner, said in zip(owners, one.by, strict=True):
                known = owner.get(said)
                if said is None or (known is not None and key == known[0] == known[1]):
                    continue
                keys = (*(known or ()), key)
                owner[said] = min(keys, key=by_key), max(keys, key=by_key)
    strays = events = 0
    for index, one in enumerate(located):
        key = one.key
        if key is None and recording.key is not None:
            named = [
                (n, said, known)
                for n, said in enumerate(one.by)
                if (known := owners[n].get(said)) is not None
            ]
            key = next((least for _, _, (least, most) in named if least == most), None)
            if key is None:
                for n, said, _ in named[:1]:
                    disputed.setdefault((n, said), index)
                strays += 1
                continue
        events += one.line is not None
        history = found.get(key)
        if history is None:
            history = found[key] = History(key)
        history.add(one, most)
    histories = sorted(found.values(), key=lambda one: by_key(one.key))
    for n, said in sorted(disputed, key=lambda one: (one[0], by_key(one[1]))):
        where = place(disputed[n, said])
        problems.append(ambiguous(where, recording.by[n], said, owners[n][said]))
    return Histories(histories, problems, strays, events)


def by_key(key: Key) -> tuple[bool, Any]:
    """The order of keys: numbers, then texts."""
    return isinstance(key, str), 0 if key is None else key


def ambiguous(place: str, name: str, said: Key, keys: Sequence[Key]) -> Problem:
    """A value of a field that several histories claim, the least and the greatest of them; in the
    line at ``place`` first it is all that names a history.
    """
    shown = " and ".join(sorted(str(key) for key in keys))
    what = f"{place}: {name} {json.dumps(said)} belongs to the histories {shown}"
    return Problem("F047", None, f"{what}: lines that name nothing else belong to neither")


def unreadable(place: str, why: str) -> Problem:
    """A line, or a file, that cannot be read."""
    return Problem("F047", None, f"{place}: {why}")


def not_listed(path: str, more: int) -> Problem:
    """Of many problems of a file, those that are not listed."""
    return Problem("F047", None, f"{path}: {more:,} more lines cannot be read")


TOO_LONG = f"the line is longer than {MOST_BYTES:,} bytes"
TOO_EARLY = "the compressed file ends too early; what stands before is judged"


# ---------------------------------------------------------------- files


def _of_file(
    recording: Recording, path: Path, problems: list[Problem]
) -> Iterator[tuple[int, Located]]:
    reader = Reader(recording)
    wrong = 0

    def report(place: str, why: str) -> None:
        nonlocal wrong
        wrong += 1
        if wrong <= MOST_PROBLEMS:
            problems.append(unreadable(place, why))

    number = 0
    try:
        with inputs.opened(path, inputs.Kind.RECORDING) as raw, _unpacked(raw) as file:
            for number, data in enumerate(_lines(file), start=1):
                if data is not None and not data.strip():
                    continue
                if data is None:
                    report(f"{path}:{number}", TOO_LONG)
                    continue
                one, why = reader.located(data)
                if why:
                    report(f"{path}:{number}", why)
                if one is not None:
                    yield number, one
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        broken = f"{error}; what stands before is judged"
        report(f"{path}:{number + 1}", TOO_EARLY if isinstance(error, EOFError) else broken)
    except OSError as error:
        report(str(path), error.strerror or str(error))
    if wrong > MOST_PROBLEMS:
        problems.append(not_listed(str(path), wrong - MOST_PROBLEMS))


def _unpacked(file: BufferedReader) -> IO[bytes]:
    """What a file holds, decompressed where it is compressed."""
    if file.peek(2).startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    return file


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long, of which no more is kept."""
    while data := file.readline(MOST_BYTES + 1):
        if len(data) <= MOST_BYTES or data.endswith(b"\n"):
            yield data
            continue
        while data and not data.endswith(b"\n"):
            data = file.readline(MOST_BYTES)
        yield None


# ---------------------------------------------------------------- lines


class Reader:
    """Reads lines by what a recording declares."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._known: list[dict[str, int]] = [
            {event.said: n for n, event in enumerate(recording.events) if number in event.sources}
            for number in range(len(recording.sources))
        ]
        self._headings = [
            Heading(event.said, tuple(one.name for one in event.fields))
            for event in recording.events
        ]
        self._fields = [
            [FieldReader(event, one) for one in event.fields] for event in recording.events
        ]
        self._sources: dict[str, int | None] = {}
        self._shared: dict[Standing, Standing] = {}

    def located(self, data: bytes) -> tuple[Located | None, str]:
        """The event of a line, and why it cannot be read ("": it can)."""
        try:
            said = _parsed(data)
        except Unread as why:
            return None, str(why)
        key: Key = None
        by: tuple[Key, ...] = ()
        try:
            key, by = self._belongs(said)
            return Located(key, by, *self.event(said), self._standings(said)), ""
        except Unread as why:
            known = key is not None or any(one is not None for one in by)
            lost = Located(key, by, (0, ""), None) if known or self._single else None
            return lost, str(why)

    def again(
        self,
        source: tuple[int, str],
        event: int,
        said: tuple[Json, ...],
        standings: tuple[tuple[Standing, int], ...],
    ) -> Located:
        """An event that has been read before, of what its line has ``said`` for its fields; not to
        which history it belongs.
        """
        return Located(None, (), source, self._made(event, said, None), standings)

    def event(self, said: dict[str, Json]) -> tuple[tuple[int, str], Line]:
        """The source of one line, and its event. Raises `Unread`."""
        source = self._source(said)
        number = self._event(said, source[0])
        given = tuple([said.get(name) for name in self._headings[number].fields])
        return source, self._made(number, given, said)

    @property
    def _single(self) -> bool:
        return self.recording.key is None

    def _belongs(self, said: dict[str, Json]) -> tuple[Key, tuple[Key, ...]]:
        if self.recording.key is None:
            return None, ()
        by = tuple([_key(said, name) for name in self.recording.by])
        key = _key(said, self.recording.key)
        if key is None and not any(one is not None for one in by):
            fields = listing([f'"{name}"' for name in (self.recording.key, *self.recording.by)])
            raise Unread(f"no field {fields} says to which history the event belongs")
        return key, by

    def _standings(self, said: dict[str, Json]) -> tuple[tuple[Standing, int], ...]:
        if not self.recording.orders:
            return ()
        found: list[tuple[Standing, int]] = []
        for one in self.recording.orders:
            value = said.get(one.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise Unread(f'the field "{one.name}" orders lines, so it is a whole number')
            by = tuple(_key(said, name, "says which lines are in order") for name in one.by)
            standing = Standing(one.name, int(one.strict), by)
            # One object for all lines that have it: they are pickled together.
            if len(self._shared) >= MOST_SHARED:
                self._shared.clear()
            found.append((self._shared.setdefault(standing, standing), value))
        return tuple(found)

    def _source(self, said: dict[str, Json]) -> tuple[int, str]:
        sources = self.recording.sources
        name = said.get("source")
        if name is None and len(sources) == 1:
            return 0, sources[0].name
        if not isinstance(name, str) or not is_text(name):
            raise Unread('there is no field "source" with the name of a source')
        if name not in self._sources:
            fitting = (
                n
                for n, source in enumerate(sources)
                if any(fnmatchcase(name, pattern) for pattern in source.patterns)
            )
            self._sources[name] = next(fitting, None)
        number = self._sources[name]
        if number is None:
            patterns = [pattern for source in sources for pattern in source.patterns]
            hint = suggestion(name, patterns) or f"; there is {listing(patterns, 'and')}"
            raise Unread(f"{quoted(name)} is no source of the recording{hint}")
        return number, name

    def _made(self, number: int, given: tuple[Json, ...], said: dict[str, Json] | None) -> Line:
        """An event with what its line has for its fields, out of all that this has, if that is
        known.
        """
        heading, beyond = self._headings[number], list[str]()
        fields: list[Read] = []
        for one, value in zip(self._fields[number], given, strict=True):
            known = one.known(value)
            if known is None:
                if said is None:
                    said = dict(zip(heading.fields, given, strict=True))
                known = one.read(said, beyond)
            fields.append(known)
        return Line(number, tuple(fields), heading, given, tuple(beyond))

    def _event(self, said: dict[str, Json], source: int) -> int:
        known, field_ = self._known[source], self.recording.event_field
        name = said.get(field_)
        where = self.recording.sources[source].name
        if name is None and field_ not in said:
            if len(known) != 1:
                has = listing([*known], "and") or "none"
                raise Unread(f'no field "{field_}" names the event; {where} has {has}')
            return next(iter(known.values()))
        if not isinstance(name, str) or name not in known:
            shown = quoted(name) if isinstance(name, str) else "this"
            hint = suggestion(name, [*known]) if isinstance(name, str) else ""
            hint = hint or f"; it has {listing([*known], 'and') or 'none'}"
            raise Unread(f"{shown} is no event from {where}{hint}")
        return known[name]


def _parsed(data: bytes) -> dict[str, Json]:
    try:
        encoding = "utf-8" if data.startswith(b'{"') else json.detect_encoding(data)
        said = _decoded(data.decode(encoding, "surrogatepass"))
    except UnicodeDecodeError:
        raise Unread("the line is no UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise Unread(f"the line is no JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise Unread("the values of the line are nested too deep") from None
    except ValueError as error:
        # A number with more digits than Python reads, or a constant that JSON lacks.
        raise Unread(f"the line is no JSON: {str(error).partition(';')[0]}") from None
    if not isinstance(said, dict):
        raise Unread("the line is no JSON object")
    if data.count(b"[") + data.count(b"{") > MOST_NESTED and _is_deeper(said, MOST_NESTED):
        raise Unread("the values of the line are nested too deep")
    return said


def _decoded(text: str) -> Json:
    """What a text says. `json.JSONDecoder.decode` looks for spaces first, which takes as long."""
    try:
        said, end = _DECODER.raw_decode(text)
    except ValueError:
        return cast("Json", _DECODER.decode(text))
    return cast("Json", said if text[end:] in ("", "\n") else _DECODER.decode(text))


def _is_deeper(said: Json, most: int) -> bool:
    inner: list[Json] = (
        [*said.values()] if isinstance(said, dict) else said if isinstance(said, list) else []
    )
    return bool(inner) and (most == 0 or any(_is_deeper(one, most - 1) for one in inner))


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object with these members, whose names must differ."""
    decoded = dict(members)
    if len(decoded) != len(members):
        names: set[str] = set()
        for name, _ in members:
            if name in names:
                raise Unread(f"the line has the field {quoted(name)} twice in one object")
            names.add(name)
    return decoded


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _key(said: dict[str, Json], name: str, what: str = "names a history") -> Key:
    value = said.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or not is_text(value):
        raise Unread(f'the field "{name}" {what}, so it is a text or a number')
    return value


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
