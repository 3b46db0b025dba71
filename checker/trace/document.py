"""A trace and what is known about it, however it was come by: every report of a trace is made from
this, and so is a trace file.

It does not know the format of files, nor how a trace is drawn.
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
"""The lifeline of steps that belong to no role."""

INITIAL = "initial state"
MOST_READ = 8


@dataclass(frozen=True, slots=True)
class Datum:
    """A value: as a trace file has it, and as it is shown. Values that look the same are equal."""

    data: Json = field(compare=False)
    tree: ValueTree


@dataclass(frozen=True, slots=True)
class Act:
    """Who did a step, what it did to the channels, and why it had to be.

    ``action`` is its name in the model; ``lifeline`` is the role (or its instance) or the channel
    that acts, "" for an action of no role; ``kind`` is that of `ir.Action`. ``needs`` are the
    positions of the earlier steps that it needed. ``written`` is the step as a scenario has it. A
    ``spare`` step is one that the problem does without. ``explained``: exchanges, needs and
    ``spare`` are known.
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
"""A trace of another tool does not say who did a step."""


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step with its title, and the state after it (None: the step was not completed), once as it
    is shown and once, in ``data``, as a trace file has it.

    ``arguments`` are the choices of the step as a file has them (None: not known), ``span`` is the
    place of its action. ``kept`` is what a file says of the step (None: it is from no file).
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
    """A trace, and what a report says beside it. What is not known is empty or None.

    ``families`` are the variables ``R.x`` that are one per instance. ``status`` is "violation" for
    a trace that ends in a problem; ``verdict`` is the word for it, ``headline`` says what is wrong,
    and ``description`` is one line about the whole. ``instance`` are the values of the quantified
    variables for which the property fails, ``failing_part`` its innermost part that is false,
    ``reads`` its variables. ``actions`` is the source of each action taken, by name. ``types`` are
    the types of the variables, ``records`` the fields of the record types. ``needed_at_end`` are
    the positions of the steps that the problem needs. ``loop`` is the position to which a trace
    without end returns, ``fair`` says to what it is fair, and why, and ``since`` is the position
    from which on the failing part fails. ``given`` are the constants that its check, or the user,
    has given a value. Where a refinement is violated, ``refined`` is the name of
    what is refined, ``images`` are those of the state before, if there is one, and of the last
    state, and ``unfit`` says why no action makes that step. ``kept`` is the object of the file
    without its states (None: it is from no file), so that nothing is lost when it is written again.
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
        """The values for which the property fails, as they are shown."""
        return tuple((name, text(value.tree)) for name, value in self.instance)

    @property
    def caption(self) -> str:
        """What is wrong, else what the trace is of; perhaps nothing."""
        return self.headline or self.description

    @property
    def endless(self) -> str:
        """How a trace without end goes on, as a sentence without a stop; "" for one that ends."""
        count = len(self.steps)
        if self.loop is None:
            return ""
        if self.loop == count - 1:
            return "it stays there for ever"
        return f"{for_ever(self.loop, count)} repeat for ever"

    @property
    def goes_round(self) -> bool:
        """Whether it is without end, and steps come again."""
        return self.loop is not None and self.loop < len(self.steps) - 1

    @property
    def fails_from(self) -> str:
        """From where on the failing part fails, to be put behind a word; perhaps nothing."""
        return "" if self.since is None else f", from state {self.since + 1} on"

    @property
    def about(self) -> str:
        """One sentence for the whole."""
        count = len(self.steps)
        parts = [part for part in (self.source, self.description) if part]
        parts.append(f"{count} state" + ("" if count == 1 else "s"))
        if self.loop is not None:
            parts.append(f"then back to state {self.loop + 1}")
        return ", ".join(parts)

    def changes(self, position: int) -> list[Change]:
        """What a step changed; nothing where it is the first or was not completed."""
        before = self.steps[position - 1].state if position else None
        after = self.steps[position].state
        if before is None or after is None:
            return []
        found: list[Change] = []
        for name, value in after.items():
            if name in before:
                found += changes(name, before[name], value, family=name in self.families)
        return found

    def read_there(self) -> Mapping[str, ValueTree]:
        """The values of the variables of the property in the last state; none where there are
        too many to help.
        """
        last = self.steps[-1].state if self.steps else None
        if last is None or len(self.reads) > MOST_READ:
            return {}
        return {name: last[name] for name in self.reads if name in last}

    def flights(self) -> tuple[Flight[ValueTree], ...]:
        """The messages of the trace."""
        return flights(
            [
                [Exchange(one.kind, one.channel, one.message.tree) for one in step.act.exchanges]
                for step in self.steps
            ]
        )

    def lanes(self) -> tuple[str, ...]:
        """The lifelines to draw: the declared roles, then who else acts, in order of appearance,
        instances of a family side by side.
        """
        acting = dict.fromkeys(
            step.act.lifeline or SYSTEM for step in self.steps[1:] if step.act.kind
        )
        others = [name for name in acting if name not in self.lifelines]
        return (*self.lifelines, *sorted(others, key=lambda name: _key(name, others)))


def for_ever(loop: int, count: int) -> str:
    """The steps that come again in a trace of ``count`` steps, not only the last of them:
    ``steps 2 and 3``.
    """
    return f"steps {loop + 1} {'and' if loop == count - 2 else 'to'} {count}"


def _key(name: str, names: Sequence[str]) -> tuple[int, int, str]:
    """Families in order of first appearance; their instances in order, numbers as numbers."""
    family, _, rest = name.partition("[")
    first = next(n for n, other in enumerate(names) if other.partition("[")[0] == family)
    index = rest.removesuffix("]")
    number = int(index) if index.lstrip("-").isdecimal() and len(index) < 20 else 0
    return first, number, index
