"""Trials of mutants: which corpus entry, if any, notices a mutant.

Each mutant runs in a child process, since it may do anything. Usually the child replaces the code
of one function in a loaded module; if a change affects more than one function, the child reloads
the modules.
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
"""The modules that a child reloads, in this order, and the modules that use them."""
SECONDS = 10
"""Processor seconds after which a mutant has survived."""
NEAR_LINES = 25
"""An entry that noticed a mutant within this number of lines is likely to notice this one."""
MEMORY = 4 << 30
DEEP = 3_000
"""Recursion limit in a child."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result for a mutant: the entry that noticed it, if any, the number of entries before it
    with changed code, the number of examined entries, and the processor seconds.
    """

    noticed: str
    changed: int
    examined: int
    seconds: float


class Order:
    """The order of entries: those that noticed mutants of nearby lines come first."""

    def __init__(self) -> None:
        self._killers: defaultdict[str, list[int]] = defaultdict(list)

    def noticed(self, entry: str, line: int) -> None:
        """Records that an entry noticed a mutant of a line."""
        self._killers[entry].append(line)

    def near(self, entry: Entry, line: int) -> int:
        """The number of nearby mutants that an entry noticed."""
        return sum(abs(line - other) <= NEAR_LINES for other in self._killers[entry.name])

    def sorted(self, entries: Iterable[Entry], line: int) -> list[Entry]:
        """The entries in the order to try them on a mutant of this line."""

        def cost(entry: Entry) -> float:
            return (entry.seconds + 0.05) / (1 + self.near(entry, line))

        return sorted(entries, key=cost)


def trials(
    name: str, chosen: Sequence[Mutant], entries: Sequence[Entry], seconds: float, order: Order
) -> Iterator[dict[str, Any]]:
    """The results for mutants of a module, in the order of ``chosen``."""
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
            "examined": trial.examined,
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
    """Tries the changed code of a module in a child.

    This process must have one thread: in the child of a process with several threads, a lock held
    by another thread would never be released.

    Entries that are not ``likely`` to notice the mutant are first checked for a change of their
    code.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _quiet()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        reason = _notices(name, code, path, entries, likely, seconds, writer)
        os.write(writer, f"{reason}\n".encode())
        os._exit(0)
    os.close(writer)
    patience = 60 + 30 * max(entry.seconds for entry in entries)
    lines = _output_of(child, reader, patience).splitlines()
    _, status, used = os.wait4(child, 0)
    last = lines[-1] if lines else "start"
    counted = (
        sum(line.startswith("at ") for line in lines),
        sum(line.startswith("before ") for line in lines),
        used.ru_utime + used.ru_stime,
    )
    if os.WIFSIGNALED(status):
        kind = signal.Signals(os.WTERMSIG(status)).name
        return Trial(f"{last.removeprefix('at ').removeprefix('before ')}: {kind}", *counted)
    noticed = last.removeprefix("noticed ") if last.startswith("noticed ") else ""
    return Trial(noticed, *counted)


def _output_of(child: int, reader: int, patience: float) -> str:
    """The output of a child until it ends. A child that blocks uses no processor time, so its own
    timer does not fire; it is killed after ``patience`` seconds without output.
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
        # The signal ends an entry that does not terminate.
        signal.setitimer(signal.ITIMER_PROF, 2 + 6 * entry.seconds)
        try:
            code_first = entry.name not in likely and entry.code is not None
            if code_first and entry.reach() == entry.code:
                continue
            os.write(writer, f"at {entry.name}\n".encode())
            entry.run()
        except BaseException as error:
            return f"noticed {entry.name}: {type(error).__name__}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    return "survives"


# ---------------------------------------------------------------- changed modules


class _Changed(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Loads one module from changed code."""

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
    """Makes this process run ``code`` for the module ``name``."""
    forget()
    if _patched(sys.modules[name], code):
        return
    sys.meta_path.insert(0, _Changed(name, code, path))
    for loaded in RELOADED:
        sys.modules.pop(loaded, None)
    for loaded in RELOADED:
        importlib.import_module(loaded)


def _patched(module: ModuleType, code: CodeType) -> bool:
    """Replaces the code of one function of a loaded module; False if the change is not in exactly
    one.
    """
    functions = {
        (function.__code__.co_qualname, function.__code__.co_firstlineno): function
        for function in _functions(module)
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
    """The functions that a module or its classes define, without their wrappers."""
    for item in vars(module).values():
        inner = vars(item).values() if inspect.isclass(item) else [item]
        for part in inner:
            part = part.fget if isinstance(part, property) else inspect.unwrap(part)
            if isinstance(part, FunctionType) and part.__module__ == module.__name__:
                yield part


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """The codes of functions outside other functions."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_OPTIMIZED:
                yield part
            else:
                yield from _outermost(part)
