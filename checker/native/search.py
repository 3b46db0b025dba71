"""Breadth-first search in machine code: the engine ``local``.

Its findings are those of the interpreter, for any number of workers: a level is always searched
completely, and the least of several findings is kept. A limit on states ends the search between two
levels. If there are too many initial states, `ValueStates` finds the first of them.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import astuple, replace
from functools import partial
from importlib import import_module
from typing import Literal, Protocol

from fencepost.checker.growth import EXAMPLES
from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.compile import generate
from fencepost.checker.native.codegen.context_words import RECENT_BYTES, Slots
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.codegen.packed import salted
from fencepost.checker.native.kernels import (
    behaviours,
    calls,
    components,
    compressed,
    rows,
    search_kernels,
)
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.build import CodeInUse, SetCodeInUse, SetCompilation
from fencepost.checker.native.machine.code_cache import Cache
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.spill import Lost, Spill
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.sampling import contributions
from fencepost.checker.native.states import LocalStates
from fencepost.checker.outcome import INTERRUPTED, LONG_SEARCH, Fact, Limit, Outcome
from fencepost.checker.printing import units
from fencepost.checker.profile import Profile
from fencepost.checker.request import Limits, Phase, Request, Saving, Translation, refuse_symbols
from fencepost.checker.resources import Exhausted, deep, memory_bytes, peak_bytes, processors
from fencepost.checker.search.account import Account, Cut, Expired, before_search
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch, out_of_memory
from fencepost.checker.search.orbits import orbits, searched_in_orbits
from fencepost.checker.search.states import Checkpoint, Saver, not_read
from fencepost.checker.search.value_states import ValueStates
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.verdict import (
    bare_finding,
    expanded_levels,
    formulas_to_decide,
    judged,
)
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Problem, Rejected

MAX_OPTIMIZED_SECONDS = 5.0
"""`Local.translation` does not optimize code if the estimated time exceeds this."""

CHECKPOINT_SECONDS = 300.0
"""The default time between two saves of a search, in seconds."""


class Local:
    """The engine of this module. The arguments are for tests: ``code`` selects the machine code to
    run, ``watched`` detects writes outside the memory of the search, and ``seconds`` is the time
    between two saves.
    """

    name = "local"

    def __init__(
        self,
        code: Literal["quick", "best", "both"] = "both",
        watched: bool = False,
        seconds: float = CHECKPOINT_SECONDS,
    ) -> None:
        self._code = code
        self._watched = watched
        self._seconds = seconds

    @property
    def library(self) -> str:
        return build.library()

    def obstacle(self) -> str | None:
        return build.obstacle()

    def translation(self, model: Model, properties: frozenset[int]) -> Translation:
        refuse_symbols(model)
        began = time.monotonic()
        compilation, _ = translated(model, Layout(model), properties)
        written = time.monotonic()
        quick = compilation.quick()
        compiled = time.monotonic()
        better_seconds, better_bytes = compilation.seconds, None
        if better_seconds <= MAX_OPTIMIZED_SECONDS:
            better_bytes = compilation.best().size
            better_seconds = time.monotonic() - compiled
        return Translation(
            written - began, compiled - written, quick.size, better_seconds, better_bytes
        )

    def run(self, request: Request) -> Outcome:
        refuse_symbols(request.model)
        account = Account(request)
        early_outcome = before_search(account)
        if early_outcome is not None:
            return early_outcome
        interrupts = Interrupts()
        with interrupts.heard(), ExitStack() as kept:
            search = self._prepared(request, account, interrupts, kept)
            if isinstance(search, Limit):
                outcome = account.outcome(search, lambda: Runner(request.model), lambda _: [])
                return _begun(_unread(outcome, request.saving))
            try:
                return _begun(search.run(lambda outcome: _completed(outcome, request, search)))
            except Lost as lost:
                message = f"--spill {request.limits.spill}: {lost.strerror}"
                raise Rejected([Problem("F857", None, message)]) from None

    def _prepared(
        self, request: Request, account: Account, interrupts: Interrupts, kept: ExitStack
    ) -> LevelSearch | Limit:
        """Returns a search that is ready to run, or the limit that was reached during the
        preparation. Resources on the stack ``kept`` stay open until the search ends. Raises
        `Rejected` if the search cannot be saved as requested.
        """
        model, limits = request.model, request.limits
        layout = Layout(model)
        memory = Memory(limits.memory, self._watched, memory_bytes)
        try:
            compilation, sizes = _translated_or_kept(request, layout)
            if interrupts.asked:
                return INTERRUPTED
            compiled = {"quick": compilation.quick, "best": compilation.best}.get(self._code)
            watch = Watch(request, account, interrupts)
            opened = _opened(request, compilation, account, layout, sizes, watch.heed)
            if opened is not None:
                kept.callback(opened.close)
            workers, observer = limits.workers or processors(), request.observer
            code = CodeInUse(compilation, compiled and compiled(), workers)
            memory.weigh()

            # Deciding temporal properties locates states in tables of uncompressed states, and a
            # profile reads them directly.
            whole = account.searched.behaviours or request.profile
            compress = None if whole else lambda: self._set_code(workers)
            symmetry, spill = orbits(request), _spill(limits, memory)
            states = LocalStates(
                watch, layout, sizes, code, workers, memory, observer, compress, symmetry, spill
            )
            checkpoint = None
            if opened is not None:
                checkpoint = Checkpoint(opened.saver(states), self._seconds)
            return LevelSearch(
                watch, states, checkpoint,
                first_states=lambda: ValueStates(watch, Runner(model), symmetry),
            )  # fmt: skip
        except Expired:
            return account.expired
        except Cut as cut:
            return cut.limit
        except KeyboardInterrupt:
            return INTERRUPTED
        except (Exhausted, MemoryError):
            memory.close()
            return out_of_memory(limits)

    def _set_code(self, workers: int) -> SetCodeInUse:
        """Returns the code for compressed visited sets."""
        compilation = SetCompilation(compressed.text())
        compiled = {"quick": compilation.quick, "best": compilation.best}.get(self._code)
        return SetCodeInUse(compilation, compiled and compiled(), workers)


ENGINE = Local()


def _completed(outcome: Outcome, request: Request, search: LevelSearch) -> Outcome:
    """Adds to the outcome what must be computed while the states are still in memory."""
    if not isinstance(search.states, LocalStates):
        # There were too many initial states, and no state was expanded.
        note = "There is no profile: no state was expanded."
        return replace(outcome, notes=(*outcome.notes, note)) if request.profile else outcome
    # Temporal properties come first: a profile may need the memory that is left.
    if search.account.searched.behaviours:
        outcome = _judged(outcome, request, search)
    if request.profile:
        outcome = _profiled(outcome, request, search)
    if request.profile or outcome.deserves_growth:
        outcome = _with_growth(outcome, request, search.states)
    return _spilled(_explained(outcome, request, search), search, request.limits)


def _explained(outcome: Outcome, request: Request, search: LevelSearch) -> Outcome:
    """Adds a note to the outcome of a long search if its states were not compressed."""
    assert isinstance(search.states, LocalStates)
    explorer = search.states.explorer
    why = explorer.refused
    if request.profile:
        why = "the profile needs whole states"
    if search.account.searched.behaviours:
        why = "temporal properties need whole states"
    if why is None or explorer.compressed or explorer.states < LONG_SEARCH:
        return outcome
    note = Fact(f"The states, of {explorer.state_bytes} bytes each, were not compressed: {why}.")
    return replace(outcome, notes=(*outcome.notes, note))


def _with_growth(outcome: Outcome, request: Request, states: LocalStates) -> Outcome:
    """Adds the contribution of each variable, unless the states are in a file, where a random
    sample takes long to read.
    """
    explorer = states.explorer
    if explorer.spill is not None and explorer.spill.bytes:
        return outcome
    levels = min(len(outcome.statistics.levels), explorer.level)
    try:
        explorer.resume()
        examples = EXAMPLES if request.profile else 0
        return replace(outcome, growth=contributions(states.layout, explorer, levels, examples))
    except (Cut, KeyboardInterrupt, Exhausted, MemoryError):
        return outcome


def _spill(limits: Limits, memory: Memory) -> Spill | None:
    """Returns the file for expanded states, or None if they are not to be spilled. Raises
    `Rejected`.
    """
    if limits.spill is None:
        return None
    try:
        return Spill(limits.spill, memory)
    except OSError as error:
        reason = error.strerror or "the system refuses"
        message = f"--spill {limits.spill}: {reason}"
        raise Rejected([Problem("F856", None, message)]) from None


def _spilled(outcome: Outcome, search: LevelSearch, limits: Limits) -> Outcome:
    """Adds notes about spilled states to the outcome."""
    states = search.states
    assert isinstance(states, LocalStates)
    spill = states.explorer.spill
    if spill is None:
        return outcome
    notes = [*outcome.notes]
    if spill.bytes:
        notes.append(Fact(f"{units.size(spill.bytes)} of states were put into {limits.spill}."))
    if spill.refused is not None:
        refused = f"No more states could be put into {limits.spill}: {spill.refused}."
        notes.append(Fact(refused))
    return replace(outcome, notes=tuple(notes))


class _Opened(Protocol):
    """The open folder of a saved search, see `saving.saver.Opened`."""

    def saver(self, states: LocalStates) -> Saver: ...

    def close(self) -> None: ...


def _opened(
    request: Request,
    compilation: build.Compilation,
    account: Account,
    layout: Layout,
    sizes: Sizes,
    heed: Callable[[], None],
) -> _Opened | None:
    """Opens the folder for saving the search. Returns None if the search is not to be saved. Raises
    `Rejected`, and any exception that ``heed`` raises.
    """
    if request.saving is None:
        return None
    # Only runs that save pay for loading these libraries.
    home = import_module("fencepost.checker.native.saving.saver")
    opened: _Opened = home.Opened(request, compilation.text, account, layout, sizes, heed)
    return opened


def _profiled(outcome: Outcome, request: Request, search: LevelSearch) -> Outcome:
    """Adds a profile to the outcome if time and memory allow."""
    states, refused = search.states, outcome.coverage.blocked
    assert isinstance(states, LocalStates)
    guards = request.model.guards
    full = {guard: times for guard, times in refused.items() if guards[guard].kind == "capacity"}
    outcome = replace(outcome, coverage=replace(outcome.coverage, blocked=full))
    explorer = states.explorer
    levels = min(len(outcome.statistics.levels), explorer.level)
    actions = len(request.model.actions)
    try:
        explorer.resume()
        # Only runs with a profile pay for loading these libraries.
        home = import_module("fencepost.checker.native.profile")
        profile: Profile = home.profile(states.layout, explorer, levels, refused)
        outcome = replace(outcome, profile=profile)
        new = home.new_states(explorer, states.layout, levels, actions)
        spent = home.times(explorer, states.layout, levels, actions)
        return replace(outcome, profile=replace(profile, new=new, seconds=spent))
    except (Cut, KeyboardInterrupt):
        why = "it was interrupted"
    except (Exhausted, MemoryError):
        why = "there was no memory for it"
    part = "profile" if outcome.profile is None else "profile of new states and times"
    return replace(outcome, notes=(*outcome.notes, f"There is no {part}: {why}."))


class _Behaviours(Protocol):
    """Decides temporal properties, see `behaviours.Behaviours`."""

    def violation(self, formula: Formula) -> Lasso | None: ...


def _judged(outcome: Outcome, request: Request, search: LevelSearch) -> Outcome:
    """Adds the verdicts on temporal properties to the outcome, while the states are in memory."""
    states, account = search.states, search.account
    assert isinstance(states, LocalStates)
    explorer, deciders = states.explorer, list[_Behaviours]()
    runner = Runner(account.model)

    def behaviours(decision: Decision) -> _Behaviours:
        levels = expanded_levels(outcome)
        most = len(outcome.statistics.levels) if levels is None else levels
        # Only runs with temporal properties pay for loading these libraries.
        home = import_module("fencepost.checker.native.behaviours")
        decider: _Behaviours = home.Behaviours(
            account.model,
            states.layout,
            explorer,
            min(most, explorer.level),
            formulas_to_decide(account.model, account.searched.behaviours, outcome),
            account.searched.predicates,
            account.searched.step_predicates,
            decision,
        )
        return decider

    def decide(formula: Formula, decision: Decision) -> Lasso | None:
        try:
            with search.watch.timed(account.left):
                explorer.resume()
                if not deciders:
                    deciders.append(behaviours(decision))
                return deciders[0].violation(formula)
        except Expired:
            raise Cut(account.expired) from None
        except KeyboardInterrupt:
            raise Cut(INTERRUPTED) from None
        except (Exhausted, MemoryError):
            raise Cut(out_of_memory(request.limits)) from None

    # An engine that searches with step predicates explains its lassos itself.
    finding_of = partial(bare_finding, runner) if account.searched.step_predicates else None
    with search.watch.deciding(SHARES) as decision:
        return judged(outcome, request, runner, decide, decision, account.started, finding_of)


def _begun(outcome: Outcome) -> Outcome:
    """Adds a note to the outcome if memory did not suffice even for the first state."""
    limit = outcome.limit
    if limit is None or limit.kind != "memory" or outcome.statistics.distinct:
        return outcome
    taken = units.size(peak_bytes())
    note = f"The process takes {taken} before its first state: {limit} is too little."
    return replace(outcome, notes=(*outcome.notes, note))


def _unread(outcome: Outcome, saving: Saving | None) -> Outcome:
    """Adds a note to the outcome of a search that never began: the checkpoint to be resumed has not
    been read.
    """
    if saving is None or not saving.resumed:
        return outcome
    return replace(outcome, notes=(*outcome.notes, not_read(saving.place)))


def _translated_or_kept(request: Request, layout: Layout) -> tuple[build.Compilation, Sizes]:
    """Returns the result of `translated` for a request. For a model with a name, it is read from
    the cache if possible, and the LLVM text is produced only if it is needed.
    """
    model, properties = request.model, request.properties
    symmetric = searched_in_orbits(request)
    if request.model_name is None or request.profile:
        return translated(model, layout, properties, profile=request.profile, symmetric=symmetric)
    searched = ",".join(map(str, sorted(properties)))
    if symmetric:
        searched += " orbits"
    parts = ["sizes", request.model_name, searched]
    name = f"{request.model_name} {searched}"

    def text() -> str:
        return translated(model, layout, properties, symmetric=symmetric)[0].text

    kept = Cache()
    content = kept.read(parts)
    if content is not None:
        size, *figures = struct.unpack(KEPT, content)
        sizes = Sizes(_slots(model, layout), *figures)
        return build.Compilation(text, size, name), sizes
    compilation, sizes = translated(model, layout, properties, symmetric=symmetric)
    written = compilation.text
    _, *figures = astuple(sizes)
    kept.write(parts, struct.pack(KEPT, len(written), *figures))
    return build.Compilation(lambda: written, len(written), name), sizes


SHARES: Mapping[Phase, float] = {"graph": 0.07, "product": 0.33, "edges": 0.15, "components": 0.45}
"""The approximate share of each phase in the time that deciding a temporal property takes."""

KEPT = "<6q"
"""The format of cached sizes: the length of the text, and the figures of `Sizes`."""


def _slots(model: Model, layout: Layout) -> Slots:
    return Slots(len(model.actions), len(model.properties), layout.words)


def translated(
    model: Model,
    layout: Layout,
    properties: frozenset[int],
    recent_bytes: int = RECENT_BYTES,
    symmetric: bool = False,
    profile: bool = False,
) -> tuple[build.Compilation, Sizes]:
    """Translates a model to machine code for a search for ``properties``. ``recent_bytes`` is the
    size of the cache of recent states. With ``symmetric``, one state represents its orbit. With
    ``profile``, the code counts what a profile needs.
    """
    slots = _slots(model, layout)
    # Not named after the file: LLVM would write the name verbatim, including line breaks.
    unit = Unit("model")
    calls.declare(unit)
    if profile or model.searched(properties).behaviours:
        behaviours.declare(unit)
    with deep():
        # 150 nested choices take some 2,000 frames.
        generated = generate(model, layout, unit, properties, profile, symmetric, profile)
    calls.define(
        unit,
        layout.words,
        generated.has_steps,
        recent_bytes,
        generated.behaviours,
        bool(generated.refined),
        symmetric,
    )
    search_kernels.define(unit, layout.words, slots.deadlock, symmetric=symmetric)
    if generated.behaviours:
        count = generated.step_predicates
        behaviours.define(unit, layout.words, generated.ghosts, bool(count))
        rows.define(unit, count > rows.LABEL_BITS)
        components.define(unit)
    if profile:
        search_kernels.define_apart(unit, layout.words, len(model.actions))
    sizes = Sizes(
        slots,
        len(model.marks),
        len(model.guards),
        generated.scratch,
        recent_bytes,
        generated.refined,
    )
    return build.Compilation(salted(unit.text())), sizes
