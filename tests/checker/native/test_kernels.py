"""The kernels of the native engine on hand-written models: every successor arrives, states are
neither lost nor duplicated, the least problems are kept, and nothing is written out of bounds.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from tests.support.kernel_models import TOP, Toy, added, chain, fan, text, two_phase_commit

from fencepost.checker.native.codegen.emitter import Emitter, word
from fencepost.checker.native.explorer import Explorer, Finding
from fencepost.checker.native.machine import build, worker_context
from fencepost.checker.native.machine.memory import HUGE_PAGE, PAGE, RESERVE, STRIDE, Memory
from fencepost.checker.native.machine.memory import words as memory_words
from fencepost.checker.native.machine.worker_context import Packed, Sizes
from fencepost.checker.native.visited import tables
from fencepost.checker.resources import Exhausted, resident_bytes
from fencepost.checker.search.states import Totals
from fencepost.spec.core.types import State


def decode(packed: Packed) -> State:
    """Returns the value of a toy state; all words of the state must agree."""
    value = packed[0] & ~TOP
    assert packed[0] >> 63 == 1
    assert all(other == value for other in packed[1:])
    return (value,)


@contextmanager
def explored(
    toy: Toy, owners: int = 1, memory: Memory | None = None, quick: bool = True
) -> Generator[Explorer]:
    """Yields a search of a toy model before its first level, and checks at the end that no buffer
    overflowed.
    """
    compilation = build.Compilation(text(toy))
    code = compilation.quick() if quick else compilation.best()
    memory = memory or Memory(watched=True)
    sizes = Sizes(toy.slots, 0, 0, 0)
    explorer = Explorer(code, sizes, owners, memory, decode, lambda: None)
    explorer.look_for(True, {0, 1})
    try:
        yield explorer
        memory.check()
    finally:
        explorer.close()


def totals(toy: Toy, explorer: Explorer) -> Totals:
    """Returns the counts so far."""
    return worker_context.totals(Sizes(toy.slots, 0, 0, 0), explorer.snapshot())


def search(explorer: Explorer) -> list[int]:
    """Searches all levels, and returns their sizes."""
    explorer.begin()
    explorer.examine()
    levels: list[int] = []
    while explorer.size(explorer.level):
        levels.append(explorer.size(explorer.level))
        explorer.expand()
        explorer.examine()
    return levels


def run(toy: Toy, owners: int = 1, quick: bool = True) -> tuple[list[int], int, tuple[int, ...]]:
    """Returns the sizes of the levels, the number of transitions, and the count of each action."""
    with explored(toy, owners, quick=quick) as explorer:
        levels = search(explorer)
        return levels, explorer.transitions, totals(toy, explorer).taken


@pytest.mark.parametrize("owners", [1, 2, 3])
@pytest.mark.parametrize("words", [1, 2, 3, 8, 9, 17])
def test_two_phase_commit(owners: int, words: int) -> None:
    toy = two_phase_commit(5, words)
    levels, transitions, taken = run(toy, owners)
    assert (sum(levels), transitions + 1, len(levels)) == (8832, 58146, 17)
    assert sum(taken) == transitions
    assert (levels, transitions, taken) == run(two_phase_commit(5))


@pytest.mark.parametrize("owners", [1, 2])
def test_better_code_finds_the_same(owners: int) -> None:
    levels, transitions, _ = run(two_phase_commit(7, 2), owners, quick=False)
    assert (sum(levels), transitions + 1, len(levels)) == (296448, 2744706, 23)


def test_many_levels() -> None:
    levels, transitions, _ = run(chain(3000), 2)
    assert (levels, transitions) == ([1] * 3000, 2999)


@pytest.mark.parametrize(("owners", "words"), [(1, 1), (2, 1), (3, 3), (64, 1)])
def test_more_successors_than_a_block_holds(owners: int, words: int) -> None:
    levels, transitions, _ = run(fan(100_000, words), owners)
    assert (levels, transitions) == ([1, 100_000], 100_000)


@pytest.mark.parametrize("owners", [1, 2])
def test_a_million_initial_states(owners: int) -> None:
    toy = Toy(lambda toy, e, value: None, 1, initial=1_000_000)
    with explored(toy, owners) as explorer:
        explorer.begin()
        assert explorer.initial == 1_000_000
        explorer.examine()
        assert explorer.size(1) == 1_000_000


@pytest.mark.parametrize("words", [1, 2, 16])
def test_states_of_all_zeros_and_all_ones(words: int) -> None:
    # Steps lead from 0 to all ones (except the top bit, which every state has) and back.
    def step(toy: Toy, e: Emitter, value: object) -> None:
        toy.emit(e, 0, e.differ(value, word(TOP - 1)))

    assert run(Toy(step, 1, words), 3) == ([1, 1], 2, (2,))


# ---------------------------------------------------------------- states of a level


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_states_outside_a_constraint_are_dropped(owners: int) -> None:
    # State 0 leads to 1..100,000; only the even ones are inside the constraint.
    toy = fan(100_000, 1, inside=lambda e, v: e.eq(e.both(v, word(1)), word(0)))
    with explored(toy, owners) as explorer:
        explorer.begin()
        explorer.examine()
        assert (explorer.initial, explorer.outside) == (1, 0)
        explorer.expand()
        assert explorer.size(2) == 100_000
        explorer.examine()
        assert explorer.outside == 50_000
        assert (explorer.size(2), explorer.states) == (50_000, 50_001)
        explorer.expand()
        # A known state outside the constraint is neither new nor counted.
        assert (explorer.size(3), explorer.transitions) == (0, 100_000)
        assert not any(packed[0] & 1 for packed in states(explorer, 2, 1))


def test_all_states_outside() -> None:
    toy = fan(50_000, 2, inside=lambda e, v: e.eq(v, word(0)))
    with explored(toy, 2) as explorer:
        assert search(explorer) == [1]
        assert explorer.states == 1


def states(explorer: Explorer, level: int, words: int) -> list[Packed]:
    """Returns the packed states of a level."""
    return [tuple(state) for state in explorer.packed(level)]


# ---------------------------------------------------------------- problems


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_the_least_problem_is_kept(owners: int) -> None:
    toy = fan(
        5000,
        1,
        invalid=lambda e, v: e.ult(word(4321), v),
        step_invalid=lambda e, before, after: e.ult(word(77), after),
    )
    with explored(toy, owners) as explorer:
        explorer.begin()
        explorer.examine()
        explorer.expand()
        explorer.examine()
        assert explorer.found() == [
            Finding(toy.slots.violation(0), 0, (4322,), None),
            Finding(toy.slots.violation(1), 0, (78,), (0,)),
        ]
        assert explorer.found() == []
        explorer.expand()
        assert explorer.found() == [Finding(toy.slots.deadlock, 0, (1,), None)]


def test_of_equal_successors_the_least_predecessor_is_kept() -> None:
    # 1, 2 and 3 all lead to 9, which the step invariant forbids.
    def step(toy: Toy, e: Emitter, value: object) -> None:
        toy.emit(e, 0, word(9))

    toy = Toy(step, 1, initial=4, step_invalid=lambda e, before, after: e.as_flag(before))
    for owners in (1, 2, 3):
        with explored(toy, owners) as explorer:
            explorer.begin()
            explorer.examine()
            explorer.expand()
            assert explorer.found() == [Finding(toy.slots.violation(1), 0, (9,), (1,))]


@pytest.mark.parametrize("owners", [1, 2])
def test_terminal_states_are_not_deadlocks(owners: int) -> None:
    toy = fan(100, 1, terminal=lambda e, v: e.ult(v, word(50)))
    with explored(toy, owners) as explorer:
        search(explorer)
        assert explorer.found() == [Finding(toy.slots.deadlock, 0, (50,), None)]


def test_stuck_states() -> None:
    # Every state leads to itself; 3 also has a step without progress.
    def step(toy: Toy, e: Emitter, value: object) -> None:
        toy.emit(e, 0, value)
        toy.emit(e, 1, added(e, value, 1), progressing=False)

    toy = Toy(step, 2, initial=3, inside=lambda e, v: e.ult(v, word(7)))
    with explored(toy, 2) as explorer:
        assert search(explorer) == [3, 1, 1, 1, 1]
        assert explorer.stuck == 7
        assert explorer.found() == [Finding(toy.slots.stuck, 0, (0,), None)]
        assert totals(toy, explorer).taken == (7, 7)


# ---------------------------------------------------------------- looking back


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_least_predecessors(owners: int) -> None:
    # Level 2 is 1..5000; state n leads to 10,000 + n // 3 and to 6000.
    def step(toy: Toy, e: Emitter, value: object) -> None:
        toy.emit(e, 0, e.add(word(10_000), e.udiv(value, word(3))))
        toy.emit(e, 0, word(6000))

    toy = fan(5000, 1, then=step)
    with explored(toy, owners) as explorer:
        search(explorer)
        wanted: list[Packed] = [(TOP | 10_001,), (TOP | 6000,), (TOP | 10_200,)]
        predecessors = explorer.predecessors(2, wanted)
        assert [decode(packed) for packed in predecessors] == [(3,), (1,), (600,)]
        before = explorer.transitions
        assert [decode(p) for p in explorer.predecessors(1, predecessors)] == [(0,)] * 3
        assert explorer.transitions == before


# ---------------------------------------------------------------- the visited set


@pytest.mark.parametrize(("owners", "words"), [(1, 1), (2, 1), (1, 3), (1, 17)])
@pytest.mark.parametrize(
    ("addresses", "aside"), [(1 << 40, 512), (1 << 40, 1), (1 << 27, 512), (0, 512)]
)
def test_tables_grow(
    owners: int, words: int, addresses: int, aside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The table grows in place, with a large or a small buffer for states that wait, or elsewhere if
    # the addresses after it are taken. A state lost during the move would be found again as new.
    monkeypatch.setattr(tables, "spare_addresses", lambda: addresses)
    monkeypatch.setattr(tables, "ASIDE", aside)
    size = 7 if words == 1 else 6
    with explored(two_phase_commit(size, words), owners) as explorer:
        levels = search(explorer)
        packed_states = {state for n in range(1, len(levels) + 1) for state in explorer.packed(n)}
        stored = [
            tuple(whole[start : start + words])
            for address, count in explorer.seen()
            for whole in [memory_words(address, count * words)]
            for start in range(0, count * words, words)
            if whole[start]
        ]
    assert sum(levels) == {7: 296_448, 6: 50_816}[size]
    assert len(stored) == len(packed_states) == sum(levels)
    assert set(stored) == packed_states


def test_a_region_is_enlarged_in_place() -> None:
    memory = Memory(resident_bytes() + (64 << 20), watched=True)
    region = memory.take(PAGE, 8 * PAGE)
    memory_words(region.address, 1)[0] = 7
    larger = memory.enlarge(region, 3 * PAGE)
    whole = memory_words(larger.address, 3 * PAGE // 8)
    assert (larger.address, larger.size, memory.used) == (region.address, 3 * PAGE, 3 * PAGE)
    assert [*whole] == [7] + [0] * (len(whole) - 1)
    memory.check()
    memory_words(larger.address + larger.size, 1)[0] = 1
    with pytest.raises(AssertionError, match="written after the"):
        memory.check()
    memory_words(larger.address + larger.size, 1)[0] = 0
    with pytest.raises(Exhausted):
        memory.enlarge(memory.take(HUGE_PAGE, 1 << 30), 1 << 29)
    memory.close()
    assert memory.used == 0


@pytest.mark.parametrize(
    "size", [1, PAGE + 1, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 3 * HUGE_PAGE + 5 * PAGE]
)
def test_a_tight_region_exceeds_its_size_by_less_than_a_page(size: int) -> None:
    memory = Memory(watched=True)
    region = memory.take(size, close=True)
    assert size <= region.size < size + PAGE
    assert memory.used == region.size == region.most
    whole = memory_words(region.address, region.size // 8)
    assert not any(whole)
    whole[0] = whole[-1] = 7
    memory.check()
    memory.give(region)
    assert memory.used == 0


# ---------------------------------------------------------------- limits


def test_a_stopped_search_can_still_find_predecessors() -> None:
    class Enough(Exception):
        pass

    def look() -> None:
        if len(box) and box[0].states > 100_000:
            raise Enough

    box: list[Explorer] = []
    toy = two_phase_commit(7)
    memory = Memory(watched=True)
    sizes = Sizes(toy.slots, 0, 0, 0)
    code = build.Compilation(text(toy)).quick()
    for owners in (1, 2, 3):
        explorer = Explorer(code, sizes, owners, memory, decode, look)
        box[:] = [explorer]
        with pytest.raises(Enough):
            search(explorer)
        box.clear()
        level = explorer.level - 1
        explorer.resume()
        state = next(iter(states(explorer, level, 1)))
        while level > 1:
            level -= 1
            (state,) = explorer.predecessors(level, [state])
        assert decode(state) == (0,)
        memory.check()
        explorer.close()


@pytest.mark.parametrize(("owners", "words"), [(1, 1), (2, 1), (2, 3)])
def test_memory_is_bounded(owners: int, words: int) -> None:
    room = 24 << 20
    with explored(two_phase_commit(3, words), owners):
        pass  # The compiler is in memory once this has run.
    limit = resident_bytes() + room
    memory = Memory(limit)
    with explored(two_phase_commit(8, words), owners, memory) as explorer:
        with pytest.raises(Exhausted):
            search(explorer)
        assert memory.peak > 0.8 * room
        assert resident_bytes() < 1.02 * limit


def test_the_memory_reserve_is_kept() -> None:
    room = 160 << 20
    taken: list[Memory] = []
    memory = Memory(left=lambda: RESERVE + room - sum(account.used for account in taken))
    taken.append(memory)
    with explored(two_phase_commit(9, 3), 1, memory) as explorer:
        with pytest.raises(Exhausted):
            search(explorer)
        assert 0.3 * room < memory.peak < 2 * room + STRIDE


@pytest.mark.parametrize("owners", [1, 2])
@pytest.mark.parametrize("words", [1, 3])
def test_memory_per_state(owners: int, words: int) -> None:
    toy = two_phase_commit(8, words)
    memory = Memory()
    with explored(toy, owners, memory) as explorer:
        explorer.begin()
        explorer.examine()
        while explorer.size(explorer.level):
            explorer.expand()
            explorer.examine()
            if explorer.states > 1_000_000:
                assert memory.used <= 30 * words * explorer.states
        assert memory.peak <= 30 * words * explorer.states
