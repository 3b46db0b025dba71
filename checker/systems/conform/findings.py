"""The results for all histories of a recording, for a report: totals, and the histories to show.

Only totals are kept for all histories; callers that need each history iterate over them.
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
"""The number of histories shown in full if they are not allowed."""
MAX_LISTED = 1_000
"""The number of other problematic histories listed with one line each; further ones are counted."""
SHOWN_WHOLE: tuple[Verdict, ...] = ("not allowed", "unknown")


@dataclass(slots=True)
class Totals:
    """Totals over histories: verdicts, events, and tolerated events; for the runs found, the steps
    by action (``taken``), and the rules, kinds of events and coverage marks that occur.
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
    """The results. ``whole`` are the first histories that are shown in full, with their runs;
    ``listed`` the first others that are not allowed, unknown or unread; both by ascending key.
    ``histories`` iterates over all of them, without runs. ``strays`` counts events without a
    history.
    """

    totals: Totals
    whole: Sequence[Judgement]
    listed: Sequence[Judgement]
    histories: Callable[[], Iterator[Judgement]]
    strays: int
    problems: Sequence[Problem]


def summed(histories: Iterable[Judgement], strays: int, problems: Sequence[Problem]) -> Findings:
    """The findings for histories in ascending order of keys."""
    totals = Totals()
    whole: list[Judgement] = []
    listed: list[Judgement] = []
    every: list[Judgement] = []
    for judged in histories:
        totals.add(judged)
        # Keeping the runs of many histories would fill the memory.
        brief = replaced(judged, way=())
        every.append(brief)
        if judged.verdict in SHOWN_WHOLE and len(whole) < MAX_WHOLE:
            whole.append(judged)
        elif judged.verdict != "allowed" and len(listed) < MAX_LISTED:
            listed.append(brief)
    return Findings(totals, whole, listed, lambda: iter(every), strays, problems)
