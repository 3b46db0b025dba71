"""Compressed visited sets contain the same states as sets of whole states, without losses or
duplicates, and return each state unchanged.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers
from tests.strategies import specs
from tests.support.agreement import assert_same, bounded, model_of, run_of_model, runs_of
from tests.support.amounts import examples
from tests.support.compressed_canary import canaries, quick_code
from tests.support.examples import RANGED, Example
from tests.support.kernel_models import TOP, Toy, fan, text, two_phase_commit

from fencepost.checker.native import search, worker
from fencepost.checker.native import states as states_
from fencepost.checker.native.codegen.emitter import Emitter, word
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.kernels import compressed
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.build import SetCode
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Packed, Sizes
from fencepost.checker.native.search import Local
from fencepost.checker.native.visited import compressed as tables
from fencepost.checker.native.visited import plan
from fencepost.checker.native.worker import Worker
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Limits, Request
from fencepost.checker.resources import resident_bytes
from fencepost.spec.core.types import State

SALTS = plan.salts("any text")
COUNTERS = """
type Process = 1..3
var count: map[Process, 0..6] = [0 for p in Process]
var last: Process = 1

action up(p in Process):
    require count[p] < 6
    count[p] += 1
    last = p

terminal: true
"""
WIDE_COUNTERS = COUNTERS.replace(
    "terminal", "var unused: map[1..20, 0..7] = [0 for n in 1..20]\nterminal"
)


def as_it_is(packed: Packed) -> State:
    return packed


@contextmanager
def explored(toy: Toy, owners: int = 1) -> Generator[Explorer]:
    """Yields a search of a toy model before its first level, and checks at the end that no buffer
    overflowed.
    """
    memory = Memory(watched=True)
    model = build.Compilation(text(toy)).quick()
    sizes = Sizes(toy.slots, 0, 0, 0)
    explorer = Explorer(model, sizes, owners, memory, as_it_is, lambda: None)
    explorer.look_for(True, {0, 1})
    try:
        yield explorer
        memory.check()
    finally:
        explorer.close()


def begin(explorer: Explorer, code: SetCode | None = None) -> None:
    """Builds and compresses the first level."""
    explorer.begin()
    explorer.examine()
    assert explorer.compress(code or quick_code(), SALTS)


def levels(explorer: Explorer) -> list[int]:
    """Returns the sizes of all levels."""
    sizes: list[int] = []
    while explorer.size(explorer.level):
        sizes.append(explorer.size(explorer.level))
        explorer.expand()
        explorer.examine()
    return sizes


@pytest.mark.parametrize(
    ("words", "owners", "parts"),
    [
        *((1, owners, 1) for owners in (1, 2, 3)),
        *((2, 1, 1), (3, 2, 1), (8, 3, 1), (9, 1, 1), (17, 2, 1), (64, 1, 1)),
        *((2, 1, 2), (3, 2, 2), (16, 3, 2)),
    ],
)
def test_two_phase_commit(words: int, owners: int, parts: int) -> None:
    toy = two_phase_commit(5, words)
    with canaries(parts=parts), explored(toy, owners) as explorer:
        begin(explorer)
        assert sum(levels(explorer)) == 8832


@pytest.mark.parametrize("owners", [1, 2])
@pytest.mark.parametrize(("words", "parts"), [(1, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("late", [tables.LARGE_TABLE, 1])
def test_better_code_finds_the_same(
    owners: int, words: int, parts: int, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tables and nodes grow often, in the way of small or of large ones. Canaries would be too slow
    # here.
    monkeypatch.setattr(tables, "LARGE_TABLE", late)
    monkeypatch.setattr(plan, "PARTS", (parts,))
    monkeypatch.setattr(plan, "MAX_PAIRS", 1000.0)
    with explored(two_phase_commit(7, words), owners) as explorer:
        begin(explorer, build.SetCompilation(compressed.text()).best())
        sizes = levels(explorer)
        assert (sum(sizes), explorer.transitions + 1, len(sizes)) == (296448, 2744706, 23)


def wide(words: int, chosen: random.Random, count: int) -> list[Packed]:
    """Returns distinct states: all zeros (except the top bit, which every state has), all ones,
    random states, and states that share words.
    """
    full = (1 << 64) - 1
    packed: list[Packed] = [(TOP, *[0] * (words - 1)), (full,) * words]
    for number in range(count):
        rest = [
            chosen.choice((0, full, number % 5, chosen.getrandbits(64))) for _ in range(words - 1)
        ]
        first = chosen.choice((number, chosen.getrandbits(63), number << 40 & full >> 1))
        packed.append((TOP | first, *rest))
    return [*dict.fromkeys(packed)]


def entered(explorer: Explorer, states: Sequence[Packed]) -> list[bool]:
    """Adds each state to the last level, and returns whether it was new."""
    new: list[bool] = []
    for state in states:
        before, room = explorer.states, (ctypes.c_uint64 * len(state))(*state)
        explorer.workers[0].call("route", ctypes.addressof(room), 1)
        explorer.share(Worker.finish, False)
        new.append(explorer.states > before)
    return new


@pytest.mark.parametrize(
    ("owners", "words", "parts"),
    [*((1, n, 1) for n in (1, 2, 3, 5, 31, 64)), (3, 4, 1), (1, 2, 2), (1, 9, 2), (3, 4, 2)],
)
def test_states_of_all_kinds_are_kept_as_they_are(owners: int, words: int, parts: int) -> None:
    chosen = random.Random(words)
    states = wide(words, chosen, 400 if words < 9 else 100)
    with canaries(parts=parts), explored(fan(1, words), owners) as explorer:
        begin(explorer)
        before = {*explorer.packed(1)}
        explorer.begin_level()
        new = [state not in before for state in states]
        assert entered(explorer, states) == new
        assert not any(entered(explorer, chosen.sample(states, len(states))))
        assert {*explorer.packed(2)} == {*states} - before


@pytest.mark.parametrize("owners", [1, 3])
@pytest.mark.parametrize("words", [1, 2, 9])
def test_states_outside_a_constraint_are_dropped(owners: int, words: int) -> None:
    # State 0 leads to 1..6000; only the even ones are inside the constraint. If compression starts
    # late, the states outside the constraint are then only in the visited set.
    toy = fan(6_000, words, inside=lambda e, v: e.eq(e.both(v, word(1)), word(0)))
    for early in (True, False):
        with canaries(), explored(toy, owners) as explorer:
            if early:
                begin(explorer)
            else:
                explorer.begin()
                explorer.examine()
            explorer.expand()
            explorer.examine()
            if not early:
                assert explorer.compress(quick_code(), SALTS)
            assert (explorer.outside, explorer.size(2), explorer.states) == (3_000, 3_000, 3_001)
            assert not any(packed[0] & 1 for packed in explorer.packed(2))
            explorer.begin_level()
            outside = (TOP | 7, *[7] * (words - 1))
            assert entered(explorer, [outside]) == [False]


@pytest.mark.parametrize("owners", [1, 2, 3])
@pytest.mark.parametrize("words", [1, 3])
def test_least_predecessors(owners: int, words: int) -> None:
    # Level 2 is 1..5000; state n leads to 10,000 + n // 3 and to 6000.
    def step(toy: Toy, e: Emitter, value: object) -> None:
        toy.emit(e, 0, e.add(word(10_000), e.udiv(value, word(3))))
        toy.emit(e, 0, word(6000))

    with canaries(), explored(fan(5000, words, then=step), owners) as explorer:
        begin(explorer)
        levels(explorer)
        wanted = [(TOP | n, *[n] * (words - 1)) for n in (10_001, 6000, 10_200)]
        predecessors = explorer.predecessors(2, wanted)
        assert [packed[0] & ~TOP for packed in predecessors] == [3, 1, 600]
        assert [packed[0] & ~TOP for packed in explorer.predecessors(1, predecessors)] == [0] * 3


def first_word_varies(n: int, _: int) -> Packed:
    return TOP | n // 60 << 32 | n % 60, n % 4


def random_word(n: int, chance: int) -> Packed:
    return TOP | n % 7, chance, 5, 6


def random_word_of_two(n: int, chance: int) -> Packed:
    return TOP | n % 7, chance


def two_random_words(n: int, chance: int) -> Packed:
    return TOP | n, chance, chance * 3 & (1 << 64) - 1, 5


@pytest.mark.parametrize(
    ("state", "parts"),
    [
        (first_word_varies, 2),
        # A plan with one pair per state is worth it if states are wide.
        (random_word, 1),
        (random_word_of_two, None),
        (two_random_words, None),
    ],
)
def test_parts_of_the_chosen_plan(state: Callable[[int, int], Packed], parts: int | None) -> None:
    chosen, code = random.Random(5), quick_code()
    states = [state(n, chosen.getrandbits(64)) for n in range(3000)]
    words = len(states[0])
    room = (ctypes.c_uint64 * (words * len(states)))(
        *(word for packed in states for word in packed)
    )
    with explored(fan(1, words)) as explorer:
        sample = [(ctypes.addressof(room), len(states))]
        selected = explorer.workers[0].plan(code, SALTS, sample)
    assert (selected and selected.parts) == parts


def test_compression_is_tried_again_with_more_states(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []

    def refused_twice(*arguments: Any) -> plan.Plan | None:
        numbers.append(sum(count for _, count in arguments[3]))
        return plan.chosen(*arguments) if len(numbers) > 2 else None

    monkeypatch.setattr(worker, "chosen", refused_twice)
    run = run_of_model(model_of(COUNTERS), limits=Limits(workers=2))
    expected = without_times(run.outcome("interpreter"))
    with canaries(8) as created:
        assert without_times(run.outcome(Local("quick", watched=True))) == expected
    first, second, third = numbers
    assert first >= 8
    assert second >= 4 * first
    assert third >= 4 * second
    assert len(created) == 2


@pytest.mark.parametrize(
    ("extra", "options", "why"),
    [
        ("", {}, "they share too little"),
        ("", {"profile": True}, "the profile needs whole states"),
        ("property Ends: eventually count[1] == 6", {}, "temporal properties need whole states"),
        ("", {"limits": Limits(depth=2)}, None),
    ],
)
def test_a_long_search_says_why_its_states_are_not_compressed(
    extra: str, options: dict[str, Any], why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(WIDE_COUNTERS + extra)
    monkeypatch.setattr(search, "LONG_SEARCH", 300)
    monkeypatch.setattr(states_, "COMPRESSED_FROM", 1)
    for limit in ("MAX_PAIRS", "MAX_PAIRS_PER_WORD"):
        monkeypatch.setattr(plan, limit, 0.0)
    properties = frozenset(range(len(model.properties)))
    outcome = Local("quick").run(Request(model, properties, **options))
    expected = [] if why is None else [f"The states, of 16 bytes each, were not compressed: {why}."]
    assert [note for note in outcome.notes if "compressed" in note] == expected


def test_states_that_share_nothing_stay_whole() -> None:
    with explored(fan(1, 4)) as explorer:
        explorer.begin()
        explorer.examine()
        explorer.begin_level()
        chosen = random.Random(4)
        states = [(TOP | n, *(chosen.getrandbits(64) for _ in range(3))) for n in range(2000)]
        assert all(entered(explorer, states))
        assert not explorer.compress(quick_code(), SALTS)
        assert not explorer.compressed
        assert not any(entered(explorer, states))


@pytest.mark.parametrize("words", [1, 5])
def test_without_room_for_the_change_states_stay_whole(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_PAIRS", 1000.0)
    with explored(two_phase_commit(6, words), 2) as explorer:
        explorer.begin()
        explorer.examine()
        before = 0
        while explorer.states < 20_000:
            before += explorer.size(explorer.level)
            explorer.expand()
            explorer.examine()
        memory = explorer.memory
        used, most, room = memory.used, resident_bytes(), 0
        while True:
            memory.limit = most + room
            memory.weigh()
            if explorer.compress(quick_code(), SALTS):
                break
            assert (memory.used, explorer.compressed) == (used, False)
            room += 1 << 20
            assert room < 1 << 28
        assert room
        memory.limit = None
        assert explorer.compressed
        assert before + sum(levels(explorer)) == 50_816


# ---------------------------------------------------------------- whole runs


def without_times(outcome: Outcome) -> Outcome:
    return replace(outcome, statistics=replace(outcome.statistics, seconds=0, peak_bytes=0))


@pytest.mark.parametrize("example", RANGED, ids=lambda example: example.name)
def test_examples(example: Example) -> None:
    run = run_of_model(model_of(example.text), deadlock=example.deadlock, limits=Limits(workers=2))
    expected = without_times(run.outcome("interpreter"))
    with canaries() as checked:
        result = without_times(run.outcome(Local("quick", watched=True)))
    assert result == expected
    assert checked or result.statistics.depth <= 1 or run.model.searched(run.properties).behaviours


@examples(4)
@given(specs(), integers(1, 400))
def test_random_specs(text: str, limit: int) -> None:
    for run in runs_of(text):
        for limited in (bounded(run), run.within(max_states=limit)):
            wanted = limited.by("interpreter")
            with canaries():
                assert_same(wanted, limited.within(workers=2).by("local"), limited)
