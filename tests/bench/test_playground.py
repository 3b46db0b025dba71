"""The answers to the playground need no library that a browser does not have.

`python -m bench.playground DIR --try` tries the whole in a browser.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
from tests.support.processes import finished

ABSENT = ("numpy", "scipy", "llvmlite", "z3", "fcntl", "resource", "pygls", "pyspark")
SPEC = "var x: 0..2 = 0\naction up: x += 1\ninvariant Low: x < 2\ncheck low:\n    expect ok\n"
REQUESTS: list[dict[str, Any]] = [
    {"do": "models"},
    {"do": "check", "name": "classics/die_hard", "check": "", "limit": 20_000},
    {"do": "diagnose", "name": "", "text": "var x: 0..2 = y\n"},
    {"do": "check", "name": "../../evil", "text": SPEC, "check": "low", "limit": 2},
    {"do": "check", "name": "", "text": SPEC, "check": "", "limit": 100},
    {"do": "check", "name": "", "text": "var", "check": "", "limit": 100},
    {"do": "explore", "name": "", "text": SPEC, "check": "low", "limit": 100},
    {"do": "step", "body": '{"do": "take", "at": 0, "number": 1}'},
]
PROGRAM = f"""
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
for name in {ABSENT}:
    sys.modules.pop(name, None)
from pathlib import Path
from bench.playground import bridge
bridge.MODELS = Path(sys.argv[1])
for request in json.load(sys.stdin):
    if request.get("name") in bridge.SHIPPED:
        request["text"] = bridge.SHIPPED[request["name"]]
        (bridge.MODELS / request["name"]).parent.mkdir()
    print(bridge.answer(json.dumps(request)))
"""


def test_the_bridge_needs_no_native_library(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    words = (sys.executable, "-c", PROGRAM, str(tmp_path / "models"))
    done = finished(*words, text=json.dumps(REQUESTS), folder=ROOT)
    assert done.stderr == ""
    models, hard, typo, cut, low, broken, explorer, step = map(json.loads, done.stdout.splitlines())
    assert "classics/die_hard" in models
    assert "2 checks, all as expected" in hard["report"]
    assert "NeverFourLitres is violated after 6 steps" in hard["page"]
    assert [(entry["line"], entry["column"], entry["kind"]) for entry in typo] == [(1, 15, "error")]
    assert "cut by --max-states 2" in cut["report"] or "violated Low" in cut["report"]
    assert "invariant Low is violated after 2 steps" in low["page"]
    assert broken["report"].startswith("error[")
    assert "explorer" in explorer["page"]
    assert len(step["data"]["steps"]) == 2
    assert not (tmp_path.parent / "evil.fence").exists()


def test_the_code_of_the_playground_is_small() -> None:
    files = [path for path in (ROOT / "bench" / "playground").iterdir() if path.is_file()]
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= 500
