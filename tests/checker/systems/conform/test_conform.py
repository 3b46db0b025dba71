"""Verdicts and reports on small recordings."""

from __future__ import annotations

import gzip
import json
import random
import re
from itertools import groupby
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.lease import HISTORIES, MAPPING, Event, conform, folder_with, verdicts, written

from fencepost.checker.systems.conform import many


def test_verdicts(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    text = written({name: events for name, (events, _, _) in HISTORIES.items()})
    ran = conform(folder, text, "--format", "json")
    expected = {
        name: (verdict, k) for name, (_, verdict, k) in HISTORIES.items() if name != "nothing"
    }
    assert verdicts(ran) == expected
    assert (ran.code, ran.stderr) == (15, "")


@pytest.mark.parametrize(("name", "code"), [("both", 0), ("twice", 15), ("a huge number", 3)])
def test_exit_codes(name: str, code: int, tmp_path: Path) -> None:
    ran = conform(folder_with(tmp_path), written({name: HISTORIES[name][0]}))
    assert ran.code == code, ran.stdout


def test_engines_give_the_same_report(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    text = written({name: events for name, (events, _, _) in HISTORIES.items()})
    first = conform(folder, text, "--engine", "interpreter")
    assert conform(folder, text, "--engine", "local") == first
    assert conform(folder, text, "--engine", "local", "--workers", "2") == first


def test_enabled_in_a_rule_is_left_to_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "tolerate stalled when enabled(m.Server.grant)\n"
    folder = folder_with(tmp_path, MAPPING + rule)
    text = written({name: HISTORIES[name][0] for name in ("both", "twice")})
    plain = conform(folder, text, "--engine", "interpreter")
    assert plain.code == 15
    refused = conform(folder, text, "--engine", "local")
    assert (refused.code, "error[F807]" in refused.stderr) == (150, True)
    assert "does not ask what is enabled" in refused.stderr
    monkeypatch.setattr(many, "MIN_EVENTS", 1)
    assert conform(folder, text) == plain


def without_places(text: str) -> str:
    """Removes the files and lines of the offending events, which differ between files."""
    return re.sub(r"(?m)^(    at +\w+), .*", r"\1", text)


def test_other_interleavings_and_files_give_the_same_report(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    histories = {name: events for name, (events, _, _) in HISTORIES.items()}
    lines = [{"file": key, **event} for key, events in histories.items() for event in events]
    first = without_places(conform(folder, "".join(json.dumps(q) + "\n" for q in lines)).stdout)
    chance = random.Random(1)
    for _ in range(5):
        queues: list[list[Event]] = [
            list(rows)
            for _, rows in groupby(
                sorted(lines, key=lambda queue: (queue["file"], queue["source"])),
                key=lambda queue: (queue["file"], queue["source"]),
            )
        ]
        mixed: list[Event] = []
        while queues:
            queue = chance.choice(queues)
            mixed.append(queue.pop(0))
            queues = [queue for queue in queues if queue]
        half = len(mixed) // 2
        text = [
            "".join(json.dumps(queue) + "\n" for queue in part)
            for part in (mixed[:half], mixed[half:])
        ]
        (folder / "one.jsonl").write_text(text[0], encoding="utf-8")
        (folder / "two.jsonl.gz").write_bytes(gzip.compress(text[1].encode()))
        again = run("conform", "map.fence", "one.jsonl", "two.jsonl.gz", folder=folder)
        assert without_places(again.stdout) == first


def test_the_report_has_the_next_event_and_the_events_of_the_model(tmp_path: Path) -> None:
    ran = conform(folder_with(tmp_path), written({"f": HISTORIES["another client writes"][0]}))
    assert "f  not allowed   1 of 2 events can be read" in ran.stdout
    assert "also      server: all of 1 event" in ran.stdout
    assert "    at        store, r.jsonl:2\n" in ran.stdout
    assert 'next is event 1 of 1, written(client: "b", token: 1)' in ran.stdout
    assert 'nearest   store: the model has client "a", not "b"' in ran.stdout
    assert 'm.Server.grant [server: granted(client: "a", token: 1)]' not in ran.stdout
    assert "never taken   m.Server.expire" in ran.stdout


def test_the_whole_run_and_nothing_else(tmp_path: Path) -> None:
    folder, text = folder_with(tmp_path), written({"f": HISTORIES["another client writes"][0]})
    full = conform(folder, text, "--trace-style", "full").stdout
    assert 'm.Server.grant [server: granted(client: "a", token: 1)]' in full
    steps = conform(folder, text, "--trace-style", "steps").stdout
    assert "2  m.Writer[Alice].granted on" in steps
    assert "never taken" not in conform(folder, text, "--quiet").stdout
    assert conform(folder, written({"both": HISTORIES["both"][0]}), "-q").stdout == ""
    ran = conform(folder, text, "-q", "-v")
    assert (ran.code, "contradict each other" in ran.stderr) == (151, True)


def test_explanations_name_the_cause(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    why = (
        'explain written when client != m.Client.Alice: "only ", m.Client.Alice as client,'
        ' " writes, not ", client as client, " with ", token + 1\n'
    )
    (folder / "map.fence").write_text(MAPPING + why, encoding="utf-8")
    ran = conform(folder, written({"f": HISTORIES["another client writes"][0]}))
    assert 'because   only "a" writes, not "b" with 2\n' in ran.stdout
    wrong = MAPPING + "explain written: m.Client.Alice as clients\n"
    (folder / "map.fence").write_text(wrong, encoding="utf-8")
    ran = conform(folder, written({"f": HISTORIES["both"][0]}))
    assert (ran.code, 'binds no names as "clients"; did you mean "client"' in ran.stderr) == (
        150,
        True,
    )


def test_the_trace_is_saved_and_shown(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    conform(folder, written({"f": HISTORIES["twice"][0]}), "--trace", "t.itf.json")
    for form in ("text", "html", "mermaid", "dot", "json"):
        shown = run("trace", "show", "t.itf.json", "--as", form, folder=folder)
        assert (shown.code, shown.stderr) == (0, "")
        assert "granted" in shown.stdout


def test_a_mapping_is_imported_by_a_spec_without_one(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    text = written({name: events for name, (events, _, _) in HISTORIES.items()})
    expected = verdicts(conform(folder, text, "--format", "json"))
    (folder / "more.fence").write_text("import map as n\n")
    (folder / "r.jsonl").write_text(text, encoding="utf-8")
    ran = run("conform", "more.fence", "r.jsonl", "--format", "json", folder=folder)
    assert verdicts(ran) == expected
    (folder / "more.fence").write_text("import map as n\n" + MAPPING, encoding="utf-8")
    ran = run("check", "more.fence", folder=folder)
    assert (ran.code, "error[F841]" in ran.stderr) == (150, True)


def test_a_spec_without_a_recording_and_files_that_are_missing(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text("", encoding="utf-8")
    ran = run("conform", "lease.fence", "r.jsonl", folder=folder)
    assert (ran.code, "error[F048]" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "q.jsonl", folder=folder)
    assert (ran.code, "q.jsonl: No such file" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "r.jsonl", "--engine", "bmc", folder=folder)
    assert (ran.code, "bmc" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    assert (ran.code, "no history" in ran.stdout) == (151, True)


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif"])
@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_comparison_without_histories_does_not_pass(text: str, form: str, tmp_path: Path) -> None:
    ran = conform(folder_with(tmp_path), text, "--format", form)
    assert (ran.code, ran.stderr.count("error[F047]")) == (151, 1)
    assert "nothing was compared" in ran.stderr


@pytest.mark.parametrize(("count", "code"), [("1", 0), ("2", 0), ("3", 151)])
def test_fewer_histories_than_required(count: str, code: int, tmp_path: Path) -> None:
    text = written(dict.fromkeys(("a", "b"), HISTORIES["both"][0]))
    ran = conform(folder_with(tmp_path), text, "--histories", count)
    assert ran.code == code, ran.stderr
    assert ("2 of at least 3 histories" in ran.stderr) == (code == 151)


def test_every_check_judges_a_recording(tmp_path: Path) -> None:
    """Without --check, the report is about the check that allows the most histories."""
    folder = folder_with(tmp_path)
    changing = "const Any: bool = false\n" + MAPPING.replace(
        "shows written(client, token) on",
        "environment action other: require Any; skip\n\nshows written(client, token) on",
    )
    rule = "tolerate written when Any\n"
    checks = "check plain: const Any = false\ncheck plain_any: const Any = true\n"
    (folder / "map.fence").write_text(changing + rule + checks, encoding="utf-8")
    good, bad = HISTORIES["both"][0], HISTORIES["another client writes"][0]
    ran = conform(folder, written({"f": good, "g": bad}))
    assert (ran.code, ran.stdout.splitlines()[0][:20]) == (0, "plain_any  2 allowed")
    assert "allowed by    plain 1 of 2, plain_any\n" in ran.stdout
    ran = conform(folder, written({"f": good, "g": bad}), "--check", "plain")
    assert ran.code == 15
    assert "otherwise the check plain_any allows it\n" in ran.stdout
    ran = conform(folder, written({"f": good}))
    assert "allowed by    plain\n" in ran.stdout
