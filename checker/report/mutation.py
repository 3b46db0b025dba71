"""The report of `fencepost mutate`, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page, cut
from fencepost.checker.run.words import plural
from fencepost.checker.tools.mutate import Campaign, Fate, Trial
from fencepost.checker.tools.state_graph import Parting
from fencepost.spec.mutation.mutants import Mutant
from fencepost.spec.text.problem import listing
from fencepost.spec.text.source import Span

TITLES = {
    Fate.SURVIVED: "nothing notices",
    Fate.UNDECIDED: "not decided: a check was cut",
    Fate.EQUIVALENT: "nothing changes: the same states and the same steps",
    Fate.IDLE: "never matters: no reachable state shows it",
}
"""The fates whose changes the report lists, in this order."""


def write_mutant(page: Page, mutant: Mutant) -> None:
    """Writes a change with its location on one line."""
    page.words(f"  {_place(mutant.span)}  ", f"{mutant.kind}: {mutant.change}", 6)


def write_campaign(page: Page, work: Campaign, reports: Sequence[Trial], everything: bool) -> None:
    """Writes the mutants that survived, by the rule that they weaken, and the checks that killed
    the others. If ``everything`` is set, writes every mutant in full.
    """
    page.line((str(work.program.path), "title"))
    _write_sums(page, work, reports)
    for fate, title in TITLES.items():
        group = [trial for trial in reports if trial.fate is fate]
        if not group:
            continue
        page.blank()
        style = "dim" if fate in (Fate.EQUIVALENT, Fate.IDLE) else "warn"
        page.line("  ", (f"{title} ({len(group)})", style))
        if everything:
            for report in group:
                _write_in_full(page, report)
        else:
            _write_by_rule(page, group)
    if everything:
        _write_killed(page, reports)
    page.blank()


def _write_by_rule(page: Page, group: Sequence[Trial]) -> None:
    """Writes one line per mutant, below the rule that it weakens."""
    rules: dict[tuple[str, str], list[Trial]] = {}
    for report in group:
        mutant = report.mutant
        rules.setdefault((mutant.span.source.name, mutant.where), []).append(report)
    for (file, rule), reports in rules.items():
        page.line("    ", (rule or file, "title"), (f"  {file}" if rule else "", "dim"))
        for report in reports:
            effect = "" if report.parting is None else f"; {parted(report.parting[1])}"
            text = f"{report.mutant.kind}: {report.mutant.change}{effect}{_remark(report)}"
            lead = f"{report.mutant.span.line:>7}  "
            page.line(lead, cut(text, page.width - len(lead)))


def _write_in_full(page: Page, report: Trial) -> None:
    """Writes a mutant with its excerpt and its effect."""
    page.blank()
    lead = f"    {report.mutant.kind}: "
    page.words(lead, f"{report.mutant.change}{_remark(report)}", 6)
    page.lines(report.mutant.span.excerpt(), 4)
    if report.parting is not None:
        check, where = report.parting
        page.words("    ", f"in {check}, {parted(where)}", 6, "dim")
    if report.hidden:
        parts = listing(report.hidden, "and")
        page.words("    ", f"nothing else depends on it: equal except for {parts}", 6, "dim")


def parted(where: Parting) -> str:
    """Describes the first observable effect of a change, as part of a sentence."""
    both = [name for name in where.gone if name in where.new]
    another = "another value" if len(where.changed) == 1 else "other values"
    gives = "gives" if len(both) == 1 else "give"
    clause = f"{listing(both, 'and')} {gives} {listing(where.changed, 'and')} {another}"
    clauses = [clause] if both else []
    gone = [name for name in where.gone if name not in both]
    new = [name for name in where.new if name not in both]
    clauses += [f"{listing(gone, 'and')} cannot be taken"] if gone else []
    clauses += [f"{listing(new, 'and')} can be taken"] if new else []
    way = f"after {', '.join(where.way)}" if where.way else "in an initial state"
    return f"{way}: {', '.join(clauses)}"


def _remark(report: Trial) -> str:
    if report.fate is Fate.UNDECIDED:
        return f" ({report.check} was cut)"
    if report.fate is Fate.SURVIVED and report.alike:
        return " (every search counts the same states and steps)"
    return ""


def _write_sums(page: Page, work: Campaign, reports: Sequence[Trial]) -> None:
    counts = Counter(trial.fate for trial in reports)
    checks = plural(len(work.baseline), "check")
    tried = [trial for trial in reports if trial.fate not in (Fate.SAME, Fate.REFUSED)]
    page.words("  ", f"{_share(len(tried), work, reports)}, {checks}", 2)
    for fate, text in (
        (Fate.KILLED, "noticed"),
        (Fate.SURVIVED, "not noticed"),
        (Fate.EQUIVALENT, "change nothing: the same states and the same steps"),
        (Fate.IDLE, "never matter: no reachable state shows them"),
        (Fate.UNDECIDED, "not decided"),
    ):
        if counts[fate]:
            page.line(f"  {counts[fate]:>5}  {text}")
    left = counts[Fate.SAME] + counts[Fate.REFUSED]
    if left:
        why = f"{left} more: {counts[Fate.REFUSED]} are not valid specs, "
        page.words("  ", f"{why}{counts[Fate.SAME]} change no model of these checks", 4, "dim")
    killers = Counter(trial.found or "" for trial in reports if trial.fate is Fate.KILLED)
    if killers:
        page.blank()
        page.line("  noticed by")
        for name, count in sorted(killers.items(), key=lambda item: (-item[1], item[0])):
            page.line(f"  {count:>5}  {name}")


def _share(tried: int, work: Campaign, reports: Sequence[Trial]) -> str:
    if len(reports) == work.total:
        return plural(tried, "mutant")
    return f"{plural(tried, 'mutant')} (of {work.total:,} changes {len(reports):,} were looked at)"


def _write_killed(page: Page, reports: Sequence[Trial]) -> None:
    page.blank()
    page.line("  noticed")
    for trial in reports:
        if trial.fate is Fate.KILLED:
            lead = f"    {_place(trial.mutant.span)}  "
            page.words(lead, f"{trial.mutant.kind}: {trial.mutant.change}", 8)
            page.words("        ", f"{trial.found} in {trial.check}", 8, "dim")


def _place(span: Span) -> str:
    return f"{span.source.name}:{span.line}"


def campaign_object(work: Campaign, reports: Sequence[Trial], version: str) -> dict[str, Json]:
    """Returns the report as JSON, which lists every change with its fate (docs/mutate.md)."""
    counts = Counter(trial.fate for trial in reports)
    return {
        "spec": str(work.program.path),
        "version": version,
        "checks": [result.job.title for result in work.baseline],
        "changes": work.total,
        "fates": {fate.value: counts[fate] for fate in Fate},
        "mutants": [trial_object(trial) for trial in reports],
    }


def trial_object(report: Trial) -> dict[str, Json]:
    """Returns a trial as JSON (docs/mutate.md)."""
    span = report.mutant.span
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "where": report.mutant.where,
        "kind": report.mutant.kind,
        "change": report.mutant.change,
        "fate": report.fate.value,
        "same_counts": report.alike,
        "check": report.check,
        "found": report.found,
        "otherwise": list[Json](report.otherwise),
        "parting": _parting_object(report),
        "hidden": None if report.hidden is None else list[Json](report.hidden),
        "runs": report.runs,
        "seconds": round(report.seconds, 6),
    }


def _parting_object(report: Trial) -> Json:
    if report.parting is None:
        return None
    check, where = report.parting
    lists: dict[str, Json] = {
        name: list[Json](names)
        for name, names in (
            ("way", where.way),
            ("gone", where.gone),
            ("new", where.new),
            ("changed", where.changed),
        )
    }
    return {"check": check, **lists}
