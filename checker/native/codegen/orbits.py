"""The orbits of packed states under exchanges of values of symmetric types, as machine code.

All exchanges of a model are gone through by exchanging two neighbouring values at a time, so there
is one function for each such pair. It does not know which states there are, nor what they mean.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import factorial, prod

from fencepost.checker.native.codegen.analysis import nested
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, VOID, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, each, when
from fencepost.checker.native.codegen.frames import Changing, Generation
from fencepost.checker.native.codegen.packed import copy, same
from fencepost.spec.core.analysis import assigned
from fencepost.spec.core.exchange import Exchanging
from fencepost.spec.core.symmetry import symmetric_types


def define(generation: Generation, unit: Unit) -> None:
    """Adds the functions `orbit`, `least_step` and `least_lead` to a unit that has `state_less`."""
    _Orbits(generation, unit).define()


def tour(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Exchanges of neighbours, each a type and the first of the two, that go from one arrangement
    of so many values of each type to the next, through all of them.
    """
    every: list[tuple[int, int]] = []
    for number, size in enumerate(sizes):
        # There and back again: so what comes before is gone through between any two.
        inner, way = every, list(every)
        for turn, place in enumerate(_changes(size)):
            way.append((number, place))
            way += inner if turn % 2 else inner[::-1]
        every = way
    return every


def _changes(size: int) -> list[int]:
    """The places of neighbours to exchange, through all arrangements of so many values: the last
    value goes down through the others and up again, between two of their own exchanges.
    """
    if size < 2:
        return []
    made: list[int] = []
    for turn, place in enumerate([*_changes(size - 1), None]):
        down = turn % 2 == 0
        made += range(size - 2, -1, -1) if down else range(size - 1)
        if place is not None:
            made.append(place + 1 if down else place)
    return made


class _Orbits:
    def __init__(self, generation: Generation, unit: Unit) -> None:
        self.generation = generation
        self.unit = unit
        self.words = generation.layout.words
        self.enums = symmetric_types(generation.layout.types)
        sizes = [len(enum.members) for enum in self.enums]
        self.count = prod(map(factorial, sizes))
        pairs = [(number, place) for number, size in enumerate(sizes) for place in range(size - 1)]
        self.way = [pairs.index(pair) for pair in tour(sizes)]
        self.exchanges = [self._exchange(*pair) for pair in pairs]

    def define(self) -> None:
        self._orbit(Emitter(self.unit, self._function("orbit", I64, 3)))
        self._least_step(Emitter(self.unit, self._function("least_step", VOID, 5)))
        self._least_lead(Emitter(self.unit, self._function("least_lead", VOID, 5)))

    def _function(self, name: str, result: LLVM, parameters: int) -> LLVM:
        return self.unit.function(name, result, [PTR] * parameters, aliasing=True)

    def _exchange(self, number: int, place: int) -> LLVM:
        """exchange(ctx, state, out): writes a state with two values exchanged; both places may be
        the same.
        """
        made = self._function(f"exchange{number}_{place}", VOID, 3)
        e = Emitter(self.unit, made)
        ctx, state, out = e.arguments
        kinds, slots = self.generation.layout.types, self.generation.model.slots
        exchanging = Exchanging(kinds, slots, self.enums[number], place, place + 1)
        body = nested(exchanging.statement())
        frame = _ExchangeFrame(self.generation, e, ctx, state, assigned(body), out)
        frame.emit_all(body, e.ret)
        return made

    @contextmanager
    def _walked(self, e: Emitter, ctx: LLVM, states: Sequence[LLVM]) -> Generator[None]:
        """What is emitted inside runs for each exchange but the one that changes nothing; the
        ``states`` are what it has made of them, all by the same exchange.
        """
        table = self.unit.table(self.way)
        with each(e, word(len(self.way))) as step:
            number = e.get(table, step)
            for place, exchange in enumerate(self.exchanges):
                with when(e, e.eq(number, word(place))):
                    for state in states:
                        e.call(exchange, [ctx, state, state])
            yield

    def _room(self, e: Emitter, state: LLVM) -> LLVM:
        """A copy of a state, to be changed."""
        room = e.words(self.words)
        copy(e, self.words, room, state)
        return room

    def _orbit(self, e: Emitter) -> None:
        """orbit(ctx, state, least): writes the least state of the orbit; how many there are."""
        ctx, state, least = e.arguments
        now, times = self._room(e, state), e.cell()
        copy(e, self.words, least, state)
        e.store(word(1), times)
        with self._walked(e, ctx, [now]):
            behind = e.block("behind")
            with when(e, same(e, self.words, now, least)):
                e.store(e.add(e.load(times), word(1)), times)
                e.goto(behind)
            with when(e, call(e, "state_less", now, least)):
                copy(e, self.words, least, now)
                e.store(word(1), times)
            e.goto(behind)
            e.at(behind)
        # Exchanges that change nothing make each of the others come up as often.
        e.ret(e.udiv(word(self.count), e.load(times)))

    def _least_step(self, e: Emitter) -> None:
        """least_step(ctx, before, after, least_before, least_after): writes the least of what
        exchanges make of a step, by the state behind it, then by the one before.
        """
        ctx, before, after, least_before, least_after = e.arguments
        first, behind = self._room(e, before), self._room(e, after)
        copy(e, self.words, least_before, before)
        copy(e, self.words, least_after, after)
        with self._walked(e, ctx, [first, behind]):
            better, onward = e.block("better"), e.block("onward")
            with when(e, call(e, "state_less", behind, least_after)):
                e.goto(better)
            with when(e, same(e, self.words, behind, least_after)):
                e.branch(call(e, "state_less", first, least_before), better, onward)
            e.goto(onward)
            e.at(better)
            copy(e, self.words, least_before, first)
            copy(e, self.words, least_after, behind)
            e.goto(onward)
            e.at(onward)
        e.ret()

    def _least_lead(self, e: Emitter) -> None:
        """least_lead(ctx, before, after, target, best): keeps at ``best`` the least state from
        which what some exchange makes of a step leads to ``target``; zeros stand for none.
        """
        ctx, before, after, target, best = e.arguments
        first, behind = self._room(e, before), self._room(e, after)

        def look() -> None:
            with when(e, same(e, self.words, behind, target), rare=True):
                better, onward = e.block("better"), e.block("onward")
                with when(e, e.eq(e.get(best, 0), word(0))):
                    e.goto(better)
                e.branch(call(e, "state_less", first, best), better, onward)
                e.at(better)
                copy(e, self.words, best, first)
                e.goto(onward)
                e.at(onward)

        look()
        with self._walked(e, ctx, [first, behind]):
            look()
        e.ret()


class _ExchangeFrame(Changing):
    """An exchange writes the state that it makes; nothing in it fails, and it is never stopped."""

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        context: LLVM,
        state: LLVM,
        changing: frozenset[int],
        out: LLVM,
    ) -> None:
        super().__init__(generation, e, context, state, changing)
        self.out = out

    def fail(self, site: int, assertion: bool) -> None:
        raise AssertionError("an exchange has a value everywhere")

    def finish(self) -> None:
        copy(self.e, self.generation.layout.words, self.out, self.packed())
        self.e.goto(self.next_vector())
