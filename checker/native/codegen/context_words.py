"""What a worker shares with machine code: an array of words, the *context*, and which is which.

Every word is a number or an address. Arrays that it points to belong to one worker as well, so
that no two threads write to the same memory. It does not know how the words are used.
"""

from __future__ import annotations

from enum import IntEnum, auto

from fencepost.spec.records import dataclass


class Word(IntEnum):
    """The place of each word of a context."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count

    # Written by the generated code.
    MARKS = auto()  # Words: a bit per coverage mark, whether it was set.
    REFUSED = auto()  # Words: per guard of the model how often it disabled a vector of choices.
    REACHED = auto()  # Bytes: per property whether it was true (reachables).
    CHOICES = auto()  # Words: room for the odometer of the generated code.
    # Read by the generated code, and set up by the search.
    ACTIVE = auto()  # Bytes: per property whether it is still looked at.
    CURRENT = auto()  # The state being expanded; null while initial states are made.
    STOP = auto()  # Not 0: return as soon as possible. Written by another thread.
    TARGETS = auto()  # The states whose predecessors are looked for; null in a search.
    # Written by the kernels for each state expanded, and by a failing step.
    STEPS = auto()  # Completed steps of CURRENT.
    MOVES = auto()  # 1: some step of CURRENT was progress, or failed.
    # Written by the kernels.
    TAKEN = auto()  # Words: completed steps per action.
    TRANSITIONS = auto()  # Completed steps.
    STUCK = auto()  # States from which no step is progress.
    # Where one state stands for all of its orbit.
    WEIGHT = auto()  # For how many states CURRENT stands.
    STAND_FOR = auto()  # For how many the new states inside the constraints stand.
    OUTSIDE_FOR = auto()  # For how many those outside of them stand.
    WEIGHTS = auto()  # Where `examine` puts for how many the next one inside stands; null: nowhere.
    REPORTS = auto()  # The slots of problems, see `Slots`.
    REPORTED = auto()  # How often a slot was written.
    DONE = auto()  # How many states a kernel has dealt with when it returned.
    EXAMINED = auto()  # How many states `examine` has looked at when it returned.
    DROPPED = auto()  # Where `examine` puts the next state outside the constraints; null: nowhere.
    WANT = auto()  # What `merge` needs to go on: see `Want`.
    FULL_TABLE = auto()  # The number of the table that has to be enlarged.
    ASIDE = auto()  # How many states `spread` has put aside.
    # Set up by the search.
    DEADLOCK = auto()  # Whether a deadlock is a problem.
    TARGET_COUNT = auto()
    FULL = auto()  # The function to call when a block is full: void (owner).
    OWNERS = auto()  # How many workers there are.
    SEE = auto()  # The function to call when something is seen for the first time: void (place).
    SEEN = auto()  # What was seen, each at a place by its hash; see `SEEN_PLACES`.
    RECENT = auto()  # States made not long ago, each at a place by its hash; see `recent_states`.
    REFINED = auto()  # Words: what is known of images of states, see `refinement`.
    TABLES = auto()  # The descriptors of the tables of the visited set, see `Table`.
    TABLE_COUNT = auto()
    STORE = auto()  # Where the next new state goes.
    STORE_END = auto()
    # Behaviours: the graph of a search that is over.
    COLLECTS = auto()  # Not 0: `emit` notes steps, and finds no states; see `COLLECT_FAIR`.
    OF_ACTION = auto()  # Which unit of its action a step belongs to, by its first choices.
    UNITS = auto()  # Two words per action: its first unit from 1 on (0: none), 1 if several.
    POSSIBLE = auto()  # A bit per unit, whether a step from CURRENT counts for it.
    PEERS = auto()  # Per owner the descriptors of its tables.
    NUMBERS = auto()  # Per table of all owners its numbers: a word per place, 0 for none.
    PENDING = auto()  # Room for the states that are looked up together, see `Seek`.
    PENDING_COUNT = auto()  # How many steps wait there to be noted.
    SOURCE = auto()  # The number of the state whose steps are made.
    EDGE = auto()  # Where the next step is noted, and the end of the room, and its beginning.
    EDGES_END = auto()
    EDGES = auto()
    EDGES_FULL = auto()  # The function to call when there is no room: void (0).
    EDGE_BYTES = auto()  # What a step takes, and the bits of a word that these are.
    EDGE_MASK = auto()
    TARGET_MASK = auto()  # The bits of a step that are the number of a state.
    UNIT_SHIFT = auto()  # How many these are; the unit stands above.
    ROWS = auto()  # Per state where its steps begin: the worker, and how many bytes from its EDGES.
    ROW_TAG = auto()  # The worker that notes steps, as it stands there.
    ROW_BASES = auto()  # The EDGES of all workers.
    ROW_COUNTS = auto()  # Per state how many steps have been noted.
    WALK = auto()  # What a random walk needs, see `Walk`.
    FOLLOW = auto()  # What following needs, see `Follow`.
    BLOCKS = auto()  # From here on two words per owner: where its next successor goes, the end.


COLLECT_FAIR, COLLECT_ALL = 1, 2
"""Which steps count for their units: those that change what is no ghost; all."""
ROW_SHIFT = 48
"""Where a row begins is a word: the worker stands above this many bits."""


class Seek(IntEnum):
    """The words of a state that is looked up: where its table is and how many places it has, the
    place where it is looked for first, the numbers of the table's places, and from `STATE` on the
    state; of a step to it, the source and the unit for which it counts.
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
    """From which the random numbers of each run are drawn."""
    RANDOM = 1
    """The state of the generator of the run under way."""
    PER_ACTION = 2
    """1: an action has its weight once, whatever the number of its steps; 0: each step has it."""
    WEIGHTS = 3
    """Words: the weight of each action; sums of them have to fit in 32 bits."""
    TOTAL = 4
    """The sum of the weights met in the state under way; 0: no step can be taken."""
    ACTION = 5
    """The action whose steps are made, to see where another begins."""
    COUNT = 6
    """How many steps of it there are."""
    WINS = 7
    """1: one of its steps is taken, unless an action behind it is chosen."""
    PATH = 8
    """The states of the run, one behind the other."""
    LENGTH = 9
    """How many of them were expanded, the one under way included."""
    RUN = 10
    """The number of the run under way."""
    INITIAL = 11
    """The initial states."""
    INITIAL_COUNT = 12
    STEPS = 13
    """Steps taken."""
    LEFT = 14
    """Runs that ended before they were as long as they may be."""
    SKETCH = 15
    """Bytes: an estimate of how many distinct states were made, see `SKETCH_BITS`."""


WALK_WORDS = len(Walk)


class Follow(IntEnum):
    """The words of what is followed step by step."""

    NEXT = 0
    """Where the next row goes."""
    END = 1
    """Where the room for rows ends."""
    LACKING = 2
    """How many rows found no room."""
    CALL = 3
    """Which call the rows are of, from 0 on; -1: of none, but of the model's own steps."""


class Row(IntEnum):
    """The words of a row: the call, then the number of the action of a step (-1: a guard was
    refused, less: evaluation failed). From `REST` on there are the step's marks, what it has put
    aside, and its state; or the number of the guard or of the site.
    """

    CALL = 0
    ACTION = 1
    REST = 2


FOLLOW_WORDS = len(Follow)
SKETCH_BITS = 14
"""An estimate has two to this power of bytes. The lowest bits of a hash choose the byte: it holds
the most zeros that the other bits of such a hash began with, plus one.
"""


MOST_SEEN = 4
"""The most values that are observed together."""
SEEN_WORDS = 1 + MOST_SEEN
"""The words of what was seen: what `seen_as` makes of its number, and the values."""
SEEN_PLACES = 1 << 12
"""How many of the things that were seen are kept, a power of two; others are reported again."""


def seen_as(number: int, count: int) -> int:
    """The number of an observation of ``count`` values, as a word that is not zero."""
    return (number << 3) + count + 1


def seen_from(kind: int) -> tuple[int, int]:
    """The number of an observation, and how many values it has."""
    return (kind - 1) >> 3, (kind - 1) & 7


RECENT_BYTES = 1 << 17
"""The usual room for recent states: it ought to stay in the nearest caches."""


def recent_states(words: int, room: int = RECENT_BYTES) -> int:
    """How many recent states are kept in a number of bytes, a power of two."""
    return 1 << max(4, (room // (8 * words)).bit_length() - 1)


class Want(IntEnum):
    """What `merge` needs before it can go on."""

    NOTHING = 0
    ROOM = 1
    """The chunk of the store is full."""
    PLACES = 2
    """There is no place in the visited set."""


class Table(IntEnum):
    """The words of a descriptor of one table: where it is, how many slots it has, how many are
    taken, and how many may be.
    """

    ADDRESS = 0
    CAPACITY = 1
    COUNT = 2
    LIMIT = 3


TABLE_WORDS = len(Table)


class Report(IntEnum):
    """The words of a slot: whether it is taken, where evaluation failed, and from `STATES` on the
    state where the problem shows and the state before it, zeros standing for none.
    """

    TAKEN = 0
    SITE = 1
    STATES = 2


@dataclass(frozen=True, slots=True)
class Slots:
    """The numbers of the slots in which problems are kept, the least state of each kind of problem.

    Slots 0 and 1 belong to the initial choice. ``words`` is the size of a packed state.
    """

    actions: int
    properties: int
    words: int

    def error(self, action: int) -> int:
        """A step of the action cannot be evaluated; -1: an initial choice."""
        return 2 + 2 * action

    def assertion(self, action: int) -> int:
        """An assertion fails in a step of the action; -1: in an initial choice."""
        return 3 + 2 * action

    def property_error(self, number: int) -> int:
        """The property has no value."""
        return 2 + 2 * self.actions + 2 * number

    def violation(self, number: int) -> int:
        """The property is false."""
        return 3 + 2 * self.actions + 2 * number

    @property
    def deadlock(self) -> int:
        return 2 + 2 * self.actions + 2 * self.properties

    @property
    def stuck(self) -> int:
        """A state with steps none of which is progress; not a problem, but told."""
        return self.deadlock + 1

    @property
    def count(self) -> int:
        return self.deadlock + 2

    @property
    def size(self) -> int:
        """The words of one slot."""
        return Report.STATES + 2 * self.words
