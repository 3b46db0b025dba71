"""Every link to a section (`page.md#section`) names a heading of that page.

Anchors follow GitHub's rules: lower case, punctuation removed, spaces replaced with hyphens, and a
number added if the same heading occurs again.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.support.paths import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\((?P<page>(?!https:)[^)#\s]*\.md|)#(?P<anchor>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *$", re.M)


def anchors(text: str) -> set[str]:
    """Returns the anchors of the headings on a page."""
    counts: dict[str, int] = {}
    collected: set[str] = set()
    for heading in HEADING.finditer(FENCE.sub("", text)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["title"]).lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        repeats = counts.get(slug, 0)
        counts[slug] = repeats + 1
        collected.add(f"{slug}-{repeats}" if repeats else slug)
    return collected


@cache
def anchors_of(page: Path) -> set[str]:
    return anchors(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_exist(page: Path) -> None:
    missing = [
        f"{link['page']}#{link['anchor']}"
        for link in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8")))
        if link["anchor"] not in anchors_of((page.parent / (link["page"] or page.name)).resolve())
    ]
    assert missing == []


def test_anchors_follow_the_rules_of_github() -> None:
    text = "# What is `x.y`?\n\n```sh\n# none\n```\n\n## A & B\n## A & B\n### [Link](x.md) it\n"
    assert anchors(text) == {"what-is-xy", "a--b", "a--b-1", "link-it"}


def test_every_question_of_the_index_is_answered() -> None:
    questions = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split("\n### ")[1:]
    assert len(questions) == 40
    assert [text for text in questions if not re.search(r"\?\n\n.*\]\(", text, re.S)] == []
