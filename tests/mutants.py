"""Mutants of the layout and of the generated code: which changes does no comparison notice?

    python -m tests.mutants run --results mutants.jsonl [--module NAME]... [--seconds S]
    python -m tests.mutants table --results mutants.jsonl

``run`` makes every mutant of `MODULES` (see `tests.mutation`), one at a time, in a child process
that loads the changed module in place of the right one. There the entries of the corpus that reach
the changed line are compared with the interpreter until one notices: by a difference, an exception,
a fault of guarded code (see `tests.checker.guarded`), a crash, or by not coming to an end. Entries
of which the machine code is letter by letter what it was, and the packing of some states too, can
hardly notice, and are not run; those that noticed neighbours come first, then the cheap ones. It
writes one line of JSON for each mutant and goes on where it was stopped. It takes one core for an
hour or two, so it is a command and no test; ``--every 20`` takes a sample.

``table`` prints how many mutants of each module were caught, and the survivors, in Markdown:
`docs/mutants-native.md` is made of it, with the reason for each survivor.
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from types import CodeType, FrameType, ModuleType
from typing import Any

import click
from tests import mutation
from tests.agreement import loaded
from tests.checker import drawn
from tests.checker.core_models import grown_core
from tests.checker.steps_agreement import Extent, Interpreter, Tape, probing
from tests.checker.test_hostile import SPECS
from tests.examples import EXAMPLES
from tests.mutation import Mutant
from tests.shipped import MODELS
from tests.strategies import grown

from fencepost.spec import program
from fencepost.spec.ir import Model

MODULES = (
    "fencepost.checker.layout",
    "fencepost.checker.native.emitter",
    "fencepost.checker.native.values",
    "fencepost.checker.native.order",
    "fencepost.checker.native.collections",
    "fencepost.checker.native.expressions",
    "fencepost.checker.native.domain",
    "fencepost.checker.native.frame",
    "fencepost.checker.native.frames",
    "fencepost.checker.native.scan",
    "fencepost.checker.native.compile",
)
RELOADED = (
    *MODULES,
    "tests.core",
    "tests.checker.guarded",
    "tests.checker.native_steps",
    "tests.checker.steps_agreement",
    "tests.checker.test_emitter",
    "tests.checker.test_layout",
)
"""What a child loads anew, in this order: the modules, and whoever uses them."""
ROOT = Path(__file__).resolve().parents[1]
CORES = 80
RANDOM = 60
SECONDS = 40
"""After so many seconds a mutant survives."""
NEAR = 25
"""An entry that noticed a mutant so many lines away is likely to notice this one."""
MEMORY = 6 << 30


@dataclass(slots=True)
class Entry:
    """A part of the corpus. ``reach`` makes the code, and no more, and gives back what it is;
    ``lines`` are those that it reaches, by file. ``code`` is what the right code gives back.
    """

    name: str
    run: Callable[[], object]
    reach: Callable[[], bytes | None]
    seconds: float = 0.0
    code: bytes | None = None
    lines: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])


# ---------------------------------------------------------------- the corpus


def small() -> Iterator[Entry]:
    """The entries that cost least."""
    for example in EXAMPLES:
        model = probing(program.build(loaded(example.text), None))
        yield _entry(f"example {example.name}", model, Extent(20, 20, 2_000))


def corpus() -> Iterator[Entry]:
    """All entries."""
    yield Entry("layout", _layout, lambda: _layout())
    yield Entry("emitter", _emitter, lambda: _emitter())
    yield from small()
    for hostile in SPECS:
        model = probing(program.build(loaded(hostile.text), None))
        yield _entry(f"hostile {hostile.name}", model, Extent(12, 25, 6_000))
    yield from grown_entries(CORES, RANDOM)
    for path in MODELS:
        read = program.load(path)
        check = next((check for check in read.checks if not check.slow), None)
        if check is not None:
            model = probing(program.build(read, check))
            yield _entry(f"model {path.stem}", model, Extent(25, 15, 1_500))


def grown_entries(cores: int, random: int) -> Iterator[Entry]:
    """Random models in core, and random specs."""
    for seed in range(cores):
        yield _entry(f"core {seed}", probing(grown_core(seed)), Extent(8, 30, 1_500), seed)
    for seed in range(random):
        read = loaded(grown(seed))
        model = probing(program.build(read, read.checks[0]))
        yield _entry(f"random {seed}", model, Extent(15, 20, 1_500), seed)


def _entry(name: str, model: Model, extent: Extent, seed: int = 0) -> Entry:
    tape = Tape(Interpreter(model))

    def run() -> None:
        # By its name, for a child has another module of this name.
        module = importlib.import_module("tests.checker.steps_agreement")
        module.agree(model, extent, seed, guarded=True, interpreter=tape)

    def again() -> None:
        tape.rewind()
        run()

    def reach() -> bytes:
        steps = importlib.import_module("tests.checker.native_steps")
        layout, random = steps.Layout(model), Random(seed)
        everything = frozenset(range(len(model.properties)))
        unit, generated = steps.written(model, layout, everything)
        digest = sha256(str(unit.module).encode())
        digest.update(repr(generated).encode())
        for _ in range(8):
            state = tuple(drawn.value(random, variable.type) for variable in model.variables)
            packed = layout.encode(state)
            digest.update(repr((packed, layout.decode(packed))).encode())
        return digest.digest()

    first = [run]
    return Entry(name, lambda: first.pop()() if first else again(), reach)


def _layout() -> None:
    module = importlib.import_module("tests.checker.test_layout")
    for seed in range(40):
        module.test_packs_random_states_without_loss(seed)
        module.test_variables_do_not_overlap(seed)
    for name in dir(module):
        test = getattr(module, name)
        marks = getattr(test, "pytestmark", None)
        if not name.startswith("test_"):
            continue
        if marks is None:
            test()
            continue
        (mark,) = marks
        for values in mark.args[1]:
            test(*(values if isinstance(mark.args[0], tuple) else (values,)))


def _emitter() -> None:
    module = importlib.import_module("tests.checker.test_emitter")
    for name in module.WORDS:
        module.test_words(name)
    for name in module.FLAGS:
        module.test_flags(name)
    module.test_what_has_one_operand()
    module.test_a_choice_between_two()


def measured(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that the right code passes, with their cost and what they reach."""
    files = frozenset(_path_of(name) for name in MODULES)
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
            _forget()
            sys.settrace(call)
            try:
                entry.code = entry.reach()
            finally:
                sys.settrace(None)
            # With what the interpreter does, which is not done again.
            before = time.process_time()
            entry.run()
            entry.seconds = time.process_time() - before
        except Exception as error:
            print(f"left out: {entry.name}: {error!r}"[:300], file=sys.stderr)
            continue
        kept.append(entry)
        print(f"{entry.name}: {entry.seconds:.2f} s", file=sys.stderr)
    return sorted(kept, key=lambda entry: entry.seconds)


def _forget() -> None:
    """Empties the caches of functions, so that their lines are reached again."""
    for name in MODULES:
        for item in vars(sys.modules[name]).values():
            if hasattr(item, "cache_clear"):
                item.cache_clear()


# ---------------------------------------------------------------- one mutant


class _Changed(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Loads one module from code that was changed."""

    def __init__(self, name: str, code: CodeType, path: str) -> None:
        self.name, self.code, self.path = name, code, path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=self.path)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a mutant: what noticed it, if anything did, and how many entries' code it
    changed before.
    """

    noticed: str
    changed: int


def tried(
    name: str, source: str, path: str, mutant: Mutant, entries: Sequence[Entry], seconds: float
) -> Trial:
    """Tries a mutant, in a child, for it may do anything."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _quiet()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        told = _notices(name, source, path, mutant, entries, seconds, writer)
        os.write(writer, f"{told}\n".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        said = lines.read().splitlines()
    _, status = os.waitpid(child, 0)
    last = said[-1] if said else "start"
    changed = sum(line.startswith("at ") for line in said)
    if os.WIFSIGNALED(status):
        kind = signal.Signals(os.WTERMSIG(status)).name
        return Trial(f"{last.removeprefix('at ').removeprefix('before ')}: {kind}", changed)
    return Trial(last.removeprefix("noticed ") if last.startswith("noticed ") else "", changed)


def _quiet() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def _notices(
    name: str,
    source: str,
    path: str,
    mutant: Mutant,
    entries: Sequence[Entry],
    seconds: float,
    writer: int,
) -> str:
    sys.setrecursionlimit(3_000)
    try:
        sys.meta_path.insert(0, _Changed(name, mutation.mutated(source, mutant, path), path))
        for loaded_name in RELOADED:
            sys.modules.pop(loaded_name, None)
        for loaded_name in RELOADED:
            importlib.import_module(loaded_name)
    except BaseException as error:
        return f"noticed import: {type(error).__name__}"
    before = time.process_time()
    for entry in entries:
        os.write(writer, f"before {entry.name}\n".encode())
        now = time.process_time()
        if now - before > seconds:
            break
        most = int(now + 4 + 8 * entry.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        try:
            if entry.code is not None and entry.reach() == entry.code:
                continue
            os.write(writer, f"at {entry.name}\n".encode())
            entry.run()
        except BaseException as error:
            return f"noticed {entry.name}: {type(error).__name__}"
    return "survives"


class Order:
    """In which order entries are tried: who noticed neighbours comes first."""

    def __init__(self) -> None:
        self._killers: defaultdict[str, list[int]] = defaultdict(list)

    def noticed(self, entry: str, line: int) -> None:
        """Remembers who noticed a mutant of a line."""
        self._killers[entry].append(line)

    def sorted(self, entries: Sequence[Entry], line: int) -> list[Entry]:
        """The entries for a mutant of a line."""

        def cost(entry: Entry) -> float:
            near = sum(abs(line - other) <= NEAR for other in self._killers[entry.name])
            return (entry.seconds + 0.05) / (1 + near)

        return sorted(entries, key=cost)


def source_of(name: str) -> str:
    """The text of a module."""
    return Path(_path_of(name)).read_text(encoding="utf-8")


def _path_of(name: str) -> str:
    return str(importlib.import_module(name).__file__)


def trials(
    name: str, chosen: Sequence[Mutant], entries: Sequence[Entry], seconds: float
) -> Iterator[dict[str, Any]]:
    """What came of mutants of a module, one by one, in the order of its text."""
    source, path = source_of(name), _path_of(name)
    inside, order = mutation.functions(source), Order()
    for mutant in chosen:
        reaching = list(entries)
        if mutant.line in inside:
            reaching = [entry for entry in entries if (path, mutant.line) in entry.lines]
        trial = Trial("", 0)
        if reaching:
            reaching = order.sorted(reaching, mutant.line)
            trial = tried(name, source, path, mutant, reaching, seconds)
            order.noticed(trial.noticed.partition(":")[0], mutant.line)
        yield {
            "module": name,
            "line": mutant.line,
            "node": mutant.node,
            "choice": mutant.choice,
            "before": mutant.before,
            "after": mutant.after,
            "reached": len(reaching),
            "changed": trial.changed,
            "noticed": trial.noticed,
        }


# ---------------------------------------------------------------- the command


@click.group()
def main() -> None:
    """Mutants of the layout and of the generated code."""


@main.command()
@click.option("--results", type=click.Path(path_type=Path), required=True)
@click.option("--module", "modules", multiple=True, help="only modules whose names end so")
@click.option("--every", default=1, help="only every so many-th mutant")
@click.option("--again", is_flag=True, help="only the survivors of earlier runs, once more")
@click.option("--seconds", default=SECONDS, help="how much is tried on a mutant that survives")
def run(results: Path, modules: tuple[str, ...], every: int, again: bool, seconds: int) -> None:
    """Tries the mutants that have no result yet."""
    chosen = [name for name in MODULES if not modules or name.endswith(modules)]
    known = _read(results)
    entries = measured(list(corpus()))
    gc.freeze()
    with results.open("a", encoding="utf-8") as out:
        for name in chosen:
            wanted = [
                mutant
                for mutant in mutation.mutants(source_of(name))[::every]
                if _is_wanted(known.get((name, mutant.line, mutant.node, mutant.choice)), again)
            ]
            for record in trials(name, wanted, entries, seconds):
                out.write(json.dumps(record) + "\n")
                out.flush()


def _is_wanted(earlier: dict[str, Any] | None, again: bool) -> bool:
    return earlier is None or (again and not earlier["noticed"])


@main.command()
@click.option("--results", type=click.Path(path_type=Path, exists=True), required=True)
def table(results: Path) -> None:
    """Prints what was caught, and what was not."""
    known = _read(results)
    counts: Counter[tuple[str, str]] = Counter()
    for record in known.values():
        kind = "caught" if record["noticed"] else "survived" if record["reached"] else "not reached"
        counts[record["module"], kind] += 1
    click.echo(
        "| module | mutants | caught | survived | not reached |\n| --- | --- | --- | --- | --- |"
    )
    for name in MODULES:
        numbers = [counts[name, kind] for kind in ("caught", "survived", "not reached")]
        click.echo(
            f"| {name.removeprefix('fencepost.')} | {sum(numbers)} | "
            + " | ".join(map(str, numbers))
            + " |"
        )
    click.echo("\n| where | written | changed to |\n| --- | --- | --- |")
    for record in known.values():
        if not record["noticed"]:
            place = f"{record['module'].rpartition('.')[2]}:{record['line']}"
            reached = "" if record["reached"] else " (not reached)"
            click.echo(f"| {place}{reached} | `{record['before']}` | `{record['after']}` |")


def _read(results: Path) -> dict[tuple[str, int, int, int], dict[str, Any]]:
    """The last result of each mutant."""
    if not results.exists():
        return {}
    records = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {(r["module"], r["line"], r["node"], r["choice"]): r for r in records}


if __name__ == "__main__":
    main()
