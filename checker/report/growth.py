"""Reports how much each variable contributes to the number of states."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.growth import Growth, Part
from fencepost.checker.printing.json_values import Json
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import plural
from fencepost.spec.core.spelling import show
from fencepost.spec.elaborate.base.bounding_constants import bounding_constants

MAX_PARTS = 3
"""The number of variables that a text report names."""
MAX_CONSTANTS = 4
"""The maximum number of constants that a text report names for a variable."""
SAME_SHARE = 0.95
"""Without a variable, at least this share of the states counts as about as many."""


def grows_with(result: CheckResult) -> Iterator[str]:
    """Yields a line for each of the variables that contribute most to the states."""
    growth, model = result.outcome.growth, result.job.model
    if growth is None:
        return
    for part in growth.parts[:MAX_PARTS]:
        states = _without(result, growth, part)
        fewer = f"{'' if growth.exact else 'about '}{plural(states, 'state')}"
        if part.without >= SAME_SHARE * growth.states:
            fewer = "about as many states"
        variable = model.variables[part.variable]
        values = plural(part.values, "value")
        more = "" if growth.exact else "at least "
        constants = [f"{path} = {value}" for path, value in bounds(result, part)]
        by = ", ".join(
            [*constants[:MAX_CONSTANTS], *(["..."] if constants[MAX_CONSTANTS:] else [])]
        )
        line = f"{variable.name}: {more}{values}; without it {fewer}"
        yield f"{line} ({by})" if by else line


def bounds(result: CheckResult, part: Part) -> Iterator[tuple[str, str]]:
    """Yields the constants that bound a variable, with their values."""
    job = result.job
    files, span = job.program.files.files.values(), job.model.variables[part.variable].span
    names = bounding_constants(files, span)
    for name in names:
        for constant in job.model.constants:
            if constant.path.rpartition(".")[2] == name:
                yield constant.path, show(constant.value, constant.type)


def rounded(states: float) -> int:
    """Rounds an estimate to two digits."""
    unit = int(10 ** max(0, len(str(int(states))) - 2))
    return round(states / unit) * unit


def _without(result: CheckResult, growth: Growth, part: Part) -> int:
    """Returns the number of states without a variable. If the search visited orbits, it is the same
    share of all states as of the orbits.
    """
    if growth.exact and growth.states == result.outcome.statistics.distinct:
        return part.without
    return rounded(result.outcome.statistics.distinct * part.without / growth.states)


def growth_object(result: CheckResult) -> dict[str, Json]:
    """Returns the contribution of every variable as JSON."""
    growth, model = result.outcome.growth, result.job.model
    if growth is None:
        return {}
    variables: list[Json] = [
        {
            "name": model.variables[part.variable].name,
            "values": part.values,
            "states_without": _without(result, growth, part),
            "constants": [path for path, _ in bounds(result, part)],
        }
        for part in growth.parts
    ]
    return {"growth": {"sampled": growth.sampled, "exact": growth.exact, "variables": variables}}
