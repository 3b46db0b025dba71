"""What comes of a mutant: which entry of the corpus notices it, if any does.

Each is tried in a child process, for it may do anything. Most often the child gives one function
of a module that is loaded already the changed code; where more than a function is changed it loads
the modules anew.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import inspect
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from bench.engine_mutants import changes
from bench.engine_mutants.changes import Mutant
from bench.engine_mutants.corpus import MODULES, Entry, forget, path_of, source_of

RELOADED = (
    *MODULES,
    "fencepost.checker.native.search",
    "fencepost.checker.native.saving.lawful",
    "tests.support.core_builders",
    "tests.support.memory_guard",
    "tests.support.native_steps",
    "tests.support.steps_agreement",
    "tests.checker.native.test_emitter",
    "tests.checker.test_layout",
    "tests.checker.native.test_lawful",
    "tests.checker.test_symmetry",
)
"""What a child loads anew, in this order: the modules, and whoever uses them."""
SECONDS = 10
"""The seconds of work after which a mutant has survived."""
NEAR = 25
"""An entry that noticed a mutant so many lines away is likely to notice this one."""
MEMORY = 4 << 30
DEEP = 3_000
"""How deep calls may go in a child."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a mutant: what noticed it, if anything did, how many entries' code it changed
    before, how many were looked at, and the seconds of work.
    """

    noticed: str
    changed: int
    looked: int
    seconds: float


class Order:
    """In which order entries are tried: who noticed neighbours comes first."""

    def __init__(self) -> None:
        self._killers: defaultdict[str, list[int]] = defaultdict(list)

    def noticed(self, entry: str, line: int) -> None:
        """Remembers who noticed a mutant of a line."""
        self._killers[entry].append(line)

    def near(self, entry: Entry, line: int) -> int:
        """How many mutants nearby an entry noticed."""
        return sum(abs(line - other) <= NEAR for other in self._killers[entry.name])

    def sorted(self, entries: Iterable[Entry], line: int) -> list[Entry]:
        """The entries for a mutant of a line."""

        def cost(entry: Entry) -> float:
            return (entry.seconds + 0.05) / (1 + self.near(entry, line))

        return sorted(entries, key=cost)


def trials(
    name: str, chosen: Sequence[Mutant], entries: Sequence[Entry], seconds: float, order: Order
) -> Iterator[dict[str, Any]]:
    """What came of mutants of a module, one by one, in the order given."""
    source, path = source_of(name), path_of(name)
    inside = changes.functions(source)
    for mutant in chosen:
        reaching = list(entries)
        if mutant.line in inside:
            reaching = [entry for entry in entries if (path, mutant.line) in entry.lines]
        trial = Trial("", 0, 0, 0.0)
        if reaching:
            reaching = order.sorted(reaching, mutant.line)
            likely = {entry.name for entry in reaching if order.near(entry, mutant.line)}
            code = changes.mutated(source, mutant, path)
            trial = tried(name, code, path, reaching, likely, seconds)
            order.noticed(trial.noticed.partition(":")[0], mutant.line)
        yield {
            "module": name,
            "line": mutant.line,
            "node": mutant.node,
            "choice": mutant.choice,
            "kind": mutant.kind,
            "function": mutant.function,
            "before": mutant.before,
            "after": mutant.after,
            "reached": len(reaching),
            "looked": trial.looked,
            "changed": trial.changed,
            "noticed": trial.noticed,
            "seconds": round(trial.seconds, 2),
        }


def tried(
    name: str,
    code: CodeType,
    path: str,
    entries: Sequence[Entry],
    likely: frozenset[str] | set[str],
    seconds: float,
) -> Trial:
    """Tries the code of a module that was changed, in a child.

    This process has one thread: in the child of a process with several, a lock that another thread
    held would be held for ever.

    Entries that are not ``likely`` to notice are asked first whether their code has changed at all.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _quiet()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        told = _notices(name, code, path, entries, likely, seconds, writer)
        os.write(writer, f"{told}\n".encode())
        os._exit(0)
    os.close(writer)
    patience = 60 + 30 * max(entry.seconds for entry in entries)
    said = _said_by(child, reader, patience).splitlines()
    _, status, used = os.wait4(child, 0)
    last = said[-1] if said else "start"
    counted = (
        sum(line.startswith("at ") for line in said),
        sum(line.startswith("before ") for line in said),
        used.ru_utime + used.ru_stime,
    )
    if os.WIFSIGNALED(status):
        kind = signal.Signals(os.WTERMSIG(status)).name
        return Trial(f"{last.removeprefix('at ').removeprefix('before ')}: {kind}", *counted)
    noticed = last.removeprefix("noticed ") if last.startswith("noticed ") else ""
    return Trial(noticed, *counted)


def _said_by(child: int, reader: int, patience: float) -> str:
    """What a child writes until it ends. One that waits for ever, and so uses no processor and gets
    no signal from its own timer, is killed after ``patience`` seconds without a word.
    """
    parts: list[bytes] = []
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], patience)
            if not ready:
                os.kill(child, signal.SIGKILL)
                break
            part = pipe.read(1 << 16)
            if not part:
                break
            parts.append(part)
    return b"".join(parts).decode()


def _quiet() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def _notices(
    name: str,
    code: CodeType,
    path: str,
    entries: Sequence[Entry],
    likely: frozenset[str] | set[str],
    seconds: float,
    writer: int,
) -> str:
    sys.setrecursionlimit(DEEP)
    try:
        install(name, code, path)
    except BaseException as error:
        return f"noticed import: {type(error).__name__}"
    start = time.process_time()
    for entry in entries:
        now = time.process_time()
        if now - start > seconds:
            break
        os.write(writer, f"before {entry.name}\n".encode())
        # Who does not come to an end is ended by the signal.
        signal.setitimer(signal.ITIMER_PROF, 2 + 6 * entry.seconds)
        try:
            asked = entry.name not in likely and entry.code is not None
            if asked and entry.reach() == entry.code:
                continue
            os.write(writer, f"at {entry.name}\n".encode())
            entry.run()
        except BaseException as error:
            return f"noticed {entry.name}: {type(error).__name__}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    return "survives"


# ---------------------------------------------------------------- changed modules


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


def install(name: str, code: CodeType, path: str) -> None:
    """From now on, this process runs ``code`` for the module ``name``."""
    forget()
    if _patched(sys.modules[name], code):
        return
    sys.meta_path.insert(0, _Changed(name, code, path))
    for loaded in RELOADED:
        sys.modules.pop(loaded, None)
    for loaded in RELOADED:
        importlib.import_module(loaded)


def _patched(module: ModuleType, code: CodeType) -> bool:
    """Gives one function of a loaded module its new code; False if it is not just one."""
    functions = {
        (made.__code__.co_qualname, made.__code__.co_firstlineno): made
        for made in _functions(module)
    }
    changed: list[tuple[FunctionType, CodeType]] = []
    for new in _outermost(code):
        old = functions.get((new.co_qualname, new.co_firstlineno))
        if old is not None and old.__code__ != new:
            changed.append((old, new))
    if len(changed) != 1:
        return False
    ((function, new),) = changed
    if function.__code__.co_freevars != new.co_freevars:
        return False
    function.__code__ = new
    return True


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions that a module or its classes define, without what is wrapped around them."""
    for item in vars(module).values():
        inner = vars(item).values() if inspect.isclass(item) else [item]
        for part in inner:
            part = part.fget if isinstance(part, property) else inspect.unwrap(part)
            if isinstance(part, FunctionType) and part.__module__ == module.__name__:
                yield part


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """The codes of functions that stand in no other function."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_OPTIMIZED:
                yield part
            else:
                yield from _outermost(part)
