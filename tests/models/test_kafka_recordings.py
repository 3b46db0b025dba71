"""Recorded logs and answers of real brokers (in recordings/) are compared with the rules of the
models.

Of the rules that answers depend on, only a few are changed; with ``FENCEPOST_RULES=all``, all of
them are.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.amounts import everything
from tests.support.damage import DAMAGE, DISORDER, Event, is_record
from tests.support.kafka_recordings import (
    ALLOWED,
    EFFORT,
    HERE,
    Recorded,
    by_owner,
    damaged,
    judged,
    mapping,
    verdicts,
)

from fencepost.checker.systems.conform import mapping as module
from fencepost.checker.systems.conform.lines import read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.kafka.batches import Batch
from fencepost.checker.systems.kafka.events import Entry
from fencepost.checker.systems.kafka.recorder import record

ALL = (
    Recorded("conform_kafka", "r4_4_0", "java-4.4.0-tv1", 4),
    Recorded("conform_kafka", "r4_4_0", "java-4.4.0-tv2", 4),
    Recorded("conform_kafka", "r4_4_0_outages", "java-4.4.0-tv2-kill", 4),
    Recorded("conform_answers_v1", "r4_4_0", "answers-4.4.0-tv1", 60),
    Recorded("conform_answers_v2", "r4_4_0", "answers-4.4.0-tv2", 60),
    Recorded("conform_answers_v2", "r4_4_0", "events-4.4.0-tv2", 50),
    Recorded("conform_answers_v2", "r4_2_0", "events-4.2.0-tv2", 4),
    Recorded("conform_answers_v1", "r4_4_0", "groups-4.4.0-tv1", 60),
    Recorded("conform_answers_v2", "r4_4_0", "groups-4.4.0-tv2", 110),
    Recorded("conform_answers_v1", "r4_2_0", "groups-4.2.0-tv1", 40),
    Recorded("conform_answers_v2", "r4_2_0", "groups-4.2.0-tv2", 40),
    Recorded("conform_answers_v2", "r4_4_0", "moved-4.4.0-tv2", 61),
    Recorded("conform_kafka", "r4_4_0", "coordinators-4.4.0-tv2", 4),
    Recorded("conform_kafka", "r4_4_0", "offsets-4.4.0-tv1", 4),
    Recorded("conform_kafka", "r4_4_0", "offsets-4.4.0-tv2", 4),
)
MIXED = sorted((HERE / "mixed").glob("*.jsonl.gz"))
"""Recordings of clients of several versions at every level, with changes of the level."""
EVENTS = HERE / "events-4.4.0-tv2.jsonl.gz"
SEEDS = 5 if everything("RULES") else 2
"""The number of histories that are damaged in each way."""


@pytest.mark.parametrize("recorded", ALL, ids=str)
def test_recordings_are_allowed_by_the_rules_of_their_release(recorded: Recorded) -> None:
    results = judged(mapping(recorded.spec, recorded.check), HERE / f"{recorded.file}.jsonl.gz")
    assert [key for key, result in results.items() if result.verdict != "allowed"] == []
    assert len(results) == recorded.histories


@pytest.mark.parametrize("path", MIXED, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_clients_of_several_versions_are_allowed(path: Path) -> None:
    release = "r4_2_0" if "4.2.0" in path.name else "r4_4_0"
    check = f"{release}_outages" if path.name.startswith("killed-4.2.0") else release
    results = judged(mapping("conform_kafka", check), path)
    assert {key: result.verdict for key, result in results.items()} == dict.fromkeys(
        results, "allowed"
    )
    assert results


def test_the_former_names_of_the_mapping() -> None:
    for version in (1, 2):
        path = HERE / f"offsets-4.4.0-tv{version}.jsonl.gz"
        assert verdicts(mapping(f"conform_v{version}", "r4_4_0"), path) == {"allowed"}


@pytest.mark.parametrize("recorded", ALL[2:4], ids=str)
def test_caches_agree_with_a_plain_model(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps and their observations equal those of a mapping that tries every action."""
    compared = mapping(recorded.spec, recorded.check)
    histories = read(compared.recording, [HERE / f"{recorded.file}.jsonl.gz"]).histories[:3]

    def unknown(body: object) -> None:
        return None

    monkeypatch.setattr(module, "received", unknown)
    plain = MappedModel(compared.model, compared.recording)
    states = {state for history in histories for state, _ in judge(compared, history, EFFORT).way}
    assert len(states) > 200
    for state in states:
        assert compared.expansion(state) == plain.expansion(state)


def test_a_marker_that_was_skipped_is_not_allowed_where_it_waits_for_a_leader() -> None:
    """B10: the broker was killed between PrepareAbort and the markers of two partitions."""
    path = HERE / "java-4.4.0-tv2-kill.jsonl.gz"
    [j2] = judged(mapping("conform_kafka", "r4_2_0_outages"), path, "j2").values()
    assert (j2.verdict, j2.read, j2.cuts) == ("not allowed", 20, ())
    [record] = [line.line for line in j2.waiting if line.source == "__transaction_state-0"]
    assert record is not None
    assert "CompleteAbort" in record.text
    assert j2.instead
    assert all(text.startswith("ABORT(") for text in j2.instead)
    # The rules of 4.4.0 without any outage give the same verdict.
    assert verdicts(mapping("conform_kafka", "r4_4_0"), path, "j2") == {"not allowed"}


@dataclass(frozen=True, slots=True)
class Compacted:
    """The log of a partition, from the first offset after which there are no gaps."""

    source: str
    lines: list[Event]

    def read(self) -> Iterator[tuple[Batch, list[Entry]]]:
        for line in self.lines:
            at = line["offset"]
            batch = Batch(at, at, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
            yield batch, [Entry(at, line.get("id"), line)]


def without_beginning(path: Path, part: float) -> list[Compacted]:
    """Returns the logs of a recording, compacted at their beginning.

    In the first ``part`` of the coordinator's log, compaction has kept only the last record of each
    id.
    """
    logs: dict[str, list[Event]] = {}
    for text in gzip.decompress(path.read_bytes()).decode().splitlines():
        line = json.loads(text)
        logs.setdefault(line["source"], []).append(line)
    for source, lines in logs.items():
        for number, line in enumerate(lines):
            line["offset"] = number
        if source.startswith("__transaction_state"):
            early, late = lines[: int(part * len(lines))], lines[int(part * len(lines)) :]
            last = {line["id"]: line for line in early}
            kept = [line for line in last.values() if line["offset"] < len(early) - 1]
            logs[source] = kept + late
    return [Compacted(source, lines) for source, lines in sorted(logs.items())]


@pytest.mark.parametrize("recorded", ALL[:3], ids=str)
def test_histories_that_have_lost_their_beginning(recorded: Recorded, tmp_path: Path) -> None:
    """Such histories begin with an InitProducerId. They are allowed, but not if a marker is
    missing.
    """
    compared = mapping(recorded.spec, recorded.check)
    late = 0
    for part in (0.2, 0.6):
        folder = tmp_path / f"{part}"
        folder.mkdir()
        recording = record(without_beginning(HERE / f"{recorded.file}.jsonl.gz", part), (), folder)
        late += recording.late
        assert (recording.lost, recording.absent) == ([], [])
        paths = sorted(folder.glob("*.jsonl"))
        histories = read(compared.recording, paths)
        assert not histories.problems
        for history in histories.histories:
            assert judge(compared, history, EFFORT).verdict == "allowed", (part, history.key)
    assert late >= 5
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        markers = [n for n, line in enumerate(lines) if '"kind": "COMMIT"' in line]
        if path.name.startswith("t-") and markers:
            del lines[markers[0]]
            path.write_text("".join(lines), encoding="utf-8")
            break
    damaged = [judge(compared, each, EFFORT) for each in read(compared.recording, paths).histories]
    # If brokers were down, a marker may be skipped.
    wrong = 0 if recorded.check.endswith("_outages") else 1
    assert [each.verdict for each in damaged].count("not allowed") == wrong


# ---------------------------------------------------------------- changed rules

CHANGED = {
    "conform_answers_v1": (
        "coordinator_rules.FenceOnInit=false",
        "coordinator_rules.PendingFirstAdd=false",
        "coordinator_rules.StrictClientEpoch=false",
        "leader_rules.EpochInOngoingCheck=false",
        "leader_rules.LowestSequence=false",
        "leader_rules.Verify=false",
        "coordinator_rules.CheckExpectedEpoch=true",
    ),
    "conform_answers_v2": (
        "coordinator_rules.BumpOnEnd=false",
        "coordinator_rules.SingleFenceBump=false",
        "leader_rules.EpochInOngoingCheck=false",
        "leader_rules.FirstSequenceZero=false",
        "leader_rules.LowestSequence=false",
        "leader_rules.MarkerIdempotent=false",
        "leader_rules.StrictMarker=false",
        "coordinator_rules.CheckExpectedEpoch=true",
        "leader_rules.KeepNewerEntry=true",
    ),
}


@pytest.mark.parametrize(
    "constant",
    [
        "coordinator_rules.PersistPreviousAndNext=false",
        "coordinator_rules.PersistLastEpoch=true",
        "coordinator_rules.RotateOnFence=false",
    ],
)
def test_recorded_faults_notice_a_changed_rule(constant: str) -> None:
    name, _, value = constant.partition("=")
    compared = mapping("conform_answers_v2", "r4_4_0", ((name, value),))
    assert verdicts(compared, EVENTS) == {"allowed", "not allowed"}


def test_a_fence_at_the_very_last_epoch_is_impossible_before_4_3() -> None:
    """B1.4 is tested after a downgrade of the level and with the original level."""
    path = HERE / "events-4.2.0-tv2.jsonl.gz"
    results = judged(mapping("conform_answers_v2", "r4_4_0"), path)
    no, yes = "not allowed", "allowed"
    assert [result.verdict for result in results.values()] == [no, no, yes, no]


@pytest.mark.parametrize(
    "kinds", [{"killed"}, {"put"}, {"stopped", "continued"}, {"level"}], ids=min
)
def test_recorded_faults_are_needed(kinds: set[str], tmp_path: Path) -> None:
    """Without these events, the recorded answers are not allowed."""
    with gzip.open(EVENTS, "rt", encoding="utf-8") as file:
        lines = [line for line in file if json.loads(line)["kind"] not in kinds]
    (tmp_path / "left.jsonl").write_text("".join(lines), encoding="utf-8")
    compared = mapping("conform_answers_v2", "r4_4_0")
    assert verdicts(compared, tmp_path / "left.jsonl") == {"allowed", "not allowed"}


@pytest.mark.parametrize(
    ("spec", "constant"),
    [
        (spec, constant)
        for spec, constants in CHANGED.items()
        for constant in (constants if everything("RULES") else constants[:2])
    ],
)
def test_answers_notice_a_rule_that_is_changed(spec: str, constant: str) -> None:
    name, _, value = constant.partition("=")
    compared = mapping(spec, "r4_4_0", ((name, value),))
    path = HERE / f"answers-4.4.0-tv{spec[-1]}.jsonl.gz"
    recording = read(compared.recording, [path])
    assert any(
        judge(compared, history, EFFORT).verdict == "not allowed" for history in recording.histories
    )


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda change: change.__name__)
@pytest.mark.parametrize("version", [1, 2])
def test_damage_is_not_allowed(
    damage: Callable[[random.Random, list[Event]], None], version: int, tmp_path: Path
) -> None:
    """Damage is noticed, since no message of the recordings is in flight when a request arrives."""
    compared = mapping("conform_kafka", "r4_4_0")
    for seed in range(SEEDS):
        may_be = version == 1 and (damage.__name__, seed) in ALLOWED
        results = verdicts(compared, damaged(damage, seed, version, tmp_path))
        assert results == {"allowed" if may_be else "not allowed"}, seed


@pytest.mark.parametrize("damage", DISORDER, ids=lambda change: change.__name__)
@pytest.mark.parametrize("version", [1, 2])
def test_reordered_lines_are_not_allowed(
    damage: Callable[[random.Random, list[Event]], None], version: int, tmp_path: Path
) -> None:
    compared = mapping("conform_kafka", "r4_4_0")
    for seed in range(SEEDS):
        path = damaged(damage, seed, version, tmp_path, ordered=True)
        assert verdicts(compared, path) == {"not allowed"}, seed
        [history] = read(compared.recording, [path]).histories
        assert any(line.misplaced for lines in history.sources.values() for line in lines), seed


def test_duplicate_offsets_are_allowed(tmp_path: Path) -> None:
    """A client may commit the same offsets twice; their sequence numbers are ignored (B5.4)."""
    for version in (1, 2):
        compared = mapping("conform_kafka", "r4_4_0")
        path = damaged(offsets_twice, 0, version, tmp_path)
        assert verdicts(compared, path) == {"allowed"}


def offsets_twice(rng: random.Random, events: list[Event]) -> None:
    offsets = [n for n, e in enumerate(events) if e["source"] == "__consumer_offsets-0"]
    number = rng.choice([n for n in offsets if events[n]["kind"] == "DATA"])
    events.insert(number, dict(events[number]))


def test_the_interleaving_is_irrelevant(tmp_path: Path) -> None:
    """Sources are unordered relative to each other, so only the order within each source
    matters.
    """
    compared = mapping("conform_kafka", "r4_2_0_outages")
    path = HERE / "java-4.4.0-tv2-kill.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    lines.sort(key=lambda line: json.loads(line)["source"], reverse=True)
    other = tmp_path / "other.jsonl"
    other.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert judged(compared, other) == judged(compared, path)


# ---------------------------------------------------------------- lines of other histories


def first(events: list[Event], fits: Callable[[Event], bool]) -> Event:
    return next(event for event in events if fits(event))


def another_producer_id(events: list[Event]) -> set[str]:
    """Attributes a batch of j1 to j0.

    The batch may be missing from j1, since its append may have failed.
    """
    ids = {event["id"]: event["producer_id"] for event in events if is_record(event)}
    batch = first(events, lambda e: e.get("kind") == "DATA" and e["producer_id"] == ids["j1"])
    batch["producer_id"] = ids["j0"]
    return {"j0"}


def complete_record_twice(events: list[Event]) -> set[str]:
    record = first(events, lambda event: event.get("state") == "CompleteCommit")
    events.insert(events.index(record), dict(record))
    return {record["id"]}


def batch_of_nobody(events: list[Event]) -> set[str]:
    """Adds a batch that belongs to no history; the report counts it."""
    batch = first(events, lambda event: event.get("kind") == "DATA")
    events.append({**batch, "producer_id": 99})
    return set()


def cut_short(events: list[Event]) -> set[str]:
    """Removes the end of a log. A log may end anywhere, but not before an entry that another log
    implies.
    """
    last = max(n for n, event in enumerate(events) if event.get("kind") == "COMMIT")
    owner = by_owner(events)[events[last]["producer_id"]]
    del events[last]
    return {owner}


@pytest.mark.parametrize(
    "damage",
    [another_producer_id, complete_record_twice, batch_of_nobody, cut_short],
    ids=lambda change: change.__name__,
)
def test_misattributed_lines(damage: Callable[[list[Event]], set[str]], tmp_path: Path) -> None:
    """After the damage, exactly the histories that it returns are not allowed."""
    with gzip.open(HERE / "java-4.4.0-tv2.jsonl.gz", "rt", encoding="utf-8") as file:
        events: list[Event] = [json.loads(line) for line in file]
    expected = damage(events)
    path = tmp_path / "damaged.jsonl"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    results = judged(mapping("conform_kafka", "r4_4_0"), path)
    assert {key for key, result in results.items() if result.verdict != "allowed"} == expected
    assert {result.verdict for result in results.values()} <= {"allowed", "not allowed"}


def test_a_file_that_is_cut_in_the_middle_of_a_line(tmp_path: Path) -> None:
    """The lines before the cut are judged, and the report says where the file ends."""
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes((HERE / "java-4.4.0-tv2.jsonl.gz").read_bytes()[:-2000])
    compared = mapping("conform_kafka", "r4_4_0")
    recording = read(compared.recording, [path])
    assert [problem.code for problem in recording.problems] == ["F047"]
    assert "ends too early" in recording.problems[0].message
    assert len(recording.histories) == 4


def test_a_producer_id_of_two_ids(tmp_path: Path) -> None:
    """The batches of such a producer id belong to neither id, and the report says so. Histories
    without such batches are judged as usual.
    """
    with gzip.open(HERE / "java-4.4.0-tv2.jsonl.gz", "rt", encoding="utf-8") as file:
        events: list[Event] = [json.loads(line) for line in file]
    first(events, lambda e: (e.get("id"), e.get("state")) == ("j1", "Ongoing"))["id"] = "j0"
    path = tmp_path / "damaged.jsonl"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    compared = mapping("conform_kafka", "r4_4_0")
    recording = read(compared.recording, [path])
    [problem] = recording.problems
    assert "belongs to the histories j0 and j1" in problem.message
    whole = {
        history.key: judge(compared, history, EFFORT).verdict for history in recording.histories
    }
    assert whole == {
        "j0": "not allowed", "j1": "not allowed", "j2": "allowed", "j3": "allowed",
    }  # fmt: skip
