"""Summarizes the results for all histories of a recording for a report: totals, and the histories
to show.

Only totals are kept for all histories. Callers that need each history iterate over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from dataclasses import replace as replaced

from fencepost.checker.systems.conform.verdicts import Judgement, Verdict
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem

MAX_WHOLE = 10
"""Maximum number of disallowed or unknown histories that are shown in full."""
MAX_LISTED = 1_000
"""Maximum number of other problematic histories that are listed with one line each. Further
histories are only counted.
"""
SHOWN_WHOLE: tuple[Verdict, ...] = ("not allowed", "unknown")


@dataclass(slots=True)
class Totals:
    """Totals over histories: verdicts, events, and tolerated events. For the runs found, also the
    number of steps by action (``taken``), and the rules (``used``), kinds of events (``seen``) and
    coverage marks (``marked``) that occur.
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter["Verdict"])
    events: int = 0
    tolerated: int = 0
    taken: Counter[int] = field(default_factory=Counter[int])
    used: set[int] = field(default_factory=set[int])
    seen: set[int] = field(default_factory=set[int])
    marked: set[int] = field(default_factory=set[int])

    def add(self, judged: Judgement) -> None:
        self.verdicts[judged.verdict] += 1
        self.events += judged.total
        self.tolerated += judged.tolerated
        self.taken += judged.taken
        self.used |= judged.used
        self.seen |= judged.seen
        self.marked |= judged.marked


@dataclass(frozen=True, slots=True)
class Findings:
    """The results for a recording.

    ``whole`` contains the first histories that are shown in full, with their runs. ``listed``
    contains the first other histories that are not allowed, unknown or unread. Both are in
    ascending order of keys. ``histories`` iterates over all histories, without runs. ``strays``
    counts the events that belong to no history.
    """

    totals: Totals
    whole: Sequence[Judgement]
    listed: Sequence[Judgement]
    histories: Callable[[], Iterator[Judgement]]
    strays: int
    problems: Sequence[Problem]


def summed(histories: Iterable[Judgement], strays: int, problems: Sequence[Problem]) -> Findings:
    """Summarizes the findings for histories, which must be in ascending order of keys."""
    totals = Totals()
    whole: list[Judgement] = []
    listed: list[Judgement] = []
    every: list[Judgement] = []
    for judged in histories:
        totals.add(judged)
        # The runs of many histories would take too much memory.
        brief = replaced(judged, way=())
        every.append(brief)
        if judged.verdict in SHOWN_WHOLE and len(whole) < MAX_WHOLE:
            whole.append(judged)
        elif judged.verdict != "allowed" and len(listed) < MAX_LISTED:
            listed.append(brief)
    return Findings(totals, whole, listed, lambda: iter(every), strays, problems)
