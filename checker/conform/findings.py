"""What was found of all histories of a recording, for a report: sums, and histories to be shown.

Of many histories the sums alone are kept; whoever wants each of them goes through them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from dataclasses import replace as replaced

from fencepost.checker.conform.verdicts import Judged, Verdict
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem

MOST_WHOLE = 10
"""The number of histories that are shown whole if not allowed."""
MOST_LISTED = 1_000
"""The number of others that take a line each if not allowed; what is beyond is counted."""
SHOWN_WHOLE: tuple[Verdict, ...] = ("not allowed", "unknown")


@dataclass(slots=True)
class Totals:
    """Sums over histories: verdicts, events, events that were passed over; and of the runs that
    were found the steps by actions (``taken``), and which rules, kinds of events and marks of the
    model they have.
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter["Verdict"])
    events: int = 0
    tolerated: int = 0
    taken: Counter[int] = field(default_factory=Counter[int])
    used: set[int] = field(default_factory=set[int])
    seen: set[int] = field(default_factory=set[int])
    marked: set[int] = field(default_factory=set[int])

    def add(self, judged: Judged) -> None:
        self.verdicts[judged.verdict] += 1
        self.events += judged.total
        self.tolerated += judged.tolerated
        self.taken += judged.taken
        self.used |= judged.used
        self.seen |= judged.seen
        self.marked |= judged.marked


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found. ``whole`` are the first histories of those that are shown whole, with their
    runs; ``listed`` the first of the others that are not allowed, not known or not read; both
    ascending by key. ``histories`` goes through all of them, without runs. ``strays`` are events of
    no history.
    """

    totals: Totals
    whole: Sequence[Judged]
    listed: Sequence[Judged]
    histories: Callable[[], Iterator[Judged]]
    strays: int
    problems: Sequence[Problem]


def summed(found: Iterable[Judged], strays: int, problems: Sequence[Problem]) -> Findings:
    """The findings of histories that come ascending by key."""
    totals = Totals()
    whole: list[Judged] = []
    listed: list[Judged] = []
    every: list[Judged] = []
    for judged in found:
        totals.add(judged)
        # Of many histories the runs would fill the memory.
        brief = replaced(judged, way=())
        every.append(brief)
        if judged.verdict in SHOWN_WHOLE and len(whole) < MOST_WHOLE:
            whole.append(judged)
        elif judged.verdict != "allowed" and len(listed) < MOST_LISTED:
            listed.append(brief)
    return Findings(totals, whole, listed, lambda: iter(every), strays, problems)
