"""Runs thousands of random specs through several engines: `python -m bench.campaign FIRST COUNT`.

With ``--behaviours``, the specs have fairness and a temporal property. With ``--oracle behaviours``
or ``--oracle symmetry``, the engines are compared with oracles that share no code with them, and
some runs are disturbed by a signal or a limit (`tests.support.oracle_runs`). The result for each
seed is a line of a file. A campaign can be resumed: seeds already in the file are skipped.
Disagreements are written to the file and counted at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.strategies import grown
from tests.support import comparisons as by
from tests.support.agreement import Run, bounded, runs_of
from tests.support.comparisons import AGREES, CUT, REFUSED
from tests.support.failing_places import place_of_error
from tests.support.oracle_runs import ANSWERS, ORACLES
from tests.support.oracle_runs import ENGINES as ORACLE_ENGINES

from fencepost.spec.core.verify_model import problems

STATES = 400
STEPS = 3
ENGINES = ("local", "bmc", "induction")


def run(text: str, engines: tuple[str, ...], turn: int = 0) -> dict[str, Any]:
    """Returns the results for a spec: all engines run its first check, and `local` alone runs the
    others.
    """
    row: dict[str, Any] = {}
    for index, check in enumerate(runs_of(text)):
        assert not problems(check.model), problems(check.model)
        if not index:
            outcome = (
                replace(check, keep_going=True).within(max_states=STATES).outcome("interpreter")
            )
            row["verdict"] = outcome.verdict.value
            row["place"] = place_of_error(check.model, outcome)
            row["depth"] = outcome.findings[0].depth if outcome.findings else None
        if "local" in engines:
            row["local"] = _tried(partial(_local, bounded(check, STATES), turn))
            if row["local"] != AGREES:
                break
        if index:
            continue
        if "bmc" in engines:
            row["bmc"] = _tried(partial(_bmc, check))
        if "induction" in engines:
            row["induction"] = _tried(partial(_induction, check))
    return row


def behave(seed: int, engines: tuple[str, ...]) -> dict[str, Any]:
    """Returns the results for the random spec with a temporal property that has this seed."""
    asked = by.random_behaviours(seed)
    wanted = by.uninterrupted(asked, "interpreter")
    row: dict[str, Any] = {"verdict": _tried(partial(by.lasso_is_genuine, asked, wanted))}
    if "local" in engines:
        row["local"] = _tried(partial(by.local_finds_lasso, asked, wanted))
    if "bmc" in engines:
        row["bmc"] = _tried(partial(by.bmc_finds_lasso, asked, wanted))
    return row


def ask_oracle(seed: int, oracle: str) -> dict[str, Any]:
    """Returns the answers of the oracle and of the engines. Machine code runs only every other
    spec.
    """
    engines = ORACLE_ENGINES[: 1 + seed % 2]
    try:
        return ORACLES[oracle](seed, engines)
    except FAULTS as error:
        return {"verdict": _disagreement(error)}


FAULTS = (AssertionError, RecursionError, ArithmeticError, LookupError, TypeError, ValueError,
          AttributeError)  # fmt: skip


def _tried(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except FAULTS as error:
        return _disagreement(error)


def _disagreement(error: Exception) -> str:
    return f"DISAGREES {type(error).__name__}: {str(error)[:1500]}"


def _local(asked: Run, turn: int) -> str:
    by.local_agrees(asked, turn)
    return AGREES


def _bmc(asked: Run) -> str:
    words = [
        by.bmc_agrees(replace(asked, deadlock=deadlock, keep_going=going), STEPS)
        for deadlock, going in ((True, False), (True, True), (False, True))
    ]
    return next((word for word in (REFUSED, CUT) if word in words), AGREES)


def _induction(asked: Run) -> str:
    return "/".join(by.induction_agrees(replace(asked, deadlock=True), k, 10) for k in (1, 2))


def main() -> None:
    """Runs the remaining seeds and prints a summary of all seeds in the file."""
    parser = argparse.ArgumentParser(prog="python -m bench.campaign", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--file", type=Path, default=Path("campaign.jsonl"))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--behaviours", action="store_true")
    parser.add_argument("--oracle", choices=sorted(ORACLES))
    options = parser.parse_args()
    path: Path = options.file
    engines = tuple(str(options.engines).split(","))
    done: dict[int, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            done[row["seed"]] = row
    with path.open("a", encoding="utf-8") as file:
        for seed in range(options.first, options.first + options.count):
            if seed in done:
                continue
            started, worked = time.monotonic(), time.process_time()
            if options.oracle:
                answers = ask_oracle(seed, options.oracle)
            elif options.behaviours:
                answers = behave(seed, engines)
            else:
                answers = run(grown(seed), engines, seed)
            row = {"seed": seed, **answers}
            row["seconds"] = round(time.monotonic() - started, 2)
            row["worked"] = round(time.process_time() - worked, 2)
            row["load"] = round(os.getloadavg()[0], 1)
            done[seed] = row
            print(json.dumps(row), file=file, flush=True)
    rows = [
        row for seed, row in done.items() if options.first <= seed < options.first + options.count
    ]
    names = ("verdict", "place", *(ANSWERS if options.oracle else engines))
    for name in names:
        counts = Counter(_short(row[name]) for row in rows if name in row)
        if counts:
            print(name, dict(counts.most_common()))
    print("seconds", round(sum(row["seconds"] for row in rows)),
          "of work", round(sum(row["worked"] for row in rows)))  # fmt: skip
    wrong = [
        (row["seed"], name, str(row[name])[:300])
        for row in rows
        for name in ("verdict", *engines)
        if str(row.get(name)).startswith("DISAGREES")
    ]
    for disagreement in wrong:
        print(*disagreement)
    sys.exit(bool(wrong))


def _short(answer: object) -> str:
    """Returns a value of a row as it is counted. All disagreements count as one value."""
    return "DISAGREES" if str(answer).startswith("DISAGREES") else str(answer)


if __name__ == "__main__":
    main()
