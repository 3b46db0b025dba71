"""A frame that reads the variables while a property is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import LLVM, NULL, Emitter, flag, known, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frame import Frame, set_marks
from fencepost.checker.native.codegen.frames import (
    Generation,
    call_see,
    leave_if_stopped,
    probed,
)
from fencepost.checker.native.codegen.receiving import Receiving
from fencepost.checker.native.codegen.values import Val


class PropertyFrame(Frame):
    """The frame of a property. The function returns 0, 1, or 2 if the property is undefined."""

    receiving: Receiving | None = None
    """The kinds of messages that are known to be present at the start."""

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        context: LLVM,
        state: LLVM,
        after: LLVM | None,
        number: int,
    ) -> None:
        self.generation = generation
        self.ops = Collections(e)
        self.e = e
        self.context = context
        self.state = state
        self.after = after
        self.number = number
        # An undefined property has no consequences.
        self.ops.polling.leave = partial(leave_if_stopped, e, context, word(2))

    def read(self, variable: int, next: bool) -> Val:
        layout = self.generation.layout
        part = layout.places[variable]
        base = self.after if next else self.state
        assert base is not None
        return self.ops.read(base, part.word, part.shift, layout.types[variable])

    def fail(self, site: int, assertion: bool) -> None:
        self._fail(word(site))

    def _fail(self, site: LLVM) -> None:
        shown, before = (self.state, NULL) if self.after is None else (self.after, self.state)
        slot = word(self.generation.slots.property_error(self.number))
        self.e.call(self.generation.report, [self.context, slot, site, shown, before])
        self.e.ret(word(2))

    def witness(self, mark: int) -> None:
        set_marks(self.e, self.context, mark // 64, word(1 << mark % 64))

    def observe(self, number: int, values: Sequence[LLVM]) -> None:
        call_see(self.generation, self.e, self.context, number, values, word(1))

    def enabled(self, action: int, choices: Sequence[Val]) -> LLVM:
        e = self.e
        possible = flag(True) if self.receiving is None else self.receiving.possible(action)
        probe = self.generation.probe(action, len(choices))
        codes = [probed(self.ops, choice) for choice in choices]
        before, ask, after = e.here, e.block(), e.block()
        e.branch(possible, ask, after)
        e.at(ask)
        answer = e.call(probe, [self.context, self.state, *codes])
        if (action, len(choices)) in self.generation.stoppable:
            self.ops.polling.ask()
        if self.generation.model.open_ranges:
            with when(e, e.as_flag(e.shr(answer, 1)), rare=True):
                self._fail(e.sub(answer, word(2)))
        answers = [(e.as_flag(answer), e.here)]
        e.goto(after)
        e.at(after)
        return e.phi(answers if known(possible) else [(flag(False), before), *answers])
