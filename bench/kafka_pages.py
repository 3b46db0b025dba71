"""Generates the tables of docs/kafka/, and the pages of a release, from saved results.

README.md and the page of a model have a marked section for each table:

    <!-- models: * -->       ...   <!-- end of models -->
    <!-- bugs: MODEL -->     ...   <!-- end of bugs -->

The pages of a release list every check with its counts and its trace. They are not in the
repository, which only has their digests.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from bench.places import table

WIDTH = 100
"""Maximum width of a step in characters. Longer steps are wrapped."""

PLACE = re.compile(
    r"<!-- (?P<table>bugs|models): (?P<model>[\w*]+) -->\n.*?<!-- end of (?P=table) -->", re.S
)


@dataclass(frozen=True, slots=True)
class Switch:
    """A constant that a check sets, its value, and the comment on the constant in the spec."""

    name: str
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class Row:
    """A check that was run. ``remark`` is the comment above it. ``bugs`` and ``rules`` are the
    names that occur in this comment and in the comments on the switches. ``without`` are the
    actions whose fairness the check leaves out. ``steps`` are the titles of the steps after the
    initial state, or None without a trace.
    """

    check: str
    slow: bool
    found: str
    remark: str
    switches: tuple[Switch, ...]
    bugs: tuple[str, ...]
    rules: tuple[str, ...]
    without: tuple[str, ...]
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
    """Returns the complete text of README.md and the pages of models in ``folder``."""
    paths = [folder / "README.md", *(folder / f"{model.model}.md" for model in results)]
    return {
        path: filled(path.read_text(encoding="utf-8"), results) for path in paths if path.exists()
    }


def filled(page: str, results: Sequence[Results]) -> str:
    """Returns a page with its sections filled. Sections of models without results are preserved."""
    by_name = {model.model: model for model in results}

    def fill(section: re.Match[str]) -> str:
        name, table = section["model"], section["table"]
        if table == "models":
            body = models(results)
        elif name in by_name:
            body = bugs(by_name[name])
        else:
            return section[0]
        return f"<!-- {table}: {name} -->\n{body}\n<!-- end of {table} -->"

    return PLACE.sub(fill, page)


def release(results: Sequence[Results]) -> dict[str, str]:
    """Returns the pages of a release by file name: one for each model, and one of all bugs."""
    return {
        "bugs.md": all_bugs(results),
        **{f"{model.model}.md": checks(model) for model in results},
    }


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


def bugs(model: Results) -> str:
    """Returns a table of the checks of a model that find a problem, with the names of bugs and
    rules from the comments in the spec. Checks with the same bugs, rules and switches share a row.
    Checks that leave out fairness are not in the table.
    """
    grouped: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in model.rows:
        if row.steps is not None and not row.without:
            result = row.found.removeprefix("violated ")
            grouped[_causes(row)].append(f"`{row.check}` ({_cell(result)}, {len(row.steps)})")
    rows = [[*causes, ", ".join(checks)] for causes, checks in grouped.items()]
    return table(["bug", "rule", "switch", "checks (violated property, steps)"], rows)


def _causes(row: Row) -> tuple[str, str, str]:
    """Returns the cells for the bugs, rules and switches of a check."""
    switches = (f"`{switch.name} = {switch.value}`" for switch in row.switches)
    return ", ".join(row.bugs), ", ".join(row.rules), ", ".join(switches)


def all_bugs(results: Sequence[Results]) -> str:
    """Returns the page of all checks that find a problem, and of what no check exercises."""
    rows = [
        [
            model.model,
            *_causes(row),
            f"[`{row.check}`]({model.model}.md#{row.check})",
            _cell(row.found),
            str(len(row.steps)),
            f"{row.distinct:,}",
            _seconds(row.seconds),
        ]
        for model in results
        for row in model.rows
        if row.steps is not None
    ]
    head = ["model", "bug", "rule", "switch", "check", "result", "steps", "states", "seconds"]
    return (
        "# Bugs\n\n"
        "Every row is a check of a model that finds a problem; the name links to its trace.\n"
        "*Steps* is the length of the shortest trace, and *states* the number of states that the "
        "search visited before it found the problem.\n\n"
        f"{table(head, rows)}\n\n{_measured(results)}\n\n"
        "## What never happens\n\n"
        "Actions that no check takes, and implications in properties whose left side is never true "
        "in a check of the property.\nThe page of the model explains why.\n\n"
        f"{never(results)}\n"
    )


def checks(model: Results) -> str:
    """Returns the page of a model: its checks with their counts, and the traces."""
    parts = [f"# Checks of {model.model}\n", f"{_sentence(model.title)}\n", f"{counts(model)}\n"]
    if any(row.steps is not None for row in model.rows):
        parts.append(
            "The shortest trace of each check that finds a problem follows.\n"
            "The command above a trace also prints the changes of each step; `--trace FILE` saves "
            "the trace.\n"
        )
    return "\n".join([*parts, *_traces(model)])


def counts(model: Results) -> str:
    """Returns a table of all checks of a model that ran, with their counts, and the machine."""
    rows = [
        [
            f"`{row.check}`{' (slow)' if row.slow else ''}",
            _cell(row.found),
            f"{row.distinct:,}",
            f"{row.generated:,}",
            str(row.depth),
            _seconds(row.seconds),
        ]
        for row in model.rows
    ]
    head = ["check", "result", "distinct states", "generated", "depth", "seconds"]
    return f"{table(head, rows)}\n\n{_measured([model])}"


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


def _traces(model: Results) -> Iterator[str]:
    """Yields the traces of a model: the command that prints a trace in full, and its steps."""
    for row in model.rows:
        if row.steps is None:
            continue
        yield f"## {row.check}\n"
        if row.remark:
            yield f"{_sentence(row.remark)}\n"
        for switch in row.switches:
            yield f"`{switch.name} = {switch.value}`: {switch.comment or 'no comment'}\n"
        if row.without:
            yield f"Without fairness of {', '.join(f'`{name}`' for name in row.without)}.\n"
        yield f"Result: {row.found}, in {len(row.steps)} steps and {row.distinct:,} states.\n"
        command = f"fencepost check models/kafka/{model.model}.fence --check {row.check}"
        yield "\n".join(["```text", f"$ {command}", *_steps(row.steps), "```\n"])


def _steps(titles: Sequence[str]) -> list[str]:
    """Returns the steps of a trace, numbered as in the printed report."""
    titles = ["initial state", *titles]
    digits = len(str(len(titles) - 1))
    return [
        line
        for number, title in enumerate(titles)
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
