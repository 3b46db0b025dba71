"""Typical typing mistakes and their diagnostics; and that a mistake is reported only once.

``slips.txt`` holds the slips: a text, then its problems (code, line:column, message, notes).
``pytest --update-golden`` rewrites it; read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems as checked
from tests.support.syntax_trees import dump, problem_line, problems, source

from fencepost.spec.syntax.parser import MAX_PROBLEMS, parse
from fencepost.spec.text.problem import Problem

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
    assert file.broken.names == {"x", "a"}


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
channel c: M capacity 2 or block
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


@pytest.mark.parametrize(
    ("line", "code", "phrase"),
    [
        ("action a: q.pop()", "F415", "pop_first and pop_last take an element out"),
        ("action a: q.insert(0, 1)", "F415", "at the ends, by append and prepend"),
        ("action a: q.extend([1])", "F415", "are put behind by q += r"),
        ("action a: q.push_front(1)", "F415", 'it is called "prepend"'),
        ("action a: q.add(1)", "F415", 'it is called "append"'),
        ("action a: s.append(1)", "F415", 'it is called "add"'),
        ("action a: s.pop()", "F415", "pick x in s, then s.remove(x)"),
        ("action a: s.update(t)", "F415", "s = s | t"),
        ("action a: m.update(t)", "F415", "an element is assigned: m[k] = e"),
        ("action a: q = q[s]", "F301", "a part of a sequence is written q[i..j]"),
        ("action a: q = q[1:]", "F101", "a part of a sequence is q[i..j], q[i..] or q[..j]"),
        ("action a: q += 2", "F308", "q + [e] is q with an element more"),
        ("action a: q = tail(q)", "F201", "write q[1..]"),
        ("action a: q = q - [2]", "F308", "[x for x in q if x != e]"),
        ("action a: s += {1}", "F308", "the union of sets is a | b"),
        ("action a: s = s * t", "F308", "the intersection of sets is a & b"),
        ("action a: b += [1]", "F308", "b.add(e) puts an element in"),
        ("invariant I: union(s) == {}", "F201", "write a | b for two sets"),
        ("invariant I: UNION(s) == {}", "F201", "{x for s in S, x in s}"),
        ("invariant I: s.union(t) == {}", "F319", "write a | b for two sets"),
        ("invariant I: s.issubset(t)", "F319", "write a <= b"),
        ("invariant I: q.length() == 0", "F319", "write len(...)"),
        ("invariant I: powerset(s) == {}", "F201", "write subsets(S)"),
        ("invariant I: x in range(3)", "F201", "the integers from a to b, both included, are a..b"),
        ("invariant I: Cardinality(s) == 0", "F201", 'it is called "len"'),
        ("invariant I: o is None", "F309", "`== none` and `!= none`"),
        ("invariant I: f(r with a: 1, b: 2, 3)", "F321", "stands in brackets here"),
        ("invariant I: f(r, y: 1, z: 0)", "F321", "arguments are given by position"),
        ("action a: r = P(r with a: 1, c: 2)", "F314", "stands in brackets here"),
    ],
)
def test_habits_of_other_languages(line: str, code: str, phrase: str) -> None:
    reported = checked(f"{STATE}{line}\n")
    assert code in [problem.code for problem in reported]
    assert any(phrase in problem.message for problem in reported), "\n".join(map(str, reported))


@pytest.mark.parametrize(
    "line",
    [
        "action a: q = q[..len(q) - 2]",
        "action a: q = q[1..]",
        "action a: q += [1, 2]",
        "action a: q = [y for y in q if y != 1]",
        "action a:\n    pick y in s\n    s.remove(y)",
        "action a: r = r with a: 1, b: 2",
        "invariant I: s <= t",
        "invariant I: forall y in subsets(s): y <= s",
        "invariant I: {y for u in {s, t}, y in u} == s | t",
        "invariant I: {z for z in 0..6 if exists y in s, u in t: z == y + u} == {}",
        "invariant I: (x == 1\n    or x == 0)",
    ],
)
def test_suggested_texts_are_specs(line: str) -> None:
    assert checked(f"{STATE}action go: send Ask to c\n{line}\nterminal: true\n") == ()
