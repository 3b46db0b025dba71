"""The trace document: a trace with everything known about it, from a search or from a file.

All reports of traces, and trace files, are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from fencepost.checker.printing.json_values import Json
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.message_flights import Exchange, Flight, flights
from fencepost.checker.trace.value_tree import Change, ValueTree, changes, text
from fencepost.spec.records import dataclass

SYSTEM = "system"
"""The lifeline of actions outside any role."""

INITIAL = "initial state"
MAX_READ = 8


@dataclass(frozen=True, slots=True)
class Datum:
    """A value as in a trace file, and as shown. Values with the same tree are equal."""

    data: Json = field(compare=False)
    tree: ValueTree


@dataclass(frozen=True, slots=True)
class Act:
    """The actor of a step, its effects on channels, and its causes.

    ``action`` is the name in the model. ``lifeline`` is the acting role, instance or channel, ""
    for an action outside any role. ``kind`` is `ir.Action.kind`. ``needs`` holds the positions of
    earlier steps that it needs. ``written`` is the step in the syntax of scenarios. A ``spare``
    step is not needed for the problem. If ``explained`` is false, exchanges, needs and ``spare``
    are unknown.
    """

    action: str = ""
    lifeline: str = ""
    kind: str = "ordinary"
    exchanges: tuple[Exchange[Datum], ...] = ()
    needs: tuple[int, ...] = ()
    spare: bool = False
    explained: bool = False
    written: str = ""


UNKNOWN = Act()
"""For traces of other tools, which do not name actors."""


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step with its title and the state after it, both as shown and as in a file (``data``). The
    state is None if the step failed.

    ``arguments`` are the choices as in a file, None if unknown; ``span`` is the location of the
    action; ``kept`` is the file's object for the step, None if the trace is not from a file.
    """

    title: str
    state: Mapping[str, ValueTree] | None
    act: Act = UNKNOWN
    data: Mapping[str, Json] | None = None
    arguments: Mapping[str, Json] | None = None
    span: str = ""
    kept: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class TraceDocument:
    """A trace and what reports show with it. Unknown fields are empty or None.

    ``families`` are the variables ``R.x`` with one value per instance of a role. ``status`` is
    "violation" for a trace that ends in a problem, ``verdict`` its kind, ``headline`` its
    description, and ``description`` a line on the whole. ``instance`` holds the values of the
    quantified variables that make the property fail, ``failing_part`` its innermost false part,
    ``reads`` its variables. ``actions`` maps names of actions to sources, ``types`` variables to
    types, and ``records`` record types to field names. ``needed_at_end`` holds the positions of the
    steps that the problem needs. For an infinite trace, ``loop`` is the position that it returns
    to, ``fair`` lists the fairness constraints with reasons, and ``since`` is the position where
    the failing part starts to fail. ``given`` names the constants set by the check or the user. For
    a violated refinement, ``refined`` names the refined module, ``images`` holds the images of the
    last states, and ``unfit`` says why no action can make the step. ``kept`` is the file's object
    without its states, so that rewriting a file loses nothing; None if the trace is not from a
    file.
    """

    steps: tuple[ShownStep, ...]
    families: frozenset[str] = frozenset()
    status: str = ""
    description: str = ""
    source: str = ""
    check: str = ""
    generator: str = ""
    headline: str = ""
    verdict: str = ""
    property_name: str = ""
    property_span: str = ""
    property_source: Excerpt | None = None
    failing_part: Excerpt | None = None
    instance: tuple[tuple[str, Datum], ...] = ()
    reads: tuple[str, ...] = ()
    problem: str = ""
    problem_source: Excerpt | None = None
    blocked: tuple[str, ...] = ()
    constants: Mapping[str, Datum] = field(default_factory=dict[str, Datum])
    given: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lifelines: tuple[str, ...] = ()
    actions: Mapping[str, Excerpt] = field(default_factory=dict[str, Excerpt])
    needed_at_end: tuple[int, ...] = ()
    loop: int | None = None
    fair: tuple[tuple[str, str], ...] = ()
    refined: str = ""
    images: tuple[Mapping[str, Datum], ...] = ()
    unfit: tuple[tuple[str, str], ...] = ()
    since: int | None = None
    kept: Mapping[str, Json] | None = None

    @property
    def violated(self) -> bool:
        """Whether the trace ends in a problem."""
        return self.status == "violation"

    @property
    def played(self) -> bool:
        """Whether it is the longest prefix of a scenario that no run fits."""
        return self.verdict == "unreached"

    @property
    def instances(self) -> tuple[tuple[str, str], ...]:
        """The values that make the property fail, as text."""
        return tuple((name, text(value.tree)) for name, value in self.instance)

    @property
    def caption(self) -> str:
        """The headline, otherwise the description."""
        return self.headline or self.description

    @property
    def endless(self) -> str:
        """The continuation of an infinite trace, as a sentence without a full stop; "" for a finite
        one.
        """
        count = len(self.steps)
        if self.loop is None:
            return ""
        if self.loop == count - 1:
            return "it stays there forever"
        return f"{for_ever(self.loop, count)} repeat forever"

    @property
    def goes_round(self) -> bool:
        """Whether it is infinite with a cycle of more than one state."""
        return self.loop is not None and self.loop < len(self.steps) - 1

    @property
    def fails_from(self) -> str:
        """From which state the failing part fails, as a suffix; "" if unknown."""
        return "" if self.since is None else f", from state {self.since + 1} on"

    @property
    def about(self) -> str:
        """A one-line summary."""
        count = len(self.steps)
        parts = [part for part in (self.source, self.description) if part]
        parts.append(f"{count} state" + ("" if count == 1 else "s"))
        if self.loop is not None:
            parts.append(f"then back to state {self.loop + 1}")
        return ", ".join(parts)

    def changes(self, position: int) -> list[Change]:
        """The changes of a step; none for the first step or a failed one."""
        before = self.steps[position - 1].state if position else None
        after = self.steps[position].state
        if before is None or after is None:
            return []
        all_changes: list[Change] = []
        for name, value in after.items():
            if name in before:
                all_changes += changes(name, before[name], value, family=name in self.families)
        return all_changes

    def read_there(self) -> Mapping[str, ValueTree]:
        """The property's variables in the last state; empty if there are too many to be helpful."""
        last = self.steps[-1].state if self.steps else None
        if last is None or len(self.reads) > MAX_READ:
            return {}
        return {name: last[name] for name in self.reads if name in last}

    def flights(self) -> tuple[Flight[ValueTree], ...]:
        """The messages of the trace."""
        return flights(
            [
                [
                    Exchange(exchange.kind, exchange.channel, exchange.message.tree)
                    for exchange in step.act.exchanges
                ]
                for step in self.steps
            ]
        )

    def lanes(self) -> tuple[str, ...]:
        """The lifelines to draw: declared roles, then other actors by first appearance, with the
        instances of a family together.
        """
        acting = dict.fromkeys(
            step.act.lifeline or SYSTEM for step in self.steps[1:] if step.act.kind
        )
        others = [name for name in acting if name not in self.lifelines]
        return (*self.lifelines, *sorted(others, key=lambda name: _key(name, others)))


def for_ever(loop: int, count: int) -> str:
    """The steps of a cycle, in a trace of ``count`` steps: ``steps 2 and 3``."""
    return f"steps {loop + 1} {'and' if loop == count - 2 else 'to'} {count}"


def _key(name: str, names: Sequence[str]) -> tuple[int, int, str]:
    """Sorts families by first appearance, and their instances numerically."""
    family, _, rest = name.partition("[")
    first = next(n for n, other in enumerate(names) if other.partition("[")[0] == family)
    index = rest.removesuffix("]")
    number = int(index) if index.lstrip("-").isdecimal() and len(index) < 20 else 0
    return first, number, index
