"""Compares what reads TLA+ modules with TLC: `python -m bench.tla_oracles KIND FIRST COUNT`.

``random`` searches random modules, and compares the results with TLC's; with --record FILE, TLC's
results are written to a file for the tests. ``run`` only runs random modules.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.tla_modules import RandomModule, random_module
from tests.support.tla_runs import agree, random_result

from bench.tlc_run import CRASH, JAVA_OPTIONS, Answer, Broken, Tlc, answer
from fencepost.checker.request import Limits
from fencepost.checker.search.alarm import raised_after
from fencepost.spec.text.problem import Rejected

MAX_STATES = 2_000
MAX_SECONDS = 30.0
HEAP = "-Xmx512m"
UNDECIDED = "inconclusive"
UNASSIGNED = "is not completely specified"


class Hangs(Exception):
    """A module takes too long."""


def ours(folder: Path, module: RandomModule) -> str:
    """Returns the result of the evaluator for a module, in a line."""
    try:
        with raised_after(MAX_SECONDS, Hangs):
            return random_result(folder, module, Limits(max_states=MAX_STATES))
    except Rejected as rejected:
        return f"refused: {rejected.problems[0].message}"
    except Hangs:
        return "FAILS: it hangs"
    except Exception:
        return f"FAILS: {traceback.format_exc()}"


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


def compared(first: int, count: int, tlc: Tlc | None) -> Iterator[tuple[int, str, str]]:
    """Yields the seeds of random modules with the results of both sides. TLC's is empty if our
    search is not complete, or without TLC.
    """
    for seed in range(first, first + count):
        module = random_module(seed)
        with tempfile.TemporaryDirectory(prefix="fencepost-tla-") as folder:
            mine = ours(Path(folder), module)
            judged = tlc is not None and mine != UNDECIDED and not mine.startswith("FAILS")
            yield seed, mine, theirs(tlc, Path(folder), module) if tlc and judged else ""


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.tla_oracles", description=__doc__)
    parser.add_argument("kind", choices=["random", "run"])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--record", type=Path, metavar="FILE")
    options = parser.parse_args()
    tlc = Tlc.locate() if options.kind == "random" else None
    totals, recorded, wrong = Counter[str](), dict[str, str](), 0
    for seed, mine, other in compared(options.first, options.count, tlc):
        totals[mine.partition(",")[0].partition(":")[0]] += 1
        if other:
            recorded[str(seed)] = other
        if mine.startswith("FAILS") or (other and not agree(mine, other)):
            wrong += 1
            print(f"{seed}: ours {mine}\n  TLC's {other}", flush=True)
    print(f"{dict(totals)}; {wrong} wrong")
    if options.record:
        options.record.write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
