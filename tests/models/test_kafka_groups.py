"""Recordings of the answers and logs of real group coordinators are compared with the rules of the
models.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.damage import DAMAGE, Event, sequence_restarts
from tests.support.kafka_recordings import (
    ALLOWED,
    HERE,
    by_owner,
    damaged,
    judged,
    lines_of,
    mapping,
    verdicts,
)

from fencepost.checker.systems.conform.lines import read

GROUPS = ("groups-4.4.0-tv1", "groups-4.4.0-tv2")


def written(events: list[Event], folder: Path) -> Path:
    path = folder / "some.jsonl"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return path


def test_group_coordinators_answer_in_every_way() -> None:
    """The recordings exercise each rule of B13 and B14."""
    answers = {(event["kind"], event.get("error")) for file in GROUPS for event in lines_of(file)}
    committed = {error for kind, error in answers if kind == "txn_offset_commit"}
    assert committed == {
        "NONE", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "INVALID_PRODUCER_EPOCH",
        "INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS",
    }  # fmt: skip
    assert {error for kind, error in answers if kind == "fetch_offsets"} == {
        "NONE", "UNSTABLE_OFFSET_COMMIT"
    }  # fmt: skip
    assert ("late_marker", "TRANSACTION_COORDINATOR_FENCED") in answers
    assert {"add_offsets", "joined", "left"} <= {kind for kind, _ in answers}


def another_error(event: Event) -> bool:
    if event["kind"] != "txn_offset_commit":
        return False
    event["error"] = "ILLEGAL_GENERATION" if event["error"] != "ILLEGAL_GENERATION" else "NONE"
    return True


def another_offset(event: Event) -> bool:
    if event["kind"] != "fetch_offsets" or event["error"] != "NONE":
        return False
    event["offset"] = 0 if event["offset"] == 1 else event["offset"] + 1
    return True


def stable_or_not(event: Event) -> bool:
    if event["kind"] != "fetch_offsets":
        return False
    stable = event["error"] == "NONE"
    event |= {"error": "UNSTABLE_OFFSET_COMMIT" if stable else "NONE", "offset": -1}
    return True


def a_stranger(event: Event) -> bool:
    """Makes a committer without membership name a generation."""
    if event["kind"] != "txn_offset_commit" or event["error"] != "NONE":
        return False
    event |= {"member": 2, "generation": 3}
    return True


def marker_not_fenced(event: Event) -> bool:
    if event.get("error") != "TRANSACTION_COORDINATOR_FENCED":
        return False
    event["error"] = "NONE"
    return True


@pytest.mark.parametrize(
    "changed",
    [another_error, another_offset, stable_or_not, a_stranger, marker_not_fenced],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("file", GROUPS)
def test_a_wrong_answer_is_not_allowed(
    file: str, changed: Callable[[Event], bool], tmp_path: Path
) -> None:
    """Each of the first ten answers to which a change applies is rejected with that change."""
    compared = mapping(f"conform_answers_v{file[-1]}", "r4_4_0")
    events = lines_of(file)
    places = [number for number, event in enumerate(events) if changed(dict(event))]
    assert len(places) > 2
    for number in places[:10]:
        event = events[number]
        wrong = dict(event)
        changed(wrong)
        own = [earlier for earlier in events[:number] if earlier["episode"] == event["episode"]]
        assert verdicts(compared, written([*own, wrong], tmp_path)) == {"not allowed"}, wrong


@pytest.mark.parametrize("kinds", [{"joined"}, {"left"}, {"txn_offset_commit"}], ids=min)
def test_changes_of_a_group_are_needed(kinds: set[str], tmp_path: Path) -> None:
    kept = [event for event in lines_of(GROUPS[1]) if event["kind"] not in kinds]
    compared = mapping("conform_answers_v2", "r4_4_0")
    assert verdicts(compared, written(kept, tmp_path)) == {"allowed", "not allowed"}


# ---------------------------------------------------------------- logs


@pytest.mark.parametrize(
    ("version", "damage"),
    # With V2 each client epoch has one batch per partition here.
    [(v, change) for v in (1, 2) for change in DAMAGE if v == 1 or change is not sequence_restarts],
    ids=lambda item: getattr(item, "__name__", f"v{item}"),
)
def test_damage_to_offsets_is_not_allowed(
    damage: Callable[[random.Random, list[Event]], None], version: int, tmp_path: Path
) -> None:
    """Damage to a recording that consists mostly of offsets, with different coordinators for all
    ids, is not allowed either.
    """
    compared = mapping("conform_kafka", "r4_4_0")
    for seed in range(3):
        may_be = version == 1 and (damage.__name__, seed) in ALLOWED
        results = verdicts(compared, damaged(damage, seed, version, tmp_path, "offsets"))
        assert results == {"allowed" if may_be else "not allowed"}, seed


def test_offsets_of_a_group_are_in_one_partition(tmp_path: Path) -> None:
    """B13.5: all offsets of a group are in one partition."""
    compared = mapping("conform_kafka", "r4_4_0")
    events = lines_of("offsets-4.4.0-tv2")
    homes = {event["group"]: event["source"] for event in events if "group" in event}
    assert len(set(homes.values())) > 1
    batch = next(event for event in events if event.get("group") == "red")
    owner = by_owner(events)[batch["producer_id"]]
    [elsewhere, *_] = [group for group, home in homes.items() if home != homes["red"]]
    batch["group"] = elsewhere
    path = written(events, tmp_path)
    assert verdicts(compared, path, owner) == {"not allowed"}
    assert verdicts(compared, path) == {"allowed", "not allowed"}


def test_offsets_have_no_sequence_of_their_own(tmp_path: Path) -> None:
    events = lines_of("offsets-4.4.0-tv2")
    batch = next(event for event in events if "group" in event)
    batch["sequence"] = 1
    path = written(events, tmp_path)
    compared = mapping("conform_kafka", "r4_4_0")
    assert verdicts(compared, path, by_owner(events)[batch["producer_id"]]) == {"not allowed"}


# ---------------------------------------------------------------- several coordinators


def test_ids_of_different_coordinators_are_judged_apart(tmp_path: Path) -> None:
    """Ids write to the same partitions without influencing each other.

    Searching the lines of one id alone visits the same states. The partition of its coordinator and
    the moves of the coordinator make no difference.
    """
    compared = mapping("conform_kafka", "r4_4_0")
    events = lines_of("coordinators-4.4.0-tv2")
    owner = by_owner(events)
    together = judged(compared, HERE / "coordinators-4.4.0-tv2.jsonl.gz")
    assert len({event["source"] for event in events if "state" in event}) == 2
    assert len({event["leader_epoch"] for event in events if "state" in event}) > 2
    for name, result in together.items():
        own = [event for event in events if owner[event["producer_id"]] == name]
        assert {event["source"] for event in own} >= {"t-0", "t-1"}
        [alone] = judged(compared, written(own, tmp_path)).values()
        assert (alone.verdict, alone.states) == ("allowed", result.states)


def test_a_producer_id_from_two_coordinators(tmp_path: Path) -> None:
    """A block of producer ids belongs to one coordinator, so no two ids share a producer id."""
    events = lines_of("coordinators-4.4.0-tv2")
    ids = sorted({event["producer_id"] for event in events if "state" in event})
    homes = {event["producer_id"]: event["source"] for event in events if "state" in event}
    stolen = next(id_ for id_ in ids if homes[id_] != homes[ids[0]])
    wrong = [
        event | {"producer_id": ids[0]} if event["producer_id"] == stolen else event
        for event in events
    ]
    recorded = read(mapping("conform_kafka", "r4_4_0").recording, [written(wrong, tmp_path)])
    [problem] = recorded.problems
    assert problem.code == "F047"
    assert "belongs to the histories" in problem.message


@pytest.mark.parametrize(
    "damage",
    [change for change in DAMAGE if change is not sequence_restarts],
    ids=lambda change: change.__name__,
)
def test_damage_with_several_coordinators(
    damage: Callable[[random.Random, list[Event]], None], tmp_path: Path
) -> None:
    compared = mapping("conform_kafka", "r4_4_0")
    path = damaged(damage, 0, 2, tmp_path, "coordinators")
    assert verdicts(compared, path) == {"not allowed"}


MOVED = HERE / "moved-4.4.0-tv2.jsonl.gz"


def test_a_move_of_the_coordinator_is_needed(tmp_path: Path) -> None:
    kept = [event for event in lines_of("moved-4.4.0-tv2") if event["kind"] != "moved"]
    compared = mapping("conform_answers_v2", "r4_4_0")
    results = judged(compared, written(kept, tmp_path))
    assert [key for key, result in results.items() if result.verdict != "allowed"] == [0, 2]


def test_a_move_notices_lost_state() -> None:
    """B15: no record contains the epoch before the last one (KAFKA-20357)."""
    changed = (("coordinator_rules.PersistLastEpoch", "true"),)
    compared = mapping("conform_answers_v2", "r4_4_0", changed)
    assert verdicts(compared, MOVED, 0) == {"not allowed"}
