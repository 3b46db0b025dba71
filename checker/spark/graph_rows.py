"""The rows of the tables of states and transitions, computed on executors.

A row of `states` has the state's identifier, its level and its variables. A row of `transitions`
has the identifiers of the source and target states, the action, and its choices. Transitions are
computed with the domain of Python values, since machine code does not record choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine.worker_context import Packed
from fencepost.checker.spark import records
from fencepost.checker.spark.columns import column
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Choice, Runner

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a search: the number of levels, and the number of expanded levels."""

    levels: int
    expanded: int


def states(shipped: Broadcast[Model], extent: Extent, blocks: Iterable[bytes]) -> Iterator[Row]:
    """Yields the rows for the states in ``blocks``."""
    model = shipped.value
    layout = Layout(model)
    writes = [column(variable.type).write for variable in model.variables]
    for level, packed in _packed(layout.words, extent.levels, blocks):
        state = layout.decode(packed)
        values = (write(value) for write, value in zip(writes, state, strict=True))
        yield (identifier(packed), level, *values)


def transitions(
    shipped: Broadcast[Model], extent: Extent, blocks: Iterable[bytes]
) -> Iterator[Row]:
    """Yields the rows for the transitions from the states in ``blocks``, one per vector of
    choices.
    """
    model = shipped.value
    layout, runner = Layout(model), Runner(model)
    for _, packed in _packed(layout.words, extent.expanded, blocks):
        before = identifier(packed)
        for step in runner.successors(layout.decode(packed)):
            if step.state is not None and step.action is not None:
                after = identifier(layout.encode(step.state))
                action = model.actions[step.action]
                yield before, after, action.name, parameters(action.role, step.choices)


def beginnings(shipped: Broadcast[Model], _: Iterable[object]) -> Iterator[Row]:
    """Yields the rows for the initial states, one per vector of choices. These rows have no source
    state and no action.
    """
    layout = Layout(shipped.value)
    for step in Runner(shipped.value).initial():
        if step.state is not None:
            after = identifier(layout.encode(step.state))
            yield None, after, None, parameters("", step.choices)


def identifier(packed: Packed) -> str:
    """Returns the identifier of a state: its packed words in hexadecimal."""
    return "".join(f"{word:016x}" for word in packed)


def parameters(role: str, choices: tuple[Choice, ...]) -> str:
    """Formats a step's choices: ``Leader: 1, retry: true, on: VerifyAnswer(token: 1)``."""
    return ", ".join(
        f"{choice.label or role or 'instance'}: {show(choice.value, choice.type)}"
        for choice in choices
    )


def _packed(words: int, levels: int, blocks: Iterable[bytes]) -> Iterator[tuple[int, Packed]]:
    """Yields the states that satisfy the constraints, with their levels."""
    for data in blocks:
        kind, level, _ = records.head(data)
        if kind in records.EXPANDED and level <= levels:
            numbers = memoryview(data)[records.HEAD.size :].cast("Q")
            for offset in range(0, len(numbers), words):
                yield level, tuple(numbers[offset : offset + words])
