"""The first states of a level that has too many, in the order of the interpreter.

What a search with several workers has found of such a level depends on who was faster. So all of it
is taken back, and the states of the level before are expanded in their order, many together as long
as there is room for what they lead to. The one that leads to the first state too many is left to
the interpreter, step by step. It does not know how states are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.machine.memory import words
from fencepost.checker.native.ordered import Ordered
from fencepost.checker.search.account import Account, Cut
from fencepost.checker.search.orbits import Orbits
from fencepost.checker.search.states import Counts, Totals
from fencepost.checker.search.visiting import Seen, Visitor
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

LOOK = 256
"""The states that are asked for between two looks at the limits."""


class Leading:
    """``depth`` is the level whose states are expanded, 0 before the first; ``most`` is how many
    states there may be in all. ``pause`` is called often, and raises `Cut` where the search has to
    end; ``collect`` takes in what machine code has found. ``orbits``: one state stands for all of
    its orbit.
    """

    def __init__(
        self,
        account: Account,
        layout: Layout,
        explorer: Explorer,
        deadlock: bool,
        depth: int,
        most: int,
        pause: Callable[[], None],
        collect: Callable[[], None],
        orbits: Orbits | None = None,
    ) -> None:
        self.depth = depth
        self._account = account
        self._layout = layout
        self._explorer = explorer
        self._most = most
        self._pause = pause
        self._collect = collect
        self._runner = Runner(account.model)
        seen: Seen = _Entered(explorer, layout, pause) if depth else {}
        self._before = account.visited
        self._visitor = Visitor(self._runner, account, seen, most, depth, orbits)
        self._visitor.count = self._before
        self._visitor.look_for(deadlock, account.searched.chosen - account.reached)

    @property
    def size(self) -> int:
        """How many states of the level there are."""
        return self._visitor.count - self._before

    def added(self, now: Counts) -> Counts:
        """The counts of machine code, and what the interpreter has counted; without what machine
        code has counted of a first level with too many states.
        """
        more = self._visitor.counts(self.size)
        if not self.depth:
            return more
        return Counts(
            now.initial, now.steps + more.steps, more.size, now.outside + more.outside,
            now.stuck + more.stuck, now.first_stuck or more.first_stuck,
            now.reached | more.reached, lambda: _sum(now.totals(), more.totals()), more.visited,
        )  # fmt: skip

    # ------------------------------------------------------------ the states

    def begin(self) -> None:
        """Makes the first of the initial states."""
        with _until_full():
            for made in self._runner.initial():
                self._pause()
                self._visitor.begin(made)
            raise AssertionError("there are no more initial states than there may be")

    def expand(self) -> None:
        """Makes the first states of the level, which the explorer has taken back."""
        ordered = self._explorer.in_order(self.depth, self._visitor.orbits is not None)
        state = self._whole(ordered)
        ordered.close()
        self._explorer.begin_level()
        with _until_full():
            self._visitor.expand(state)
            raise AssertionError("a state leads to no more states than there may be")

    def _whole(self, ordered: Ordered) -> State:
        """Expands states as long as there is room; the one for which there is none."""
        size = self._layout.words
        while True:
            address, count = ordered.take()
            assert count, "all states of the level lead to no more states than there may be"
            together = count
            while count:
                together = min(together, count)
                if self._fits(address, together):
                    address += 8 * size * together
                    count -= together
                elif together == 1:
                    return self._layout.decode(tuple(words(address, size)))
                else:
                    together //= 2

    def _fits(self, address: int, count: int) -> bool:
        """Whether there is room for what some states lead to: then it counts."""
        explorer, left = self._explorer, self._most - self._visitor.count
        more = left + 1
        try:
            with _until_full():
                explorer.expand_these(address, count)
                more = explorer.size(explorer.level)
                if more > left and self._account.searched.constraints:
                    more = explorer.inside()
        finally:
            # Nothing of them counts, either, where the search is ended meanwhile.
            if more > left:
                explorer.resume()
                explorer.rewind()
        if more > left:
            return False
        self._collect()
        try:
            explorer.examine()
        except BaseException:
            explorer.settle()
            raise
        finally:
            self._collect()
            self._visitor.count += explorer.size(explorer.level)
            self._visitor.stand_for += explorer.stand_for
        return True


def _sum(one: Totals, other: Totals) -> Totals:
    taken = tuple(a + b for a, b in zip(one.taken, other.taken, strict=True))
    refused = {**Counter(one.refused) + Counter(other.refused)}
    return Totals(taken, refused, one.marks | other.marks)


@contextmanager
def _until_full() -> Generator[None]:
    """Ends where there are more states than there may be."""
    try:
        yield
    except Cut as cut:
        if cut.limit.kind != "max-states":
            raise


class _Entered:
    """The states that machine code has seen, and those that it is asked for."""

    def __init__(self, explorer: Explorer, layout: Layout, pause: Callable[[], None]) -> None:
        self._explorer = explorer
        self._layout = layout
        self._pause = pause
        self._asked = 0

    def __contains__(self, state: State, /) -> bool:
        self._asked += 1
        if not self._asked % LOOK:
            self._pause()
        return not self._explorer.enter(self._layout.encode(state))

    def __setitem__(self, state: State, before: State | None, /) -> None:
        """It was taken in when it was asked for."""
