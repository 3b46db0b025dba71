"""The layout of the data that a worker shares with machine code: an array of words, the *context*.

Every word is a number or an address. Arrays that it points to also belong to one worker, so no two
threads write to the same memory.
"""

from __future__ import annotations

from enum import IntEnum, auto

from fencepost.spec.records import dataclass


class Word(IntEnum):
    """The index of each word of a context."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count

    # Written by the generated code.
    MARKS = auto()  # Words: a bit per coverage mark, set once it was reached.
    REFUSED = auto()  # Words: per guard of the model, how often it disabled a vector of choices.
    REACHED = auto()  # Bytes: per property, whether it was true (reachables).
    CHOICES = auto()  # Words: the odometer of the generated code.
    # Read by the generated code, and set up by the search.
    ACTIVE = auto()  # Bytes: per property, whether it is still evaluated.
    CURRENT = auto()  # The state being expanded; null while initial states are generated.
    STOP = auto()  # Not 0: return as soon as possible. Written by another thread.
    TARGETS = auto()  # The states whose predecessors are searched; null in a forward search.
    # Written by the kernels for each state expanded, and by a failing step.
    STEPS = auto()  # Completed steps of CURRENT.
    MOVES = auto()  # 1: some step of CURRENT was progress, or failed.
    # Written by the kernels.
    TAKEN = auto()  # Words: completed steps per action.
    TRANSITIONS = auto()  # Completed steps.
    STUCK = auto()  # States without progress.
    # Used if one state represents its orbit.
    WEIGHT = auto()  # The number of states that CURRENT represents.
    STAND_FOR = auto()  # The number represented by the new states inside the constraints.
    OUTSIDE_FOR = auto()  # The number represented by those outside of them.
    WEIGHTS = (
        auto()
    )  # Where `examine` writes the number that the next state inside represents; may be null.
    REPORTS = auto()  # The slots of problems, see `Slots`.
    REPORTED = auto()  # The number of writes to slots.
    DONE = auto()  # The number of states that a kernel had processed when it returned.
    EXAMINED = auto()  # The same for `examine`.
    DROPPED = auto()  # Where `examine` writes the next state outside the constraints; may be null.
    WANT = auto()  # The resource that `merge` needs to continue: see `Want`.
    FULL_TABLE = auto()  # The number of the table that must be enlarged.
    ASIDE = auto()  # The number of states that `spread` has set aside.
    # Set up by the search.
    DEADLOCK = auto()  # Whether a deadlock is a problem.
    TARGET_COUNT = auto()
    FULL = auto()  # The function to call when a block is full: void (owner).
    OWNERS = auto()  # The number of workers.
    SEE = (
        auto()
    )  # The function to call when something is observed for the first time: void (place).
    SEEN = auto()  # Observations, placed by hash; see `SEEN_PLACES`.
    RECENT = auto()  # Recently generated states, placed by hash; see `recent_states`.
    REFINED = auto()  # Words: cached images of states, see `refinement`.
    TABLES = auto()  # The descriptors of the tables of the visited set, see `Table`.
    TABLE_COUNT = auto()
    STORE = auto()  # The address of the next new state.
    STORE_END = auto()
    # Liveness: the graph of a finished search.
    COLLECTS = auto()  # Not 0: `emit` records edges instead of finding states; see `COLLECT_FAIR`.
    OF_ACTION = auto()  # The unit of its action that a step belongs to, by its first choices.
    UNITS = (
        auto()
    )  # Two words per action: its first unit from 1 on (0: none), and 1 if it has several.
    POSSIBLE = auto()  # A bit per unit: whether a step from CURRENT counts for it.
    PEERS = auto()  # Per owner, the descriptors of its tables.
    NUMBERS = auto()  # Per table of all owners, its numbers: a word per place, 0 if empty.
    PENDING = auto()  # States to be looked up together, see `Seek`.
    PENDING_COUNT = auto()  # The number of steps among them that wait to be recorded.
    SOURCE = auto()  # The number of the state being expanded.
    EDGE = auto()  # The address of the next edge; then the end and the start of the buffer.
    EDGES_END = auto()
    EDGES = auto()
    EDGES_FULL = auto()  # The function to call when the buffer is full: void (0).
    EDGE_BYTES = auto()  # The size of an edge in bytes; then the mask of these bytes in a word.
    EDGE_MASK = auto()
    TARGET_MASK = auto()  # The bits of an edge that hold the target's number.
    UNIT_SHIFT = auto()  # The number of these bits; the unit is above them.
    ROWS = (
        auto()
    )  # Per state, the start of its edges: the worker, and the offset in bytes from its EDGES.
    ROW_TAG = auto()  # The bits there of the worker that records edges.
    ROW_BASES = auto()  # The EDGES of all workers.
    ROW_COUNTS = auto()  # Per state, the number of recorded edges.
    WALK = auto()  # The data of a random walk, see `Walk`.
    FOLLOW = auto()  # The data of following, see `Follow`.
    BLOCKS = (
        auto()
    )  # From here on two words per owner: the address of its next successor, and the end.


COLLECT_FAIR, COLLECT_ALL = 1, 2
"""The steps that count for their units: those that change more than ghosts, or all."""
ROW_SHIFT = 48
"""The start of a row is a word with the worker above this many bits."""


class Seek(IntEnum):
    """The words of a state to look up: the address and capacity of its table, its first place, the
    numbers of the table's places, and from `STATE` on the state. For an edge to it, also the source
    and its unit.
    """

    TABLE = 0
    CAPACITY = 1
    HOME = 2
    NUMBERS = 3
    SOURCE = 4
    UNIT = 5
    STATE = 6


class Walk(IntEnum):
    """The words of a random walk."""

    SEED = 0
    """The seed of the random numbers of each run."""
    RANDOM = 1
    """The state of the generator of the current run."""
    PER_ACTION = 2
    """1: an action has its weight once, regardless of the number of its steps; 0: each step has
    it.
    """
    WEIGHTS = 3
    """Words: the weight of each action; their sums must fit in 32 bits."""
    TOTAL = 4
    """The sum of the weights seen in the current state; 0 if no step is possible."""
    ACTION = 5
    """The action whose steps are generated, to detect the next one."""
    COUNT = 6
    """The number of its steps."""
    WINS = 7
    """1: one of its steps is taken, unless a later action is chosen."""
    PATH = 8
    """The states of the run, one after the other."""
    LENGTH = 9
    """The number of expanded states, including the current one."""
    RUN = 10
    """The number of the current run."""
    INITIAL = 11
    """The initial states."""
    INITIAL_COUNT = 12
    STEPS = 13
    """The number of steps taken."""
    LEFT = 14
    """The number of runs that ended before the maximum length."""
    SKETCH = 15
    """Bytes: an estimate of the number of distinct states, see `SKETCH_BITS`."""


WALK_WORDS = len(Walk)


class Follow(IntEnum):
    """The words of following a behaviour step by step."""

    NEXT = 0
    """The address of the next row."""
    END = 1
    """The end of the buffer for rows."""
    LACKING = 2
    """The number of rows that did not fit."""
    CALL = 3
    """The call that the rows belong to, from 0 on; -1 for the model's own steps."""


class Row(IntEnum):
    """The words of a row: the call, then the action number of a step (-1: a guard was false; less:
    evaluation failed). From `REST` on: the step's marks, the number of the set-aside messages, and
    its state; or the number of the guard or the site.
    """

    CALL = 0
    ACTION = 1
    REST = 2


FOLLOW_WORDS = len(Follow)
SKETCH_BITS = 14
"""An estimate has two to this power of bytes. The lowest bits of a hash select the byte, which
holds the maximum number of leading zeros of the other bits of such hashes, plus one.
"""


MAX_SEEN = 4
"""Maximum number of values that are observed together."""
SEEN_WORDS = 1 + MAX_SEEN
"""The words of an observation: `seen_as` of its number, and the values."""
SEEN_PLACES = 1 << 12
"""Number of observations that are remembered, a power of two; others are reported again."""


def seen_as(number: int, count: int) -> int:
    """The number of an observation of ``count`` values, as a word that is not zero."""
    return (number << 3) + count + 1


def seen_from(kind: int) -> tuple[int, int]:
    """The number of an observation, and the number of its values."""
    return (kind - 1) >> 3, (kind - 1) & 7


RECENT_BYTES = 1 << 17
"""Default size of the recent states, which should fit into the nearest caches."""


def recent_states(words: int, room: int = RECENT_BYTES) -> int:
    """The number of recent states that fit into ``room`` bytes, a power of two."""
    return 1 << max(4, (room // (8 * words)).bit_length() - 1)


class Want(IntEnum):
    """The resource that `merge` needs before it can continue."""

    NOTHING = 0
    ROOM = 1
    """The chunk of the store is full."""
    PLACES = 2
    """The visited set has no free place."""


class Table(IntEnum):
    """The words of a table descriptor: its address, the number of its slots, the number of used
    ones, and the maximum of that.
    """

    ADDRESS = 0
    CAPACITY = 1
    COUNT = 2
    LIMIT = 3


TABLE_WORDS = len(Table)


class Report(IntEnum):
    """The words of a slot: whether it is used, the site of the evaluation failure, and from
    `STATES` on the state with the problem and its predecessor (zeros if there is none).
    """

    TAKEN = 0
    SITE = 1
    STATES = 2


@dataclass(frozen=True, slots=True)
class Slots:
    """The numbers of the slots for problems; each holds the least state of its kind of problem.

    Slots 0 and 1 belong to the initial choice. ``words`` is the size of a packed state.
    """

    actions: int
    properties: int
    words: int

    def error(self, action: int) -> int:
        """An evaluation error in a step of the action; -1: in an initial choice."""
        return 2 + 2 * action

    def assertion(self, action: int) -> int:
        """A failed assertion in a step of the action; -1: in an initial choice."""
        return 3 + 2 * action

    def property_error(self, number: int) -> int:
        """The property is undefined."""
        return 2 + 2 * self.actions + 2 * number

    def violation(self, number: int) -> int:
        """The property is false."""
        return 3 + 2 * self.actions + 2 * number

    @property
    def deadlock(self) -> int:
        return 2 + 2 * self.actions + 2 * self.properties

    @property
    def stuck(self) -> int:
        """A state whose steps make no progress; reported, but not a problem."""
        return self.deadlock + 1

    @property
    def count(self) -> int:
        return self.deadlock + 2

    @property
    def size(self) -> int:
        """The size of one slot in words."""
        return Report.STATES + 2 * self.words
