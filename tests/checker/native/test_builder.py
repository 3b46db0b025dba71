"""The text builder for machine code writes the same text as llvmlite."""

from __future__ import annotations

import re

import pytest
from tests.support.agreement import loaded
from tests.support.examples import RANGED, Example
from tests.support.memory_guard import inspectable
from tests.support.native_steps import written
from tests.support.shipped import turn

from fencepost.checker.layout import Layout
from fencepost.spec.elaborate.claims import program

NAME = re.compile(r"%[\w.$-]+")


def normal(text: str) -> list[str]:
    """Returns the lines of a module, with the values of each function numbered by first
    occurrence.
    """
    lines: list[str] = []
    numbers: dict[str, str] = {}
    for line in text.replace('"', "").splitlines():
        if line.startswith(("define", "declare")):
            numbers.clear()
        for name in NAME.findall(line):
            numbers.setdefault(name, f"%{len(numbers)}")
        lines.append(" ".join(NAME.sub(lambda match: numbers[match[0]], line).split()))
    return lines


@pytest.mark.parametrize("example", turn(RANGED, 2, 5), ids=lambda example: example.name)
def test_the_text_equals_that_of_llvmlite(example: Example) -> None:
    read = loaded(example.text)
    check = read.checks[0]
    model = program.build(read, check)
    layout, properties = Layout(model), program.select(model, check)
    unit, _ = written(model, layout, properties)
    with inspectable():
        plain, _ = written(model, layout, properties)
    assert normal(str(unit.module)) == normal(str(plain.module))
