"""Measures Z3: the time of bounded model checking by depth, and of induction by property.

    python -m bench.symbolic                     measures every case, and prints the tables
    python -m bench.symbolic verification_race   measures the cases of one spec
    python -m bench.symbolic --write             also bench/results/symbolic.json, docs/symbolic.md
    python -m bench.symbolic --pages             rewrites the page from saved results, runs nothing

Seconds are processor time, so that other work on the machine has little effect.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.machine import ROOT, load, this_machine
from bench.places import table
from fencepost.checker.request import Limits, Request
from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.bounded import BoundedSearch
from fencepost.checker.symbolic.inductive import StepCase
from fencepost.checker.symbolic.solver import Solver, Unknown
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import build, select
from fencepost.spec.elaborate.claims.program import load as load_spec

KEPT = ROOT / "bench" / "results" / "symbolic.json"
PAGE = ROOT / "docs" / "symbolic.md"
PLACE = re.compile(r"<!-- (?P<table>bounded|proved) -->\n.*?<!-- end of (?P=table) -->", re.S)


@dataclass(frozen=True, slots=True)
class Bound:
    """A check to search with ``bmc``, the maximum number of steps, and constants to change."""

    spec: str
    check: str
    depth: int
    constants: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The name of the check and its changed constants."""
        return ", ".join([self.check, *(f"{n} = {value}" for n, value in self.constants.items())])


@dataclass(frozen=True, slots=True)
class Proof:
    """A check whose invariants and lemmas are proved by induction."""

    spec: str
    check: str


BOUNDS = (
    Bound("kafka/epoch_arithmetic", "fence_bumps_twice_from_any", 4),
    Bound("kafka/epoch_arithmetic", "overflow_answer_from_any", 5),
    # Only RotateOnFence is disabled.
    Bound("kafka/epoch_arithmetic", "fence_bumps_twice_from_any", 8, {"SingleFenceBump": "true"}),
    Bound("kafka/verification_race", "unchecked_s1t", 10),
    Bound("kafka/txn_core_v1", "unverified_s1t", 10),
    Bound("kafka/txn_core_v2", "fence_bumps_twice_s11", 6),
    Bound("kafka/txn_group", "unverified_s12", 8),
    Bound("kafka/txn_idempotence", "first_sequence_s15gap", 6),
    Bound("kafka/txn_init", "last_epoch_lost_s9", 7),
    Bound("kafka/txn_read_committed", "watermark_twice", 6),
    Bound("kafka/txn_timeout", "without_l4fenced", 9),
    Bound("kafka/txn_upgrade", "no_bump_s2", 8),
    Bound("classics/two_phase_commit", "three", 14),
    Bound("classics/peterson", "writes_swapped", 7),
    Bound("classics/ewd840", "three", 14),
)
PROOFS = (
    Proof("kafka/epoch_arithmetic", "s8_for_ever"),
    Proof("classics/two_phase_commit", "three"),
    Proof("classics/transaction_commit", "three"),
    Proof("classics/ewd840", "three"),
)


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """The result of a search. ``seconds`` are the times until all paths of 0, 1, 2, ... steps were
    decided. ``found`` describes the problem and its number of steps; it is empty if there is none.
    """

    spec: str
    check: str
    found: str
    cut: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ProofTime:
    """The result of proving a property. ``open`` is the reason why the proof failed; it is empty if
    the proof succeeded.
    """

    spec: str
    check: str
    property: str
    open: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements, with the machine and the solver. ``load`` is the load average before and
    after the measurements.
    """

    machine: str
    solver: str
    load: tuple[float, float]
    searched: tuple[SearchTimes, ...]
    proved: tuple[ProofTime, ...]


# ---------------------------------------------------------------- measuring


class _Timed(BoundedSearch):
    """A bounded search that records when each depth is complete."""

    def __init__(self, request: Request) -> None:
        self.began = time.process_time()
        self.marks: list[float] = []
        super().__init__(request)

    def mark(self) -> None:
        """Records the time for each depth that has been completed since the last call."""
        while len(self.marks) < self.complete:
            self.marks.append(time.process_time() - self.began)

    def ask(self, question: object) -> object | None:
        self.mark()
        return super().ask(question)


def searched(case: Bound, patience: float) -> SearchTimes:
    """Runs one case of bounded model checking. ``patience`` is the timeout in seconds."""
    model, properties, deadlock = _model(case.spec, case.check, case.constants)
    terms.begin()
    limits = Limits(depth=case.depth, timeout=patience)
    search = _Timed(Request(model, properties, deadlock, limits))
    outcome = search.run()
    search.mark()
    problem = ""
    if outcome.findings:
        finding = outcome.findings[0]
        number = finding.property
        subject = finding.verdict.value if number is None else model.properties[number].name
        search.marks.append(time.process_time() - search.began)
        problem = f"{subject} after {finding.depth - 1} steps"
    cut = "" if outcome.limit is None or outcome.limit.kind == "depth" else str(outcome.limit)
    seconds = tuple(round(mark, 2) for mark in search.marks)
    return SearchTimes(case.spec, case.name, problem, cut, seconds)


def proved(case: Proof, patience: float) -> list[ProofTime]:
    """Proves the properties of a case together: each must follow from all of them in the previous
    state. ``patience`` is the timeout of each query in seconds. The first row has the time before
    the queries.
    """
    model, properties, _ = _model(case.spec, case.check, {})
    lemmas = {n for n, item in enumerate(model.properties) if item.kind.supports_proofs}
    chosen = frozenset(model.searched(properties | lemmas).must_hold)
    terms.begin()
    began = time.process_time()
    first = BoundedSearch(Request(model, chosen, False, Limits(depth=0, timeout=patience))).run()
    solver = Solver(patience)
    step = StepCase(model, chosen, False, 1, solver)
    assumed = terms.both(*(obligation.assumed for obligation in step.obligations))
    seconds = [time.process_time() - began]
    reasons = ["violated in an initial state" if first.findings else ""]
    for obligation in step.obligations:
        began = time.process_time()
        try:
            counterexample = solver.ask(terms.both(assumed, obligation.wrong))
            reasons.append("" if counterexample is None else "not inductive")
        except Unknown as unknown:
            reasons.append(f"Z3 gave up: {unknown}")
        seconds.append(time.process_time() - began)
    names = ["formulas, initial states", *(obligation.subject for obligation in step.obligations)]
    otherwise = "if the others hold" if any(reasons) else ""
    reasons[0] = reasons[0] or "all hold in initial states"
    return [
        ProofTime(case.spec, case.check, name, reason or otherwise, round(spent, 2))
        for name, reason, spent in zip(names, reasons, seconds, strict=True)
    ]


def _model(
    spec: str, check: str, constants: Mapping[str, str]
) -> tuple[Model, frozenset[int], bool]:
    """Returns a check in the form that the command runs: the model, its properties, and whether
    deadlock is checked.
    """
    program = load_spec(ROOT / "models" / f"{spec}.fence")
    (chosen,) = (candidate for candidate in program.checks if candidate.name == check)
    model = build(program, chosen, constants)
    return model, select(model, chosen), chosen.verdict != "violated"


# ---------------------------------------------------------------- saved results


def dumps(measurements: Measurements) -> str:
    """Returns the text of the file of results."""
    return json.dumps(asdict(measurements), indent=1) + "\n"


def read(path: Path) -> Measurements | None:
    """Returns the saved results, or None without a file."""
    if not path.exists():
        return None
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    before, after = kept["load"]
    rows = tuple(_kept_row(row) for row in kept["searched"])
    proofs = tuple(ProofTime(**row) for row in kept["proved"])
    return Measurements(kept["machine"], kept["solver"], (before, after), rows, proofs)


def _kept_row(row: dict[str, Any]) -> SearchTimes:
    fields: dict[str, Any] = {**row, "seconds": tuple(row["seconds"])}
    return SearchTimes(**fields)


# ---------------------------------------------------------------- tables


def tables(measurements: Measurements) -> dict[str, str]:
    """Returns the tables in Markdown, by name."""
    most = max((len(row.seconds) for row in measurements.searched), default=0)
    head = ["spec", "check", "result", *(str(depth) for depth in range(most))]
    rows = [
        [
            row.spec,
            row.check,
            row.found or row.cut or "no problem",
            *(f"{seconds:.1f}" for seconds in row.seconds),
            *([""] * (most - len(row.seconds))),
        ]
        for row in measurements.searched
    ]
    proofs = [
        [row.spec, row.check, row.property, row.open or "proved", f"{row.seconds:.2f}"]
        for row in measurements.proved
    ]
    line = (
        f"Processor time in seconds on {measurements.machine}, {measurements.solver},"
        f" load {measurements.load[0]:.1f} before and {measurements.load[1]:.1f} after.\n"
    )
    return {
        "bounded": f"{table(head, rows)}\n\n{line}",
        "proved": f"{table(['spec', 'check', 'property', 'result', 'seconds'], proofs)}\n\n{line}",
    }


def filled(page: str, measurements: Measurements) -> str:
    """Returns a page with the tables in their sections."""
    texts = tables(measurements)

    def fill(section: re.Match[str]) -> str:
        name = section["table"]
        return f"<!-- {name} -->\n\n{texts[name]}\n<!-- end of {name} -->"

    return PLACE.sub(fill, page)


# ---------------------------------------------------------------- the command


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if options.specs and (options.write or options.pages):
        parser.error("--write and --pages apply to all cases and take no SPEC")
    measurements = read(KEPT) if options.pages else measured(options.specs, options.patience)
    if measurements is None or not (measurements.searched or measurements.proved):
        print("there are no results", file=sys.stderr)
        return 2
    print("\n".join(tables(measurements).values()))
    if options.write:
        KEPT.write_text(dumps(measurements), encoding="utf-8")
    if options.write or options.pages:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measurements), encoding="utf-8")
    return 0


def measured(specs: Sequence[str], patience: float) -> Measurements:
    """Measures all cases, or only those of ``specs``, given by the last part of their names."""

    def is_selected(case: Bound | Proof) -> bool:
        return not specs or case.spec.rpartition("/")[2] in specs

    def print_title(case: Bound | Proof) -> None:
        print(f"{case.spec} {case.check}", file=sys.stderr, flush=True)

    before = load()
    rows: list[SearchTimes] = []
    proofs: list[ProofTime] = []
    for bound in filter(is_selected, BOUNDS):
        print_title(bound)
        rows.append(searched(bound, patience))
    for proof in filter(is_selected, PROOFS):
        print_title(proof)
        proofs += proved(proof, patience)
    machine = this_machine()
    name = f"{machine.processor}, {machine.cores} cores"
    return Measurements(name, terms.library(), (before, load()), tuple(rows), tuple(proofs))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.symbolic", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="only these (default: all)")
    parser.add_argument(
        "--patience", type=float, default=120.0, metavar="SECONDS", help="timeout of each case"
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--write", action="store_true", help="save the results and fill the page")
    chosen.add_argument("--pages", action="store_true", help="fill the page with saved results")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
