"""Machine code that makes the graph of a search that is over: `number`, `find`, `label`, `edges`.

The states have numbers, which are noted at their places in the visited sets of all workers. A step
is kept in four bytes or eight: the number of the state that it leads to, and above it the unit for
which it counts. States are looked up by batches, so that cache misses overlap. It does not know
what is made of the graph.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import (
    COLLECT_FAIR,
    TABLE_WORDS,
    Seek,
    Table,
    Word,
)
from fencepost.checker.native.codegen.emitter import (
    I64,
    LLVM,
    NULL,
    PTR,
    VOID,
    Emitter,
    Unit,
    word,
)
from fencepost.checker.native.codegen.flow import call, count_up, each, exported, named, when
from fencepost.checker.native.codegen.packed import (
    address,
    call_pointer,
    copy,
    hashed,
    home_of,
    owner_of,
    prefetch,
    same,
    table_of,
    watched,
)

BATCH = 32
"""The states that are looked up together."""


def seek_words(words: int) -> int:
    """The words that looking up one of a batch of states of ``words`` words takes."""
    return Seek.STATE + words


def declare(unit: Unit) -> None:
    """Declares what the code of every model calls while it makes steps."""
    unit.function("emit_edge", VOID, [PTR, I64, PTR], aliasing=True)


def define(unit: Unit, words: int, ghosts: bool) -> None:
    """Adds the kernels for states of ``words`` words; ``ghosts``: whether the model has some, so
    that ``changes`` tells whether a step counts.
    """
    _seek(Emitter(unit, unit.function("seek", VOID, [PTR, PTR, PTR], aliasing=True)), words)
    _probe(Emitter(unit, unit.function("probe_number", PTR, [PTR], aliasing=True)), words)
    _note_steps(Emitter(unit, unit.function("note_steps", VOID, [PTR], aliasing=True)), words)
    _emit_edge(Emitter(unit, named(unit, "emit_edge")), words, ghosts)
    _number(exported(unit, "number", [PTR, PTR, I64, PTR]), words)
    _find(exported(unit, "find", [PTR, PTR, I64, PTR]), words)
    _label(exported(unit, "label", [PTR, PTR, I64, PTR, I64]), words)
    _edges(exported(unit, "edges", [PTR, PTR, I64, PTR, PTR, I64]), words)
    _least(exported(unit, "least", [PTR, PTR, I64, I64, I64]), words)


def _least(e: Emitter, words: int) -> None:
    """least(ctx, states, best, first, count): DONE is the index of the least state, in the order
    of the language, among ``best`` and the ``count`` ones from ``first``.
    """
    ctx, states, best, first, count = e.arguments
    e.put(ctx, Word.DONE, best)
    with each(e, count) as number:
        index = e.add(first, number)
        state, known = (
            e.index(states, e.mul(place, word(words))) for place in (index, e.get(ctx, Word.DONE))
        )
        with when(e, call(e, "state_less", state, known)):
            e.put(ctx, Word.DONE, index)
    e.ret()


# ---------------------------------------------------------------- looking states up


def _entry(e: Emitter, ctx: LLVM, number: LLVM, words: int) -> LLVM:
    """The place of one of a batch of states that are looked up."""
    return e.index(e.pointer(ctx, Word.PENDING), e.mul(number, word(seek_words(words))))


def _seek(e: Emitter, words: int) -> None:
    """seek(ctx, state, entry): asks for the memory that finding a state's number needs."""
    ctx, state, entry = e.arguments
    hash_ = hashed(e, words, state)
    owner = owner_of(e, hash_, e.get(ctx, Word.OWNERS))
    tables = e.get(ctx, Word.TABLE_COUNT)
    number = table_of(e, hash_, tables)
    table = e.index(e.pointer(e.pointer(ctx, Word.PEERS), owner), e.mul(number, word(TABLE_WORDS)))
    capacity, start = e.get(table, Table.CAPACITY), e.pointer(table, Table.ADDRESS)
    home = home_of(e, hash_, capacity)
    place = e.index(start, e.mul(home, word(words)))
    prefetch(e, place)
    if words > 1:
        prefetch(e, e.index(place, words - 1))
    numbers = e.pointer(e.pointer(ctx, Word.NUMBERS), e.add(e.mul(owner, tables), number))
    e.store(start, e.index(entry, Seek.TABLE))
    e.put(entry, Seek.CAPACITY, capacity)
    e.put(entry, Seek.HOME, home)
    e.store(numbers, e.index(entry, Seek.NUMBERS))
    copy(e, words, e.index(entry, Seek.STATE), state)
    e.ret()


def _probe(e: Emitter, words: int) -> None:
    """probe_number(entry): where the number of a state that was sought stands; null: the state was
    not seen.
    """
    (entry,) = e.arguments
    state = e.index(entry, Seek.STATE)
    capacity, start = e.get(entry, Seek.CAPACITY), e.pointer(entry, Seek.TABLE)
    place = e.cell()
    e.store(e.get(entry, Seek.HOME), place)
    probe, onward, missing, found = (e.block(name) for name in ("probe", "on", "none", "found"))
    e.goto(probe)
    e.at(probe)
    here = e.index(start, e.mul(e.load(place), word(words)))
    e.branch(same(e, words, here, state), found, onward)
    e.at(onward)
    follower = e.add(e.load(place), word(1))
    e.store(e.select(e.eq(follower, capacity), word(0), follower), place)
    e.branch(e.eq(e.load(here), word(0)), missing, probe)
    e.at(missing)
    e.ret(NULL)
    e.at(found)
    there = e.index(e.pointer(entry, Seek.NUMBERS), e.load(place))
    prefetch(e, there)
    e.ret(there)


def _number(e: Emitter, words: int) -> None:
    """number(ctx, states, count, numbers): gives states these numbers, which are noted plus one."""
    ctx, states, count, numbers = e.arguments
    done, head, body, behind = e.cell(), e.block("head"), e.block("batch"), e.block("behind")
    e.store(word(0), done)
    e.goto(head)
    e.at(head)
    rest = e.sub(count, e.load(done))
    e.branch(e.as_flag(rest), body, behind)
    e.at(body)
    batch = e.select(e.ult(rest, word(BATCH)), rest, word(BATCH))
    start = e.index(states, e.mul(e.load(done), word(words)))
    with each(e, batch) as number:
        state = e.index(start, e.mul(number, word(words)))
        call(e, "seek", ctx, state, _entry(e, ctx, number, words))
    with each(e, batch) as number:
        place = call(e, "probe_number", _entry(e, ctx, number, words))
        with when(e, e.ne(place, NULL)):
            given = e.get(numbers, e.add(e.load(done), number))
            e.store(e.add(given, word(1)), place)
    e.store(e.add(e.load(done), batch), done)
    e.goto(head)
    e.at(behind)
    e.ret()


def _find(e: Emitter, words: int) -> None:
    """find(ctx, states, count, numbers): the numbers of states, 0 for those without one."""
    ctx, states, count, numbers = e.arguments
    with each(e, count) as number:
        entry = _entry(e, ctx, word(0), words)
        call(e, "seek", ctx, e.index(states, e.mul(number, word(words))), entry)
        place = call(e, "probe_number", entry)
        e.put(numbers, number, word(0))
        with when(e, e.ne(place, NULL)):
            e.put(numbers, number, e.load(place))
    e.ret()


# ---------------------------------------------------------------- predicates


def _label(e: Emitter, words: int) -> None:
    """label(ctx, states, count, labels, width): which predicates hold in states, a bit for each,
    ``width`` words a state; DONE is how many were looked at.
    """
    ctx, states, count, labels, width = e.arguments
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as number:
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        state = e.index(states, e.mul(number, word(words)))
        call(e, "label_state", ctx, state, e.index(labels, e.mul(number, width)))
        count_up(e, ctx, Word.DONE)
    e.ret()


# ---------------------------------------------------------------- steps


def _edges(e: Emitter, words: int) -> None:
    """edges(ctx, states, count, numbers, possible, width): notes the steps from states with these
    numbers; ``possible`` has ``width`` words for each number there is, a bit for each unit. DONE is
    how many states were dealt with.
    """
    ctx, states, count, numbers, possible, width = e.arguments
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as place:
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        state = e.index(states, e.mul(place, word(words)))
        number = e.get(numbers, place)
        e.store(state, e.index(ctx, Word.CURRENT))
        e.put(ctx, Word.SOURCE, number)
        e.store(e.index(possible, e.mul(number, width)), e.index(ctx, Word.POSSIBLE))
        call(e, "step_state", ctx, state)
        count_up(e, ctx, Word.DONE)
    call(e, "note_steps", ctx)
    e.ret()


def _emit_edge(e: Emitter, words: int, ghosts: bool) -> None:
    """emit_edge(ctx, action, successor): has a step of CURRENT noted."""
    ctx, action, successor = e.arguments
    current = e.pointer(ctx, Word.CURRENT)
    with when(e, same(e, words, successor, current)):
        e.ret()
    row = e.index(e.pointer(ctx, Word.UNITS), e.shl(action, 1))
    unit = e.cell()
    e.store(e.get(row, 0), unit)
    with when(e, e.as_flag(e.load(unit))):
        e.store(e.add(e.load(unit), e.mul(e.get(ctx, Word.OF_ACTION), e.get(row, 1))), unit)
        if ghosts:
            # Not where every step counts for its action.
            with when(e, e.eq(e.get(ctx, Word.COLLECTS), word(COLLECT_FAIR))):
                changes = call(e, "changes", ctx, current, successor)
                with when(e, e.eq(changes, word(0))):
                    e.store(word(0), unit)
    counting = e.load(unit)
    with when(e, e.as_flag(counting)):
        bit = e.sub(counting, word(1))
        there = e.index(e.pointer(ctx, Word.POSSIBLE), e.shr(bit, 6))
        e.store(e.either(e.load(there), e.shl(word(1), e.both(bit, word(63)))), there)
    waiting = e.get(ctx, Word.PENDING_COUNT)
    entry = _entry(e, ctx, waiting, words)
    call(e, "seek", ctx, successor, entry)
    e.put(entry, Seek.SOURCE, e.get(ctx, Word.SOURCE))
    e.put(entry, Seek.UNIT, counting)
    more = e.add(waiting, word(1))
    e.put(ctx, Word.PENDING_COUNT, more)
    with when(e, e.eq(more, word(BATCH))):
        call(e, "note_steps", ctx)
    e.ret()


def _note_steps(e: Emitter, words: int) -> None:
    """note_steps(ctx): notes the steps that wait, those that lead to states with numbers."""
    (ctx,) = e.arguments
    count = e.get(ctx, Word.PENDING_COUNT)
    e.put(ctx, Word.PENDING_COUNT, word(0))

    def short() -> LLVM:
        # A step is written as a word, of which the next one may cover a half.
        left = e.sub(e.get(ctx, Word.EDGES_END), e.get(ctx, Word.EDGE))
        return e.ult(left, word(8 * (BATCH + 1)))

    with when(e, short(), rare=True):
        call_pointer(e, e.pointer(ctx, Word.EDGES_FULL), word(0))
        with when(e, short()):
            e.ret()
    with each(e, count) as number:
        entry = _entry(e, ctx, number, words)
        e.store(call(e, "probe_number", entry), e.index(entry, Seek.NUMBERS))
    size, shift = e.get(ctx, Word.EDGE_BYTES), e.get(ctx, Word.UNIT_SHIFT)
    rows, counts = e.pointer(ctx, Word.ROWS), e.pointer(ctx, Word.ROW_COUNTS)
    with each(e, count) as number:
        entry, behind = _entry(e, ctx, number, words), e.block("unwanted")
        place = e.pointer(entry, Seek.NUMBERS)
        with when(e, e.eq(place, NULL)):
            e.goto(behind)
        known = e.load(place)
        with when(e, e.as_flag(known)):
            target = e.sub(known, word(1))
            source, edge = e.get(entry, Seek.SOURCE), e.pointer(ctx, Word.EDGE)
            length = e.index(counts, source)
            with when(e, e.eq(e.load(length), word(0))):
                offset = e.sub(address(e, edge), e.get(ctx, Word.EDGES))
                e.put(rows, source, e.either(offset, e.get(ctx, Word.ROW_TAG)))
            unit = e.get(entry, Seek.UNIT)
            e.store_unaligned(e.either(target, e.shl(unit, shift)), edge)
            e.put(ctx, Word.EDGE, e.add(address(e, edge), size))
            e.store(e.add(e.load(length), word(1)), length)
        e.goto(behind)
        e.at(behind)
    e.ret()
