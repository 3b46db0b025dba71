"""Generates candidate lemmas, which are guessed invariants, from the types of the variables and the
numbers in the spec.

Candidates are ranges, equalities between variables, and conditions that hold while an enum has a
certain value. Induction decides which candidates are right; most are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice
from random import Random
from typing import TypeVar, cast

from fencepost.checker.symbolic.run_limits import WatchedRunner
from fencepost.spec.core import ir
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Expr, Model, Property
from fencepost.spec.core.properties import PropertyKind
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import rebuilt, walk
from fencepost.spec.core.types import (
    Bool,
    Int,
    Integer,
    Map,
    Nominal,
    Option,
    Record,
    Scalar,
    Set,
    State,
    Type,
    Value,
    cardinality,
    values,
)
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner

T = TypeVar("T")

MAX_CANDIDATES = 3_000
"""Maximum number of candidate lemmas."""
MAX_NUMBERS = 6
"""Maximum number of constants of each type that values are compared with."""
WALKS, MAX_STEPS = 16, 24
"""Number and maximum length of the random walks that refute guesses."""
MAX_TRIED = 1_000
"""Maximum number of successors of a state that a walk chooses from."""
MAX_KEYS = 16
"""Maximum number of members of a family; larger families are skipped."""


@dataclass(frozen=True, slots=True)
class LemmaGuess:
    """A guessed lemma: a condition on states, and the text that describes it."""

    text: str
    condition: Expr


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A scalar inside the state. With a ``key``, it represents one scalar for each member of a
    family.
    """

    text: str
    expr: Expr
    key: Type | None

    @property
    def type(self) -> Type:
        return self.expr.type


def candidates(model: Model) -> tuple[LemmaGuess, ...]:
    """Returns the guesses for a model, in a deterministic order."""
    slot = model.slots
    families = [v.type.key for v in model.variables if isinstance(v.type, Map)]
    keys = [key for key in dict.fromkeys(families) if cardinality(key) <= MAX_KEYS]
    scalars = [
        scalar
        for index, variable in enumerate(model.variables)
        if not variable.ghost and variable.kind != "budget"
        for scalar in _variable(variable.name, index, variable.type, slot, keys)
    ]
    numbers = _numbers(model)
    guesses_found: list[LemmaGuess] = []
    guesses = chain(_exclusions(scalars, slot), _guesses(scalars, numbers))
    for text, condition, key in guesses:
        if len(guesses_found) == MAX_CANDIDATES:
            break
        if key is not None:
            every = ir.Universe(Set(key))
            condition = ir.Quantified(True, slot, every, condition)
            text = f"forall i: {text}"
        guesses_found.append(LemmaGuess(text, condition))
    return tuple(guesses_found)


def plausible(
    model: Model,
    constants: Sequence[Value],
    guesses: Sequence[LemmaGuess],
    look: Callable[[], None],
) -> list[LemmaGuess]:
    """Returns the guesses that hold in all states visited by a few random walks. ``constants`` are
    the values of the symbolic constants, and ``look`` is called regularly. This filter is cheap,
    and most guesses fail it.
    """
    if len(constants) != len(model.symbols):
        return list(guesses)
    span = model.properties[0].span if model.properties else model.variables[0].span
    lemmas = tuple(Property("", PropertyKind.LEMMA, guess.condition, span) for guess in guesses)
    whole = replace(model, properties=lemmas, slots=model.slots + 2)
    runner = WatchedRunner(instance(whole, constants), look)
    remaining = list(range(len(guesses)))
    for state in _met(runner):
        remaining = [number for number in remaining if runner.holds(number, state)]
    return [guesses[number] for number in remaining]


def _met(runner: Runner) -> Iterator[State]:
    """Yields the states on a few random walks. The walks are deterministic."""
    chance = Random(0)
    first = [step.state for step in islice(runner.initial(), MAX_STEPS) if step.state is not None]
    for _ in range(WALKS if first else 0):
        state = chance.choice(first)
        yield state
        for _ in range(MAX_STEPS):
            tried = islice(runner.successors(state), MAX_TRIED)
            after = [step.state for step in tried if step.state is not None]
            if not after:
                break
            state = chance.choice(after)
            yield state


def _variable(
    name: str, index: int, kind: Type, slot: int, keys: Sequence[Type]
) -> Iterator[_Scalar]:
    whole = ir.Variable(kind, index)
    yield from _places(name, whole, None)
    for key in keys:
        local = ir.Local(key, slot)
        if kind == key:
            yield _Scalar(f"({name} == i)", ir.Equal(whole, local), key)
        elif kind == Option(key):
            same = ir.And((ir.IsSome(whole), ir.Equal(ir.Content(key, whole), local)))
            yield _Scalar(f"({name} == i)", same, key)
        elif isinstance(kind, Set) and kind.element == key:
            yield _Scalar(f"(i in {name})", ir.Contains(whole, local), key)
    if isinstance(kind, Map) and kind.key in keys:
        role, dot, rest = name.rpartition(".")
        text = f"{role}[i].{rest}" if dot else f"{name}[i]"
        yield from _places(text, ir.Get(kind.value, whole, ir.Local(kind.key, slot)), kind.key)


def _places(text: str, expr: Expr, key: Type | None) -> Iterator[_Scalar]:
    match expr.type:
        case Scalar():
            yield _Scalar(text, expr, key)
        case Record(fields=parts):
            for number, field in enumerate(parts):
                part = ir.GetField(field.type, expr, number)
                yield from _places(f"{text}.{field.name}", part, key)
        case Option():
            yield _Scalar(f"({text} != none)", ir.IsSome(expr), key)
        case Set(element, None) if cardinality(element) <= MAX_KEYS:
            for value in values(element):
                member = ir.Contains(expr, ir.Literal(element, value))
                yield _Scalar(f"({show(value, element)} in {text})", member, key)
        case _:
            pass


def _numbers(model: Model) -> dict[Type, list[int]]:
    """Returns the numbers of each type that occur in a spec, in ascending order. If there are too
    many, the numbers nearest to 0 are kept.
    """
    by_type: dict[Type, set[int]] = {}
    roots: tuple[object, ...] = (
        model.initial,
        *(action.body for action in model.actions),
        *(property.body for property in model.properties),
    )
    for node in walk(roots):
        if isinstance(node, ir.Literal) and isinstance(node.type, Integer):
            kind: Type = Int(0, 0) if isinstance(node.type, Int) else node.type
            if isinstance(node.value, int):
                by_type.setdefault(kind, set()).add(node.value)
    for kind in list(by_type):
        by_type[kind] |= {0}
    nearest = {k: sorted(v, key=lambda n: (abs(n), n))[:MAX_NUMBERS] for k, v in by_type.items()}
    return {kind: sorted(each) for kind, each in nearest.items()}


_Guess = tuple[str, Expr, Type | None]


def _guesses(scalars: Sequence[_Scalar], numbers: dict[Type, list[int]]) -> Iterator[_Guess]:
    facts = [(fact, scalar) for scalar in scalars for fact in _facts(scalar, numbers)]
    for (text, condition), scalar in facts:
        yield text, condition, scalar.key
    for first, second in combinations(scalars, 2):
        both = isinstance(first.type, Int) and isinstance(second.type, Int)
        if (first.type == second.type or both) and first.key == second.key:
            yield f"{first.text} == {second.text}", ir.Equal(first.expr, second.expr), first.key
            if isinstance(first.type, Integer):
                for low, high in ((first, second), (second, first)):
                    text = f"{low.text} <= {high.text}"
                    yield text, ir.Less(low.expr, high.expr, or_equal=True), first.key
    # Guess conditions that hold while an enum, or a bool, has a certain value.
    for scalar in scalars:
        for text, _, negation in _cases(scalar):
            for (fact, holds), second in facts:
                if second is not scalar and second.key in (None, scalar.key):
                    whole = ir.Or((negation, holds))
                    yield f"{text} implies {fact}", whole, scalar.key


def _exclusions(scalars: Sequence[_Scalar], slot: int) -> Iterator[_Guess]:
    """Guesses that at most one member of a family has a certain value."""
    for scalar in scalars:
        if scalar.key is None or not isinstance(scalar.type, Nominal | Bool):
            continue
        every = ir.Universe(Set(scalar.key))
        first, second = ir.Local(scalar.key, slot), ir.Local(scalar.key, slot + 1)
        for text, _, negation in _cases(scalar):
            second_negation = _moved(negation, slot, slot + 1)
            apart = ir.Or((ir.Equal(first, second), negation, second_negation))
            inner = ir.Quantified(True, slot + 1, every, apart)
            text = f"at most one i has {text}"
            yield text, ir.Quantified(True, slot, every, inner), None


def _moved(part: T, slot: int, new: int) -> T:
    """Returns the core code with one slot renamed."""
    if isinstance(part, ir.Local):
        return cast("T", replace(part, slot=new)) if part.slot == slot else part
    return rebuilt(part, lambda inner: _moved(inner, slot, new))


def _facts(scalar: _Scalar, numbers: dict[Type, list[int]]) -> Iterator[tuple[str, Expr]]:
    """Yields possible facts about one scalar, each as a text and a condition."""
    for text, condition, negation in _cases(scalar):
        yield text, condition
        if not isinstance(scalar.type, Bool):
            yield text.replace(" == ", " != "), negation
    if isinstance(scalar.type, Integer):
        kind: Type = Int(0, 0) if isinstance(scalar.type, Int) else scalar.type
        for number in numbers.get(kind, ()):
            if not scalar.type.low <= number <= scalar.type.high:
                continue
            literal = _literal(scalar.type, number)
            yield f"{scalar.text} == {number}", ir.Equal(scalar.expr, literal)
            if number > scalar.type.low:
                yield f"{scalar.text} >= {number}", ir.Less(literal, scalar.expr, or_equal=True)
            if number < scalar.type.high:
                yield f"{scalar.text} <= {number}", ir.Less(scalar.expr, literal, or_equal=True)


def _cases(scalar: _Scalar) -> Iterator[tuple[str, Expr, Expr]]:
    """Yields a text, a condition and the negated condition for each value of an enum or a bool."""
    match scalar.type:
        case Bool():
            yield scalar.text, scalar.expr, ir.Not(scalar.expr)
            yield f"not {scalar.text}", ir.Not(scalar.expr), scalar.expr
        case Nominal(members=members):
            for number, _ in enumerate(members):
                literal = _literal(scalar.type, number)
                same = ir.Equal(scalar.expr, literal)
                yield f"{scalar.text} == {show(number, scalar.type)}", same, ir.Not(same)
        case _:
            pass


def _literal(kind: Type, value: Value) -> Expr:
    return ir.Literal(kind, value)
