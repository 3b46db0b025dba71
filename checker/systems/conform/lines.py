"""Reads recordings from files: JSON lines, plain or compressed, become histories of events.

The input is untrusted. The length of lines and the depth of values are bounded, and each defect is
reported with its file and line.
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

from fencepost.checker.printing.json_values import Json
from fencepost.checker.resources import without_collection
from fencepost.checker.systems.conform.binding import Name, NameRead, Read, names_in
from fencepost.checker.systems.conform.fields import FieldReader, Unread, is_text, quoted
from fencepost.spec.core.recording import Recording
from fencepost.spec.records import dataclass, replace
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, listing, suggestion

MAX_NESTED = 64
"""Maximum nesting depth of the values in a line."""
MAX_SHARED = 10_000
"""Maximum number of standings that are cached for sharing."""
MAX_BYTES = 1 << 20
"""Maximum length of a line, without its end."""
MAX_PROBLEMS = 20
"""Maximum number of problems listed for each file. Further problems are only counted."""

Key: TypeAlias = Name | None


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a kind of event and the names of its fields, as written in the recording."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """An event in a recording.

    ``event`` is the number of its kind in the recording, and ``fields`` contains the values of its
    fields. ``heading`` and ``said``, the raw values of the fields, are used to print the event in a
    report.

    ``beyond`` lists the fields with values outside their types, with reasons; an event with such
    fields fits no step. If the event violates an order, ``misplaced`` is a text that says how.
    ``file`` and ``number`` locate the line; ``file`` is empty if that is unknown. ``orders`` has
    the values of the fields that order lines.
    """

    event: int
    fields: tuple[Read, ...]
    heading: Heading
    said: tuple[Json, ...]
    beyond: tuple[str, ...] = ()
    misplaced: str = ""
    file: str = field(default="", compare=False)
    number: int = field(default=0, compare=False)
    orders: tuple[tuple[Standing, int], ...] = field(default=(), compare=False)

    @property
    def where(self) -> str:
        """The file and the line, and the values of the fields that order lines."""
        orders = [f"{standing.name} {value}" for standing, value in self.orders]
        return ", ".join([f"{self.file}:{self.number}", *orders]) if self.file else ""

    @property
    def text(self) -> str:
        """The event as printed in a report."""
        fields = zip(self.heading.fields, self.said, strict=True)
        parts = [f"{name}: {_short(value)}" for name, value in fields]
        why = f", which is out of order: {self.misplaced}" if self.misplaced else ""
        return f"{self.heading.name}({', '.join(parts)}){why}"


@dataclass(slots=True)
class History:
    """The events with one key, grouped by source. ``unread`` counts the unreadable lines.

    For each source, only the first events are kept, as many as a search can reach. The other events
    are counted in ``left``, and the names in them are collected in ``called``.
    """

    key: Key
    sources: dict[tuple[int, str], list[Line]] = field(
        default_factory=dict[tuple[int, str], "list[Line]"]
    )
    left: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    called: set[NameRead] = field(default_factory=set[NameRead])
    unread: int = 0
    last: dict[tuple[Standing, tuple[int, str]], int] = field(
        default_factory=dict[tuple["Standing", tuple[int, str]], int]
    )

    def add(self, located: LocatedEvent, limit: int | None) -> None:
        """Adds an event. The event is kept unless ``limit`` events of its source have already been
        kept.
        """
        line, source = located.line, located.source
        if line is None:
            self.unread += 1
            return
        if located.standings:
            line = self._placed(line, source, located.standings)
        lines = self.sources.setdefault(source, [])
        if limit is None or len(lines) < limit:
            lines.append(line)
        else:
            self.left[source] = self.left.get(source, 0) + 1
            self.called.update(name for read in line.fields for name in names_in(read))

    def _placed(
        self, line: Line, source: tuple[int, str], standings: Sequence[tuple[Standing, int]]
    ) -> Line:
        """Returns the event, marked as misplaced if it violates an order among the events of its
        source so far.
        """
        for standing, value in standings:
            before = self.last.get((standing, source))
            self.last[standing, source] = value
            if before is not None and value < before + standing.step:
                line = replace(line, misplaced=f"{standing.name} {value} after {before}")
        return line

    @property
    def total(self) -> int:
        """The total number of events."""
        return sum(map(len, self.sources.values())) + sum(self.left.values())

    def ordered(self) -> list[tuple[int, str, tuple[Line, ...], int]]:
        """Returns the sources in the order of the recording and of their names. Each result
        contains the number of the source, its name, the kept events, and the number of all events.
        """
        return [
            (n, name, tuple(lines), len(lines) + self.left.get((n, name), 0))
            for (n, name), lines in sorted(self.sources.items())
        ]


@dataclass(slots=True)
class Histories:
    """The histories in ascending order of keys, and the problems found. ``strays`` counts the
    events that belong to no history.
    """

    histories: list[History]
    problems: list[Problem]
    strays: int
    events: int


class Standing(NamedTuple):
    """An order of lines: the field that defines it, the minimum increase of the value, and the
    values that identify the lines to which this order applies.
    """

    name: str
    step: int
    by: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class LocatedEvent:
    """An event, with the information in its line about the history that it belongs to: the key, and
    the values of the ``by`` fields of the recording. ``line`` is None if the event is unreadable.
    ``standings`` contains the orders that the line takes part in, each with the value of the line.
    """

    key: Key
    by: tuple[Key, ...]
    source: tuple[int, str]
    line: Line | None
    standings: tuple[tuple[Standing, int], ...] = ()


def read(recording: Recording, paths: Sequence[Path], limit: int | None = None) -> Histories:
    """Reads the histories in some files. For each source of a history, at most ``limit`` events are
    kept.
    """
    problems: list[Problem] = []
    located: list[LocatedEvent] = []
    numbers = array("q")
    ends: list[int] = []
    with without_collection():
        for path in paths:
            for number, event in _of_file(recording, path, problems):
                numbers.append(number)
                located.append(event)
            ends.append(len(located))

        def place(index: int) -> str:
            return f"{paths[bisect_right(ends, index)]}:{numbers[index]}"

        return _split(recording, located, place, problems, limit)


def _split(
    recording: Recording,
    located: Sequence[LocatedEvent],
    location: Callable[[int], str],
    problems: list[Problem],
    limit: int | None,
) -> Histories:
    histories_by_key: dict[Key, History] = {}
    owners: list[dict[Key, tuple[Key, Key]]] = [{} for _ in recording.by]
    disputed: dict[tuple[int, Key], int] = {}
    for event in located:
        key = event.key
        if key is not None:
            for owner, value in zip(owners, event.by, strict=True):
                claims = owner.get(value)
                if value is None or (claims is not None and key == claims[0] == claims[1]):
                    continue
                keys = (*(claims or ()), key)
                owner[value] = min(keys, key=by_key), max(keys, key=by_key)
    strays = events = 0
    for index, event in enumerate(located):
        key = event.key
        if key is None and recording.key is not None:
            named = [
                (n, value, claims)
                for n, value in enumerate(event.by)
                if (claims := owners[n].get(value)) is not None
            ]
            key = next((least for _, _, (least, limit) in named if least == limit), None)
            if key is None:
                for n, value, _ in named[:1]:
                    disputed.setdefault((n, value), index)
                strays += 1
                continue
        events += event.line is not None
        history = histories_by_key.get(key)
        if history is None:
            history = histories_by_key[key] = History(key)
        history.add(event, limit)
    histories = sorted(histories_by_key.values(), key=lambda event: by_key(event.key))
    for n, value in sorted(disputed, key=lambda event: (event[0], by_key(event[1]))):
        where = location(disputed[n, value])
        problems.append(ambiguous(where, recording.by[n], value, owners[n][value]))
    return Histories(histories, problems, strays, events)


def by_key(key: Key) -> tuple[bool, Any]:
    """Returns a sort key that puts numbers before texts."""
    return isinstance(key, str), 0 if key is None else key


def ambiguous(place: str, name: str, said: Key, keys: Sequence[Key]) -> Problem:
    """Returns the problem of a value of a ``by`` field that belongs to several histories.
    ``keys`` are the least and the greatest key of these histories. The line at ``place`` is the
    first one without any other hint about its history.
    """
    shown = " and ".join(sorted(str(key) for key in keys))
    claim = f"{place}: {name} {json.dumps(said)} belongs to the histories {shown}"
    return Problem("F047", None, f"{claim}: lines without another hint belong to neither")


def unreadable(place: str, why: str) -> Problem:
    """Returns the problem of a line or file that cannot be read."""
    return Problem("F047", None, f"{place}: {why}")


def not_listed(path: str, more: int) -> Problem:
    """Returns the note on further problems of a file that are not listed."""
    return Problem("F047", None, f"{path}: {more:,} more lines cannot be read")


TOO_LONG = f"the line is longer than {MAX_BYTES:,} bytes"
TOO_EARLY = "the compressed file ends too early; the part before is judged"


# ---------------------------------------------------------------- files


def _of_file(
    recording: Recording, path: Path, problems: list[Problem]
) -> Iterator[tuple[int, LocatedEvent]]:
    reader = Reader(recording, str(path))
    wrong = 0

    def report(place: str, why: str) -> None:
        nonlocal wrong
        wrong += 1
        if wrong <= MAX_PROBLEMS:
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
                event, why = reader.located(data, number)
                if why:
                    report(f"{path}:{number}", why)
                if event is not None:
                    yield number, event
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        broken = f"{error}; the part before is judged"
        report(f"{path}:{number + 1}", TOO_EARLY if isinstance(error, EOFError) else broken)
    except OSError as error:
        report(str(path), error.strerror or str(error))
    if wrong > MAX_PROBLEMS:
        problems.append(not_listed(str(path), wrong - MAX_PROBLEMS))


def _unpacked(file: BufferedReader) -> IO[bytes]:
    """Returns the content of a file, decompressed if the file is compressed."""
    if file.peek(2).startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    return file


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yields the lines of a file, with None in place of a line that is too long."""
    while data := file.readline(MAX_BYTES + 1):
        if len(data) <= MAX_BYTES or data.endswith(b"\n"):
            yield data
            continue
        while data and not data.endswith(b"\n"):
            data = file.readline(MAX_BYTES)
        yield None


# ---------------------------------------------------------------- lines


class Reader:
    """Reads lines according to the declaration of a recording."""

    def __init__(self, recording: Recording, file: str = "") -> None:
        self.recording = recording
        self._file = file
        self._known: list[dict[str, int]] = [
            {event.said: n for n, event in enumerate(recording.events) if number in event.sources}
            for number in range(len(recording.sources))
        ]
        self._headings = [
            Heading(event.said, tuple(declared.name for declared in event.fields))
            for event in recording.events
        ]
        self._fields = [
            [FieldReader(event, declared) for declared in event.fields]
            for event in recording.events
        ]
        self._sources: dict[str, int | None] = {}
        self._shared: dict[Standing, Standing] = {}

    def located(self, data: bytes, number: int = 0) -> tuple[LocatedEvent | None, str]:
        """Returns the event of a line and the reason why it cannot be read, or an empty string.
        ``number`` is the number of the line in its file.
        """
        try:
            record = _parsed(data)
        except Unread as why:
            return None, str(why)
        key: Key = None
        by: tuple[Key, ...] = ()
        try:
            key, by = self._belongs(record)
            standings = self._standings(record)
            return LocatedEvent(key, by, *self.event(record, number, standings), standings), ""
        except Unread as why:
            has_history = key is not None or any(value is not None for value in by)
            lost = LocatedEvent(key, by, (0, ""), None) if has_history or self._single else None
            return lost, str(why)

    def again(
        self,
        source: tuple[int, str],
        event: int,
        values: tuple[Json, ...],
        standings: tuple[tuple[Standing, int], ...],
    ) -> LocatedEvent:
        """Returns an event that was read before, given the raw values of its fields. The history of
        the event is left open.
        """
        return LocatedEvent(None, (), source, self._made(event, values, None), standings)

    def event(
        self,
        record: dict[str, Json],
        number: int = 0,
        standings: tuple[tuple[Standing, int], ...] = (),
    ) -> tuple[tuple[int, str], Line]:
        """Returns the source and the event of line ``number``. Raises `Unread`."""
        source = self._source(record)
        event = self._event(record, source[0])
        values = tuple([record.get(name) for name in self._headings[event].fields])
        return source, self._made(event, values, record, number, standings)

    @property
    def _single(self) -> bool:
        return self.recording.key is None

    def _belongs(self, record: dict[str, Json]) -> tuple[Key, tuple[Key, ...]]:
        if self.recording.key is None:
            return None, ()
        by = tuple([_key(record, name) for name in self.recording.by])
        key = _key(record, self.recording.key)
        if key is None and not any(value is not None for value in by):
            fields = listing([f'"{name}"' for name in (self.recording.key, *self.recording.by)])
            raise Unread(f"no field {fields} tells which history the event belongs to")
        return key, by

    def _standings(self, record: dict[str, Json]) -> tuple[tuple[Standing, int], ...]:
        if not self.recording.orders:
            return ()
        standings: list[tuple[Standing, int]] = []
        for order in self.recording.orders:
            value = record.get(order.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise Unread(f'the field "{order.name}" orders lines, so it is a whole number')
            by = tuple(_key(record, name, "says which lines are in order") for name in order.by)
            standing = Standing(order.name, int(order.strict), by)
            # Lines with equal standings share one object, which makes pickles of them compact.
            if len(self._shared) >= MAX_SHARED:
                self._shared.clear()
            standings.append((self._shared.setdefault(standing, standing), value))
        return tuple(standings)

    def _source(self, record: dict[str, Json]) -> tuple[int, str]:
        sources = self.recording.sources
        name = record.get("source")
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
            raise Unread(f"{quoted(name)} is not a source of the recording{hint}")
        return number, name

    def _made(
        self,
        event: int,
        values: tuple[Json, ...],
        record: dict[str, Json] | None,
        number: int = 0,
        standings: tuple[tuple[Standing, int], ...] = (),
    ) -> Line:
        """Builds an event from the raw values of its fields, and from the whole record if that is
        available.
        """
        heading, beyond = self._headings[event], list[str]()
        fields: list[Read] = []
        for reader, value in zip(self._fields[event], values, strict=True):
            value_read = reader.known(value)
            if value_read is None:
                if record is None:
                    record = dict(zip(heading.fields, values, strict=True))
                value_read = reader.read(record, beyond)
            fields.append(value_read)
        file = self._file
        return Line(
            event, tuple(fields), heading, values, tuple(beyond), "", file, number, standings
        )

    def _event(self, record: dict[str, Json], source: int) -> int:
        events_of_source, field_ = self._known[source], self.recording.event_field
        name = record.get(field_)
        where = self.recording.sources[source].name
        if name is None and field_ not in record:
            if len(events_of_source) != 1:
                has = listing([*events_of_source], "and") or "none"
                raise Unread(f'no field "{field_}" names the event; {where} has {has}')
            return next(iter(events_of_source.values()))
        if not isinstance(name, str) or name not in events_of_source:
            shown = quoted(name) if isinstance(name, str) else "this"
            hint = suggestion(name, [*events_of_source]) if isinstance(name, str) else ""
            hint = hint or f"; it has {listing([*events_of_source], 'and') or 'none'}"
            raise Unread(f"{shown} is not an event from {where}{hint}")
        return events_of_source[name]


def _parsed(data: bytes) -> dict[str, Json]:
    try:
        encoding = "utf-8" if data.startswith(b'{"') else json.detect_encoding(data)
        record = _decoded(data.decode(encoding, "surrogatepass"))
    except UnicodeDecodeError:
        raise Unread("the line is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise Unread(f"the line is not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise Unread("the values of the line are nested too deep") from None
    except ValueError as error:
        # The number has more digits than Python reads, or a constant is not valid JSON.
        raise Unread(f"the line is not JSON: {str(error).partition(';')[0]}") from None
    if not isinstance(record, dict):
        raise Unread("the line is not a JSON object")
    if data.count(b"[") + data.count(b"{") > MAX_NESTED and _is_deeper(record, MAX_NESTED):
        raise Unread("the values of the line are nested too deep")
    return record


def _decoded(text: str) -> Json:
    """Decodes a text. `json.JSONDecoder.decode` would search for spaces first, which takes as long
    as the decoding itself.
    """
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return cast("Json", _DECODER.decode(text))
    return cast("Json", value if text[end:] in ("", "\n") else _DECODER.decode(text))


def _is_deeper(value: Json, depth: int) -> bool:
    inner: list[Json] = (
        [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    )
    return bool(inner) and (depth == 0 or any(_is_deeper(item, depth - 1) for item in inner))


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    """Returns an object with these members. Their names must be distinct."""
    decoded = dict(members)
    if len(decoded) != len(members):
        names: set[str] = set()
        for name, _ in members:
            if name in names:
                raise Unread(f"the line has the field {quoted(name)} twice in one object")
            names.add(name)
    return decoded


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _key(record: dict[str, Json], name: str, role: str = "names a history") -> Key:
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or not is_text(value):
        raise Unread(f'the field "{name}" {role}, so it is a text or a number')
    return value


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
