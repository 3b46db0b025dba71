"""Names: how they are looked up, and the ban on shadowing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems, refused
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
    reported = problems(text, MODULE)
    assert [problem.code for problem in reported] == ["F203"], "\n".join(map(str, reported))
    assert phrase in str(reported[0])
    span, remark = reported[0].notes[0]
    assert span is not None
    assert remark == f'"{span.text}" is declared here'


@pytest.mark.parametrize("text", [text for (text,) in TABLES["declared_twice"]])
def test_declared_twice(text: str) -> None:
    reported = problems(text, MODULE)
    assert {problem.code for problem in reported} <= {"F202", "F203"}, "\n".join(map(str, reported))
    assert len(reported) == 1
    assert "declared" in reported[0].notes[0][1]


@pytest.mark.parametrize(("text", "phrase"), TABLES["names_of_the_language_are_taken"])
def test_names_of_the_language_are_taken(text: str, phrase: str) -> None:
    refused(text, "F204", phrase)


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
