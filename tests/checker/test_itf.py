"""Trace files: what is written, what is read back, and what hostile files get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.checker.samples import (
    ANSWER_1,
    LOG,
    MESSAGE,
    MODEL,
    NET,
    PING,
    TRACE,
    VIOLATED,
    check,
    job,
    outcome,
)

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.run.judge import judge
from fencepost.checker.trace import itf_reader, itf_writer
from fencepost.checker.trace.steps import shown, write_trace
from fencepost.checker.trace.value_tree import shape, text
from fencepost.spec.core import types
from fencepost.spec.text.problem import Rejected

OPTION = types.Option(types.Bool())
VALUES: list[tuple[types.Value, types.Type, Any]] = [
    (True, types.Bool(), True),
    (3, types.Int(0, 9), {"#bigint": "3"}),
    (-(2**63), types.Machine(64), {"#bigint": "-9223372036854775808"}),
    (1, types.Enum("E", ("A", "B")), "B"),
    (ANSWER_1, MESSAGE, {"tag": "Answer", "value": {"token": {"#bigint": "1"}, "last": True}}),
    (PING, MESSAGE, {"tag": "Ping", "value": {}}),
    ((), OPTION, {"tag": "None", "value": {}}),
    ((True,), OPTION, {"tag": "Some", "value": True}),
    ((0, 1), types.Set(types.Int(0, 3)), {"#set": [{"#bigint": "0"}, {"#bigint": "1"}]}),
    ((PING, PING), NET, [{"tag": "Ping", "value": {}}] * 2),
    (
        ((), (PING,)),
        LOG,
        {"#map": [[{"#bigint": "1"}, []], [{"#bigint": "2"}, [{"tag": "Ping", "value": {}}]]]},
    ),
]


@pytest.mark.parametrize(("value", "kind", "expected"), VALUES)
def test_values(value: types.Value, kind: types.Type, expected: Any) -> None:
    assert itf_writer.encode(value, kind) == expected
    states = {"states": [{"x": expected}]}
    trace = itf_reader.read(json.dumps(states).encode(), "t.itf.json").trace
    state = trace.steps[0].state
    assert state is not None
    assert text(state["x"]) == text(shape(value, kind))


def saved(finding: Finding) -> dict[str, Any]:
    result = judge(job(check("violated", "Short")), outcome(finding.verdict, finding))
    return dict(itf_writer.trace_object(result, finding, "1.0"))


def test_a_trace_file() -> None:
    got = saved(VIOLATED)
    assert list(got) == ["#meta", "vars", "states"]
    assert got["vars"] == ["net", "Client.phase", "Server.log"]
    assert got["#meta"]["format"] == "ITF"
    assert (got["#meta"]["source"], got["#meta"]["property"]) == ("sample.fence", "Short")
    assert got["#meta"]["property-span"] == "sample.fence:15:1"
    last = got["states"][2]
    assert last["#meta"] == {
        "index": 2,
        "title": "Server[2].serve(retry: true) on Ping",
        "action": "Server.serve",
        "arguments": {
            "Server": {"#bigint": "2"},
            "retry": True,
            "on": {"tag": "Ping", "value": {}},
        },
        "span": "sample.fence:12:12",
        "lifeline": "Server[2]",
        "kind": "ordinary",
    }
    assert last["Client.phase"] == "Busy"


def written(trace: Any) -> str:
    page = Page()
    write_trace(page, trace)
    return page.text()


def test_a_trace_read_back_reads_the_same() -> None:
    recording = itf_reader.read(itf_writer.dumps(saved(VIOLATED)).encode(), "t.itf.json")
    about, trace = recording.about, recording.trace
    assert about == "sample.fence, c: violated Short, 3 states"
    assert written(trace) == written(shown(MODEL, TRACE))


def test_a_step_that_fails_is_kept() -> None:
    failing = Trace((*TRACE.steps[:2], Step(0, (), None)))
    got = saved(Finding(Verdict.ERROR, None, 3, failing))
    assert len(got["states"]) == 2
    trace = itf_reader.read(itf_writer.dumps(got).encode(), "t.itf.json").trace
    assert written(trace).endswith("  3  Client.begin\n     this step fails\n")


def test_traces_of_other_tools() -> None:
    data = """{"#meta": {"source": "bank.qnt"}, "vars": ["b"], "loop": 0, "states": [
      {"#meta": {"index": 0}, "b": {"#tup": [1, "x", {"tag": "None", "value": {"#tup": []}}]}},
      {"#meta": {"index": 1}, "b": {"#unserializable": "Int"}, "c": {"tag": "A", "value": 2}}]}"""
    recording = itf_reader.read(data.encode(), "t")
    about, trace = recording.about, recording.trace
    assert about == "bank.qnt, 2 states, then back to state 1"
    assert (
        written(trace)
        == """\
  1  initial state
     b = [1, x, none]
  2  step
     b  [1, x, none] -> Int
     c  ? -> A(2)
"""
    )


MANY = '{"states": [' + "{}," * itf_reader.MOST_STATES + "{}]}"
DEEP = '{"states": [{"x": ' + '{"#set": [' * 80 + "]}" * 80 + "}]}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON: Expecting value at line 1, column 1"),
        (b"\xff", "is not UTF-8 text"),
        (b"[]", "is not an ITF trace: the file is not an object"),
        (b"{}", 'is not an ITF trace: it has no list of "states"'),
        (b'{"states": [3]}', "is not an ITF trace: state 0 is not an object"),
        (b'{"states": [{"x": {"#bigint": "3x"}}]}', '"#bigint" that is not a whole number'),
        (b'{"states": [{"x": {"#map": [[1]]}}]}', '"#map" that is not a list of pairs'),
        (b'{"states": [{"x": ' + b"9" * 5000 + b"}]}", "holds a number of absurd length"),
        (b"[" * 100_000, "is nested too deeply"),
        (DEEP.encode(), "nested deeper than 64"),
        (
            b'{"states": [' + b"{}," * itf_reader.MOST_STATES + b"{}]}",
            "states; at most 100,000 are read",
        ),
        (b" " * (itf_reader.MOST_BYTES + 1), "bytes; at most 67,108,864 are read"),
    ],
)
def test_hostile_files(data: bytes, message: str) -> None:
    with pytest.raises(Rejected) as raised:
        itf_reader.read(data, "t.json")
    assert message in raised.value.problems[0].message
    assert raised.value.problems[0].code == "F028"


def test_no_escape_sequence_survives(tmp_path: Path) -> None:
    data = '{"states": [{"#meta": {"title": "a\\u001b[2J"}, "\\u001bx": "\\u0007"}]}'
    trace = itf_reader.read(data.encode(), "t").trace
    assert written(trace) == "  1  a?[2J\n     ?x = ?\n"
