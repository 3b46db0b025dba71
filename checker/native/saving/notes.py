"""Converts the account of a search to JSON and back.

The input is untrusted, so every number is validated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.saving import lawful
from fencepost.checker.native.saving.lawful import Unlawful
from fencepost.checker.search.account import Account, Candidate
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass

Notes = dict[str, Any]
"""A JSON object."""
LIMIT = 1 << 63
"""The exclusive upper bound of numbers outside of lists."""


class Counted(NamedTuple):
    """The counts of a saved search that supplement its tally."""

    transitions: int = 0
    stuck: int = 0
    expanded: int = 0


class Malformed(Exception):
    """The notes are not an account of this search. The argument says why."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The account of a search that has judged all of its ``levels``.

    ``levels`` holds the number of states of each level, and ``transitions`` the number of steps
    from each level except the last. ``orbits`` has the same meaning as in `Account`. ``tally`` is
    the combined tally of the explorer's workers.
    """

    levels: tuple[int, ...]
    orbits: tuple[int, ...] | None
    transitions: tuple[int, ...]
    initial_count: int
    outside: int
    stuck_count: int
    stuck: tuple[State, int] | None
    reached: frozenset[int]
    tally: bytes
    problems: tuple[Candidate, ...]

    @property
    def visited(self) -> tuple[int, ...]:
        """The number of visited states per level."""
        return self.levels if self.orbits is None else self.orbits

    @property
    def counted(self) -> Counted:
        """The explorer's counts besides the tally."""
        return Counted(sum(self.transitions), self.stuck_count, sum(self.visited[:-1]))

    def put(self, account: Account) -> None:
        """Writes these notes to the account of a new search."""
        account.levels[:] = self.levels
        account.orbits = None if self.orbits is None else [*self.orbits]
        account.transitions[:] = self.transitions
        account.initial_count = self.initial_count
        account.outside = self.outside
        account.stuck_count = self.stuck_count
        account.stuck = self.stuck
        account.reached |= self.reached
        for problem in self.problems:
            account.offer(problem)


def written(account: Account, layout: Layout, tally: bytes, problems: Iterable[Candidate]) -> Notes:
    """Converts the account of a search that is between two levels. ``problems`` are the problems
    found so far.
    """
    stuck = None
    if account.stuck is not None:
        state, level = account.stuck
        stuck = [layout.encode(state), level]

    def packed(state: State | None) -> tuple[int, ...] | None:
        return None if state is None else layout.encode(state)

    return {
        "levels": account.levels,
        "orbits": account.orbits,
        "transitions": account.transitions,
        "initial_count": account.initial_count,
        "outside": account.outside,
        "stuck_count": account.stuck_count,
        "stuck": stuck,
        "reached": sorted(account.reached),
        "tally": tally.hex(),
        "problems": [
            [
                problem.depth, int(problem.rank), problem.index, packed(problem.state),
                packed(problem.before), problem.number,
            ]
            for problem in problems
        ],
    }  # fmt: skip


def read(notes: Any, account: Account, layout: Layout, sizes: Sizes) -> Noted:
    """Reads an account from notes. ``account`` is the account of the same search at its start.
    Raises `Malformed`.
    """
    try:
        noted = _read(notes, account, layout, sizes)
    except (KeyError, TypeError, ValueError, Unlawful) as error:
        raise Malformed(f"its account cannot be read ({type(error).__name__}: {error})") from None
    steps, counted = sum(noted.transitions), worker_context.steps(sizes, [noted.tally])
    if not noted.levels or 0 in noted.visited:
        raise Malformed("its account has a level without states")
    if len(noted.visited) != len(noted.levels):
        raise Malformed("its account does not count the orbits of all levels")
    if len(noted.transitions) != len(noted.levels) - 1 or steps != counted:
        raise Malformed("its account does not count the steps of all levels")
    return noted


def _read(notes: Any, account: Account, layout: Layout, sizes: Sizes) -> Noted:
    levels, orbits = numbers(notes["levels"]), notes["orbits"]
    stuck = None
    if notes["stuck"] is not None:
        words, level = notes["stuck"]
        stuck = lawful.state(layout, numbers(words)), number(level, 1, len(levels) + 1)
    tally = bytes.fromhex(notes["tally"])
    slots = sizes.slots
    if len(tally) != 8 * (slots.actions + sizes.guards + sizes.mark_words) + slots.properties:
        raise ValueError("a tally of another length")
    reached = frozenset(numbers(notes["reached"]))
    if not reached <= {*account.searched.reachables}:
        raise ValueError("a property that is not `reachable` was reached")
    return Noted(
        levels,
        None if orbits is None else numbers(orbits),
        numbers(notes["transitions"]),
        number(notes["initial_count"]),
        number(notes["outside"]),
        number(notes["stuck_count"]),
        stuck,
        reached,
        tally,
        tuple(
            _problem(problem_notes, account, layout, len(levels))
            for problem_notes in notes["problems"]
        ),
    )


def _problem(fields: Sequence[Any], account: Account, layout: Layout, last: int) -> Candidate:
    """Reads a problem after which a search with ``--continue`` went on."""
    depth, rank, index, state, before, property_number = fields
    candidate = Candidate(
        number(depth, 1, last + 1),
        Rank(number(rank)),
        number(index),
        lawful.state(layout, numbers(state)),
        None if before is None else lawful.state(layout, numbers(before)),
        number=None if property_number is None else number(property_number),
    )
    searched = account.searched
    match candidate.rank:
        case Rank.DEADLOCK:
            fits = candidate.index == 0 and candidate.number is None and candidate.before is None
        case Rank.INVARIANT:
            fits = (
                candidate.index == candidate.number in searched.invariants
                and candidate.before is None
            )
        case Rank.STEP_INVARIANT:
            fits = candidate.index == candidate.number in searched.step_invariants
            kind = account.model.properties[candidate.number or 0].kind
            first = candidate.depth == 1 and kind.of_initial_states
            fits = fits and (candidate.before is None) == first
        case _:
            fits = False
    if not fits or not account.keep_going:
        raise ValueError("a problem that would have ended this search")
    return candidate


def number(value: Any, low: int = 0, end: int = LIMIT) -> int:
    """Returns ``value`` if it is an integer from ``low`` (included) to ``end`` (excluded). Raises
    `ValueError`.
    """
    if type(value) is not int or not low <= value < end:
        raise ValueError(f"{str(value)[:40]} is not a number from {low} on, below {end}")
    return value


def numbers(values: Any) -> tuple[int, ...]:
    """Validates a list of words of 64 bits, and returns it as a tuple. The list may have any
    length. Raises `ValueError`.
    """
    words: Sequence[Any] = values
    if not isinstance(values, list):
        raise ValueError("no list of numbers")
    return tuple(number(word, 0, 1 << 64) for word in words)
