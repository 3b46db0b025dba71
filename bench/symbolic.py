"""How long Z3 takes: bounded model checking per depth, induction per property.

    python -m bench.symbolic                     measures every case, and prints the tables
    python -m bench.symbolic verification_race   the cases of one spec
    python -m bench.symbolic --write             also bench/results/symbolic.json, docs/symbolic.md
    python -m bench.symbolic --pages             the page anew from what is kept, nothing is run

Seconds are those of the processor, so that other work on the machine counts little.
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
    """A check to search with ``bmc``, the most steps, and constants that are not the check's."""

    spec: str
    check: str
    depth: int
    constants: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The check, and what is not as it says."""
        return ", ".join([self.check, *(f"{n} = {value}" for n, value in self.constants.items())])


@dataclass(frozen=True, slots=True)
class Proof:
    """A check whose invariants, and the lemmas, are proved by induction."""

    spec: str
    check: str


BOUNDS = (
    Bound("kafka/epoch_arithmetic", "fence_bumps_twice_from_any", 4),
    Bound("kafka/epoch_arithmetic", "overflow_answer_from_any", 5),
    # RotateOnFence alone is off.
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
class Searched:
    """What came of a search. ``seconds``: until all was known of paths of 0, 1, 2, ... steps;
    ``found`` is the problem, with its number of steps, or empty.
    """

    spec: str
    check: str
    found: str
    cut: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Proved:
    """What came of the proof of a property: ``open`` is why there is none, or empty."""

    spec: str
    check: str
    property: str
    open: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Told:
    """What was measured, and on what; ``load`` is the load average before and after."""

    machine: str
    solver: str
    load: tuple[float, float]
    searched: tuple[Searched, ...]
    proved: tuple[Proved, ...]


# ---------------------------------------------------------------- measuring


class _Timed(BoundedSearch):
    """A search that notes when each level is done."""

    def __init__(self, request: Request) -> None:
        self.began = time.process_time()
        self.marks: list[float] = []
        super().__init__(request)

    def mark(self) -> None:
        """Notes the time for each level that is complete."""
        while len(self.marks) < self.complete:
            self.marks.append(time.process_time() - self.began)

    def ask(self, question: object) -> object | None:
        self.mark()
        return super().ask(question)


def searched(case: Bound, patience: float) -> Searched:
    """One case of bounded model checking; it ends after so many seconds."""
    model, properties, deadlock = _model(case.spec, case.check, case.constants)
    terms.begin()
    limits = Limits(depth=case.depth, timeout=patience)
    search = _Timed(Request(model, properties, deadlock, limits))
    outcome = search.run()
    search.mark()
    found = ""
    if outcome.findings:
        finding = outcome.findings[0]
        number = finding.property
        what = finding.verdict.value if number is None else model.properties[number].name
        search.marks.append(time.process_time() - search.began)
        found = f"{what} after {finding.depth - 1} steps"
    cut = "" if outcome.limit is None or outcome.limit.kind == "depth" else str(outcome.limit)
    seconds = tuple(round(one, 2) for one in search.marks)
    return Searched(case.spec, case.name, found, cut, seconds)


def proved(case: Proof, patience: float) -> list[Proved]:
    """What is proved of a case, together: each property follows from all of them in the state
    before. Each question ends after so many seconds; the first row is what comes before them.
    """
    model, properties, _ = _model(case.spec, case.check, {})
    lemmas = {n for n, item in enumerate(model.properties) if item.kind.supports_proofs}
    chosen = frozenset(model.searched(properties | lemmas).must_hold)
    terms.begin()
    began = time.process_time()
    first = BoundedSearch(Request(model, chosen, False, Limits(depth=0, timeout=patience))).run()
    solver = Solver(patience)
    step = StepCase(model, chosen, False, 1, solver)
    assumed = terms.both(*(one.assumed for one in step.obligations))
    seconds = [time.process_time() - began]
    reasons = ["it does not hold at first" if first.findings else ""]
    for one in step.obligations:
        began = time.process_time()
        try:
            found = solver.ask(terms.both(assumed, one.wrong))
            reasons.append("" if found is None else "not inductive")
        except Unknown as unknown:
            reasons.append(f"Z3 gave up: {unknown}")
        seconds.append(time.process_time() - began)
    names = ["formulas, initial states", *(one.subject for one in step.obligations)]
    otherwise = "if the others hold" if any(reasons) else ""
    reasons[0] = reasons[0] or "all hold at first"
    return [
        Proved(case.spec, case.check, name, reason or otherwise, round(spent, 2))
        for name, reason, spent in zip(names, reasons, seconds, strict=True)
    ]


def _model(
    spec: str, check: str, constants: Mapping[str, str]
) -> tuple[Model, frozenset[int], bool]:
    """A check as the command runs it: the model, its properties, whether deadlock is looked for."""
    program = load_spec(ROOT / "models" / f"{spec}.fence")
    (chosen,) = (one for one in program.checks if one.name == check)
    model = build(program, chosen, constants)
    return model, select(model, chosen), chosen.verdict != "violated"


# ---------------------------------------------------------------- what is kept


def dumps(told: Told) -> str:
    """The text of the file of results."""
    return json.dumps(asdict(told), indent=1) + "\n"


def read(path: Path) -> Told | None:
    """What was kept; None where there is no such file."""
    if not path.exists():
        return None
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    before, after = kept["load"]
    rows = tuple(_kept_row(row) for row in kept["searched"])
    proofs = tuple(Proved(**row) for row in kept["proved"])
    return Told(kept["machine"], kept["solver"], (before, after), rows, proofs)


def _kept_row(row: dict[str, Any]) -> Searched:
    made: dict[str, Any] = {**row, "seconds": tuple(row["seconds"])}
    return Searched(**made)


# ---------------------------------------------------------------- tables


def tables(told: Told) -> dict[str, str]:
    """The tables, in Markdown, by name."""
    most = max((len(row.seconds) for row in told.searched), default=0)
    head = ["spec", "check", "found", *(str(depth) for depth in range(most))]
    rows = [
        [
            row.spec,
            row.check,
            row.found or row.cut or "nothing",
            *(f"{seconds:.1f}" for seconds in row.seconds),
            *([""] * (most - len(row.seconds))),
        ]
        for row in told.searched
    ]
    proofs = [
        [row.spec, row.check, row.property, row.open or "proved", f"{row.seconds:.2f}"]
        for row in told.proved
    ]
    line = (
        f"Seconds of the processor on {told.machine}, {told.solver},"
        f" load {told.load[0]:.1f} before and {told.load[1]:.1f} after.\n"
    )
    return {
        "bounded": f"{_table(head, rows)}\n{line}",
        "proved": f"{_table(['spec', 'check', 'property', 'result', 'seconds'], proofs)}\n{line}",
    }


def filled(page: str, told: Told) -> str:
    """A page with the tables in their places."""
    made = tables(told)
    return PLACE.sub(
        lambda place: (
            f"<!-- {place['table']} -->\n\n{made[place['table']]}\n<!-- end of {place['table']} -->"
        ),
        page,
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


# ---------------------------------------------------------------- the command


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if options.specs and (options.write or options.pages):
        parser.error("what is kept is measured together: --write takes no SPEC")
    told = read(KEPT) if options.pages else measured(options.specs, options.patience)
    if told is None or not (told.searched or told.proved):
        print("there is nothing to tell of", file=sys.stderr)
        return 2
    print("\n".join(tables(told).values()))
    if options.write:
        KEPT.write_text(dumps(told), encoding="utf-8")
    if options.write or options.pages:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), told), encoding="utf-8")
    return 0


def measured(specs: Sequence[str], patience: float) -> Told:
    """All cases, or those of some specs, named by the last part of their names."""

    def wanted(case: Bound | Proof) -> bool:
        return not specs or case.spec.rpartition("/")[2] in specs

    def tell(case: Bound | Proof) -> None:
        print(f"{case.spec} {case.check}", file=sys.stderr, flush=True)

    before = load()
    rows: list[Searched] = []
    proofs: list[Proved] = []
    for bound in filter(wanted, BOUNDS):
        tell(bound)
        rows.append(searched(bound, patience))
    for proof in filter(wanted, PROOFS):
        tell(proof)
        proofs += proved(proof, patience)
    machine = this_machine()
    name = f"{machine.processor}, {machine.cores} cores"
    return Told(name, terms.library(), (before, load()), tuple(rows), tuple(proofs))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.symbolic", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="only these (default: all)")
    parser.add_argument(
        "--patience", type=float, default=120.0, metavar="SECONDS", help="at most, for each case"
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--write", action="store_true", help="keep the results and fill the page")
    chosen.add_argument("--pages", action="store_true", help="fill the page with what is kept")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
