"""Machine code for the graph of a search that is over: `number`, `find`, `label` and `edges`.

The states have numbers, which are noted at their places in the visited sets of all workers. A step
is a word: below the number of the state that it leads to, above the unit for which it counts. It
does not know what is made of the graph.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Table, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, NULL, PTR, VOID, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, count_up, each, named, when
from fencepost.checker.native.codegen.packed import (
    address,
    call_pointer,
    hashed,
    home_of,
    owner_of,
    same,
    table_of,
    watched,
)

UNIT_SHIFT = 40
"""In the word of a step the unit stands above so many bits."""


def declare(unit: Unit) -> None:
    """Declares what the code of every model calls while it makes steps."""
    unit.function("emit_edge", VOID, [PTR, I64, PTR], aliasing=True)


def define(unit: Unit, words: int, ghosts: bool) -> None:
    """Adds the kernels for states of ``words`` words; ``ghosts``: whether the model has some, so
    that ``changes`` tells whether a step counts.
    """
    _locate(Emitter(unit, unit.function("locate", PTR, [PTR, PTR], aliasing=True)), words)
    _emit_edge(Emitter(unit, named(unit, "emit_edge")), words, ghosts)
    _number(_export(unit, "number", [PTR, PTR, I64, I64]), words)
    _find(_export(unit, "find", [PTR, PTR, I64, PTR]), words)
    _label(_export(unit, "label", [PTR, PTR, I64, PTR, I64]), words)
    _edges(_export(unit, "edges", [PTR, PTR, I64, PTR, PTR, I64]), words)


def _export(unit: Unit, name: str, parameters: list[LLVM]) -> Emitter:
    made = unit.declare(name, VOID, parameters)
    made.attributes.add("nounwind")
    return Emitter(unit, made)


def _locate(e: Emitter, words: int) -> None:
    """locate(ctx, state): where the number of a state stands; null: the state was not seen."""
    ctx, state = e.arguments
    hash_ = hashed(e, words, state)
    owner = owner_of(e, hash_, e.get(ctx, Word.OWNERS))
    tables = e.get(ctx, Word.TABLE_COUNT)
    number = table_of(e, hash_, tables)
    table = e.index(e.pointer(e.pointer(ctx, Word.PEERS), owner), e.mul(number, word(TABLE_WORDS)))
    capacity, start = e.get(table, Table.CAPACITY), e.pointer(table, Table.ADDRESS)
    place = e.cell()
    e.store(home_of(e, hash_, capacity), place)
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
    numbers = e.pointer(e.pointer(ctx, Word.NUMBERS), e.add(e.mul(owner, tables), number))
    e.ret(e.index(numbers, e.load(place)))


def _number(e: Emitter, words: int) -> None:
    """number(ctx, states, count, first): gives states the numbers from ``first`` on."""
    ctx, states, count, first = e.arguments
    with each(e, count) as number:
        place = call(e, "locate", ctx, e.index(states, e.mul(number, word(words))))
        with when(e, e.ne(place, NULL)):
            e.store(e.add(first, number), place)
    e.ret()


def _find(e: Emitter, words: int) -> None:
    """find(ctx, states, count, numbers): the numbers of states, 0 for those without one."""
    ctx, states, count, numbers = e.arguments
    with each(e, count) as number:
        place = call(e, "locate", ctx, e.index(states, e.mul(number, word(words))))
        e.put(numbers, number, word(0))
        with when(e, e.ne(place, NULL)):
            e.put(numbers, number, e.load(place))
    e.ret()


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


def _edges(e: Emitter, words: int) -> None:
    """edges(ctx, states, count, ends, possible, width): notes the steps from states, and at
    ``ends`` how many there were up to the end of each; ``possible`` are ``width`` words a state, a
    bit for each unit. DONE is how many states were dealt with.
    """
    ctx, states, count, ends, possible, width = e.arguments
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as number:
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        state = e.index(states, e.mul(number, word(words)))
        e.store(state, e.index(ctx, Word.CURRENT))
        e.store(e.index(possible, e.mul(number, width)), e.index(ctx, Word.POSSIBLE))
        call(e, "step_state", ctx, state)
        e.put(ends, number, e.get(ctx, Word.EDGE_COUNT))
        count_up(e, ctx, Word.DONE)
    e.ret()


def _emit_edge(e: Emitter, words: int, ghosts: bool) -> None:
    """emit_edge(ctx, action, successor): notes a step of CURRENT."""
    ctx, action, successor = e.arguments
    current = e.pointer(ctx, Word.CURRENT)
    with when(e, same(e, words, successor, current)):
        e.ret()
    row = e.index(e.pointer(ctx, Word.UNITS), e.shl(action, 1))
    unit = e.cell()
    e.store(e.get(row, 0), unit)
    with when(e, e.as_flag(e.load(unit))):
        e.store(e.add(e.load(unit), e.mul(e.get(ctx, Word.INSTANCE), e.get(row, 1))), unit)
        if ghosts:
            changes = call(e, "changes", ctx, current, successor)
            with when(e, e.eq(changes, word(0))):
                e.store(word(0), unit)
    counting = e.load(unit)
    with when(e, e.as_flag(counting)):
        bit = e.sub(counting, word(1))
        there = e.index(e.pointer(ctx, Word.POSSIBLE), e.shr(bit, 6))
        e.store(e.either(e.load(there), e.shl(word(1), e.both(bit, word(63)))), there)
    place = call(e, "locate", ctx, successor)
    with when(e, e.eq(place, NULL)):
        e.ret()
    number = e.load(place)
    with when(e, e.eq(number, word(0))):
        e.ret()
    with when(e, e.eq(e.get(ctx, Word.EDGE), e.get(ctx, Word.EDGES_END)), rare=True):
        call_pointer(e, e.pointer(ctx, Word.EDGES_FULL), word(0))
        with when(e, e.eq(e.get(ctx, Word.EDGE), e.get(ctx, Word.EDGES_END))):
            e.ret()
    target = e.pointer(ctx, Word.EDGE)
    e.store(e.either(number, e.shl(counting, UNIT_SHIFT)), target)
    e.put(ctx, Word.EDGE, e.add(address(e, target), word(8)))
    count_up(e, ctx, Word.EDGE_COUNT)
    e.ret()
