"""Kernels that build the graph of a finished search: `number`, `find`, `label` and `edges`.

Every state has a number, which is stored in an array parallel to the slots of the visited set. A
step takes four or eight bytes: the low bits hold the number of its target, and the high bits hold
its label, which tells for which fairness units it counts. Lookups are batched so that cache misses
overlap.
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
"""The number of states that are looked up together."""


def seek_words(words: int) -> int:
    """Returns the number of words needed to look up one state of a batch."""
    return Seek.STATE + words


def declare(unit: Unit) -> None:
    """Declares the functions called by the code that generates steps."""
    unit.function("emit_edge", VOID, [PTR, I64, PTR], aliasing=True)


def define(unit: Unit, words: int, ghosts: bool, labelled: bool = False) -> None:
    """Adds the kernels for states of ``words`` words.

    ``ghosts`` means that the model has ghosts, so the kernels call ``changes`` to decide whether a
    step counts. With ``labelled``, the label of a step is the result of ``label_step``.
    """
    _seek(Emitter(unit, unit.function("seek", VOID, [PTR, PTR, PTR], aliasing=True)), words)
    _probe(Emitter(unit, unit.function("probe_number", PTR, [PTR], aliasing=True)), words)
    _note_steps(Emitter(unit, unit.function("note_steps", VOID, [PTR], aliasing=True)), words)
    _emit_edge(Emitter(unit, named(unit, "emit_edge")), words, ghosts, labelled)
    _number(exported(unit, "number", [PTR, PTR, I64, PTR]), words)
    _find(exported(unit, "find", [PTR, PTR, I64, PTR]), words)
    _label(exported(unit, "label", [PTR, PTR, I64, PTR, I64]), words)
    _edges(exported(unit, "edges", [PTR, PTR, I64, PTR, PTR, I64]), words)
    _least(exported(unit, "least", [PTR, PTR, I64, I64, I64]), words)


def _least(e: Emitter, words: int) -> None:
    """least(ctx, states, best, first, count): finds the least state, in the order of the language,
    among state ``best`` and the ``count`` states that start at ``first``. Stores the index of the
    least state in DONE.
    """
    ctx, states, best, first, count = e.arguments
    e.put(ctx, Word.DONE, best)
    with each(e, count) as number:
        index = e.add(first, number)
        state, least_state = (
            e.index(states, e.mul(position, word(words)))
            for position in (index, e.get(ctx, Word.DONE))
        )
        with when(e, call(e, "state_less", state, least_state)):
            e.put(ctx, Word.DONE, index)
    e.ret()


# ---------------------------------------------------------------- looking states up


def _entry(e: Emitter, ctx: LLVM, number: LLVM, words: int) -> LLVM:
    """Returns the buffer for looking up state ``number`` of a batch."""
    return e.index(e.pointer(ctx, Word.PENDING), e.mul(number, word(seek_words(words))))


def _seek(e: Emitter, words: int) -> None:
    """seek(ctx, state, entry): prefetches the memory that `probe_number` will read to find the
    number of ``state``.
    """
    ctx, state, entry = e.arguments
    hash_ = hashed(e, words, state)
    owner = owner_of(e, hash_, e.get(ctx, Word.OWNERS))
    tables = e.get(ctx, Word.TABLE_COUNT)
    number = table_of(e, hash_, tables)
    table = e.index(e.pointer(e.pointer(ctx, Word.PEERS), owner), e.mul(number, word(TABLE_WORDS)))
    capacity, start = e.get(table, Table.CAPACITY), e.pointer(table, Table.ADDRESS)
    home = home_of(e, hash_, capacity)
    slot = e.index(start, e.mul(home, word(words)))
    prefetch(e, slot)
    if words > 1:
        prefetch(e, e.index(slot, words - 1))
    numbers = e.pointer(e.pointer(ctx, Word.NUMBERS), e.add(e.mul(owner, tables), number))
    e.store(start, e.index(entry, Seek.TABLE))
    e.put(entry, Seek.CAPACITY, capacity)
    e.put(entry, Seek.HOME, home)
    e.store(numbers, e.index(entry, Seek.NUMBERS))
    copy(e, words, e.index(entry, Seek.STATE), state)
    e.ret()


def _probe(e: Emitter, words: int) -> None:
    """probe_number(entry): returns the address of the number of the state in ``entry``, or null if
    the state was not visited.
    """
    (entry,) = e.arguments
    state = e.index(entry, Seek.STATE)
    capacity, start = e.get(entry, Seek.CAPACITY), e.pointer(entry, Seek.TABLE)
    slot = e.cell()
    e.store(e.get(entry, Seek.HOME), slot)
    probe, onward, missing, hit = (e.block(name) for name in ("probe", "on", "none", "found"))
    e.goto(probe)
    e.at(probe)
    here = e.index(start, e.mul(e.load(slot), word(words)))
    e.branch(same(e, words, here, state), hit, onward)
    e.at(onward)
    follower = e.add(e.load(slot), word(1))
    e.store(e.select(e.eq(follower, capacity), word(0), follower), slot)
    e.branch(e.eq(e.load(here), word(0)), missing, probe)
    e.at(missing)
    e.ret(NULL)
    e.at(hit)
    there = e.index(e.pointer(entry, Seek.NUMBERS), e.load(slot))
    prefetch(e, there)
    e.ret(there)


def _number(e: Emitter, words: int) -> None:
    """number(ctx, states, count, numbers): stores the given number plus one for each state."""
    ctx, states, count, numbers = e.arguments
    done, head, body, end = e.cell(), e.block("head"), e.block("batch"), e.block("behind")
    e.store(word(0), done)
    e.goto(head)
    e.at(head)
    rest = e.sub(count, e.load(done))
    e.branch(e.as_flag(rest), body, end)
    e.at(body)
    batch = e.select(e.ult(rest, word(BATCH)), rest, word(BATCH))
    start = e.index(states, e.mul(e.load(done), word(words)))
    with each(e, batch) as number:
        state = e.index(start, e.mul(number, word(words)))
        call(e, "seek", ctx, state, _entry(e, ctx, number, words))
    with each(e, batch) as number:
        slot = call(e, "probe_number", _entry(e, ctx, number, words))
        with when(e, e.ne(slot, NULL)):
            state_number = e.get(numbers, e.add(e.load(done), number))
            e.store(e.add(state_number, word(1)), slot)
    e.store(e.add(e.load(done), batch), done)
    e.goto(head)
    e.at(end)
    e.ret()


def _find(e: Emitter, words: int) -> None:
    """find(ctx, states, count, numbers): writes the stored number of each state to ``numbers``, or
    0 if the state has none.
    """
    ctx, states, count, numbers = e.arguments
    with each(e, count) as number:
        entry = _entry(e, ctx, word(0), words)
        call(e, "seek", ctx, e.index(states, e.mul(number, word(words))), entry)
        slot = call(e, "probe_number", entry)
        e.put(numbers, number, word(0))
        with when(e, e.ne(slot, NULL)):
            e.put(numbers, number, e.load(slot))
    e.ret()


# ---------------------------------------------------------------- predicates


def _label(e: Emitter, words: int) -> None:
    """label(ctx, states, count, labels, width): evaluates all predicates in each state and stores
    one bit per predicate, in ``width`` words per state. DONE is the number of states examined.
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
    """edges(ctx, states, count, numbers, possible, width): records the steps from the given states,
    whose numbers are in ``numbers``.

    ``possible`` has ``width`` words for each state number, with one bit per unit. DONE is the
    number of states processed.
    """
    ctx, states, count, numbers, possible, width = e.arguments
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as index:
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        state = e.index(states, e.mul(index, word(words)))
        number = e.get(numbers, index)
        e.store(state, e.index(ctx, Word.CURRENT))
        e.put(ctx, Word.SOURCE, number)
        e.store(e.index(possible, e.mul(number, width)), e.index(ctx, Word.POSSIBLE))
        call(e, "step_state", ctx, state)
        count_up(e, ctx, Word.DONE)
    call(e, "note_steps", ctx)
    e.ret()


def _emit_edge(e: Emitter, words: int, ghosts: bool, labelled: bool) -> None:
    """emit_edge(ctx, action, successor): adds a step from CURRENT to the queue."""
    ctx, action, successor = e.arguments
    current = e.pointer(ctx, Word.CURRENT)
    with when(e, same(e, words, successor, current)):
        e.ret()
    row = e.index(e.pointer(ctx, Word.LABELS), e.shl(action, 1))
    label = e.cell()
    e.store(e.get(row, 0), label)
    with when(e, e.as_flag(e.load(label))):
        e.store(e.add(e.load(label), e.mul(e.get(ctx, Word.OF_ACTION), e.get(row, 1))), label)
        if ghosts:
            # In the other modes, every step counts for its action.
            with when(e, e.eq(e.get(ctx, Word.COLLECTS), word(COLLECT_FAIR))):
                changes = call(e, "changes", ctx, current, successor)
                with when(e, e.eq(changes, word(0))):
                    e.store(word(0), label)
    with when(e, e.as_flag(e.load(label))):
        _count(e, ctx, e.load(label))
    if labelled:
        with when(e, e.eq(e.get(ctx, Word.COLLECTS), word(COLLECT_FAIR))):
            e.store(call(e, "label_step", ctx, current, successor), label)
    counting = e.load(label)
    waiting = e.get(ctx, Word.PENDING_COUNT)
    entry = _entry(e, ctx, waiting, words)
    call(e, "seek", ctx, successor, entry)
    e.put(entry, Seek.SOURCE, e.get(ctx, Word.SOURCE))
    e.put(entry, Seek.LABEL, counting)
    more = e.add(waiting, word(1))
    e.put(ctx, Word.PENDING_COUNT, more)
    with when(e, e.eq(more, word(BATCH))):
        call(e, "note_steps", ctx)
    e.ret()


def _count(e: Emitter, ctx: LLVM, label: LLVM) -> None:
    """Sets the bits in POSSIBLE of the units that a label serves."""
    possible, served = e.pointer(ctx, Word.POSSIBLE), e.pointer(ctx, Word.SERVED)
    own, every, after = e.block("own"), e.block("every"), e.block("counted")
    e.branch(e.eq(served, NULL), own, every)
    e.at(own)
    bit = e.sub(label, word(1))
    there = e.index(possible, e.shr(bit, 6))
    e.store(e.either(e.load(there), e.shl(word(1), e.both(bit, word(63)))), there)
    e.goto(after)
    e.at(every)
    width = e.get(ctx, Word.SERVED_WIDTH)
    units = e.index(served, e.mul(label, width))
    with each(e, width) as part:
        e.put(possible, part, e.either(e.get(possible, part), e.get(units, part)))
    e.goto(after)
    e.at(after)


def _note_steps(e: Emitter, words: int) -> None:
    """note_steps(ctx): records the queued steps whose targets have numbers."""
    (ctx,) = e.arguments
    count = e.get(ctx, Word.PENDING_COUNT)
    e.put(ctx, Word.PENDING_COUNT, word(0))

    def short() -> LLVM:
        # A step is stored as a word; the next one may overwrite its upper half.
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
        entry, skip = _entry(e, ctx, number, words), e.block("unwanted")
        slot = e.pointer(entry, Seek.NUMBERS)
        with when(e, e.eq(slot, NULL)):
            e.goto(skip)
        target_number = e.load(slot)
        with when(e, e.as_flag(target_number)):
            target = e.sub(target_number, word(1))
            source, edge = e.get(entry, Seek.SOURCE), e.pointer(ctx, Word.EDGE)
            length = e.index(counts, source)
            with when(e, e.eq(e.load(length), word(0))):
                offset = e.sub(address(e, edge), e.get(ctx, Word.EDGES))
                e.put(rows, source, e.either(offset, e.get(ctx, Word.ROW_TAG)))
            label = e.get(entry, Seek.LABEL)
            e.store_unaligned(e.either(target, e.shl(label, shift)), edge)
            e.put(ctx, Word.EDGE, e.add(address(e, edge), size))
            e.store(e.add(e.load(length), word(1)), length)
        e.goto(skip)
        e.at(skip)
    e.ret()
