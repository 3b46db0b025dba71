"""Both engines find the same of histories: verdicts, runs, what was visited, what is said."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.support.damage import DAMAGE, Event
from tests.support.kafka_text import MODELS
from tests.support.lease import HISTORIES, folder_with, written

from fencepost.checker.conform import packed
from fencepost.checker.conform.lines import read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.packed import PackedMapping
from fencepost.checker.conform.search import Effort, Judged, judge
from fencepost.checker.request import Unsupported
from fencepost.spec.elaborate.program import load, mapped

RECORDINGS = Path(__file__).parents[2] / "models" / "recordings"
EFFORT = Effort(2_000)


@dataclass(frozen=True, slots=True)
class Recorded:
    spec: str
    check: str
    file: str

    def __str__(self) -> str:
        return f"{self.file}-{self.check}"

    @property
    def path(self) -> Path:
        return RECORDINGS / f"{self.file}.jsonl.gz"


ALL = (
    Recorded("conform_v1", "r4_4_0", "java-4.4.0-tv1"),
    Recorded("conform_v2", "r4_4_0", "java-4.4.0-tv2"),
    Recorded("conform_v2", "r4_2_0_outages", "java-4.4.0-tv2-kill"),
    Recorded("conform_answers_v1", "r4_4_0", "answers-4.4.0-tv1"),
    Recorded("conform_answers_v2", "r4_4_0", "befallen-4.4.0-tv2"),
)


@cache
def engines(one: Recorded) -> tuple[Mapped, PackedMapping]:
    program = load(MODELS / f"{one.spec}.fence")
    check = next(each for each in program.checks if each.name == one.check)
    model, recording = mapped(program, check, {})
    assert recording is not None
    compared = Mapped(model, recording)
    return compared, PackedMapping(compared)


def same(one: Recorded, path: Path) -> list[Judged]:
    """What both find of two histories."""
    compared, machine = engines(one)
    histories = read(compared.recording, [path]).histories[:2]
    found = [judge(compared, history, EFFORT) for history in histories]
    assert [machine.judge(history, EFFORT, runs=True) for history in histories] == found
    return found


def test_steps_that_are_inputs_and_show_choices(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "r.jsonl"
    path.write_text(written({name: one for name, (one, _, _) in HISTORIES.items()}), "utf-8")
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    compared = Mapped(model, recording)
    machine = PackedMapping(compared)
    for history in read(recording, [path]).histories:
        expected = judge(compared, history, EFFORT)
        assert machine.judge(history, EFFORT, runs=True) == expected
        assert (expected.verdict, expected.read) == HISTORIES[str(history.key)][1:]


def test_states_that_are_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, _ = engines(ALL[1])
    monkeypatch.setattr(packed, "MOST_WORDS", 16)
    with pytest.raises(Unsupported, match="more than 16 words"):
        PackedMapping(compared)


@pytest.mark.parametrize("one", ALL, ids=str)
def test_recordings_of_brokers(one: Recorded) -> None:
    assert all(each.states > 10 for each in same(one, one.path))


def test_recordings_that_are_damaged(tmp_path: Path) -> None:
    one = ALL[1]
    with gzip.open(one.path, "rt", encoding="utf-8") as lines:
        events: list[Event] = [json.loads(line) for line in lines]
    verdicts: list[str] = []
    for number, damage in enumerate(DAMAGE):
        hurt = [dict(event) for event in events]
        damage(random.Random(number), hurt)
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in hurt), encoding="utf-8")
        verdicts += [each.verdict for each in same(one, path)]
    assert {"allowed", "not allowed"} <= set(verdicts)
