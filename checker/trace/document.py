"""The trace document, which combines a trace with everything that is known about it. The trace may
come from a search or from a file.

All reports on traces, and all trace files, are made from such a document.
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
"""The lifeline of actions that belong to no role."""

INITIAL = "initial state"
MAX_READ = 8


@dataclass(frozen=True, slots=True)
class Datum:
    """A value in the form of a trace file (``data``) and in the form that reports show (``tree``).
    Two values are equal if their trees are equal.
    """

    data: Json = field(compare=False)
    tree: ValueTree


@dataclass(frozen=True, slots=True)
class Act:
    """Who took a step, what the step did to channels, and what caused it.

    ``action`` is the name in the model. ``lifeline`` is the acting role, role instance or channel,
    or "" if the action belongs to no role. ``kind`` is `ir.Action.kind`. ``needs`` holds the
    positions of the earlier steps that this step needs. ``written`` is the step in the syntax of
    scenarios. A ``spare`` step is not needed for the problem. If ``explained`` is false,
    ``exchanges``, ``needs`` and ``spare`` are unknown.
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
"""The act of a step in a trace of another tool, which does not name actors."""


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step with its title and the state after it. ``state`` is the state in the form that reports
    show, and ``data`` is the same state in the form of a trace file. Both are None if the step
    failed.

    ``arguments`` are the choices in the form of a trace file, or None if they are unknown. ``span``
    is the location of the action. ``kept`` is the file's object for the step, or None if the trace
    is not from a file.
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
    """A trace with everything that reports show about it. Unknown fields are empty or None.

    ``families`` contains the variables ``R.x`` that have one value per instance of a role.
    ``status`` is "violation" for a trace that ends in a problem. ``verdict`` is the kind of the
    problem and ``headline`` describes it. ``description`` is a line about the whole trace.

    ``instance`` holds the values of quantified variables that make the property fail,
    ``failing_part`` is the innermost part of the property that is false, and ``reads`` names the
    variables that the property reads. ``read`` holds what the failing part reads of the last state,
    for a property without a body. ``needed_at_end`` holds the positions of the steps that the
    problem needs.

    ``actions`` maps the names of actions to their sources, ``types`` maps variables to their types,
    and ``records`` maps record types to their field names. ``given`` names the constants that the
    check or the user has set.

    For an infinite trace, ``loop`` is the position that the trace returns to, ``fair`` lists the
    fairness constraints and why the trace satisfies each of them, and ``since`` is the position
    where the failing part starts to fail. For a violated refinement, ``refined`` names the refined
    module, ``images`` holds the images of the last states, and ``unfit`` says why no action can
    make the step.

    ``kept`` is the file's object without its states, so that rewriting the file loses nothing. It
    is None if the trace is not from a file.
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
    read: tuple[tuple[str, Datum], ...] = ()
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
        """Whether the trace belongs to a scenario that no run fits. Such a trace is the longest
        prefix of the scenario that fits a run.
        """
        return self.verdict == "unreached"

    @property
    def instances(self) -> tuple[tuple[str, str], ...]:
        """The values that make the property fail, as text."""
        return tuple((name, text(value.tree)) for name, value in self.instance)

    @property
    def caption(self) -> str:
        """The headline, or the description if the headline is empty."""
        return self.headline or self.description

    @property
    def endless(self) -> str:
        """A sentence without a full stop that says how an infinite trace continues, or "" for a
        finite trace.
        """
        count = len(self.steps)
        if self.loop is None:
            return ""
        if self.loop == count - 1:
            return "it stays there forever"
        return f"{for_ever(self.loop, count)} repeat forever"

    @property
    def goes_round(self) -> bool:
        """Whether the trace is infinite and has a cycle of more than one state."""
        return self.loop is not None and self.loop < len(self.steps) - 1

    @property
    def fails_from(self) -> str:
        """A suffix that names the state where the failing part starts to fail, or "" if this state
        is unknown.
        """
        return "" if self.since is None else f", from state {self.since} on"

    @property
    def about(self) -> str:
        """A summary of the trace on one line."""
        count = len(self.steps)
        parts = [part for part in (self.source, self.description) if part]
        parts.append(f"{count} state" + ("" if count == 1 else "s"))
        if self.loop is not None:
            parts.append(f"then back to state {self.loop}")
        return ", ".join(parts)

    def changes(self, position: int) -> list[Change]:
        """Returns the changes that a step makes. The first step and a failed step have none."""
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
        """Returns the values that the property reads in the last state, or nothing if there are too
        many to be helpful.
        """
        last = self.steps[-1].state if self.steps else None
        if last is None or max(len(self.reads), len(self.read)) > MAX_READ:
            return {}
        if self.read:
            return {name: datum.tree for name, datum in self.read}
        return {name: last[name] for name in self.reads if name in last}

    def flights(self) -> tuple[Flight[ValueTree], ...]:
        """Returns the messages of the trace."""
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
        """Returns the lifelines of the roles that act. Declared roles come first, then the other
        actors in the order of their first appearance, with the instances of a family together.
        """
        acting = dict.fromkeys(
            step.act.lifeline or SYSTEM for step in self.steps[1:] if step.act.kind
        )
        others = [name for name in acting if name not in self.lifelines]
        declared = (name for name in self.lifelines if name in acting)
        return (*declared, *sorted(others, key=lambda name: _key(name, others)))


def for_ever(loop: int, count: int) -> str:
    """Names the steps of a cycle in a trace of ``count`` steps: ``steps 2 and 3``."""
    return f"steps {loop} {'and' if loop == count - 2 else 'to'} {count - 1}"


def _key(name: str, names: Sequence[str]) -> tuple[int, int, str]:
    """Returns a sort key that orders families by first appearance, and their instances by
    number.
    """
    family, _, rest = name.partition("[")
    first = next(n for n, other in enumerate(names) if other.partition("[")[0] == family)
    index = rest.removesuffix("]")
    number = int(index) if index.lstrip("-").isdecimal() and len(index) < 20 else 0
    return first, number, index
