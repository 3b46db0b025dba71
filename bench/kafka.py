"""The tables of docs/kafka/: which bug each check of the models finds, in how many steps.

    python -m bench.kafka                      runs every check that is not slow, prints the table
    python -m bench.kafka txn_core_v1 --slow   one model, with its slow checks
    python -m bench.kafka --write              also keeps the results and writes the pages
    python -m bench.kafka --pages              the pages anew from what is kept, nothing is run

A model that is run again replaces what was kept of it. Where a check does not come out as expected
nothing is written. See `bench.kafka_pages` for the pages.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import kafka_pages
from bench.machine import ROOT, load, this_machine
from fencepost.checker import engines
from fencepost.checker.printing.page import Page
from fencepost.checker.request import Limits, Progress
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.job import Settings
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import expected, found, name_of
from fencepost.checker.trace.steps import shown, write_trace
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Bool, show
from fencepost.spec.elaborate.program import Check
from fencepost.spec.elaborate.program import load as load_spec
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span

MODELS = ROOT / "models" / "kafka"
KEPT = ROOT / "bench" / "results" / "kafka.json"
ISSUE = re.compile(r"\b(?:KAFKA-\d+|KIP-\d+|librdkafka#\d+)\b")
RULE = re.compile(r"\b[AB]\d+(?:\.\d+)*[a-z]?\b")
TRACE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Switch:
    """A constant to which a check gives another value, and what the spec says of it."""

    name: str
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class Row:
    """A check that was run. ``remark`` is the comment above it; ``bugs`` and ``rules`` are what
    that comment and those of the switches name. ``steps`` and ``trace`` are None without a trace.
    ``idle`` are the actions that were not taken. Of a search that found nothing ``held`` are the
    properties that were looked at, and ``vacuous`` those with a left side that was never true, and
    that side.
    """

    check: str
    slow: bool
    expected: str
    found: str
    remark: str
    switches: tuple[Switch, ...]
    bugs: tuple[str, ...]
    rules: tuple[str, ...]
    steps: int | None
    distinct: int
    generated: int
    depth: int
    seconds: float
    trace: str | None
    idle: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    vacuous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a model: its first words, and where and how its rows were measured."""

    model: str
    title: str
    machine: str
    load: float
    rows: tuple[Row, ...]


def main() -> int:
    options = _parser().parse_args()
    kept = read(KEPT)
    failed = False
    if not options.pages:
        paths = [path for path in sorted(MODELS.glob("*.fence")) if _wanted(path, options.models)]
        if not paths:
            print(f"there is no model {', '.join(options.models)}", file=sys.stderr)
            return 2
        ran: dict[str, Told] = {}
        for path in paths:
            told, wrong = run(path, slow=options.slow, timeout=options.timeout)
            failed = failed or bool(wrong)
            for sentence in wrong:
                print(f"{path.stem}: {sentence}", file=sys.stderr)
            if told.rows:
                ran[path.stem] = told
        print(kafka_pages.bugs([*ran.values()], linked=False))
        kept |= ran
    if failed:
        print("nothing is written: not every check came out as expected", file=sys.stderr)
        return 1
    if options.write or options.pages:
        present = {path.stem for path in MODELS.glob("*.fence")}
        kept = {name: kept[name] for name in sorted(kept) if name in present}
        KEPT.write_text(dumps(kept), encoding="utf-8")
        for path, text in kafka_pages.pages(ROOT / "docs" / "kafka", [*kept.values()]).items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.kafka", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("models", nargs="*", metavar="MODEL", help="only these (default: all)")
    parser.add_argument("--write", action="store_true", help="keep the results, write the pages")
    parser.add_argument("--pages", action="store_true", help="write the pages, run nothing")
    parser.add_argument("--slow", action="store_true", help="run slow checks too")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for a check")
    return parser


def _wanted(path: Path, names: Sequence[str]) -> bool:
    return not names or path.stem in names


# ---------------------------------------------------------------- running


def run(path: Path, *, slow: bool = False, timeout: float | None = None) -> tuple[Told, list[str]]:
    """The rows of a model, and what did not come out as expected, in sentences."""
    rows: list[Row] = []
    wrong: list[str] = []
    remarks: dict[str, str] = {}
    try:
        program = load_spec(path)
        for check in program.checks:
            if (
                not check.name
                or (check.slow and not slow)
                or not engines.visits_states(check.engine)
            ):
                continue
            settings = Settings(limits=Limits(timeout=timeout))
            result = perform(prepare(program, check, settings), _ignore)
            if result.as_expected:
                remarks[check.name] = _remark(check, program.checks, remarks)
                rows.append(_row(check, result, remarks[check.name]))
            else:
                wrong.append(f"{check.name}: {result.explanation}")
    except Rejected as rejected:
        wrong += [str(problem) for problem in rejected.problems]
        return Told(path.stem, "", "", 0.0, ()), wrong
    title = (program.docstring or path.stem).strip().split("\n\n")[0]
    machine = this_machine()
    where = f"{machine.processor}, {machine.cores} cores, Python {machine.python}"
    return Told(path.stem, _flat(title), where, round(load(), 1), tuple(rows)), wrong


def _remark(check: Check, every: Sequence[Check], before: Mapping[str, str]) -> str:
    """The comment above a check; that of the one before it, where they run the same model."""
    assert check.span is not None
    own = _comment_above(check.span)
    place = every.index(check)
    if own or not place or every[place - 1].constants != check.constants:
        return own
    return before.get(every[place - 1].name, "")


def _row(check: Check, result: CheckResult, remark: str) -> Row:
    model = result.job.model
    switches = tuple(_switches(check, model))
    texts = [remark, *(one.comment for one in switches)]
    finding, statistics = result.finding, result.outcome.statistics
    trace = finding.trace if finding is not None else None
    page = Page(TRACE_WIDTH)
    if trace is not None:
        write_trace(page, shown(model, trace), 0)
    return Row(
        check=check.name,
        slow=check.slow,
        expected=expected(check),
        found=found(model, result.outcome),
        remark=remark,
        switches=switches,
        bugs=_named(ISSUE, texts),
        rules=_named(RULE, texts),
        steps=None if trace is None else len(trace.steps) - 1,
        distinct=statistics.distinct,
        generated=statistics.generated,
        depth=statistics.depth,
        seconds=round(statistics.seconds, 3),
        trace=None if trace is None else page.text(),
        idle=tuple(
            action.name
            for action, count in zip(model.actions, result.outcome.coverage.taken, strict=True)
            if not count
        ),
        held=() if finding is not None else tuple(_looked_at(result)),
        vacuous=() if finding is not None else tuple(dict.fromkeys(_vacuous(result))),
    )


def _looked_at(result: CheckResult) -> Iterator[str]:
    """The invariants that a check looks at, by name."""
    for number in sorted(result.job.properties):
        prop = result.job.model.properties[number]
        if prop.kind in ("invariant", "step invariant"):
            yield name_of(prop)


def _vacuous(result: CheckResult) -> Iterator[str]:
    """``property: left side``, for each left side of an implication that was never true."""
    model, coverage = result.job.model, result.outcome.coverage
    for number, mark in enumerate(model.marks):
        if mark.kind != "antecedent" or number in coverage.marks:
            continue
        if mark.owner in result.job.properties:
            text = _flat(mark.text) or _flat(mark.span.text)
            yield f"{name_of(model.properties[mark.owner])}: {text}"


def _named(pattern: re.Pattern[str], texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for text in texts for name in pattern.findall(text)))


def _switches(check: Check, model: Model) -> Iterator[Switch]:
    """The rules that a check leaves out or brings in: the bools that it sets."""
    by_path = {constant.path: constant for constant in model.constants}
    for given in check.constants:
        path = ".".join(part.text for part in given.path)
        constant = by_path.get(path)
        if constant is not None and isinstance(constant.type, Bool):
            comment = _comment_beside(constant.span)
            yield Switch(path, show(constant.value, constant.type), comment)


def _comment_beside(span: Span) -> str:
    """The comment at the end of the line, and on the lines below it in the same column."""
    lines = span.source.text.split("\n")
    number = span.line - 1
    before, mark, comment = lines[number].partition("#")
    parts = [comment] if mark else []
    for line in lines[number + 1 :] if mark else []:
        left, mark, more = line.partition("#")
        if not mark or left.strip() or len(left) != len(before):
            break
        parts.append(more)
    return _flat(" ".join(parts))


def _comment_above(span: Span) -> str:
    """The comment lines directly above, without a break."""
    parts: list[str] = []
    number = span.line - 1
    while number > 0 and span.source.line(number).startswith("#"):
        parts.insert(0, span.source.line(number).lstrip("# "))
        number -= 1
    # A line across the page is a heading.
    return "" if any("-----" in part for part in parts) else _flat(" ".join(parts))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _ignore(_: Progress) -> None:
    """These runs are not watched."""


# ---------------------------------------------------------------- what is kept


def dumps(told: dict[str, Told]) -> str:
    """The text of the file of results."""
    return json.dumps({name: asdict(one) for name, one in told.items()}, indent=1) + "\n"


def read(path: Path) -> dict[str, Told]:
    """What was kept; nothing where there is no such file."""
    if not path.exists():
        return {}
    kept: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: _told(one) for name, one in kept.items()}


def _told(kept: dict[str, Any]) -> Told:
    made: dict[str, Any] = {**kept, "rows": ()}
    return replace(Told(**made), rows=tuple(_kept_row(row) for row in kept["rows"]))


def _kept_row(row: dict[str, Any]) -> Row:
    switches = tuple(Switch(**switch) for switch in row["switches"])
    lists = {
        name: tuple(row.get(name, ())) for name in ("bugs", "rules", "idle", "held", "vacuous")
    }
    made: dict[str, Any] = {**row, **lists, "switches": switches}
    return Row(**made)


if __name__ == "__main__":
    raise SystemExit(main())
