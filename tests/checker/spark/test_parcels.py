"""Successors in files: a record refers to what its own attempt wrote, or to nothing."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.checker.spark.test_levels import COUNTS, spread
from tests.support.agreement import assert_same, run_of

from fencepost.checker.native.codegen.context_words import Slots
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.spark import outbox, parcels, records
from fencepost.checker.spark.levels import Levels
from fencepost.checker.spark.parcels import Lost, ParcelReader, Parcels
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import HEAD, Broken, Kind
from fencepost.spec.text.problem import Rejected

PROGRAM = Program("", Sizes(Slots(1, 0, 2), 0, 0, 0), 4, 2, "run", True)
"""A program whose states have two words."""


@pytest.fixture(autouse=True, params=[1, 3])
def folders(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulates a machine with one disk or with three disks."""
    names = [str(tmp_path / str(number)) for number in range(request.param)]
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(names))


def written(by: Parcels, *states: int) -> bytes:
    """Writes some successors with two equal words each, and returns their record."""
    block = (ctypes.c_uint64 * (2 * len(states)))(
        *(word for state in states for word in (state,) * 2)
    )
    return by.put(7, 3, ctypes.addressof(block), ctypes.sizeof(block))


def read(by: ParcelReader, data: bytes) -> list[int]:
    address, count = by.read(data)
    pairs = words(address, 2 * count)[: 2 * count]
    assert pairs[::2] == pairs[1::2]
    return [*pairs[::2]]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_written_records_are_read() -> None:
    first, second, again = Parcels(PROGRAM, 1, 0), Parcels(PROGRAM, 1, 1), Parcels(PROGRAM, 1, 0)
    sent = [
        (written(by, *states), [*states])
        for by, states in (
            (first, (1, 2)), (second, (3,)), (again, (4,)), (first, range(5, 900)), (again, (6, 7)),
        )
    ]  # fmt: skip
    for by in (first, second, again):
        by.close()
    memory = Memory()
    reader = ParcelReader(PROGRAM, memory)
    for data, states in [*sent, *reversed(sent)]:
        assert records.head(data) == (Kind.PARCEL, 7, 3)
        assert read(reader, data) == states
    reader.close()
    memory.close()


def test_a_later_attempt_removes_earlier_files(tmp_path: Path) -> None:
    for task in range(3):
        Parcels(PROGRAM, 4, task).close()
    late = Parcels(PROGRAM, 3, 0)
    assert len(files(tmp_path)) == 4
    for task in range(3):
        Parcels(PROGRAM, 5, task).close()
    assert len(files(tmp_path)) == 3
    with pytest.raises(Lost, match="cannot be read: No such file"):
        ParcelReader(PROGRAM, Memory()).read(written(late, 1))
    late.close()
    for task in range(3):
        parcels.clear(PROGRAM, task)
    assert not files(tmp_path)


def test_the_file_of_a_failed_task_is_removed(tmp_path: Path) -> None:
    kept, failed = Parcels(PROGRAM, 1, 0), Parcels(PROGRAM, 1, 0)
    data = written(failed, 1, 2)
    kept.close()
    failed.close(keep=False)
    assert len(files(tmp_path)) == 1
    with pytest.raises(Lost, match="cannot be read: No such file"):
        ParcelReader(PROGRAM, Memory()).read(data)


def other_size(data: bytes, path: Path) -> bytes:
    return data + b"\0"


def half_a_state(data: bytes, path: Path) -> bytes:
    return data[:-8] + (8).to_bytes(8, "little")


def shorter(data: bytes, path: Path) -> bytes:
    os.truncate(path, 31)
    return data


def removed(data: bytes, path: Path) -> bytes:
    path.unlink()
    return data


def a_folder(data: bytes, path: Path) -> bytes:
    path.unlink()
    path.mkdir()
    return data


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (other_size, Broken, "does not lead to states"),
        (half_a_state, Broken, "8 bytes do not hold states of 2 words"),
        (shorter, Lost, "has 31 bytes of 32"),
        (removed, Lost, "cannot be read: No such file"),
        (a_folder, Lost, "cannot be read: Is a directory"),
    ],
)
def test_a_record_that_leads_to_nothing(
    damage: Callable[[bytes, Path], bytes], error: type[Exception], message: str, tmp_path: Path
) -> None:
    by = Parcels(PROGRAM, 1, 0)
    data = written(by, 1, 2)
    by.close()
    assert len(data) == HEAD.size + parcels.PLACE.size
    memory = Memory()
    reader = ParcelReader(PROGRAM, memory)
    (path,) = files(tmp_path)
    with pytest.raises(error, match=message):
        reader.read(damage(data, path))
    reader.close()
    memory.close()


def test_partial_writes_are_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def write(file: int, data: memoryview) -> int:
        return real(file, data[:5])

    monkeypatch.setattr(os, "write", write)
    by = Parcels(PROGRAM, 1, 0)
    data = written(by, 8, 9)
    by.close()
    memory = Memory()
    assert read(ParcelReader(PROGRAM, memory), data) == [8, 9]
    memory.close()


@pytest.mark.parametrize("failures", [1, 3, 10**8])
def test_a_full_disk(failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, real = [failures], Parcels.put

    def put(self: Parcels, level: int, owner: int, address: int, size: int) -> bytes:
        if level > 3 and left[0]:
            left[0] -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, level, owner, address, size)

    left_over, close = list[list[Path]](), Levels.close

    def closing(levels: Levels) -> None:
        close(levels)
        left_over.append(files(Path(os.environ["SPARK_LOCAL_DIRS"])))

    monkeypatch.setattr(Parcels, "put", put)
    monkeypatch.setattr(Levels, "close", closing)
    run = run_of(COUNTS)
    if failures == 1:
        assert_same(run.by("interpreter"), spread(run), "the level is made again")
    elif failures < 10:
        assert_same(run.by("interpreter"), spread(run), "all levels are made again")
    else:
        with pytest.raises(Rejected, match=r"F034.*gave up: OSError: .*No space left"):
            spread(run)
    # The files of earlier failed attempts are also removed.
    assert left_over == [[]]


def test_a_driver_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure is reported, since the later ones follow from it."""
    errors = iter(["No space left on device", *["another one"] * 9])

    def first(levels: Levels) -> None:
        raise OSError(errno.ENOSPC, next(errors))

    monkeypatch.setattr(Levels, "_first", first)
    with pytest.raises(Rejected, match=r"F034.*gave up: .*No space left"):
        spread(run_of(COUNTS))


@pytest.mark.parametrize("block", [8, outbox.BLOCK_BYTES])
def test_files_that_vanish_between_two_stages(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The level is expanded again, and the result is the same."""
    real, struck = ParcelReader.read, [0]

    def read_(self: ParcelReader, data: bytes) -> tuple[int, int]:
        if records.head(data).level == 6 and not struck[0]:
            struck[0] = 1
            raise Lost("there is nothing")
        return real(self, data)

    monkeypatch.setattr(outbox, "BLOCK_BYTES", block)
    monkeypatch.setattr(ParcelReader, "read", read_)
    run = run_of(COUNTS)
    assert_same(run.by("interpreter"), spread(run), "a file is lost")
    assert struck[0]


@pytest.mark.parametrize("together", [True, False])
def test_a_search_leaves_no_files(together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    left_over, real = list[list[Path]](), Levels.close

    def close(levels: Levels) -> None:
        folder = Path(os.environ["SPARK_LOCAL_DIRS"])
        sent = [path for path in files(folder) if parcels.SENT in path.parts]
        assert bool(sent) == together
        real(levels)
        left_over.append(files(folder))

    monkeypatch.setattr(Levels, "close", close)
    spread(run_of(COUNTS), together=together)
    assert left_over == [[]]
