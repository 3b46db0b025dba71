"""Generates a synthetic day of brokers: random runs of `models/broker_day.fence` in machine code,
written like the logs of `fencepost record kafka`, with a few of them damaged.

    python -m bench.day --histories 100000 --out DIR

Histories are generated in independent portions of `PORTION`, so that several processes produce the
same day as a single process. Each portion has one file for the coordinator's log and one for the
partitions' logs; both interleave the entries of its histories.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

from tests.support.damage import DAMAGE, Event

from bench.machine import ROOT
from fencepost.checker.layout import Layout, array, read, slot_place
from fencepost.checker.native.machine.build import CodeInUse
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.walker import Walker, translated
from fencepost.checker.systems.conform.fields import in_line
from fencepost.spec.core.types import Bag, Record, Union
from fencepost.spec.elaborate.claims.program import build, load

SPEC = ROOT / "bench" / "models" / "broker_day.fence"
LIBRARY = ROOT / "models" / "kafka"
EVENTS = 150
DEPTH = 20 * EVENTS
DAMAGED = 20
PORTION = 250
"""Number of histories in a portion."""
INSTEAD = 1 << 32
"""Added to the number of a run to get the number of its replacement."""
BATCH = 10
"""Number of entries of a history that are written consecutively."""
WEIGHTS = {
    "logged_one": 1 << 31, "answered": 1 << 10, "begin": 4, "produce": 200, "produce_late": 16,
    "produce_again": 16, "end": 24, "end_late": 4, "abort_timed_out_transaction": 1,
}  # fmt: skip
"""Relative frequencies of actions. The weight of `logged_one` makes an appended
entry visible at once, almost always.
"""
DEFAULT_WEIGHT = 1 << 10


class Runs:
    """Random runs, identified by number, converted to the events of a transactional id. A request
    starts only while at most ``under_way`` messages are in flight.
    """

    def __init__(self, seed: int, under_way: int) -> None:
        program = load(SPEC, [LIBRARY])
        (check,) = program.checks
        model = build(program, check, {"UnderWay": str(under_way)})
        layout = Layout(model)
        compilation, sizes = translated(model, layout, frozenset())
        self._code = CodeInUse(compilation).now()
        weights = [
            WEIGHTS.get(action.name.rpartition(".")[2], DEFAULT_WEIGHT) for action in model.actions
        ]
        self._memory = Memory()
        self._walker = Walker(self._memory, sizes, DEPTH, seed, weights)
        self._walker.weigh(weights, per_action=True)
        problems, kept = self._walker.initial(self._code)
        assert not problems
        room = self._memory.take(len(kept)).address
        ctypes.memmove(room, kept, len(kept))
        self._walker.start_from(room, len(kept) // (8 * layout.words))
        logs = next(n for n, variable in enumerate(model.variables) if variable.name == "logs")
        kind = layout.types[logs]
        assert isinstance(kind, Bag), kind
        entries = kind.element
        assert isinstance(entries, Union), kind
        self._entries: Union = entries
        self._first = slot_place(array(kind), 0)
        self._begin, self._width = layout.places[logs].word, self._first.word + array(kind).words
        self._words = layout.words
        self._known: dict[tuple[int, ...], Event] = {}

    def events(self, number: int) -> list[Event]:
        """Returns the log entries of one run, in the order of appending."""
        walked = self._walker.run(self._code, number, 1)
        assert not walked.problems, walked.problems
        path = self._walker.path()
        columns = [path[self._begin + n :: self._words].tolist() for n in range(self._width)]
        events: list[Event] = []
        before = 0
        for entry in zip(*columns, strict=True):
            if entry[0]:
                if before:
                    # In about one of several hundred thousand runs, the run continues before an
                    # entry is received.
                    return self.events(number + INSTEAD)
                event = self._known.get(entry)
                if event is None:
                    event = self._known[entry] = self._event(entry)
                events.append(event)
            before = entry[0]
        assert len(events) >= EVENTS, len(events)
        return events[:EVENTS]

    def _event(self, words: Sequence[int]) -> Event:
        """Converts a log entry to an event. Its producer ids and transactional id are those of the
        model.
        """
        entry = cast("tuple[Any, ...]", read(self._entries, words, self._first))
        variant = self._entries.variants[cast("int", entry[0])]
        kind = variant.fields[0].type
        assert isinstance(kind, Record), kind
        fields = _fields(kind, entry[1])
        if variant.name == "Record":
            version = 2 if fields["client_protocol"] == "V2" else None
            named = ("state", "producer_id", "epoch", "partitions")
            return {name: fields[name] for name in named} | {"client_transaction_version": version}
        if variant.name == "Marker":
            return {"kind": fields.pop("result"), **fields}
        return {"kind": "DATA", **fields}


def _fields(kind: Record, value: Sequence[Any]) -> Event:
    """Returns the fields of an entry in the form that they have in a line. The sender is left out,
    since logs do not contain it.
    """
    fields: Event = {}
    for item, part in zip(kind.fields, value, strict=True):
        if isinstance(item.type, Record):
            fields[item.name] = _fields(item.type, part)
        elif not isinstance(item.type, Union):
            fields[item.name] = in_line(part, item.type)
    return fields


@dataclass(frozen=True, slots=True)
class History:
    """The entries of one transactional id. ``hurt`` is set if they were damaged."""

    key: str
    events: list[Event]
    hurt: bool


@lru_cache(maxsize=1)
def _runs(seed: int, under_way: int) -> Runs:
    return Runs(seed, under_way)


def history(number: int, count: int, seed: int, under_way: int = 0) -> History:
    """Returns history ``number`` of a day of ``count``. At regular intervals, `DAMAGED` of the
    histories are damaged.
    """
    runs, every = _runs(seed, under_way), max(1, count // DAMAGED)
    turn = number // every
    hurt = number % every == 0 and turn < DAMAGED
    key, run = f"producer-{number}", number
    while True:
        events = [_named(event, key, number) for event in runs.events(run)]
        if not hurt:
            return History(key, events, hurt)
        # Damages only the early part, since at the end more entries could have followed.
        early, rest = events[: EVENTS * 3 // 4], events[EVENTS * 3 // 4 :]
        with suppress(IndexError):
            DAMAGE[turn % len(DAMAGE)](random.Random(f"{seed} {number}"), early)
            return History(key, early + rest, hurt)
        run += INSTEAD  # This run cannot be damaged: try another.


def _named(event: Event, key: str, number: int) -> Event:
    """Returns an entry in the form that a recorder writes."""
    line = {**event, "producer_id": 10 * number + event["producer_id"]}
    if "state" in line:
        source = f"__transaction_state-{number % 50}"
        return {"source": source, "id": key, **line, "partitions": [
            f"t-{partition}" for partition in line["partitions"]
        ]}  # fmt: skip
    return {"source": f"t-{line.pop('partition')}", **line}


def write(folder: Path, first: int, histories: Sequence[History], seed: int) -> list[Path]:
    """Writes the entries of ``histories``, interleaved. ``first`` is the number of the first
    history.
    """
    chance = random.Random(f"{seed} {first} mixed")
    queues = [iter(history.events) for history in histories]
    paths = [folder / f"{first:09}-{part}.jsonl.gz" for part in ("coordinator", "partitions")]
    packed = [gzip.GzipFile(path, "wb", 1, mtime=0) for path in paths]
    with packed[0] as coordinator, packed[1] as partitions:
        while queues:
            number = chance.randrange(len(queues))
            events = list(islice(queues[number], BATCH))
            for event in events:
                file = coordinator if "state" in event else partitions
                file.write(json.dumps(event).encode() + b"\n")
            if len(events) < BATCH:
                queues[number] = queues[-1]
                queues.pop()
    return paths


@dataclass(frozen=True, slots=True)
class Portion:
    """A part of a day: the numbers of histories and events, the files, the keys of the damaged
    histories, and the processor seconds that generating it took.
    """

    histories: int
    events: int
    paths: list[Path]
    hurt: list[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Day:
    """A day as files, portion by portion, and the processor seconds that generating it took."""

    portions: list[Portion]
    seconds: float
    """Processor seconds of all processes together."""

    @property
    def hurt(self) -> set[str]:
        return {key for portion in self.portions for key in portion.hurt}

    @property
    def events(self) -> int:
        return sum(portion.events for portion in self.portions)


def make(folder: Path, count: int, seed: int, processes: int) -> Day:
    """Generates a day of ``count`` histories in a folder."""
    portion = partial(_portion, folder, count, seed)
    firsts = range(0, count, PORTION)
    with ProcessPoolExecutor(processes, get_context("spawn")) as crew:
        portions = list(crew.map(portion, firsts))
    return Day(portions, sum(part.seconds for part in portions))


def _portion(folder: Path, count: int, seed: int, first: int) -> Portion:
    began = time.process_time()
    histories = [history(n, count, seed) for n in range(first, min(count, first + PORTION))]
    paths = write(folder, first, histories, seed)
    events, hurt = (
        sum(len(entries.events) for entries in histories),
        [entries.key for entries in histories if entries.hurt],
    )
    return Portion(len(histories), events, paths, hurt, time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.day", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--histories", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.out.mkdir()
    day = make(options.out, options.histories, options.seed, options.processes)
    size = sum(path.stat().st_size for portion in day.portions for path in portion.paths)
    print(f"{day.events:,} events, {size >> 20:,} MiB, {day.seconds:.0f} s of processors")
    print("damaged:", ", ".join(sorted(day.hurt)))


if __name__ == "__main__":
    main()
