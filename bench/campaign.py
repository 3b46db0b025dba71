"""Runs thousands of random specs through several engines: `python -m bench.campaign FIRST COUNT`.

The results of the engines are compared with those of the interpreter. ``--specs`` names the kinds
of specs, which take turns:

- ``usual``: the whole language, with properties of states and steps;
- ``int``: usual specs with some declared ranges removed;
- ``living``: the whole language, with fairness and a temporal property;
- ``behaviours``: a small language, with fairness and a temporal property.

``--engines`` names the engines: by default `ENGINES`; ``naive``, the second interpreter, takes
longer than all of them; ``tlc`` and ``evaluator`` judge the exported spec; ``tlc`` and ``spark``
need Java. With ``--oracle behaviours`` or
``--oracle symmetry``, some runs are disturbed by a signal or a limit (`tests.support.oracle_runs`).

The result for each seed is a line of a file. A campaign can be resumed: seeds already in the file
are skipped. Disagreements are written to the file and counted at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from tests.strategies import grown
from tests.strategies.behaviours import behaviour_spec
from tests.strategies.living import grown_living
from tests.strategies.open_ranges import grown_open
from tests.support import comparisons as by
from tests.support import living_runs as living
from tests.support.agreement import Run, bounded, loaded, model_of, runs_of
from tests.support.comparisons import AGREES, CUT, REFUSED
from tests.support.failing_places import place_of_error
from tests.support.forms import FORMS, forms
from tests.support.oracle_runs import ANSWERS, ORACLES
from tests.support.oracle_runs import ENGINES as ORACLE_ENGINES
from tests.support.spread_runs import Tally, assert_spread

from bench.evaluator_judge import EvaluatorJudge
from bench.tlc_agree import Judge, compare
from bench.tlc_run import Tlc
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Cluster, Unsupported
from fencepost.spec.core.verify_model import problems
from fencepost.spec.text.problem import Rejected

STATES = 400
NAIVE_STATES = 300
TLC_STATES = 3_000
TLC_SECONDS = 60.0
STEPS = 3
ENGINES = ("local", "bmc", "induction")
OTHERS = ("naive", "tlc", "evaluator", "spark")
DISAGREES = "DISAGREES"

Answers = dict[str, Any]


# ---------------------------------------------------------------- specs


def _behaviours(seed: int, until: bool) -> str:
    random = Random(seed)
    expected = random.choice(("ok", "violated P", "inconclusive"))
    text = behaviour_spec(random, until=until, depth=3 + seed % 2 * 2)
    return f"{text}terminal: true\ncheck c:\n    expect {expected}\n"


SPECS: Mapping[str, Callable[[int, bool], str]] = {
    "usual": lambda seed, _: grown(seed),
    "int": lambda seed, _: grown_open(seed),
    "living": grown_living,
    "behaviours": _behaviours,
}
"""The kinds of specs. The second argument says whether a formula may contain ``until``, which TLC
lacks.
"""


# ---------------------------------------------------------------- comparisons


def usual(text: str, engines: Sequence[str], turn: int) -> Answers:
    """Compares engines on a spec: all of them run its first check, and `local` alone runs the
    others.
    """
    row: Answers = {}
    for index, check in enumerate(runs_of(text)):
        assert not problems(check.model), problems(check.model)
        asked: dict[str, Callable[[], str]] = {"local": partial(_local, check, turn)}
        if not index:
            outcome = (
                replace(check, keep_going=True).within(max_states=STATES).outcome("interpreter")
            )
            row["verdict"] = outcome.verdict.value
            row["place"] = place_of_error(check.model, outcome)
            row["depth"] = outcome.findings[0].depth if outcome.findings else None
            asked |= {
                "bmc": partial(_bmc, check, turn),
                "induction": partial(_induction, check, turn),
                "naive": partial(_naive, check),
                "spark": partial(_spark, text, turn),
            }
        for engine, ask in asked.items():
            if engine in engines and not _differs(row.get(engine)):
                row[engine] = _tried(ask)
    return row


def temporal(text: str, engines: Sequence[str], _: int) -> Answers:
    """Compares engines on a spec with a temporal property."""
    run = living.living_run(text)
    outcome = by.uninterrupted(run, "interpreter")
    row: Answers = {
        "verdict": outcome.verdict.value,
        "lasso": _tried(partial(living.lasso_is_genuine, run, outcome)),
        "judge": _tried(partial(living.judge_agrees, run, outcome)),
    }
    asked: dict[str, Callable[[], str]] = {
        "local": partial(_local_finds_lasso, run, outcome),
        "bmc": partial(living.bmc_agrees, run, outcome),
        "induction": partial(by.induction_agrees, run),
        "naive": partial(living.oracle_agrees, run, outcome),
    }
    return row | {engine: _tried(ask) for engine, ask in asked.items() if engine in engines}


def _local_finds_lasso(run: Run, outcome: Outcome) -> str:
    with by.translated_once(False):
        return by.local_finds_lasso(run, outcome)


def ask_oracle(seed: int, oracle: str) -> Answers:
    """Returns the answers of the oracle and of the engines. Machine code runs only every other
    spec.
    """
    return _all_tried(lambda: ORACLES[oracle](seed, ORACLE_ENGINES[: 1 + seed % 2]))


def ask_engines(seed: int, kind: str, engines: Sequence[str]) -> Answers:
    """Returns the answers of engines for the random spec of a seed."""
    judges = {name: judge for name, judge in JUDGES.items() if name in engines}
    text = SPECS[kind](seed, not judges)
    row: Answers = {"kind": kind, **_all_tried(lambda: {"forms": forms(text, model_of(text))})}
    row |= _all_tried(
        lambda: (usual if kind in ("usual", "int") else temporal)(text, engines, seed)
    )
    for name, judge in judges.items():
        row[name] = _tried(partial(_judged, text, judge))
    return row


def _local(check: Run, turn: int) -> str:
    by.local_agrees(bounded(check, STATES), turn)
    return AGREES


def _bmc(asked: Run, turn: int) -> str:
    deadlock, going = ((True, False), (True, True), (False, True))[turn % 3]
    answer = by.bmc_agrees(replace(asked, deadlock=deadlock, keep_going=going), STEPS)
    return answer if answer.startswith((REFUSED, CUT)) else AGREES


def _induction(asked: Run, turn: int) -> str:
    return by.induction_agrees(replace(asked, deadlock=True), 1 + turn % 2, 10)


def _naive(check: Run) -> str:
    by.naive_agrees(bounded(check, NAIVE_STATES))
    return AGREES


def _spark(text: str, turn: int) -> str:
    cluster = Cluster("local[2]", None, (("spark.driver.memory", "1g"),))
    assert_spread(text, turn, Tally(), cluster)
    return AGREES


@cache
def _tlc_here() -> Tlc:
    return Tlc.locate(patience=TLC_SECONDS)


JUDGES: Mapping[str, Callable[[], Judge]] = {"tlc": _tlc_here, "evaluator": EvaluatorJudge}


def _judged(text: str, judge: Callable[[], Judge]) -> str:
    program = loaded(text)
    answers: list[str] = []
    for check in program.checks:
        compared = compare(program, check, judge(), TLC_STATES)
        wrong = compared.difference
        if wrong is not None:
            shown = f"{wrong.subject}: {wrong.difference}: {wrong.ours} and {wrong.theirs}"
            return f"{DISAGREES} {shown}\n{text}"
        refused = compared.refused
        answers.append(AGREES if refused is None else f"{REFUSED}: {by.generic(refused)}")
    # One exported check is enough.
    return AGREES if AGREES in answers else answers[0]


def _tried(ask: Callable[[], str]) -> str:
    answers = _all_tried(lambda: {"verdict": ask()})
    return str(answers["verdict"])


def _all_tried(ask: Callable[[], Answers]) -> Answers:
    """Returns answers, or that the spec is refused, or what went wrong."""
    try:
        return ask()
    except Unsupported as unsupported:
        return {"verdict": by.refused(unsupported)}
    except Rejected as rejected:
        problem = rejected.problems[0]
        return {"verdict": f"{REFUSED}, {problem.code}: {by.generic(problem.message)}"}
    except Exception as error:  # Thousands of specs follow.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename}:{place.lineno}"
        return {"verdict": f"{DISAGREES} {type(error).__name__} at {where}: {str(error)[:3000]}"}


def _differs(answer: object) -> bool:
    return str(answer).startswith(DISAGREES)


# ---------------------------------------------------------------- output


def main() -> None:
    """Runs the remaining seeds and prints a summary of all seeds in the file."""
    options = _parser().parse_args()
    path: Path = options.file
    kinds, engines = str(options.specs).split(","), str(options.engines).split(",")
    wanted = range(options.first, options.first + options.count)
    done: dict[int, Answers] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            done[row["seed"]] = row
    with path.open("a", encoding="utf-8") as file:
        for seed in wanted:
            if seed in done:
                continue
            started, worked = time.monotonic(), time.process_time()
            if options.oracle:
                answers = ask_oracle(seed, options.oracle)
            else:
                answers = ask_engines(seed, kinds[seed % len(kinds)], engines)
            row = {"seed": seed, **answers}
            row["seconds"] = round(time.monotonic() - started, 2)
            row["worked"] = round(time.process_time() - worked, 2)
            row["load"] = round(os.getloadavg()[0], 1)
            done[seed] = row
            print(json.dumps(row), file=file, flush=True)
    rows = [done[seed] for seed in wanted]
    names = [*ANSWERS, *engines] if options.oracle else ["lasso", "judge", *engines]
    print("\n".join(summary(rows, names)))
    sys.exit(any(_differs(answer) for row in rows for answer in row.values()))


def summary(rows: Sequence[Answers], names: Sequence[str]) -> Iterator[str]:
    """Yields lines that count the specs by verdict, by answer of each engine and by form, and that
    list the refusals and disagreements.
    """
    yield f"{len(rows)} specs: {_counted(row.get('kind', '') for row in rows)}"
    for name in ("verdict", "place", *names):
        answers = [str(row[name]) for row in rows if row.get(name) is not None]
        if answers:
            yield f"{name}, {len(answers)}: {_counted(map(_short, answers))}"
    shown = [name for name in names if any(name in row for row in rows)]
    yield f"{'form':20}{'specs':>7}{'share':>7}" + "".join(f"{name:>11}" for name in shown)
    for form in FORMS:
        having = [row for row in rows if form in row.get("forms", ())]
        compared = [
            sum(not str(row.get(name, REFUSED)).startswith(REFUSED) for row in having)
            for name in shown
        ]
        share = f"{len(having) / max(len(rows), 1):.0%}"
        yield f"{form:20}{len(having):7}{share:>7}" + "".join(f"{n:11}" for n in compared)
    refusals = Counter(
        f"{name}: {answer}"
        for row in rows
        for name, answer in row.items()
        if str(answer).startswith(REFUSED)
    )
    yield from (f"{count:6} {refusal}" for refusal, count in refusals.most_common())
    seconds, worked = (round(sum(row[name] for row in rows)) for name in ("seconds", "worked"))
    loads = [row["load"] for row in rows]
    least, most = min(loads, default=0), max(loads, default=0)
    yield f"{seconds} s, {worked} s of work, load {least} to {most}"
    for row in rows:
        for name, answer in row.items():
            if _differs(answer):
                yield f"{row['seed']} {name} {str(answer)[:300]}"


def _counted(words: Iterator[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in Counter(words).most_common())


def _short(answer: str) -> str:
    """Returns an answer as it is counted: without reasons."""
    return DISAGREES if _differs(answer) else answer.partition(":")[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.campaign", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--file", type=Path, default=Path("campaign.jsonl"))
    parser.add_argument("--specs", default=",".join(SPECS), help="the kinds of specs")
    names = ", ".join((*ENGINES, *OTHERS))
    parser.add_argument("--engines", default=",".join(ENGINES), help=f"some of {names}")
    parser.add_argument("--oracle", choices=sorted(ORACLES))
    return parser


if __name__ == "__main__":
    main()
