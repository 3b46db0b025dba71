"""The orbits of packed states under exchanges of values of symmetric types, as machine code.

Every exchange is composed of exchanges of two neighbouring values, and there is one function for
each such pair. In the representative of an orbit, the values are in ascending order of their
colours. Exchanges are tried one by one only among values of the same colour.
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
from fencepost.spec.core.exchange import Exchanging, symmetric_types
from fencepost.spec.core.traverse import assigned


def define(generation: Generation, unit: Unit) -> None:
    """Adds `orbit`, `least_of_orbit`, `least_step` and `least_lead` to a unit that contains
    `state_less`.
    """
    _Orbits(generation, unit).define()


def tour(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Returns a sequence of exchanges of neighbours that visits all arrangements of the values of
    every type. ``sizes`` contains the number of values of each type.

    An exchange is the number of a type and the position of the first of the two neighbours.
    """
    every: list[tuple[int, int]] = []
    for number, size in enumerate(sizes):
        # The exchanges of the earlier types run, alternately forwards and backwards, between any
        # two exchanges of this type.
        inner, steps = every, list(every)
        for turn, position in enumerate(_changes(size)):
            steps.append((number, position))
            steps += inner if turn % 2 else inner[::-1]
        every = steps
    return every


def tours_among_ties(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Returns the exchanges that visit all arrangements of tied values, for every set of ties
    between neighbours. A set of ties is a number with one bit for each pair of neighbours.

    The first result contains the sequences of exchanges for all sets. The second result contains
    the start of each sequence, followed by the end of the last sequence.
    """
    pairs = [position for size in sizes for position in [*range(1, size), 0]]
    steps: list[int] = []
    begins = [0]
    for ties in range(1 << sum(size - 1 for size in sizes)):
        blocks: list[list[int]] = [[]]
        pair = 0
        for inner in pairs:
            # The last value of a type always ends a block.
            if inner and ties >> pair & 1:
                blocks[-1].append(pair)
            else:
                blocks.append([])
            pair += inner > 0
        steps += [blocks[b][position] for b, position in tour([len(block) + 1 for block in blocks])]
        begins.append(len(steps))
    return steps, begins


def _changes(size: int) -> list[int]:
    """Returns the positions of the neighbours to exchange in order to visit all arrangements of
    ``size`` values.

    Between any two exchanges of the other values, the last value moves down through all of them, or
    up again.
    """
    if size < 2:
        return []
    positions: list[int] = []
    for turn, position in enumerate([*_changes(size - 1), None]):
        down = turn % 2 == 0
        positions += range(size - 2, -1, -1) if down else range(size - 1)
        if position is not None:
            positions.append(position + 1 if down else position)
    return positions


class _Orbits:
    def __init__(self, generation: Generation, unit: Unit) -> None:
        self.generation = generation
        self.unit = unit
        self.words = generation.layout.words
        self.enums = symmetric_types(generation.layout.types)
        sizes = [len(enum.members) for enum in self.enums]
        self.count = prod(map(factorial, sizes))
        pairs = [
            (number, position) for number, size in enumerate(sizes) for position in range(size - 1)
        ]
        self.way = [pairs.index(pair) for pair in tour(sizes)]
        self.exchanges = [self._exchange(*pair) for pair in pairs]

    def define(self) -> None:
        self._orbit(Emitter(self.unit, self._function("orbit", I64, 3)))
        self._least(Emitter(self.unit, self._function("least_of_orbit", VOID, 3)))
        self._least_step(Emitter(self.unit, self._function("least_step", VOID, 5)))
        self._least_lead(Emitter(self.unit, self._function("least_lead", VOID, 5)))

    def _function(self, name: str, result: LLVM, parameters: int) -> LLVM:
        return self.unit.function(name, result, [PTR] * parameters, aliasing=True)

    def _exchange(self, number: int, position: int) -> LLVM:
        """exchange(ctx, state, out): writes the state with two values exchanged to ``out``, which
        may equal ``state``.
        """
        function = self._function(f"exchange{number}_{position}", VOID, 3)
        e = Emitter(self.unit, function)
        ctx, state, out = e.arguments
        kinds, slots = self.generation.layout.types, self.generation.model.slots
        exchanging = Exchanging(kinds, slots, self.enums[number], position, position + 1)
        body = nested(exchanging.statement())
        frame = _ExchangeFrame(self.generation, e, ctx, state, assigned(body), out)
        frame.emit_all(body, e.ret)
        return function

    @contextmanager
    def _walked(
        self, e: Emitter, ctx: LLVM, states: Sequence[LLVM], way: tuple[LLVM, LLVM] | None = None
    ) -> Generator[None]:
        """A context for code that runs for each exchange except the identity, after the exchange
        was applied to the ``states``.

        ``way`` is the address of the sequence of exchanges of neighbours and its length. If it is
        None, all exchanges are visited.
        """
        table, count = way or (self.unit.table(self.way), word(len(self.way)))
        with each(e, count) as step:
            number = e.get(table, step)
            for position, exchange in enumerate(self.exchanges):
                with when(e, e.eq(number, word(position))):
                    for state in states:
                        e.call(exchange, [ctx, state, state])
            yield

    def _room(self, e: Emitter, state: LLVM) -> LLVM:
        """Returns a mutable copy of a state."""
        room = e.words(self.words)
        copy(e, self.words, room, state)
        return room

    def _colours(self, number: int) -> tuple[LLVM | None, LLVM | None]:
        """Defines plain(ctx, state, value) and other(ctx, state, value), which compute the two
        halves of the colour of a value. ``value`` is the position of the value in its type. A
        result is None if that half is always empty.
        """
        halves: list[LLVM | None] = []
        for name, plain in (("plain", True), ("other", False)):
            function = self.unit.function(f"{name}{number}", I64, [PTR, PTR, I64], aliasing=True)
            e = Emitter(self.unit, function)
            _, state, position = e.arguments
            colour = Colour(e, self.enums[number], position)
            colour_word = colour.of_state(self.generation.layout, state, plain)
            e.ret(word(0) if colour_word is None else colour_word)
            halves.append(None if colour_word is None else function)
        return halves[0], halves[1]

    def _orbit(self, e: Emitter) -> None:
        """orbit(ctx, state, best): writes the representative of the orbit to ``best`` and returns
        the size of the orbit.
        """
        ctx, state, best = e.arguments
        sizes = [len(enum.members) for enum in self.enums]
        # For each value, the half of its colour that is computed without a loop, and the other
        # half.
        colours = e.words(sum(sizes)), e.words(sum(sizes))
        copy(e, self.words, best, state)
        ties, first, pair = word(0), 0, 0
        for number, size in enumerate(sizes):
            self._tell(e, number, [e.index(half, first) for half in colours])
            for last in range(size - 1, 0, -1):
                for position in range(last):
                    left, right = (
                        [e.get(h, first + position + n) for h in colours] for n in (0, 1)
                    )
                    later = e.both(e.as_word(e.eq(left[0], right[0])), _below(e, right[1], left[1]))
                    with when(e, e.as_flag(e.either(_below(e, right[0], left[0]), later))):
                        for half, left_colour, right_colour in zip(
                            colours, left, right, strict=True
                        ):
                            e.put(half, first + position, right_colour)
                            e.put(half, first + position + 1, left_colour)
                        e.call(self.exchanges[pair + position], [ctx, best, best])
            for position in range(size - 1):
                tie = word(1)
                for half in colours:
                    left, right = (e.get(half, first + position + more) for more in (0, 1))
                    tie = e.both(tie, e.as_word(e.eq(left, right)))
                ties = e.either(ties, e.shl(tie, pair + position))
            first, pair = first + size, pair + size - 1
        with when(e, e.eq(ties, word(0))):
            e.ret(word(self.count))
        self._try_ties(e, ctx, best, ties, sizes)

    def _tell(self, e: Emitter, number: int, colours: Sequence[LLVM]) -> None:
        """Computes the colours of the values of a type. A colour has two halves; the second one is
        computed only if the first halves of two values are equal.
        """
        ctx, state, _ = e.arguments
        size = len(self.enums[number].members)
        plain, other = self._colours(number)
        tied = word(0)
        for position in range(size):
            colour = word(0) if plain is None else e.call(plain, [ctx, state, word(position)])
            e.put(colours[0], position, colour)
            e.put(colours[1], position, word(0))
            for before in range(position):
                tied = e.either(tied, e.as_word(e.eq(e.get(colours[0], before), colour)))
        if other is not None:
            with when(e, e.as_flag(tied)):
                for position in range(size):
                    e.put(colours[1], position, e.call(other, [ctx, state, word(position)]))

    def _try_ties(
        self, e: Emitter, ctx: LLVM, best: LLVM, ties: LLVM, sizes: Sequence[int]
    ) -> None:
        """Chooses the representative among the arrangements of tied values, and returns from
        `orbit`. Each bit of ``ties`` is set if the two neighbours have the same colour.
        """
        ways, begins = tours_among_ties(sizes)
        table, offsets = self.unit.table(ways), self.unit.table(begins)
        begin, end = e.get(offsets, ties), e.get(offsets, e.add(ties, word(1)))
        now, repetitions = self._room(e, best), e.cell()
        e.store(word(1), repetitions)
        with self._walked(e, ctx, [now], (e.index(table, begin), e.sub(end, begin))):
            better, onward = e.block("better"), e.block("onward")
            for indexion in range(self.words):
                mine, theirs = e.get(now, indexion), e.get(best, indexion)
                with when(e, e.ult(mine, theirs)):
                    e.goto(better)
                with when(e, e.ult(theirs, mine)):
                    e.goto(onward)
            e.store(e.add(e.load(repetitions), word(1)), repetitions)
            e.goto(onward)
            e.at(better)
            copy(e, self.words, best, now)
            e.store(word(1), repetitions)
            e.goto(onward)
            e.at(onward)
        # Exchanges that change nothing make each of the other arrangements occur equally often.
        e.ret(e.udiv(word(self.count), e.load(repetitions)))

    def _least(self, e: Emitter) -> None:
        """least_of_orbit(ctx, state, least): writes the least state of the orbit, in the order of
        the language, to ``least``, which may equal ``state``.
        """
        ctx, state, least = e.arguments
        now = self._room(e, state)
        copy(e, self.words, least, now)
        with self._walked(e, ctx, [now]), when(e, call(e, "state_less", now, least)):
            copy(e, self.words, least, now)
        e.ret()

    def _least_step(self, e: Emitter) -> None:
        """least_step(ctx, before, after, least_before, least_after): writes the least image of a
        step. Images are compared by the state after the step, and then by the state before it.
        """
        ctx, before, after, least_before, least_after = e.arguments
        first, second = self._room(e, before), self._room(e, after)
        copy(e, self.words, least_before, before)
        copy(e, self.words, least_after, after)
        with self._walked(e, ctx, [first, second]):
            better, onward = e.block("better"), e.block("onward")
            with when(e, call(e, "state_less", second, least_after)):
                e.goto(better)
            with when(e, same(e, self.words, second, least_after)):
                e.branch(call(e, "state_less", first, least_before), better, onward)
            e.goto(onward)
            e.at(better)
            copy(e, self.words, least_before, first)
            copy(e, self.words, least_after, second)
            e.goto(onward)
            e.at(onward)
        e.ret()

    def _least_lead(self, e: Emitter) -> None:
        """least_lead(ctx, before, after, target, best): considers the images of a step that lead to
        ``target`` and stores the least of their first states at ``best``. If ``best`` already
        contains a lesser state, it does not change; zeros represent no state.
        """
        ctx, before, after, target, best = e.arguments
        first, second = self._room(e, before), self._room(e, after)

        def look() -> None:
            with when(e, same(e, self.words, second, target), rare=True):
                better, onward = e.block("better"), e.block("onward")
                with when(e, e.eq(e.get(best, 0), word(0))):
                    e.goto(better)
                e.branch(call(e, "state_less", first, best), better, onward)
                e.at(better)
                copy(e, self.words, best, first)
                e.goto(onward)
                e.at(onward)

        look()
        with self._walked(e, ctx, [first, second]):
            look()
        e.ret()


def _below(e: Emitter, left: LLVM, right: LLVM) -> LLVM:
    return e.as_word(e.ult(left, right))


class _ExchangeFrame(Changing):
    """The frame of an exchange, which writes its result. An exchange never fails and is never
    stopped.
    """

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
