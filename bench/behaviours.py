"""Measures the cost of liveness and refinement, compared with the search alone: `python -m
bench.behaviours`.

Each case is a shipped model, checked with and without the property in question. The two runs take
turns, as whole processes with two workers. Figures are processor seconds, user and system.
``--tlc`` also runs TLC on two-phase commit, which takes some minutes. ``--write`` puts the table
into docs/engines.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import places
from bench.fence import PROGRAM
from bench.machine import ROOT, load
from bench.process import Ran, run
from bench.tlc_run import Tlc
from fencepost.checker.run.check import prepare
from fencepost.checker.run.settings import Settings
from fencepost.checker.tla_export.module import exported
from fencepost.spec.elaborate.claims.program import load as load_spec

PAGE = ROOT / "docs" / "engines.md"
COMMAND = "python -m bench.behaviours"
CLASSICS = ROOT / "models" / "classics"
HEAD = ("model", "property", "result", "search alone", "with it", "ratio", "target")

Edits = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Case:
    """A model with a constant. Both runs apply the edits ``both``; the run with the property also
    applies ``more``, which adds something to decide. ``aim`` is the maximum ratio of the processor
    times.
    """

    model: str
    constants: str
    property: str
    verdict: str
    both: Edits
    more: Edits
    aim: float


PLACE = "\ndef behind(i: Place)"
WEAK = [(f"    {name}:", f"    fair {name}:") for name in
        ("action take_signal", "action start", "action signal_next")]  # fmt: skip
ENDS = [("    environment action end_task:", "    action end_task:")]
ENDS_FAIRLY = [("    action end_task:", "    fair action end_task:")]
SERVED = [(PLACE, "\nproperty Served: forall i in Place: "
           f"Cycler[i].stage == Waiting leads to Cycler[i].stage == Started\n{PLACE}")]  # fmt: skip


def _stop(guard: str) -> Edits:
    """Returns edits that add an action. The action stops the system while the signal is on its way
    to the first cycler.
    """
    stop = f"action stop:\n    require signal[0] and {guard}\n    signal[0] = false\n"
    stopped = "def stopped: bool = forall i in Place: not signal[i] and Cycler[i].stage == Waiting"
    return [
        *ENDS,
        (PLACE, f"\n{stop}\n{stopped}\n\nterminal: stopped\n{PLACE}"),
        ("OneSignal:\n    len", "OneSignal:\n    stopped or len"),
    ]


STOPS = [
    *WEAK, *ENDS_FAIRLY, ("\naction stop:", "\nstrongly fair action stop:"),
    ("\nterminal:", "\nproperty Stops: eventually stopped\n\nterminal:"),
]  # fmt: skip
ROLES = [("\nrole TransactionManager", "\nfair role TransactionManager"),
         ("\nrole ResourceManager", "\nfair role ResourceManager")]  # fmt: skip
DECIDES = [*ROLES, ("\nterminal:", "\nproperty Decides: TransactionManager.decision == Undecided "
                    "leads to TransactionManager.decision != Undecided\n\nterminal:")]  # fmt: skip
TRIVIAL = [*ROLES, ("\nterminal:", "\nproperty Trivial: always eventually N > 0\n\nterminal:")]

SIXTEEN, NINE = "const N = 16", "const N = 9"
CASES = [
    Case("milner_scheduler", SIXTEEN, "all weakly fair, Waiting leads to Started", "ok",
         ENDS, [*WEAK, *ENDS_FAIRLY, *SERVED], 5),
    Case("milner_scheduler", SIXTEEN, "the same, tasks need not end", "violated Served",
         (), [*WEAK, *SERVED], 5),
    Case("milner_scheduler", SIXTEEN, "one strong unit, which leaves no component", "ok",
         _stop("true"), STOPS, 8),
    Case("milner_scheduler", SIXTEEN, "one strong unit, which leaves half of it", "violated Stops",
         _stop("not Cycler[N // 2].running"), STOPS, 8),
    Case("two_phase_commit", NINE, "Undecided leads to decided", "ok", (), DECIDES, 1.5),
    Case("two_phase_commit", NINE, "true in every state", "ok", (), TRIVIAL, 1.1),
    Case("paxos", "const MaxBallot = 2", "refinement", "ok", (), (), 3),
    Case("ewd998", "const N = 3", "refinement", "ok", (), (), 3),
]  # fmt: skip
TLC_CASE = Case("two_phase_commit", "const N = 8", "", "ok", (), DECIDES, 20)
REFINEMENT = re.compile(r"^refinement .*\n(?:    .*\n)*", re.M)


def text(case: Case, whole: bool) -> str:
    """Returns the spec of a case. ``whole`` includes the property to decide."""
    spec = (CLASSICS / f"{case.model}.fence").read_text(encoding="utf-8")
    spec = spec[: spec.index("\ncheck ")]
    for old, new in [*case.both, *(case.more if whole else ())]:
        if spec.count(old) != 1:
            raise LookupError(f"{case.model}: {spec.count(old)} times: {old}")
        spec = spec.replace(old, new)
    if not case.more and not whole:
        spec, count = REFINEMENT.subn("", spec)
        assert count == 1, case.model
    expected = case.verdict if whole else "ok"
    return f"{spec}\ncheck c:\n    {case.constants}\n    expect {expected}\n"


def written(case: Case, whole: bool, folder: Path) -> Path:
    """Writes the spec to a file in a copy of its folder, which contains the modules that it
    imports.
    """
    for file in CLASSICS.rglob("*.fence"):
        copy = folder / file.relative_to(CLASSICS)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    path = folder / f"measured_{case.model}_{len(list(folder.iterdir()))}.fence"
    path.write_text(text(case, whole), encoding="utf-8")
    return path


def checked(spec: Path) -> Ran:
    """Runs the only check of a spec, which must have the expected verdict. Raises `Failed`."""
    command = [*PROGRAM, "check", str(spec), "--workers", "2", "--no-progress"]
    return run(command, environment={"PYTHONPATH": str(ROOT / ".dev")})


def seconds(ran: Ran) -> float:
    return ran.user + ran.system


def rows(folder: Path, turns: int) -> Iterator[list[str]]:
    """Yields each row of the table as soon as it is measured."""
    for case in CASES:
        alone, decided = written(case, False, folder), written(case, True, folder)
        pairs = [(seconds(checked(alone)), seconds(checked(decided))) for _ in range(turns)]
        times = median(b / a for a, b in pairs)
        first, second = (median(pair[index] for pair in pairs) for index in (0, 1))
        yield [
            f"{case.model}, {case.constants.removeprefix('const ')}", case.property,
            case.verdict.partition(" ")[0], f"{first:.1f} s", f"{second:.1f} s",
            f"{times:.2f}", f"{case.aim:g}",
        ]  # fmt: skip


def beside_tlc(folder: Path, turns: int) -> str:
    """Compares TLC with Fencepost on the liveness of two-phase commit, with two workers each.
    Returns a sentence with the times.

    Raises `NoTlc`, `Failed`.
    """
    tlc, spec = Tlc.locate(), written(TLC_CASE, True, folder)
    ours = [checked(spec) for _ in range(turns)]
    program = load_spec(spec)
    export = exported(prepare(program, program.checks[0], Settings(engine="local")), "Module")
    # TLC need not check the type invariants that Fencepost derives.
    lines = [line for line in export.configuration.splitlines() if "TypeOK" not in line]
    (folder / "Module.tla").write_text(export.module, encoding="utf-8")
    (folder / "Module.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # TLC runs without `JAVA_OPTIONS`: they favour short runs and would slow down this long one.
    java = [tlc.java, "-XX:+UseParallelGC", "-cp", str(tlc.jar)]
    arguments = ["tlc2.TLC", "-workers", "2", "-metadir", str(folder / "own"), "Module"]
    theirs = run([*java, *arguments], folder=folder)
    mine = median(seconds(ran) for ran in ours)
    wall = median(ran.wall for ran in ours)
    return (
        f"Two-phase commit with N = 8, `Undecided leads to decided`, two workers each: "
        f"Fencepost {mine:.1f} s of processor time and {wall:.1f} s of wall clock, TLC "
        f"{seconds(theirs):.0f} s and {theirs.wall:.0f} s: "
        f"{seconds(theirs) / mine:.0f} and {theirs.wall / wall:.0f} times as long."
    )


def main() -> int:
    parser = argparse.ArgumentParser(COMMAND, description=__doc__)
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="runs of each pair")
    parser.add_argument("--tlc", action="store_true", help="also run TLC")
    parser.add_argument("--write", action="store_true", help="write docs/engines.md")
    options = parser.parse_args()
    before = load()
    lines = [places.line(HEAD), places.line(["---"] * 3 + ["---:"] * 4)]
    with tempfile.TemporaryDirectory() as name:
        for row in rows(Path(name), options.turns):
            lines.append(places.line(row))
            print(lines[-1], flush=True)
        if options.tlc:
            lines += ["", beside_tlc(Path(name), options.turns)]
            print(lines[-1], flush=True)
    lines += [
        "",
        f"Medians of {options.turns} turns; load {before:.1f} before, {load():.1f} after.",
    ]
    print(lines[-1])
    if options.write:
        places.fill(PAGE, COMMAND, "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
