"""Checks: the runs that a file describes (docs/language.md section 10)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems, ran, refused
from tests.support.text_tables import tables

from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

TABLES = tables(Path(__file__))

SPEC = """
const N: int = 3
var x: 0..9 = 0
action up: require x < N; x += 1
invariant Small: x <= 3
step invariant Up: next(x) > x
lemma Low: x >= 0
reachable Top: x == N
terminal Done: x == N
constraint: x < 9
"""


def loaded(tmp_path: Path, text: str) -> program.Program:
    path = tmp_path / "model.fence"
    path.write_text(text)
    return program.load(path)


def test_a_file_without_checks_has_one_without_a_name(tmp_path: Path) -> None:
    read = loaded(tmp_path, '"""About."""\n' + SPEC)
    assert (read.name, read.docstring) == ("model", "About.")
    assert read.checks == (program.Check(""),)


def test_lines_of_a_check(tmp_path: Path) -> None:
    text = (
        SPEC
        + """
check all:
    expect ok
check big slow:
    const N = 4
    engine interpreter, depth 20
    properties: Small, Up
    expect violated Small
    expect depth == 5
    expect states == 5
    expect generated == 6
check stuck:
    depth 7
    expect deadlock
check short: expect error
"""
    )
    every, big, stuck, short = loaded(tmp_path, text).checks
    assert (every.name, every.slow, every.engine, every.properties) == ("all", False, None, None)
    assert (big.slow, big.engine, big.depth) == (True, "interpreter", 20)
    assert (big.properties, big.verdict, big.property) == (("Small", "Up"), "violated", "Small")
    assert big.counts == (("depth", 5), ("states", 5), ("generated", 6))
    assert (stuck.depth, stuck.verdict, stuck.engine) == (7, "deadlock", None)
    assert short.verdict == "error"
    result = ran(text, check="big")
    assert (result.verdict, result.depth, result.states, result.generated) == (
        "violated Small",
        5,
        5,
        5,
    )


def selected(tmp_path: Path, lines: str, invariants: tuple[str, ...] = ()) -> list[str]:
    read = loaded(tmp_path, f"{SPEC}check c:\n    {lines}\n")
    model = program.build(read, read.checks[0])
    chosen = program.select(model, read.checks[0], invariants)
    return [model.properties[index].name for index in sorted(chosen)]


def test_which_properties_are_searched_for(tmp_path: Path) -> None:
    every = ["Small", "Up", "Low", "Top"]
    assert selected(tmp_path, "expect ok") == every
    assert selected(tmp_path, "expect deadlock") == every
    assert selected(tmp_path, "properties: Low, Top\n    expect ok") == ["Low", "Top"]
    # With `expect violated A` and no list, only A is selected.
    assert selected(tmp_path, "expect violated Up") == ["Up"]
    assert selected(tmp_path, "properties: Small\n    expect violated Up") == ["Small", "Up"]
    # The command line takes precedence.
    assert selected(tmp_path, "properties: Small\n    expect violated Up", ("Low",)) == ["Low"]


@pytest.mark.parametrize(("lines", "code", "phrase"), TABLES["misuse"])
def test_misuse(lines: str, code: str, phrase: str) -> None:
    refused(f"{SPEC}check c:\n    {lines}\n", code, phrase)


def test_values_from_the_command_line(tmp_path: Path) -> None:
    read = loaded(tmp_path, SPEC + "check c: const N = 2\n")

    def built(name: str, text: str) -> object:
        model = program.build(read, read.checks[0], {name: text})
        return model.constants[0].value

    assert built("N", "4") == 4
    assert built("N", "2 + 3") == 5
    for name, text, code, phrase in (
        ("M", "4", "F009", 'no constant "M"; it has N'),
        ("N", "true", "F301", "N is an int, but this is bool"),
        ("N", "x +", "F101", ""),
        ("N", "y", "F201", 'no name "y"'),
        ("m.N", "4", "F009", 'no module "m" is imported'),
    ):
        with pytest.raises(Rejected) as caught:
            built(name, text)
        (problem,) = caught.value.problems
        assert problem.code == code
        assert phrase in str(problem)
        if problem.span is not None:
            assert problem.span.source.name == f"--const {name}"


def test_a_constant_of_an_imported_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules.fence").write_text("const Limit: int = 1\n", encoding="utf-8")
    text = "import rules as r\nvar x: 0..r.Limit = 0\naction a: skip\n"
    read = loaded(tmp_path, text + "check c:\n    expect ok\n")
    with pytest.raises(Rejected) as caught:
        program.build(read, read.checks[0], {"Limit": "2"})
    assert 'no constant "Limit"; there is r.Limit' in str(caught.value.problems[0])


def test_warnings_do_not_stop_a_run() -> None:
    text = "enum M: A, B\nchannel net: M capacity 1\naction a: send B to net\n"
    text += "action t on A from net: skip\nterminal: true\n"
    assert [problem.warning for problem in problems(text)] == [True]
    with pytest.raises(AssertionError):
        refused(text, "F201")
