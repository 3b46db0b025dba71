"""Generates the tables and traces in docs/kafka/ from saved results.

The page of a model has a marked section for each table:

    <!-- counts: MODEL -->   ...   <!-- end of counts -->
    <!-- bugs: MODEL -->     ...   <!-- end of bugs -->

README.md has the same sections for all models, named ``*``, and one more:

    <!-- never: * -->        ...   <!-- end of never -->

The steps of the traces are written to traces/MODEL.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from bench.places import table

WIDTH = 100
"""Maximum width of a step in characters. Longer steps are wrapped."""

PLACE = re.compile(
    r"<!-- (?P<table>counts|bugs|models|never): (?P<model>[\w*]+) -->\n"
    r".*?<!-- end of (?P=table) -->",
    re.S,
)
TEMPLATE = Path(__file__).with_name("kafka.template.md")
"""The initial text of README.md."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A constant that a check sets, its value, and the comment on the constant in the spec."""

    name: str
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class Row:
    """A check that was run. ``remark`` is the comment above it. ``bugs`` and ``rules`` are the
    names that occur in this comment and in the comments on the switches. ``steps`` are the titles
    of the steps after the initial state, or None without a trace.
    """

    check: str
    slow: bool
    found: str
    remark: str
    switches: tuple[Switch, ...]
    bugs: tuple[str, ...]
    rules: tuple[str, ...]
    steps: tuple[str, ...] | None
    distinct: int
    generated: int
    depth: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Results:
    """The checks of a model. ``title`` is the start of its docstring; ``machine`` and ``load``
    describe the measurement. ``idle`` are the actions that no check takes. ``vacuous`` has
    ``property: left side`` for each implication whose left side is never true in the checks of the
    property.
    """

    model: str
    title: str
    machine: str
    load: float
    rows: tuple[Row, ...]
    idle: tuple[str, ...] = ()
    vacuous: tuple[str, ...] = ()


def pages(folder: Path, results: Sequence[Results]) -> dict[Path, str]:
    """Returns the complete text of all pages with generated parts."""
    pages: dict[Path, str] = {}
    readme = folder / "README.md"
    text = (readme if readme.exists() else TEMPLATE).read_text(encoding="utf-8")
    pages[readme] = filled(text, results)
    for model in results:
        page = folder / f"{model.model}.md"
        if page.exists():
            pages[page] = filled(page.read_text(encoding="utf-8"), results)
        if any(row.steps is not None for row in model.rows):
            pages[folder / "traces" / f"{model.model}.md"] = traces(model)
    return pages


def filled(page: str, results: Sequence[Results]) -> str:
    """Returns a page with its sections filled. Sections of models without results are preserved."""
    by_name = {model.model: model for model in results}

    def fill(section: re.Match[str]) -> str:
        name, table = section["model"], section["table"]
        chosen = list(results) if name == "*" else [by_name[name]] if name in by_name else []
        if not chosen:
            return section[0]
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


def models(results: Sequence[Results]) -> str:
    """Returns a table of the models, with the number and duration of their checks."""
    rows = [
        [
            f"[{model.model}]({model.model}.md)",
            _cell(model.title),
            str(len(model.rows)),
            f"{max((row.distinct for row in model.rows), default=0):,}",
            _seconds(sum(row.seconds for row in model.rows)),
        ]
        for model in results
    ]
    return table(["model", "description", "checks", "maximum states", "total seconds"], rows)


def counts(results: Sequence[Results]) -> str:
    """Returns a table of all checks that ran, with their counts, followed by the machines."""
    rows = [
        [
            f"`{row.check}`{' (slow)' if row.slow else ''}",
            _cell(row.found),
            f"{row.distinct:,}",
            f"{row.generated:,}",
            str(row.depth),
            _seconds(row.seconds),
        ]
        for model in results
        for row in model.rows
    ]
    head = ["check", "result", "distinct states", "generated", "depth", "seconds"]
    return f"{table(head, rows)}\n\n{_measured(results)}"


def bugs(results: Sequence[Results], *, named: bool = True, linked: bool = True) -> str:
    """Returns a table of all checks that find a problem, with the names of bugs and rules from the
    comments in the spec. ``named`` adds the model, ``linked`` a link to the trace.
    """
    rows: list[list[str]] = []
    for model in results:
        for row in model.rows:
            if row.steps is None:
                continue
            link = f"[`{row.check}`](traces/{model.model}.md#{row.check})"
            switches = [f"`{s.name} = {s.value}`" for s in row.switches]
            rows.append(
                [
                    model.model,
                    ", ".join(row.bugs),
                    ", ".join(row.rules),
                    ", ".join(switches),
                    link if linked else row.check,
                    _cell(row.found),
                    str(len(row.steps)),
                    f"{row.distinct:,}",
                    _seconds(row.seconds),
                ]
            )
    head = ["model", "bug", "rule", "switch", "check", "result", "steps", "states", "seconds"]
    if not named:
        head, rows = head[1:], [row[1:] for row in rows]
    return f"{table(head, rows)}\n\n{_measured(results)}"


def never(results: Sequence[Results]) -> str:
    """Returns a table of what no check exercises: actions, and left sides of implications."""
    rows = [
        [
            model.model,
            ", ".join(f"`{name}`" for name in model.idle) or "none",
            ", ".join(f"`{_cell(text)}`" for text in model.vacuous) or "none",
        ]
        for model in results
    ]
    return table(["model", "actions never taken", "vacuous implications"], rows)


def traces(model: Results) -> str:
    """Returns the page of a model's traces. It shows the steps of each trace, and the command that
    prints the trace in full.
    """
    parts = [
        f"# Traces of {model.model}\n",
        f"The shortest trace of each check of [{model.model}](../{model.model}.md) that finds a "
        "problem, step by step.\n"
        "The command above a trace also prints the changes of each step; `--trace FILE` saves the "
        "trace [for diagrams](../../traces.md).\n",
    ]
    for row in model.rows:
        if row.steps is None:
            continue
        parts.append(f"## {row.check}\n")
        parts += [f"{_sentence(row.remark)}\n"] if row.remark else []
        parts += [f"`{s.name} = {s.value}`: {s.comment or 'no comment'}\n" for s in row.switches]
        parts.append(
            f"Result: {row.found}, in {len(row.steps)} steps and {row.distinct:,} states.\n"
        )
        command = f"fencepost check models/kafka/{model.model}.fence --check {row.check}"
        parts.append("\n".join(["```text", f"$ {command}", *_steps(row.steps), "```\n"]))
    return "\n".join(parts)


def _steps(titles: Sequence[str]) -> list[str]:
    """Returns the steps of a trace, numbered as in the printed report."""
    titles = ["initial state", *titles]
    digits = len(str(len(titles)))
    return [
        line
        for number, title in enumerate(titles, 1)
        for line in wrap(
            f"{number:>{digits}}  {title}",
            WIDTH,
            subsequent_indent=" " * (digits + 6),
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _measured(results: Sequence[Results]) -> str:
    places = sorted({model.machine for model in results})
    most = max((model.load for model in results), default=0.0)
    return (
        f"Measured on {'; '.join(places)}; load average at most {most:.1f}. "
        "Times include the compilation of the model."
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:,.0f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
