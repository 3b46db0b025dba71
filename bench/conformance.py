"""A synthetic day of brokers, compared with the model: histories of random runs with faults, of
which some are damaged.

    python -m bench.conformance --histories 200
    python -m bench.conformance --histories 100000 --spark local[2]

Prints a table in Markdown: seconds of wall time, and of processors, for each way to compare them,
and what two processes reach that have half of the histories each. The damaged ones, and no others,
must be found. An idle machine is wanted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from tests.support.damage import DAMAGE, Event

from bench.machine import ROOT, this_machine
from fencepost.checker.conform.mapping import Cut, Mapped, Move
from fencepost.spec.core.types import Enum, Record, State, Value
from fencepost.spec.elaborate.program import load, mapped

SPEC = ROOT / "models" / "kafka" / "conform_v2.fence"
CHECK = "r4_4_0"
EVENTS = 150
DAMAGED = 20
STALE = 0.1
"""How often a request is an old one, or comes from somebody else."""
TIMEOUT = 0.02
"""How often a transaction times out where it may."""


class Day:
    """Random histories of one check."""

    def __init__(self, seed: int) -> None:
        program = load(SPEC)
        check = next(one for one in program.checks if one.name == CHECK)
        model, recording = mapped(program, check, {})
        assert recording is not None
        self._random = random.Random(seed)
        self._mapped = Mapped(model, recording)
        self._recording = recording
        variables = {one.name: number for number, one in enumerate(model.variables)}
        self._metadata = variables["metadata"]
        kind = model.variables[self._metadata].type
        assert isinstance(kind, Record)
        self._fields = {one.name: number for number, one in enumerate(kind.fields)}
        state = kind.fields[self._fields["state"]].type
        assert isinstance(state, Enum)
        self._states = state.members
        self._timeout = next(
            n for n, one in enumerate(model.actions) if one.name.endswith("timed_out_transaction")
        )

    def history(self, number: int) -> list[Event]:
        """The events of a history, as a recorder writes them."""
        mapped, chance = self._mapped, self._random
        state = chance.choice(mapped.initial())
        events: list[Event] = []
        sequences: dict[tuple[Value, Value], int] = {}
        while len(events) < EVENTS:
            moves = [
                one
                for one in mapped.expansion(state).moves
                if one.action != self._timeout or chance.random() < TIMEOUT
            ]
            # A request comes when the brokers are at rest, as the mapping says.
            if moves:
                move = chance.choice(moves)
                state = move.state
                events += [self._event(number, one.event, one.values) for one in move.shown]
                continue
            if mapped.under_way(state) == 0:
                state = self._asked(state, sequences)
            else:
                # Only what was left out above can happen.
                state = mapped.expansion(state).moves[0].state
        return events

    def _asked(self, state: State, sequences: dict[tuple[Value, Value], int]) -> State:
        """A state with a request that may come, an old one now and then."""
        chance = self._random
        metadata = cast("tuple[Any, ...]", state[self._metadata])
        pid, epoch, now, added = (
            metadata[self._fields[name]] for name in ("producer_id", "epoch", "state", "partitions")
        )
        old = max(0, epoch - 1) if chance.random() < STALE else max(0, epoch)
        partition = chance.randrange(3)
        kind = chance.choices(
            ("Empty", "Ongoing", "DATA", "PrepareCommit", "PrepareAbort"), (1, 5, 30, 3, 1)
        )[0]
        if self._states[now] == "Empty" and epoch < 0:
            kind = "Empty"
        if kind == "DATA":
            key = partition, old
            sequence = sequences.get(key, 0)
            again = sequence if chance.random() < STALE else sequence + 1
            values: tuple[Value, ...] = (partition, pid, old, sequence, 1)
            after = self._entered("DATA", values, state)
            if after is not None:
                sequences[key] = again
        else:
            named = tuple(sorted({*added, partition}))
            wanted = self._states.index(kind)
            after = self._entered("record", (wanted, pid, old, named, (2,)), state)
        return state if after is None else after

    def _entered(self, name: str, values: tuple[Value, ...], state: State) -> State | None:
        """What the event's request leads to; None: none may come."""
        for number, one in enumerate(self._recording.inputs):
            if self._recording.events[one.event].name != name:
                continue
            if self._mapped.condition(number, values, state) is not True:
                continue
            made: list[Move | Cut] = list(self._mapped.entering(number, values, state))
            if isinstance(made[0], Move):
                return made[0].state
        return None

    def _event(self, number: int, kind: int, values: tuple[Value, ...]) -> Event:
        event = self._recording.events[kind]
        given = dict(zip((one.name for one in event.fields), values, strict=True))
        made: Event = {"kind": event.name, **given}
        made["producer_id"] = 10 * number + cast("int", given["producer_id"])
        if event.name != "record":
            made["source"] = f"t-{given['source']}"
            return made
        made["source"] = f"__transaction_state-{number % 50}"
        made["id"] = f"producer-{number}"
        made["state"] = self._states[cast("int", given["state"])]
        made["partitions"] = [f"t-{one}" for one in cast("tuple[int, ...]", given["partitions"])]
        version = cast("tuple[int, ...]", given["client_transaction_version"])
        made["client_transaction_version"] = version[0] if version else None
        return made


def histories(count: int, seed: int) -> Iterator[tuple[str, list[Event], bool]]:
    """Histories with their keys, and whether they are damaged: `DAMAGED` of them, spread."""
    day, chance = Day(seed), random.Random(seed + 1)
    every = max(1, count // DAMAGED)
    for number in range(count):
        events = day.history(number)
        turn = number // every
        hurt = number % every == 0 and turn < DAMAGED
        while hurt:
            # Not at the end, where more might have come.
            early, rest = events[: EVENTS * 3 // 4], events[EVENTS * 3 // 4 :]
            with suppress(IndexError):
                DAMAGE[turn % len(DAMAGE)](chance, early)
                events = early + rest
                break
            events = day.history(number)  # Nothing in it can be damaged so.
        yield f"producer-{number}", events, hurt


def written(path: Path, found: Sequence[tuple[str, list[Event], bool]], seed: int) -> int:
    """Writes the events as they come in one day, and counts them."""
    chance, count = random.Random(seed + 2), 0
    queues = [iter(events) for _, events, _ in found]
    with path.open("w", encoding="utf-8") as file:
        while queues:
            number = chance.randrange(len(queues))
            for event in (next(queues[number], None) for _ in range(10)):
                if event is None:
                    queues[number] = queues[-1]
                    queues.pop()
                    break
                file.write(json.dumps(event) + "\n")
                count += 1
    return count


@dataclass(frozen=True, slots=True)
class Row:
    """A way to compare them: seconds of wall time, and of processors, as far as they are known."""

    way: str
    wall: float
    processor: float | None

    def cells(self, count: int) -> str:
        used = ("", "")
        if self.processor is not None:
            used = f"{self.processor:.1f}", f"{1000 * self.processor / count:.1f}"
        return f"| {self.way} | {self.wall:.1f} | {used[0]} | {used[1]} |"


def compared(way: str, folder: Path, hurt: set[str], *runs: Sequence[str]) -> Row:
    """Runs the command, once for each row of words, all at a time."""
    began, before = time.monotonic(), os.times()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "fencepost.checker.cli.main", "conform", str(SPEC), "--check",
             CHECK, "--format", "json", "--output", f"{number}.json", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / ".dev")},
        )
        for number, words in enumerate(runs)
    ]  # fmt: skip
    for one in running:
        one.wait()
    wall, after = time.monotonic() - began, os.times()
    found: dict[str, str] = {}
    for number in range(len(runs)):
        report = json.loads((folder / f"{number}.json").read_text(encoding="utf-8"))
        found |= {one["key"]: one["verdict"] for one in report["histories"]}
    wrong = {key for key, verdict in found.items() if verdict != "allowed"}
    assert {found[key] for key in wrong} <= {"not allowed"}, "some are not known"
    assert wrong == hurt, f"{sorted(wrong ^ hurt)} are not as they were made"
    used = after.children_user + after.children_system
    return Row(way, wall, used - before.children_user - before.children_system)


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--histories", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--spark", metavar="MASTER", help="also on Spark, for instance local[2]")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    options = parser.parse_args()
    began = time.process_time()
    found = list(histories(options.histories, options.seed))
    made = time.process_time() - began
    hurt = {key for key, _, damaged in found if damaged}
    print(f"load {os.getloadavg()[0]:.1f}; made in {made:.0f} s of a processor", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as name:
        folder = Path(name)
        events = written(folder / "day.jsonl", found, options.seed)
        count = options.processes
        for part in range(count):
            written(folder / f"part-{part}.jsonl", found[part::count], options.seed)
        alone = ("--workers", "1")
        rows = [
            compared("one process", folder, hurt, ["day.jsonl", *alone]),
            compared(
                f"{count} commands, a part each", folder, hurt,
                *([f"part-{part}.jsonl", *alone] for part in range(count)),
            ),
            compared(f"--workers {count}", folder, hurt, ["day.jsonl", "--workers", str(count)]),
        ]  # fmt: skip
        if options.spark:
            words = ["day.jsonl", "--engine", "spark", "--master", options.spark]
            row = compared(f"Spark, {options.spark}", folder, hurt, words)
            # What Java and its workers take is known to no parent.
            rows.append(replace(row, processor=None))
    machine = this_machine()
    print(f"{options.histories:,} histories, {events:,} events, {len(hurt)} damaged: all found.")
    print(f"{machine.cores} cores of {machine.processor}; load {os.getloadavg()[0]:.1f}\n")
    print("| | seconds | of processors | ms for a history |\n| --- | --- | --- | --- |")
    for row in rows:
        print(row.cells(options.histories))


if __name__ == "__main__":
    main()
