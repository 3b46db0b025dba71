"""Regions of a symbolic constant, compared with a search of every single value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from tests.support.agreement import loaded

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.regions.lift import Lifted, lift
from fencepost.checker.regions.ranges import contains
from fencepost.checker.regions.search import problems, search
from fencepost.checker.request import Limits, Request
from fencepost.spec.core import verify_model
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Int, Machine
from fencepost.spec.elaborate.claims import program
from fencepost.spec.elaborate.claims.program import Check, Program
from fencepost.spec.text.problem import Rejected

Short: TypeAlias = tuple[object, ...]
"""What a region promises for each of its values."""


def short(outcome: Outcome) -> Short:
    """The verdict, the problems with their depths and places, and every count."""
    counts = outcome.statistics
    return (
        outcome.verdict,
        tuple((f.verdict, f.property, f.depth, str(f.site)) for f in outcome.findings),
        counts.distinct,
        counts.generated,
        counts.depth,
        counts.levels,
        counts.transitions,
        outcome.limit,
    )


def asked(
    model: Model, check: Check, keep_going: bool = False, limits: Limits | None = None
) -> Request:
    """What the command asks for ``check``."""
    return Request(
        model,
        program.select(model, check),
        check.verdict != "violated",
        limits or Limits(depth=check.depth, workers=1),
        keep_going,
    )


def regions_of(
    read: Program,
    engine: str = "interpreter",
    keep_going: bool = False,
    limits: Limits | None = None,
    name: str | None = None,
) -> Outcome:
    """The regions of the one symbolic constant in a check of a spec (None: the first)."""
    check = check_of(read, name)
    model = program.build(read, check)
    ask = asked(model, check, keep_going, limits)
    refused = problems(model, ask.properties)
    if refused:
        raise Rejected(refused)
    return search(load(engine), ask)


def check_of(read: Program, name: str | None) -> Check:
    """The check of this name; None: the first."""
    return next(check for check in read.checks if name in (None, check.name))


def assert_brute_force_agrees(
    text: str,
    engine: str = "interpreter",
    values: Sequence[int] | None = None,
    keep_going: bool = False,
    limits: Limits | None = None,
    name: str | None = None,
) -> Outcome:
    """Each value (or each of ``values``) lies in one region, and by itself comes out as that does.

    Returns the outcome for all values.
    """
    read = loaded(text)
    check = check_of(read, name)
    model = program.build(read, check)
    found = regions_of(read, engine, keep_going, limits, name)
    assert_well_formed(model, frozenset(program.select(model, check)))
    kind = model.symbols[0].type
    assert isinstance(kind, Int | Machine)
    ask = asked(model, check, keep_going, limits)
    meant = 0
    for value in range(kind.low, kind.high + 1) if values is None else values:
        inside = [region for region in found.regions if contains(region.ranges, value)]
        alone = load("interpreter").run(replace(ask, model=instance(model, (value,))))
        if alone.verdict is Verdict.ASSUMPTION:
            assert not inside, f"{value} is not meant, and is in {inside}\n{text}"
            continue
        meant += 1
        assert len(inside) == 1, f"{value} is in {len(inside)} regions\n{text}"
        assert short(inside[0].outcome) == short(alone), f"{value}\n{text}"
    if values is None:
        size = sum(high - low + 1 for region in found.regions for low, high in region.ranges)
        assert size == meant
    return found


def assert_well_formed(model: Model, properties: frozenset[int]) -> None:
    """What is searched with terms is a legal model."""
    kind = model.symbols[0].type
    assert isinstance(kind, Int | Machine)
    lifted = lift(model, kind.high, properties)
    assert isinstance(lifted, Lifted)
    assert verify_model.problems(lifted.model) == []
