"""What a trace file says, whoever wrote it: the trace, and what is known about it.

It does not know the format of the file, nor how a trace is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.checker.printing.json_values import Json
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.message_flights import Flight, flights
from fencepost.checker.trace.steps import ShownTrace
from fencepost.checker.trace.value_tree import Change, Shape, changes

SYSTEM = "system"
"""The lifeline of what nobody in particular does."""


MOST_READ = 8


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace, and what a report says beside it. What is not known is empty or None.

    ``about`` is one sentence for the whole; ``headline`` says what is wrong at the end, if
    ``violated``, and ``verdict`` is the word for it. ``instance`` are the values of the quantified
    variables for which the property fails, ``failing_part`` its innermost part that is false.
    ``reads`` are the variables of the property. ``actions`` is the source of each action taken, by
    name. ``needed_at_end`` are the positions of the steps that the problem needs. ``loop`` is the
    position to which a trace without end returns.
    """

    about: str
    trace: ShownTrace
    source: str = ""
    check: str = ""
    generator: str = ""
    headline: str = ""
    violated: bool = False
    verdict: str = ""
    property: str = ""
    property_source: Excerpt | None = None
    failing_part: Excerpt | None = None
    instance: tuple[tuple[str, str], ...] = ()
    reads: tuple[str, ...] = ()
    problem: str = ""
    problem_source: Excerpt | None = None
    blocked: tuple[str, ...] = ()
    constants: tuple[tuple[str, str], ...] = ()
    lifelines: tuple[str, ...] = ()
    actions: Mapping[str, Excerpt] = field(default_factory=dict[str, Excerpt])
    needed_at_end: tuple[int, ...] = ()
    loop: int | None = None

    def changes(self, position: int) -> list[Change]:
        """What a step changed; nothing where it is the first or was not completed."""
        steps = self.trace.steps
        before = steps[position - 1].state if position else None
        after = steps[position].state
        if before is None or after is None:
            return []
        found: list[Change] = []
        for name, value in after.items():
            if name in before:
                family = name in self.trace.families
                found += changes(name, before[name], value, family=family)
        return found

    def read_there(self) -> tuple[tuple[str, Shape], ...]:
        """The values of the variables of the property in the last state; none where there are
        too many to help.
        """
        last = self.trace.steps[-1].state if self.trace.steps else None
        if last is None or len(self.reads) > MOST_READ:
            return ()
        return tuple((name, last[name]) for name in self.reads if name in last)

    def flights(self) -> tuple[Flight[Shape], ...]:
        """The messages of the trace."""
        return flights([step.act.exchanges for step in self.trace.steps])

    def lanes(self) -> tuple[str, ...]:
        """The lifelines to draw: the declared roles, then who else acts, in order of appearance,
        instances of a family side by side.
        """
        acting = dict.fromkeys(
            step.act.lifeline or SYSTEM for step in self.trace.steps[1:] if step.act.kind
        )
        others = [name for name in acting if name not in self.lifelines]
        return (*self.lifelines, *sorted(others, key=lambda name: _key(name, others)))


@dataclass(frozen=True, slots=True)
class SavedStep:
    """A step as a file has it. ``action`` is None where it does not say which; ``state`` is None
    for a step that failed.
    """

    action: str | None
    arguments: Mapping[str, Json] | None
    state: Mapping[str, Json] | None


def _key(name: str, names: Sequence[str]) -> tuple[int, int, str]:
    """Families in order of first appearance; their instances in order, numbers as numbers."""
    family, _, rest = name.partition("[")
    first = next(n for n, other in enumerate(names) if other.partition("[")[0] == family)
    index = rest.removesuffix("]")
    number = int(index) if index.lstrip("-").isdecimal() and len(index) < 20 else 0
    return first, number, index
