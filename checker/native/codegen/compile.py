"""Compiles a model to machine code: a function for each action and property, and the functions that
a search calls for each state.

This module decides where variables are kept while a step runs. The kernels store and find states;
the generated code calls the kernel functions ``emit``, ``report`` and ``fail``. If steps are
reported separately (`SingleStepFrame`), each step has the coverage marks of its own vector of
choices, and guards that failed for lack of room are reported as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from fencepost.checker.layout import Large, Layout, shape
from fencepost.checker.native.codegen import orbits
from fencepost.checker.native.codegen.analysis import (
    MAX_SCRATCH,
    antecedents,
    branch_marks,
    has_odometer,
    most_picks,
    nested,
    unless,
)
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.context_words import MAX_SEEN, Slots, Word
from fencepost.checker.native.codegen.domain import NativeDomain
from fencepost.checker.native.codegen.emitter import (
    I1,
    I8,
    I64,
    LLVM,
    NULL,
    PTR,
    VOID,
    Emitter,
    Unit,
    flag,
    word,
)
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frames import Changing, Generation, ProbeFrame, StepFrame
from fencepost.checker.native.codegen.packed import same
from fencepost.checker.native.codegen.property_frame import PropertyFrame
from fencepost.checker.native.codegen.receiving import Receiving
from fencepost.checker.native.codegen.refinement import Refinement
from fencepost.checker.native.codegen.values import Val
from fencepost.checker.request import Unsupported, required_by
from fencepost.checker.temporal.units import (
    MAX_LABELS,
    MAX_UNITS,
    chosen_type,
    distinguishing_choices,
    family_choices,
    most_labels,
    most_units,
)
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import assigned, first_picks, may_fail, walk
from fencepost.spec.core.types import as_collection, has_ghost
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.fold import evaluate

ROOM = ("capacity", "budget")
"""Kinds of guards that fail for lack of room in the model, and might not fail in the real
system.
"""
REFUSED_SLOT = 0
"""The failure slot used to report a failed guard. It is otherwise the slot for errors of initial
choices.
"""


def step_marks(body: ir.Statement) -> tuple[int, ...]:
    """Returns the coverage marks that a step may set, in ascending order."""
    marks = {node.mark for node in walk(body) if isinstance(node, ir.Mark | ir.Witness)}
    return tuple(sorted(marks))


class SingleStepFrame(StepFrame):
    """An action whose steps are reported separately. Each guard that fails for lack of room is also
    reported, by a call of ``fail``.
    """

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        state: LLVM | None,
        changing: frozenset[int],
        number: int,
        context: LLVM,
        marks: Sequence[int],
    ) -> None:
        super().__init__(generation, e, state, changing, number, context, marks)
        # Code before the first assignment can also set marks.
        for cell in self._marks.values():
            e.store(word(0), cell)

    def begin(self) -> None:
        Changing.begin(self)

    def _kept_cells(self) -> list[LLVM]:
        return list(self._cells.values())

    def save(self) -> Callable[[], None]:
        e = self.e
        marks = [(cell, e.load(cell)) for cell in self._marks.values()]
        restore = super().save()

        def again() -> None:
            restore()
            for cell, value in marks:
                e.store(value, cell)

        return again

    def witness(self, mark: int) -> None:
        cell = self._marks[mark // 64]
        self.e.store(self.e.either(self.e.load(cell), word(1 << mark % 64)), cell)

    def mark(self, mark: int) -> None:
        self.witness(mark)

    def refuse(self, guard: int) -> None:
        e, generation = self.e, self.generation
        if generation.model.guards[guard].kind in ROOM:
            e.call(generation.fail, [self.context, word(REFUSED_SLOT), word(guard)])
        e.goto(self._next)


MAX_STEP_PREDICATES = 20
"""The maximum number of step predicates. The label of a step has a bit for each one."""
MAX_STACK = 1 << 20
"""Maximum stack use of the code in bytes. The code does not detect stack overflows."""


@dataclass(frozen=True, slots=True)
class GeneratedCode:
    """Facts about the generated code that the search needs.

    ``scratch`` is the size of the odometer. ``has_steps`` tells whether there are step invariants,
    ``behaviours`` whether the code can build the state graph, and ``ghosts`` whether the state has
    ghosts. ``refined`` is the number of words that refinements keep in a worker's memory, and
    ``step_predicates`` the number of those that label the steps of the graph.
    """

    scratch: int
    has_steps: bool
    behaviours: bool = False
    ghosts: bool = False
    refined: int = 0
    step_predicates: int = 0


def generate(
    model: ir.Model,
    layout: Layout,
    unit: Unit,
    properties: frozenset[int],
    every_guard: bool = False,
    symmetric: bool = False,
    graph: bool = False,
    single: bool = False,
) -> GeneratedCode:
    """Adds the functions of a model to ``unit``.

    ``properties`` are the properties to check. With ``every_guard``, the failures of all guards are
    counted, not only those of guards of kind "capacity". With ``symmetric``, each state represents
    its orbit. With ``graph``, the code can build the state graph even if no property requires it.
    With ``single``, each step is reported separately (see `SingleStepFrame`).

    Raises `Unsupported` if the model uses a feature that the engine cannot run.
    """
    return _Model(model, layout, unit, properties, every_guard, symmetric, graph, single).run()


class _Model:
    def __init__(
        self,
        model: ir.Model,
        layout: Layout,
        unit: Unit,
        properties: frozenset[int],
        every_guard: bool,
        symmetric: bool,
        graph: bool,
        single: bool,
    ) -> None:
        self.model = model
        self.single = single
        self.every_guard = every_guard
        self.symmetric = symmetric
        self.layout = layout
        self.unit = unit
        self.slots = Slots(len(model.actions), len(model.properties), layout.words)
        self.emit = unit.declare("emit", VOID, [PTR, I64, I64, PTR])
        self.report = unit.declare("report", VOID, [PTR, I64, I64, PTR, PTR])
        self.fail = unit.declare("fail", VOID, [PTR, I64, I64])
        self.see = unit.declare("see", I1, [PTR, I64, *[I64] * MAX_SEEN])
        self.initial = nested(model.initial)
        self.bodies = [nested(action.body) for action in model.actions]
        self._probes: dict[tuple[int, int], LLVM] = {}
        self.stoppable: set[tuple[int, int]] = set()

        self.searched = model.searched(properties)
        fair = bool(self.searched.behaviours)
        self.behaviours = fair or graph
        self.units: Mapping[int, tuple[int, ...]] = {
            number: tuple(pick.slot for pick in picks)
            for number in range(len(model.actions) if fair else 0)
            if (picks := distinguishing_choices(model, number)) is not None
        }
        self.properties: dict[int, LLVM] = {}
        self.refined = 0

    def run(self) -> GeneratedCode:
        scratch = self._scratch(self.initial)
        for action, body in zip(self.model.actions, self.bodies, strict=True):
            with required_by(action.span):
                scratch = max(scratch, self._scratch(body))
        actions = [self._action(number) for number in range(len(self.model.actions))]
        self.properties = {number: self._property(number) for number in self.searched.every}
        self._initial()
        self._step_state(actions)
        self._examine_state()
        self._check_step()
        self._terminal_state()
        self._state_less()
        if self.symmetric:
            orbits.define(self, self.unit)
        ghosts = any(
            variable.ghost or has_ghost(variable.type) for variable in self.model.variables
        )
        if self.searched.behaviours:
            self._refuse_units()
        if self.behaviours:
            self._label_state()
            if self.searched.step_predicates:
                self._label_step()
            if ghosts:
                self._changes()
        self._limit_stack()
        steps = bool(self.searched.step_invariants or self._partial)
        count = len(self.searched.step_predicates)
        return GeneratedCode(scratch, steps, self.behaviours, ghosts, self.refined, count)

    def _scratch(self, body: ir.Statement) -> int:
        """Returns the size of a step's odometer."""
        scratch = 2 * most_picks(body) if has_odometer(body) else 0
        if scratch > MAX_SCRATCH:
            raise Unsupported("it does not support this number of choices in one step")
        return scratch

    def _limit_stack(self) -> None:
        """Raises `Unsupported` if the code may use too much stack.

        The room of a recursive function includes all of its calls. In the worst case, a step is
        compared with a step of another model, or a property calls a probe, and the helpers call
        each other.
        """
        rooms = self.unit.rooms
        helpers = {helper.name for helper in self.unit.helpers.values()}
        among_helpers = sum(size for name, size in rooms.items() if name in helpers)
        largest = max((size for name, size in rooms.items() if name not in helpers), default=0)
        if 3 * largest + among_helpers > MAX_STACK:
            large = "the large values and recursive calls of one action or property"
            raise Unsupported(f"{large} do not fit on the stack")

    # ------------------------------------------------------------ functions of the model

    def _action(self, number: int) -> LLVM:
        function = self.unit.function(f"action{number}", VOID, [PTR, PTR])
        e = Emitter(self.unit, function)
        context, state = e.arguments
        action = self.model.actions[number]
        body = self.bodies[number]
        with required_by(action.span):
            kind, marks = StepFrame, branch_marks(body)
            if self.single:
                kind, marks = SingleStepFrame, step_marks(body)
            frame = kind(self, e, state, assigned(body), number, context, marks)
            frame.emit_all(body, e.ret)
        return function

    def _initial(self) -> None:
        function = self.unit.function("initial_states", VOID, [PTR])
        e = Emitter(self.unit, function)
        every = frozenset(range(len(self.model.variables)))
        frame = StepFrame(self, e, None, every, -1, e.arguments[0], ())
        frame.emit_all(self.initial, e.ret)

    def probe(self, action: int, count: int) -> LLVM:
        """See `Generation`."""
        key = action, count
        if key not in self._probes:
            body = self.bodies[action]
            picks = first_picks(body, count)
            kinds = [shape(as_collection(pick.domain.type).element) for pick in picks]
            parameters = [PTR if isinstance(kind, Large) else I64 for kind in kinds]
            function = self.unit.function(f"probe{action}_{count}", I64, [PTR, PTR, *parameters])
            self._probes[key] = function
            e = Emitter(self.unit, function)
            context, state, *values = e.arguments
            chosen = {pick.slot: value for pick, value in zip(picks, values, strict=True)}
            frame = ProbeFrame(self, e, context, state, assigned(body), chosen)
            frame.scratch_words = 2 * most_picks(body)
            frame.emit_all(body, lambda: e.ret(word(0)))
            if frame.ops.polling.asks:
                self.stoppable.add(key)
        return self._probes[key]

    def _property(self, number: int) -> LLVM:
        item = self.model.properties[number]
        if item.abstract is not None:
            with required_by(item.span):
                refinement = Refinement(self, self.unit, number, self.refined)
                self.refined = refinement.end
                return refinement.define()
        step = item.kind.of_steps
        with required_by(item.span):
            return self._predicate(f"property{number}", number, item.body, step)

    def _predicate(
        self,
        name: str,
        number: int,
        body: ir.Expr,
        step: bool = False,
        early_actions: Sequence[int] = (),
    ) -> LLVM:
        """Defines a function that evaluates a condition of property ``number``. Its parameters are
        the context, the state and, if ``step``, the next state. It returns 0, 1, or 2 if the
        condition is undefined.

        ``early_actions`` are actions whose enabledness the condition tests early.
        """
        parameters = [PTR, PTR, PTR] if step else [PTR, PTR]
        function = self.unit.function(name, I64, parameters, aliasing=True)
        e = Emitter(self.unit, function)
        after = e.arguments[2] if step else None
        frame = PropertyFrame(self, e, e.arguments[0], e.arguments[1], after, number)
        if early_actions:
            frame.receiving = Receiving(e, self.layout, frame.state, self.bodies, early_actions)
        result = evaluate(NativeDomain(frame), {}, body)
        assert isinstance(result, Val)
        e.ret(e.as_word(result.word))
        return function

    # ------------------------------------------------------------ functions for the search

    def _step_state(self, actions: Sequence[LLVM]) -> None:
        e = Emitter(self.unit, self.unit.function("step_state", VOID, [PTR, PTR]))
        # When failures of guards are counted, every action must be tried.
        tried = () if self.every_guard else range(len(actions))
        receiving = Receiving(e, self.layout, e.arguments[1], self.bodies, tried)
        for number, action in enumerate(actions):
            with when(e, receiving.possible(number)):
                e.call(action, e.arguments)
        e.ret()

    @contextmanager
    def _looked_at(
        self, e: Emitter, number: int, value: bool, function: LLVM = None
    ) -> Generator[None]:
        """A context for code that runs if property ``number`` is still active and its value is
        ``value``.

        The value is computed by ``function`` if given, and otherwise by the property's own
        function.
        """
        active = e.pointer(e.arguments[0], Word.ACTIVE)
        byte = e.load(e.index(active, number, I8), I8)
        with when(e, e.is_byte_set(byte)):
            result = e.call(self.properties[number] if function is None else function, e.arguments)
            with when(e, e.eq(result, word(int(value))), rare=True):
                yield

    def _examine_state(self) -> None:
        e = Emitter(self.unit, self.unit.function("examine_state", I64, [PTR, PTR]))
        inside = e.cell()
        e.store(word(1), inside)
        tested = e.block()
        for number in self.searched.constraints:
            with when(e, e.eq(e.call(self.properties[number], e.arguments), word(0))):
                e.store(word(0), inside)
                e.goto(tested)
        e.goto(tested)
        e.at(tested)
        self._examine_invariants(e)
        for number in self.searched.predicates:
            # The call reports an undefined predicate; the value is not needed yet.
            e.call(self.properties[number], e.arguments)
        for number in self.searched.reachables:
            with self._looked_at(e, number, True):
                flags = e.pointer(e.arguments[0], Word.REACHED)
                e.store(e.as_byte(flag(True)), e.index(flags, number, I8))
        e.ret(e.load(inside))

    def _examine_invariants(self, e: Emitter) -> None:
        """Reports the state that is the argument of ``e`` if it violates an invariant.

        If several invariants begin with the same test, as in `quiescent implies`, the test is
        evaluated only once. Usually nothing else needs to be evaluated.
        """
        properties = self.model.properties
        numbers = self.searched.invariants
        states = [number for number in numbers if properties[number].abstract is None]
        tests = Counter(test for number in states for test in antecedents(properties[number].body))
        shared = next((test for test, times in tests.most_common(1) if times > 1), None)
        answer: LLVM = None
        for number in numbers:
            body = properties[number].body
            rest = body if shared is None or number not in states else unless(body, shared)
            if shared is None or rest == body:
                self._examine_invariant(e, number, self.properties[number])
                continue
            if answer is None:
                asks = [node.action for node in walk(shared) if isinstance(node, ir.Enabled)]
                function = self._predicate("antecedent", number, shared, early_actions=asks)
                answer = e.as_flag(e.call(function, e.arguments))
            true, false, after = e.block(), e.block(), e.block()
            e.branch(answer, true, false)
            e.at(true)
            self._examine_invariant(e, number, self.properties[number])
            e.goto(after)
            e.at(false)
            if rest is not None:
                rest_function = self._predicate(f"rest{number}", number, rest)
                self._examine_invariant(e, number, rest_function)
            e.goto(after)
            e.at(after)

    def _examine_invariant(self, e: Emitter, number: int, function: LLVM) -> None:
        context, state = e.arguments
        with self._looked_at(e, number, False, function):
            slot = word(self.slots.violation(number))
            e.call(self.report, [context, slot, word(0), state, NULL])

    def _check_step(self) -> None:
        function = self.unit.function("check_step", VOID, [PTR, PTR, PTR], aliasing=True)
        e = Emitter(self.unit, function)
        context, before, after = e.arguments
        every = self.searched.step_invariants
        kinds = {number: self.model.properties[number].kind for number in every}
        # An initial state has no predecessor.
        first = [number for number in every if kinds[number].of_initial_states]
        for number in (*first, *(number for number in every if number not in first)):
            if first and number not in first:
                with when(e, e.eq(before, NULL), rare=True):
                    e.ret()
            with self._looked_at(e, number, False):
                slot = word(self.slots.violation(number))
                e.call(self.report, [context, slot, word(0), after, before])
        if self._partial:
            # A call reports a predicate without a value. None is evaluated if nothing changes.
            with when(e, same(e, self.layout.words, before, after)):
                e.ret()
            for number in self._partial:
                e.call(self.properties[number], e.arguments)
        e.ret()

    @property
    def _partial(self) -> list[int]:
        """The step predicates whose evaluation may fail."""
        properties = self.model.properties
        return [n for n in self.searched.step_predicates if may_fail(properties[n].body)]

    def _terminal_state(self) -> None:
        e = Emitter(self.unit, self.unit.function("terminal_state", I64, [PTR, PTR]))
        for number in self.searched.terminals:
            # If a terminal condition is undefined (2), this was reported, and the condition counts
            # as true.
            true = e.as_flag(e.call(self.properties[number], e.arguments))
            with when(e, true, rare=True):
                e.ret(word(1))
        e.ret(word(0))

    # ------------------------------------------------------------ functions for behaviours

    def _refuse_units(self) -> None:
        """Raises `Unsupported` for units that cannot be numbered. Units are numbered before the
        search, when it is not known yet which of them are possible.
        """
        for fairness in self.model.fairness:
            picks = family_choices(self.model, fairness)
            if any(has_ghost(chosen_type(pick)) for pick in picks):
                message = "it tells messages of `each` apart by their ghosts"
                raise Unsupported(message, fairness.span)
            if most_units(self.model, fairness) > MAX_UNITS:
                message = f"`each` may have more than {MAX_UNITS:,} units"
                raise Unsupported(message, fairness.span)
        if sum(most_labels(self.model, number) for number in self.units) > MAX_LABELS:
            raise Unsupported(f"fairness distinguishes more than {MAX_LABELS:,} kinds of steps")
        steps = self.searched.step_predicates
        if len(steps) > MAX_STEP_PREDICATES:
            most = f"more than {MAX_STEP_PREDICATES} conditions on steps"
            message = f"fairness and temporal properties have {most}"
            raise Unsupported(message, self.model.properties[steps[MAX_STEP_PREDICATES]].span)

    def _label_state(self) -> None:
        """label_state(ctx, state, words): writes one bit per predicate."""
        e = Emitter(self.unit, self.unit.function("label_state", VOID, [PTR, PTR, PTR]))
        context, state, out = e.arguments
        numbers = self.searched.predicates
        for first in range(0, len(numbers), 64):
            total = word(0)
            for bit, number in enumerate(numbers[first : first + 64]):
                true = e.as_word(e.eq(e.call(self.properties[number], [context, state]), word(1)))
                total = e.either(total, e.shl(true, bit))
            e.put(out, first // 64, total)
        e.ret()

    def _label_step(self) -> None:
        """label_step(ctx, before, after): returns one bit per step predicate."""
        function = self.unit.function("label_step", I64, [PTR, PTR, PTR], aliasing=True)
        e = Emitter(self.unit, function)
        total = word(0)
        for bit, number in enumerate(self.searched.step_predicates):
            true = e.as_word(e.eq(e.call(self.properties[number], e.arguments), word(1)))
            total = e.either(total, e.shl(true, bit))
        e.ret(total)

    def _changes(self) -> None:
        """changes(ctx, before, after): returns whether anything except ghosts changes."""
        function = self.unit.function("changes", I64, [PTR, PTR, PTR], aliasing=True)
        e = Emitter(self.unit, function)
        _, before, after = e.arguments
        ops = Collections(e)
        for variable, slot in zip(self.model.variables, self.layout.places, strict=True):
            if not variable.ghost:
                left, right = (
                    ops.read(state, slot.word, slot.shift, variable.type)
                    for state in (before, after)
                )
                with when(e, e.invert(ops.alike(left, right))):
                    e.ret(word(1))
        e.ret(word(0))

    def _state_less(self) -> None:
        function = self.unit.function("state_less", I1, [PTR, PTR], aliasing=True)
        e = Emitter(self.unit, function)
        ops = Collections(e)
        for kind, slot in zip(self.layout.types, self.layout.places, strict=True):
            left, right = (ops.read(p, slot.word, slot.shift, kind) for p in e.arguments)
            order = ops.compared(left, right)
            with when(e, e.as_flag(order)):
                e.ret(e.slt(order, word(0)))
        e.ret(flag(False))
