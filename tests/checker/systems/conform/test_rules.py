"""All forms of mapping rules, and mistakes in mappings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.lease import conform, verdicts
from tests.support.shop import DAYS, FOUR, LOGS, SWAP, UP, days, event, shop


def test_every_form_of_a_rule(tmp_path: Path) -> None:
    text = days({name: events for name, (events, _, _) in DAYS.items()})
    ran = conform(shop(tmp_path), text, "--check", "one", "--format", "json")
    expected = {name: (verdict, k) for name, (_, verdict, k) in DAYS.items()}
    assert verdicts(ran) == expected, ran.stderr
    histories = {history["key"]: history for history in json.loads(ran.stdout)["histories"]}
    assert histories["no such answer"]["instead"] == ["Done(reply: No)"]
    assert histories["which is missing"]["cuts"] == []
    assert histories["passed over"]["tolerated"] == 1
    assert "names" in histories["a third source is no third shelf"]["cuts"][0]
    assert "stock" in histories["beyond the range of the model"]["cuts"][0]


def test_unused_rules_and_events_are_reported(tmp_path: Path) -> None:
    text = days({"d": [UP, event("asked", shelf="up", answer="No")]})
    ran = conform(shop(tmp_path), text, "--check", "one")
    report = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert "never taken Worker.put, Worker.swap" in report
    assert "never used ahead swapped (map.fence:21), ahead filled (map.fence:24)" in report
    assert "never seen filled, stocktaking, noted, swapped" in report


@pytest.mark.parametrize(
    ("words", "verdict", "code", "layers"),
    [
        (("--check", "one"), "allowed", 0, [0, 1]),
        (("--check", "still"), "not allowed", 15, [0]),
        (("--ahead", "0"), "unknown", 3, [0]),
        ((), "allowed", 0, [0, 1]),
        (("--max-states", "2"), "unknown", 3, [0, 1, 2]),
    ],
)
def test_layers(
    words: tuple[str, ...], verdict: str, code: int, layers: list[int], tmp_path: Path
) -> None:
    stated = "--check" in words
    mapping = LOGS if stated else LOGS.replace("at most Most under way\n", "")
    extra = () if stated else ("--check", "one")
    ran = conform(shop(tmp_path, mapping), days({"d": [SWAP]}), *words, *extra, "--format", "json")
    (history,) = json.loads(ran.stdout)["histories"]
    assert (history["verdict"], ran.code) == (verdict, code)
    assert [layer["under_way"] for layer in history["layers"]] == layers


def test_four_messages_in_flight(tmp_path: Path) -> None:
    """Each of the thirty events needs four messages in flight while a fifth is sent."""
    (tmp_path / "map.fence").write_text(FOUR, encoding="utf-8")
    lines = [{"source": "log", "event": "done", "n": n} for n in range(1, 31)]
    lines += [{"source": "other", "event": "noise", "n": n} for n in range(30)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    ran = conform(tmp_path, text, "--ahead", "4", "--max-states", "60000", "--format", "json")
    (history,) = json.loads(ran.stdout)["histories"]
    assert (history["verdict"], history["layers"][-1]["under_way"]) == ("allowed", 4)
