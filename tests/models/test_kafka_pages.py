"""The generator of docs/kafka/: what it reads from a spec, and what it writes into the pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench import kafka, kafka_pages
from bench.kafka_pages import Results, Switch
from bench.machine import ROOT

SPEC = '''\
"""A door
with two locks.

More about it."""

const Upper: bool = true  # B1.2, KAFKA-1234: the upper lock
                          # is looked at too
const Times: int = 2      # how often
var open: bool = false
var upper: bool = true
action push:
    require not upper or not Upper
    open = true
action stay: skip
invariant Shut: not open
reachable Open: open

# ------------------------------------------------------------------------ checks

check locked:
    properties: Shut
    expect ok
    expect states == 1
# Without the upper lock (KIP-7).
check unlocked:
    const Upper = false
    const Times = 3
    expect violated Shut
check unlocked_again:
    const Upper = false
    const Times = 3
    properties: Shut
    expect violated Shut
check other:
    const Upper = false
    properties: Open
    expect ok
check long slow:
    properties: Shut
    expect ok
'''


@pytest.fixture
def results(tmp_path: Path) -> Results:
    path = tmp_path / "door.fence"
    path.write_text(SPEC, encoding="utf-8")
    results, wrong = kafka.run(path)
    assert not wrong
    return results


def test_rows_of_a_spec(results: Results) -> None:
    assert results.title == "A door with two locks."
    locked, unlocked, again, other = results.rows
    assert (locked.found, locked.steps, locked.distinct, locked.switches) == ("ok", None, 1, ())
    assert locked.remark == ""
    assert unlocked.remark == again.remark == "Without the upper lock (KIP-7)."
    assert other.remark == ""
    switch = Switch("Upper", "false", "B1.2, KAFKA-1234: the upper lock is looked at too")
    assert unlocked.switches == again.switches == other.switches == (switch,)
    assert (unlocked.bugs, unlocked.rules) == (("KIP-7", "KAFKA-1234"), ("B1.2",))
    assert (unlocked.found, unlocked.steps, unlocked.depth) == ("violated Shut", ("push",), 2)
    assert results.idle == ()
    assert results.vacuous == ()


def test_slow_checks_on_request(tmp_path: Path) -> None:
    path = tmp_path / "door.fence"
    path.write_text(SPEC, encoding="utf-8")
    results, _ = kafka.run(path, slow=True)
    assert [row.check for row in results.rows if row.slow] == ["long"]


def test_unexpected_results_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "door.fence"
    path.write_text(SPEC.replace("states == 1", "states == 2"), encoding="utf-8")
    results, wrong = kafka.run(path)
    assert wrong == ["locked: expected states == 2, but found 1"]
    assert [row.check for row in results.rows] == ["unlocked", "unlocked_again", "other"]
    path.write_text("action a: x = 1\ncheck c:\n    expect ok\n", encoding="utf-8")
    results, wrong = kafka.run(path)
    assert not results.rows
    assert "error[F" in wrong[0]


def test_saved_results_can_be_read(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "kafka.jsonl"
    assert kafka.read(path) == {}
    path.write_text(kafka.dumps({"door": results}), encoding="utf-8")
    assert kafka.read(path) == {"door": results}


def test_places_are_filled(results: Results, tmp_path: Path) -> None:
    page = (
        "before\n<!-- bugs: door -->\nold\n<!-- end of bugs -->\nbetween\n"
        "<!-- bugs: window -->\nkept\n<!-- end of bugs -->\nafter\n"
    )
    (tmp_path / "door.md").write_text(page, encoding="utf-8")
    readme = "<!-- models: * -->\n<!-- end of models -->\n"
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    pages = kafka_pages.pages(tmp_path, [results])
    assert {path.name for path in pages} == {"README.md", "door.md"}
    text = pages[tmp_path / "door.md"]
    assert "old" not in text
    for kept in ("before\n", "\nbetween\n", "-->\nkept\n<!--", "\nafter\n"):
        assert kept in text
    assert (
        "\n| KIP-7, KAFKA-1234 | B1.2 | `Upper = false` "
        "| `unlocked` (Shut, 1), `unlocked_again` (Shut, 1) |\n"
    ) in text
    assert kafka_pages.filled(text, [results]) == text
    readme = pages[tmp_path / "README.md"]
    assert "| [door](door.md) | A door with two locks. | 4 | 2 |" in readme


def test_checks_without_fairness_are_only_in_the_pages_of_a_release(results: Results) -> None:
    _, unlocked, *_ = results.rows
    unfair = replace(results, rows=(replace(unlocked, without=("push", "stay")),))
    assert "unlocked" not in kafka_pages.bugs(unfair)
    assert "\nWithout fairness of `push`, `stay`.\n" in kafka_pages.release([unfair])["door.md"]


def test_the_pages_of_a_release(results: Results) -> None:
    pages = kafka_pages.release([results])
    assert [*pages] == ["bugs.md", "door.md"]
    assert (
        "| door | KIP-7, KAFKA-1234 | B1.2 | `Upper = false` | [`unlocked`](door.md#unlocked) "
        "| violated Shut | 1 | 2 | "
    ) in pages["bugs.md"]
    assert "| door | none | none |" in pages["bugs.md"]
    page = pages["door.md"]
    assert "| `locked` | ok | 1 | " in page
    assert "## unlocked_again\n" in page
    assert "\n`Upper = false`: B1.2, KAFKA-1234: the upper lock is looked at too\n" in page
    assert (
        "```text\n$ fencepost check models/kafka/door.fence --check unlocked\n"
        "0  initial state\n1  push\n```\n"
    ) in page


def test_comments_are_refreshed_without_a_run(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "door.fence"
    text = SPEC.replace("Without the upper lock (KIP-7).", "The upper lock is missing (KIP-8).")
    text = text.replace("A door\n", "A gate\n").replace("is looked at too", "counts")
    path.write_text(text.replace("check other", "check another"), encoding="utf-8")
    now = kafka.with_texts(path, results)
    assert now.title == "A gate with two locks."
    locked, unlocked, again = now.rows
    assert locked == results.rows[0]
    assert unlocked.remark == again.remark == "The upper lock is missing (KIP-8)."
    assert unlocked.bugs == ("KIP-8", "KAFKA-1234")
    assert unlocked.switches == (
        Switch("Upper", "false", "B1.2, KAFKA-1234: the upper lock counts"),
    )
    assert (unlocked.steps, unlocked.seconds) == (results.rows[1].steps, results.rows[1].seconds)


@pytest.mark.parametrize("model", sorted(kafka.read(kafka.KEPT)))
def test_saved_comments_are_those_of_the_models(model: str) -> None:
    """`python -m bench.kafka --texts` updates them."""
    saved = kafka.read(kafka.KEPT)[model]
    assert kafka.with_texts(kafka.MODELS / f"{model}.fence", saved) == saved


def test_the_pages_of_the_repository_match_the_saved_results() -> None:
    """Tables are not edited by hand, and no page has a section for a model that was never run."""
    folder = ROOT / "docs" / "kafka"
    for path, text in kafka_pages.pages(folder, [*kafka.read(kafka.KEPT).values()]).items():
        assert path.read_text(encoding="utf-8") == text, path


def test_the_pages_of_a_release_have_the_saved_digests() -> None:
    """`python -m bench.kafka --pages` updates the digests."""
    digests = kafka.digests(kafka.read(kafka.KEPT))
    assert kafka.DIGESTS.read_text(encoding="utf-8") == digests
