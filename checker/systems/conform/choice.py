"""Judges a recording with several checks of a mapping, for example one for each release of a
system, and finds those that allow it.

A check whose name continues the name of another one after ``_`` is a variant of it, such as
``r4_4_0_outages`` of ``r4_4_0``. It allows more, and costs more. It judges only the histories that
no other check allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fencepost.checker.systems.conform.lines import Histories, History, Key
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.of_recording import history_document
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort, Judgement
from fencepost.spec.records import dataclass, replace

MAX_EVENTS = 20_000
"""Maximum number of events that every check judges. With more events, a check is skipped once
another one allows all histories.
"""
MAX_STEPS = 3
"""Maximum number of steps of the environment that are named for an allowed history."""
STATES = 20_000
"""Maximum number of product states of a search with another check."""

Judged: TypeAlias = Callable[[str, Sequence[History]], Iterator[Judgement]]


@dataclass(frozen=True, slots=True)
class Choice:
    """The check that allows the most histories, the first of them if there are several. ``judged``
    has its verdicts, and ``allowed`` the number of histories that each judged check allows.
    """

    check: str
    judged: Mapping[Key, Judgement]
    allowed: Mapping[str, int]


def base_of(name: str, names: Sequence[str]) -> str:
    """Returns the check that ``name`` is a variant of, or ``name``."""
    return min((n for n in names if name == n or name.startswith(f"{n}_")), key=len)


def choose(names: Sequence[str], recorded: Histories, judged: Judged) -> Choice:
    """Judges histories with the checks ``names``. ``judged`` judges histories with a check."""
    histories, events = recorded.histories, recorded.events
    verdicts: dict[str, dict[Key, Judgement]] = {}
    ordered = sorted(names, key=lambda name: base_of(name, names) != name)
    left = {history.key: history for history in histories if not history.unread}
    for name in ordered:
        base = base_of(name, names)
        if not left and (base != name or (events > MAX_EVENTS and verdicts)):
            continue
        wanted = histories if base == name else list(left.values())
        own = {history.key: j for history, j in zip(wanted, judged(name, wanted), strict=True)}
        verdicts[name] = {**(verdicts[base] if base != name else {}), **own}
        for key, judgement in own.items():
            if judgement.verdict == "allowed":
                left.pop(key, None)
    allowed = {
        name: sum(item.verdict == "allowed" for item in by_key.values())
        for name, by_key in verdicts.items()
    }
    best = max(verdicts, key=lambda name: allowed[name])
    return Choice(best, verdicts[best], allowed)


def otherwise(name: str, mapped: MappedModel, history: History, effort: Effort) -> str | None:
    """Returns how another check allows a history, with the steps of the environment that it
    assumes, or None if that check does not allow it.
    """
    judged = judge(mapped, history, replace(effort, states=min(effort.states, STATES)))
    if judged.verdict != "allowed":
        return None
    titles = [step.title for step in history_document(mapped, judged).steps]
    assumed: list[str] = []
    read = 0
    for title, (_, did) in zip(titles, judged.way, strict=True):
        read += len(did.events)
        kind = None if did.action is None else mapped.model.actions[did.action].kind
        if kind == "environment" and did.rule is None and len(assumed) < MAX_STEPS:
            assumed.append(f"{title.partition('  [')[0]} after event {read}")
    return f"the check {name} allows it{': ' if assumed else ''}{', '.join(assumed)}"
