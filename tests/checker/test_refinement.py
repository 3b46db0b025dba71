"""Examples of refinement: steps that match steps of another module, and reports of steps that do
not.

Every engine that decides refinements runs every example.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from tests.support.command import run
from tests.support.text_tables import blocks

import fencepost
from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Limits, Request, Unsupported
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program

ENGINES = ("interpreter", "local")


def model_of(folder: Path, abstract: str, text: str) -> Model:
    """Returns the model of a spec that imports ``m``."""
    (folder / "m.fence").write_text(dedent(abstract), encoding="utf-8")
    (folder / "spec.fence").write_text(dedent(text), encoding="utf-8")
    return program.build(program.load(folder / "spec.fence"), None)


def searched(model: Model, engine: str, limits: Limits | None = None, **more: bool) -> Outcome:
    chosen = frozenset(n for n, prop in enumerate(model.properties) if prop.kind.selectable)
    workers = replace(limits or Limits(), workers=(limits and limits.workers) or 1)
    return load(engine).run(
        Request(model, chosen, deadlock=False, limits=workers, keep_going=more.get("on", False))
    )


def shown(model: Model, outcome: Outcome) -> str:
    """Returns the verdict, and the values of the first variable along the trace."""
    if not outcome.findings:
        return outcome.verdict.value
    trace = outcome.findings[0].trace
    assert trace is not None
    states = " ".join(str(step.state and step.state[0]) for step in trace.steps)
    site = outcome.findings[0].site
    return f"{outcome.verdict.value}{f' {site.code}' if site else ''}: {states}"


CLOCK = """
const N: int = 3
var hour: 0..N - 1 = 0
action tick: hour = (hour + 1) % N
"""
HALVES = """
import m
var x: 0..5 = 0
action step: x = (x + 1) % 6
action jump:
    require x == 4
    x = {}
refinement R: m where hour = {}
"""

EXAMPLES = {
    block.name: (block.text.partition("--- m\n")[2] or CLOCK, block.text.partition("--- m\n")[0],
                 block.expected[0])
    for block in blocks(Path(__file__).with_name("refinements.txt"))
}  # fmt: skip
"""Each example has a refined module, a refining spec, and a result."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, engine: str, tmp_path: Path) -> None:
    abstract, text, expected = EXAMPLES[name]
    model = model_of(tmp_path, abstract, text)
    assert shown(model, searched(model, engine)) == expected


def test_the_refined_module_is_not_part_of_the_model(tmp_path: Path) -> None:
    model = model_of(tmp_path, CLOCK, HALVES.format(5, "x // 2"))
    assert [variable.name for variable in model.variables] == ["x"]


def test_constants_of_the_import_and_of_the_check(tmp_path: Path) -> None:
    (tmp_path / "m.fence").write_text(CLOCK, encoding="utf-8")
    text = HALVES.replace("import m", "import m with N = 2").format(5, "x // 3")
    text += "check a: expect ok\ncheck b:\n    const m.N = 3\n    expect violated R\n"
    (tmp_path / "spec.fence").write_text(text, encoding="utf-8")
    result = fencepost.check(tmp_path / "spec.fence")
    assert result.as_expected, str(result)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_gives_no_ok(engine: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, CLOCK, HALVES.format(2, "x // 2"))
    for limits in (Limits(depth=3), Limits(max_states=4)):
        assert searched(model, engine, limits).verdict.value == "inconclusive"


BOUNDED = """
import m
var x: 0..5 = 0
fair action up:
    require x < 5
    x += 1
action jump:
    require x == 3
    x = 5
constraint C: x < 4
refinement R: m where hour = {}
step invariant S: next(x) > x
property P: eventually x == 3
terminal: true
check c:
    properties: {}
"""


@pytest.mark.parametrize("engine", ["interpreter", "local"])
@pytest.mark.parametrize(
    ("image", "property", "expected", "notes"),
    [
        # Like a step invariant, a refinement is also checked on steps that leave the constraint.
        ("min(x, 4) % 3", "R", "ok", True),
        ("min(x, 4) % 3", "S", "ok", True),
        ("(if x == 5 then 2 else x) % 3", "R", "violated", False),
        ("min(x, 4) % 3", "P", "inconclusive", True),
    ],
)
def test_within_a_constraint(
    engine: str, image: str, property: str, expected: str, notes: bool, tmp_path: Path
) -> None:
    written(tmp_path, BOUNDED.format(image, property))
    result = fencepost.check(tmp_path / "spec.fence", engine=engine)
    (check,) = json.loads(json.dumps(result.to_json()))["checks"]
    assert check["verdict"] == expected
    within = ["within constraint C: 2 states lie outside"]
    assert check["within"] == (within if notes else [])
    assert "cut: 2 states outside constraint C: checked, not expanded" in check["notes"]


@pytest.mark.parametrize("engine", ENGINES)
def test_with_other_violations_and_continue(engine: str, tmp_path: Path) -> None:
    """With --continue, each violation is reported once; at equal depth, refinements come before
    invariants.
    """
    text = HALVES.format(2, "x // 2") + "invariant I: x != 4\nstep invariant S: next(x) != 2\n"
    model = model_of(tmp_path, CLOCK, text)
    outcome = searched(model, engine, on=True)
    violations = [
        (model.properties[finding.property or 0].name, finding.depth)
        for finding in outcome.findings
    ]
    assert violations == [("S", 3), ("I", 5), ("R", 6)]


@pytest.mark.parametrize("engine", ["bmc", "induction"])
def test_engines_that_do_not_decide_refinements_refuse_them(engine: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, CLOCK, HALVES.format(5, "x // 2"))
    with pytest.raises(Unsupported, match="refinement R"):
        searched(model, engine, Limits(depth=5))


def written(folder: Path, text: str) -> None:
    (folder / "m.fence").write_text(CLOCK, encoding="utf-8")
    (folder / "spec.fence").write_text(text, encoding="utf-8")


def test_every_report_has_both_images_and_the_reasons(tmp_path: Path) -> None:
    written(tmp_path, HALVES.format(2, "x // 2"))
    words = ("check", "spec.fence", "--engine", "interpreter")
    ran = run(*words, "--format", "json=r.json", "--format", "html=r.html", "--format", "text",
              "--trace", "t.itf.json", folder=tmp_path)  # fmt: skip
    assert ran.code == 13
    (check,) = json.loads((tmp_path / "r.json").read_text("utf-8"))["checks"]
    assert check["images"] == [{"hour": 2}, {"hour": 1}]
    assert check["unfit"] == [{"action": "tick", "why": "leads elsewhere: hour = 0"}]
    line = "    tick  leads elsewhere: hour = 0"
    shown_again = run("trace", "show", "t.itf.json", folder=tmp_path).stdout
    for text in (ran.stdout, shown_again):
        assert "the last step in m" in text
        assert line in text
    assert "tick: leads elsewhere: hour = 0" in (tmp_path / "r.html").read_text("utf-8")
    replayed = run("trace", "replay", "t.itf.json", "spec.fence", folder=tmp_path)
    assert "still violated" in replayed.stdout or replayed.code == 0, replayed


def test_an_initial_state_without_an_initial_image(tmp_path: Path) -> None:
    written(
        tmp_path, "import m\nvar x: 0..2 = any\nrefinement R: m where hour = x\nterminal: true\n"
    )
    ran = run("check", "spec.fence", "--engine", "interpreter", folder=tmp_path)
    assert ran.code == 13
    assert "why this is not an initial state of m" in ran.stdout
    assert "initial state  the most similar one has hour = 0" in ran.stdout


def test_a_cross_check_compares_engines_that_decide_it(tmp_path: Path) -> None:
    written(tmp_path, HALVES.format(2, "x // 2"))
    words = ("check", "spec.fence", "--cross-check", "--workers", "1")
    ran = run(*words, folder=tmp_path)
    assert ran.code == 13
    assert "interpreter" in ran.stdout
