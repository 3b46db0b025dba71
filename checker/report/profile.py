"""Reports profiles of the visited states, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page, cells, padded
from fencepost.checker.profile import Extent, Profile, VariableProfile
from fencepost.checker.report.growth import rounded
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import plural
from fencepost.checker.trace.excerpts import place, quoted

MAX_GUARDS = 10
"""Maximum number of guards in the text report."""


def write_profile(page: Page, result: CheckResult) -> None:
    """Writes the profile of a check, if it has one. The profile shows the steps of each action, the
    levels, the values and bounds of each variable, and how many times each guard was false.

    If the search ends at a problem, some steps of the last level are not counted.
    """
    profile = result.outcome.profile
    if profile is None:
        return
    model, outcome = result.job.model, result.outcome
    page.blank()
    page.line("  ", (f"profile of {plural(profile.states, 'state')}", "title"))
    levels = ", ".join(f"{count:,}" for count in outcome.statistics.levels)
    page.words(("    states by level  ", "dim"), levels, 6, by=", ")
    _write_actions(page, result, profile)
    rows = [
        (variable.name, f"{extent.values:,}", "; ".join(_reached(extent)))
        for variable, extent in zip(model.variables, profile.variables, strict=True)
    ]
    _table(page, "variable", "values", rows)
    guards: list[tuple[str, str, str]] = []
    for number, count in _most(profile.refused)[:MAX_GUARDS]:
        guard = model.guards[number]
        here = guard.span.source.name == str(result.job.program.path)
        where = f"line {guard.span.line}" if here else place(guard.span)
        text = f"`{quoted(guard.span)}` ({where})"
        guards.append((model.actions[guard.action].name, f"{count:,}", text))
    _table(page, "guard of", "was false", guards, " ")
    rows = [
        (
            advice.text,
            f"{rounded(advice.states):,}",
            f"{advice.counted} instead of {profile.states:,}"
            + (" states" if advice.counted == "orbits" else ""),
        )
        for advice in profile.advice
    ]
    _table(page, "advice", "about", rows, " ")


def _write_actions(page: Page, result: CheckResult, profile: Profile) -> None:
    """Writes a row per action with the number of its successors, the number of states that it was
    the first to reach, and its time.
    """
    actions, taken = result.job.model.actions, result.outcome.coverage.taken
    whole = bool(profile.new)
    rows = [["action", "successors", "", *(["new states", "time per state"] if whole else [])]]
    for number, count in _most(dict(enumerate(taken))):
        row = [actions[number].name, f"{count:,}", _share(count, sum(taken))]
        if whole:
            row += [f"{profile.new[number]:,}", f"{1e9 * profile.seconds[number]:,.0f} ns"]
        rows.append(row)
    if len(rows) == 1:
        return
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    page.blank()
    for number, row in enumerate(rows):
        texts = [f"{text:>{width}}" for text, width in zip(row, widths, strict=True)][1:]
        line = f"    {padded(row[0], widths[0])}  {'  '.join(texts)}".rstrip()
        page.line((line, "" if number else "dim"))


def _most(counts: dict[int, int]) -> list[tuple[int, int]]:
    """Sorts counts in descending order, and equal counts by number."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if total else ""


def _table(
    page: Page, first: str, second: str, rows: list[tuple[str, str, str]], by: str = "; "
) -> None:
    if not rows:
        return
    names = max(cells(name) for name in (first, *(row[0] for row in rows)))
    counts = max(cells(count) for count in (second, *(row[1] for row in rows)))
    page.blank()
    page.line((f"    {padded(first, names)}  {second:>{counts}}", "dim"))
    for name, count, text in rows:
        lead = f"    {padded(name, names)}  {count:>{counts}}  "
        page.words(lead, text, len(lead), by=by)


def _reached(variable: VariableProfile) -> Iterator[str]:
    """Describes the extent of each part of a variable."""
    for extent in variable.extents:
        part = f"{extent.path}: " if extent.path else ""
        match extent.kind:
            case "elements":
                yield f"{part}held at most {extent.high:,} of {extent.most:,}"
            case "range":
                bound = f"{extent.least}..{extent.most}"
                seen = f"{extent.low}..{extent.high}"
                yield f"{part}{seen} of {bound}" if extent.slack else f"{part}all of {bound}"
            case "members":
                never = f"; never {', '.join(extent.never)}" if extent.never else ""
                yield f"{part}{extent.high} of {extent.most} members{never}"


def profile_object(result: CheckResult) -> dict[str, Json]:
    """Returns the profile as JSON."""
    profile = result.outcome.profile
    if profile is None:
        return {}
    model, outcome = result.job.model, result.outcome
    guards: list[Json] = [
        {
            "action": model.actions[model.guards[number].action].name,
            "kind": model.guards[number].kind,
            "place": str(model.guards[number].span),
            "false": count,
        }
        for number, count in _most(profile.refused)
    ]
    names = [action.name for action in model.actions]
    spent = [round(1e9 * seconds, 1) for seconds in profile.seconds]
    return {
        "profile": {
            "states": profile.states,
            "levels": list[Json](outcome.statistics.levels),
            "successors": dict(zip(names, outcome.coverage.taken, strict=True)),
            **({"new": dict(zip(names, profile.new, strict=True))} if profile.new else {}),
            **({"nanoseconds": dict(zip(names, spent, strict=True))} if spent else {}),
            "variables": {
                variable.name: {
                    "values": seen.values,
                    "extents": [_extent(extent) for extent in seen.extents],
                }
                for variable, seen in zip(model.variables, profile.variables, strict=True)
            },
            "guards": guards,
            "advice": [
                {"change": advice.text, advice.counted: rounded(advice.states)}
                for advice in profile.advice
            ],
        }
    }


def _extent(extent: Extent) -> Json:
    return {
        "path": extent.path,
        "kind": extent.kind,
        "low": extent.low,
        "high": extent.high,
        "least": extent.least,
        "most": extent.most,
        "never": list[Json](extent.never),
    }
