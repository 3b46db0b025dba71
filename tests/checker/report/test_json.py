"""The JSON report has the documented keys, in order, and natural values."""

from __future__ import annotations

import json

import pytest
from tests.support.sample_results import (
    ANSWER_1,
    LOG,
    MESSAGE,
    NET,
    PING,
    VIOLATED,
    check,
    job,
    outcome,
)

from fencepost.checker.outcome import Verdict
from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.json import check_object, dumps, natural, spec_object
from fencepost.checker.run.judge import judge
from fencepost.spec.core import types

OPTION = types.Option(types.Bool())


VALUES: list[tuple[types.Value, types.Type, Json]] = [
    (True, types.Bool(), True),
    (2**62, types.Machine(64), 2**62),
    (1, types.Enum("E", ("A", "B")), "B"),
    ((2,), types.Record("R", (types.Field("x", types.Int(0, 9)),)), {"x": 2}),
    (ANSWER_1, MESSAGE, {"tag": "Answer", "value": {"token": 1, "last": True}}),
    (PING, MESSAGE, {"tag": "Ping", "value": {}}),
    ((), OPTION, None),
    ((False,), OPTION, False),
    ((), types.Option(OPTION), None),
    (((),), types.Option(OPTION), {"some": None}),
    ((1, 2), types.Set(types.Int(0, 3)), [1, 2]),
    ((PING, PING), NET, [{"tag": "Ping", "value": {}}, {"tag": "Ping", "value": {}}]),
    (((), (PING,)), LOG, [[1, []], [2, [{"tag": "Ping", "value": {}}]]]),
]


@pytest.mark.parametrize(("value", "kind", "expected"), VALUES)
def test_natural(value: types.Value, kind: types.Type, expected: Json) -> None:
    assert natural(value, kind) == expected


def test_a_check_with_a_trace() -> None:
    result = judge(job(check("violated", "Short")), outcome(Verdict.VIOLATED, VIOLATED))
    got = check_object(result)
    assert list(got) == [
        "name", "engine", "workers", "expected", "verdict", "within", "as_expected", "property",
        "distinct", "generated", "depth", "seconds", "states_per_second", "peak_bytes", "exact",
        "notes", "trace",
    ]  # fmt: skip
    ping: Json = {"tag": "Ping", "value": {}}
    answer = {"tag": "Answer", "value": {"token": 1, "last": True}}
    trace = got.pop("trace")
    notes = got.pop("notes")
    assert got == {
        "name": "c",
        "engine": "interpreter",
        "workers": 1,
        "expected": "violated Short",
        "verdict": "violated",
        "within": [],
        "as_expected": True,
        "property": "Short",
        "distinct": 180,
        "generated": 346,
        "depth": 15,
        "seconds": 0.5,
        "states_per_second": 360,
        "peak_bytes": 1000,
        "exact": True,
    }
    assert isinstance(trace, list)
    assert trace[0] == {
        "action": None,
        "arguments": {},
        "state": {"net": [], "Client.phase": "Ready", "Server.log": [[1, []], [2, []]]},
    }
    assert trace[2] == {
        "action": "Server.serve",
        "arguments": {"Server": 2, "retry": True, "on": ping},
        "state": {
            "net": [ping, answer],
            "Client.phase": "Busy",
            "Server.log": [[1, []], [2, [ping]]],
        },
    }
    assert isinstance(notes, list)
    assert "not checked: deadlock" in notes


def test_a_check_without_a_trace_says_why_it_failed() -> None:
    got = check_object(judge(job(check("violated", "Short")), outcome()))
    assert (got["property"], got["trace"], got["as_expected"]) == (None, None, False)
    assert isinstance(got["notes"], list)
    assert got["notes"][0] == (
        "expected violated Short, but no state violates it: 180 states searched"
    )


def test_a_spec_is_one_object() -> None:
    text = dumps(spec_object("a\x1b.fence", "1.0", []))
    assert json.loads(text) == {"spec": "a\x1b.fence", "version": "1.0", "checks": []}
    assert "\x1b" not in text
    assert text.endswith("}\n")
