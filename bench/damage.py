"""Finds damage that the mappings of Kafka do not notice: damages each line of the recordings in
every small way, one change at a time, and judges the affected history again.

    python -m bench.damage --logs
    python -m bench.damage --answers --part 20

A line is left out, duplicated, or exchanged with the next line that has the same source and
history. Each number is increased or decreased by one, each member of an enum is replaced by each
other member, and each list loses an element. Fields that give the order of lines (`rising`, `not
falling`) would by themselves reveal most damage, so they are left out at first; damaged histories
that are then allowed are judged once more with these fields.

`--common N` draws N damages of the kinds that administrators meet (`COMMON`), evenly by recording
and kind, and counts how many are noticed, and how many are named in the first 20 lines of the
refusal.

Prints a Markdown table that has, for every kind of damage, the number of trials, how many were
allowed without and with these fields, how many were unknown, how many left events that belong to no
history, and the first lines with any of these results. `--part N` tries one change in N, chosen by
a seed. Fields that the mapping does not name are not tried, since nothing reads them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from bench.machine import ROOT
from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.conformance import MAX_SHOWN_REASONS
from fencepost.checker.systems.conform.fields import Unread
from fencepost.checker.systems.conform.lines import History, LocatedEvent, Reader
from fencepost.checker.systems.conform.many import in_machine_code
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.verdicts import Effort, Judge, Judgement
from fencepost.spec.core.recording import Recording as Mapping
from fencepost.spec.core.types import Enum
from fencepost.spec.elaborate.claims.program import load, mapped
from fencepost.spec.records import replace

RECORDINGS = ROOT / "tests" / "models" / "recordings"
EFFORT = Effort(states=10_000)
LOGS = (
    ("conform_kafka", "r4_4_0", "java-4.4.0-tv1"),
    ("conform_kafka", "r4_4_0", "java-4.4.0-tv2"),
    ("conform_kafka", "r4_4_0", "offsets-4.4.0-tv1"),
    ("conform_kafka", "r4_4_0", "offsets-4.4.0-tv2"),
    ("conform_kafka", "r4_4_0", "coordinators-4.4.0-tv2"),
    ("conform_kafka", "r4_4_0_outages", "java-4.4.0-tv2-kill"),
)
MIXED = (
    ("conform_kafka", "r4_2_0", "mixed/java39-4.2.0-tv0"),
    ("conform_kafka", "r4_4_0", "mixed/java39-4.4.0-tv2"),
    ("conform_kafka", "r4_2_0", "mixed/java44-4.2.0-tv2"),
    ("conform_kafka", "r4_4_0", "mixed/java44-4.4.0-tv1"),
    ("conform_kafka", "r4_4_0", "mixed/kafka-python-4.4.0-tv2"),
    ("conform_kafka", "r4_2_0_outages", "mixed/killed-4.2.0-tv1"),
    ("conform_kafka", "r4_4_0", "mixed/killed-4.4.0-tv2"),
    ("conform_kafka", "r4_2_0", "mixed/librdkafka-4.2.0-tv1"),
    ("conform_kafka", "r4_4_0", "mixed/librdkafka-4.4.0-tv0"),
    ("conform_kafka", "r4_4_0", "mixed/librdkafka-4.4.0-tv2"),
    ("conform_kafka", "r4_2_0", "mixed/lowered-4.2.0-2-1"),
    ("conform_kafka", "r4_4_0", "mixed/lowered-4.4.0-2-1"),
    ("conform_kafka", "r4_2_0", "mixed/raised-4.2.0-0-2"),
    ("conform_kafka", "r4_4_0", "mixed/raised-4.4.0-1-2"),
)
ANSWERS = (
    ("conform_answers_v1", "r4_4_0", "answers-4.4.0-tv1"),
    ("conform_answers_v2", "r4_4_0", "answers-4.4.0-tv2"),
    ("conform_answers_v2", "r4_4_0", "events-4.4.0-tv2"),
    ("conform_answers_v1", "r4_4_0", "groups-4.4.0-tv1"),
    ("conform_answers_v2", "r4_4_0", "groups-4.4.0-tv2"),
    ("conform_answers_v2", "r4_4_0", "moved-4.4.0-tv2"),
)

COMMON: dict[str, tuple[str, ...]] = {
    "missing Prepare": ("Prepare is missing",),
    "missing marker": ("marker is missing",),
    "record behind its marker": ("behind its marker",),
    "sequence gap": ("sequence gap",),
    "duplicate batch": ("duplicate batch",),
    "wrong epoch": ("wrong epoch",),
}
"""The common damages, each with the words by which a refusal names it."""
SHOWN = ("allowed", "unknown", "stray")
Event = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged line: its number in the file, and the lines that replace it."""

    kind: str
    number: int
    lines: tuple[Event, ...]
    also: int | None = None  # the number of another line to leave out


@dataclass(slots=True)
class Row:
    """The results for a kind of damage."""

    tried: int = 0
    verdicts: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])


@cache
def _judge(spec: str, check: str) -> tuple[Mapping, Judge]:
    """Returns a mapping, and a judge that uses its machine code."""
    program = load(ROOT / "models" / "kafka" / f"{spec}.fence")
    model, recording = mapped(program, next(c for c in program.checks if c.name == check), {})
    assert recording is not None
    return recording, in_machine_code(MappedModel(model, recording))


class Recording:
    """A recording, with its mapping compiled to machine code."""

    def __init__(self, spec: str, check: str, file: str) -> None:
        self.recording, self.judging = _judge(spec, check)
        recording = self.recording
        self.reader = Reader(recording)
        self.orders = {order.name for order in recording.orders}
        with gzip.open(RECORDINGS / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            self.events: list[Event] = [json.loads(line) for line in lines]
        self.located = [self.located_event(event) for event in self.events]
        self.owner = {
            identifier: event.key
            for event in self.located
            for identifier in event.by
            if event.key is not None and identifier is not None
        }
        self.keys = [self.key(event) for event in self.located]

    def located_event(self, event: Event) -> LocatedEvent:
        located, reason = self.reader.located(json.dumps(event).encode())
        if located is None or reason:
            raise Unread(reason)
        return located

    def key(self, event: LocatedEvent) -> object:
        """Returns the key of the history that an event belongs to, or None."""
        if event.key is not None or self.recording.key is None:
            return event.key
        return next(
            (self.owner[identifier] for identifier in event.by if identifier in self.owner), None
        )

    def kind(self, number: int) -> str:
        """Returns the kind of a line."""
        event = self.events[number]
        name = event.get("kind", event.get("state"))
        offsets = str(event.get("source", "")).startswith("__consumer_offsets")
        return f"{name} of offsets" if offsets else f"{name}"

    def damages(self) -> Iterator[Damage]:
        """Yields every way to damage the lines of this recording."""
        last: dict[tuple[object, object], int] = {}
        for number, event in enumerate(self.events):
            kind = self.kind(number)
            yield Damage(f"{kind} left out", number, ())
            yield Damage(f"{kind} twice", number, (event, event))
            queue = self.keys[number], event.get("source")
            if queue in last:
                before = last[queue]
                if self.judged_alike(before, number):
                    yield Damage("equal lines exchanged", before, (event,), number)
                else:
                    both = f"{self.kind(before)} and {kind} exchanged"
                    yield Damage(both, before, (event, self.events[before]), number)
            last[queue] = number
            yield from self._fields(number, kind)

    def judged_alike(self, earlier: int, later: int) -> bool:
        """Whether two lines mean the same to the mapping."""
        first, second = self.located[earlier].line, self.located[later].line
        assert first is not None
        assert second is not None
        return first.event == second.event and first.fields == second.fields

    def _fields(self, number: int, kind: str) -> Iterator[Damage]:
        event, line = self.events[number], self.located[number].line
        assert line is not None
        fields = self.recording.events[line.event].fields
        for item in fields:
            value = event.get(item.name)
            for change, other in _others(value, item.type):
                yield Damage(f"{kind}: {item.name} {change}", number, (event | {item.name: other},))
        for name in sorted((self.orders & event.keys()) - {item.name for item in fields}):
            for change, other in _others(event[name], None):
                yield Damage(f"{kind}: {name} {change}", number, (event | {name: other},))

    def verdict(self, damage: Damage, ordered: bool) -> str:
        """Judges the damaged recording, with or without the fields that order its lines. Returns
        the worst verdict on the histories that changed.
        """
        try:
            instead = [self.located_event(event) for event in damage.lines]
        except Unread:
            return "unreadable"
        touched = {self.keys[damage.number], *(self.key(event) for event in instead)}
        for event in instead:
            owners = {self.owner[identifier] for identifier in event.by if identifier in self.owner}
            if event.key is not None and owners - {event.key}:
                return "two claim an id"
        strays = None in touched
        verdicts: set[str] = {"stray"} if strays else set()
        for key in touched - {None}:
            verdicts.add(self.judged(damage, instead, key, ordered).verdict)
        return next(
            verdict
            for verdict in ("not allowed", "unknown", "stray", "allowed")
            if verdict in verdicts
        )

    def judged(
        self,
        damage: Damage,
        instead: list[LocatedEvent],
        key: object,
        ordered: bool,
        effort: Effort = EFFORT,
    ) -> Judgement:
        """Judges one damaged history. ``instead`` has the lines that replace the damaged one."""
        history = History(None)
        for number, event in enumerate(self.located):
            if number == damage.number:
                for each in instead:
                    if self.key(each) == key:
                        history.add(each if ordered else _bare(each), None)
            elif number != damage.also and self.keys[number] == key:
                history.add(event if ordered else _bare(event), None)
        return self.judging.judge(history, effort)

    def common(self) -> dict[str, list[Damage]]:
        """Returns the common damages to this recording, by kind."""
        queues: dict[tuple[object, object], list[int]] = {}
        for number, event in enumerate(self.events):
            queues.setdefault((self.keys[number], event.get("source")), []).append(number)
        damages: dict[str, list[Damage]] = {kind: [] for kind in COMMON}
        for queue in queues.values():
            for at, number in enumerate(queue):
                event = self.events[number]
                later = queue[at + 1] if at + 1 < len(queue) else None
                for kind in _common_kinds(event, None if later is None else self.events[later]):
                    damages[kind].append(_common(kind, number, event, later, self.events))
        return damages


def _common_kinds(event: Event, later: Event | None) -> Iterator[str]:
    """Yields the kinds of common damage to an event. ``later`` is the next one in its source."""
    if str(event.get("state")).startswith("Prepare"):
        yield "missing Prepare"
    if event.get("kind") in ("COMMIT", "ABORT"):
        yield "missing marker"
    if event.get("kind") != "DATA" or str(event["source"]).startswith("__consumer_offsets"):
        return
    yield from ("duplicate batch", "wrong epoch")
    if later is not None and later.get("kind") in ("COMMIT", "ABORT"):
        yield "record behind its marker"
    if later is not None and later.get("kind") == "DATA" and later["epoch"] == event["epoch"]:
        yield "sequence gap"


def _common(kind: str, number: int, event: Event, later: int | None, events: list[Event]) -> Damage:
    match kind:
        case "duplicate batch":
            return Damage(kind, number, (event, event))
        case "wrong epoch":
            return Damage(kind, number, (event | {"epoch": int(str(event["epoch"])) + 1},))
        case "record behind its marker":
            assert later is not None
            return Damage(kind, number, (events[later], event), later)
        case _:
            return Damage(kind, number, ())


def _bare(located: LocatedEvent) -> LocatedEvent:
    return replace(located, standings=())


def _others(value: Json, kind: object) -> Iterator[tuple[str, Json]]:
    """Yields other values for a field, each preceded by a name for the change."""
    if isinstance(value, bool):
        yield "turned", not value
    elif isinstance(value, int):
        yield "+ 1", value + 1
        yield "- 1", value - 1
    elif isinstance(kind, Enum) and isinstance(value, str):
        for member in kind.members:
            if member != value:
                yield f"is {member}", member
    elif isinstance(value, list) and value:
        yield "has one less", value[1:]


def _swept(recorded: tuple[str, str, str], part: int, seed: int) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    recording = Recording(*recorded)
    chosen = random.Random(seed)
    for damage in recording.damages():
        if part == 1 or not chosen.randrange(part):
            row = rows.setdefault(damage.kind, Row())
            verdict = recording.verdict(damage, ordered=False)
            row.tried += 1
            row.verdicts[verdict] += 1
            if verdict == "allowed" and recording.verdict(damage, ordered=True) == "allowed":
                row.verdicts["with all"] += 1
            if verdict in SHOWN:
                row.examples.append(f"{damage.number + 1} {verdict}")
    return rows


def _named(count: int, seed: int) -> None:
    """Prints how many of ``count`` common damages are noticed, and named in a refusal."""
    chance = random.Random(seed)
    share = max(1, count // (len(COMMON) * len((*LOGS, *MIXED))))
    rows: dict[str, Row] = {kind: Row() for kind in COMMON}
    for names in (*LOGS, *MIXED):
        recording = Recording(*names)
        for kind, damages in recording.common().items():
            for damage in chance.sample(damages, min(share, len(damages))):
                instead = [recording.located_event(event) for event in damage.lines]
                key = recording.keys[damage.number]
                judged = recording.judged(damage, instead, key, ordered=False, effort=Effort())
                texts = " ".join(reason.text for reason in judged.reasons[:MAX_SHOWN_REASONS])
                named = any(word in texts for word in COMMON[kind])
                noticed = judged.verdict == "not allowed"
                row = rows[kind]
                row.tried += 1
                row.verdicts["noticed"] += noticed
                row.verdicts["named"] += noticed and named
                if not (noticed and named):
                    row.examples.append(f"{names[2]}:{damage.number + 1} {judged.verdict}")
    print("| damage | tried | noticed | named | others |\n| --- | --- | --- | --- | --- |")
    for kind, row in rows.items():
        counts = (row.tried, row.verdicts["noticed"], row.verdicts["named"])
        print("", kind, *counts, ", ".join(row.examples), "", sep=" | ")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", action="store_true")
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--common", type=int, default=0, metavar="N")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.common:
        _named(options.common, options.seed)
        return
    recorded = [*((*LOGS, *MIXED) if options.logs else ()), *(ANSWERS if options.answers else ())]
    recorded = [names for names in recorded if options.only in names[2]]
    print("| recording | damage | tried | allowed | with order | unknown | stray | lines |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for spec, check, file in recorded:
        for kind, row in sorted(_swept((spec, check, file), options.part, options.seed).items()):
            counts = [
                row.verdicts[verdict] for verdict in ("allowed", "with all", "unknown", "stray")
            ]
            if any(counts):
                cells = (file, kind, row.tried, *counts, ", ".join(row.examples[:3]))
                print("", *cells, "", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
