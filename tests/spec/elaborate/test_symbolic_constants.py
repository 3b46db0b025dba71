"""Symbolic constants: where they are allowed, and how values are assigned to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import ran, refused
from tests.support.text_tables import tables

from fencepost.checker.engines import load
from fencepost.checker.request import Request, Unsupported
from fencepost.spec.core import ir
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.types import Value
from fencepost.spec.core.verify_model import problems as faults
from fencepost.spec.elaborate.claims import program

TABLES = tables(Path(__file__))

EPOCHS = """
const E0: int16 = any where 0 <= E0 and E0 <= int16(Most)
const Most: int[4] = any where Most > 1
const Wrap: bool = any
enum How: Old, New
const Mode: How = any
var x: int16 = E0
var seen: set[int16, 3] = {E0}
action up:
    require x < int16(Most) + 2 and (Wrap or x >= 0)
    x = x + 1
    if Mode == New: seen.remove(E0)
invariant Low: x < 6
terminal: true
check all:
    expect ok
"""


@pytest.mark.parametrize(("declaration", "code", "phrase"), TABLES["misuse"])
def test_misuse(declaration: str, code: str, phrase: str) -> None:
    text = "const E: int16 = any\nconst N: int = 2\nvar x: 0..3 = 0\n"
    refused(f"{text}{declaration}\n", code, phrase)


def built(path: Path, **constants: str) -> ir.Model:
    loaded = program.load(path)
    model = program.build(loaded, loaded.checks[0], constants)
    assert faults(model) == []
    return model


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "epochs.fence"
    path.write_text(EPOCHS, encoding="utf-8")
    return path


def test_a_model_lists_them(spec: Path) -> None:
    symbols = built(spec).symbols
    assert [symbol.path for symbol in symbols] == ["E0", "Most", "Wrap", "Mode"]
    assert [symbol.condition is None for symbol in symbols] == [False, False, True, True]
    # A condition on a constant without a value becomes a condition of that constant.
    (mode, most) = built(spec, E0="3", Wrap="true").symbols[::-1]
    assert (mode.path, most.path) == ("Mode", "Most")
    assert isinstance(most.condition, ir.And)


@pytest.mark.parametrize("name", ["local", "interpreter"])
def test_explicit_engines_refuse_them(spec: Path, name: str) -> None:
    with pytest.raises(Unsupported, match="all values of E0") as refusal:
        load(name).run(Request(built(spec), properties=frozenset()))
    assert refusal.value.span is not None
    assert "--const E0=VALUE" in refusal.value.instead


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0, 2, True, 1), ("0", "2", "true", "New")),
        ((3, 7, False, 0), ("3", "7", "false", "Old")),
        ((5, 4, True, 0), ("5", "4", "true", "Old")),
    ],
)
def test_an_instance_is_the_spec_with_these_values(
    spec: Path, values: tuple[Value, ...], texts: tuple[str, ...]
) -> None:
    core = instance(built(spec), values)
    assert faults(core) == []
    names = ("E0", "Most", "Wrap", "Mode")
    text = EPOCHS.replace("check all:\n", "check all:\n" + "".join(
        f"    const {name} = {value}\n" for name, value in zip(names, texts, strict=True)
    ))  # fmt: skip
    expected = ran(text).outcome
    outcome = load("interpreter").run(Request(core, properties=frozenset({0})))
    assert outcome.verdict is expected.verdict
    assert outcome.statistics.levels == expected.statistics.levels
    assert outcome.statistics.generated == expected.statistics.generated


def test_parameters_of_modules_are_symbolic_under_their_path(tmp_path: Path) -> None:
    (tmp_path / "counter.fence").write_text(
        "const Start: int8 = any where Start > 0\nvar x: int8 = Start\n", encoding="utf-8"
    )
    path = tmp_path / "spec.fence"
    path.write_text("import counter\ninvariant I: counter.x > 0\n", encoding="utf-8")
    loaded = program.load(path)
    assert [s.path for s in program.build(loaded, None).symbols] == ["counter.Start"]
    model = program.build(loaded, None, {"counter.Start": "3"})
    assert model.symbols == ()
    assert [constant.path for constant in model.constants] == ["counter.Start"]
