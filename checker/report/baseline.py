"""Reads the JSON report of an earlier run, which a new run is compared with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fencepost.checker.report.assurance import Remark, remarks
from fencepost.checker.run.judge import CheckResult
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, Rejected

_NUMBER = re.compile(r"\d[\d,]*")


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """The result of a check in an earlier run. ``remarks`` contains no numbers."""

    verdict: str
    as_expected: bool
    states: int | None
    seconds: float
    remarks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier run: its results, by the path of the spec and the name of the check."""

    path: Path
    results: Mapping[tuple[str, str], EarlierResult]

    def of(self, result: CheckResult) -> EarlierResult | None:
        """Returns the earlier result of the same check, or None if there is none."""
        return self.results.get((str(result.job.program.path), result.job.check.name))

    def has(self, result: CheckResult, remark: Remark) -> bool:
        """Returns whether the earlier run had the remark. Numbers in it may have changed."""
        earlier = self.of(result)
        return earlier is not None and _key(f"{remark.topic}: {remark.text}") in earlier.remarks


def new_remarks(result: CheckResult, baseline: Baseline | None = None) -> tuple[Remark, ...]:
    """Returns the remarks that deserve attention and that ``baseline`` does not have."""
    return tuple(
        remark
        for remark in remarks(result)
        if not remark.routine and not (baseline is not None and baseline.has(result, remark))
    )


def _key(note: str) -> str:
    return _NUMBER.sub("#", note)


def read(path: Path) -> Baseline:
    """Reads a JSON report. Raises `Rejected` if the file is not one."""
    try:
        value: Any = json.loads(inputs.content(path, inputs.Kind.REPORT))
        return Baseline(path, dict(_results(value)))
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None
    except RecursionError:
        raise _refused(path, "it is nested too deeply") from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _refused(path, "it is not a report in JSON") from None


def _results(value: Any) -> Iterator[tuple[tuple[str, str], EarlierResult]]:
    specs: list[Any] = [value] if isinstance(value, dict) else value
    for spec in specs:
        for check in spec["checks"]:
            states, seconds = check["distinct"], check["seconds"]
            earlier = EarlierResult(
                str(check["verdict"]),
                bool(check["as_expected"]),
                None if states is None else int(states),
                float(seconds),
                frozenset(_key(str(note)) for note in check["notes"]),
            )
            yield (str(spec["spec"]), str(check["name"])), earlier


def _refused(path: Path, reason: str) -> Rejected:
    note = (None, f"fencepost check SPEC... --format json={path} writes such a report")
    return Rejected([Problem("F051", None, f"{path} cannot be compared with: {reason}", (note,))])
