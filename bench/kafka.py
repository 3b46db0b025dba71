"""Generates the tables of docs/kafka/, and the pages of a release: the bugs that the checks of the
models find, and the traces to them.

    python -m bench.kafka                      runs all quick checks, prints the table
    python -m bench.kafka txn_core_v1 --slow   runs one model, including its slow checks
    python -m bench.kafka --write              also saves the results and writes the tables
    python -m bench.kafka --texts              saves the present comments of the specs, runs nothing
    python -m bench.kafka --pages              rewrites the tables from saved results, runs nothing
    python -m bench.kafka --release DIR        writes the pages of a release, runs nothing

Running a model replaces its saved results. If a check has an unexpected result, nothing is written.
bench/results/kafka_pages.sha256 has the digests of the release's pages, so that tests notice a
change; ``sha256sum --check`` verifies DIR with it. See `bench.kafka_pages` for the pages.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench import epoch_mutants, kafka_pages, model_mutants, model_mutants_page
from bench.kafka_pages import Results, Row, Switch
from bench.machine import ROOT, load, this_machine
from fencepost.checker import engines
from fencepost.checker.request import Limits, Progress
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.settings import Settings
from fencepost.checker.run.words import found
from fencepost.checker.trace.steps import title
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Bool
from fencepost.spec.elaborate.claims.program import Check, Program, build
from fencepost.spec.elaborate.claims.program import load as load_spec
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Span

MODELS = ROOT / "models" / "kafka"
KEPT = ROOT / "bench" / "results" / "kafka.jsonl"
DIGESTS = KEPT.with_name("kafka_pages.sha256")
ISSUE = re.compile(r"\b(?:KAFKA-\d+|KIP-\d+|librdkafka#\d+)\b")
MAPPING = re.compile(r"^recording:", re.M)
RULE = re.compile(r"\b[AB]\d+(?:\.\d+)*[a-z]?\b")


def main() -> int:
    options = _parser().parse_args()
    kept = read(KEPT)
    if options.release is not None:
        options.release.mkdir(parents=True, exist_ok=True)
        for name, text in release(kept).items():
            (options.release / name).write_text(text, encoding="utf-8")
        return 0
    if options.texts:
        kept = {name: with_texts(MODELS / f"{name}.fence", model) for name, model in kept.items()}
    elif not options.pages:
        paths = [
            path for path in sorted(MODELS.glob("*.fence")) if _is_selected(path, options.models)
        ]
        if not paths:
            print(f"there is no model {', '.join(options.models)}", file=sys.stderr)
            return 2
        ran: dict[str, Results] = {}
        failed = False
        for path in paths:
            results, wrong = run(path, slow=options.slow, timeout=options.timeout)
            failed = failed or bool(wrong)
            for sentence in wrong:
                print(f"{path.stem}: {sentence}", file=sys.stderr)
            if results.rows:
                ran[path.stem] = results
        for results in ran.values():
            print(f"{results.model}\n\n{kafka_pages.bugs(results)}\n")
        kept |= ran
        if failed:
            print("nothing is written: not every check came out as expected", file=sys.stderr)
            return 1
    if options.write or options.texts or options.pages:
        present = {path.stem for path in MODELS.glob("*.fence")}
        kept = {name: kept[name] for name in sorted(kept) if name in present}
        KEPT.write_text(dumps(kept), encoding="utf-8")
        DIGESTS.write_text(digests(kept), encoding="utf-8")
        for path, text in kafka_pages.pages(ROOT / "docs" / "kafka", [*kept.values()]).items():
            path.write_text(text, encoding="utf-8")
    return 0


def release(kept: Mapping[str, Results]) -> dict[str, str]:
    """Returns the pages of a release by file name."""
    names = model_mutants_page.names(MODELS)
    trials = model_mutants_page.read(model_mutants.RESULTS, names)
    return {
        **kafka_pages.release([*kept.values()]),
        "mutants.md": model_mutants_page.survivors(trials),
        "epoch_mutants.md": epoch_mutants.page(),
    }


def digests(kept: Mapping[str, Results]) -> str:
    """Returns the digests of the release's pages in the format of ``sha256sum``."""
    pages = sorted(release(kept).items())
    return "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in pages)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.kafka", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("models", nargs="*", metavar="MODEL", help="only these (default: all)")
    parser.add_argument("--write", action="store_true", help="save the results, write the tables")
    parser.add_argument("--texts", action="store_true", help="save comments only, run nothing")
    parser.add_argument("--pages", action="store_true", help="write the tables, run nothing")
    parser.add_argument("--release", type=Path, metavar="DIR", help="write the release's pages")
    parser.add_argument("--slow", action="store_true", help="run slow checks as well")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for a check")
    return parser


def _is_selected(path: Path, names: Sequence[str]) -> bool:
    if names:
        return path.stem in names
    # Mappings of recordings are excluded, since their states are not searched.
    return not MAPPING.search(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- running


def run(
    path: Path, *, slow: bool = False, timeout: float | None = None
) -> tuple[Results, list[str]]:
    """Runs the checks of a model. Returns its rows, and a sentence for each unexpected result."""
    rows: list[Row] = []
    ran: list[CheckResult] = []
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
                ran.append(result)
                remarks[check.name] = _remark(check, program.checks, remarks)
                rows.append(_row(check, result, remarks[check.name]))
            else:
                wrong.append(f"{check.name}: {result.explanation}")
    except Rejected as rejected:
        wrong += [str(problem) for problem in rejected.problems]
        return Results(path.stem, "", "", 0.0, ()), wrong
    machine = this_machine()
    where = f"{machine.processor}, {machine.cores} cores, Python {machine.python}"
    return Results(
        path.stem,
        _title(program),
        where,
        round(load(), 1),
        tuple(rows),
        tuple(_never_taken(ran)) if ran else (),
        tuple(_vacuous(ran)),
    ), wrong


def with_texts(path: Path, saved: Results) -> Results:
    """Returns saved results with the present texts of the spec: comments, docstring and the names
    of actions without fairness. Checks that no longer exist are left out.
    """
    program = load_spec(path)
    constants = build(program, program.checks[0]).constants
    beside = {constant.path: _comment_beside(constant.span) for constant in constants}
    left_out = {check.name: tuple(check.without) for check in program.checks}
    remarks: dict[str, str] = {}
    names = {row.check for row in saved.rows}
    for check in program.checks:
        if check.name in names:
            remarks[check.name] = _remark(check, program.checks, remarks)
    rows: list[Row] = []
    for row in saved.rows:
        if row.check in remarks:
            switches = (replace(switch, comment=beside[switch.name]) for switch in row.switches)
            without = left_out[row.check]
            texts = _texts(remarks[row.check], tuple(switches))
            rows.append(replace(row, without=without, **texts))
    return replace(saved, title=_title(program), rows=tuple(rows))


def _title(program: Program) -> str:
    """Returns the first paragraph of the docstring."""
    return _flat((program.docstring or program.name).strip().split("\n\n")[0])


def _remark(check: Check, every: Sequence[Check], before: Mapping[str, str]) -> str:
    """Returns the comment above a check, or that of the previous check if both have the same
    constants.
    """
    assert check.span is not None
    own = _comment_above(check.span)
    index = every.index(check)
    if own or not index or every[index - 1].constants != check.constants:
        return own
    return before.get(every[index - 1].name, "")


def _row(check: Check, result: CheckResult, remark: str) -> Row:
    model = result.job.model
    finding, statistics = result.finding, result.outcome.statistics
    trace = finding.trace if finding is not None else None
    return Row(
        check=check.name,
        slow=check.slow,
        found=found(model, result.outcome),
        **_texts(remark, tuple(_switches(check, model))),
        without=tuple(check.without),
        steps=None if trace is None else tuple(title(model, step) for step in trace.steps[1:]),
        distinct=statistics.distinct,
        generated=statistics.generated,
        depth=statistics.depth,
        seconds=round(statistics.seconds, 3),
    )


def _texts(remark: str, switches: tuple[Switch, ...]) -> dict[str, Any]:
    """Returns those fields of a row that come from comments."""
    texts = [remark, *(switch.comment for switch in switches)]
    return {
        "remark": remark,
        "switches": switches,
        "bugs": _named(ISSUE, texts),
        "rules": _named(RULE, texts),
    }


def _never_taken(results: Sequence[CheckResult]) -> list[str]:
    """Returns the actions that no check takes."""
    taken = {
        action.name
        for result in results
        for action, count in zip(
            result.job.model.actions, result.outcome.coverage.taken, strict=True
        )
        if count
    }
    return [a.name for a in results[0].job.model.actions if a.name not in taken]


def _vacuous(results: Sequence[CheckResult]) -> Iterator[str]:
    """Returns ``property: left side`` for each left side of an implication that is true in none of
    the checks that examined the property without finding a violation.
    """
    always: dict[str, bool] = {}
    for result in results:
        if result.finding is not None:
            continue
        model, coverage = result.job.model, result.outcome.coverage
        happened: dict[str, bool] = {}
        for number, mark in enumerate(model.marks):
            if mark.kind == "antecedent" and mark.owner in result.job.properties:
                left = _flat(mark.text) or _flat(mark.span.text)
                text = f"{model.properties[mark.owner].title}: {left}"
                happened[text] = happened.get(text, True) and number in coverage.marks
        for text, once in happened.items():
            always[text] = always.get(text, True) and not once
    return (text for text, never in always.items() if never)


def _named(pattern: re.Pattern[str], texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for text in texts for name in pattern.findall(text)))


def _switches(check: Check, model: Model) -> Iterator[Switch]:
    """Yields the rules that a check disables or enables: the Boolean constants that it sets."""
    by_path = {constant.path: constant for constant in model.constants}
    for assignment in check.constants:
        path = ".".join(part.text for part in assignment.path)
        constant = by_path.get(path)
        if constant is not None and isinstance(constant.type, Bool):
            comment = _comment_beside(constant.span)
            yield Switch(path, show(constant.value, constant.type), comment)


def _comment_beside(span: Span) -> str:
    """Returns the comment at the end of the line, and its continuation in the same column of the
    following lines.
    """
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
    """Returns the comment in the lines directly above."""
    parts: list[str] = []
    number = span.line - 1
    while number > 0 and span.source.line(number).startswith("#"):
        parts.insert(0, span.source.line(number).lstrip("# "))
        number -= 1
    # A horizontal rule marks a heading.
    return "" if any("-----" in part for part in parts) else _flat(" ".join(parts))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _ignore(_: Progress) -> None:
    """These runs do not show their progress."""


# ---------------------------------------------------------------- saved results


def dumps(results: Mapping[str, Results]) -> str:
    """Returns the text of the file of results. It is JSON Lines: a line for each model, followed by
    one for each of its checks.
    """
    lines: list[str] = []
    for model in results.values():
        lines.append(json.dumps({**asdict(model), "rows": len(model.rows)}))
        lines += [json.dumps(asdict(row)) for row in model.rows]
    return "".join(f"{line}\n" for line in lines)


def read(path: Path) -> dict[str, Results]:
    """Returns the saved results by model, empty without a file."""
    if not path.exists():
        return {}
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    kept: dict[str, Results] = {}
    for head in lines:
        rows = tuple(_row_of(next(lines)) for _ in range(head["rows"]))
        values: dict[str, Any] = {**head, "rows": rows}
        values |= {name: tuple(head[name]) for name in ("idle", "vacuous")}
        kept[head["model"]] = Results(**values)
    return kept


def _row_of(kept: dict[str, Any]) -> Row:
    values: dict[str, Any] = {
        **kept,
        "switches": tuple(Switch(**switch) for switch in kept["switches"]),
        "bugs": tuple(kept["bugs"]),
        "rules": tuple(kept["rules"]),
        "without": tuple(kept["without"]),
        "steps": None if kept["steps"] is None else tuple(kept["steps"]),
    }
    return Row(**values)


if __name__ == "__main__":
    raise SystemExit(main())
