"""`fencepost check --format html`: the page of the first trace, or of a run without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.checker.trace.test_forms import Elements
from tests.support.command import run

from fencepost.checker.report import formats

SPEC = """\
var x: 0..3 = 0
action up:
    require x < 3
    x += 1
terminal: true
invariant I: x < 3
invariant J: x < 4
check fine:
    properties: J
check found:
    properties: I
    expect violated I
check surprised:
    properties: I
check missed:
    properties: J
    expect violated J
"""
CHECKS: dict[tuple[str, ...], tuple[int, str]] = {
    ("fine",): (0, "1 check, all as expected"),
    ("found",): (0, "invariant I is violated after 3 steps"),
    ("fine", "found", "surprised"): (12, "invariant I is violated after 3 steps"),
    # The trace of an expected violation would hide the failed check.
    ("found", "missed"): (4, "2 checks, 1 not as expected"),
}
"""Checks that run together, with their exit code and the title of the page."""


def page(folder: Path, spec: str, *words: str) -> tuple[int, str]:
    (folder / "s.fence").write_text(spec, encoding="utf-8")
    ran = run("check", "s.fence", "--engine", "interpreter", *words, folder=folder)
    return ran.code, ran.stdout


@pytest.mark.parametrize("checks", CHECKS, ids="-".join)
def test_the_page_of_a_run(checks: tuple[str, ...], tmp_path: Path) -> None:
    code, title = CHECKS[checks]
    chosen = [word for name in checks for word in ("--check", name)]
    (tmp_path / "page.html").write_text("of the last run", encoding="utf-8")
    assert (
        page(tmp_path, SPEC, *chosen, "--format", "html=page.html", "--format", "text")[0] == code
    )
    html = (tmp_path / "page.html").read_text("utf-8")
    assert f"<h1>{title}</h1>" in html
    steps = "steps" in title
    assert (html.count('<li id="step-'), "<main><pre>" in html) == (4 if steps else 0, not steps)
    elements = Elements()
    elements.feed(html)
    assert elements.open == []
    for name in checks:
        assert steps or f"\n{name}  " in html or f"<pre>s.fence, {name}" in html or name == "fine"


def test_check_prints_the_same_page_as_trace_show(tmp_path: Path) -> None:
    printed = page(tmp_path, SPEC, "--check", "found", "--format", "html", "--trace", "t.itf.json")[
        1
    ]
    assert run("trace", "show", "t.itf.json", "--as", "html", folder=tmp_path).stdout == printed


def test_a_trace_too_long_to_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_DRAWN", 3)
    html = page(tmp_path, SPEC, "--check", "found", "--format", "html")[1]
    assert "<h1>1 check, all as expected</h1>" in html
    assert "invariant I is violated after 3 steps" in html


def test_a_spec_that_cannot_be_used(tmp_path: Path) -> None:
    code, html = page(tmp_path, f"{SPEC}var y: <b> = 0\n", "--format", "html")
    assert code == 150
    assert "<h1>not every spec could be checked: " in html
    assert "var y: &lt;b&gt; = 0" in html


def test_html_excludes_text_on_the_same_output(tmp_path: Path) -> None:
    assert page(tmp_path, SPEC, "--format", "html", "--format", "text") == (151, "")
