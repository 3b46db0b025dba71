"""The states of a search in machine code, as the search by levels sees them. Values replace packed
words, findings replace slots, and counts of the model's actions, guards and marks replace tallies.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import MAX_SAMPLE, SAMPLE, Explorer, Finding
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.build import CodeInUse, SetCode, SetCodeInUse, digest
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.spill import Spill
from fencepost.checker.native.machine.worker_context import Packed, Sizes
from fencepost.checker.native.visited.plan import salts
from fencepost.checker.search.account import Account, Candidate
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.orbits import Orbits
from fencepost.checker.search.states import Counts, Extent
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.concrete import Observer

COMPRESSED_FROM = 1 << 17
"""The minimum number of states for compression. With fewer states, the change does not pay off."""
LATER = 4
"""If states share too little to be compressed, compression is tried again once there are this many
times as many states: more states usually share more.
"""


class PackedStates:
    """The functions that states in machine code share, whether they are in this process or on a
    cluster.
    """

    def __init__(self, account: Account, layout: Layout, sizes: Sizes) -> None:
        self.account = account
        self.layout = layout
        self.sizes = sizes
        self.first_stuck: tuple[State, int] | None = None

    def offer(self, findings: Sequence[Finding], depth: int) -> None:
        """Offers the findings from expanding the states of level ``depth`` to the account."""
        for finding in findings:
            if finding.slot != self.sizes.slots.stuck:
                self.account.offer(self._candidate(finding, depth))
            elif finding.state is not None:
                here, current = (finding.state, depth), self.first_stuck
                if current is None or (current[1], current[0]) > (depth, finding.state):
                    self.first_stuck = here

    def _candidate(self, finding: Finding, depth: int) -> Candidate:
        slots, state = self.sizes.slots, finding.state
        if finding.slot < slots.property_error(0):
            rank = Rank.ASSERTION if finding.slot % 2 else Rank.ERROR
            action = finding.slot // 2 - 1
            return Candidate(depth + 1, rank, action, state, site=finding.site)
        assert state is not None
        if finding.slot == slots.deadlock:
            return Candidate(depth, Rank.DEADLOCK, 0, state)
        number = (finding.slot - slots.property_error(0)) // 2
        kind = self.account.model.properties[number].kind
        if finding.slot == slots.property_error(number):
            # A terminal condition is evaluated when its state is expanded.
            where = depth if kind.allows_end else depth + 1
            return self.account.no_value(where, number, state, finding.before, finding.site)
        return Candidate(depth + 1, kind.rank, number, state, finding.before, number=number)

    def counts(
        self,
        tallies: Sequence[bytes],
        size: int,
        outside: int,
        stuck: int,
        initial: int = 0,
        visited: int | None = None,
    ) -> Counts:
        """Returns the counts that result from some tallies and numbers."""
        reached = frozenset[int]()
        if self.account.searched.reachables:
            reached = worker_context.reached(self.sizes, tallies)
        return Counts(
            initial, worker_context.steps(self.sizes, tallies), size, outside, stuck,
            self.first_stuck, reached, lambda: worker_context.totals(self.sizes, tallies), visited,
        )  # fmt: skip

    def before(
        self, find: Callable[[Sequence[Packed]], Sequence[Packed]], states: Sequence[State]
    ) -> list[State]:
        """Calls ``find`` with the packed form of some states, and decodes its results."""
        return [
            self.layout.decode(packed) for packed in find([self.layout.encode(s) for s in states])
        ]


class LocalStates(PackedStates):
    """The states in the memory of this process. Raises `Exhausted`.

    ``set_code`` returns the code for compressed states, which is used once there are many states.
    Without it, the states stay uncompressed. With ``orbits``, one state represents its orbit.
    """

    remark = ""

    def __init__(
        self,
        watch: Watch,
        layout: Layout,
        sizes: Sizes,
        code: CodeInUse,
        workers: int,
        memory: Memory,
        observer: Observer | None = None,
        set_code: Callable[[], SetCodeInUse] | None = None,
        orbits: Orbits | None = None,
        spill: Spill | None = None,
    ) -> None:
        super().__init__(watch.account, layout, sizes)
        self._orbits = orbits
        self._code = code
        self.watch = watch
        self._used = code.now()
        explorer = Explorer(self._used, sizes, workers, memory, layout.decode, self._pause, spill)
        if observer is not None:
            explorer.watch(observer)
        if orbits is not None:
            explorer.keep_weights()
        self.explorer = explorer
        self._set_code = set_code
        self._set_codes: SetCodeInUse | None = None
        self._set_used: SetCode | None = None
        self._compress_from = COMPRESSED_FROM
        self.stop, self.resume = explorer.stop, explorer.resume

    def _pause(self) -> None:
        """Called often while the explorer works."""
        self.watch.look()
        searching = not self.watch.looking_back
        code = self._code.now(searching)
        if code is not self._used:
            self._used = code
            self.explorer.use(code)
        if self._set_codes is not None and self.explorer.compressed:
            set_code = self._set_codes.now(searching)
            if set_code is not self._set_used:
                self._set_used = set_code
                self.explorer.use_set(set_code)

    @property
    def extent(self) -> Extent:
        explorer = self.explorer
        generated = explorer.initial + explorer.transitions
        return Extent(explorer.level, explorer.states, generated, explorer.expanded, self.remark)

    # ------------------------------------------------------------ the levels

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        self.explorer.look_for(deadlock, properties)

    def begin(self) -> None:
        self.explorer.begin()

    def expand(self) -> None:
        self.assert_collected()
        self.compress_many()
        try:
            self.explorer.expand()
        finally:
            self._collect()

    def compress_many(self) -> None:
        """Switches to compressed states if there are many states and compression saves memory."""
        explorer, states = self.explorer, self.explorer.states
        if self._set_code is None or explorer.compressed or states < self._compress_from:
            return
        sample = SAMPLE
        if self._set_codes is None:
            self._set_codes = self._set_code()
        else:
            sample = MAX_SAMPLE
        self._set_used = self._set_codes.now()
        if not explorer.compress(self._set_used, salts(digest(self._code.now(False))), sample):
            self._compress_from = LATER * states

    def examine(self) -> None:
        try:
            self.explorer.examine()
        finally:
            self._collect()

    def settle(self) -> None:
        self.explorer.settle()

    # ------------------------------------------------------------ what was found

    def assert_collected(self) -> None:
        """Checks that no finding would be lost."""
        assert not self.explorer.found(), "there are problems that have not been taken in"

    def _collect(self) -> None:
        """Offers the findings since the last call to the account."""
        self.offer(self.explorer.found(), self.explorer.level - 1)

    def count(self) -> Counts:
        explorer = self.explorer
        size, outside, visited = explorer.size(explorer.level), explorer.outside, None
        if self._orbits is not None:
            size, outside, visited = explorer.stand_for, explorer.outside_for, size
        return self.counts(
            explorer.snapshot(), size, outside, explorer.stuck, explorer.initial, visited
        )

    def predecessors(self, level: int, states: Sequence[State]) -> list[State]:
        return self.before(lambda packed: self.explorer.predecessors(level, packed), states)

    # ------------------------------------------------------------ limits

    def weigh(self) -> None:
        memory = self.explorer.memory
        if self.watch.decision is None:
            memory.weigh()
        else:
            # Deciding temporal properties also takes memory that is not counted here.
            memory.afford(0)

    def close(self) -> None:
        self._code.cancel()
        if self._set_codes is not None:
            self._set_codes.cancel()
        self.explorer.close()
