"""What mutation says of every model of Kafka: `python -m bench.model_mutants`.

Each model is weakened in one place at a time, in an order of chance, and its checks are asked until
one notices; docs/mutate.md says what becomes of a change. First come `FIRST` changes of each model,
then the rest. Each trial is a line of bench/results/mutants/MODEL.jsonl, so that a campaign goes on
where it was stopped. A trial of an earlier text of the model counts, and the page says so.

    python -m bench.model_mutants --until 11:30    begins no trial after that
    python -m bench.model_mutants txn_group        only this model
    python -m bench.model_mutants --first          the first changes only
    python -m bench.model_mutants --read           what has a reason that was found by reading
    python -m bench.model_mutants --anew           also what was tried with an earlier text
    python -m bench.model_mutants --open           what nothing noticed, with today's text, by the
                                                   checks in which a difference was met
    python -m bench.model_mutants --open --whole   ... by all quick checks, and what was not decided
    python -m bench.model_mutants --open --check NAME   ... by this one: kept where it notices
    python -m bench.model_mutants --shared         what nothing noticed in other models that have it
    python -m bench.model_mutants --ok             only checks that expect ok
    python -m bench.model_mutants --more           what survived, with the checks that were left out
    python -m bench.model_mutants --page           docs/kafka/mutants.md anew, nothing is run

A check is quick where it is not slow, asks for no behaviours and makes at most `QUICK` steps; a
model without one is tried with its checks that are not slow. What is owed to an action is judged by
the checks of behaviours. A change with which a check takes `PATIENCE` seconds or too much memory is
not decided.
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
PATIENCE = 300.0
COMPARED = 20_000
"""Steps of a graph in which it is looked for where it parts from that of the changed model."""
LIKENED = 300_000
"""Steps of a graph of which it is asked whether it is alike but for a part of the state."""
TRANSLATION = 3.0
"""About the seconds that a check takes before it is asked for the first time."""


def main(words: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(words)
    models = options.models or page.names(MODELS)
    whole = options.more or options.read or options.open or options.shared
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
    """Tries the changes of a model that its file of results has not; ``first``: only so many that
    there are `FIRST`.
    """
    program = load(path)
    checks = [one for one in program.checks if options.more or not one.slow]
    limits = Limits(None, None, None, options.memory << 20, 1)
    ready = [job for job in jobs(program, checks, Settings(limits=limits)) if not job.model.symbols]
    shipped = changes([job for job in ready if not job.check.slow])
    every = dict(sorted(keyed(shipped), key=_chance))
    text = page.digest(program)
    results = RESULTS / f"{path.stem}.jsonl"
    known = _begun(results, len(every))
    left = _wanted(path.stem, every, known, text, options, first)
    if not left:
        return
    _say(f"{path.stem}: {len(left)} of {len(every)} changes")
    met = {key: known[key]["parting"]["check"] for key in left if _parts(known.get(key))}
    ready = _asked(ready, checks, options)
    more: dict[str, Any] = {"more": True} if options.more else {}
    if options.check:
        ready = [job for job in ready if job.check.name in options.check]
    elif options.open and not options.whole:
        ready = [job for job in ready if job.title in met.values()]
        left = [key for key in left if key in met]
        more = {"met": text}
    with results.open("a", encoding="utf-8") as file:
        for owed in (False, True):
            those = {key: every[key] for key in left if (every[key].kind == "fairness") is owed}
            baseline = _baseline(ready, options.more, options.quick, owed) if those else []
            if not baseline:
                continue
            # Only what is tried is woven into one program: fewer changes take less time to
            # translate.
            work = campaign(baseline, [*those.values()])
            work = replace(work, compared=COMPARED, likened=0 if options.check else LIKENED)
            for key, trial in _trials(work, those, met, options.until):
                if options.check and trial.fate is not Fate.KILLED:
                    # What some checks do not notice others may.
                    continue
                row = row_of(key, text, trial) | {"asked": len(baseline)} | more
                file.write(json.dumps(row, separators=(",", ":")) + "\n")
                file.flush()


def _wanted(
    model: str,
    every: Mapping[str, Mutant],
    known: Mapping[str, dict[str, Any]],
    text: str,
    options: argparse.Namespace,
    first: bool,
) -> list[str]:
    """The changes to try, of ``every`` change of a model, where some are ``known``."""
    if options.anew:
        known = {key: row for key, row in known.items() if row["text"] == text}
    elif options.open:
        left = ("different", "not decided") if options.whole else ("different",)
        apart = {key for key, row in known.items() if page.class_of(row, {}) in left}
        seen = {key for key in apart if text in (known[key]["text"], known[key].get("met"))}
        anew = options.whole or options.check
        return [key for key in every if key in (apart if anew else apart - seen)]
    elif options.shared:
        elsewhere = _different(model)
        return [key for key in every if key in elsewhere and key not in known]
    wanted = [*every][:FIRST] if first else [*every]
    if options.read:
        told = page.explained(model)
        wanted = [key for key in every if key in told]
    if options.more:
        return [key for key in wanted if key in known and _is_open(known[key])]
    return [key for key in wanted if key not in known]


def _different(model: str) -> set[str]:
    """The changes that make a difference which nothing has noticed, in other models than this."""
    results = page.read(RESULTS, page.names(MODELS))
    noticed = page.noticed_by(results)
    others = (one.rows.values() for one in results if one.model != model)
    left = (row for rows in others for row in rows if page.class_of(row, noticed) == "different")
    return {row["key"] for row in left}


def _asked(ready: Sequence[Job], checks: Sequence[Check], options: argparse.Namespace) -> list[Job]:
    """The checks that are asked, as far as that is known before they have run."""
    steps = {one.name: dict(one.counts).get("generated", 0) for one in checks}
    return [
        job
        for job in ready
        if (options.more or steps[job.check.name] <= options.quick)
        and (not options.ok or job.check.verdict == "ok")
    ]


def _chance(change: tuple[str, Mutant]) -> str:
    """An order by chance, which stays when there are other changes."""
    return hashlib.sha256(f"{SEED} {change[0]}".encode()).hexdigest()


def keyed(every: Iterable[Mutant]) -> Iterator[tuple[str, Mutant]]:
    """The changes, each with what names it as long as the text of its declaration stays."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for mutant in every:
        told = mutant.path.name, mutant.where, mutant.kind, mutant.change
        seen[told] += 1
        yield page.key_of(*told, seen[told]), mutant


def row_of(key: str, text: str, trial: Trial) -> dict[str, Any]:
    """What is kept of a trial; ``text`` names the text of the model."""
    told = trial_object(trial)
    row: dict[str, Any] = {"key": key, "text": text, "fate": told["fate"], "check": told["check"]}
    if trial.fate in (Fate.SURVIVED, Fate.EQUIVALENT, Fate.UNDECIDED):
        names = ("line", "where", "kind", "change", "same_counts", "otherwise", "parting", "hidden")
        row["file"] = Path(os.path.relpath(trial.mutant.path, MODELS)).as_posix()
        row |= {name: told[name] for name in names}
    return row


def _parts(row: Mapping[str, Any] | None) -> bool:
    """Whether it is known where the graphs part."""
    return row is not None and row.get("parting") is not None


def _is_open(row: dict[str, Any]) -> bool:
    return row["fate"] in ("survived", "undecided") and "more" not in row


def _trials(
    work: Campaign, left: Mapping[str, Mutant], met: Mapping[str, str], until: float | None
) -> Iterator[tuple[str, Trial]]:
    """The trials: first the check in which an earlier trial has ``met`` a difference, if any, then
    those that noticed much for their cost.
    """
    noticed: Counter[str] = Counter()
    asked: set[str] = set()

    def worth(one: CheckResult) -> float:
        title = one.job.title
        cost = one.outcome.statistics.seconds + (0.1 if title in asked else TRANSLATION)
        return -(noticed[title] + 0.5) / cost

    began = time.monotonic()
    for number, (key, mutant) in enumerate(left.items()):
        if _late(until):
            return
        order = sorted(work.baseline, key=worth)
        order.sort(key=lambda one: one.job.title != met.get(key))
        work = replace(work, baseline=tuple(order))
        trial = attempt(work, mutant)
        if trial is None:
            raise KeyboardInterrupt
        asked |= {one.job.title for one in work.baseline[: trial.runs]}
        if trial.fate is Fate.KILLED and trial.check is not None:
            noticed[trial.check] += 1
        yield key, trial
        if number % 20 == 19:
            _say(f"  {number + 1} of {len(left)}, {time.monotonic() - began:,.0f} s")


def _baseline(ready: Sequence[Job], more: bool, quick: int, owed: bool) -> list[CheckResult]:
    """The checks as they come out by themselves: the quick ones, or all the others; where it is
    about what is ``owed``, those of behaviours.
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
        result = replace(result, job=replace(job, limits=replace(job.limits, timeout=PATIENCE)))
        small = (owed or not heavy) and result.outcome.statistics.generated <= quick
        (asked if small is not more else left).append(result)
    return asked or left


def _begun(results: Path, changes: int) -> dict[str, dict[str, Any]]:
    """The rows of a file of results by their keys; its head says how many changes there are."""
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
    parser.add_argument("--until", type=_today, help="begin no trial after this time of today")
    parser.add_argument("--quick", type=int, default=QUICK, help="steps of a quick check, at most")
    parser.add_argument("--memory", type=int, default=2000, help="of a check, in megabytes")
    parser.add_argument("--first", action="store_true", help=f"{FIRST} changes of each, no more")
    parser.add_argument("--read", action="store_true", help="what was explained by reading")
    parser.add_argument("--anew", action="store_true", help="what an earlier text was tried with")
    parser.add_argument("--more", action="store_true", help="what survived, with all other checks")
    parser.add_argument("--ok", action="store_true", help="only checks that expect ok")
    parser.add_argument("--open", action="store_true", help="what was different, not noticed")
    parser.add_argument("--whole", action="store_true", help="with --open: by all quick checks")
    parser.add_argument("--shared", action="store_true", help="what is left of other models")
    parser.add_argument(
        "--check", action="append", help="with --open: by this check, if it notices"
    )
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
