"""The corpus for mutants: entries that compare generated code with the interpreter.

An entry is a model (such as an example) with some of its states (see
`tests.support.steps_agreement`), or tests of the layout or of the emitter.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, TypeAlias

from tests.checker import test_layout, test_symmetry
from tests.checker.native import test_emitter, test_lawful
from tests.checker.native.test_hostile import SPECS
from tests.strategies import grown, grown_large
from tests.strategies.orbits import grown as grown_orbits
from tests.support import random_values
from tests.support.agreement import model_of, run_of_model, summary
from tests.support.examples import EXAMPLES
from tests.support.paths import ROOT
from tests.support.shipped import MODELS
from tests.support.steps_agreement import Extent, Interpreter, Tape, comparing, probing
from tests.support.text_tables import blocks

from fencepost.checker.layout import Layout
from fencepost.checker.reference.search import ENGINE as REFERENCE
from fencepost.checker.request import Limits
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Rejected

MODULES = (
    "fencepost.checker.layout",
    "fencepost.checker.native.codegen.emitter",
    "fencepost.checker.native.codegen.values",
    "fencepost.checker.native.codegen.ranks",
    "fencepost.checker.native.codegen.order",
    "fencepost.checker.native.codegen.enumeration",
    "fencepost.checker.native.codegen.collections",
    "fencepost.checker.native.codegen.recursion",
    "fencepost.checker.native.codegen.expressions",
    "fencepost.checker.native.codegen.domain",
    "fencepost.checker.native.codegen.frame",
    "fencepost.checker.native.codegen.frames",
    "fencepost.checker.native.codegen.receiving",
    "fencepost.checker.native.codegen.property_frame",
    "fencepost.checker.native.codegen.analysis",
    "fencepost.checker.native.codegen.compile",
    "fencepost.checker.native.codegen.flow",
    "fencepost.checker.native.codegen.colours",
    "fencepost.checker.native.codegen.orbits",
    "fencepost.checker.native.codegen.lawful",
)
LARGE = 80
RANDOM = 60
"""Numbers of random specs with large types and of other random specs in a thorough corpus."""
MAX_CASES = 40
SEARCH = "fencepost.checker.native.search"
Case: TypeAlias = dict[str, Any]
"""The arguments of a test by name."""
SYMMETRIC = blocks(ROOT / "tests/support/symmetric.txt")


@dataclass(slots=True)
class Entry:
    """A part of the corpus. ``reach`` only generates the code and returns it; ``lines`` are the
    lines that this executes, by file. ``code`` is the result with the original code.
    """

    name: str
    run: Callable[[], object]
    reach: Callable[[], object]
    seconds: float = 0.0
    code: object = None
    lines: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])


# ---------------------------------------------------------------- the corpus


def small() -> Iterator[Entry]:
    """The cheapest entries."""
    for example in EXAMPLES:
        model = probing(model_of(example.text))
        yield _entry(f"example {example.name}", model, Extent(20, 20, 2_000))
    for block in SYMMETRIC:
        yield _orbits(f"orbits {block.name}", block.text)
    every_code = test_lawful.test_every_code_of_a_small_type
    for values in _marked(every_code)[::4]:
        yield _unit("native.test_lawful", every_code.__name__, [values])


def corpus(large: int, random: int, models: bool) -> Iterator[Entry]:
    """All entries, with the given numbers of random specs with large types and of other random
    specs, and optionally the shipped models.
    """
    yield from units()
    yield from small()
    for hostile in SPECS:
        model = probing(model_of(hostile.text))
        yield _entry(f"hostile {hostile.name}", model, Extent(12, 25, 6_000))
    yield from grown_entries(large, random)
    for path in MODELS if models else ():
        read = program.load(path)
        check = next((check for check in read.checks if not check.slow), None)
        if check is not None:
            model = probing(program.build(read, check))
            yield _entry(f"model {path.stem}", model, Extent(25, 15, 1_500))


def grown_entries(large: int, random: int) -> Iterator[Entry]:
    """Random specs, ``large`` of them with large types."""
    for seed in range(large):
        model = comparing(probing(model_of(grown_large(seed))), seed)
        yield _entry(f"large {seed}", model, Extent(8, 30, 1_500), seed)
    for seed in range(random):
        model = probing(model_of(grown(seed)))
        yield _entry(f"random {seed}", model, Extent(15, 20, 1_500), seed)
    for seed in range(random):
        # A loop may send to an ordered channel, which is refused.
        with suppress(Rejected):
            yield _orbits(f"random orbits {seed}", grown_orbits(seed))


def _orbits(name: str, text: str) -> Entry:
    """A search of orbits, compared with the interpreter's search of all states."""
    search = run_of_model(model_of(text), limits=Limits(depth=6, workers=1), keep_going=True)
    model = search.model
    expected = replace(search, symmetry=False).by(REFERENCE)
    visited = search.outcome(REFERENCE).statistics.orbits

    def run() -> None:
        # Imported by name, since a child has another module of this name.
        outcome = search.outcome(importlib.import_module(SEARCH).Local("quick"))
        assert summary(model, outcome) == expected
        assert outcome.statistics.orbits == visited

    def reach() -> str:
        module = importlib.import_module(SEARCH)
        text: str = module.translated(model, Layout(model), search.properties, symmetric=True)[
            0
        ].text
        return text

    return Entry(name, run, reach)


def _entry(name: str, model: Model, extent: Extent, seed: int = 0) -> Entry:
    tape = Tape(Interpreter(model))

    def run() -> None:
        # Imported by name, since a child has another module of this name.
        module = importlib.import_module("tests.support.steps_agreement")
        module.agree(model, extent, seed, guarded=True, interpreter=tape)

    def again() -> None:
        tape.rewind()
        run()

    def reach() -> bytes:
        steps = importlib.import_module("tests.support.native_steps")
        layout, random = steps.Layout(model), Random(seed)
        everything = frozenset(range(len(model.properties)))
        unit, generated = steps.written(model, layout, everything)
        digest = sha256(str(unit.module).encode())
        digest.update(repr(generated).encode())
        for _ in range(8):
            state = tuple(
                random_values.value(random, variable.type) for variable in model.variables
            )
            packed = layout.encode(state)
            digest.update(repr((packed, layout.decode(packed))).encode())
        return digest.digest()

    first = [run]
    return Entry(name, lambda: first.pop()() if first else again(), reach)


def units() -> Iterator[Entry]:
    """Tests of the layout, the emitter, states and tours, which need no model."""
    for name in ("test_a_tour_visits_every_arrangement_once", "test_tours_among_ties"):
        yield _unit("test_symmetry", name, _marked(getattr(test_symmetry, name)))
    for name in dir(test_layout):
        if name.startswith("test_"):
            yield _unit("test_layout", name, _marked(getattr(test_layout, name)))
    for name in dir(test_emitter):
        if name.startswith("test_"):
            for values in _marked(getattr(test_emitter, name)):
                yield _unit("native.test_emitter", name, [values])
    for name in ("test_every_code_of_a_small_type", "test_a_wide_type", "test_random_types"):
        for values in _marked(getattr(test_lawful, name)):
            yield _unit("native.test_lawful", name, [values])


def _unit(module: str, name: str, cases: Sequence[Case]) -> Entry:
    def run() -> None:
        # Imported by name, since a child may have another module of this name.
        test = getattr(importlib.import_module(f"tests.checker.{module}"), name)
        for case in cases:
            test(**case)

    label = " ".join([module, name, *map(str, cases[0].values() if len(cases) == 1 else ())])
    return Entry(label, run, run)


def _marked(test: Any) -> list[Case]:
    """The arguments of a test's parametrization, at most `MAX_CASES`."""
    cases: list[Case] = [{}]
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            several = not isinstance(mark.args[0], str)
            names = mark.args[0] if several else [mark.args[0]]
            rows = [row if several else [row] for row in mark.args[1]]
            cases = [
                {**case, **dict(zip(names, row, strict=True))} for case in cases for row in rows
            ]
    return cases[:MAX_CASES]


def measured(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that pass with the original code, with their cost and the lines they reach."""
    files = frozenset(path_of(name) for name in MODULES)
    kept: list[Entry] = []
    for entry in entries:
        reached = entry.lines

        def line(frame: FrameType, event: str, _: Any, reached: Any = reached) -> Any:
            if event == "line":
                reached.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: FrameType, _: str, __: Any, line: Any = line) -> Any:
            if frame.f_code.co_filename not in files:
                return None
            line(frame, "line", None)
            return line

        try:
            forget()
            sys.settrace(call)
            try:
                entry.code = entry.reach()
            finally:
                sys.settrace(None)
            # Includes the interpreter's work, which is not repeated.
            before = time.process_time()
            entry.run()
            entry.seconds = time.process_time() - before
        except Exception as error:
            print(f"left out: {entry.name}: {error!r}"[:300], file=sys.stderr)
            continue
        kept.append(entry)
        print(f"{entry.name}: {entry.seconds:.2f} s", file=sys.stderr)
    return sorted(kept, key=lambda entry: entry.seconds)


def forget() -> None:
    """Empties the caches of functions, so that their lines are reached again."""
    for name in MODULES:
        for item in vars(sys.modules[name]).values():
            if hasattr(item, "cache_clear") and not isinstance(item, type):
                item.cache_clear()


def source_of(name: str) -> str:
    """The text of a module."""
    return Path(path_of(name)).read_text(encoding="utf-8")


def path_of(name: str) -> str:
    """The file of a module."""
    return str(importlib.import_module(name).__file__)
