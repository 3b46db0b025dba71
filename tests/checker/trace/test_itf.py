"""Trace files are written and read back, and hostile files lead to errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.sample_results import (
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
from fencepost.checker.trace import itf
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.itf_values import encode
from fencepost.checker.trace.message_flights import Causes, Exchange
from fencepost.checker.trace.of_search import document, result_document
from fencepost.checker.trace.steps import write_trace
from fencepost.checker.trace.value_tree import text, tree
from fencepost.spec.core import types
from fencepost.spec.semantics.stepper import Choice
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
    assert encode(value, kind) == expected
    states = {"states": [{"x": expected}]}
    trace = itf.read(json.dumps(states).encode(), "t.itf.json")
    state = trace.steps[0].state
    assert state is not None
    assert text(state["x"]) == text(tree(value, kind))


def saved(finding: Finding) -> dict[str, Any]:
    result = judge(job(check("violated", "Short")), outcome(finding.verdict, finding))
    return dict(json.loads(itf.dumps(result_document(result, finding, "1.0"))))


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
        "written": "Server[2].serve(true, Ping)",
    }
    assert last["Client.phase"] == "Busy"


def written(trace: TraceDocument) -> str:
    page = Page()
    write_trace(page, trace)
    return page.text()


def test_a_trace_read_back_reads_the_same() -> None:
    trace = itf.read(json.dumps(saved(VIOLATED)).encode(), "t.itf.json")
    assert trace.about == "sample.fence, c: violated Short, 3 states"
    assert written(trace) == written(document(MODEL, TRACE))


def test_a_step_that_fails_is_kept() -> None:
    failing = Trace((*TRACE.steps[:2], Step(0, (), None)))
    got = saved(Finding(Verdict.ERROR, None, 3, failing))
    assert len(got["states"]) == 2
    trace = itf.read(json.dumps(got).encode(), "t.itf.json")
    assert written(trace).endswith("  2  Client.begin\n     this step fails\n")


def test_traces_of_other_tools() -> None:
    data = """{"#meta": {"source": "bank.qnt"}, "vars": ["b"], "loop": 0, "states": [
      {"#meta": {"index": 0}, "b": {"#tup": [1, "x", {"tag": "None", "value": {"#tup": []}}]}},
      {"#meta": {"index": 1}, "b": {"#unserializable": "Int"}, "c": {"tag": "A", "value": 2}}]}"""
    trace = itf.read(data.encode(), "t")
    assert trace.about == "bank.qnt, 2 states, then back to state 0"
    assert (
        written(trace)
        == """\
  0  initial state
     b = (1, x, none)
  1  step
     b  (1, x, none) -> Int
     c  ? -> A(2)
  Steps 0 and 1 repeat forever.
"""
    )


MANY = '{"states": [' + "{}," * itf.MAX_STATES + "{}]}"
DEEP = '{"states": [{"x": ' + '{"#set": [' * 80 + "]}" * 80 + "}]}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON: Expecting value at line 1, column 1"),
        (b"\xff", "is not UTF-8 text"),
        (b"[]", "is not an ITF trace: the file is not an object"),
        (b"{}", 'is not an ITF trace: it has no list of "states"'),
        (b'{"states": [3]}', "is not an ITF trace: state 0 is not an object"),
        (b'{"states": [{"x": {"#bigint": "3x"}}]}', '"#bigint" that is not an integer'),
        (b'{"states": [{"x": {"#map": [[1]]}}]}', '"#map" that is not a list of pairs'),
        (b'{"states": [{"x": ' + b"9" * 5000 + b"}]}", "contains a number that is too long"),
        (b"[" * 100_000, "is nested too deeply"),
        (DEEP.encode(), "nested deeper than 64"),
        (
            b'{"states": [' + b"{}," * itf.MAX_STATES + b"{}]}",
            "states; at most 100,000 are read",
        ),
        (b" " * (itf.MAX_BYTES + 1), "bytes; at most 67,108,864 are read"),
    ],
)
def test_hostile_files(data: bytes, message: str) -> None:
    with pytest.raises(Rejected) as raised:
        itf.read(data, "t.json")
    assert message in raised.value.problems[0].message
    assert raised.value.problems[0].code == "F028"


def test_no_escape_sequence_survives(tmp_path: Path) -> None:
    data = '{"states": [{"#meta": {"title": "a\\u001b[2J"}, "\\u001bx": "\\u0007"}]}'
    trace = itf.read(data.encode(), "t")
    assert written(trace) == "  0  a?[2J\n     ?x = ?\n"


FOREIGN: dict[str, Any] = {
    "loop": 0,
    "#meta": {"source": "bank.qnt", "own": [3], "blocked": ["a", 3], "needed-at-end": [9, 1]},
    "params": ["N"],
    "vars": ["b", "a"],
    "states": [
        {"a": {"#tup": []}, "#meta": {"index": 0, "note": None}, "b": None},
        {"#meta": {"action": "up", "arguments": {"k": 1}, "needs": ["x"]}, "b": True, "a": 1.5},
        {"a": "x", "b": {"#unserializable": "Int"}},
    ],
}
WHY = Causes(
    ((), (Exchange("send", "net", Choice("", MESSAGE, PING)),), ()),
    ((), (), (1,)),
    (2,),
    frozenset({1}),
)
FINDINGS = {
    "violated": VIOLATED,
    "failing": Finding(Verdict.ERROR, None, 3, Trace((*TRACE.steps[:2], Step(0, (), None)))),
}


def object_of(name: str) -> dict[str, Any]:
    return FOREIGN if name == "foreign" else saved(FINDINGS[name])


@pytest.mark.parametrize("name", [*FINDINGS, "foreign"])
def test_nothing_is_lost_when_a_file_is_written_again(name: str) -> None:
    """Known keys, unknown keys, and values of unknown form are all kept."""
    before = json.dumps(object_of(name), indent=1) + "\n"
    again = itf.dumps(itf.read(before.encode(), "t"))
    assert json.loads(again) == json.loads(before)
    assert again == before


def test_changes_are_written() -> None:
    read = itf.read(json.dumps(FOREIGN).encode(), "t")
    first, *rest = read.steps
    changed = replace(read, source="new.qnt", loop=1, steps=(replace(first, title="go"), *rest))
    again = json.loads(itf.dumps(changed))
    assert again["#meta"] == {**FOREIGN["#meta"], "source": "new.qnt"}
    assert again["loop"] == 1
    assert again["states"][0]["#meta"] == {"index": 0, "note": None, "title": "go"}
    assert again["states"][1:] == FOREIGN["states"][1:]


def test_loops_are_written() -> None:
    trace = document(MODEL, TRACE, loop=1)
    assert trace.about == "3 states, then back to state 1"
    assert json.loads(itf.dumps(trace))["loop"] == 1
    again = itf.read(itf.dumps(trace).encode(), "t")
    assert (again.loop, itf.dumps(again)) == (1, itf.dumps(trace))


@pytest.mark.parametrize("loop", [-1, 3, True, "1", None])
def test_an_invalid_loop_is_ignored(loop: Any) -> None:
    data = json.dumps({**FOREIGN, "loop": loop}).encode()
    read = itf.read(data, "t")
    assert read.loop is None
    assert json.loads(itf.dumps(read))["loop"] == loop


@pytest.mark.parametrize("name", FINDINGS)
def test_a_trace_from_a_file_equals_the_trace_of_the_result(name: str) -> None:
    """Every field of the document agrees, so a report does not depend on where its trace came
    from.
    """
    finding = FINDINGS[name]
    result = judge(job(check("violated", "Short")), outcome(finding.verdict, finding))
    expected = result_document(result, finding, "1.0", WHY)
    read = itf.read(itf.dumps(expected).encode(), "t")
    steps = tuple(replace(step, kept=None) for step in read.steps)
    assert replace(read, steps=steps, kept=None) == expected
