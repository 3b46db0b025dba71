"""The protocol of engines: its size, the smallest engine, and the limits that apply without
`Stoppable`.
"""

from __future__ import annotations

import doctest
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any
from unittest import mock

import pytest
from tests.support.agreement import model_of
from tests.support.examples import EXAMPLES, EXPLICIT, Example

from fencepost.checker import engines
from fencepost.checker.native.states import LocalStates
from fencepost.checker.outcome import Limit, Outcome
from fencepost.checker.request import Limits, Request
from fencepost.checker.search import states
from fencepost.checker.search.account import Account
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.states import States, Stoppable
from fencepost.checker.spark.states import SparkStates
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner

MANY = """\
var n: 0..99999 in 0..99999
action stay: n = n
"""


def members(protocol: type) -> set[str]:
    """Returns the public members of a protocol, without those of its bases."""
    return {name for name in vars(protocol) if not name.startswith("_")}


@pytest.fixture(scope="module")
def smallest() -> Any:
    """The engine that the doctest of `States` defines."""
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(States, "States", module=states)
    with redirect_stdout(StringIO()):
        doctest.DocTestRunner().run(example, clear_globs=False)
    return example.globs["SmallestStates"]


def searched(engine: Any, model: Model, deadlock: bool = True, **limits: Any) -> Outcome:
    request = Request(model, frozenset(range(len(model.properties))), deadlock, Limits(**limits))
    watch = Watch(request, Account(request), Interrupts())
    return LevelSearch(watch, engine(watch, Runner(model))).run()


def measured(outcome: Outcome) -> Outcome:
    """Returns the outcome without the values that vary from run to run."""
    return replace(outcome, statistics=replace(outcome.statistics, seconds=0.0, peak_bytes=0))


def test_the_size_of_the_protocols() -> None:
    assert len(members(States)) <= 7
    assert len(members(States) | members(Stoppable)) <= 12


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_smallest_engine_is_complete(example: Example, smallest: Any) -> None:
    model = model_of(example.text)
    properties = frozenset(range(len(model.properties)))
    wanted = engines.load("interpreter").run(Request(model, properties, example.deadlock))
    outcome = searched(smallest, model, example.deadlock)
    assert measured(outcome) == measured(wanted)


def test_a_limit_on_time_cuts_an_engine_that_is_not_stoppable(smallest: Any) -> None:
    model = model_of(MANY)
    outcome = searched(smallest, model, timeout=0.1)
    assert outcome.cut == Limit("timeout", 0.1)
    assert 0 < outcome.statistics.distinct < 100_000


def test_a_limit_on_memory_cuts_an_engine_that_is_not_stoppable(smallest: Any) -> None:
    model = model_of(MANY)
    assert searched(smallest, model, memory=1 << 20).cut == Limit("memory", 1 << 20)


def test_only_a_stoppable_engine_can_be_saved(smallest: Any) -> None:
    model = model_of(MANY)
    request = Request(model, frozenset())
    watch = Watch(request, Account(request), Interrupts())
    with pytest.raises(AssertionError, match="cannot be saved: it is not `Stoppable`"):
        LevelSearch(watch, smallest(watch, Runner(model)), mock.Mock())


@pytest.mark.parametrize("engine", EXPLICIT)
def test_problems_of_initial_states_beyond_the_limit_do_not_count(engine: str) -> None:
    model = model_of("var n: 0..9 = any\naction stay: n = n\ninvariant Small: n < 5\n")
    request = Request(model, frozenset(range(len(model.properties))), limits=Limits(max_states=3))
    outcome = engines.load(engine).run(request)
    assert (outcome.cut, outcome.findings) == (Limit("max-states", 3), ())


def stoppable(engine: LocalStates | SparkStates) -> Stoppable:
    """Lets mypy check that the machine-code engines are `Stoppable`."""
    return engine
