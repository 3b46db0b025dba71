"""Mutates every model of Kafka: `python -m bench.model_mutants`.

Each model is weakened at one point at a time, in random order, and its checks run until one
notices; docs/mutate.md describes the possible results. The first `FIRST` changes of each model are
tried before the rest. Each trial is a line of bench/results/mutants/MODEL.jsonl, so that a campaign
can be resumed. Trials with an earlier text of the model count, too; the page marks them.

    python -m bench.model_mutants --until 11:30    begins no trial after that time
    python -m bench.model_mutants txn_group        tries only changes of this model
    python -m bench.model_mutants --first          tries only the first changes of each model
    python -m bench.model_mutants --anew           also retries changes tried with an earlier text
    python -m bench.model_mutants --open           retries unnoticed changes with the present text,
                                                   by the checks that reached a difference
    python -m bench.model_mutants --open --whole   ... by all quick checks; also undecided changes
    python -m bench.model_mutants --open --check NAME   ... by this check, saved if it notices
    python -m bench.model_mutants --shared         tries changes that other models share but do not
                                                   notice
    python -m bench.model_mutants --ok             runs only checks that expect ok
    python -m bench.model_mutants --more           retries survivors with the checks left out before
    python -m bench.model_mutants --page           rewrites docs/kafka/mutants.md, runs nothing

A check is quick if it is not slow, decides no temporal property and makes at most `QUICK` steps. A
model without a quick check is tried with all checks that are not slow. Changes of fairness are
judged by temporal checks. A change is undecided if a check exceeds `TIMEOUT_SECONDS` seconds or its
memory limit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bench import model_mutants_page as page
from bench.machine import ROOT
from fencepost.checker.report.mutation import trial_object
from fencepost.checker.request import Limits, ignored
from fencepost.checker.run.check import by_visits, load, perform
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.settings import Settings
from fencepost.checker.tools.mutate import Campaign, Fate, Trial, attempt, campaign, changes, jobs
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.mutation.mutants import Mutant

MODELS = ROOT / "models" / "kafka"
RESULTS = ROOT / "bench" / "results" / "mutants"
FIRST = 60
QUICK = 700_000
SEED = 19
TIMEOUT_SECONDS = 300.0
COMPARED = 20_000
LIKENED = 300_000
"""Maximum number of steps for comparing graphs without a part of the state."""
TRANSLATION = 3.0
"""Approximate time that a check takes to compile before its first run, in seconds."""


def main(words: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(words)
    models = options.models or page.names(MODELS)
    whole = options.more or options.open or options.shared
    rounds = (True,) if options.first else (False,) if whole else (True, False)
    try:
        for first in () if options.page else rounds:
            for name in models:
                if not _late(options.until):
                    tried(MODELS / f"{name}.fence", options, first)
    except KeyboardInterrupt:
        _say("stopped")
    finally:
        page.write(page.read(RESULTS, page.names(MODELS), MODELS))
    return 0


def tried(path: Path, options: argparse.Namespace, first: bool) -> None:
    """Tries the changes of a model that have no row in its file of results; with ``first``, at most
    `FIRST` of them.
    """
    program = load(path)
    checks = [check for check in program.checks if options.more or not check.slow]
    limits = Limits(None, None, None, options.memory << 20, 1)
    ready = [job for job in jobs(program, checks, Settings(limits=limits)) if not job.model.symbols]
    shipped = changes([job for job in ready if not job.check.slow])
    every = dict(sorted(keyed(shipped), key=_chance))
    text = page.digest(program)
    results = RESULTS / f"{path.stem}.jsonl"
    rows = _begun(results, len(every))
    left = _keys_to_try(path.stem, every, rows, text, options, first)
    if not left:
        return
    _say(f"{path.stem}: {len(left)} of {len(every)} changes")
    differences = {key: rows[key]["parting"]["check"] for key in left if _parts(rows.get(key))}
    ready = _selected_jobs(ready, checks, options)
    more: dict[str, Any] = {"more": True} if options.more else {}
    if options.check:
        ready = [job for job in ready if job.check.name in options.check]
    elif options.open and not options.whole:
        ready = [job for job in ready if job.title in differences.values()]
        left = [key for key in left if key in differences]
        more = {"met": text}
    with results.open("a", encoding="utf-8") as file:
        for owed in (False, True):
            those = {key: every[key] for key in left if (every[key].kind == "fairness") is owed}
            baseline = _baseline(ready, options.more, options.quick, owed) if those else []
            if not baseline:
                continue
            # The program contains only the changes to try, since fewer changes compile faster.
            work = campaign(baseline, [*those.values()])
            work = replace(work, compared=COMPARED, likened=0 if options.check else LIKENED)
            for key, trial in _trials(work, those, differences, options.until):
                if options.check and trial.fate is not Fate.KILLED:
                    # Other checks may notice this change.
                    continue
                row = row_of(key, text, trial) | {"asked": len(baseline)} | more
                file.write(json.dumps(row, separators=(",", ":")) + "\n")
                file.flush()


def _keys_to_try(
    model: str,
    every: Mapping[str, Mutant],
    rows: Mapping[str, dict[str, Any]],
    text: str,
    options: argparse.Namespace,
    first: bool,
) -> list[str]:
    """Returns the keys of the changes to try, selected from ``every`` change of a model."""
    if options.anew:
        rows = {key: row for key, row in rows.items() if row["text"] == text}
    elif options.open:
        left = ("different", "not decided") if options.whole else ("different",)
        apart = {key for key, row in rows.items() if page.class_of(row, {}) in left}
        seen = {key for key in apart if text in (rows[key]["text"], rows[key].get("met"))}
        anew = options.whole or options.check
        return [key for key in every if key in (apart if anew else apart - seen)]
    elif options.shared:
        elsewhere = _different(model)
        return [key for key in every if key in elsewhere and key not in rows]
    wanted = [*every][:FIRST] if first else [*every]
    if options.more:
        return [key for key in wanted if key in rows and _is_open(rows[key])]
    return [key for key in wanted if key not in rows]


def _different(model: str) -> set[str]:
    """Returns the changes with an unnoticed difference in models other than ``model``."""
    results = page.read(RESULTS, page.names(MODELS))
    noticed = page.noticed_by(results)
    others = (result.rows.values() for result in results if result.model != model)
    left = (row for rows in others for row in rows if page.class_of(row, noticed) == "different")
    return {row["key"] for row in left}


def _selected_jobs(
    ready: Sequence[Job], checks: Sequence[Check], options: argparse.Namespace
) -> list[Job]:
    """Returns the checks to run, as far as this can be decided without running them."""
    steps = {check.name: dict(check.counts).get("generated", 0) for check in checks}
    return [
        job
        for job in ready
        if (options.more or steps[job.check.name] <= options.quick)
        and (not options.ok or job.check.verdict == "ok")
    ]


def _chance(change: tuple[str, Mutant]) -> str:
    """Returns a sort key for a pseudorandom order, which does not depend on the other changes."""
    return hashlib.sha256(f"{SEED} {change[0]}".encode()).hexdigest()


def keyed(every: Iterable[Mutant]) -> Iterator[tuple[str, Mutant]]:
    """Yields the changes, each with a key that depends only on the text of its declaration."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for mutant in every:
        identity = mutant.path.name, mutant.where, mutant.kind, mutant.change
        seen[identity] += 1
        yield page.key_of(*identity, seen[identity]), mutant


def row_of(key: str, text: str, trial: Trial) -> dict[str, Any]:
    """Returns the row to save for a trial. ``text`` is the digest of the model's text."""
    values = trial_object(trial)
    row: dict[str, Any] = {
        "key": key,
        "text": text,
        "fate": values["fate"],
        "check": values["check"],
    }
    if trial.fate in (Fate.SURVIVED, Fate.EQUIVALENT, Fate.UNDECIDED):
        names = ("line", "where", "kind", "change", "same_counts", "otherwise", "parting", "hidden")
        row["file"] = Path(os.path.relpath(trial.mutant.path, MODELS)).as_posix()
        row |= {name: values[name] for name in names}
    return row


def _parts(row: Mapping[str, Any] | None) -> bool:
    """Whether a row records a point where the graphs diverge."""
    return row is not None and row.get("parting") is not None


def _is_open(row: dict[str, Any]) -> bool:
    return row["fate"] in ("survived", "undecided") and "more" not in row


def _trials(
    work: Campaign, left: Mapping[str, Mutant], differences: Mapping[str, str], until: float | None
) -> Iterator[tuple[str, Trial]]:
    """Yields the trials. Each tries first the check named in ``differences``, if any, then the
    other checks, those with the most kills for their cost first.
    """
    noticed: Counter[str] = Counter()
    asked: set[str] = set()

    def worth(result: CheckResult) -> float:
        title = result.job.title
        cost = result.outcome.statistics.seconds + (0.1 if title in asked else TRANSLATION)
        return -(noticed[title] + 0.5) / cost

    began = time.monotonic()
    for number, (key, mutant) in enumerate(left.items()):
        if _late(until):
            return
        order = sorted(work.baseline, key=worth)
        order.sort(key=lambda result: result.job.title != differences.get(key))
        work = replace(work, baseline=tuple(order))
        trial = attempt(work, mutant)
        if trial is None:
            raise KeyboardInterrupt
        asked |= {result.job.title for result in work.baseline[: trial.runs]}
        if trial.fate is Fate.KILLED and trial.check is not None:
            noticed[trial.check] += 1
        yield key, trial
        if number % 20 == 19:
            _say(f"  {number + 1} of {len(left)}, {time.monotonic() - began:,.0f} s")


def _baseline(ready: Sequence[Job], more: bool, quick: int, owed: bool) -> list[CheckResult]:
    """Returns the results of the checks on the original model: those of the quick checks, or with
    ``more`` those of all others. With ``owed``, for changes of fairness, only temporal checks
    count. If there are none of these, returns the results of the other checks.
    """
    asked: list[CheckResult] = []
    left: list[CheckResult] = []
    simple = any(not by_visits(job.model, job.properties) for job in ready)
    for job in ready:
        of_behaviours = by_visits(job.model, job.properties)
        heavy = job.check.slow or of_behaviours
        if owed and not of_behaviours:
            continue
        if heavy and not more and not owed and simple:
            continue
        result = perform(job, ignored)
        if not result.as_expected:
            continue
        result = replace(
            result, job=replace(job, limits=replace(job.limits, timeout=TIMEOUT_SECONDS))
        )
        small = (owed or not heavy) and result.outcome.statistics.generated <= quick
        (asked if small is not more else left).append(result)
    return asked or left


def _begun(results: Path, changes: int) -> dict[str, dict[str, Any]]:
    """Returns the rows of a file of results by key, after writing the number of changes to the head
    of the file.
    """
    results.parent.mkdir(parents=True, exist_ok=True)
    rows = page.rows_of(results)[1] if results.exists() else {}
    lines = [{"changes": changes, "seed": SEED}, *rows.values()]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    results.write_text(text, encoding="utf-8")
    return rows


def _late(until: float | None) -> bool:
    return until is not None and time.time() > until


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _today(text: str) -> float:
    at = datetime.strptime(text, "%H:%M").time()
    return datetime.combine(datetime.now().date(), at).timestamp()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", help="names of models (default: all)")
    parser.add_argument("--until", type=_today, help="start no trial after this time today")
    parser.add_argument("--quick", type=int, default=QUICK, help="maximal steps of a quick check")
    parser.add_argument("--memory", type=int, default=2000, help="memory of a check, in megabytes")
    parser.add_argument(
        "--first", action="store_true", help=f"{FIRST} changes of each model at most"
    )
    parser.add_argument("--anew", action="store_true", help="changes tried with an earlier text")
    parser.add_argument("--more", action="store_true", help="survivors, with all other checks")
    parser.add_argument("--ok", action="store_true", help="only checks that expect ok")
    parser.add_argument("--open", action="store_true", help="unnoticed differences")
    parser.add_argument("--whole", action="store_true", help="with --open: by all quick checks")
    parser.add_argument(
        "--shared", action="store_true", help="unnoticed differences of other models"
    )
    parser.add_argument(
        "--check", action="append", help="with --open: by this check, if it notices"
    )
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
