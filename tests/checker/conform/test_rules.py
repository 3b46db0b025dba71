"""All forms of mapping rules, and mistakes in mappings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command import run
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


MISTAKES: dict[str, tuple[str, str, str]] = {
    "no recording": ("event e from s", "F841", "no `recording:`"),
    "an unknown source": (
        "recording:\n    source log ordered\nevent e from logs", "F842", 'did you mean "log"?',
    ),
    "no source": ("recording:\n    key k\nevent e from s", "F841", "at least one source"),
    "an unknown event": ("HEAD\nshows other", "F842", 'no event "other" is declared'),
    "too many values": ("HEAD\nshows e(1, 2)", "F844", "e has n; here are 2 values"),
    "a value of another type": ("HEAD\nshows e(true)", "F301", "n of e holds"),
    "a name that the head lacks": ("HEAD\nshows e(1) on act(z)", "F844", 'has no "z"'),
    "an unknown action": ("HEAD\nshows e(1) on acts", "F322", 'did you mean "act"?'),
    "a condition": ("HEAD\nshows e(1) when 1", "F301", "a condition is wanted"),
    "an answer to an input": (
        "HEAD\ninput e on A from c: send A to c", "F844", 'only "answers" waits',
    ),
    "no answer": ("HEAD\nanswers e: send A to c", "F844", "says which message is the answer"),
    "ahead of a step": ("HEAD\nahead e: act(1)", "F844", 'only of an "input"'),
    "next outside shows": ("HEAD\ninput e when next(x) == 1: skip", "F318", "next"),
    "twice at most": ("HEAD\nat most 1 under way\nat most 1 under way", "F841", "said twice"),
    "a type that lines lack": ("HEAD\nevent f(m: U) from log", "F843", "a line cannot give U"),
    "twice an event": ("HEAD\nevent e from log", "F842", 'event "e" is declared twice'),
    "for another source": (
        "HEAD\nevent e from log", "F842", "`as` gives it another name in rules",
    ),
    "twice a name in rules": (
        "HEAD\nevent other as e from log", "F842", 'event "e" is declared twice\n',
    ),
    "twice called the same in lines": (
        "HEAD\nevent e as f from log", "F842",
        'the source "log" has two events that lines call "e"',
    ),
    "an unknown one of two sources": (
        "HEAD\nevent f from log, lag", "F842", 'did you mean "log"?',
    ),
    "twice a source": ("HEAD\nevent f from log, log", "F842", 'source "log" is given twice'),
    "twice an order": (
        "recording:\n    source log ordered\n    rising n\n    not falling n", "F841",
        'the order of "n" is given twice',
    ),
    "a large type of names": (
        "recording:\n    source log ordered\n    bind b: int16", "F843", "at most",
    ),
}  # fmt: skip

HEAD = "recording:\n    source log ordered\nevent e(n: int) from log"
SPEC = """\
enum M: A, B
union U: C(x: bool), D
channel c: M capacity 2
var x: 0..2 = 0
action act(k in {1, 2}): x = k
action take on A from c: skip
action give: send A to c
"""


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, tmp_path: Path) -> None:
    lines, code, part = MISTAKES[name]
    text = f"{SPEC}{lines.replace('HEAD', HEAD)}\n"
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    ran = run("check", "m.fence", folder=tmp_path)
    assert ran.code == 150
    assert f"error[{code}]" in ran.stderr
    assert part in ran.stderr


def test_four_messages_in_flight(tmp_path: Path) -> None:
    """Each of the thirty events needs four messages in flight while a fifth is sent."""
    (tmp_path / "map.fence").write_text(FOUR, encoding="utf-8")
    lines = [{"source": "log", "event": "done", "n": n} for n in range(1, 31)]
    lines += [{"source": "other", "event": "noise", "n": n} for n in range(30)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    ran = conform(tmp_path, text, "--ahead", "4", "--max-states", "60000", "--format", "json")
    (history,) = json.loads(ran.stdout)["histories"]
    assert (history["verdict"], history["layers"][-1]["under_way"]) == ("allowed", 4)
