"""Names: where they are looked up, and that nothing hides anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, problems, ran, refused, verdict
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

MODULE = {
    "shapes.fence": """
        const Limit: int = 2
        enum Shape: Round, Square
        def corners(s: Shape): int = if s == Square then 4 else 0
        var seen: 0..1 = 0
    """
}


@pytest.mark.parametrize(("text", "phrase"), TABLES["shadowing_names_the_other_declaration"])
def test_shadowing_names_the_other_declaration(text: str, phrase: str) -> None:
    found = problems(text, MODULE)
    assert [problem.code for problem in found] == ["F203"], "\n".join(map(str, found))
    assert phrase in str(found[0])
    span, remark = found[0].notes[0]
    assert span is not None
    assert remark == f'"{span.text}" is declared here'


@pytest.mark.parametrize("text", [text for (text,) in TABLES["declared_twice"]])
def test_declared_twice(text: str) -> None:
    found = problems(text, MODULE)
    assert {problem.code for problem in found} <= {"F202", "F203"}, "\n".join(map(str, found))
    assert len(found) == 1
    assert "declared" in found[0].notes[0][1]


def test_a_thing_declared_twice_causes_no_other_problem() -> None:
    refused("var x: 0..1 = 0\nvar x: bool = true\naction a:\n    x = 1\n    x = true", "F202")


@pytest.mark.parametrize(("text", "phrase"), TABLES["names_of_the_language_are_taken"])
def test_names_of_the_language_are_taken(text: str, phrase: str) -> None:
    refused(text, "F204", phrase)


def test_functions_and_variables_do_not_get_into_each_others_way() -> None:
    spec = """
        var count: 0..3 = 1
        var last: seq[0..3, 2] = [1, 2]
        action a(first in 0..1): count = count(last) + first
        invariant I: count(last) == 2 and last(last) == 2 and count in 1..3
        terminal: true
    """
    assert verdict(spec) == "ok"


def test_the_order_of_lookup() -> None:
    """Role, then file, then imports; equal names in two roles are two things."""
    spec = """
        from shapes import Shape, corners
        import shapes as s with Limit = 3
        role A:
            var x: 0..9 = 1
            def f: int = x + s.Limit
            action up: require x < 4; x = f
        role B:
            var x: 0..9 = 2
            def f: int = x
            action up: require f == 2; x = corners(Square)
        invariant I: A.x in {1, 4} and B.x in {2, 4} and A.f == A.x + 3 and s.corners(s.Round) == 0
        terminal: A.x + B.x == 8
    """
    result = ran(spec, MODULE)
    assert (result.verdict, result.states) == ("ok", 4)


def test_members_of_several_types() -> None:
    prelude = "enum E: A, B\nenum F: B, C\nunion U: B(n: 0..1), D\nvar e: E = B\nvar f: F = B\n"
    ok = "var u: U = B(1)\nvar o: E? = B\nvar m: map[E, F] = [B for k in E]\naction a: e = A\n"
    ok += "def g(x: E, y: F): bool = x == B and y == B\nterminal: true\n"
    ok += "invariant I: g(B, B) and E.B in {A, B} and f == F.B and B != e implies e == A\n"
    assert verdict(prelude + ok) == "ok"
    refused(prelude + "action a: let x = B", "F209", '"B" is a member of E, F and U; write E.B')
    refused(prelude + "action a: e = C", "F301", "e holds E, and this is F")
    refused(prelude + "action a: e = F.B", "F301", "e holds E, and this is F")
    refused(prelude + "action a: e = Bb", "F201", 'did you mean "B"?')


def test_where_things_may_be_looked_at() -> None:
    refused("var x: 0..3 = 0\ntype T = 0..x\naction a: skip", "F205", '"x" is a variable')
    refused("var x: 0..3 = 0\nconst N: int = x\naction a: skip", "F205", "a constant is wanted")
    refused("var x: 0..3 = 0\nassume x == 0\naction a: skip", "F205")
    refused("channel c: bool capacity 1\nassume c == []\naction a: skip", "F205", "is a channel")
    refused(
        "channel c: bool capacity 1\ninitially: c == []\naction a: skip", "F205", "cannot depend on"
    )
    refused("var x: 0..3 = y\nvar y: 0..3 = 0\naction a: skip", "F208", "the variables above it")
    refused("var x: 0..3 = x\naction a: skip", "F208")
    assert codes("var x: 0..3 = 0\nvar y: 0..3 = x\ninitially: y == x\naction a: skip") == []


@pytest.mark.parametrize(("expression", "code", "phrase"), TABLES["things_that_are_no_values"])
def test_things_that_are_no_values(expression: str, code: str, phrase: str) -> None:
    spec = f"""
        import shapes as m
        enum E: A, B
        type T = 0..1
        def f(n: int): int = n
        procedure p: skip
        role R:
            var x: 0..1 = 0
            def g(n: int): bool = n == x
            action a: skip
        role Q[q: bool]:
            var z: 0..1 = 0
            def h(n: int): bool = n == z
            action go: skip
        action a: skip
        invariant J: true
        invariant I: {expression}
    """.replace("action a: skip\n        invariant J", "action b: skip\n        invariant J")
    if expression == "a":
        spec = spec.replace("action b", "action a").replace("            action a: skip\n", "")
    refused(spec, code, phrase, files=MODULE)


def test_roles_read_all_and_assign_their_own() -> None:
    prelude = """
        type Id = 0..1
        var top: 0..1 = 0
        role A:
            var x: 0..1 = 0
            procedure put: x = 1
            action a:
                {}
        role B[b: Id]:
            var y: 0..1 = 0
            action go:
                {}
    """
    assert codes(prelude.format("x = B[0].y; A.x = top; top = 1", "y = A.x; y = B[1 - b].y")) == []
    refused(prelude.format("B[0].y = 1", "skip"), "F405", "a role assigns only its own variables")
    refused(prelude.format("skip", "A.x = 1"), "F405", "this is one of A: send it a message")
    refused(
        prelude.format("skip", "B[b].y = 1"),
        "F405",
        "a role names its own variables as they are: write y",
    )
    refused(prelude.format("skip", "A.put()"), "F214", "a procedure of role A, and only that")
    refused(prelude.format("skip", "A.z = 1"), "F201", "role A has no variable")
    refused(prelude.format("A.put = 1", "skip"), "F401", '"put" is a procedure')


def test_top_level_code_assigns_no_variable_of_a_role() -> None:
    refused("role A:\n    var x: 0..1 = 0\n    action a: skip\naction b: A.x = 1", "F405")
    refused("role A:\n    var x: 0..1 = 0\n    action a: skip\naction b: x = 1", "F201")
