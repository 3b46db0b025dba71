"""The generated parts of docs/kafka/: tables and traces, from what was run.

A page of a model keeps a place for each table, which is filled anew:

    <!-- counts: MODEL -->   ...   <!-- end of counts -->
    <!-- bugs: MODEL -->     ...   <!-- end of bugs -->

README.md has the same places for all models, named ``*``, and one more:

    <!-- never: * -->        ...   <!-- end of never -->

The traces go to traces/MODEL.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

PLACE = re.compile(
    r"<!-- (?P<table>counts|bugs|models|never): (?P<model>[\w*]+) -->\n"
    r".*?<!-- end of (?P=table) -->",
    re.S,
)
TEMPLATE = Path(__file__).with_name("kafka.template.md")
"""What README.md begins as."""


class Switch(Protocol):
    """See `bench.kafka.Switch`."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def comment(self) -> str: ...


class Row(Protocol):
    """See `bench.kafka.Row`."""

    @property
    def check(self) -> str: ...
    @property
    def slow(self) -> bool: ...
    @property
    def found(self) -> str: ...
    @property
    def remark(self) -> str: ...
    @property
    def switches(self) -> Sequence[Switch]: ...
    @property
    def bugs(self) -> Sequence[str]: ...
    @property
    def rules(self) -> Sequence[str]: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def distinct(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def trace(self) -> str | None: ...
    @property
    def idle(self) -> Sequence[str]: ...
    @property
    def held(self) -> Sequence[str]: ...
    @property
    def vacuous(self) -> Sequence[str]: ...


class Told(Protocol):
    """See `bench.kafka.Told`."""

    @property
    def model(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def machine(self) -> str: ...
    @property
    def load(self) -> float: ...
    @property
    def rows(self) -> Sequence[Row]: ...


def pages(folder: Path, told: Sequence[Told]) -> dict[Path, str]:
    """The pages that have something generated in them, whole."""
    made: dict[Path, str] = {}
    readme = folder / "README.md"
    text = (readme if readme.exists() else TEMPLATE).read_text(encoding="utf-8")
    made[readme] = filled(text, told)
    for one in told:
        page = folder / f"{one.model}.md"
        if page.exists():
            made[page] = filled(page.read_text(encoding="utf-8"), told)
        if any(row.trace for row in one.rows):
            made[folder / "traces" / f"{one.model}.md"] = traces(one)
    return made


def filled(page: str, told: Sequence[Told]) -> str:
    """A page with its places filled; a place of a model of which nothing is known stays."""
    by_name = {one.model: one for one in told}

    def fill(place: re.Match[str]) -> str:
        name, table = place["model"], place["table"]
        chosen = list(told) if name == "*" else [by_name[name]] if name in by_name else []
        if not chosen:
            return place[0]
        match table:
            case "counts":
                body = counts(chosen)
            case "models":
                body = models(chosen)
            case "never":
                body = never(chosen)
            case _:
                body = bugs(chosen, named=name == "*")
        return f"<!-- {table}: {name} -->\n{body}\n<!-- end of {table} -->"

    return PLACE.sub(fill, page)


def models(told: Sequence[Told]) -> str:
    """The models, with how many checks there are and how long they take."""
    rows = [
        [
            f"[{one.model}]({one.model}.md)",
            _cell(one.title),
            str(len(one.rows)),
            f"{max((row.distinct for row in one.rows), default=0):,}",
            _seconds(sum(row.seconds for row in one.rows)),
        ]
        for one in told
    ]
    return _table(["model", "what it is", "checks", "most states", "seconds in all"], rows)


def counts(told: Sequence[Told]) -> str:
    """Every check that ran, with its counts; below, where that was."""
    rows = [
        [
            f"`{row.check}`{' (slow)' if row.slow else ''}",
            _cell(row.found),
            f"{row.distinct:,}",
            f"{row.generated:,}",
            str(row.depth),
            _seconds(row.seconds),
        ]
        for one in told
        for row in one.rows
    ]
    head = ["check", "found", "distinct states", "generated", "depth", "seconds"]
    return f"{_table(head, rows)}\n\n{_measured(told)}"


def bugs(told: Sequence[Told], *, named: bool = True, linked: bool = True) -> str:
    """Every check that finds a problem, with what the spec says of it. ``named``: with the model;
    ``linked``: with the way to its trace.
    """
    rows: list[list[str]] = []
    for one in told:
        for row in one.rows:
            if row.steps is None:
                continue
            link = f"[`{row.check}`](traces/{one.model}.md#{row.check})"
            switches = [f"`{s.name} = {s.value}`" for s in row.switches]
            rows.append(
                [
                    one.model,
                    ", ".join(row.bugs),
                    ", ".join(row.rules),
                    ", ".join(switches),
                    link if linked else row.check,
                    _cell(row.found),
                    str(row.steps),
                    f"{row.distinct:,}",
                    _seconds(row.seconds),
                ]
            )
    head = ["model", "bug", "rule", "switch", "check", "finds", "steps", "states", "seconds"]
    if not named:
        head, rows = head[1:], [row[1:] for row in rows]
    return f"{_table(head, rows)}\n\n{_measured(told)}"


def never(told: Sequence[Told]) -> str:
    """What no check of a model does: actions, and left sides of implications in properties.

    Models of which that was not kept are left out.
    """
    rows = [
        [
            one.model,
            ", ".join(f"`{name}`" for name in never_taken(one)) or "none",
            ", ".join(f"`{_cell(text)}`" for text in always_vacuous(one)) or "none",
        ]
        for one in told
        if any(row.held for row in one.rows)
    ]
    return _table(["model", "actions never taken", "properties that hold in vain"], rows)


def never_taken(one: Told) -> list[str]:
    """The actions that are taken in no check."""
    first, *others = (row.idle for row in one.rows)
    return [name for name in first if all(name in idle for idle in others)]


def always_vacuous(one: Told) -> list[str]:
    """``property: left side``, where that side is true in no check that looks at the property."""
    texts = dict.fromkeys(text for row in one.rows for text in row.vacuous)
    return [
        text
        for text in texts
        if all(text in row.vacuous for row in one.rows if text.partition(":")[0] in row.held)
    ]


def traces(one: Told) -> str:
    """The page of a model's traces."""
    parts = [
        f"# Traces of {one.model}\n",
        f"The shortest trace of each check of [{one.model}](../{one.model}.md) that finds a "
        "problem; made by `python -m bench.kafka --write`.\n",
    ]
    for row in one.rows:
        if row.trace is None:
            continue
        parts.append(f"## {row.check}\n")
        told = [f"{_sentence(row.remark)}\n"] if row.remark else []
        told += [f"`{s.name} = {s.value}`: {s.comment or 'no remark'}\n" for s in row.switches]
        parts += told
        parts.append(f"Finds: {row.found}, in {row.steps} steps and {row.distinct:,} states.\n")
        parts.append(f"```text\n{row.trace.rstrip()}\n```\n")
    return "\n".join(parts)


def _measured(told: Sequence[Told]) -> str:
    places = sorted({one.machine for one in told})
    most = max((one.load for one in told), default=0.0)
    return (
        f"Measured on {'; '.join(places)}; the load average there was {most:.1f} at most. "
        "Seconds include the compiling of the model."
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:,.0f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
