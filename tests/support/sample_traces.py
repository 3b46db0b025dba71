"""Traces that test the trace formats: one has every kind of exchange, another is hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command import run
from tests.support.paths import spec_text

FAULTS = spec_text("faults")


ENDLESS = spec_text("endless")
"""Steps 3 to 5 repeat forever, which violates the property that every process progresses in
turn.
"""

STAYS = spec_text("stays")
"""After 2 steps, nothing happens any more."""


def saved(folder: Path, spec: str, *words: str) -> Path:
    """Runs a check of a spec and returns its trace file; the command must succeed."""
    (folder / "spec.fence").write_text(spec, encoding="utf-8")
    words = ("check", "spec.fence", "--engine", "interpreter", "--trace", "t.itf.json", *words)
    ran = run(*words, folder=folder)
    assert ran.code == 0, ran.stdout + ran.stderr
    return folder / "t.itf.json"


EVIL = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"];evil [label="x',
    "x\n    end\n    p0->>p0: evil",
    "wrap: y",
    "end",
    "#35;\u202eabc\u2028z%%{init: {}}%%",
    "\\N\\G\\",
    "&lt;b&gt;",
    "\x1b[2J\x07",
    "]]>--><!--",
    "click p0 href",
)
"""Names and texts that have a special meaning in one of the output formats."""


def hostile() -> bytes:
    """Builds a trace file whose texts are all taken from `EVIL`."""
    states: list[Any] = []
    for number in range(len(EVIL) + 1):
        evil = EVIL[number % len(EVIL)]
        meta: dict[str, Any] = {"index": number}
        if number:
            meta |= {
                "title": f"{evil}.{evil}",
                "action": evil,
                "lifeline": EVIL[number % 3],
                "kind": evil if number % 2 else "ordinary",
                "needs": [number - 1, 999, -1, True, "x"],
                "spare": number == 3,
                "exchanges": [
                    {"kind": "send", "channel": evil, "message": {"tag": evil, "value": {evil: 1}}},
                    {"kind": "receive", "channel": EVIL[number - 1], "message": evil},
                    {"kind": evil, "channel": 3},
                ],
            }
        states.append({"#meta": meta, evil: evil, "same": {"#set": [evil, number]}})
    excerpt = {"place": EVIL[0], "line": 1, "text": EVIL[1] + "\n" + EVIL[0]}
    root: dict[str, Any] = {
        "#meta": {
            "source": EVIL[0],
            "description": EVIL[1],
            "headline": EVIL[0] + EVIL[3],
            "status": "violation",
            "property": EVIL[1],
            "property-source": excerpt,
            "failing-part": {**excerpt, "text": EVIL[0]},
            "problem": EVIL[0],
            "blocked": [*EVIL],
            "constants": {EVIL[0]: EVIL[1]},
            "instance": [{"name": EVIL[0], "value": EVIL[1]}],
            "lifelines": [EVIL[0], EVIL[5], "\n"],
            "actions": dict.fromkeys(EVIL, excerpt),
            "generator": EVIL[1],
        },
        "vars": ["same"],
        "states": states,
    }
    return json.dumps(root).encode()


def large(steps: int = 200, variables: int = 40) -> bytes:
    """Builds a long trace with many variables; each step is between two of five roles."""
    states: list[Any] = []
    for number in range(steps):
        meta: dict[str, Any] = {"index": number}
        if number:
            sender = f"Node[{number % 5}]"
            message = {"tag": "Append", "value": {"term": number, "entries": ["a", "b", "c"]}}
            last = {"tag": "Append", "value": {"term": number - 1, "entries": ["a", "b", "c"]}}
            meta |= {
                "title": f"{sender}.on_append on Append(term: {number - 1}, entries: [a, b, c])",
                "action": "Node.on_append",
                "lifeline": sender,
                "kind": "ordinary",
                "needs": [number - 1] if number > 1 else [],
                "exchanges": [
                    *([{"kind": "receive", "channel": "net", "message": last}] * (number > 1)),
                    {"kind": "send", "channel": "net", "message": message},
                ],
            }
        state: dict[str, Any] = {"#meta": meta}
        for variable in range(variables):
            value = {"#bigint": str(number if (number + variable) % 7 == 0 else variable)}
            state[f"Node.variable_{variable}"] = {"#map": [[n, value] for n in range(5)]}
        states.append(state)
    source = {"place": "raft.fence:10:5", "line": 10, "text": "action on_append:\n    skip"}
    meta = {
        "status": "violation",
        "headline": "invariant Log is violated",
        "actions": {"Node.on_append": source},
    }
    return json.dumps({"#meta": meta, "vars": [], "states": states}).encode()
