"""Typical typing mistakes have helpful diagnostics, and each mistake is reported only once.

``slips.txt`` holds the slips: a text, then its problems (code, line:column, message, notes).
``pytest --update-golden`` rewrites it; read the difference.
"""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from tests.support.checked_specs import codes
from tests.support.checked_specs import problems as checked
from tests.support.syntax_trees import dump, problem_line, problems, source
from tests.support.text_tables import tables

from fencepost.spec.elaborate.claims import program
from fencepost.spec.syntax.parser import MAX_PROBLEMS, parse
from fencepost.spec.text.problem import Problem

TABLES = tables(Path(__file__))

SLIPS = Path(__file__).with_name("slips.txt")


def shown(text: str) -> str:
    lines = [text]
    for problem in problems(f"{text}\n"):
        lines.append(f"=> {problem_line(problem)}")
        for span, remark in problem.notes:
            position = ""
            if span:
                line, column = span.source.position(span.start)
                position = f"{line}:{column} "
            lines.append(f"   note {position}{remark}")
    return "\n".join(lines)


def test_slips(request: pytest.FixtureRequest) -> None:
    blocks = SLIPS.read_text(encoding="utf-8").strip("\n").split("\n\n")
    blocks_ = [shown(block.partition("\n=> ")[0]) for block in blocks]
    if request.config.getoption("--update-golden"):
        SLIPS.write_text("\n\n".join(blocks_) + "\n", encoding="utf-8")
        return
    for expected, block in zip(blocks, blocks_, strict=True):
        assert block == expected


def test_a_broken_declaration_costs_only_itself() -> None:
    file, problems_ = parse(
        source(
            "const N: int = = 1\n\nvar x: T = 2\n\nenum E:\n    A, B\n    C D\n\nvar y: T = 3\n"
            "action a:\n    x == 1\n"
        )
    )
    assert [problem_line(problem) for problem in problems_] == [
        'F101 1:16 expected a value or "any", found "="',
        'F101 7:7 expected "," or the end of the line, found "D"',
        'F110 11:7 "==" compares; here write "="',
    ]
    assert [dump(d) for d in file.declarations] == [
        "VarDecl(False x T value 2 -)",
        "VarDecl(False y T value 3 -)",
    ]
    assert file.broken.names >= {"N", "E", "A", "B", "a"}
    assert not file.broken.names & {"x", "y"}


def test_a_broken_member_costs_only_itself() -> None:
    text = (
        "role R[i: I]:\n    var x: int = = 1\n    var y: int = 2\n    action a:\n        x = (1\n"
        "        y = 2\n    action b: skip\n    acton c: skip\n"
    )
    file, problems_ = parse(source(text))
    assert [problem.code for problem in problems_] == ["F101", "F102", "F114"]
    (role,) = file.declarations
    assert dump(role) == (
        "RoleDecl(R '' Parameter(i I) [VarDecl(False y int value 2 -) ActionDecl(b '' False False"
        " - - [Skip()])])"
    )
    assert file.broken.names >= {"x", "a", "c"}
    assert not file.broken.names & {"R", "y", "b"}


def test_a_broken_line_of_a_check_costs_only_itself() -> None:
    file, problems_ = parse(source("check c:\n    expect okay\n    const N = 1\n    expct ok\n"))
    assert [problem.code for problem in problems_] == ["F101", "F114"]
    assert [dump(d) for d in file.declarations] == ["CheckDecl(c False [CheckConst([N] 1)])"]


def test_a_role_with_nothing_left_is_broken() -> None:
    file, problems_ = parse(source("role R:\n    vra x: int = 1\nvar R_is_read: int = 1\n"))
    assert [problem.code for problem in problems_] == ["F114"]
    assert len(file.declarations) == 1
    assert "R" in file.broken.names


def test_names_of_a_broken_import() -> None:
    file, _ = parse(source("from m import a, b with N == 3\nimport k.l as z with\nimport q with\n"))
    assert file.broken.names >= {"a", "b", "z", "q"}


def test_an_open_bracket_does_not_swallow_the_file() -> None:
    file, problems_ = parse(source("var x: T = f(1\n\nvar y: T = 2\naction a:\n    y = [\n"))
    assert [problem_line(problem) for problem in problems_] == [
        'F102 1:13 this "(" is never closed',
        'F102 5:9 this "[" is never closed',
    ]
    assert len(file.declarations) == 1


@pytest.mark.parametrize("text", ["foo\n" * 500, "role R:\n" + "    foo\n" * 500])
def test_at_most_twenty_problems(text: str) -> None:
    file, problems_ = parse(source(text + "var last: = 1\n"))
    assert len(problems_) == MAX_PROBLEMS
    assert problems_[-1].notes[-1] == (None, "there are more syntax errors in this file")
    assert "last" in file.broken.names


def excerpt(text: str) -> str:
    (problem,) = problems(text)
    return str(problem)


def test_a_problem_shows_its_line() -> None:
    assert excerpt("role R:\r\n\taction a:\r\n\t\tx == 1\r\n") == (
        'error[F110]: "==" compares; here write "="\n'
        "t.fence:3:5\n"
        "   3 |         x == 1\n"
        "                 ^^"
    )


def test_the_end_of_a_file_without_a_line_end() -> None:
    assert excerpt("const N: int =").split("\nnote")[0] == (
        'error[F101]: expected a value or "any", found the end of the line\n'
        "t.fence:1:15\n"
        "   1 | const N: int =\n"
        "                     ^"
    )


@pytest.mark.parametrize(
    "text",
    ["\x00", "\x1b[31mvar x", "var x\x7f: int = 1", "\u202evar", "\ud7ff", "\r", "a\rb", "\x0c"],
)
def test_no_control_character_reaches_a_message(text: str) -> None:
    reported = problems(text)
    assert reported
    for problem in reported:
        assert isinstance(problem, Problem)
        assert all(char == "\n" or char.isprintable() for char in str(problem))


STATE = """\
record P: a: 0..3, b: 0..3
enum M: Ask
union N: Got(a: 0..3, b: 0..3)
channel c: M capacity 2 or block
channel d: N capacity 1
var q: seq[0..3, 4] = [1]
var s: set[0..3] = {}
var t: set[0..3] = {}
var b: bag[0..3, 4] = []
var x: 0..3 = 0
var o: 0..3? = none
var r: P = P(1, 2)
var m: map[0..1, 0..3] = [0 for k in 0..1]
def f(p: P, y: int, z: int): bool = p.a == y and z == 0
action take on _ from c: skip
"""


@pytest.mark.parametrize(("line", "code", "phrase"), TABLES["habits_of_other_languages"])
def test_habits_of_other_languages(line: str, code: str, phrase: str) -> None:
    reported = checked(f"{STATE}{line}\n")
    assert code in [problem.code for problem in reported]
    assert any(phrase in problem.message for problem in reported), "\n".join(map(str, reported))


@pytest.mark.parametrize("line", [line for (line,) in TABLES["suggested_texts_are_specs"]])
def test_suggested_texts_are_specs(line: str) -> None:
    assert checked(f"{STATE}action go: send Ask to c\n{line}\nterminal: true\n") == ()


@pytest.mark.parametrize(("text", "expected"), TABLES["broken_declarations"])
def test_uses_of_broken_declarations_are_not_errors(text: str, expected: str) -> None:
    assert " ".join(codes(f"{text}\n")) == expected


def test_a_refined_module_may_depend_on_a_broken_declaration() -> None:
    text = "import m with T = T\ntpe T = 0..1\nrefinement R: m where\n    x = 0\nvar y: T = 0\n"
    assert codes(text, {"m.fence": "param type T\nvar x: T in T\n"}) == ["F114"]


def test_a_syntax_error_does_not_wait_for_every_check() -> None:
    checks = "".join(f"check c{number}:\n    const N = {number}\n" for number in range(1, 50))
    with mock.patch.object(program, "build", wraps=program.build) as built:
        assert codes(f"cosnt N: int = 1\nvar x: 0..N = 0\n{checks}") == ["F114"]
    assert built.call_count == 1
