# pyright: basic
"""Checks a refinement in machine code: computes the images of the two states of a step, and checks
whether the refined model can take a step between the images.

The images of most steps have recently been compared, so pairs of images are cached. The cache never
changes an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fencepost.checker.layout import OCCUPIED, Layout
from fencepost.checker.native.codegen.analysis import most_picks, nested
from fencepost.checker.native.codegen.context_words import Slots, Word
from fencepost.checker.native.codegen.domain import NativeDomain
from fencepost.checker.native.codegen.emitter import (
    I1,
    I64,
    LLVM,
    NULL,
    PTR,
    Emitter,
    Unit,
    flag,
    word,
)
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frames import Changing, Generation, leave_if_stopped
from fencepost.checker.native.codegen.packed import copy, hashed, same, watched
from fencepost.checker.native.codegen.property_frame import PropertyFrame
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import assigned
from fencepost.spec.semantics.fold import evaluate

PAIRS_BYTES = 1 << 19
"""Size of the cache of compared pairs of images, in bytes."""


def pairs_kept(words: int) -> int:
    """Returns the number of cached pairs of images of ``words`` words, a power of two."""
    return 1 << max(4, (PAIRS_BYTES // (16 * words)).bit_length() - 1)


class Refinement:
    """Defines the functions of refinement ``number`` (see `define`).

    The refinement's words in a worker's memory are those from ``start`` up to, but not including,
    ``end``. They contain a state and its image, followed by pairs of images.
    """

    def __init__(self, generation: Generation, unit: Unit, number: int, start: int) -> None:
        self.generation = generation
        self.unit = unit
        self.number = number
        self.property = generation.model.properties[number]
        assert self.property.abstract is not None
        self.abstract = _Abstract(generation, self.property.abstract)
        self.start = start
        self.states = generation.layout.words
        self.images = self.abstract.layout.words
        self.pairs = pairs_kept(self.images)
        self.end = start + self.states + self.images + 2 * self.images * self.pairs

    def define(self) -> LLVM:
        """property(ctx, before, after): returns whether the image of a step is a step of the
        abstract model, or 2 if an image is undefined. If ``before`` is null, ``after`` is an
        initial state.
        """
        name = f"property{self.number}"
        function = self.unit.function(name, I64, [PTR, PTR, PTR], aliasing=True)
        image, first = self._image(), self._aimed(None)
        actions = [self._aimed(k) for k in range(len(self.abstract.model.actions))]
        e = Emitter(self.unit, function)
        ctx, before, after = e.arguments
        # The images of both states, one after the other.
        images = e.words(2 * self.images)
        image_before, image_after = images, e.index(images, self.images)
        with when(e, e.as_flag(e.call(image, [ctx, after, before, image_after]))):
            e.ret(word(2))
        with when(e, e.eq(before, NULL), rare=True):
            is_initial = e.call(first, [ctx, NULL, image_after])
            self._unless_stopped(e, ctx)
            e.ret(e.as_word(is_initial))
        room = e.index(e.pointer(ctx, Word.REFINED), self.start)
        cached_image = e.index(room, self.states)
        with when(e, e.eq(e.as_word(same(e, self.states, room, before)), word(0))):
            with when(e, e.as_flag(e.call(image, [ctx, before, NULL, cached_image]))):
                e.ret(word(2))
            copy(e, self.states, room, before)
        with when(e, same(e, self.images, cached_image, image_after)):
            e.ret(word(1))
        copy(e, self.images, image_before, cached_image)
        bucket = e.both(e.shr(hashed(e, 2 * self.images, images), 16), word(self.pairs - 1))
        pair = e.index(e.index(cached_image, self.images), e.mul(bucket, word(2 * self.images)))
        with when(e, same(e, 2 * self.images, pair, images)):
            e.ret(word(1))
        for action in actions:
            with when(e, e.call(action, [ctx, image_before, image_after])):
                copy(e, 2 * self.images, pair, images)
                e.ret(word(1))
        self._unless_stopped(e, ctx)
        e.ret(word(0))
        return function

    def _unless_stopped(self, e: Emitter, ctx: LLVM) -> None:
        """Returns 2 if the search is being stopped, since a step may then exist that was not
        found.
        """
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret(word(2))

    def _image(self) -> LLVM:
        """image(ctx, state, before, out): writes the image of a state to ``out``. If the image is
        undefined, reports this for the step from ``before`` and returns a value other than 0.
        """
        function = self.unit.function(f"image{self.number}", I64, [PTR] * 4, aliasing=True)
        e = Emitter(self.unit, function)
        ctx, state, before, out = e.arguments
        frame = _ImageFrame(self.generation, e, ctx, state, before, self.number)
        domain = NativeDomain(frame)
        layout = self.abstract.layout
        assert isinstance(self.property.body, ir.MakeRecord)
        e.clear(out, layout.words)
        e.put(out, 0, word(OCCUPIED))
        for part, slot in zip(self.property.body.fields, layout.places, strict=True):
            value = frame.ops.materialized(evaluate(domain, {}, part))
            frame.ops.write(out, slot.word, slot.shift, value)
        e.ret(word(0))
        return function

    def _aimed(self, action: int | None) -> LLVM:
        """aimed(ctx, state, target): returns whether a step of an action of the abstract model
        leads to ``target``. If ``action`` is None, returns whether ``target`` is an initial state
        of the abstract model.
        """
        name = f"refined{self.number}_{'initial' if action is None else action}"
        function = self.unit.function(name, I1, [PTR, PTR, PTR], aliasing=True)
        e = Emitter(self.unit, function)
        ctx, state, target = e.arguments
        model = self.abstract.model
        body = nested(model.initial if action is None else model.actions[action].body)
        changing = assigned(body)
        if action is None:
            changing = frozenset(range(len(model.variables)))
        frame = _AimedFrame(
            self.abstract, e, ctx, None if action is None else state, changing, target
        )
        frame.scratch_words = 2 * most_picks(body)
        frame.emit_all(body, lambda: e.ret(flag(False)))
        return function


class _Abstract:
    """Implements `Generation` for the abstract model, whose steps call no kernels except
    ``see``.
    """

    emit = report = fail = NULL
    every_guard = symmetric = False

    def __init__(self, generation: Generation, model: ir.Model) -> None:
        self.model = model
        self.layout = Layout(model)
        self.slots = Slots(len(model.actions), 0, self.layout.words)
        self.see = generation.see
        self.units: Mapping[int, tuple[int, ...]] = {}
        self.stoppable: set[tuple[int, int]] = set()

    def probe(self, action: int, count: int) -> LLVM:
        raise AssertionError("a step does not ask what is enabled")


class _ImageFrame(PropertyFrame):
    """The frame of a function that computes the image of a state. The function returns 2 if the
    image is undefined.
    """

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        context: LLVM,
        state: LLVM,
        before: LLVM,
        number: int,
    ) -> None:
        super().__init__(generation, e, context, state, None, number)
        self.before = before

    def fail(self, site: int, assertion: bool) -> None:
        slot = word(self.generation.slots.property_error(self.number))
        arguments = [self.context, slot, word(site), self.state, self.before]
        self.e.call(self.generation.report, arguments)
        self.e.ret(word(2))


class _AimedFrame(Changing):
    """The frame of a function that decides whether some step leads to ``target``. A step that fails
    leads nowhere.
    """

    unfinished = flag(False)

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        context: LLVM,
        state: LLVM | None,
        changing: frozenset[int],
        target: LLVM,
    ) -> None:
        super().__init__(generation, e, context, state, changing)
        self.target = target
        self.ops.polling.leave = partial(leave_if_stopped, e, context, flag(False))

    def fail(self, site: int, assertion: bool) -> None:
        self.e.goto(self.next_vector())

    def finish(self) -> None:
        e = self.e
        with when(e, same(e, self.generation.layout.words, self.packed(), self.target)):
            e.ret(flag(True))
        e.goto(self.next_vector())
