"""docs/kafka/mutants.md, from the trials of `model_mutants`.

What a run says of a change goes before what was read: a reason that was found by reading stands
only beside a change that makes a difference which nothing notices.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import ROOT
from fencepost.checker.run.check import load
from fencepost.spec.elaborate.claims.program import Program
from fencepost.spec.mutation.mutants import KINDS

DOCS = ROOT / "docs" / "kafka"
PAGE = DOCS / "mutants.md"
TEMPLATE = Path(__file__).with_name("mutants.template.md")
READ = ("mutants_txn_core_v1", "mutants_txn_core_v2")
"""The pages with reasons that were found by reading."""
REASON = re.compile(r"^(?:\| `(\w+)` )?\| `([\w.]+)` \| (.+) \| (?:same|differ|!|) ?\| (\d+) \|$")

CLASSES = (
    "noticed", "same model", "never matters", "same graph", "unseen", "not decided", "different",
    "elsewhere",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Results:
    """The trials of a model by the keys of their changes; ``changes`` is how many there are.
    ``text`` names the text that the model has today, None where nobody has asked.
    """

    model: str
    changes: int
    rows: dict[str, dict[str, Any]]
    text: str | None = None

    @property
    def earlier(self) -> int:
        """How many of the trials are of another text than the model has today."""
        return sum(row["text"] != self.text for row in self.rows.values()) if self.text else 0


def digest(program: Program) -> str:
    """Names the text of a model, that of what it imports included."""
    told = hashlib.sha256()
    for path, tree in sorted(program.files.files.items()):
        told.update(f"{path.name}\n{tree.source.text}\n".encode())
    return told.hexdigest()[:8]


def names(models: Path) -> list[str]:
    """The models that are tried; those of recordings have no protocol of their own."""
    stems = sorted(path.stem for path in models.glob("*.fence"))
    return [stem for stem in stems if not stem.startswith("conform_")]


def rows_of(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The head of a file of results, and its rows by their keys, of which the last ones count."""
    # A line that has no end was being written when the campaign was stopped.
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    told = [json.loads(line) for line in lines]
    rows: dict[str, dict[str, Any]] = {}
    for row in told[1:]:
        key = row["key"]
        before = rows.pop(key, None)
        # Other checks may notice a change; else what those before said of it stays.
        asked = {name: row[name] for name in ("more", "met") if name in row}
        stays = asked and row["fate"] != "killed"
        rows[key] = {**before, **asked} if before is not None and stays else row
    return (told[0] if told else {}), rows


def read(folder: Path, models: Sequence[str], specs: Path | None = None) -> list[Results]:
    """The results that there are; ``specs`` is where the models are, to see what text they have."""
    found: list[Results] = []
    for name in models:
        path = folder / f"{name}.jsonl"
        if path.exists():
            head, rows = rows_of(path)
            if rows:
                text = digest(load(specs / f"{name}.fence")) if specs is not None else None
                found.append(Results(name, head["changes"], rows, text))
    return found


def class_of(row: Mapping[str, Any], noticed: Mapping[str, str]) -> str:
    """One of `CLASSES`. ``noticed``: the changes that some model notices, and which one does."""
    match row["fate"]:
        case "killed":
            return "noticed"
        case "same" | "refused":
            return "same model"
        case "idle":
            return "never matters"
        case "undecided":
            return "not decided"
        case "equivalent":
            return "same graph"
        case _ if row["same_counts"] and row["parting"] is None and row["kind"] != "fairness":
            # The states and steps are the same ones whatever is owed: behaviours judge that.
            return "same graph"
        case _ if row["key"] in noticed:
            return "elsewhere"
        case _:
            return "unseen" if row.get("hidden") is not None else "different"


def noticed_by(results: Sequence[Results]) -> dict[str, str]:
    """For each change that some model notices, the check that does, with its model."""
    found: dict[str, str] = {}
    for one in results:
        for key, row in one.rows.items():
            if row["fate"] == "killed":
                found.setdefault(key, f"{one.model} {row['check']}")
    return found


def table(results: Sequence[Results]) -> Iterator[str]:
    """The table over all models."""
    noticed = noticed_by(results)
    yield (
        "| model | text | changes | tried | noticed | same model | never matters | same graph"
        " | unseen | not decided | different, noticed by another model | different, not noticed |"
    )
    yield f"| --- | --- |{' ---: |' * 10}"
    order = (*CLASSES[:6], "elsewhere", "different")
    sums: Counter[str] = Counter()
    for one in results:
        counts = Counter(class_of(row, noticed) for row in one.rows.values())
        counts.update({"changes": one.changes, "tried": len(one.rows)})
        sums.update(counts)
        texts = Counter(row["text"] for row in one.rows.values())
        said = ", ".join(f"`{text}`" for text, _ in texts.most_common())
        yield _row(f"[{one.model}]({one.model}.md) | {said}", counts, order)
    yield _row("all | ", sums, order)


def _row(name: str, counts: Mapping[str, int], order: Sequence[str]) -> str:
    cells = (f"{counts[part]:,}" for part in ("changes", "tried", *order))
    return f"| {name} | {' | '.join(cells)} |"


def key_of(file: str, where: str, kind: str, change: str, repetition: int) -> str:
    """What names a change as long as the text of its declaration stays."""
    told = f"{file} {where} {kind} {change} {repetition}"
    return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Reason:
    """A row of a page with reasons that were found by reading: a change, and where its reason is.
    ``repetition`` tells it from equal ones before it in its declaration.
    """

    file: str
    where: str
    change: str
    repetition: int
    link: str

    def possible_keys(self) -> Iterator[str]:
        """What the change may be named; the row does not say of which kind it is."""
        for kind in KINDS:
            yield key_of(self.file, self.where, kind, self.change, self.repetition)


def reasons(docs: Path, name: str) -> Iterator[Reason]:
    """The rows of a page."""
    section = ""
    for line in (docs / f"{name}.md").read_text(encoding="utf-8").splitlines():
        section = line[4:] if line.startswith("### ") else section
        told = REASON.match(line)
        if told is not None:
            file = f"{told[1]}.fence" if told[1] else section
            change = told[3].replace("\\|", "|")
            again = re.search(r" \((\d+)\)$", change)
            change = change[: again.start()] if again else change
            link = f"[{'F3' if name.endswith('v1') else 'F4'}: {told[4]}]({name}.md#reasons)"
            yield Reason(file, told[2], change, int(again[1]) if again else 1, link)


def explained(model: str, docs: Path = DOCS) -> set[str]:
    """What the changes of a model that have a reason found by reading may be named."""
    name = f"mutants_{model}"
    known = reasons(docs, name) if name in READ else ()
    return {key for told in known for key in told.possible_keys()}


def read_before(results: Sequence[Results], docs: Path) -> Iterator[str]:
    """What runs say of the changes with a reason that was found by reading."""
    known = ("noticed", "never matters", "same graph", "unseen", "different")
    yield f"| explained by reading | changes | {' | '.join(known)} | other |"
    yield f"| --- |{' ---: |' * 7}"
    noticed = noticed_by(results)
    for name in READ:
        model = name.removeprefix("mutants_")
        rows = {key: row for one in results if one.model == model for key, row in one.rows.items()}
        counts: Counter[str] = Counter()
        for told in reasons(docs, name):
            row = next((rows[key] for key in told.possible_keys() if key in rows), None)
            counts[class_of(row, noticed) if row else "not tried"] += 1
        counts["different"] += counts.pop("elsewhere", 0)
        other = sum(count for part, count in counts.items() if part not in known)
        cells = [sum(counts.values()), *(counts[part] for part in known), other]
        yield f"| [{model}]({name}.md) | {' | '.join(map(str, cells))} |"


def left(results: Sequence[Results], docs: Path) -> Iterator[str]:
    """The changes that make a difference which nothing notices, file by file."""
    noticed = noticed_by(results)
    read_: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for told in (one for name in READ for one in reasons(docs, name)):
        read_[told.where, told.change].append(told.link)
    open_: defaultdict[str, dict[str, list[tuple[str, Mapping[str, Any]]]]] = defaultdict(dict)
    for one in results:
        for key, row in one.rows.items():
            if class_of(row, noticed) == "different":
                open_[row["file"]].setdefault(key, []).append((one.model, row))
    for file, those in sorted(open_.items()):
        yield f"### {file}"
        yield ""
        yield "| in | change | models | where the graphs part | read |"
        yield "| --- | --- | --- | --- | --- |"
        for found in sorted(those.values(), key=_place):
            first = found[0][1]
            change = first["change"].replace("|", "\\|")
            models = ", ".join(model for model, _ in found)
            links = ", ".join(dict.fromkeys(read_.get((first["where"], first["change"]), ())))
            yield f"| `{first['where']}` | {change} | {models} | {_parted(found)} | {links} |"
        yield ""


def unseen(results: Sequence[Results]) -> Iterator[str]:
    """The changes that are only to be seen in a part of the state on which nothing else depends."""
    noticed = noticed_by(results)
    found: dict[str, dict[str, list[str]]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for one in results:
        for key, row in one.rows.items():
            if class_of(row, noticed) == "unseen":
                rows[key] = row
                models = found.setdefault(key, {})
                models[one.model] = row["hidden"]
    yield "| in | change | but for | models |"
    yield "| --- | --- | --- | --- |"
    for key, row in sorted(rows.items(), key=lambda item: (item[1]["file"], item[1]["line"])):
        parts = dict.fromkeys(part for hidden in found[key].values() for part in hidden)
        said = ", ".join(part if " " in part else f"`{part}`" for part in parts)
        change = row["change"].replace("|", "\\|")
        where = f"{row['file'].removesuffix('.fence')}, `{row['where']}`"
        yield f"| {where} | {change} | {said} | {', '.join(found[key])} |"


def _place(told: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[int, str]:
    row = told[0][1]
    return row["line"], row["change"]


def _parted(told: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Where the graphs of the first model that says so part."""
    for model, row in told:
        parting = row["parting"]
        if parting is not None:
            way = parting["way"]
            steps = f"{len(way)} {'step' if len(way) == 1 else 'steps'}"
            last = f", the last `{way[-1]}`" if way else ""
            return f"`{model}` `{parting['check']}`, after {steps}{last}: {_difference(parting)}"
    if all(row["kind"] == "fairness" for _, row in told):
        return "the states and steps are the same ones, and what is owed is other"
    return "only the counts were compared: it is further on than 20,000 steps"


def _difference(parting: Mapping[str, Sequence[str]]) -> str:
    both = [name for name in parting["gone"] if name in parting["new"]]
    said: list[str] = []
    if both:
        changed = ", ".join(f"`{name}`" for name in parting["changed"])
        said.append(f"{_named(both)} leads to another {changed}")
    said += [f"{_named([one])} cannot be taken" for one in parting["gone"] if one not in both]
    said += [f"{_named([one])} can be taken" for one in parting["new"] if one not in both]
    return ", ".join(said)


def _named(actions: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in actions)


def text(results: Sequence[Results], docs: Path = DOCS) -> str:
    """The page."""
    earlier = {one.model: one.earlier for one in results if one.earlier}
    remark = ", ".join(f"{count} of {model}" for model, count in earlier.items())
    parts = {
        "table": "\n".join(table(results)),
        "earlier": f"\nTried with an earlier text of the model: {remark}.\n" if remark else "",
        "read": "\n".join(read_before(results, docs)),
        "left": "\n".join(left(results, docs)).rstrip(),
        "unseen": "\n".join(unseen(results)),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)


def write(results: Sequence[Results]) -> None:
    """Writes the page."""
    PAGE.write_text(text(results), encoding="utf-8")
