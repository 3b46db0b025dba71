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
    TAG_FACTOR,
    TAG_SHIFT,
    Edges,
    Seek,
    Table,
    Word,
)
from fencepost.checker.native.codegen.emitter import (
    I8,
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
from fencepost.checker.native.kernels.rows import edges_of, number_at, set_number

NUMBER_MASK = (1 << TAG_SHIFT) - 1
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
    _probe(Emitter(unit, unit.function("probe", PTR, [PTR], aliasing=True)), words)
    _note_steps(Emitter(unit, unit.function("note_steps", VOID, [PTR], aliasing=True)), words)
    _emit_edge(Emitter(unit, named(unit, "emit_edge")), words, ghosts, labelled)
    _number(exported(unit, "number", [PTR, PTR, I64, I64, PTR]), words)
    _ambiguous(exported(unit, "ambiguous", [PTR, I64]))
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
    """seek(ctx, state, entry): prefetches the memory that `probe` will read to find ``state``."""
    ctx, state, entry = e.arguments
    hash_ = hashed(e, words, state)
    owner = owner_of(e, hash_, e.get(ctx, Word.OWNERS))
    tables = e.get(ctx, Word.TABLE_COUNT)
    number = table_of(e, hash_, tables)
    table = e.index(e.pointer(e.pointer(ctx, Word.PEERS), owner), e.mul(number, word(TABLE_WORDS)))
    capacity, start = e.get(table, Table.CAPACITY), e.pointer(table, Table.ADDRESS)
    home = home_of(e, hash_, capacity)
    numbers = e.pointer(e.pointer(ctx, Word.NUMBERS), e.add(e.mul(owner, tables), number))
    prefetch(e, e.index(numbers, home))
    by_tag = e.as_flag(e.get(ctx, Word.BY_TAG))
    e.store(e.select(by_tag, NULL, start), e.index(entry, Seek.TABLE))
    with when(e, e.invert(by_tag)):
        slot = e.index(start, e.mul(home, word(words)))
        prefetch(e, slot)
        if words > 1:
            prefetch(e, e.index(slot, words - 1))
        copy(e, words, e.index(entry, Seek.STATE), state)
    e.put(entry, Seek.CAPACITY, capacity)
    e.put(entry, Seek.HOME, home)
    e.store(numbers, e.index(entry, Seek.NUMBERS))
    tag = e.shr(e.mul(hash_, word(TAG_FACTOR)), TAG_SHIFT)
    e.put(entry, Seek.TAG, e.either(tag, word(1)))
    e.ret()


def _probe(e: Emitter, words: int) -> None:
    """probe(entry): returns the address of the entry of the state that ``entry`` describes, or null
    if there is none.
    """
    (entry,) = e.arguments
    state = e.index(entry, Seek.STATE)
    capacity, start = e.get(entry, Seek.CAPACITY), e.pointer(entry, Seek.TABLE)
    numbers, tag = e.pointer(entry, Seek.NUMBERS), e.get(entry, Seek.TAG)
    slot = e.cell()
    e.store(e.get(entry, Seek.HOME), slot)
    tags, other_tag, states, other_state, missing, hit = (
        e.block(name) for name in ("tags", "tag", "states", "state", "none", "hit")
    )

    def onward(filled: LLVM, again: LLVM) -> None:
        follower = e.add(e.load(slot), word(1))
        e.store(e.select(e.eq(follower, capacity), word(0), follower), slot)
        e.branch(e.eq(filled, word(0)), missing, again)

    e.branch(e.eq(start, NULL), tags, states)
    e.at(tags)
    value = e.get(numbers, e.load(slot))
    e.branch(e.eq(e.shr(value, TAG_SHIFT), tag), hit, other_tag)
    e.at(other_tag)
    onward(value, tags)
    e.at(states)
    here = e.index(start, e.mul(e.load(slot), word(words)))
    e.branch(same(e, words, here, state), hit, other_state)
    e.at(other_state)
    onward(e.load(here), states)
    e.at(missing)
    e.ret(NULL)
    e.at(hit)
    e.ret(e.index(numbers, e.load(slot)))


def _number(e: Emitter, words: int) -> None:
    """number(ctx, states, count, first, wanted): makes the entries of some states, whose numbers
    start at ``first``. ``wanted`` has a byte for the number of every state, or is null if all are
    wanted.
    """
    ctx, states, count, first, wanted = e.arguments
    done, head, body, end = e.cell(), e.block("head"), e.block("batch"), e.block("behind")
    value = e.cell()
    e.store(word(0), done)
    e.goto(head)
    e.at(head)
    rest = e.sub(count, e.load(done))
    e.branch(e.as_flag(rest), body, end)
    e.at(body)
    batch = e.select(e.ult(rest, word(BATCH)), rest, word(BATCH))
    with each(e, batch) as number:
        state = e.index(states, e.mul(e.add(e.load(done), number), word(words)))
        call(e, "seek", ctx, state, _entry(e, ctx, number, words))
    with each(e, batch) as number:
        entry = _entry(e, ctx, number, words)
        slot = call(e, "probe", entry)
        with when(e, e.ne(slot, NULL)):
            own = e.add(first, e.add(e.load(done), number))
            e.store(e.add(own, word(1)), value)
            with when(e, e.ne(wanted, NULL)):
                flag = e.widened(e.load(e.index(wanted, own, I8), I8))
                e.store(e.select(e.as_flag(flag), e.load(value), word(0)), value)
            e.store(e.either(e.load(value), e.shl(e.get(entry, Seek.TAG), TAG_SHIFT)), slot)
    e.store(e.add(e.load(done), batch), done)
    e.goto(head)
    e.at(end)
    e.ret()


def _ambiguous(e: Emitter) -> None:
    """ambiguous(ctx, owner): sets DONE to 1 if two entries of the owner that a search might meet
    together have the same tag, and to 0 otherwise.
    """
    ctx, owner = e.arguments
    tables, descriptors = e.get(ctx, Word.TABLE_COUNT), e.pointer(e.pointer(ctx, Word.PEERS), owner)
    other, equal = e.cell(), e.block("equal")
    with each(e, tables) as table:
        number = e.add(e.mul(owner, tables), table)
        entries = e.pointer(e.pointer(ctx, Word.NUMBERS), number)
        capacity = e.get(e.index(descriptors, e.mul(table, word(TABLE_WORDS))), Table.CAPACITY)
        with each(e, capacity) as slot:
            own, head, body, end = e.get(entries, slot), *map(e.block, ("head", "body", "end"))
            e.store(slot, other)
            e.branch(e.as_flag(own), head, end)
            e.at(head)
            follower = e.add(e.load(other), word(1))
            now = e.select(e.eq(follower, capacity), word(0), follower)
            e.store(now, other)
            value = e.get(entries, now)
            e.branch(e.either(e.eq(value, word(0)), e.eq(now, slot)), end, body)
            e.at(body)
            e.branch(e.eq(e.shr(value, TAG_SHIFT), e.shr(own, TAG_SHIFT)), equal, head)
            e.at(end)
    e.put(ctx, Word.DONE, word(0))
    e.ret()
    e.at(equal)
    e.put(ctx, Word.DONE, word(1))
    e.ret()


def _find(e: Emitter, words: int) -> None:
    """find(ctx, states, count, numbers): writes the number of each state plus one to ``numbers``,
    or 0 if the state has none.
    """
    ctx, states, count, numbers = e.arguments
    with each(e, count) as number:
        entry = _entry(e, ctx, word(0), words)
        call(e, "seek", ctx, e.index(states, e.mul(number, word(words))), entry)
        slot = call(e, "probe", entry)
        e.put(numbers, number, word(0))
        with when(e, e.ne(slot, NULL)):
            e.put(numbers, number, e.both(e.load(slot), word(NUMBER_MASK)))
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
    """edges(ctx, states, count, numbers, possible, width): records the steps from the states with
    the given ``numbers``. ``states`` is the address that state 0 would have.

    ``possible`` has ``width`` bytes for each state number, with one bit per unit. DONE is the
    number of states processed.
    """
    ctx, states, count, numbers, possible, width = e.arguments
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as index:
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        number = e.get(numbers, index)
        state = e.index(states, e.mul(number, word(words)))
        e.store(state, e.index(ctx, Word.CURRENT))
        e.put(ctx, Word.SOURCE, number)
        e.store(e.index(possible, e.mul(number, width), I8), e.index(ctx, Word.POSSIBLE))
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
    _add_bits(e, possible, e.shr(bit, 3), e.low_byte(e.shl(word(1), e.both(bit, word(7)))))
    e.goto(after)
    e.at(every)
    width = e.get(ctx, Word.SERVED_WIDTH)
    units = e.index(served, e.mul(label, width), I8)
    with each(e, width) as part:
        _add_bits(e, possible, part, e.load(e.index(units, part, I8), I8))
    e.goto(after)
    e.at(after)


def _add_bits(e: Emitter, bytes_: LLVM, position: LLVM, bits: LLVM) -> None:
    there = e.index(bytes_, position, I8)
    e.store(e.either(e.load(there, I8), bits), there)


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
    size, shift = e.get(ctx, Word.EDGE_BYTES), e.get(ctx, Word.UNIT_SHIFT)
    with each(e, count) as number:
        entry, skip = _entry(e, ctx, number, words), e.block("unwanted")
        slot = call(e, "probe", entry)
        with when(e, e.eq(slot, NULL)):
            count_up(e, ctx, Word.MISSED)
            e.goto(skip)
        target_number = e.both(e.load(slot), word(NUMBER_MASK))
        with when(e, e.as_flag(target_number)):
            target = e.sub(target_number, word(1))
            edges, edge = edges_of(e, e.get(entry, Seek.SOURCE)), e.pointer(ctx, Word.EDGE)
            length = number_at(e, edges, word(Edges.COUNT))
            with when(e, e.eq(length, word(0))):
                offset = e.sub(address(e, edge), e.get(ctx, Word.EDGES))
                e.put(edges, Edges.START, e.either(offset, e.get(ctx, Word.ROW_TAG)))
            label = e.get(entry, Seek.LABEL)
            e.store_unaligned(e.either(target, e.shl(label, shift)), edge)
            e.put(ctx, Word.EDGE, e.add(address(e, edge), size))
            set_number(e, edges, word(Edges.COUNT), e.add(length, word(1)))
        e.goto(skip)
        e.at(skip)
    e.ret()
