"""What the mappings of Kafka do not notice: each line of the recordings is damaged in every small
way, one at a time, and the history that it belongs to is judged again.

    python -m bench.damage --logs
    python -m bench.damage --answers --part 20

A line is left out, is there twice, or changes places with the next one of its source and history;
each number is one more or less, each member of an enum another, each list has an element less.
Fields that say in which order lines come (`rising`, `not falling`) would show most of this by
themselves, so they are left out first; what is allowed then is judged once more with them.

Prints a table in Markdown: for every kind of damage how often it was tried, how often it was
allowed without and with these fields, how often unknown, how often events were left that belong to
no history, and the first lines of which any of that is so. `--part N` tries one damage in N, chosen
by a seed. A field that the mapping does not name is not tried: nothing looks at it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.machine import ROOT
from fencepost.checker.conform.fields import Unread
from fencepost.checker.conform.lines import History, Located, Reader
from fencepost.checker.conform.many import in_machine_code
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.verdicts import Effort, Judging
from fencepost.checker.printing.json_values import Json
from fencepost.spec.core.types import Enum
from fencepost.spec.elaborate.claims.program import load, mapped
from fencepost.spec.records import replace

RECORDINGS = ROOT / "tests" / "models" / "recordings"
EFFORT = Effort(states=10_000)
LOGS = (
    ("conform_v1", "r4_4_0", "java-4.4.0-tv1"),
    ("conform_v2", "r4_4_0", "java-4.4.0-tv2"),
    ("conform_v1", "r4_4_0", "offsets-4.4.0-tv1"),
    ("conform_v2", "r4_4_0", "offsets-4.4.0-tv2"),
    ("conform_v2", "r4_4_0", "coordinators-4.4.0-tv2"),
    ("conform_v2", "r4_4_0_outages", "java-4.4.0-tv2-kill"),
)
ANSWERS = (
    ("conform_answers_v1", "r4_4_0", "answers-4.4.0-tv1"),
    ("conform_answers_v2", "r4_4_0", "answers-4.4.0-tv2"),
    ("conform_answers_v2", "r4_4_0", "befallen-4.4.0-tv2"),
    ("conform_answers_v1", "r4_4_0", "groups-4.4.0-tv1"),
    ("conform_answers_v2", "r4_4_0", "groups-4.4.0-tv2"),
    ("conform_answers_v2", "r4_4_0", "moved-4.4.0-tv2"),
)

SHOWN = ("allowed", "unknown", "stray")
Event = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Damage:
    """What is done to a line, by its number in the file: the lines that stand there instead."""

    kind: str
    number: int
    lines: tuple[Event, ...]
    also: int | None = None  # the number of another line that is left out


@dataclass(slots=True)
class Row:
    """What became of a kind of damage."""

    tried: int = 0
    verdicts: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])


class Recording:
    """A recording, and its mapping in machine code."""

    def __init__(self, spec: str, check: str, file: str) -> None:
        program = load(ROOT / "models" / "kafka" / f"{spec}.fence")
        model, recording = mapped(program, next(c for c in program.checks if c.name == check), {})
        assert recording is not None
        self.recording = recording
        self.judging: Judging = in_machine_code(Mapped(model, recording))
        self.reader = Reader(recording)
        self.orders = {one.name for one in recording.orders}
        with gzip.open(RECORDINGS / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            self.events: list[Event] = [json.loads(line) for line in lines]
        self.located = [self._located(event) for event in self.events]
        self.owner = {
            said: one.key
            for one in self.located
            for said in one.by
            if one.key is not None and said is not None
        }
        self.keys = [self.key(one) for one in self.located]

    def _located(self, event: Event) -> Located:
        one, why = self.reader.located(json.dumps(event).encode())
        if one is None or why:
            raise Unread(why)
        return one

    def key(self, one: Located) -> object:
        """The history of an event."""
        if one.key is not None or self.recording.key is None:
            return one.key
        return next((self.owner[said] for said in one.by if said in self.owner), None)

    def kind(self, number: int) -> str:
        """What a line says."""
        event = self.events[number]
        said = event.get("kind", event.get("state"))
        offsets = str(event.get("source", "")).startswith("__consumer_offsets")
        return f"{said} of offsets" if offsets else f"{said}"

    def damages(self) -> Iterator[Damage]:
        """All that may be done to the lines of this recording."""
        last: dict[tuple[object, object], int] = {}
        for number, event in enumerate(self.events):
            kind = self.kind(number)
            yield Damage(f"{kind} left out", number, ())
            yield Damage(f"{kind} twice", number, (event, event))
            place = self.keys[number], event.get("source")
            if place in last:
                before = last[place]
                if self.judged_alike(before, number):
                    yield Damage("equal lines exchanged", before, (event,), number)
                else:
                    both = f"{self.kind(before)} and {kind} exchanged"
                    yield Damage(both, before, (event, self.events[before]), number)
            last[place] = number
            yield from self._fields(number, kind)

    def judged_alike(self, one: int, other: int) -> bool:
        """Whether two lines say the same to the mapping."""
        first, second = self.located[one].line, self.located[other].line
        assert first is not None
        assert second is not None
        return first.event == second.event and first.fields == second.fields

    def _fields(self, number: int, kind: str) -> Iterator[Damage]:
        event, line = self.events[number], self.located[number].line
        assert line is not None
        fields = self.recording.events[line.event].fields
        for one in fields:
            value = event.get(one.name)
            for what, other in _others(value, one.type):
                yield Damage(f"{kind}: {one.name} {what}", number, (event | {one.name: other},))
        for name in sorted((self.orders & event.keys()) - {one.name for one in fields}):
            for what, other in _others(event[name], None):
                yield Damage(f"{kind}: {name} {what}", number, (event | {name: other},))

    def verdict(self, damage: Damage, ordered: bool) -> str:
        """What is said of the damaged recording, with or without what orders its lines: the worst
        of the histories that are changed.
        """
        try:
            instead = [self._located(event) for event in damage.lines]
        except Unread:
            return "unreadable"
        touched = {self.keys[damage.number], *(self.key(one) for one in instead)}
        for one in instead:
            known = {self.owner[said] for said in one.by if said in self.owner}
            if one.key is not None and known - {one.key}:
                return "two claim an id"
        strays = None in touched
        found: set[str] = {"stray"} if strays else set()
        for key in touched - {None}:
            history = History(None)
            for number, one in enumerate(self.located):
                if number == damage.number:
                    for each in instead:
                        if self.key(each) == key:
                            history.add(each if ordered else _bare(each), None)
                elif number != damage.also and self.keys[number] == key:
                    history.add(one if ordered else _bare(one), None)
            found.add(self.judging.judge(history, EFFORT).verdict)
        return next(one for one in ("not allowed", "unknown", "stray", "allowed") if one in found)


def _bare(one: Located) -> Located:
    return replace(one, standings=())


def _others(value: Json, kind: object) -> Iterator[tuple[str, Json]]:
    """Other values of a field."""
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
    one = Recording(*recorded)
    chosen = random.Random(seed)
    for damage in one.damages():
        if part == 1 or not chosen.randrange(part):
            row = rows.setdefault(damage.kind, Row())
            verdict = one.verdict(damage, ordered=False)
            row.tried += 1
            row.verdicts[verdict] += 1
            if verdict == "allowed" and one.verdict(damage, ordered=True) == "allowed":
                row.verdicts["with all"] += 1
            if verdict in SHOWN:
                row.examples.append(f"{damage.number + 1} {verdict}")
    return rows


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--logs", action="store_true")
    options.add_argument("--answers", action="store_true")
    options.add_argument("--only", default="")
    options.add_argument("--part", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    recorded = [*(LOGS if given.logs else ()), *(ANSWERS if given.answers else ())]
    recorded = [one for one in recorded if given.only in one[2]]
    print("| recording | damage | tried | allowed | with order | unknown | stray | lines |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for spec, check, file in recorded:
        for kind, row in sorted(_swept((spec, check, file), given.part, given.seed).items()):
            counts = [row.verdicts[one] for one in ("allowed", "with all", "unknown", "stray")]
            if any(counts):
                cells = (file, kind, row.tried, *counts, ", ".join(row.examples[:3]))
                print("", *cells, "", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
