"""Mutants of models/kafka/epoch_arithmetic.fence, each with one changed rule, arranged by the rows
of its page.

Each row of B1 (InitProducerId) and each cell of B7 (EndTxn) is changed in at least one way: its
condition is dropped or negated, or the epoch, the producer id or the answer is changed. A check of
the model that finds nothing in the original must then find a violated property. If no check can,
``why`` gives the reason. `page` generates the table for a release; see `bench.kafka`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.places import table

MODEL = Path(__file__).resolve().parents[1] / "models" / "kafka" / "epoch_arithmetic.fence"


@dataclass(frozen=True, slots=True)
class Run:
    """A check of the model, with changed constants and an optional depth limit."""

    check: str
    constants: tuple[tuple[str, str], ...] = ()
    depth: int | None = None

    def __str__(self) -> str:
        values = ", ".join(f"`{name} = {value}`" for name, value in self.constants)
        return f"`{self.check}`" + (f" with {values}" if values else "")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the model. ``edits`` are pairs of a piece of the model's text, which occurs
    exactly once, and its replacement. ``finds`` is the first property that a run reports as
    violated. It is None if no run reports one; ``why`` then gives the reason. ``spoils`` is set if
    this run reports something else, although in other runs an epoch leaves its range, wraps or
    decreases.
    """

    row: str
    change: str
    edits: tuple[tuple[str, str], ...]
    runs: tuple[Run, ...]
    finds: str | None
    why: str = ""
    spoils: bool = False

    @property
    def breaks_proof(self) -> bool:
        """Whether an epoch leaves its range, wraps or decreases, so that S8 cannot be proved."""
        return self.spoils or self.finds in {"S8", "S8M"}

    def applied(self, text: str) -> str:
        """Returns the text of the changed model."""
        for old, new in self.edits:
            assert text.count(old) == 1, (self.row, text.count(old), old)
            text = text.replace(old, new)
        return text


DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_RUNS = {
    name: Run(row["check"], tuple(row.get("constants", {}).items()), row.get("depth"))
    for name, row in DATA["runs"].items()
}
RUNS = (*_RUNS.values(),)
"""Runs that find no violation in the original model."""


def _mutant(row: dict[str, Any]) -> Mutant:
    edits = tuple((old, new) for old, new in row["edits"])
    runs = tuple(_RUNS[name] for name in row["runs"])
    why = row.get("why", "")
    why = DATA["reasons"].get(why, why)
    return Mutant(row["row"], row["change"], edits, runs, row.get("finds"), why, "spoils" in row)


def _cell(cell: str, outcome: str, run: str, result: str, *spoils: str) -> Mutant:
    """Returns a mutant that changes the answer to one kind of EndTxn request in one state."""
    state, _, request = cell.partition(", ")
    transaction_result, kind = request.split()
    case = f"                case {state}:\n                    "
    condition = f"result == {transaction_result} and {DATA['requests'][kind]}"
    test = f"if {condition}: {DATA['answers'][outcome]}"
    edits = [(f"{case}if ", f"{case}{test}\n                    elif ")]
    key = "why" if result in DATA["reasons"] else "finds"
    row = {"row": cell, "change": outcome, "edits": edits, "runs": [run], key: result}
    return _mutant(row | dict.fromkeys(spoils))


CELLS = tuple(_cell(*row) for row in DATA["cells"]["rows"])
MUTANTS = (*map(_mutant, DATA["mutants"]), *CELLS)

# --------------------------------------------------------------------------------------- the page


def page() -> str:
    """Returns the page with the table of all mutants, in Markdown."""
    head = ("row", "change", "found by", "finds", "proof of S8")
    rows = (
        (
            mutant.row,
            mutant.change,
            ", ".join(map(str, mutant.runs)),
            mutant.finds or f"nothing: {mutant.why}",
            "broken" if mutant.breaks_proof else "",
        )
        for mutant in MUTANTS
    )
    return f"# Mutants of epoch_arithmetic, by the rows of its page\n\n{table(head, rows)}\n"
