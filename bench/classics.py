"""Generates the table of `docs/classics.md`: measurements of the classics, and of TLC on the specs
that they are ported from.

    python -m bench.classics --examples FOLDER --kafka FOLDER --modules FOLDER --modules FOLDER
    python -m bench.classics --models raft,btree     measures only these models again
    python -m bench.classics --page                  only rewrites the table

The folders are checkouts of tlaplus/Examples, of Vanlightly/kafka-tlaplus, and of the modules that
these specs extend: tlaplus/CommunityModules (modules/) and tlaplus/tlapm (library/). TLC also needs
the folder of the compiled Java classes of CommunityModules (--classes) for ewd687a and yoyo. Java
and Maven must be installed (see `bench.tlc_run`). The exit code is 1 if a count differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from bench import fence, places
from bench.fence import Task
from bench.machine import ROOT, load
from bench.places import line
from bench.process import Failed, Ran
from bench.tlc_run import JAVA_OPTIONS, Broken, NoTlc, Tlc
from bench.tlc_search import search
from fencepost.checker.cli.atomic_files import replace

MODELS = ROOT / "models" / "classics"
PAGE = ROOT / "docs" / "classics.md"
KEPT = ROOT / "bench" / "results" / "classics.json"
COMMAND = "python -m bench.classics"
HEAD = ("model", "check", "published as", "distinct", "generated", "depth", "Fencepost", "TLC")
HEAP = "-Xmx3g"

NO_LIVENESS = (r"(?m)^PROPERT(?:Y|IES)\b[^\n]*(?:\n[ \t]+\w+)*", "")
NO_DEADLOCK = (r"\Z", "\nCHECK_DEADLOCK FALSE\n")


@dataclass(frozen=True, slots=True)
class Original:
    """A published spec: its folder, the module for TLC, and the configuration. The configuration
    has the name of the module unless ``name`` is set. ``edits`` are pairs of a pattern in the
    configuration and its replacement. They remove what is not compared: liveness, symmetry, the
    search for deadlocks, and settings that this version of TLC does not support.
    """

    folder: str
    module: str
    edits: Sequence[tuple[str, str]] = ()
    name: str | None = None
    checkout: Literal["examples", "kafka"] = "examples"

    @property
    def configuration(self) -> str:
        return f"{self.name or self.module}.cfg"


@dataclass(frozen=True, slots=True)
class Row:
    """A check and its source: the published spec, or a citation if TLC has nothing to run."""

    model: str
    check: str
    source: Original | str

    @property
    def task(self) -> Task:
        return Task(MODELS / f"{self.model}.fence", self.check, self.key)

    @property
    def key(self) -> str:
        return f"{self.model}-{self.check}"


SAFETY = [NO_LIVENESS]
COMMIT, PAXOS = "transaction_commit", "PaxosHowToWinATuringAward"
TINY = Original(PAXOS, "MCPaxos", name="MCPaxosTiny")
SMALL = Original(PAXOS, "MCPaxos", name="MCPaxosSmall")
STORE = Original("KeyValueStore", "MCKVsnap", [NO_LIVENESS, (r"SYMMETRY\s+\w+", "")])
MULTIPAXOS = Original(
    "MultiPaxos-SMR", "MultiPaxos_MC", [(r"SYMMETRY\s+\w+", "")], name="MultiPaxos_MC_small"
)
NANO = [(r"VIEW\s+\w+", "")]
KAFKA = Original(
    "transactions/diary/02_AddPartitionsToTxn/tlaplus",
    "kafka_transactions",
    [NO_LIVENESS, ("SPECIFICATION LivenessSpec", "SPECIFICATION Spec"), NO_DEADLOCK],
    checkout="kafka",
)
INIT_PID = dataclasses.replace(KAFKA, folder="transactions/diary/01_InitPidRequest/tlaplus")
TWO_CLIENTS = (r"Clients = \{c1\}", "Clients = {c1, c2}")
ROWS = (
    Row("atomic_commitment", "three", Original("acp", "ACP_SB_TLC", SAFETY)),
    Row("bakery", "inductive", Original("Bakery-Boulangerie", "MCBakery")),
    Row("bosco", "four", Original("bosco", "bosco")),
    Row("btree", "four_keys", Original("btree", "btree")),
    Row("byzantine_broadcast", "four", Original("bcastByz", "bcastByz", SAFETY)),
    Row("chameneos", "four", Original("Chameneos", "Chameneos")),
    Row("coffee_can", "thousand", Original("CoffeeCan", "CoffeeCan", SAFETY, "CoffeeCan1000Beans")),
    Row("die_hard", "every_state", Original("DieHard", "DieHard", [("NotSolved", "")])),
    Row("disruptor", "two_three", Original("Disruptor", "Disruptor_MPMC")),
    Row("ewd687a", "four", Original("ewd687a", "MCEWD687a", SAFETY)),
    Row("ewd840", "three", Original("ewd840", "EWD840", SAFETY)),
    Row("ewd998", "three", Original("ewd998", "EWD998PCal", [("ALIAS Alias", "")])),
    Row("folklore_broadcast", "four", Original("bcastFolklore", "bcastFolklore", SAFETY)),
    Row("kafka_init_pid", "one_client", INIT_PID),
    Row(
        "kafka_init_pid",
        "two_clients",
        dataclasses.replace(INIT_PID, edits=[*KAFKA.edits, TWO_CLIENTS]),
    ),
    Row("kafka_transactions", "two_clients", KAFKA),
    Row(
        "klotski",
        "every_state",
        Original("SlidingPuzzles", "SlidingPuzzles", [("KlotskiGoal", "")]),
    ),
    Row("lamport_mutex", "three", Original("lamport_mutex", "MCLamportMutex")),
    Row("milner_scheduler", "eight", "Milner 1980"),
    Row("multipaxos", "write_and_read", MULTIPAXOS),
    Row("nano_blockchain", "three", Original("NanoBlockchain", "MCNano", NANO, "MCNanoSmall")),
    Row("nano_blockchain", "four", Original("NanoBlockchain", "MCNano", NANO, "MCNanoMedium")),
    Row("nbac_guerraoui", "three", Original("nbacg_guer01", "nbacg_guer01", SAFETY)),
    Row("nbac_raynal", "two", Original("nbacc_ray97", "nbacc_ray97")),
    Row("paxos", "two_ballots", TINY),
    Row("paxos", "three_ballots", SMALL),
    Row("paxos_commit", "two", Original(COMMIT, "PaxosCommit", [NO_DEADLOCK])),
    Row("peterson", "as_published", "Peterson 1981"),
    Row("raft", "four_terms", "Ongaro and Ousterhout 2014"),
    Row("readers_writers", "three", Original("ReadersWriters", "MC", SAFETY)),
    Row("safra", "two", Original("ewd998", "EWD998", [("N = 3", "N = 2")], name="EWD998Small")),
    Row("simple_regular", "eight", Original("TeachingConcurrency", "SimpleRegular")),
    Row("snapshot_isolation", "three", STORE),
    Row("spanning_tree", "five", Original("SpanningTree", "SpanTree", [("Liveness", "")])),
    Row("transaction_commit", "three", Original(COMMIT, "TCommit")),
    Row("two_phase_commit", "three", Original(COMMIT, "TwoPhase", [NO_DEADLOCK])),
    Row("voting", "three_ballots", Original(PAXOS, "MCVoting")),
    Row("yoyo", "five", Original("YoYo", "YoYoAllGraphs", SAFETY)),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts, and the processor seconds (user and system) of Fencepost and, if it ran, of
    TLC.
    """

    distinct: int
    generated: int
    depth: int
    ours: float
    tlc: float | None


class Differs(Exception):
    """TLC's counts differ from those of Fencepost; the argument describes the difference."""


def measured(
    row: Row,
    tlc: Tlc,
    folders: Mapping[str, Path],
    modules: Sequence[Path],
    classes: Sequence[Path] = (),
) -> Figures:
    """Runs a check and the published spec. Raises `Differs`, `Failed`, `Broken`."""
    ours = fence.check(row.task, 1)
    counts = ours.distinct, ours.generated, ours.depth
    original = row.source
    if isinstance(original, str):
        return Figures(*counts, _seconds(ours.ran), None)
    folder = folders[original.checkout]
    if original.checkout == "examples":
        folder /= "specifications"
    text = (folder / original.folder / original.configuration).read_text(encoding="utf-8")
    for pattern, instead in original.edits:
        text = re.sub(pattern, instead, text, count=1)
    ran, theirs = search(
        tlc,
        folder / original.folder / f"{original.module}.tla",
        text,
        options=(JAVA_OPTIONS[0], HEAP),
        library=modules,
        classes=classes,
    )
    if (theirs.distinct, theirs.generated, theirs.depth) != counts:
        raise Differs(f"{row.key}: Fencepost {counts}, TLC {theirs}")
    return Figures(*counts, _seconds(ours.ran), _seconds(ran))


def _seconds(ran: Ran) -> float:
    return round(ran.user + ran.system, 2)


def kept() -> dict[str, Figures]:
    """Returns the last measurements by check."""
    if not KEPT.is_file():
        return {}
    return {key: Figures(**figures) for key, figures in json.loads(KEPT.read_text("utf-8")).items()}


def table(measurements: Mapping[str, Figures]) -> str:
    """Returns the table in Markdown. Rows without a measurement have no figures."""
    lines = [line(HEAD), line(["---"] * 3 + ["---:"] * 5)]
    for row in ROWS:
        figures = measurements.get(row.key)
        published = row.source
        if not isinstance(published, str):
            published = f"{published.folder}, {published.configuration}"
        cells = [f"[{row.model}](../models/classics/{row.model}.fence)", row.check, published]
        if figures is not None:
            cells += [
                f"{figures.distinct:,}",
                f"{figures.generated:,}",
                f"{figures.depth}",
                f"{figures.ours:.1f} s",
            ]
            cells.append("" if figures.tlc is None else f"{figures.tlc:.1f} s")
        lines.append(line(cells))
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        COMMAND,
        description="Measures the classics, and with TLC the specs that they are ported from.",
    )
    parser.add_argument("--examples", type=Path, metavar="FOLDER", help="tlaplus/Examples")
    parser.add_argument("--kafka", type=Path, metavar="FOLDER", help="Vanlightly/kafka-tlaplus")
    parser.add_argument("--modules", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--classes", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--models", default="", help="only these, separated by commas")
    parser.add_argument("--page", action="store_true", help="only rewrites the table")
    options = parser.parse_args()
    measurements = kept()
    wrong = False
    if not options.page:
        if options.examples is None or options.kafka is None:
            parser.error("the originals are missing: --examples and --kafka")
        try:
            tlc = Tlc.locate()
        except NoTlc as reason:
            print(reason, file=sys.stderr)
            return 2
        folders = {"examples": options.examples, "kafka": options.kafka}
        models = options.models.split(",") if options.models else [row.model for row in ROWS]
        for row in ROWS:
            if row.model not in models:
                continue
            try:
                measurements[row.key] = measured(
                    row, tlc, folders, options.modules, options.classes
                )
                print(f"{row.key}: {measurements[row.key]}; load {load():.1f}", flush=True)
            except (Differs, Failed, Broken) as reason:
                wrong = True
                print(f"{row.key}: {reason}", file=sys.stderr, flush=True)
            texts = {
                row.key: asdict(measurements[row.key]) for row in ROWS if row.key in measurements
            }
            replace(KEPT, json.dumps(texts, indent=1) + "\n")
    places.fill(PAGE, COMMAND, table(measurements))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
