"""What group coordinators of real brokers answered and logged, against the rules of the models."""

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

from fencepost.checker.conform.lines import read

GROUPS = ("groups-4.4.0-tv1", "groups-4.4.0-tv2")


def written(events: list[Event], folder: Path) -> Path:
    path = folder / "some.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in events), encoding="utf-8")
    return path


def test_group_coordinators_answer_in_every_way() -> None:
    """What a verdict on these recordings is worth: each rule of B13 and B14 was met."""
    said = {(one["kind"], one.get("error")) for file in GROUPS for one in lines_of(file)}
    committed = {error for kind, error in said if kind == "txn_offset_commit"}
    assert committed == {
        "NONE", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "INVALID_PRODUCER_EPOCH",
        "INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS",
    }  # fmt: skip
    assert {error for kind, error in said if kind == "fetch_offsets"} == {
        "NONE", "UNSTABLE_OFFSET_COMMIT"
    }  # fmt: skip
    assert ("late_marker", "TRANSACTION_COORDINATOR_FENCED") in said
    assert {"add_offsets", "joined", "left"} <= {kind for kind, _ in said}


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
    """Who commits is no member, and names a generation."""
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
    ids=lambda one: one.__name__,
)
@pytest.mark.parametrize("file", GROUPS)
def test_a_wrong_answer_is_not_allowed(
    file: str, changed: Callable[[Event], bool], tmp_path: Path
) -> None:
    """Each of the first answers of a kind, wherever it is changed."""
    compared = mapping(f"conform_answers_v{file[-1]}", "r4_4_0")
    events = lines_of(file)
    places = [number for number, event in enumerate(events) if changed(dict(event))]
    assert len(places) > 2
    for number in places[:10]:
        event = events[number]
        wrong = dict(event)
        changed(wrong)
        own = [one for one in events[:number] if one["episode"] == event["episode"]]
        assert verdicts(compared, written([*own, wrong], tmp_path)) == {"not allowed"}, wrong


@pytest.mark.parametrize("kinds", [{"joined"}, {"left"}, {"txn_offset_commit"}], ids=min)
def test_what_becomes_of_a_group_is_missed_where_it_is_left_out(
    kinds: set[str], tmp_path: Path
) -> None:
    kept = [one for one in lines_of(GROUPS[1]) if one["kind"] not in kinds]
    compared = mapping("conform_answers_v2", "r4_4_0")
    assert verdicts(compared, written(kept, tmp_path)) == {"allowed", "not allowed"}


# ---------------------------------------------------------------- logs


@pytest.mark.parametrize(
    ("version", "damage"),
    # With V2 each epoch has one batch of a client in a partition here.
    [(v, one) for v in (1, 2) for one in DAMAGE if v == 1 or one is not sequence_restarts],
    ids=lambda one: getattr(one, "__name__", f"v{one}"),
)
def test_damage_to_offsets_is_not_allowed(
    damage: Callable[[random.Random, list[Event]], None], version: int, tmp_path: Path
) -> None:
    """The same of a recording in which most batches are offsets, and all ids have coordinators of
    their own.
    """
    compared = mapping(f"conform_v{version}", "r4_4_0")
    for seed in range(3):
        may_be = version == 1 and (damage.__name__, seed) in ALLOWED
        found = verdicts(compared, damaged(damage, seed, version, tmp_path, "offsets"))
        assert found == {"allowed" if may_be else "not allowed"}, seed


def test_offsets_of_a_group_are_in_one_partition(tmp_path: Path) -> None:
    """B13.5."""
    compared = mapping("conform_v2", "r4_4_0")
    events = lines_of("offsets-4.4.0-tv2")
    homes = {one["group"]: one["source"] for one in events if "group" in one}
    assert len(set(homes.values())) > 1
    batch = next(one for one in events if one.get("group") == "red")
    owner = by_owner(events)[batch["producer_id"]]
    [elsewhere, *_] = [group for group, home in homes.items() if home != homes["red"]]
    batch["group"] = elsewhere
    path = written(events, tmp_path)
    assert verdicts(compared, path, owner) == {"not allowed"}
    assert verdicts(compared, path) == {"allowed", "not allowed"}


def test_offsets_have_no_sequence_of_their_own(tmp_path: Path) -> None:
    events = lines_of("offsets-4.4.0-tv2")
    batch = next(one for one in events if "group" in one)
    batch["sequence"] = 1
    path = written(events, tmp_path)
    compared = mapping("conform_v2", "r4_4_0")
    assert verdicts(compared, path, by_owner(events)[batch["producer_id"]]) == {"not allowed"}


# ---------------------------------------------------------------- several coordinators


def test_ids_of_different_coordinators_are_judged_apart(tmp_path: Path) -> None:
    """They write to the same partitions, and none sees another: with the lines of an id alone the
    search is the same, whichever partition its coordinator leads, and wherever that has moved.
    """
    compared = mapping("conform_v2", "r4_4_0")
    events = lines_of("coordinators-4.4.0-tv2")
    owner = by_owner(events)
    together = judged(compared, HERE / "coordinators-4.4.0-tv2.jsonl.gz")
    assert len({one["source"] for one in events if "state" in one}) == 2
    assert len({one["leader_epoch"] for one in events if "state" in one}) > 2
    for name, found in together.items():
        own = [one for one in events if owner[one["producer_id"]] == name]
        assert {one["source"] for one in own} >= {"t-0", "t-1"}
        [alone] = judged(compared, written(own, tmp_path)).values()
        assert (alone.verdict, alone.states) == ("allowed", found.states)


def test_a_producer_id_that_two_coordinators_have_given_away(tmp_path: Path) -> None:
    """Blocks of producer ids are the coordinators' own, so no two ids have one."""
    events = lines_of("coordinators-4.4.0-tv2")
    ids = sorted({one["producer_id"] for one in events if "state" in one})
    homes = {one["producer_id"]: one["source"] for one in events if "state" in one}
    stolen = next(one for one in ids if homes[one] != homes[ids[0]])
    wrong = [
        one | {"producer_id": ids[0]} if one["producer_id"] == stolen else one for one in events
    ]
    found = read(mapping("conform_v2", "r4_4_0").recording, [written(wrong, tmp_path)])
    [problem] = found.problems
    assert problem.code == "F047"
    assert "belongs to the histories" in problem.message


@pytest.mark.parametrize(
    "damage", [one for one in DAMAGE if one is not sequence_restarts], ids=lambda one: one.__name__
)
def test_damage_with_several_coordinators(
    damage: Callable[[random.Random, list[Event]], None], tmp_path: Path
) -> None:
    compared = mapping("conform_v2", "r4_4_0")
    path = damaged(damage, 0, 2, tmp_path, "coordinators")
    assert verdicts(compared, path) == {"not allowed"}


MOVED = HERE / "moved-4.4.0-tv2.jsonl.gz"


def test_a_move_of_the_coordinator_is_missed_where_it_is_left_out(tmp_path: Path) -> None:
    kept = [one for one in lines_of("moved-4.4.0-tv2") if one["kind"] != "moved"]
    compared = mapping("conform_answers_v2", "r4_4_0")
    found = judged(compared, written(kept, tmp_path))
    assert [key for key, one in found.items() if one.verdict != "allowed"] == [0, 2]


def test_a_move_notices_what_a_new_coordinator_does_not_know() -> None:
    """B15: the epoch before the last is in no record (KAFKA-20357)."""
    changed = (("coordinator_rules.PersistLastEpoch", "true"),)
    compared = mapping("conform_answers_v2", "r4_4_0", changed)
    assert verdicts(compared, MOVED, 0) == {"not allowed"}
