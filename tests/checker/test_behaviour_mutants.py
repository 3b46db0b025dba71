"""Mutants of the code that decides temporal properties are each caught by a named example.

A mutant is a replacement in the text of one module. The deciding modules are executed again with
the mutant and applied to the example; their result must differ from the right one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from tests.checker.test_behaviours import COUNTER, EXAMPLES, decided, shown
from tests.support.agreement import model_of

from fencepost.checker.native import search
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.kernels import behaviours as kernels
from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits
from fencepost.checker.symbolic import bounded
from fencepost.spec.core.spelling import show
from fencepost.spec.semantics.stepper import Runner

TEMPORAL = "fencepost.checker.temporal"
ANEW = ("automaton", "units", "lasso", "paths", "decide")
"""The modules of `TEMPORAL` that decide properties, in the order of their imports."""
LASSOS = "fencepost.checker.symbolic.lassos"
SEEN = f"{TEMPORAL}.seen"
NATIVE = "fencepost.checker.native"
PACKED = ("streett", "product", "lassos", "behaviours")
"""The modules of `NATIVE` that decide properties from packed states, in the order of their
imports.
"""
VIOLATES_NOTHING = "what violates nothing"


@dataclass(frozen=True, slots=True)
class Mutant:
    """Replaces ``old``, which occurs once in ``module``, with ``new``; the named example catches
    the mutant.
    """

    module: str
    old: str
    new: str
    caught: str

    def __str__(self) -> str:
        return f"{self.caught}, {self.module}"


DECIDING = [
    # Weak fairness instead of strong, and strong instead of weak.
    Mutant("decide", "self.graph.model.fairness[unit.constraint].strong", "False",
           "strong is"),
    Mutant("decide", "self.graph.model.fairness[unit.constraint].strong", "True",
           "weak is not enough"),
    # The recursion.
    Mutant("decide", "in components(_Moves(self, rest), rest):", "in ():",
           "a component that is taken apart"),
    Mutant("decide", "yield from self.fair(smaller)", "yield smaller", "strong is"),
    # Being enabled instead of being taken.
    Mutant("decide", "for edge in inside.edges(pair) for unit in edge.units",
           "for unit in self.graph.possible[pair[0]]", "it may not stay"),
    # A step that leaves the component counts as taken.
    Mutant("decide", "for edge in inside.edges(pair)", "for edge in _Moves(self).edges(pair)",
           "a step that leaves a component is none of it"),
    Mutant("decide", "for edge in inside.edges(pair) for unit in edge.units",
           "for _, units in self.graph.steps(pair[0]) for unit in units",
           "an edge to a state that ends what is owed"),
    # Only one unit per step.
    Mutant("decide", "for unit in edge.units}", "for unit in sorted(edge.units)[:1]}",
           "one step for two units"),
    # A unit is enabled only within the constraint.
    Mutant("decide", "result.reached.expand((units, after) for after, units in targets.items())",
           "result.reached.expand((units, after) for after, units in targets.items())\n"
           "        kept = dict(result.steps(state)).values()\n"
           "        result.possible[state] = frozenset().union(*kept)",
           "a unit that is possible only across a constraint"),
    # A unit is enabled somewhere instead of everywhere, and vice versa.
    Mutant("decide", "always = possible[0].intersection(*possible)",
           "always = possible[0].union(*possible)", "weak is not enough"),
    Mutant("decide", "ever = possible[0].union(*possible)",
           "ever = possible[0].intersection(*possible)", "strong is"),
    # Stuttering.
    Mutant("decide", "len(part) > 1 or pair in moves.stays(pair)", "len(part) > 1",
           "stuttering, because the fair action is disabled"),
    # Promises of the formula.
    Mutant("decide", "if all(promise in nodes[node].puts_off for _, node in part):", "if False:",
           "a promise that is put off"),
    # Visible variables and fields.
    Mutant("units", "if not variable.ghost\n", "if True\n", "a ghost that changes instead"),
    Mutant("units", "if not part.ghost)", "if True)", "a ghost field that changes instead"),
    Mutant("units", "covering and seen(step.state) != here", "covering",
           "fairness of an action that changes nothing"),
    # The definition of a unit.
    Mutant("units", "chosen[: fairness.choices])", "chosen[:0])", "a unit of each process"),
    Mutant("units", "chosen[: fairness.choices])", "chosen)", "a unit of whatever parameters"),
    # The members and the condition of a group.
    Mutant("units", "chosen[: len(part.choices)] == part.choices and", "",
           "a group of one process"),
    Mutant("units", " and holds(fairness.condition)", "",
           "a condition that does not always hold"),
    Mutant("units", "in fairness.members:", "in fairness.members[:1]:",
           "a weak group of which always some member is possible"),
    # The promises of a formula.
    Mutant("automaton", "self._bit(self.put_off, form)\n                later",
           "0\n                later", "a promise that is put off"),
    # The remaining promises and units along the cycle.
    Mutant("paths", "self.promises or self.weak or self.strong", "self.weak or self.strong",
           "two promises"),
    Mutant("paths", "self.promises or self.weak or self.strong",
           "self.promises or self.strong", "two units in turn"),
    Mutant("paths", "self.promises or self.weak or self.strong",
           "self.promises or self.weak", "a detour for a strong unit"),
    Mutant("paths", "self._weak &= possible", "self._weak -= possible", "two units in turn"),
]  # fmt: skip

SYMBOLIC = [
    Mutant("lassos", "terms.both(*idle) if fairness.strong else terms.either(*idle)",
           "terms.either(*idle)", "strong is"),
    Mutant("lassos", "terms.both(*idle) if fairness.strong else terms.either(*idle)",
           "terms.both(*idle)", "weak is not enough"),
    Mutant("lassos", "[self._counts(levels, position, unit) for position in positions]",
           "[self._at(levels, position).possible(unit) for position in positions]", "strong is"),
    Mutant("lassos", "        if stays:", "        if False:",
           "stuttering, because the fair action is disabled"),
    Mutant("lassos", "terms.both(inside, *map(terms.negation, possible))", "inside",
           "it may not stay"),
    Mutant("lassos", "terms.both(inside, *map(", "terms.both(*map(",
           "staying outside a constraint"),
    Mutant("seen", "if not variable.ghost\n", "if True\n", "a ghost that only grows"),
    Mutant("seen", "if not has_ghost(kind):", "if True:", "a ghost field that only grows"),
    Mutant("lassos", "step.path, terms.negation(unseen))", "step.path)",
           "who idles beside it"),
    Mutant("lassos", "self.formulas.tried(level, action, choice_values)",
           "self.formulas.tried(level, action, ())", "a unit of each process"),
    Mutant("lassos", "terms.both(holds, step.path,", "terms.both(step.path,",
           "a condition that does not always hold"),
    Mutant("lassos", "for part in fairness.members)", "for part in fairness.members[1:])",
           "a group of one process"),
    Mutant("lassos", "                self._same(levels[loop], levels[last]),", "",
           "an edge to a state that ends what is owed"),
]  # fmt: skip

MACHINE = [
    # Weak fairness instead of strong, and strong instead of weak.
    Mutant("streett", "units.of_strength(True), units.of_strength(False)",
           "units.of_strength(True) & units.of_strength(False), "
           "units.of_strength(True) | units.of_strength(False)",
           "strong is"),
    Mutant("streett", "units.of_strength(True), units.of_strength(False)",
           "units.of_strength(True) | units.of_strength(False), "
           "units.of_strength(True) & units.of_strength(False)",
           "weak is not enough"),
    # The recursion.
    Mutant("streett", "if again.any():", "if False:", "a component that is taken apart"),
    Mutant("streett", "if clear.any():", "if (clear | good_weak).any():\n"
           "                clear = clear | good_weak", "strong is"),
    # Being enabled instead of being taken; a step that leaves the component counts as taken.
    Mutant("streett", "good_weak = ~filled(always & ~taken & self._weak)",
           "good_weak = ~filled(always & ~ever & self._weak)",
           "a step that leaves a component is none of it"),
    Mutant("streett", "good_weak = ~filled(always & ~taken & self._weak)",
           "good_weak = ~filled(always & self._weak)", "one step for two units"),
    # A unit is enabled somewhere instead of everywhere, and vice versa.
    Mutant("streett", "return always, ever", "return ever, ever", "weak is not enough"),
    Mutant("streett", "return always, ever", "return always, always", "strong is"),
    # Stuttering.
    Mutant("streett", "good[of_pair[part.lingers]] = True", "pass",
           "stuttering, because the fair action is disabled"),
    # Promises of the formula.
    Mutant("streett", "good &= keeps", "pass", "a promise that is put off"),
    # Initial pairs.
    Mutant("product", "enters = self.behind | (self.first if level == 0 else 0)",
           "enters = self.behind", "a promise that is put off"),
    # The definition of a unit.
    Mutant("behaviours", "several.append(bool(distinguishing_choices(model, number)))",
           "several.append(False)", "a unit of each process"),
    Mutant("behaviours", "several.append(bool(distinguishing_choices(model, number)))",
           "several.append(False)", "a unit of each message"),
    Mutant("behaviours", "range(count, count + more) if fairness.strong else ()",
           "range(count, count + more)", "weak is not enough"),
    # The members and the condition of a group.
    Mutant("streett", "self._served[labels, part] & self._possible[sources, part]",
           "self._served[labels, part]", "a step of a member that does not count"),
    Mutant("behaviours", "if not conditions and served", "if served",
           "a condition that does not always hold"),
    Mutant("behaviours", "restricted = [", "restricted = [] and [",
           "a condition that does not always hold"),
    # Where the lasso closes, and its stem.
    Mutant("lassos", "return pairs[::-1]", "return pairs", "it may stay"),
    Mutant("lassos", "product.marked(marks, component.states[inside], component.nodes[inside])",
           "pass", "round and round"),
    # The remaining promises and units along the cycle.
    Mutant("lassos", "if not owed.promises <= nodes[node].puts_off", "if False", "two promises"),
    Mutant("lassos", "        if owed.weak:", "        if False:",
           "where a unit is not possible is nearer than its step"),
    Mutant("lassos", "self._of.units.bits(owed.weak | owed.strong)",
           "self._of.units.bits(owed.weak)", "a detour for a strong unit"),
    Mutant("lassos", "labels[(targets == after[0]) & (labels > 0)]", "labels[labels > 0]",
           "two units that leave one state"),
    Mutant("lassos", "there is None or self._key(step[1]) < self._key(there)", "True",
           "where a unit is not possible is nearer than its step"),
    Mutant("product", "opened[earlier.states] |= earlier.bits", "pass", "two promises"),
]  # fmt: skip

UNFAIR: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "strong is": ((0,), (1, 0)),
    "an edge to a state that ends what is owed": ((0,), (1, 0)),
    "it may not stay": ((0, 1, 2, 3), ()),
    "round and round": ((0, 1, 2), ()),
    "two units in turn": ((0, 1), ()),
    VIOLATES_NOTHING: ((0,), (1, 2, 3, 0)),
}
"""Values along paths that are not fair lassos, of specs with one variable. The last path is of a
counter that reaches 3, as it must.
"""

JUDGING = [
    Mutant("lasso", "(idle and not fairness.strong)", "idle", "strong is"),
    Mutant("lasso", "if unit in leads[before].get(after, ())", "if unit in possible[before]",
           "an edge to a state that ends what is owed"),
    Mutant("lasso", "if unit not in possible[state]]", "]", "it may not stay"),
    Mutant("lasso", "and None not in reasons(runner, lasso).values()", "", "round and round"),
    Mutant("lasso", "and violates(runner, formula, lasso)", "and True", VIOLATES_NOTHING),
]  # fmt: skip


def deciding_modules(mutant: Mutant | None) -> dict[str, ModuleType]:
    """Executes the deciding modules again, one of them with the mutant."""
    modules: dict[str, ModuleType] = {}
    for name in ANEW:
        full = f"{TEMPORAL}.{name}"
        wanted = mutant if mutant is not None and mutant.module == name else None
        modules[full] = mutated_module(full, wanted, modules)
    return modules


def mutated_module(
    full: str, mutant: Mutant | None, others: Mapping[str, ModuleType]
) -> ModuleType:
    """Executes a module that imports ``others`` in place of the modules with their names."""
    file = importlib.import_module(full).__file__
    assert file is not None
    text = Path(file).read_text("utf-8")
    if mutant is not None:
        if text.count(mutant.old) != 1:
            raise LookupError(f"the code has changed: {mutant.old}")
        text = text.replace(mutant.old, mutant.new)
    module = ModuleType(full)
    with mock.patch.dict(sys.modules, {**others, full: module}):
        exec(compile(text, file, "exec"), module.__dict__)
    return module


def lasso_text(mutant: Mutant | None, name: str) -> str:
    """Returns the values of the first variable along the lasso that the modules find in an example,
    or "ok".
    """
    text, _ = EXAMPLES[name]
    model = model_of(text)
    formula = next(prop.formula for prop in model.properties if prop.kind.of_behaviours)
    decide: Any = deciding_modules(mutant)[f"{TEMPORAL}.decide"]
    lasso = decide.violation(decide.graph(Runner(model)), formula)
    if lasso is None:
        return "ok"
    lasso = lasso.rotated()
    kind = model.variables[0].type
    stem = " ".join(show(state[0], kind) for state in lasso.stem)
    cycle = " ".join(show(state[0], kind) for state in lasso.cycle or lasso.stem[-1:])
    return f"{stem} ({cycle})"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_deciding_modules_are_right(name: str) -> None:
    assert lasso_text(None, name) == EXAMPLES[name][1]


@pytest.mark.parametrize("mutant", DECIDING, ids=str)
def test_a_mutant_of_the_decision_is_caught(mutant: Mutant) -> None:
    try:
        answer = lasso_text(mutant, mutant.caught)
    except AssertionError as error:
        answer = f"noticed by itself: {error}"
    assert answer != EXAMPLES[mutant.caught][1]


def is_right_about_lassos(mutant: Mutant | None, name: str) -> bool:
    """Checks whether bounded model checking with the mutant is right about the existence of a
    lasso.

    An invalid lasso fails an assertion.
    """
    text, expected = EXAMPLES[name]
    seen = mutated_module(SEEN, mutant if mutant and mutant.module == "seen" else None, {})
    wanted = mutant if mutant and mutant.module == "lassos" else None
    module: Any = mutated_module(LASSOS, wanted, {SEEN: seen})
    with mock.patch.object(bounded, "Lassos", module.Lassos):
        try:
            _, outcome = decided(text, "bmc", Limits(depth=4))
        except AssertionError:
            # The path is not a lasso.
            return False
    return (outcome.verdict is Verdict.VIOLATED) == (expected != "ok")


@pytest.mark.parametrize("mutant", SYMBOLIC, ids=str)
def test_a_mutant_of_bounded_model_checking_is_caught(mutant: Mutant) -> None:
    assert is_right_about_lassos(None, mutant.caught)
    assert not is_right_about_lassos(mutant, mutant.caught)


def native_lasso_text(mutant: Mutant | None, name: str) -> str:
    """Returns the values of the first variable along the lasso that `local` finds in an example, or
    "ok".
    """
    modules: dict[str, ModuleType] = {}
    for part in PACKED:
        full = f"{NATIVE}.{part}"
        wanted = mutant if mutant is not None and mutant.module == part else None
        modules[full] = mutated_module(full, wanted, modules)

    def loaded(full: str) -> ModuleType:
        return modules.get(full) or importlib.import_module(full)

    with mock.patch.object(search, "import_module", loaded):
        try:
            return shown(EXAMPLES[name][0], "local")
        except (AssertionError, StopIteration) as error:
            return f"noticed by itself: {error}"


@pytest.mark.parametrize("mutant", MACHINE, ids=str)
def test_a_mutant_of_the_decision_from_packed_states_is_caught(mutant: Mutant) -> None:
    assert native_lasso_text(None, mutant.caught) == EXAMPLES[mutant.caught][1]
    assert native_lasso_text(mutant, mutant.caught) != EXAMPLES[mutant.caught][1]


@pytest.mark.parametrize(
    "name", ["a ghost that changes instead", "a ghost field that changes instead"]
)
def test_machine_code_that_compares_ghosts_is_caught(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, expected = EXAMPLES[name]
    right = kernels.define

    def mistaken(unit: Unit, words: int, ghosts: bool, labelled: bool) -> None:
        right(unit, words, not ghosts, labelled)

    monkeypatch.setattr(kernels, "define", mistaken)
    assert shown(text, "local") != expected


def accepts_path(mutant: Mutant | None, name: str) -> bool:
    """Checks whether the evaluator accepts an invalid lasso."""
    example = EXAMPLES.get(name)
    text = example[0] if example else COUNTER.format("fair ", "fair ", "eventually x == 3")
    states = UNFAIR[name]
    model = model_of(text)
    formula = next(prop.formula for prop in model.properties if prop.kind.of_behaviours)
    lasso: Any = deciding_modules(mutant)[f"{TEMPORAL}.lasso"]
    path = lasso.Lasso(*(tuple((value,) for value in part) for part in states))
    answer: bool = lasso.genuine(Runner(model), formula, path)
    return answer


@pytest.mark.parametrize("mutant", JUDGING, ids=str)
def test_a_mutant_of_the_evaluator_is_caught(mutant: Mutant) -> None:
    assert not accepts_path(None, mutant.caught)
    assert accepts_path(mutant, mutant.caught)
