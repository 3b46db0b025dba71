"""Tests `fencepost export` with TLC: runs each check in both tools and compares the results.

    python -m bench.tlc --seed 1 --count 1000         random specs, as in the tests
    python -m bench.tlc --seed 1 --behaviours         random specs with fairness and a formula
    python -m bench.tlc --seed 1 --formulas 10        ... with 10 formulas of up to 30 operators
    python -m bench.tlc --seed 1 --refinements        random specs that may refine a module
    python -m bench.tlc --specs FOLDER                each .fence file of a folder
    python -m bench.tlc --shipped                     shipped models; the tables of `tlc_page`
    python -m bench.tlc --seed 7 --failures FILE      shrinks differences and saves them in FILE
    python -m bench.tlc --shipped --judge evaluator   reads the modules back, without TLC

Java and Maven must be installed (see `bench.tlc_run`). The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from tests.strategies import grown
from tests.strategies.behaviours import behaviour_spec, formulas_spec
from tests.strategies.reduction import reduced
from tests.strategies.refinements import refining
from tests.support.agreement import loaded
from tests.support.shipped import MODELS

from bench import places, tlc_page
from bench.evaluator_judge import EvaluatorJudge
from bench.machine import ROOT, load
from bench.tlc_agree import NAME, Comparison, Judge, Run, Side, compare, compare_formulas
from bench.tlc_run import TIMEOUT_SECONDS, NoTlc, Tlc
from fencepost.checker.run.check import prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export.module import exported
from fencepost.spec.elaborate.claims.program import Program
from fencepost.spec.elaborate.claims.program import load as load_spec
from fencepost.spec.text.problem import Rejected

PAGE = ROOT / "docs" / "export.md"
LISTING = ROOT / "bench" / "results" / "tlc.md"
FEW, MANY = 3_000, 20_000
"""Maximum number of distinct states for random specs, and for other specs."""
MAX_OPERATORS = 30
"""Maximum number of operators in a random formula of ``--formulas``."""
SHRINKING = 120.0
"""Time limit for shrinking a spec with a difference, in seconds."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec to compare: a file, or the text of a random spec. If ``check`` is set, only the check
    with this name is compared. With ``formulas``, each temporal property is compared separately.
    """

    name: str
    path: Path | None
    text: str
    most: int
    engine: str
    check: str | None = None
    formulas: bool = False

    def program(self) -> Program:
        """Loads the spec. Raises `Rejected`."""
        return loaded(self.text) if self.path is None else load_spec(self.path)


@dataclass(frozen=True, slots=True)
class Row:
    """A check that was compared. ``shown`` has a small spec and its module if the results
    differ.
    """

    spec: str
    check: str
    comparison: Comparison
    shown: str = ""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return _main(_parser().parse_args(), Path(folder))


def _main(options: argparse.Namespace, folder: Path) -> int:
    tlc: Judge = EvaluatorJudge(options.patience)
    if options.fetch or options.judge == "tlc":
        try:
            tlc = Tlc.locate(kept=options.keep, patience=options.patience)
        except NoTlc as reason:
            print(reason, file=sys.stderr)
            return 2
        if options.fetch:
            print(tlc.jar)
            return 0
    specs = [*_specs(options, folder)]
    if not specs:
        print("nothing to compare: see --help", file=sys.stderr)
        return 2
    before, began = load(), time.monotonic()
    results: list[Row] = []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=spawn) as pool:
        work = partial(rows, tlc=tlc, shrink=options.failures is not None)
        for done, spec_rows in enumerate(pool.map(work, specs), 1):
            for row in spec_rows:
                results.append(row)
                _print_row(row, options.verbose)
                if row.comparison.difference is not None and options.failures is not None:
                    with options.failures.open("a", encoding="utf-8") as file:
                        file.write(row.shown)
            if done % 50 == 0:
                print(f"{done} of {len(specs)}", file=sys.stderr, flush=True)
    print("\n".join(summary(results)))
    seconds = time.monotonic() - began
    print(f"{len(specs)} specs in {seconds:.0f} s; load before: {before:.1f}, after: {load():.1f}")
    wrong = any(row.comparison.difference is not None for row in results)
    if options.shipped and not options.models and options.judge == "tlc":
        compared = [(row.spec, row.check, row.comparison) for row in results]
        LISTING.write_text(tlc_page.listing(compared), encoding="utf-8")
        table = tlc_page.summary(compared, MANY)
        places.fill(PAGE, "python -m bench.tlc --shipped", table)
    return 1 if wrong else 0


def _specs(options: argparse.Namespace, folder: Path) -> Iterator[Spec]:
    if options.shipped:
        for path in MODELS:
            if not options.models or path.stem in options.models:
                # If a model with many checks were one task, it would keep one worker busy while the
                # others are idle.
                for check in load_spec(path).checks:
                    name = f"{path.parent.name}/{path.stem}"
                    yield Spec(name, path, "", MANY, "local", check.name)
    if options.specs is not None:
        for path in sorted(options.specs.glob("*.fence")):
            yield Spec(path.stem, path, "", MANY, "interpreter")
    if options.seed is not None:
        for seed in range(options.seed, options.seed + options.count):
            name = f"seed {seed}"
            if options.refinements:
                yield Spec(name, _refining(seed, folder / str(seed)), "", FEW, "interpreter")
                continue
            if options.formulas:
                # The engines alternate.
                engine = ("interpreter", "local")[seed % 2]
                text = _formulas(seed, options.formulas)
                yield Spec(name, None, text, FEW, engine, formulas=True)
                continue
            text = _behaviour(seed) if options.behaviours else grown(seed)
            yield Spec(name, None, text, FEW, "interpreter")


def _refining(seed: int, folder: Path) -> Path:
    """Writes a random spec that may refine a module into a new folder. Returns its path."""
    example = refining(Random(seed))
    folder.mkdir()
    (folder / "m.fence").write_text(example.module, encoding="utf-8")
    path = folder / "spec.fence"
    path.write_text(f"{example.spec}check c:\n    expect violated R\n", encoding="utf-8")
    return path


def _behaviour(seed: int) -> str:
    """Returns a random spec with a temporal property. The property does not use ``until``, which
    TLC lacks. If the spec has a constraint and the property is not within it, the export refuses
    the property. Deadlock is not checked.
    """
    depth = 3 if seed % 2 == 0 else 5
    text = behaviour_spec(Random(seed), until=False, depth=depth)
    return f"{text}check c:\n    expect violated P\n"


def _formulas(seed: int, count: int) -> str:
    """Returns a random spec with temporal properties. Deadlock is not checked."""
    text = formulas_spec(Random(seed), count, MAX_OPERATORS)
    return f"{text}check c:\n    expect violated P0\n"


def rows(spec: Spec, tlc: Judge, shrink: bool) -> list[Row]:
    """Compares the checks of a spec."""
    try:
        program = spec.program()
    except Rejected as rejected:
        return [Row(spec.name, "", Comparison(refused=rejected.problems[0].message))]
    if spec.formulas:
        return [
            Row(spec.name, "", comparison) for comparison in _formulas_compared(program, tlc, spec)
        ]
    results: list[Row] = []
    for number, check in enumerate(program.checks):
        if spec.check not in (None, check.name):
            continue
        comparison = _compared(program, number, tlc, spec)
        shown = ""
        if shrink and comparison.difference is not None:
            shown = _shown(spec, number, comparison.difference, tlc)
        results.append(Row(spec.name, check.name, comparison, shown))
    return results


def _compared(program: Program, number: int, tlc: Judge, spec: Spec) -> Comparison:
    try:
        reach = spec.path is None or spec.check is None
        return compare(program, program.checks[number], tlc, spec.most, spec.engine, reach)
    except Exception as error:  # Thousands of specs follow, so a bug counts as a difference.
        return _bug(error)


def _formulas_compared(program: Program, tlc: Judge, spec: Spec) -> list[Comparison]:
    try:
        return compare_formulas(program, program.checks[0], tlc, spec.most, spec.engine)
    except Exception as error:  # As in `_compared`: a bug counts as a difference.
        return [_bug(error)]


def _bug(error: Exception) -> Comparison:
    words = f"{type(error).__name__}: {error}"
    return Comparison((Run("the exporter", Side("a check"), Side("breaks"), f"bug: {words}"),))


# ---------------------------------------------------------------- output


def _print_row(row: Row, verbose: bool) -> None:
    where = f"{row.spec} {row.check}".rstrip()
    if row.comparison.refused is not None:
        if verbose:
            print(f"{where}: not compared: {row.comparison.refused}", flush=True)
        return
    for run in row.comparison.runs:
        if run.difference is not None:
            print(f"{where}: {run.subject}: DIFFERENT: {run.difference}", flush=True)
            print(f"    Fencepost: {run.ours}\n    TLC:       {run.theirs}", flush=True)
        elif verbose:
            print(f"{where}: {run.subject}: {run.ours}", flush=True)


def summary(results: Sequence[Row]) -> list[str]:
    """Returns lines that count the results of the checks."""
    compared = [row for row in results if row.comparison.refused is None]
    different = [row for row in compared if row.comparison.difference is not None]
    verdicts = Counter(re.split(r"[ ,:]", str(row.comparison.runs[0].ours))[0] for row in compared)
    reasons = Counter(
        re.sub(r'"[^"]*"|-?\d[\d,]*', "…", row.comparison.refused)
        for row in results
        if row.comparison.refused is not None
    )
    runs = sum(len(row.comparison.runs) for row in compared)
    return [
        f"{len(results)} checks, {len(compared)} compared in {runs} runs: "
        f"{len(compared) - len(different)} agree, {len(different)} differ",
        "compared: " + ", ".join(f"{count} {name}" for name, count in verdicts.most_common()),
        *(f"not compared, {count} times: {reason}" for reason, count in reasons.most_common()),
    ]


# ---------------------------------------------------------------- shrinking differences


def _shown(spec: Spec, number: int, wrong: Run, tlc: Judge) -> str:
    """Returns a small spec that differs in the same way, with both results, as Markdown."""
    until = time.monotonic() + SHRINKING
    kind = _kind(wrong)
    text = spec.text or (spec.path.read_text(encoding="utf-8") if spec.path else "")

    def fails(text: str) -> bool:
        return time.monotonic() < until and _differing(text, kind, tlc, spec) is not None

    number, run = number, wrong
    if fails(text):
        text = reduced(text, fails)
        failure = _differing(text, kind, tlc, spec)
        if failure is not None:
            number, run = failure
    module = ""
    try:
        program = loaded(text)
        export = exported(
            prepare(program, program.checks[number], Settings(engine="interpreter")), NAME
        )
        module = f"```tla\n{export.module}```\n\n```\n{export.configuration}```\n"
    except Exception as error:
        module = f"No module: {type(error).__name__}: {error}\n"
    return (
        f"\n## {spec.name}: {run.subject}: {run.difference}\n\n- Fencepost: {run.ours}\n"
        f"- TLC: {run.theirs}\n\n```fence\n{text}```\n\n{module}"
    )


def _differing(text: str, kind: str, tlc: Judge, spec: Spec) -> tuple[int, Run] | None:
    """Returns the first check of a spec that has a difference of this kind."""
    try:
        program = loaded(text)
    except Rejected:
        return None
    for number in range(len(program.checks)):
        run = _compared(program, number, tlc, spec).difference
        if run is not None and _kind(run) == kind:
            return number, run
    return None


def _kind(run: Run) -> str:
    """Returns a key that is equal for differences of the same kind: the subject of the search, and
    the message without numbers.
    """
    first = (run.difference or "").partition("\n")[0]
    return re.sub(r"\d+", "", f"{run.subject.partition(' ')[0]}: {first}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m bench.tlc", description="Runs checks in Fencepost and, after export, in TLC."
    )
    parser.add_argument(
        "--fetch", action="store_true", help="only download TLC, and print its path"
    )
    parser.add_argument("--shipped", action="store_true", help="the shipped models")
    parser.add_argument("--models", type=_words, default=[], help="only these shipped models")
    parser.add_argument("--specs", type=Path, metavar="FOLDER", help="each .fence file in it")
    parser.add_argument("--seed", type=int, metavar="N", help="random specs, from this seed on")
    parser.add_argument("--behaviours", action="store_true", help="random specs with fairness")
    parser.add_argument(
        "--formulas", type=int, metavar="K", help="random specs with K formulas each"
    )
    parser.add_argument(
        "--refinements", action="store_true", help="random specs that refine a module"
    )
    parser.add_argument(
        "--count", type=int, default=100, metavar="K", help="number of random specs"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="J", help="concurrent checks")
    parser.add_argument(
        "--patience",
        type=float,
        default=TIMEOUT_SECONDS,
        metavar="S",
        help="timeout of a run of the judge in seconds",
    )
    parser.add_argument(
        "--judge",
        choices=("tlc", "evaluator"),
        default="tlc",
        help="who judges the modules: TLC, or Fencepost's own evaluator of TLA+",
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="cache of TLC's answers")
    parser.add_argument("--failures", type=Path, metavar="FILE", help="save differences in FILE")
    parser.add_argument("--verbose", action="store_true", help="also print agreeing checks")
    return parser


def _words(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    sys.exit(main())
