"""The jobs in docs/ci.md and docs/editor.md are valid according to the schemas of their CI
systems.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.support.paths import ROOT
from tests.support.processes import finished

PAGES = [ROOT / "docs" / name for name in ("ci.md", "editor.md")]
BLOCK = re.compile(r"^```yaml (?P<kind>[\w-]+)\n(?P<text>.*?)^```$", re.M | re.S)
SCHEMAS = {"github-workflow": "vendor.github-workflows", "gitlab-ci": "vendor.gitlab-ci"}
BLOCKS = [
    (match["kind"], match["text"])
    for page in PAGES
    for match in BLOCK.finditer(page.read_text("utf-8"))
]


def complaints(kind: str, text: str, folder: Path) -> str:
    """Returns the schema's complaints about a file, or "" if the file is valid."""
    path = folder / "job.yml"
    path.write_text(text, encoding="utf-8")
    checker = (sys.executable, "-m", "check_jsonschema", "--builtin-schema")
    done = finished(*checker, SCHEMAS[kind], str(path))
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    ("kind", "text"), [block for block in BLOCKS if block[0] in SCHEMAS], ids=lambda part: part[:30]
)
def test_jobs_are_valid(kind: str, text: str, tmp_path: Path) -> None:
    assert complaints(kind, text, tmp_path) == ""


def test_the_pages_have_a_job_for_each_system() -> None:
    assert [kind for kind, _ in BLOCKS] == [
        "github-workflow",
        "github-workflow",
        "gitlab-ci",
        "pre-commit-config",
        "github-workflow",
    ]


def test_the_schemas_can_fail(tmp_path: Path) -> None:
    assert "jobs" in complaints("github-workflow", "on: push\njobs: 3\n", tmp_path)
    assert complaints("gitlab-ci", "protocol:\n  script: 3\n", tmp_path)
