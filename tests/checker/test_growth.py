"""The contribution of each variable to the number of states, compared with brute force, and the
advice at the end of a profile, compared with the changed model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from operator import itemgetter
from pathlib import Path

import pytest
from tests.support.agreement import loaded
from tests.support.command import run

from fencepost.checker import growth as module
from fencepost.checker import outcome as outcome_module
from fencepost.checker.growth import Part, drawn, growth
from fencepost.checker.native import states as native_states
from fencepost.checker.native.search import Local
from fencepost.checker.reference.search import Interpreter
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.base.bounding_constants import bounding_constants
from fencepost.spec.elaborate.claims.program import build
from fencepost.spec.semantics.stepper import Runner

LOCK = """\
const Holders: int = 1
const Users: int = 4
const Slots: int = Users - 2
type User = 1..Users
var waiting: set[User] = {}
var holding: set[User] = {}
ghost var ever: set[User] = {}
channel net: User capacity Slots or block
role Client[u: User]:
    action ask:
        require u not in waiting | holding
        waiting.add(u)
        ever.add(u)
        send u to net
    action hear on _ as v from net where v == u: skip
    action enter:
        require u in waiting and len(holding) < Holders
        waiting.remove(u)
        holding.add(u)
    action leave:
        require u in holding
        holding.remove(u)
invariant Ever: forall u in User: u in holding implies u in ever
"""
CHECK = "check lock:\n    expect ok\n"


def reachable(model: Model) -> set[State]:
    """Returns the reachable states of a model."""
    runner = Runner(model)
    level = {successor.state for successor in runner.initial() if successor.state is not None}
    seen = set(level)
    while level:
        steps = (after for state in level for _, after in runner.steps(state))
        level = {after for after in steps if isinstance(after, tuple)} - seen
        seen |= level
    return seen


def without(state: State, number: int) -> State:
    return state[:number] + state[number + 1 :]


def brute_force(model: Model, states: set[State]) -> set[Part]:
    return {
        Part(
            number,
            len({state[number] for state in states}),
            len({without(state, number) for state in states}),
        )
        for number in range(len(model.variables))
    }


@pytest.fixture(name="explain_all")
def _explain_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_module, "LONG_SEARCH", 1)


@pytest.mark.usefixtures("explain_all")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("compressed", [False, True])
def test_local_is_exact_if_the_sample_has_all_states(
    workers: int, compressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compressed:
        monkeypatch.setattr(native_states, "COMPRESSED_FROM", 100)
    model = build(loaded(LOCK), None, {})
    outcome = Local().run(Request(model, frozenset(), limits=Limits(workers=workers)))
    every = reachable(model)
    assert outcome.growth is not None
    assert set(outcome.growth.parts) == brute_force(model, every)
    assert (outcome.growth.exact, outcome.growth.states) == (True, len(every))


@pytest.mark.usefixtures("explain_all")
def test_the_interpreter_equals_local() -> None:
    model = build(loaded(LOCK), None, {})
    request = Request(model, frozenset(), limits=Limits(workers=1))
    assert Interpreter().run(request).growth == Local().run(request).growth


def test_only_large_or_cut_searches_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(loaded(LOCK), None, {})

    def explained(limits: Limits) -> bool:
        return Local().run(Request(model, frozenset(), limits=limits)).growth is not None

    assert not explained(Limits(workers=1))
    assert not explained(Limits(workers=1, max_states=200))
    monkeypatch.setattr(outcome_module, "MIN_CUT_STATES", 200)
    assert not explained(Limits(workers=1))
    assert explained(Limits(workers=1, max_states=200))


SIZES: list[Callable[[random.Random], int]] = [
    lambda _: 1,
    lambda _: 2,
    lambda _: 50,
    lambda draw: draw.choice([1, 20]),
    lambda draw: 1 + int(draw.lognormvariate(2, 1)),
]
"""The sizes of the groups of states that differ in one variable only."""


@pytest.mark.parametrize("number", range(len(SIZES)))
def test_an_estimate_is_right_within_a_factor_of_two(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIN_SAMPLE", 10_000)
    draw = random.Random(number)
    every: list[State] = []
    groups = 0
    while len(every) < 100_000:
        every += [(groups, value) for value in range(SIZES[number](draw))]
        groups += 1
    sample = [every[position] for position in drawn(len(every))]
    drop = [itemgetter(1), itemgetter(0)]
    estimate = growth(len(every), sample, [itemgetter(0), itemgetter(1)], drop)
    assert not estimate.exact
    (part,) = [part for part in estimate.parts if part.variable == 1]
    assert groups / 2 <= part.without <= 2 * groups


# ---------------------------------------------------------------- reports


def described(tmp_path: Path, *words: str) -> str:
    (tmp_path / "lock.fence").write_text(LOCK + CHECK, encoding="utf-8")
    ran = run("check", "lock.fence", *words, folder=tmp_path)
    assert ran.code == 0, ran.stderr
    return ran.stdout


def test_the_report_names_variables_and_constants(tmp_path: Path) -> None:
    printed = described(tmp_path, "--profile")
    model = build(loaded(LOCK), None, {})
    every = reachable(model)
    names = [variable.name for variable in model.variables]
    left = {part.variable: part.without for part in brute_force(model, every)}
    lines = [line for line in printed.splitlines() if line.startswith("  grows with")]
    assert len(lines) == 3
    for line in lines:
        name, _, text = line.removeprefix("  grows with").strip().partition(": ")
        assert f"without it {left[names.index(name)]:,} states" in text
        slots = "Slots = 2, Users = 4" if name == "net" else "Users = 4"
        assert text.endswith(f"({slots})")


def test_json_has_every_variable(tmp_path: Path) -> None:
    text = described(tmp_path, "--profile", "--format", "json")
    schema = files("fencepost.checker.report") / "schema" / "report.schema.json"
    report = json.loads(text)
    import_module("jsonschema").validate(report, json.loads(schema.read_text("utf-8")))
    (check,) = report["checks"]
    assert check["growth"]["exact"]
    assert {part["name"] for part in check["growth"]["variables"]} == {
        "net", "waiting", "holding", "ever",
    }  # fmt: skip
    assert check["growth"]["variables"][0]["constants"]
    assert [list(advice) for advice in check["profile"]["advice"]] == [
        ["change", "orbits"], ["change", "states"], ["change", "states"],
    ]  # fmt: skip


def test_html_explains_the_number_of_states(tmp_path: Path) -> None:
    assert "grows with" in described(tmp_path, "--profile", "--format", "html")


# ---------------------------------------------------------------- advice

CHANGES = [
    ("declare User a symmetric type", "type User = 1..Users", "symmetric type User = {a, b, c, d}"),
    ("drop the ghost ever", "ever", ""),
    ("lower the capacity of net from 2 to 1", "Users - 2", "Users - 3"),
]
"""Each row has an advice, and the change in the spec: every line with the second text loses it."""


@pytest.mark.parametrize(("advice", "old", "new"), CHANGES)
def test_advice_is_followed(advice: str, old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "lock.fence").write_text(LOCK + CHECK, encoding="utf-8")
    report = json.loads(
        run("check", "lock.fence", "--profile", "--format", "json", folder=tmp_path).stdout
    )
    (given,) = [row for row in report["checks"][0]["profile"]["advice"] if row["change"] == advice]
    lines = (LOCK + CHECK).splitlines()
    if new:
        changed = [line.replace(old, new) for line in lines]
    else:
        changed = [line for line in lines if old not in line]
    (tmp_path / "changed.fence").write_text("\n".join(changed) + "\n", encoding="utf-8")
    ran = run("check", "changed.fence", "--format", "json", folder=tmp_path)
    (check,) = json.loads(ran.stdout)["checks"]
    actual, estimate = (
        (check["orbits"], given["orbits"])
        if "orbits" in given
        else (check["distinct"], given["states"])
    )
    assert actual / 1.5 <= estimate <= 1.5 * actual


ENUM = LOCK.replace("type User = 1..Users", "enum User: ann, bob, cy")


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        (LOCK, True),
        (LOCK.replace("len(holding) < Holders", "(u == 1 or len(holding) < Holders)"), False),
        (LOCK.replace("u not in waiting | holding", "forall v in waiting | holding: v < u"), False),
        (ENUM, True),
        (ENUM.replace("len(holding) < Holders", "(u == ann or len(holding) < Holders)"), False),
        (f"{LOCK}property P: eventually 1 in ever\n", False),
    ],
)
def test_only_types_with_interchangeable_values_are_advised(
    text: str, symmetric: bool, tmp_path: Path
) -> None:
    (tmp_path / "lock.fence").write_text(text + CHECK, encoding="utf-8")
    printed = run("check", "lock.fence", "--profile", folder=tmp_path).stdout
    assert "drop the ghost ever" in printed
    assert ("declare User a symmetric type" in printed) == symmetric


# ---------------------------------------------------------------- constants


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("waiting", ("Users",)),
        ("net", ("Users", "Slots")),
        ("a", ()),
        ("b", ("Most",)),
        ("c", ("Holders", "Users")),
        ("d", ("Users",)),
    ],
)
def test_bounding_constants(name: str, constants: tuple[str, ...]) -> None:
    text = LOCK + (
        "const Most: int = 7\nrecord R: f: 0..Holders, g: set[User]\nvar a: 0..3 = 0\n"
        "var b: seq[0..1, Most] = []\nvar c: R? = none\nrole S[u: User]:\n    var d: bool = true\n"
    )
    program = loaded(text)
    model = build(program, None, {})
    (variable,) = [v for v in model.variables if v.name.rpartition(".")[2] == name]
    assert set(bounding_constants(program.files.files.values(), variable.span)) == set(constants)
