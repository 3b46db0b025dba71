"""What models/kafka/epoch_arithmetic.fence would be with one rule changed, row by row of its page.

Each row of B1 (InitProducerId) and each cell of B7 (EndTxn) is changed in at least one way: its
condition is dropped or negated, or the epoch, the producer id or the answer is another one. A check
of the model, which finds nothing in the model as it is, finds a property violated then; or `why`
says why none can be. docs/kafka/epoch_arithmetic.md has the same table, made by `page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MODEL = Path(__file__).resolve().parents[1] / "models" / "kafka" / "epoch_arithmetic.fence"
PAGE = MODEL.parents[2] / "docs" / "kafka" / "epoch_arithmetic.md"
BEGIN = "<!-- mutants: epoch_arithmetic -->\n"
END = "<!-- end of mutants -->"


@dataclass(frozen=True, slots=True)
class Run:
    """A check of the model, with the constants that are others here, to a depth if there is one."""

    check: str
    constants: tuple[tuple[str, str], ...] = ()
    depth: int | None = None

    def __str__(self) -> str:
        values = ", ".join(f"`{name} = {value}`" for name, value in self.constants)
        return f"`{self.check}`" + (f" with {values}" if values else "")


LOW = Run("low")
EXPIRES = Run("low_expiration")
LAST = Run("last_epoch")
BEFORE = Run("last_epoch", (("E0", "32765"),))
MENDED = Run("mended")
BEFORE_LONG = Run("last_epoch", (("E0", "32765"), ("Bumps", "2"), ("SecondInstance", "false")))
BEYOND = Run("last_epoch", (("Bumps", "32767"),), 14)
MENDED_BEFORE = Run("mended_before")
UNFENCED = Run("mended", (("FencedAtExhaustion", "false"),))
EMPTY_COMMIT = Run("empty_commit_rest")
ABORTED_COMMIT = Run("aborted_commit_rest")
RUNS = (
    LOW,
    EXPIRES,
    LAST,
    BEFORE,
    BEFORE_LONG,
    BEYOND,
    MENDED,
    MENDED_BEFORE,
    UNFENCED,
    EMPTY_COMMIT,
    ABORTED_COMMIT,
)
"""The model as it is violates nothing in these."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. ``edits`` are pieces of the model's text, each of which stands there once, and
    what is put in their place. ``finds`` is the property that the run finds violated first; None
    where none of the runs finds anything, and ``why`` says why none can. ``spoils``: this run
    finds something else, but there are such in which an epoch leaves its range, wraps or decreases.
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
        """The text of the changed model."""
        for old, new in self.edits:
            assert text.count(old) == 1, (self.row, text.count(old), old)
            text = text.replace(old, new)
        return text


def _noticed(
    row: str, change: str, edits: dict[str, str], run: Run, finds: str, *, spoils: bool = False
) -> Mutant:
    return Mutant(row, change, tuple(edits.items()), (run,), finds, "", spoils)


def _unnoticed(
    row: str, change: str, edits: dict[str, str], runs: Sequence[Run], why: str
) -> Mutant:
    return Mutant(row, change, tuple(edits.items()), tuple(runs), None, why)


REFUSED = "nobody is given anything, and to the producer every refusal is fatal"
LATER = (
    "CONCURRENT_TRANSACTIONS asks for another try, and that none succeeds is no matter of safety"
)

# ---------------------------------------------------------------------------------- InitProducerId

_B1_2 = "if pending: answer_init(answered, instance, expected, CONCURRENT_TRANSACTIONS)"
_B1_3 = "elif is_expected and not known(expected):"
_PREVIOUS = "or expected.producer_id == previous_producer_id and exhausted(expected.epoch)"
_B1_4 = "elif preparing: answer_init(answered, instance, expected, CONCURRENT_TRANSACTIONS)"
_B1_5 = "elif exhausted(epoch) and (not is_expected or expected.epoch == epoch):"
_ROTATED = (
    "initialize(answered, instance, expected, issued, 0, "
    "if is_expected then epoch else NO_PRODUCER_EPOCH)"
)
_B1_6 = "elif exhausted(epoch):  # B1.6"
_THROWN = (
    "            thrown = IllegalStateException\n"
    "            answer_init(answered, instance, expected, UNKNOWN_SERVER_ERROR)"
)
_B1_7 = "elif not is_expected:"
_NEXT = "initialize(answered, instance, expected, producer_id, epoch + 1, NO_PRODUCER_EPOCH)"
_B1_8 = "elif epoch == NO_PRODUCER_EPOCH or expected.epoch == epoch:"
_EXPECTED = "initialize(answered, instance, expected, producer_id, epoch + 1, epoch)"
_B1_9 = "elif retry:  # B1.9"
_RETRIED = (
    "elif retry:  # B1.9\n"
    "            initialize(answered, instance, expected, producer_id, epoch, last_epoch)"
)
_B1_10 = "else: answer_init(answered, instance, expected, PRODUCER_FENCED)  # B1.10"
_B1_11 = "elif state == Ongoing:  "
_FENCED = "if preparing then CONCURRENT_TRANSACTIONS else UNKNOWN_SERVER_ERROR)"


def _initialized(producer_id: str, epoch: str, last_epoch: str) -> str:
    return f"initialize(answered, instance, expected, {producer_id}, {epoch}, {last_epoch})"


B1 = (
    _noticed(
        "B1.1",
        "the producer id is one that was issued before",
        {"        issued += 1\n        has_metadata": "        has_metadata"},
        EXPIRES,
        "S8M",
    ),
    _noticed(
        "B1.1",
        "the epoch is -2, and the next one -1",
        {"epoch = NO_PRODUCER_EPOCH\n\n    def known": "epoch = -2\n\n    def known"},
        EXPIRES,
        "S8",
    ),
    _noticed(
        "B1.1",
        "negated",
        {"if not has_metadata: create()": "if has_metadata: create()"},
        MENDED,
        "S9",
        spoils=True,
    ),
    _noticed(
        "B1.2",
        "answered with the stored pair",
        {_B1_2: _B1_2.replace("CONCURRENT_TRANSACTIONS", "NONE")},
        LOW,
        "S4",
        spoils=True,
    ),
    _unnoticed(
        "B1.2",
        "dropped",
        {_B1_2: "if false: skip"},
        [LOW, MENDED],
        "here a transition is pending in a Prepare state only, where B1.4 gives the same answer",
    ),
    _noticed("B1.3", "dropped", {_B1_3: "elif false:"}, EXPIRES, "S4"),
    _noticed("B1.3", "negated", {_B1_3: "elif is_expected and known(expected):"}, EXPIRES, "S8"),
    _noticed(
        "B1.3",
        "the previous producer id is not known",
        {_PREVIOUS: "or false"},
        MENDED,
        "S9",
    ),
    _noticed("B1.4", "dropped", {_B1_4: "elif false: skip"}, LOW, "S11T", spoils=True),
    _noticed(
        "B1.4",
        "answered with the stored pair",
        {_B1_4: _B1_4.replace("CONCURRENT_TRANSACTIONS", "NONE")},
        LOW,
        "S4",
        spoils=True,
    ),
    _noticed("B1.5", "dropped", {_B1_5: "elif false:"}, UNFENCED, "S11"),
    _noticed(
        "B1.5", "whatever epoch is expected", {_B1_5: "elif exhausted(epoch):"}, MENDED_BEFORE, "S4"
    ),
    _noticed(
        "B1.5",
        "the producer id stays",
        {_ROTATED: _ROTATED.replace("issued", "producer_id")},
        MENDED,
        "S8M",
    ),
    _noticed(
        "B1.5", "the epoch goes on", {_ROTATED: _ROTATED.replace("0,", "epoch + 1,")}, MENDED, "S8"
    ),
    _noticed("B1.5", "the epoch is -1", {_ROTATED: _ROTATED.replace("0,", "-1,")}, MENDED, "S8"),
    _unnoticed(
        "B1.5",
        "the epoch is 1",
        {_ROTATED: _ROTATED.replace("0,", "1,")},
        [MENDED],
        "a new producer id may begin with any epoch, nobody has been given it before",
    ),
    _noticed(
        "B1.5",
        "the last epoch is remembered though no pair is expected",
        {_ROTATED: _initialized("issued", "0", "epoch")},
        MENDED,
        "S4",
    ),
    _noticed(
        "B1.5",
        "the last epoch is not remembered",
        {_ROTATED: _initialized("issued", "0", "NO_PRODUCER_EPOCH")},
        MENDED,
        "S9",
    ),
    _noticed(
        "B1.6",
        "answered with the next epoch",
        {_THROWN: "            " + _EXPECTED},
        BEFORE,
        "S8",
    ),
    _noticed(
        "B1.6",
        "answered with the stored pair",
        {_THROWN: "            answer_init(answered, instance, expected, NONE)"},
        BEFORE,
        "S4",
    ),
    _noticed("B1.7", "negated", {_B1_7: "elif is_expected:"}, LOW, "S9"),
    _noticed("B1.7", "the epoch stays", {_NEXT: _NEXT.replace(" + 1", "")}, LOW, "S4"),
    _noticed("B1.7", "bumped twice", {_NEXT: _NEXT.replace("+ 1", "+ 2")}, BEFORE, "S8"),
    _noticed("B1.7", "the epoch goes back", {_NEXT: _NEXT.replace("+ 1", "- 1")}, LOW, "S8M"),
    _noticed(
        "B1.7",
        "the last epoch is remembered",
        {_NEXT: _NEXT.replace("NO_PRODUCER_EPOCH", "epoch")},
        LOW,
        "S4",
    ),
    _noticed("B1.8", "whatever epoch is expected", {_B1_8: "elif true:"}, LOW, "S9"),
    _noticed("B1.8", "the epoch stays", {_EXPECTED: _EXPECTED.replace(" + 1", "")}, LOW, "S4"),
    _noticed("B1.8", "bumped twice", {_EXPECTED: _EXPECTED.replace("+ 1", "+ 2")}, BEFORE, "S8"),
    _noticed(
        "B1.8", "the epoch goes back", {_EXPECTED: _EXPECTED.replace("+ 1", "- 1")}, LOW, "S8M"
    ),
    _noticed(
        "B1.8",
        "the last epoch is not remembered",
        {_EXPECTED: _EXPECTED.replace("epoch)", "NO_PRODUCER_EPOCH)")},
        LOW,
        "S9",
    ),
    _noticed("B1.9", "dropped", {_B1_9: "elif false:"}, LOW, "S9"),
    _noticed(
        "B1.9", "bumped", {_RETRIED: _RETRIED.replace("epoch, last", "epoch + 1, last")}, LOW, "S9"
    ),
    _noticed(
        "B1.9",
        "answered with the last epoch",
        {_RETRIED: _RETRIED.replace("epoch, last", "last_epoch, last")},
        LOW,
        "S8M",
    ),
    _noticed(
        "B1.9",
        "the last epoch is forgotten",
        {_RETRIED: _RETRIED.replace("last_epoch)", "epoch)")},
        LOW,
        "S9",
    ),
    _noticed(
        "B1.10",
        "answered with the stored pair",
        {_B1_10: _B1_10.replace("PRODUCER_FENCED", "NONE")},
        LOW,
        "S4",
    ),
    _noticed("B1.10", "bumped", {_B1_10: "else: " + _EXPECTED}, LOW, "S4"),
    _noticed("B1.11", "dropped", {_B1_11: "elif false:  "}, LOW, "S11T"),
    _noticed(
        "B1.11",
        "answered with the epoch that fences",
        {_FENCED: _FENCED.replace("CONCURRENT_TRANSACTIONS", "NONE")},
        LOW,
        "S4",
        spoils=True,
    ),
    _noticed(
        "B1.11",
        "answered with the epoch that fences",
        {_FENCED: _FENCED.replace("CONCURRENT_TRANSACTIONS", "NONE")},
        LAST,
        "S8",
    ),
)

_BROKEN = "let broken = RotateOnFence and epoch == MAX and prepared == PrepareAbort"
_BUMPED = "let bumped_epoch = if broken then epoch else epoch + 1"
_OVERFLOWS = "if rotate and exhausted(epoch):"
_ISSUED = "            issued += 1\n            next_producer_id = issued"
_ANSWER = "then ProducerIdAndEpoch(next_producer_id, 0)"

FENCE = (
    _noticed(
        "fence",
        "takes no next producer id",
        {"prepare(PrepareAbort, RotateOnFence)": "prepare(PrepareAbort, false)"},
        LAST,
        "S8",
    ),
    _noticed(
        "fence",
        "bumps twice",
        {"if not SingleFenceBump and epoch != MAX: epoch += 1": "epoch += 1"},
        LOW,
        "S10",
    ),
    _noticed(
        "fence",
        "does not bump",
        {"if not SingleFenceBump and epoch != MAX: epoch += 1": "epoch -= 1"},
        LOW,
        "S10",
    ),
    _unnoticed(
        "fence",
        "at 32767 bumps too",
        {_BROKEN: "let broken = false"},
        [LAST, MENDED],
        "no transaction is Ongoing at 32767 (L1), which the lemmas of the proof say for every run",
    ),
)

# ----------------------------------------------------------------------------------------- EndTxn

_B7_1 = "if not has_metadata: answer_end(answered, request, INVALID_PRODUCER_ID_MAPPING)  # B7.1"
_B7_2 = "elif producer.producer_id != producer_id and not overflowed:"
_B7_3 = "elif pending: answer_end(answered, request, CONCURRENT_TRANSACTIONS)             # B7.3"
_RETRY = "let bumped = int(epoch) == int(producer.epoch) + 1"

B7 = (
    _noticed(
        "B7.1",
        "answered with the stored pair",
        {_B7_1: _B7_1.replace("INVALID_PRODUCER_ID_MAPPING", "NONE")},
        EXPIRES,
        "S4",
        spoils=True,
    ),
    _unnoticed(
        "B7.1",
        "dropped",
        {_B7_1: "if false: skip"},
        [EXPIRES],
        "without metadata the stored producer id is -1, which no request has: B7.2 says the same",
    ),
    _noticed("B7.2", "dropped", {_B7_2: "elif false:"}, EXPIRES, "S4"),
    _noticed(
        "B7.2",
        "no retry from before an overflow",
        {_B7_2: _B7_2.replace(" and not overflowed", "")},
        LAST,
        "S10",
    ),
    _noticed(
        "B7.3",
        "answered PRODUCER_FENCED",
        {_B7_3: _B7_3.replace("CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED")},
        LOW,
        "S10",
    ),
    _noticed(
        "B7.3",
        "answered with the stored pair",
        {_B7_3: _B7_3.replace("CONCURRENT_TRANSACTIONS", "NONE")},
        LOW,
        "S10",
    ),
    _noticed(
        "B7.4",
        "any older epoch is that of a retry",
        {_RETRY: "let bumped = epoch > producer.epoch"},
        LOW,
        "S10",
    ),
    _noticed("B7.4", "no epoch is that of a retry", {_RETRY: "let bumped = false"}, LOW, "S10"),
    _noticed(
        "B7.4",
        "any epoch of the previous producer id is that of a retry",
        {"and producer.epoch == EXHAUSTED and epoch == 0": "and epoch == 0"},
        BEFORE_LONG,
        "S10",
    ),
    _noticed("B7.6", "the epoch stays", {_BUMPED: "let bumped_epoch = epoch"}, LOW, "S10"),
    _noticed("B7.6", "bumped twice", {_BUMPED: _BUMPED.replace("+ 1", "+ 2")}, BEFORE, "S8"),
    _noticed("B7.6", "the epoch goes back", {_BUMPED: _BUMPED.replace("+ 1", "- 1")}, LOW, "S8"),
    _noticed("B7.6", "no next producer id", {_OVERFLOWS: "if false:"}, LAST, "S8"),
    _noticed(
        "B7.6",
        "the next producer id one epoch late",
        {"epoch >= EXHAUSTED": "epoch > EXHAUSTED"},
        LAST,
        "S8",
    ),
    _unnoticed(
        "B7.6",
        "the next producer id at any epoch",
        {_OVERFLOWS: "if rotate:"},
        [LAST],
        "a new producer id may be taken at any time",
    ),
    _noticed(
        "B7.6",
        "the next producer id is not new",
        {_ISSUED: "            next_producer_id = issued"},
        LAST,
        "S8M",
    ),
    _noticed(
        "B7.6",
        "answered with the stored pair",
        {"if OverflowAnswer and next_producer_id": "if false and next_producer_id"},
        LAST,
        "S8",
    ),
    _noticed(
        "B7.6",
        "answered with another epoch of the next producer id",
        {_ANSWER: _ANSWER.replace("0)", "1)")},
        LAST,
        "S4",
    ),
    _noticed(
        "B7.7", "the epoch stays", {"            epoch = 0\n": ""}, BEYOND, "S10", spoils=True
    ),
    _noticed(
        "B7.7",
        "the epoch is -1",
        {"            epoch = 0\n": "            epoch = -1\n"},
        LAST,
        "S8",
    ),
    _noticed(
        "B7.7",
        "the producer id stays",
        {"            producer_id = next_producer_id\n": ""},
        LAST,
        "S8M",
    ),
    _noticed(
        "B7.7",
        "the next producer id is not used up",
        {"epoch = 0\n            next_producer_id = NO_PRODUCER_ID\n": "epoch = 0\n"},
        LAST,
        "S8M",
    ),
    _noticed(
        "B7.7",
        "the other result",
        {"state == PrepareCommit then": "state != PrepareCommit then"},
        LOW,
        "S11T",
    ),
)

# What an answer to EndTxn may be.
OK = "the stored pair"
FENCED = "PRODUCER_FENCED"
INVALID = "INVALID_TXN_STATE"
CONCURRENT = "CONCURRENT_TRANSACTIONS"
ABORTS = "bump, abort"
COMMITS = "bump, commit"
_DOES = {
    OK: "answer_end(answered, request, NONE)",
    FENCED: "answer_end(answered, request, PRODUCER_FENCED)",
    INVALID: "answer_end(answered, request, INVALID_TXN_STATE)",
    CONCURRENT: "answer_end(answered, request, CONCURRENT_TRANSACTIONS)",
    ABORTS: "end(answered, PrepareAbort, request)",
    COMMITS: "end(answered, PrepareCommit, request)",
}
_ASKS = {"retry": "(bumped or overflowed)", "current": "producer.epoch == epoch"}


def _edit(cell: str, outcome: str) -> dict[str, str]:
    state, _, asked = cell.partition(", ")
    result, which = asked.split()
    case = f"                case {state}:\n                    "
    test = f"if result == {result} and {_ASKS[which]}: {_DOES[outcome]}"
    return {f"{case}if ": f"{case}{test}\n                    elif "}


def _cell(cell: str, outcome: str, run: Run, finds: str, *, spoils: bool = False) -> Mutant:
    """The cell has another outcome, and that is found."""
    return _noticed(cell, outcome, _edit(cell, outcome), run, finds, spoils=spoils)


def _silent(cell: str, outcome: str, runs: Sequence[Run], why: str) -> Mutant:
    """The cell has another outcome, which nothing finds."""
    return _unnoticed(cell, outcome, _edit(cell, outcome), runs, why)


UNMET = (
    "nobody meets this cell: until B8 has answered, with the transition pending, nobody has the "
    "epoch of the Prepare record"
)
READY = (
    "the Prepare record is written, so the answer is the one of B8; that it comes too early only "
    "L4 can say"
)

CELLS = (
    _cell("Empty, ABORT retry", OK, LOW, "S4"),
    _cell("Empty, ABORT retry", ABORTS, LOW, "S10"),
    _cell("Empty, ABORT current", OK, LOW, "S4"),
    _cell("Empty, ABORT current", COMMITS, LOW, "S11T"),
    _silent("Empty, ABORT current", FENCED, [LOW], REFUSED),
    _cell("Empty, COMMIT retry", OK, EMPTY_COMMIT, "S4"),
    _cell("Empty, COMMIT current", OK, EMPTY_COMMIT, "S4"),
    _cell("Empty, COMMIT current", COMMITS, EMPTY_COMMIT, "S11T"),
    _cell("Ongoing, ABORT retry", OK, LOW, "S4"),
    _cell("Ongoing, ABORT retry", ABORTS, LOW, "S10"),
    _cell("Ongoing, ABORT current", OK, LOW, "S4"),
    _cell("Ongoing, ABORT current", COMMITS, LOW, "S10"),
    _silent("Ongoing, ABORT current", FENCED, [LOW], REFUSED),
    _cell("Ongoing, COMMIT retry", OK, LOW, "S4"),
    _cell("Ongoing, COMMIT retry", COMMITS, LOW, "S4"),
    _cell("Ongoing, COMMIT current", OK, LOW, "S4"),
    _cell("Ongoing, COMMIT current", ABORTS, LOW, "S10"),
    _cell("PrepareAbort, ABORT retry", FENCED, LOW, "S10"),
    _cell("PrepareAbort, ABORT retry", ABORTS, LOW, "S11T"),
    _silent("PrepareAbort, ABORT retry", OK, [LOW], READY),
    _silent("PrepareAbort, ABORT current", OK, [LAST], UNMET),
    _cell("PrepareAbort, COMMIT retry", OK, LOW, "S10"),
    _cell("PrepareAbort, COMMIT retry", COMMITS, LOW, "S11T", spoils=True),
    _silent("PrepareAbort, COMMIT current", OK, [EMPTY_COMMIT], UNMET),
    _cell("PrepareCommit, ABORT retry", OK, ABORTED_COMMIT, "S10"),
    _cell("PrepareCommit, ABORT retry", ABORTS, ABORTED_COMMIT, "S11T"),
    _silent("PrepareCommit, ABORT current", OK, [ABORTED_COMMIT], UNMET),
    _cell("PrepareCommit, COMMIT retry", FENCED, LOW, "S10"),
    _cell("PrepareCommit, COMMIT retry", COMMITS, LOW, "S11T", spoils=True),
    _silent("PrepareCommit, COMMIT current", OK, [EMPTY_COMMIT], UNMET),
    _cell("CompleteAbort, ABORT retry", FENCED, LOW, "S10"),
    _cell("CompleteAbort, ABORT retry", ABORTS, LOW, "S10"),
    _silent("CompleteAbort, ABORT retry", CONCURRENT, [LOW], LATER),
    _cell("CompleteAbort, ABORT current", OK, LOW, "S4"),
    _cell("CompleteAbort, ABORT current", COMMITS, LOW, "S11T"),
    _cell("CompleteAbort, COMMIT retry", OK, LOW, "S10"),
    _cell("CompleteAbort, COMMIT retry", COMMITS, LOW, "S11T"),
    _silent("CompleteAbort, COMMIT retry", INVALID, [LOW], REFUSED),
    _cell("CompleteAbort, COMMIT current", OK, EMPTY_COMMIT, "S4"),
    _cell("CompleteAbort, COMMIT current", COMMITS, EMPTY_COMMIT, "S11T"),
    _cell("CompleteCommit, ABORT retry", OK, ABORTED_COMMIT, "S4"),
    _cell("CompleteCommit, ABORT retry", ABORTS, ABORTED_COMMIT, "S10"),
    _cell("CompleteCommit, ABORT current", OK, LOW, "S4"),
    _cell("CompleteCommit, ABORT current", COMMITS, LOW, "S11T"),
    _cell("CompleteCommit, COMMIT retry", FENCED, LOW, "S10"),
    _cell("CompleteCommit, COMMIT retry", COMMITS, LOW, "S11T"),
    _silent("CompleteCommit, COMMIT retry", CONCURRENT, [LOW], LATER),
    _cell("CompleteCommit, COMMIT current", OK, EMPTY_COMMIT, "S4"),
    _cell("CompleteCommit, COMMIT current", COMMITS, EMPTY_COMMIT, "S11T"),
)

MUTANTS = (*B1, *FENCE, *B7, *CELLS)

# --------------------------------------------------------------------------------------- the page


def table() -> str:
    """The rows of the page, in Markdown."""
    lines = ["| row | change | found by | finds | proof of S8 |", "| --- | --- | --- | --- | --- |"]
    for mutant in MUTANTS:
        by = ", ".join(map(str, mutant.runs))
        finds = mutant.finds or f"nothing: {mutant.why}"
        proof = "broken" if mutant.breaks_proof else ""
        lines.append(f"| {mutant.row} | {mutant.change} | {by} | {finds} | {proof} |")
    return "\n".join(lines) + "\n"


def filled(page: str) -> str:
    """The page with the table that belongs there."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{PAGE} has no place for the table"
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
