"""The first states of a level that has too many, in the order of the interpreter.

What a search with several workers has found of such a level depends on who was faster. So all of it
is taken back, and the states of the level before are expanded in their order, many together as long
as there is room for what they lead to. The one that leads to the first state too many is left to
the interpreter, step by step. It does not know how states are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine.memory import words
from fencepost.checker.native.machine.worker_context import Packed
from fencepost.checker.native.ordered import Ordered
from fencepost.checker.search.account import Account, Cut
from fencepost.checker.search.visiting import Expansion, Seen, Visitor
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

LOOK = 256
"""The states that are asked for between two looks at the limits."""


class Rewound(Protocol):
    """An explorer that has taken a level back: see `Explorer`."""

    @property
    def level(self) -> int: ...
    @property
    def states(self) -> int: ...
    def size(self, level: int) -> int: ...
    def in_order(self, level: int) -> Ordered: ...
    def expand_these(self, address: int, count: int) -> None: ...
    def begin_level(self) -> None: ...
    def enter(self, state: Packed) -> bool: ...
    def inside(self) -> int: ...
    def examine(self) -> int: ...
    def resume(self) -> None: ...
    def rewind(self) -> Rewound | None: ...


class Leading:
    """``left`` is how many states of the level count, ``limit`` how many in all; `pause`
    is called often, and raises `Cut` where the search has to end; ``collect`` takes in what machine
    code has found. ``fresh`` and ``outside`` are the states found by machine code, inside and
    outside the constraints, and ``expansion`` is what the interpreter has found.
    """

    def __init__(
        self,
        account: Account,
        layout: Layout,
        deadlock: bool,
        left: int,
        limit: int,
        pause: Callable[[], None],
        collect: Callable[[], None],
    ) -> None:
        self._account = account
        self._layout = layout
        self._deadlock = deadlock
        self._left = left
        self._limit = limit
        self._pause = pause
        self._collect = collect
        self.fresh = self.outside = 0
        self.expansion = Expansion([0] * len(account.taken))
        self.visitor: Visitor | None = None

    def begin(self) -> None:
        """Makes the first of the initial states."""
        runner = Runner(self._account.model)
        visitor = self._visit(runner, {}, 0)
        for successor in runner.initial():
            self._pause()
            choice = successor.state if successor.failure is None else successor.failure
            assert choice is not None
            if not self._taken(partial(visitor.begin, choice, self.expansion)):
                return
        raise AssertionError("there are no more initial states than there may be")

    def expand(self, explorer: Rewound, depth: int) -> None:
        """Makes the first states of the level behind level ``depth``."""
        ordered = explorer.in_order(depth)
        state = self._whole(explorer, ordered)
        ordered.close()
        explorer.begin_level()
        runner = Runner(self._account.model)
        visitor = self._visit(runner, _Entered(explorer, self._layout, self._pause), depth)
        more = self._taken(lambda: visitor.expand(state, self.expansion))
        assert not more, "a state leads to no more states than there may be"

    def _visit(self, runner: Runner, seen: Seen, depth: int) -> Visitor:
        left = self._left - self.fresh
        visitor = Visitor(runner, self._account, self._deadlock, seen, left, self._limit)
        visitor.depth = depth
        self.visitor = visitor
        return visitor

    def _taken(self, work: Callable[[], None]) -> bool:
        """Whether there was room for all that some work found."""
        try:
            work()
        except Cut as cut:
            if cut.limit.kind != "max-states":
                raise
            return False
        return True

    def _whole(self, explorer: Rewound, ordered: Ordered) -> State:
        """Expands states as long as there is room; the one for which there is none."""
        size = self._layout.words
        while True:
            address, count = ordered.take()
            assert count, "all states of the level lead to no more states than there may be"
            together = count
            while count:
                together = min(together, count)
                if self._fits(explorer, address, together):
                    address += 8 * size * together
                    count -= together
                elif together == 1:
                    return self._layout.decode(tuple(words(address, size)))
                else:
                    together //= 2

    def _fits(self, explorer: Rewound, address: int, count: int) -> bool:
        """Whether there is room for what some states lead to: then it counts."""
        left = self._left - self.fresh
        more = left + 1
        if self._taken(lambda: explorer.expand_these(address, count)):
            more = explorer.size(explorer.level)
            if more > left and self._account.searched.constraints:
                more = explorer.inside()
        if more > left:
            explorer.resume()
            explorer.rewind()
            return False
        self._collect()
        self.outside += explorer.examine()
        self._collect()
        self.fresh += explorer.size(explorer.level)
        return True


class _Entered:
    """The states that machine code has seen, and those that it is asked for."""

    def __init__(self, explorer: Rewound, layout: Layout, pause: Callable[[], None]) -> None:
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
