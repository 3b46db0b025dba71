"""Diagnoses the installation: Python, memory, processors, and each engine on a small spec.

The diagnosis creates the user's key if it does not exist. It changes nothing else.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from fencepost import __version__
from fencepost.checker import engines
from fencepost.checker.engines import COUNTING, ENGINES
from fencepost.checker.native.machine.code_cache import Cache, written_by_another_key
from fencepost.checker.outcome import Verdict
from fencepost.checker.printing.units import size
from fencepost.checker.request import Limits, ignored
from fencepost.checker.resources import processors
from fencepost.checker.run.check import load, perform, prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.user_key import Unusable, key_path, read_key
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected

State = Literal["works", "missing", "fails"]
SPEC = """\
var x: 0..3 = 0
action up: require x < 3; x += 1
invariant Small: x < 3
invariant Held: x >= 0
terminal: true
check c:
    expect violated Small
"""
DEPTH = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnosis. ``needed`` means that Fencepost is useless unless this works."""

    topic: str
    state: State
    detail: str
    needed: bool = False


def findings() -> Iterator[Finding]:
    """Yields all diagnoses in order."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("fencepost", "works", f"{__version__}, on Python {python} ({sys.executable})")
    yield Finding("processors", "works", str(processors()))
    yield Finding("memory", "works", _memory())
    yield _key()
    yield _cache()
    for name in COUNTING:
        yield _engine(name)


def _key() -> Finding:
    key = read_key()
    if isinstance(key, Unusable):
        return Finding("key", "missing", f"{key}: checkpoints are not signed")
    return Finding("key", "works", f"{key_path()}")


def _cache() -> Finding:
    cache = Cache()
    obstacle = cache.obstacle()
    if obstacle is not None:
        return Finding("cache", "missing", f"{obstacle}: nothing is cached")
    foreign, entries = cache.foreign(whole=True)
    if foreign:
        return Finding("cache", "works", written_by_another_key(foreign, entries))
    return Finding("cache", "works", f"{entries:,} {'entry' if entries == 1 else 'entries'}")


def _memory() -> str:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        whole, free = (os.sysconf(f"SC_{kind}_PAGES") * page for kind in ("PHYS", "AVPHYS"))
    except (AttributeError, ValueError, OSError):
        return "the system does not report it"
    return f"{size(whole)}, {size(free)} of it free"


def _engine(name: str) -> Finding:
    topic = f"engine {name}"
    needed = engines.expected(name)
    try:
        engine = engines.load(name)
    except Rejected as rejected:
        # An engine with optional dependencies is not broken if these are missing.
        return Finding(topic, "fails" if needed else "missing", _told(rejected), needed)
    library = engine.library or "needs only Python"
    if ENGINES[name].slow_start:
        return Finding(topic, "works", f"{library}; its requirements are met, but it was not run")
    try:
        wrong = _trial(name)
    except Rejected as rejected:
        wrong = _told(rejected)
    if wrong is not None:
        return Finding(topic, "fails", wrong, needed)
    return Finding(topic, "works", f"{library}; it checks a small spec correctly")


def _told(rejected: Rejected) -> str:
    return rejected.problems[0].message


def _trial(name: str) -> str | None:
    """Explains why an engine's verdict on the small spec is wrong. Returns None if it is right."""
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        path = Path(folder, "doctor.fence")
        path.write_text(SPEC, encoding="utf-8")
        program = load(path)
        limits = Limits(depth=DEPTH if ENGINES[name].needs_depth else None)
        proves = ENGINES[name].proves
        properties = ("Held",) if proves else ("Small",)
        settings = Settings({}, properties, name, limits)
        result = perform(prepare(program, program.checks[0], settings), ignored)
    verdict, wanted = result.outcome.verdict, Verdict.OK if proves else Verdict.VIOLATED
    return None if verdict is wanted else f"it finds {verdict.value} instead of {wanted.value}"
