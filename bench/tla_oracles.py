"""Compares what reads TLA+ modules with TLC: `python -m bench.tla_oracles KIND FIRST COUNT`.

``random`` searches random modules, and compares the results with TLC's; with --record FILE, TLC's
results are written to a file for the tests. ``compiled`` compares the engine "compiled", with 1 to
3 workers and types that are inferred from one state, with the evaluator. ``run`` only runs random
modules, and ``broken`` runs damaged ones. ``damaged`` compares with SANY which damaged modules are
accepted.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn
from unittest import mock

from tests.support.paths import ROOT
from tests.support.tla_damaged import broken_module, damaged_module
from tests.support.tla_modules import RandomModule, random_module
from tests.support.tla_runs import accepted, agree, first_word, random_result

from bench.tlc_run import CRASH, JAVA_OPTIONS, Answer, Broken, Tlc, answer
from fencepost.checker.compiled import search
from fencepost.checker.evaluator.search import ENGINE as EVALUATOR
from fencepost.checker.request import Engine, Limits, Unsupported
from fencepost.spec.text.problem import Rejected

ORACLE = ROOT / "tests" / "support" / "SanyOracle.java"
MAX_STATES = 2_000
MAX_SECONDS = 30.0
"""Processor time of a search."""
HEAP = "-Xmx512m"
UNDECIDED = "inconclusive"
NOT_COMPILED = "it does not"
UNASSIGNED = "is not completely specified"


class Hangs(Exception):
    """A module takes too long."""


def ours(
    folder: Path, module: RandomModule, engine: Engine = EVALUATOR, workers: int | None = None
) -> str:
    """Returns the result of an engine for a module, in a line."""
    limits = Limits(max_states=MAX_STATES if engine is EVALUATOR else None, workers=workers)
    try:
        signal.signal(signal.SIGVTALRM, _hangs)
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
        return random_result(folder, module, limits, engine)
    except Unsupported as reason:
        return f"{NOT_COMPILED if NOT_COMPILED in str(reason) else 'FAILS'}: {reason}"
    except Rejected as rejected:
        return f"refused: {rejected.problems[0].message}"
    except Hangs:
        return "FAILS: it hangs"
    except Exception:  # Thousands of modules follow.
        return f"FAILS: {traceback.format_exc()}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _hangs(*_: object) -> NoReturn:
    raise Hangs


def theirs(tlc: Tlc, folder: Path, module: RandomModule) -> str:
    """Returns the result of TLC for a module that is written in a folder."""
    ran = subprocess.run(
        [
            tlc.java, *JAVA_OPTIONS, HEAP, f"-Djava.io.tmpdir={folder}", "-cp", str(tlc.jar),
            "tlc2.TLC", "-tool", "-nowarning", "-workers", "1", "-fp", "0",
            "-metadir", str(folder / "states"), f"{module.name}.tla",
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=tlc.patience,
        check=False,
    )  # fmt: skip
    try:
        return _line(answer(ran.stdout, ran.returncode, CRASH))
    except Broken as problem:
        return f"broken: {problem}"


def _line(result: Answer) -> str:
    if result.ended == "ok":
        counts = f"{result.distinct} distinct, {result.generated} generated"
        return f"ok, {counts}, depth {result.depth}" if result.distinct else "ok"
    named = f"violated {result.name}" if result.ended == "invariant" else result.ended
    partial = UNASSIGNED in result.message
    return f"{named}, {result.length} states" if result.length and not partial else named


def compared(
    make: Callable[[int], RandomModule], seeds: range, tlc: Tlc | None
) -> Iterator[tuple[int, str, str]]:
    """Yields the seeds of random modules with the results of both sides. TLC's is empty if our
    search is not complete, or without TLC.
    """
    for seed in seeds:
        module = make(seed)
        with tempfile.TemporaryDirectory(prefix="fencepost-tla-") as folder:
            mine = ours(Path(folder), module)
            judged = tlc is not None and mine != UNDECIDED and not mine.startswith("FAILS")
            yield seed, mine, theirs(tlc, Path(folder), module) if tlc and judged else ""


def compiled(seeds: range) -> Iterator[tuple[int, str, str]]:
    """Yields the seeds of random modules with the results of the engine "compiled" and of the
    evaluator, which is empty if its search is not complete or the module is not compiled.
    """
    for seed in seeds:
        module = random_module(seed)
        with tempfile.TemporaryDirectory(prefix="fencepost-tla-") as folder:
            expected = ours(Path(folder), module)
            if expected == UNDECIDED or first_word(expected) == "refused":
                yield seed, first_word(expected), ""
                continue
            for workers in (1, 2, 3):
                with mock.patch.object(search, "MAX_STATES", 1):
                    result = ours(Path(folder), module, search.ENGINE, workers)
                yield seed, result, "" if result.startswith(NOT_COMPILED) else expected


def sany(tlc: Tlc, folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Returns what SANY says about modules in a folder: "accepted", or "refused" and why."""
    ran = subprocess.run(
        [
            tlc.java, *JAVA_OPTIONS, f"-Djava.io.tmpdir={folder}", "-cp", str(tlc.jar),
            str(ORACLE), *names,
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=tlc.patience,
        check=True,
    )  # fmt: skip
    assert "@@end" in ran.stdout, ran.stdout
    answers = re.findall(r"^@@(\w+) (.*)$", ran.stdout, re.MULTILINE)
    return dict(answers)


def damaged(seeds: range, tlc: Tlc) -> Iterator[tuple[int, str, str]]:
    """Yields the seeds of damaged modules with the answers of both sides."""
    with tempfile.TemporaryDirectory(prefix="fencepost-tla-") as scratch:
        folder = Path(scratch)
        names = {f"D{seed}": seed for seed in seeds}
        for name, seed in names.items():
            (folder / f"{name}.tla").write_text(damaged_module(seed), encoding="utf-8")
        answers = sany(tlc, folder, [*names])
        for name, seed in names.items():
            yield seed, accepted(folder / f"{name}.tla"), answers[name]


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.tla_oracles", description=__doc__)
    parser.add_argument("kind", choices=["random", "run", "compiled", "broken", "damaged"])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--record", type=Path, metavar="FILE")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    tlc = Tlc.locate() if options.kind in ("random", "damaged") else None
    if options.kind == "damaged":
        assert tlc is not None
        results = damaged(seeds, tlc)
    elif options.kind == "compiled":
        results = compiled(seeds)
    else:
        results = compared(broken_module if options.kind == "broken" else random_module, seeds, tlc)
    totals, recorded, wrong = Counter[str](), dict[str, str](), 0
    for seed, mine, other in results:
        totals[first_word(mine)] += 1
        if other:
            recorded[str(seed)] = first_word(other) if options.kind == "damaged" else other
        if mine.startswith("FAILS") or (other and not agree(mine, other)):
            wrong += 1
            print(f"{seed}: ours {mine}\n  theirs {other}", flush=True)
    print(f"{dict(totals)}; {wrong} wrong")
    if options.record:
        options.record.write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
