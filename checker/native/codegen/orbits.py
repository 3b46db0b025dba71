"""The orbits of packed states under exchanges of values of symmetric types, as machine code.

Exchanges are made of those of two neighbouring values, so there is one function for each such pair.
Which state of an orbit is visited is decided by the colours of the values: they ascend. Only where
some have the same colour exchanges of these are tried, one after the other. It does not know which
states there are, nor what they mean.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import factorial, prod

from fencepost.checker.native.codegen.analysis import nested
from fencepost.checker.native.codegen.colours import Colour
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, VOID, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, each, when
from fencepost.checker.native.codegen.frames import Changing, Generation
from fencepost.checker.native.codegen.packed import copy, same
from fencepost.spec.core.analysis import assigned
from fencepost.spec.core.exchange import Exchanging
from fencepost.spec.core.symmetry import symmetric_types


def define(generation: Generation, unit: Unit) -> None:
    """Adds `orbit`, `least_of_orbit`, `least_step` and `least_lead` to a unit in which
    `state_less` is known.
    """
    _Orbits(generation, unit).define()


def tour(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Exchanges of neighbours, each a type and the first of the two, that go from one arrangement
    of the values of every type to the next, through all of them. ``sizes``: how many values each
    type has.
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


def tours_among_ties(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """For each set of ties between neighbours, as bits of a number, the exchanges of neighbours
    that go through all arrangements of values that are tied; and where those of each begin, and
    those of the last one end.
    """
    pairs = [place for size in sizes for place in [*range(1, size), 0]]
    ways: list[int] = []
    begins = [0]
    for ties in range(1 << sum(size - 1 for size in sizes)):
        blocks: list[list[int]] = [[]]
        pair = 0
        for inner in pairs:
            # After the last value of a type, another block begins in any case.
            if inner and ties >> pair & 1:
                blocks[-1].append(pair)
            else:
                blocks.append([])
            pair += inner > 0
        ways += [blocks[b][place] for b, place in tour([len(block) + 1 for block in blocks])]
        begins.append(len(ways))
    return ways, begins


def _changes(size: int) -> list[int]:
    """The places of neighbours to exchange, through all arrangements of ``size`` values: the last
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
        self._least(Emitter(self.unit, self._function("least_of_orbit", VOID, 3)))
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
    def _walked(
        self, e: Emitter, ctx: LLVM, states: Sequence[LLVM], way: tuple[LLVM, LLVM] | None = None
    ) -> Generator[None]:
        """What is emitted inside runs for each exchange but the one that changes nothing; the
        ``states`` are what it has made of them, all by the same exchange. ``way`` is where the
        neighbours to exchange stand, and how often that is done; None: all exchanges are made.
        """
        table, count = way or (self.unit.table(self.way), word(len(self.way)))
        with each(e, count) as step:
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

    def _colours(self, number: int) -> tuple[LLVM | None, LLVM | None]:
        """plain(ctx, state, value) and other(ctx, state, value): the halves of the colour of a
        value of a symmetric type, by its position. None: there is nothing to tell.
        """
        halves: list[LLVM | None] = []
        for name, plain in (("plain", True), ("other", False)):
            made = self.unit.function(f"{name}{number}", I64, [PTR, PTR, I64], aliasing=True)
            e = Emitter(self.unit, made)
            _, state, one = e.arguments
            colour = Colour(e, self.enums[number], one)
            said = colour.of_state(self.generation.layout, state, plain)
            e.ret(word(0) if said is None else said)
            halves.append(None if said is None else made)
        return halves[0], halves[1]

    def _orbit(self, e: Emitter) -> None:
        """orbit(ctx, state, found): writes the state that stands for the orbit; how many states
        there are in it.
        """
        ctx, state, found = e.arguments
        sizes = [len(enum.members) for enum in self.enums]
        # Of each value the half of its colour that is told at once, and the other half.
        colours = e.words(sum(sizes)), e.words(sum(sizes))
        copy(e, self.words, found, state)
        ties, first, pair = word(0), 0, 0
        for number, size in enumerate(sizes):
            self._tell(e, number, [e.index(half, first) for half in colours])
            for last in range(size - 1, 0, -1):
                for place in range(last):
                    left, right = ([e.get(h, first + place + n) for h in colours] for n in (0, 1))
                    later = e.both(e.as_word(e.eq(left[0], right[0])), _below(e, right[1], left[1]))
                    with when(e, e.as_flag(e.either(_below(e, right[0], left[0]), later))):
                        for half, one, other in zip(colours, left, right, strict=True):
                            e.put(half, first + place, other)
                            e.put(half, first + place + 1, one)
                        e.call(self.exchanges[pair + place], [ctx, found, found])
            for place in range(size - 1):
                tie = word(1)
                for half in colours:
                    left, right = (e.get(half, first + place + more) for more in (0, 1))
                    tie = e.both(tie, e.as_word(e.eq(left, right)))
                ties = e.either(ties, e.shl(tie, pair + place))
            first, pair = first + size, pair + size - 1
        with when(e, e.eq(ties, word(0))):
            e.ret(word(self.count))
        self._try_ties(e, ctx, found, ties, sizes)

    def _tell(self, e: Emitter, number: int, colours: Sequence[LLVM]) -> None:
        """Finds the colours of the values of a type; the other halves only where the halves that
        are told at once leave a tie.
        """
        ctx, state, _ = e.arguments
        size = len(self.enums[number].members)
        plain, other = self._colours(number)
        tied = word(0)
        for place in range(size):
            told = word(0) if plain is None else e.call(plain, [ctx, state, word(place)])
            e.put(colours[0], place, told)
            e.put(colours[1], place, word(0))
            for before in range(place):
                tied = e.either(tied, e.as_word(e.eq(e.get(colours[0], before), told)))
        if other is not None:
            with when(e, e.as_flag(tied)):
                for place in range(size):
                    e.put(colours[1], place, e.call(other, [ctx, state, word(place)]))

    def _try_ties(
        self, e: Emitter, ctx: LLVM, found: LLVM, ties: LLVM, sizes: Sequence[int]
    ) -> None:
        """Returns from `orbit`, where neighbours of one colour are the bits of ``ties``."""
        ways, begins = tours_among_ties(sizes)
        table, where = self.unit.table(ways), self.unit.table(begins)
        begin, end = e.get(where, ties), e.get(where, e.add(ties, word(1)))
        now, times = self._room(e, found), e.cell()
        e.store(word(1), times)
        with self._walked(e, ctx, [now], (e.index(table, begin), e.sub(end, begin))):
            better, onward = e.block("better"), e.block("onward")
            for place in range(self.words):
                one, other = e.get(now, place), e.get(found, place)
                with when(e, e.ult(one, other)):
                    e.goto(better)
                with when(e, e.ult(other, one)):
                    e.goto(onward)
            e.store(e.add(e.load(times), word(1)), times)
            e.goto(onward)
            e.at(better)
            copy(e, self.words, found, now)
            e.store(word(1), times)
            e.goto(onward)
            e.at(onward)
        # Exchanges that change nothing make each of the others come up as often.
        e.ret(e.udiv(word(self.count), e.load(times)))

    def _least(self, e: Emitter) -> None:
        """least_of_orbit(ctx, state, least): writes the least state of the orbit, in the order of
        the language; both places may be the same.
        """
        ctx, state, least = e.arguments
        now = self._room(e, state)
        copy(e, self.words, least, now)
        with self._walked(e, ctx, [now]), when(e, call(e, "state_less", now, least)):
            copy(e, self.words, least, now)
        e.ret()

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


def _below(e: Emitter, one: LLVM, other: LLVM) -> LLVM:
    return e.as_word(e.ult(one, other))


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
