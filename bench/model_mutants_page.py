"""Generates docs/kafka/mutants.md from the trials of `model_mutants`.

`survivors` generates the page of a release, which lists the changes one by one.
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

PAGE = ROOT / "docs" / "kafka" / "mutants.md"
TEMPLATE = Path(__file__).with_name("mutants.template.md")
REASONS = {
    (
        "Client.send_record_without_adding",
        "remove `require not rules.AddBeforeProduce and protocol == V1`",
    ): "with V2 the action has the same effect as `Client.send_record`: more steps, no new states",
}
"""Why a change needs no property, by declaration and change."""

COMMENT = re.compile(r'""".*?"""|("[^"\n]*")|#[^\n]*', re.S)
"""A docstring, a string (the only group) or a comment."""

CLASSES = (
    "noticed", "same model", "never matters", "same graph", "unseen", "not decided", "different",
    "elsewhere",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Results:
    """The trials of a model, by the keys of their changes. ``changes`` is the number of all
    changes. ``text`` is the digest of the model's present text, or None if it was not computed.
    """

    model: str
    changes: int
    rows: dict[str, dict[str, Any]]
    text: str | None = None

    @property
    def earlier(self) -> int:
        """The number of trials with an earlier text of the model."""
        return sum(row["text"] != self.text for row in self.rows.values()) if self.text else 0


def digest(program: Program) -> str:
    """Returns the digest of a model's text, including its imports, without comments."""
    state = hashlib.sha256()
    for path, tree in sorted(program.files.files.items()):
        text = COMMENT.sub(lambda part: part[1] or "", tree.source.text)
        lines = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
        state.update(f"{path.name}\n{lines}\n".encode())
    return state.hexdigest()[:8]


def names(models: Path) -> list[str]:
    """Returns the models to mutate. Mappings of recordings are left out, since they have no
    protocol.
    """
    stems = sorted(path.stem for path in models.glob("*.fence"))
    return [stem for stem in stems if not stem.startswith("conform_")]


def rows_of(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns the head of a file of results, and the last row for each key."""
    # A last line without a line end was incomplete when the campaign was stopped.
    complete = path.read_text(encoding="utf-8").split("\n")[:-1]
    lines = [json.loads(line) for line in complete]
    rows: dict[str, dict[str, Any]] = {}
    for row in lines[1:]:
        key = row["key"]
        before = rows.pop(key, None)
        # A later run with other checks may notice a change. If it does not, the earlier results are
        # kept.
        additions = {name: row[name] for name in ("more", "met") if name in row}
        stays = additions and row["fate"] != "killed"
        rows[key] = {**before, **additions} if before is not None and stays else row
    return (lines[0] if lines else {}), rows


def read(folder: Path, models: Sequence[str], specs: Path | None = None) -> list[Results]:
    """Returns the available results. ``specs`` is the folder of the models, which is needed to
    compute the digests of their texts.
    """
    results: list[Results] = []
    for name in models:
        path = folder / f"{name}.jsonl"
        if path.exists():
            head, rows = rows_of(path)
            if rows:
                text = digest(load(specs / f"{name}.fence")) if specs is not None else None
                results.append(Results(name, head["changes"], rows, text))
    return results


def class_of(row: Mapping[str, Any], noticed: Mapping[str, str]) -> str:
    """Returns one of `CLASSES`. ``noticed`` maps each change that some model notices to the check
    that notices it.
    """
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
            # Fairness does not affect states and steps, so changes of it are judged by temporal
            # checks.
            return "same graph"
        case _ if row["key"] in noticed:
            return "elsewhere"
        case _:
            return "unseen" if row.get("hidden") is not None else "different"


def noticed_by(results: Sequence[Results]) -> dict[str, str]:
    """Maps each change that some model notices to the first check that notices it, preceded by the
    name of its model.
    """
    noticed: dict[str, str] = {}
    for result in results:
        for key, row in result.rows.items():
            if row["fate"] == "killed":
                noticed.setdefault(key, f"{result.model} {row['check']}")
    return noticed


def table(results: Sequence[Results]) -> Iterator[str]:
    """Yields the lines of the table of all models."""
    noticed = noticed_by(results)
    yield (
        "| model | text | changes | tried | noticed | same model | never matters | same graph"
        " | unseen | not decided | different, noticed by another model | different, not noticed |"
    )
    yield f"| --- | --- |{' ---: |' * 10}"
    order = (*CLASSES[:6], "elsewhere", "different")
    sums: Counter[str] = Counter()
    for model in results:
        counts = Counter(class_of(row, noticed) for row in model.rows.values())
        counts.update({"changes": model.changes, "tried": len(model.rows)})
        sums.update(counts)
        texts = Counter(row["text"] for row in model.rows.values())
        digests = ", ".join(f"`{text}`" for text, _ in texts.most_common())
        yield _row(f"[{model.model}]({model.model}.md) | {digests}", counts, order)
    yield _row("all | ", sums, order)


def _row(name: str, counts: Mapping[str, int], order: Sequence[str]) -> str:
    cells = (f"{counts[part]:,}" for part in ("changes", "tried", *order))
    return f"| {name} | {' | '.join(cells)} |"


def key_of(file: str, where: str, kind: str, change: str, repetition: int) -> str:
    """Returns the key of a change, which is stable as long as the text of its declaration does not
    change.
    """
    identity = f"{file} {where} {kind} {change} {repetition}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def left(results: Sequence[Results]) -> Iterator[str]:
    """Yields tables of the changes with an unnoticed difference, one for each file."""
    noticed = noticed_by(results)
    open_: defaultdict[str, dict[str, list[tuple[str, Mapping[str, Any]]]]] = defaultdict(dict)
    for result in results:
        for key, row in result.rows.items():
            if class_of(row, noticed) == "different":
                open_[row["file"]].setdefault(key, []).append((result.model, row))
    for file, changes in sorted(open_.items()):
        yield f"### {file}"
        yield ""
        yield "| declaration | change | models | first difference | reason |"
        yield "| --- | --- | --- | --- | --- |"
        for models in sorted(changes.values(), key=_position):
            first = models[0][1]
            change = first["change"].replace("|", "\\|")
            names = ", ".join(model for model, _ in models)
            reason = REASONS.get((first["where"], first["change"]), "")
            yield f"| `{first['where']}` | {change} | {names} | {_parted(models)} | {reason} |"
        yield ""


def unseen(results: Sequence[Results]) -> Iterator[str]:
    """Yields a table of the changes whose only effect is on a part of the state that influences
    nothing else.
    """
    noticed = noticed_by(results)
    hidden_by: dict[str, dict[str, list[str]]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for result in results:
        for key, row in result.rows.items():
            if class_of(row, noticed) == "unseen":
                rows[key] = row
                models = hidden_by.setdefault(key, {})
                models[result.model] = row["hidden"]
    yield "| declaration | change | part | models |"
    yield "| --- | --- | --- | --- |"
    for key, row in sorted(rows.items(), key=lambda item: (item[1]["file"], item[1]["line"])):
        parts = dict.fromkeys(part for hidden in hidden_by[key].values() for part in hidden)
        listing = ", ".join(part if " " in part else f"`{part}`" for part in parts)
        change = row["change"].replace("|", "\\|")
        where = f"{row['file'].removesuffix('.fence')}, `{row['where']}`"
        yield f"| {where} | {change} | {listing} | {', '.join(hidden_by[key])} |"


def survivors(results: Sequence[Results]) -> str:
    """Returns the page of the changes that the checks of a model did not notice when they ran. It
    leaves out changes that were classified without a run.
    """
    noticed = noticed_by(results)
    parts = [
        "# Changes that no check of a model notices\n",
        "docs/kafka/mutants.md explains the classes; *elsewhere* means that a check of another "
        "model notices the change.\n",
    ]
    for result in results:
        rows = [row for row in result.rows.values() if "change" in row]
        if rows:
            parts += [
                f"## {result.model}\n",
                "| declaration | change | class |",
                "| --- | --- | --- |",
            ]
        for row in sorted(rows, key=lambda row: (row["file"], row["line"], row["change"])):
            change = row["change"].replace("|", "\\|")
            where = f"{row['file'].removesuffix('.fence')}, `{row['where']}`"
            parts.append(f"| {where} | {change} | {class_of(row, noticed)} |")
        parts += [""] if rows else []
    return "\n".join(parts)


def _position(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[int, str]:
    row = rows[0][1]
    return row["line"], row["change"]


def _parted(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Describes the first difference of the graphs, in the first model that records one."""
    for model, row in rows:
        parting = row["parting"]
        if parting is not None:
            way = parting["way"]
            steps = f"{len(way)} {'step' if len(way) == 1 else 'steps'}"
            last = f", the last `{way[-1]}`" if way else ""
            return f"`{model}` `{parting['check']}`, after {steps}{last}: {_difference(parting)}"
    if all(row["kind"] == "fairness" for _, row in rows):
        return "same states and steps, different fairness"
    return "only counts were compared: more than 20,000 steps"


def _difference(parting: Mapping[str, Sequence[str]]) -> str:
    both = [name for name in parting["gone"] if name in parting["new"]]
    phrases: list[str] = []
    if both:
        changed = ", ".join(f"`{name}`" for name in parting["changed"])
        phrases.append(f"{_named(both)} leads to another {changed}")
    phrases += [f"{_named([name])} cannot be taken" for name in parting["gone"] if name not in both]
    phrases += [f"{_named([name])} can be taken" for name in parting["new"] if name not in both]
    return ", ".join(phrases)


def _named(actions: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in actions)


def text(results: Sequence[Results]) -> str:
    """Returns the text of the page."""
    earlier = {result.model: result.earlier for result in results if result.earlier}
    remark = ", ".join(f"{count} of {model}" for model, count in earlier.items())
    parts = {
        "table": "\n".join(table(results)),
        "earlier": f"\nTried with an earlier text of the model: {remark}.\n" if remark else "",
        "left": "\n".join(left(results)).rstrip(),
        "unseen": "\n".join(unseen(results)),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], page)


def write(results: Sequence[Results]) -> None:
    """Writes the page."""
    PAGE.write_text(text(results), encoding="utf-8")
