"""Suggests changes of a model that reduce its states, with an estimate of the effect of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fencepost.checker.growth import Growth
from fencepost.checker.outcome import Outcome
from fencepost.checker.profile import Advice
from fencepost.checker.request import ignored
from fencepost.checker.run.job import Job
from fencepost.checker.run.range_search import assumed
from fencepost.checker.search.orbits import Orbits, why_in_full
from fencepost.spec.core import types
from fencepost.spec.core.ir import Model, StateVariable
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import State, Type, Value
from fencepost.spec.elaborate.claims.program import build
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Rejected

WORTHWHILE = 0.9
"""Advice leaves at most this share of the states."""
MAX_IMAGES = 50_000
"""The maximum number of permuted states for an estimate of the number of orbits."""
MAX_MEMBERS = 7


def advised(job: Job, outcome: Outcome) -> Outcome:
    """Adds advice to the profile of an outcome, if it has one."""
    growth, profile = outcome.growth, outcome.profile
    if growth is None or profile is None or not growth.examples:
        return outcome
    every = [*_symmetry(job, growth), *_ghosts(job.model, growth), *_bounds(job.model, growth)]
    useful = sorted(
        (advice for advice in every if advice.states <= WORTHWHILE * growth.states),
        key=lambda advice: advice.states,
    )
    return replace(outcome, profile=replace(profile, advice=tuple(useful)))


def _ghosts(model: Model, growth: Growth) -> Iterator[Advice]:
    for part in growth.parts:
        variable = model.variables[part.variable]
        if variable.ghost:
            yield Advice(f"drop the ghost {variable.name}", part.without)


def _bounds(model: Model, growth: Growth) -> Iterator[Advice]:
    """Advises tighter bounds of channels and budgets. The states at a bound are those that a
    tighter one excludes; other states may become unreachable as well.
    """
    for number, variable in enumerate(model.variables):
        if variable.kind == "variable":
            continue
        bound = _bound(variable.type)
        if bound is None or bound < 2:
            continue
        below = [_filled(variable.type, state[number]) < bound for state in growth.examples]
        states = round(growth.states * sum(below) / len(below))
        yield Advice(f"lower {_limit(variable)} from {bound} to {bound - 1}", states)


def _limit(variable: StateVariable) -> str:
    return f"the {'capacity' if variable.kind == 'channel' else 'budget'} of {variable.name}"


def _bound(kind: Type) -> int | None:
    """Returns the capacity of a channel, or the maximum of a budget."""
    match kind:
        case types.Map(value=inner):
            return _bound(inner)
        case types.Seq(capacity=most) | types.Bag(capacity=most) | types.Set(capacity=most):
            return most
        case types.Int(high=high):
            return high
        case _:
            return None


def _filled(kind: Type, value: Value) -> int:
    """Returns the size of the fullest channel of a family, or the value of a budget."""
    if isinstance(value, int):
        return value
    if isinstance(kind, types.Map):
        return max((_filled(kind.value, part) for part in value), default=0)
    return len(value)


# ---------------------------------------------------------------- symmetry


def _symmetry(job: Job, growth: Growth) -> Iterator[Advice]:
    """Advises to declare types symmetric. The elaboration of the changed spec decides which types
    may be symmetric.
    """
    files = job.program.files
    uses = Counter(
        node.text
        for file in files.files.values()
        for node in walk(file.declarations)
        if isinstance(node, syntax.Name)
    )
    values = {c.path: c.value for c in job.model.constants if isinstance(c.value, int)}
    for path, file in files.files.items():
        for number, node in enumerate(file.declarations):
            members = _members(node, values)
            # No other part of a spec may name a value of a symmetric type.
            if members is None or any(uses[member.text] > 1 for member in members):
                continue
            assert isinstance(node, syntax.EnumDecl | syntax.TypeDecl)
            declared = syntax.SymmetricType(node.name, members, span=node.span)
            changed = (*file.declarations[:number], declared, *file.declarations[number + 1 :])
            tree = replace(file, declarations=changed)
            program = replace(job.program, files=replace(files, files={**files.files, path: tree}))
            try:
                model = build(program, job.check, job.settings.overrides, ranges=assumed(job.model))
            except Rejected:
                continue
            request = replace(job.request(ignored), model=model, profile=False, named=None)
            if why_in_full(request) is None:
                message = f"declare {node.name.text} a symmetric type"
                yield Advice(message, _orbits(job.model, model, growth), "orbits")


def _members(node: syntax.Declaration, values: dict[str, int]) -> tuple[syntax.Name, ...] | None:
    """Returns names for the values of a type that may be symmetric. Returns None for other
    declarations.
    """
    match node:
        case syntax.EnumDecl(members=members):
            return members if 1 < len(members) <= MAX_MEMBERS else None
        case syntax.TypeDecl(name=name, type=syntax.Range(low=low, high=high)):
            first, last = _number(low, values), _number(high, values)
            if first is None or last is None or not 0 < last - first < MAX_MEMBERS:
                return None
            return tuple(
                syntax.Name(f"{name.text}_{value}", span=name.span)
                for value in range(first, last + 1)
            )
        case _:
            return None


def _number(node: syntax.Expr, values: dict[str, int]) -> int | None:
    match node:
        case syntax.Integer(value=value):
            return value
        case syntax.Name(text=text):
            return values.get(text)
        case _:
            return None


def _orbits(old: Model, new: Model, growth: Growth) -> int:
    """Estimates the number of orbits: the mean of 1 / (size of the orbit) over states, multiplied
    by the number of states.
    """
    kinds = [variable.type for variable in new.variables]
    orbits = Orbits(kinds)
    pairs = [(before.type, kind) for before, kind in zip(old.variables, kinds, strict=True)]
    stride = -(-len(growth.examples) * orbits.permutations // MAX_IMAGES)
    examples = growth.examples[::stride]
    sizes = [orbits.size(_converted(state, pairs)) for state in examples]
    return max(1, round(growth.states * sum(1 / size for size in sizes) / len(sizes)))


def _converted(state: State, kinds: Sequence[tuple[Type, Type]]) -> State:
    return tuple(_value(part, *pair) for part, pair in zip(state, kinds, strict=True))


def _value(value: Value, old: Type, new: Type) -> Value:
    """Returns a value of type ``old`` as a value of ``new``, in which a range is an enum."""
    if old == new:
        return value
    if isinstance(value, int):
        return value - old.low if isinstance(old, types.Int) else value
    match old, new:
        case types.Map(value=inner), types.Map(value=other):
            return tuple(_value(part, inner, other) for part in value)
        case (
            (types.Set(element=inner), types.Set(element=other))
            | (types.Seq(element=inner), types.Seq(element=other))
            | (types.Bag(element=inner), types.Bag(element=other))
            | (types.Option(element=inner), types.Option(element=other))
        ):
            return tuple(_value(part, inner, other) for part in value)
        case types.Record(fields=fields), types.Record(fields=others):
            return _fields(value, fields, others)
        case types.Union(variants=variants), types.Union(variants=others):
            case, *rest = value
            assert isinstance(case, int)
            both = variants[case].fields, others[case].fields
            return (case, *_fields(tuple(rest), *both))
        case _:
            raise AssertionError((old, new))


def _fields(
    values: tuple[Value, ...], old: Sequence[types.Field], new: Sequence[types.Field]
) -> tuple[Value, ...]:
    both = zip(values, old, new, strict=True)
    return tuple(_value(value, before.type, after.type) for value, before, after in both)
