"""Executors keep their tables in files between tasks, without losing their contents."""

from __future__ import annotations

import ctypes
import errno
import random
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.agreement import assert_same, run_of
from tests.support.compressed_canary import quick_code
from tests.support.kernel_models import TOP, fan, text
from tests.support.spread import Faults, compressed_from
from tests.support.spread_runs import Codes, behind

from fencepost.checker.native.codegen.context_words import Want, Word
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.memory import Memory, Region, words
from fencepost.checker.native.machine.worker_context import Context, Packed, Sizes
from fencepost.checker.native.visited import compressed, plan
from fencepost.checker.native.visited.compressed import rows_bytes
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.request import Cluster
from fencepost.checker.spark import levels, program
from fencepost.checker.spark.outbox import no_successors
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.search import Spark
from fencepost.checker.spark.table import Compressed, Files, Missing, Shelf, Table, Whole
from fencepost.spec.text.problem import Rejected

WIDE = """
var counts: map[0..9, 0..500] = [0 for k in 0..9]
var flags: map[0..69, bool] = [false for k in 0..69]
action up(k in 0..3):
    require counts[k] < 2
    counts[k] += 1
    flags[9 * k + counts[k]] = true
    flags[69] = not flags[69]
terminal: counts[0] == 2 and counts[1] == 2 and counts[2] == 2 and counts[3] == 2
"""
"""A spec whose states have three words."""


class Merger:
    """The resources of a merging task, for states with ``size`` words."""

    def __init__(self, size: int) -> None:
        toy = fan(1, size)
        self.code = build.Compilation(text(toy)).quick()
        sizes = Sizes(toy.slots, 0, 0, 0)
        self.program = Program("toy", sizes, 1, 1, "run")
        self.size = size
        self.memory = Memory()
        self.context = Context(self.memory, sizes, 1, no_successors)
        self.room = self.memory.take(8 * size * 1000)
        self.states = self.memory.take(8 * size * 1000)
        self.rows = self.memory.take(rows_bytes(size))

    def code_of(self, text: str) -> build.Code:
        """Returns the compiled code, in place of `program.code`."""
        assert text == self.program.text
        return self.code

    def plan(self, states: Sequence[Packed]) -> Plan | None:
        """Returns the compression plan for these states."""
        block = (ctypes.c_uint64 * (self.size * len(states)))(
            *(w for state in states for w in state)
        )
        return levels.choose_plan(self.program, bytes(block), lambda: None)

    def new(self, table: Table, states: Sequence[Packed]) -> list[Packed]:
        """Adds states, and returns the new ones in the form that the table stores."""
        added: list[Packed] = []
        seen, ctx, size = table.seen, self.context.words, self.size
        for first in range(0, len(states), 1000):
            batch = states[first : first + 1000]
            block = (ctypes.c_uint64 * (size * len(batch)))(
                *(word for state in batch for word in state)
            )
            address, left = ctypes.addressof(block), len(batch)
            ctx[Word.STORE], ctx[Word.STORE_END] = self.room.address, self.room.address + (1 << 40)
            while left:
                seen.merge(address, left)
                left -= ctx[Word.DONE]
                address += 8 * size * ctx[Word.DONE]
                if ctx[Word.WANT] == Want.PLACES:
                    seen.grow()
            count = (ctx[Word.STORE] - self.room.address) // (8 * seen.entry_words)
            entries = self.room.address
            start = seen.whole(entries, count, self.states.address, self.rows.address)
            read = words(start, size * count)
            added += [tuple(read[n : n + size]) for n in range(0, size * count, size)]
        return added


@contextmanager
def merger_in(size: int, folder: Path) -> Generator[Merger]:
    """Yields a merging task that finds a compression plan however little its states share."""
    with pytest.MonkeyPatch.context() as patch:
        merger = Merger(size)
        patch.setenv("SPARK_LOCAL_DIRS", str(folder))
        patch.setattr(plan, "MAX_PAIRS", 1000.0)
        patch.setattr(program, "code", merger.code_of)
        patch.setattr(program, "set_code", quick_code)
        patch.setattr(levels, "set_code", quick_code)
        yield merger
        merger.memory.close()


def states(size: int, count: int) -> list[Packed]:
    """Returns distinct states that share most of their words."""
    chance = random.Random(size)
    some = [chance.getrandbits(64) for _ in range(40)]
    return [
        (TOP | chance.getrandbits(20) << 30 | n, *(chance.choice(some) for _ in range(size - 1)))
        for n in range(count)
    ]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("size", "count"), [(1, 120_000), (2, 80_000), (5, 8_000), (17, 2_000)])
def test_a_table_goes_from_task_to_task(
    size: int, count: int, packed: bool, tmp_path: Path
) -> None:
    """Each task continues with the table that the previous task left in files."""
    with merger_in(size, tmp_path) as merging:
        all_states = states(size, count)
        chosen = merging.plan(all_states[:1000]) if packed else None
        shelf = Shelf(merging.program, 0, chosen)
        table = shelf.create(0, merging.context)
        assert isinstance(table.seen, Compressed if packed else Whole)
        step, added = count // 4, 0
        for level, first in enumerate(range(0, count, step), 1):
            batch = all_states[first : first + step]
            assert merging.new(table, [*batch, *batch[:100]]) == batch
            added += len(batch)
            shelf.put(table, level)
            table = shelf.take(level, merging.context)
            assert table.seen.states == added
            assert merging.new(table, random.Random(level).sample(all_states[:added], 500)) == []
        shelf.put(table, 9)
        with pytest.raises(Missing, match="no table at level 4 "):
            shelf.take(4, merging.context)
        with pytest.raises(Missing, match="no table of this plan at level 9 "):
            Shelf(merging.program, 0, None if packed else Plan(1, plan.salts("else"))).take(
                9, merging.context
            )
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_dropped_table_leaves_no_files(tmp_path: Path) -> None:
    with merger_in(3, tmp_path) as merging:
        all_states = states(3, 3000)
        shelf = Shelf(merging.program, 0, merging.plan(all_states))
        table = shelf.create(0, merging.context)
        assert merging.new(table, all_states[:2000]) == all_states[:2000]
        shelf.put(table, 1)
        table = shelf.take(1, merging.context)
        assert merging.new(table, all_states) == all_states[2000:]
        shelf.drop(table)
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]
        with pytest.raises(Missing):
            shelf.take(1, merging.context)
        # Of two attempts at a task, the first one counts, and the second one leaves no files.
        first, second = (shelf.create(10, merging.context) for _ in range(2))
        assert merging.new(first, all_states) == merging.new(second, all_states) == all_states
        shelf.put(first, 2)
        files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        shelf.put(second, 2)
        assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == files
        shelf.clear()
        assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("failing", [2, 5])
@pytest.mark.parametrize("action", ["create", "take"])
def test_a_table_without_space_leaves_nothing(
    action: str, failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No files or mappings may remain, since the Python worker process runs further tasks."""

    def mapped() -> int:
        return Path("/proc/self/maps").read_text(encoding="utf-8").count(str(tmp_path))

    with merger_in(2, tmp_path) as merging:
        shelf = Shelf(merging.program, 0)
        shelf.put(shelf.create(10, merging.context), 3)
        # Prevents the creation of one of its regions.
        left, opened = [failing], Files._opened  # pyright: ignore[reportPrivateUsage]

        def full(files: Files, name: str, size: int, most: int) -> Region:
            left[0] -= 1
            if not left[0]:
                raise OSError(errno.ENOSPC, "full")
            return opened(files, name, size, most)

        monkeypatch.setattr(Files, "_opened", full)
        with pytest.raises(OSError, match="full"):
            shelf.create(10, merging.context) if action == "create" else shelf.take(
                3, merging.context
            )
        assert mapped() == 0
        names = [path.name for path in tmp_path.rglob("*") if path.is_dir()]
        assert not [name for name in names if name.startswith("away")], names


def test_regions_are_files(tmp_path: Path) -> None:
    files = Files(tmp_path)
    first, second = files.take(5000, 10**12), files.take(100)
    assert (first.size, first.most, second.size, second.most) == (8192, 16384, 4096, 4096)
    assert not any(words(first.address, first.size // 8))
    words(first.address, 1024)[1023] = 7
    larger = files.enlarge(first, 12_000)
    assert (larger.address, larger.size, larger.most) == (first.address, 12_288, 16_384)
    words(larger.address, 1536)[1535] = 8
    noted = files.noted([second, larger])
    files.close()
    files = Files(tmp_path)
    second, larger = files.open(noted)
    assert (words(larger.address, 1536)[1023], words(larger.address, 1536)[1535]) == (7, 8)
    new = files.take(1)
    files.give(second)
    assert len({path.name for path in tmp_path.iterdir()}) == 2
    for region in (larger, new):
        files.give(region)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("size", "partitions", "states", "enough"),
    [
        (1, 1, 524_287, False),
        (1, 1, 524_288, True),
        (1, 32, 1 << 23, False),
        (1, 32, 1 << 24, True),
        (20, 2, 131_071, False),
        (20, 2, 131_072, True),
    ],
)
def test_when_tables_are_compressed(size: int, partitions: int, states: int, enough: bool) -> None:
    searched = Program("", Sizes(fan(1, size).slots, 0, 0, 0), partitions, partitions, "run")
    assert levels.wants_plan(searched, states) == enough


def test_a_partition_with_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "MAX_NUMBERS", 40)
    run = run_of(WIDE)
    with (
        compressed_from(1),
        pytest.raises(Rejected, match=r"F034.*gave up: Full: a partition has all pairs"),
    ):
        Codes(run.model).by(Spark(Cluster(partitions=2), behind(1)), run)


@pytest.mark.parametrize("seed", range(4))
def test_tables_that_are_compressed_on_the_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks and blocks are lost both before and after the level that compresses the tables."""
    kinds = dict[str, set[int]]()
    real = Shelf.put

    def put(shelf: Shelf, table: Table, level: int) -> None:
        kinds.setdefault(type(table.seen).__name__, set()).add(level)
        real(shelf, table, level)

    monkeypatch.setattr(Shelf, "put", put)
    run = run_of(WIDE)
    wanted = run.by("interpreter")
    faults = Faults(seed, given_up=8, lost=8, gone=3) if seed else None
    with compressed_from(30):
        engine = Spark(Cluster(partitions=1 + seed), behind(1))
        result = Codes(run.model).by(engine, run, faults)
    assert_same(wanted, result, f"{seed}")
    if not seed:
        assert max(kinds["Whole"]) < min(kinds["Compressed"])
    assert kinds.keys() == {"Whole", "Compressed"}
