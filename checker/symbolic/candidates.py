"""Candidate lemmas: what may hold of a spec in every state, guessed from the types of its variables
and the numbers that occur in it.

Ranges, equalities between variables, and what holds where an enum has a certain value. Whether a
guess is right is for induction to find out; most are not.
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
from fencepost.spec.core.rebuild import rebuilt
from fencepost.spec.core.spelling import show
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import (
    Bool,
    Enum,
    Int,
    Integer,
    Map,
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

MOST = 3_000
"""More candidates are not looked at."""
MOST_NUMBERS = 6
"""At most this many of the numbers of a type are compared with."""
WALKS, MOST_STEPS = 16, 24
"""How many walks, and how long, show that a guess is wrong."""
MOST_TRIED = 1_000
"""At most this many steps from a state are chosen among."""
MOST_KEYS = 16
"""A family of more variables is not guessed about."""


@dataclass(frozen=True, slots=True)
class LemmaGuess:
    """A guess: a condition on states, and how it reads."""

    text: str
    condition: Expr


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A scalar inside the state: of every member of a family, where there is a ``key``."""

    text: str
    expr: Expr
    key: Type | None

    @property
    def type(self) -> Type:
        return self.expr.type


def candidates(model: Model) -> tuple[LemmaGuess, ...]:
    """The guesses for a model, in an order that depends on the model alone."""
    slot = model.slots
    families = [v.type.key for v in model.variables if isinstance(v.type, Map)]
    keys = [key for key in dict.fromkeys(families) if cardinality(key) <= MOST_KEYS]
    places = [
        place
        for index, variable in enumerate(model.variables)
        if not variable.ghost and variable.kind != "budget"
        for place in _variable(variable.name, index, variable.type, slot, keys)
    ]
    numbers = _numbers(model)
    found: list[LemmaGuess] = []
    guesses = chain(_exclusions(places, slot), _guesses(places, numbers))
    for text, condition, key in guesses:
        if len(found) == MOST:
            break
        if key is not None:
            every = ir.Universe(Set(key))
            condition = ir.Quantified(True, slot, every, condition)
            text = f"forall i: {text}"
        found.append(LemmaGuess(text, condition))
    return tuple(found)


def plausible(
    model: Model,
    constants: Sequence[Value],
    guesses: Sequence[LemmaGuess],
    look: Callable[[], None],
) -> list[LemmaGuess]:
    """The guesses that hold in some states of the model with these values of its symbolic
    constants: in those that a few walks lead to; ``look`` is called on the way. It costs little,
    and most guesses do not.
    """
    if len(constants) != len(model.symbols):
        return list(guesses)
    span = model.properties[0].span if model.properties else model.variables[0].span
    asked = tuple(Property("", PropertyKind.LEMMA, guess.condition, span) for guess in guesses)
    whole = replace(model, properties=asked, slots=model.slots + 2)
    runner = WatchedRunner(instance(whole, constants), look)
    left = list(range(len(guesses)))
    for state in _met(runner):
        left = [number for number in left if runner.holds(number, state)]
    return [guesses[number] for number in left]


def _met(runner: Runner) -> Iterator[State]:
    """States that walks lead to; the same ones in every run."""
    chance = Random(0)
    first = [step.state for step in islice(runner.initial(), MOST_STEPS) if step.state is not None]
    for _ in range(WALKS if first else 0):
        state = chance.choice(first)
        yield state
        for _ in range(MOST_STEPS):
            tried = islice(runner.successors(state), MOST_TRIED)
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
        case Set(element, None) if cardinality(element) <= MOST_KEYS:
            for value in values(element):
                member = ir.Contains(expr, ir.Literal(element, value))
                yield _Scalar(f"({show(value, element)} in {text})", member, key)
        case _:
            pass


def _numbers(model: Model) -> dict[Type, list[int]]:
    """The numbers of each type that a spec speaks of, least first; the nearest to 0 are kept."""
    found: dict[Type, set[int]] = {}
    roots: tuple[object, ...] = (
        model.initial,
        *(action.body for action in model.actions),
        *(property.body for property in model.properties),
    )
    for node in walk(roots):
        if isinstance(node, ir.Literal) and isinstance(node.type, Integer):
            kind: Type = Int(0, 0) if isinstance(node.type, Int) else node.type
            if isinstance(node.value, int):
                found.setdefault(kind, set()).add(node.value)
    for kind in list(found):
        found[kind] |= {0}
    nearest = {k: sorted(v, key=lambda n: (abs(n), n))[:MOST_NUMBERS] for k, v in found.items()}
    return {kind: sorted(each) for kind, each in nearest.items()}


_Guess = tuple[str, Expr, Type | None]


def _guesses(places: Sequence[_Scalar], numbers: dict[Type, list[int]]) -> Iterator[_Guess]:
    facts = [(fact, place) for place in places for fact in _facts(place, numbers)]
    for (text, condition), place in facts:
        yield text, condition, place.key
    for one, other in combinations(places, 2):
        both = isinstance(one.type, Int) and isinstance(other.type, Int)
        if (one.type == other.type or both) and one.key == other.key:
            yield f"{one.text} == {other.text}", ir.Equal(one.expr, other.expr), one.key
            if isinstance(one.type, Integer):
                for low, high in ((one, other), (other, one)):
                    text = f"{low.text} <= {high.text}"
                    yield text, ir.Less(low.expr, high.expr, or_equal=True), one.key
    # What holds where an enum, or a bool, has a certain value.
    for place in places:
        for text, _, negation in _cases(place):
            for (fact, holds), other in facts:
                if other is not place and other.key in (None, place.key):
                    whole = ir.Or((negation, holds))
                    yield f"{text} implies {fact}", whole, place.key


def _exclusions(places: Sequence[_Scalar], slot: int) -> Iterator[_Guess]:
    """At most one member of a family has a certain value."""
    for place in places:
        if place.key is None or not isinstance(place.type, Enum | Bool):
            continue
        every = ir.Universe(Set(place.key))
        here, other = ir.Local(place.key, slot), ir.Local(place.key, slot + 1)
        for text, _, negation in _cases(place):
            there = _moved(negation, slot, slot + 1)
            apart = ir.Or((ir.Equal(here, other), negation, there))
            inner = ir.Quantified(True, slot + 1, every, apart)
            text = f"at most one i has {text}"
            yield text, ir.Quantified(True, slot, every, inner), None


def _moved(part: T, slot: int, new: int) -> T:
    """A piece of core that speaks of another slot."""
    if isinstance(part, ir.Local):
        return cast("T", replace(part, slot=new)) if part.slot == slot else part
    return rebuilt(part, lambda inner: _moved(inner, slot, new))


def _facts(place: _Scalar, numbers: dict[Type, list[int]]) -> Iterator[tuple[str, Expr]]:
    """What may be known of one place."""
    for text, condition, negation in _cases(place):
        yield text, condition
        if not isinstance(place.type, Bool):
            yield text.replace(" == ", " != "), negation
    if isinstance(place.type, Integer):
        kind: Type = Int(0, 0) if isinstance(place.type, Int) else place.type
        for number in numbers.get(kind, ()):
            if not place.type.low <= number <= place.type.high:
                continue
            literal = _literal(place.type, number)
            yield f"{place.text} == {number}", ir.Equal(place.expr, literal)
            if number > place.type.low:
                yield f"{place.text} >= {number}", ir.Less(literal, place.expr, or_equal=True)
            if number < place.type.high:
                yield f"{place.text} <= {number}", ir.Less(place.expr, literal, or_equal=True)


def _cases(place: _Scalar) -> Iterator[tuple[str, Expr, Expr]]:
    """The values of an enum or a bool: as a condition, and its opposite."""
    match place.type:
        case Bool():
            yield place.text, place.expr, ir.Not(place.expr)
            yield f"not {place.text}", ir.Not(place.expr), place.expr
        case Enum(members=members):
            for number, _ in enumerate(members):
                literal = _literal(place.type, number)
                same = ir.Equal(place.expr, literal)
                yield f"{place.text} == {show(number, place.type)}", same, ir.Not(same)
        case _:
            pass


def _literal(kind: Type, value: Value) -> Expr:
    return ir.Literal(kind, value)
