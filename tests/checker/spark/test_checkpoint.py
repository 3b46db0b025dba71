"""Checkpoints that were tampered with are refused, and nothing that they contain is executed."""

from __future__ import annotations

import hashlib
import json
import pickle
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.agreement import loaded
from tests.support.command import Ran, run
from tests.support.saved_searches import (
    assert_refused,
    closed,
    closed_before_signatures,
    figures,
)
from tests.support.spread import LENGTH, here

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine.build import Code, Compilation
from fencepost.checker.spark import records, search
from fencepost.checker.spark import search as saved_searches
from fencepost.checker.spark.checkpoint import BEGINNING, CHECKSUM, DIGESTS
from fencepost.checker.spark.records import Kind
from fencepost.checker.user_key import Key, Purpose
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Problem, Rejected

SPEC = """
enum Colour: Red, Green, Blue
record Pair: left: 0..2, right: Colour?
union Message: Ping, Move(by: 0..4)
var n: 0..6 = 0
var path: seq[0..4, 3] = []
var seen: set[Pair, 2] = {}
var sent: bag[Message, 2] = []
var chosen: set[0..4] = {}
var ages: map[Colour, 0..4] = [0 for c in Colour]
action up(k in 0..1):
    require n < 6
    n += 1
    path = [k]
    seen = {Pair(left: k, right: Green)}
    sent = [Move(by: k)]
    chosen.add(k)
    ages[Blue] = k
terminal: n == 6
constraint Few: n < 3 or path[0] == 0
"""
CHECK = ("check", "spec.fence", "--engine", "spark", "--partitions", "2", "--no-progress")


class Payload:
    """Creates a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


@contextmanager
def cluster() -> Generator[None]:
    """Runs the engine in this process, where executors take over after the first level and every
    level is saved.
    """
    codes: dict[str, Code] = {}

    def code(text: str) -> Code:
        if text not in codes:
            codes[text] = Compilation(text).quick()
        return codes[text]

    every_level = {"spark.fencepost.checkpointSeconds": "0"}
    with here(code, settings=every_level), mock.patch.object(search, "THRESHOLD_BYTES", 0):
        yield


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the spec and a checkpoint of its first levels."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "spec.fence").write_text(SPEC, encoding="utf-8")
    with cluster():
        ran = run(*CHECK, "--checkpoint", "saved", "--depth", "4", folder=folder)
    assert ran.code == 3, ran
    assert len([*folder.rglob("manifest-*")]) > 2
    return folder


def resumed(folder: Path) -> Ran:
    with cluster():
        return run(*CHECK, "--resume", "saved", folder=folder)


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    """A copy of the saved folder, for a test to change."""
    for path in saved.rglob("*"):
        if path.is_file():
            target = tmp_path / path.relative_to(saved)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    # Adds a file left by a killed run, which is removed only if the checkpoint can be used.
    (left,) = {path.parent for path in tmp_path.rglob("manifest-*")}
    (left / "states-000000-left").mkdir()
    (left / "states-000000-left" / "part-00000").write_bytes(b"left")
    return tmp_path


def of_the_spec() -> Layout:
    read = loaded(SPEC)
    return Layout(program.build(read, read.checks[0]))


def test_an_unmodified_checkpoint(copy: Path) -> None:
    ran = resumed(copy)
    assert (ran.code, ran.stderr) == (0, "")
    assert not [*copy.rglob("states-000000-left")]
    with cluster():
        assert figures(run(*CHECK, folder=copy)) == figures(ran)


# ---------------------------------------------------------------- records


def part(folder: Path) -> Path:
    """Returns the file with the states of the last level."""
    return max(
        (p for p in folder.rglob("part-*") if p.stat().st_size > len(BEGINNING)),
        key=lambda p: p.parent.name,
    )


def add(folder: Path, record: bytes) -> None:
    """Appends a record to the file of the last level, with its digest and a signed manifest."""
    path = part(folder)
    with path.open("ab") as file:
        file.write(LENGTH.pack(len(record)) + record)
    digests = path.with_name(DIGESTS)
    digests.write_bytes(digests.read_bytes() + hashlib.sha256(record).digest())

    def fit(notes: dict[str, Any]) -> None:
        for row in notes["folders"]:
            if row[0] == path.parent.name:
                row[1] = hashlib.sha256(digests.read_bytes()).hexdigest()

    change(manifest(folder), fit)


@pytest.mark.parametrize("kind", [*Kind, 0, 6, 2**32 - 1])
@pytest.mark.parametrize("padded", [False, True])
def test_a_pickle_in_a_record_of_any_kind(kind: int, padded: bool, copy: Path) -> None:
    touched = copy.parent / f"{copy.name}-made"
    payload = pickle.dumps(Payload(touched))
    if padded:
        payload += bytes(-len(payload) % 64)
    add(copy, records.HEAD.pack(kind, 5, 0) + payload)
    assert_refused(resumed, copy, "a record of the checkpoint ")
    assert not touched.exists()
    pickle.loads(payload)
    assert touched.exists(), "the payload would have made the file"


def test_an_unknown_head(copy: Path) -> None:
    add(copy, records.HEAD.pack(Kind.STATES, 5, 1))
    assert_refused(resumed, copy, "is of kind 1, and holds no states")


@pytest.mark.parametrize("record", [b"", b"\1\0", records.HEAD.pack(1, 5, 0) + bytes(7)])
def test_a_truncated_record(record: bytes, copy: Path) -> None:
    add(copy, record)
    assert_refused(resumed, copy, "a record of the checkpoint ")


def test_a_file_of_other_classes(copy: Path) -> None:
    """Hadoop instantiates the classes named at the beginning of a file."""
    path = part(copy)
    other = path.read_bytes().replace(b"io.BytesWritable", b"io.ObjectWritabl", 1)
    path.write_bytes(other)
    assert_refused(resumed, copy, "is not a file of states in this format")


@pytest.mark.parametrize("level", [3, 4, 5, 6])
def test_states_that_are_missing_or_too_many(level: int, copy: Path) -> None:
    """The number of states inside the constraint must match the manifest at each level."""
    state = of_the_spec().encode((0, (), (), (), (), (0, 0, 0)))
    data = b"".join(word.to_bytes(8, "little") for word in state)
    add(copy, records.record(Kind.FRONTIER, level, 0, data))
    assert_refused(resumed, copy, f" states at level {level}, not ")


def test_a_missing_file(copy: Path) -> None:
    part(copy).unlink()
    assert_refused(resumed, copy, "the checkpoint has other records than were saved")


# ---------------------------------------------------------------- manifests


def manifest(folder: Path) -> Path:
    return max(folder.rglob("manifest-*"))


def notes_of(path: Path) -> dict[str, Any]:
    notes: dict[str, Any] = json.loads(json.loads(path.read_bytes())["manifest"])
    return notes


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Changes a manifest, and signs it."""
    notes = notes_of(path)
    edit(notes)
    path.write_bytes(closed(notes, Purpose.SPARK_CHECKPOINT))


def test_a_checkpoint_of_a_format_that_is_not_read(copy: Path) -> None:
    change(manifest(copy), lambda notes: notes.update(format=2))
    assert_refused(
        resumed, copy, "it has the format 2, but this fencepost reads the format 4: start the"
    )


NUMBERS = ("initial_count", "outside", "stuck_count")
WRONG: list[tuple[tuple[str, ...], object]] = [
    (("level",), 2),
    (("level",), "5"),
    (("seen",), 1),
    (("seen",), None),
    (("folders",), [["../../elsewhere", "00"]]),
    (("folders",), "states-000001-0123456789ab"),
    (("folders",), ["states-000001-0123456789ab"]),
    (("folders",), [["states-000001-0123456789ab", None]]),
    (("folders",), [["states-000001-0123456789ab,/etc", "00"]]),
    (("account",), None),
    (("account",), []),
    (("account", "levels"), []),
    (("account", "levels"), [1, 2, 0, 1, 1]),
    (("account", "levels"), {"a": 1}),
    (("account", "levels"), [10**30] * 5),
    (("account", "transitions"), [1]),
    (("account", "transitions"), [True, 1, 1, 1]),
    (("account", "orbits"), [1]),
    (("account", "orbits"), 3),
    (("account", "tally"), "00"),
    (("account", "tally"), "no digits"),
    (("account", "stuck"), [[1, 2], 1]),
    (("account", "stuck"), 7),
    (("account", "reached"), [0]),
    (("account", "problems"), [[1, 3, 0, None, None, 0]]),
    (("account", "problems"), [[1, 9, 0, [1], None, 0]]),
    (("account", "problems"), "x"),
    *((("account", name), value) for name in NUMBERS for value in (-1, 1.5, "1", 2**70, None)),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=str)
def test_a_manifest_with_a_wrong_value(path: tuple[str, ...], value: object, copy: Path) -> None:
    def wrong(notes: dict[str, Any]) -> None:
        for name in path[:-1]:
            notes = notes[name]
        assert path[-1] in notes
        notes[path[-1]] = value

    change(manifest(copy), wrong)
    assert_refused(resumed, copy, "the checkpoint ")


@pytest.mark.parametrize("content", [b"", b"\x80\x04.", b"[" * 50_000, b'{"crc32": 1, "mani'])
def test_an_incomplete_manifest_is_skipped(content: bytes, copy: Path) -> None:
    path = manifest(copy)
    path.with_name("manifest-999999.json").write_bytes(content)
    assert resumed(copy).code == 0
    assert not path.with_name("manifest-999999.json").exists()


@pytest.mark.parametrize(
    ("level", "good"),
    [(0, "no earlier save of this search exists"), (4, "the save up to level 4 is still valid")],
)
def test_a_save_that_fails_names_the_last_good_one(level: int, good: str) -> None:
    states, checkpoints = mock.Mock(), mock.Mock(level=level)
    failed = Rejected([Problem("F034", None, "Spark gave up: No space left on device")])
    states.there.levels.save.side_effect = failed
    with (
        mock.patch("fencepost.checker.spark.search.notes.written"),
        mock.patch("fencepost.checker.spark.search.worker_context.combined"),
        pytest.raises(Rejected) as caught,
    ):
        saved_searches.Saver(states, checkpoints, None).save()
    assert [note for _, note in caught.value.problems[0].notes] == [good]


# ---------------------------------------------------------------- signatures


def resumed_unsigned(folder: Path) -> Ran:
    with cluster():
        return run(*CHECK, "--resume", "saved", "--resume-unsigned", folder=folder)


def content_of(path: Path) -> list[bytes]:
    """Returns the records of a file."""
    data, offset, contents = path.read_bytes(), len(BEGINNING), list[bytes]()
    while offset < len(data):
        (length,) = LENGTH.unpack_from(data, offset)
        contents.append(data[offset + LENGTH.size : offset + LENGTH.size + length])
        offset += LENGTH.size + length
    return contents


def write_content(path: Path, contents: Sequence[bytes]) -> None:
    path.write_bytes(BEGINNING + b"".join(LENGTH.pack(len(record)) + record for record in contents))


def older(folder: Path) -> None:
    """Rewrites the checkpoint in the format that was used before signatures."""
    for path in folder.rglob("part-0*"):
        if path.stat().st_size > len(BEGINNING):
            contents = content_of(path)
            write_content(path, [CHECKSUM.pack(zlib.crc32(record)) + record for record in contents])
    for path in folder.rglob(DIGESTS):
        path.unlink()
    for path in folder.rglob("manifest-*"):
        notes = notes_of(path)
        notes |= {"format": 3, "folders": [name for name, _ in notes["folders"]]}
        del notes["unsigned"]
        path.write_bytes(closed_before_signatures(notes))


def with_another_state(folder: Path) -> None:
    """Puts another state of the spec into the last level, so that no digest matches."""
    path = part(folder)
    *rest, last = content_of(path)
    state = of_the_spec().encode((0, (), (), (), (), (0, 0, 0)))
    data = b"".join(word.to_bytes(8, "little") for word in state)
    write_content(path, [*rest, last[: -len(data)] + data])


def twice(folder: Path) -> None:
    """Replaces a record by another one of the same level and size."""
    seen: dict[tuple[bytes, int], tuple[Path, int]] = {}
    for path in sorted(folder.rglob("part-0*")):
        if path.stat().st_size <= len(BEGINNING):
            continue
        for number, record in enumerate(content_of(path)):
            alike = (record[: records.HEAD.size], len(record))
            if alike in seen:
                first, position = seen[alike]
                contents = content_of(path)
                contents[number] = content_of(first)[position]
                write_content(path, contents)
                return
            seen[alike] = path, number
    raise AssertionError([(records.HEAD.unpack(a), n) for a, n in seen])


def digests_forged(folder: Path) -> None:
    """Puts in another state and its digest, but leaves the manifest unchanged."""
    with_another_state(folder)
    place = part(folder).parent
    # The file has the digests of the records of all partitions.
    written = [path for path in place.glob("part-*") if path.stat().st_size > len(BEGINNING)]
    contents = [record for path in written for record in content_of(path)]
    digests = b"".join(sorted(hashlib.sha256(record).digest() for record in contents))
    (place / DIGESTS).write_bytes(digests)


def signed_by_another(folder: Path) -> None:
    """Puts in another state, updates all digests, and signs with another key."""
    digests_forged(folder)
    path, notes = part(folder).with_name(DIGESTS), notes_of(manifest(folder))
    for row in notes["folders"]:
        if row[0] == path.parent.name:
            row[1] = hashlib.sha256(path.read_bytes()).hexdigest()
    content = closed(notes, Purpose.SPARK_CHECKPOINT, Key(bytes(32)))
    manifest(folder).write_bytes(content)


def without_a_mac(folder: Path) -> None:
    outer = json.loads(manifest(folder).read_bytes())
    del outer["mac"]
    manifest(folder).write_bytes(json.dumps(outer).encode())


def for_the_engine_local(folder: Path) -> None:
    manifest(folder).write_bytes(closed(notes_of(manifest(folder))))


DAMAGED = "a record of the checkpoint is damaged"
FORGERIES: dict[str, tuple[Callable[[Path], None], str, bool]] = {
    "another state": (with_another_state, DAMAGED, False),
    "another state and its digest": (digests_forged, "the digest of states-", False),
    "no file of digests": (lambda f: part(f).with_name(DIGESTS).unlink(), "cannot be used", False),
    "signed by another": (signed_by_another, "not signed with the key of this user", True),
    "signed for the engine local": (
        for_the_engine_local, "not signed with the key of this user", True,
    ),
    "no MAC": (without_a_mac, "it is not signed", True),
    "an older format": (older, "it has an older, unsigned format", True),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries(forgery: str, copy: Path) -> None:
    forge, reason, resumable = FORGERIES[forgery]
    forge(copy)
    assert_refused(resumed, copy, reason)
    if not resumable:
        assert_refused(resumed_unsigned, copy, reason)
        return
    # The next checkpoint is signed, but runs still report that it relies on an unsigned one.
    with cluster():
        words = (*CHECK, "--resume", "saved", "--resume-unsigned", "--depth", "5")
        first = run(*words, folder=copy)
    assert "relies on an unsigned checkpoint" in first.stdout
    again = resumed(copy)
    assert "relies on an unsigned checkpoint" in again.stdout, (first, again)
    assert all(len(row) == 2 for row in notes_of(manifest(copy))["folders"])


GRID = """
var a: 0..30 = 0
var b: 0..30 = 0
action right:
    require a < 30
    a += 1
action down:
    require b < 30
    b += 1
terminal: a == 30 and b == 30
"""


def test_a_record_twice(tmp_path: Path) -> None:
    """All digests and counts fit, but one record is missing and another occurs twice."""
    (tmp_path / "spec.fence").write_text(GRID, encoding="utf-8")
    with cluster():
        run(*CHECK, "--checkpoint", "saved", "--depth", "25", folder=tmp_path)
    twice(tmp_path)
    assert_refused(resumed, tmp_path, "the checkpoint has other records than were saved")


def test_an_older_checkpoint_is_continued(copy: Path) -> None:
    older(copy)
    ran = resumed_unsigned(copy)
    assert (ran.code, ran.stderr) == (0, "")
    with cluster():
        assert figures(run(*CHECK, folder=copy)) == figures(ran)


def test_an_unmodified_checkpoint_is_signed(copy: Path) -> None:
    ran = resumed(copy)
    assert "(resumed)" in ran.stdout
    assert "unsigned" not in ran.stdout
