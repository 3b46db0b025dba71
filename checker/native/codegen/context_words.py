"""The layout of the data that a worker shares with machine code: an array of words called the
*context*.

Every word is a number or an address. The arrays that a context points to also belong to one worker,
so no two threads write to the same memory.
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
    MARKS = auto()  # Words: one bit per coverage mark, set when the mark is reached.
    REFUSED = auto()  # Words: per guard, the number of vectors of choices that it disabled.
    REACHED = auto()  # Bytes: per property, whether it was true in some state (reachables).
    CHOICES = auto()  # Words: the odometer of the generated code.
    # Set up by the search and read by the generated code.
    ACTIVE = auto()  # Bytes: per property, whether it is still evaluated.
    CURRENT = auto()  # The state being expanded; null while initial states are generated.
    STOP = auto()  # Not 0: return as soon as possible. Another thread writes this word.
    TARGETS = auto()  # The states whose predecessors are sought; null in a forward search.
    # Written by the kernels for each state expanded, and by a failing step.
    STEPS = auto()  # The number of completed steps from CURRENT.
    MOVES = auto()  # 1 if some step from CURRENT made progress or failed.
    # Written by the kernels.
    TAKEN = auto()  # Words: the number of completed steps per action.
    TRANSITIONS = auto()  # The number of completed steps.
    STUCK = auto()  # The number of states without progress.
    # Used if each state represents its orbit.
    WEIGHT = auto()  # The number of states that CURRENT represents.
    STAND_FOR = auto()  # The number of states represented by new states within the constraints.
    OUTSIDE_FOR = auto()  # The number of states represented by new states outside the constraints.
    WEIGHTS = auto()  # Where `examine` writes the next WEIGHT within the constraints; may be null.
    REPORTS = auto()  # The slots of problems, see `Slots`.
    REPORTED = auto()  # The number of writes to slots.
    DONE = auto()  # The number of states that a kernel had processed when it returned.
    EXAMINED = auto()  # The number of states that `examine` had processed when it returned.
    DROPPED = auto()  # Where `examine` writes the next state outside the constraints; may be null.
    WANT = auto()  # The resource that `merge` needs to continue, see `Want`.
    FULL_TABLE = auto()  # The number of the table that must be enlarged.
    ASIDE = auto()  # The number of states that `spread` has set aside.
    # Set up by the search.
    DEADLOCK = auto()  # Whether a deadlock is a problem.
    TARGET_COUNT = auto()
    FULL = auto()  # The function to call when a block is full: void (owner).
    OWNERS = auto()  # The number of workers.
    SEE = auto()  # The function to call for the first occurrence of an observation: void (place).
    SEEN = auto()  # Recent observations, indexed by hash; see `SEEN_PLACES`.
    RECENT = auto()  # Recently generated states, indexed by hash; see `recent_states`.
    REFINED = auto()  # Words: cached images of states, see `refinement`.
    TABLES = auto()  # The descriptors of the tables of the visited set, see `Table`.
    TABLE_COUNT = auto()
    STORE = auto()  # The address of the next new state.
    STORE_END = auto()
    # Used by liveness checking: the graph of a finished search.
    COLLECTS = auto()  # Not 0: `emit` records edges instead of storing states; see `COLLECT_FAIR`.
    OF_ACTION = auto()  # The index of the step's label among the labels of its action.
    LABELS = auto()  # Two words per action: its first label (0: none), and 1 if it has several.
    SERVED = auto()  # Bytes: per label, the bits of the units that it serves, or null (one each).
    SERVED_WIDTH = auto()  # The number of these bytes per label.
    POSSIBLE = auto()  # Bytes: one bit per unit, whether a step from CURRENT counts for it.
    PEERS = auto()  # Per owner, the address of its table descriptors.
    NUMBERS = auto()  # Per table of each owner, the address of its array of entries; see `Seek`.
    BY_TAG = auto()  # 1 if the tag of a state tells its entry from all others, see `Seek`.
    MISSED = auto()  # The number of states that were looked up by their tags, and not found.
    PENDING = auto()  # The states to be looked up together, see `Seek`.
    PENDING_COUNT = auto()  # The number of steps in PENDING that have not been recorded yet.
    SOURCE = auto()  # The number of the state being expanded.
    EDGE = auto()  # The address of the next edge. The end and the start of the buffer follow.
    EDGES_END = auto()
    EDGES = auto()
    EDGES_FULL = auto()  # The function to call when the buffer is full: void (0).
    EDGE_BYTES = auto()  # The size of an edge in bytes. The mask of these bytes in a word follows.
    EDGE_MASK = auto()
    TARGET_MASK = auto()  # The bits of an edge that hold the number of the target.
    UNIT_SHIFT = auto()  # The number of bits in TARGET_MASK; the label is stored above them.
    ROWS = auto()  # Per state, where its edges are, see `Edges`.
    ROW_TAG = auto()  # The bits in ROWS that identify the worker recording the edges.
    ROW_BASES = auto()  # The EDGES of all workers.
    WALK = auto()  # The data of a random walk, see `Walk`.
    FOLLOW = auto()  # The data of following, see `Follow`.
    BLOCKS = auto()  # Two words per owner: the address of its next successor, and the end.


COLLECT_FAIR, COLLECT_ALL = 1, 2
"""Values of COLLECTS: only steps that change more than ghosts count for their units, or all steps
do.
"""
ROW_SHIFT = 48
"""The start of the edges of a state is stored as a word: the offset in the EDGES of a worker is in
this many low bits, and the worker is above them.
"""


class Edges(IntEnum):
    """The half words that describe the edges of a state. The start has two of them. MARK is for the
    kernels that use the graph. All are in one cache line.
    """

    START = 0
    COUNT = 2
    MARK = 3


EDGES_BYTES = 4 * (Edges.MARK + 1)


class Seek(IntEnum):
    """The words that describe a state to look up.

    An array of entries belongs to each table of the visited set. The entry of a state has the slot
    of the state; its low half is the number of the state plus one, or 0 if the number is not
    wanted, and its high half is a *tag*, part of a hash, which is never 0.

    The words are the table of the state, its capacity, its entries, the home slot of the state, and
    the tag. TABLE is null if the state is looked up by its tag. SOURCE and LABEL are used if an
    edge leads to the state. The state itself begins at `STATE`.
    """

    TABLE = 0
    CAPACITY = 1
    HOME = 2
    NUMBERS = 3
    TAG = 4
    SOURCE = 5
    LABEL = 6
    STATE = 7


TAG_FACTOR = 0x9E3779B97F4A7C15
"""Tags are the high half of the product of a hash and this odd number, 2^64 divided by the golden
ratio. Unlike single bits of the hash, they do not depend on the slot.
"""
TAG_SHIFT = 32


class Walk(IntEnum):
    """The words of a random walk."""

    SEED = 0
    """The seed of the random numbers; each run derives its own numbers from it."""
    RANDOM = 1
    """The state of the generator of the current run."""
    PER_ACTION = 2
    """1 if the weight of an action applies to all of its steps together, 0 if it applies to each
    step.
    """
    WEIGHTS = 3
    """Words: the weight of each action. Sums of weights must fit in 32 bits."""
    TOTAL = 4
    """The sum of the weights seen in the current state; 0 if no step is possible."""
    ACTION = 5
    """The action whose steps are being generated, used to detect the next action."""
    COUNT = 6
    """The number of steps of this action."""
    WINS = 7
    """1 if one of these steps is taken, unless a later action is chosen."""
    PATH = 8
    """The states of the run, stored one after the other."""
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
    """Bytes: a sketch for estimating the number of distinct states, see `SKETCH_BITS`."""


WALK_WORDS = len(Walk)


class Follow(IntEnum):
    """The words used for following a behaviour step by step."""

    NEXT = 0
    """The address of the next row."""
    END = 1
    """The end of the buffer for rows."""
    LACKING = 2
    """The number of rows that did not fit."""
    CALL = 3
    """The number of the call that the rows belong to, starting at 0; -1 for the model's own
    steps.
    """


class Row(IntEnum):
    """The words of a row.

    ACTION is the number of the action for a step, -1 if a guard was false, and less than -1 if
    evaluation failed. The words from `REST` on contain the step's marks and the next state (see
    `follow.Rows`), or the number of the guard or of the site of the failure.
    """

    CALL = 0
    ACTION = 1
    REST = 2


FOLLOW_WORDS = len(Follow)
SKETCH_BITS = 14
"""The base-2 logarithm of the number of bytes in a sketch. The lowest bits of a hash select a byte.
Each byte holds one plus the maximum number of trailing zeros in the remaining bits of the hashes
that select it.
"""


MAX_SEEN = 4
"""Maximum number of values in an observation."""
SEEN_WORDS = 1 + MAX_SEEN
"""The words of an observation: the result of `seen_as`, and the values."""
SEEN_PLACES = 1 << 12
"""The number of observations that are remembered, a power of two. Forgotten observations are
forwarded again.
"""


def seen_as(number: int, count: int) -> int:
    """Encodes the number of an observation and its ``count`` of values in a word that is not
    zero.
    """
    return (number << 3) + count + 1


def seen_from(kind: int) -> tuple[int, int]:
    """Decodes a result of `seen_as`: returns the number of the observation and the number of its
    values.
    """
    return (kind - 1) >> 3, (kind - 1) & 7


RECENT_BYTES = 1 << 17
"""Default size in bytes of the cache of recent states, which should fit into the innermost
processor caches.
"""


def recent_states(words: int, room: int = RECENT_BYTES) -> int:
    """Returns the number of recent states that fit into ``room`` bytes, rounded down to a power of
    two.
    """
    return 1 << max(4, (room // (8 * words)).bit_length() - 1)


class Want(IntEnum):
    """The resource that `merge` needs before it can continue."""

    NOTHING = 0
    ROOM = 1
    """The current chunk of the store is full."""
    PLACES = 2
    """The visited set has no free slot."""


class Table(IntEnum):
    """The words of a table's descriptor: its address, the number of slots, the number of slots in
    use, and the maximum number of slots in use.
    """

    ADDRESS = 0
    CAPACITY = 1
    COUNT = 2
    LIMIT = 3


TABLE_WORDS = len(Table)


class Report(IntEnum):
    """The layout of a slot for a problem, in words.

    The first words tell whether the slot is used, and where the evaluation failed. The state with
    the problem (from `STATES`) and its predecessor (zeros if it has none) follow.
    """

    TAKEN = 0
    SITE = 1
    STATES = 2


@dataclass(frozen=True, slots=True)
class Slots:
    """Numbers the slots for problems. Each slot holds the problem of its kind with the least state.

    Slots 0 and 1 belong to the initial choice. ``words`` is the size of a packed state.
    """

    actions: int
    properties: int
    words: int

    def error(self, action: int) -> int:
        """Returns the slot for an evaluation error in a step of the action, or in an initial choice
        if ``action`` is -1.
        """
        return 2 + 2 * action

    def assertion(self, action: int) -> int:
        """Returns the slot for a failed assertion in a step of the action, or in an initial choice
        if ``action`` is -1.
        """
        return 3 + 2 * action

    def property_error(self, number: int) -> int:
        """Returns the slot for a state where the property is undefined."""
        return 2 + 2 * self.actions + 2 * number

    def violation(self, number: int) -> int:
        """Returns the slot for a violation of the property."""
        return 3 + 2 * self.actions + 2 * number

    @property
    def deadlock(self) -> int:
        return 2 + 2 * self.actions + 2 * self.properties

    @property
    def stuck(self) -> int:
        """The slot for states whose steps make no progress. They are reported but are not a
        problem.
        """
        return self.deadlock + 1

    @property
    def count(self) -> int:
        return self.deadlock + 2

    @property
    def size(self) -> int:
        """The size of one slot in words."""
        return Report.STATES + 2 * self.words
