"""Mutants of the layout and of the generated code: which changes does no comparison notice?

    python -m bench.engine_mutants run --results mutants.jsonl [--module NAME]... [--kind KIND]...
    python -m bench.engine_mutants table --results mutants.jsonl
    python -m bench.engine_mutants sample [--most N]

``run`` makes every mutant of `MODULES` (see `changes`), one at a time, in a child process that runs
the changed function instead of the original (see `trials`). There the corpus entries that reach the
changed line are compared with the interpreter until one notices the mutant: by a difference, an
exception, a fault of guarded code (see `tests.support.memory_guard`), a crash, or a timeout.
Entries with unchanged machine code and unchanged packing of some states can hardly notice it and
are not run. Entries that noticed mutants of nearby lines come first, then the cheap ones. Each
mutant's result is a line of JSON; an interrupted run can be resumed. All mutants take one core an
hour or two; ``--every 20`` takes a sample.

``table`` prints the numbers of caught mutants of each module and kind, and the survivors, in
Markdown: the basis of `docs/mutants-native.md`, which adds the reason for each survivor. ``sample``
is the part that the tests run.
"""

from __future__ import annotations

import gc
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import click

from bench.engine_mutants import changes
from bench.engine_mutants.changes import KINDS, Mutant
from bench.engine_mutants.corpus import (
    LARGE,
    MODULES,
    RANDOM,
    Entry,
    corpus,
    measured,
    path_of,
    small,
    source_of,
)
from bench.engine_mutants.trials import SECONDS, Order, trials, tried

Record: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, int, int, int]
COLUMNS = ("changes", "tried", "caught", "survived", "not reached")


@click.group()
def main() -> None:
    """Mutants of the layout and of the generated code."""


@main.command()
@click.option("--results", type=click.Path(path_type=Path), required=True)
@click.option("--module", "modules", multiple=True, help="only modules with this suffix")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="only this kind")
@click.option("--function", "functions", multiple=True, help="only in this function")
@click.option("--entry", "names", multiple=True, help="only entries with this prefix")
@click.option("--every", default=1, help="first every N-th mutant, then their successors")
@click.option("--rounds", default=0, help="the number of such rounds (default: all)")
@click.option("--again", is_flag=True, help="only the survivors of earlier runs, once more")
@click.option("--seconds", default=SECONDS, help="seconds of trials for a surviving mutant")
@click.option("--jobs", default=1, help="the number of processes")
@click.option("--large", default=LARGE, help="the number of random specs with large types")
@click.option("--random", default=RANDOM, help="the number of random specs")
@click.option("--nice", default=0, help="niceness after the measurements")
@click.option("--models/--no-models", default=True, help="include shipped models")
def run(
    results: Path,
    modules: tuple[str, ...],
    kinds: tuple[str, ...],
    functions: tuple[str, ...],
    names: tuple[str, ...],
    every: int,
    rounds: int,
    again: bool,
    seconds: int,
    jobs: int,
    large: int,
    random: int,
    models: bool,
    nice: int,
) -> None:
    """Tries the mutants that have no result yet."""
    chosen = [name for name in MODULES if not modules or name.endswith(modules)]
    results_so_far = _read(results)
    every_entry = corpus(large, random, models)
    entries = measured([e for e in every_entry if not names or e.name.startswith(names)])
    orders: defaultdict[str, Order] = defaultdict(Order)
    for record in results_so_far.values():
        orders[record["module"]].noticed(record["noticed"].partition(":")[0], record["line"])
    todo: list[tuple[str, Mutant]] = []
    for first in range(rounds or every):
        for name in chosen:
            wanted = [
                mutant
                for mutant in changes.mutants(source_of(name))
                if (not kinds or mutant.kind in kinds)
                and (not functions or mutant.function in functions)
            ]
            todo += [
                (name, mutant)
                for mutant in wanted[first::every]
                if _is_wanted(results_so_far.get(_key(name, mutant)), again)
            ]
    os.nice(nice)
    gc.freeze()
    with results.open("a", encoding="utf-8", buffering=1) as out:
        children = [
            _in_child(partial(_try, out, todo[part::jobs], entries, seconds, orders))
            for part in range(1, jobs)
        ]
        _try(out, todo[::jobs], entries, seconds, orders)
    for child in children:
        os.waitpid(child, 0)


@main.command()
@click.option("--most", default=2, help="at most N mutants of each module")
@click.option("--controls", default=8, help="entries that unchanged code must pass")
def sample(most: int, controls: int) -> None:
    """Tries a few mutants with the cheap part of the corpus; prints a line of JSON for each.

    The first two trials use unchanged code: nothing may notice them.
    """
    entries = measured(list(small()))
    name = MODULES[2]
    # Entries without generated code are always run.
    few = [entry for entry in entries if entry.code is not None][:controls]
    path = path_of(name)
    code = compile(source_of(name), path, "exec", dont_inherit=True)
    for likely in ({entry.name for entry in few}, set[str]()):
        click.echo(json.dumps(asdict(tried(name, code, path, few, likely, SECONDS))))
    for name in MODULES:
        every = changes.mutants(source_of(name))
        step = -(-len(every) // most)
        for record in trials(name, every[step // 2 :: step], entries, 3, Order()):
            click.echo(json.dumps(record))


def _in_child(body: Callable[[], None]) -> int:
    child = os.fork()
    if not child:
        body()
        os._exit(0)
    return child


def _try(
    out: TextIO,
    todo: Sequence[tuple[str, Mutant]],
    entries: Sequence[Entry],
    seconds: float,
    orders: defaultdict[str, Order],
) -> None:
    """Tries mutants and writes a line for each."""
    for name, group in groupby(todo, itemgetter(0)):
        chosen = [mutant for _, mutant in group]
        for record in trials(name, chosen, entries, seconds, orders[name]):
            out.write(json.dumps(record) + "\n")


def _key(name: str, mutant: Mutant) -> Key:
    return name, mutant.line, mutant.node, mutant.choice


def _is_wanted(earlier: Record | None, again: bool) -> bool:
    return not earlier["noticed"] and again if earlier is not None else not again


@main.command()
@click.option("--results", type=click.Path(path_type=Path, exists=True), required=True)
def table(results: Path) -> None:
    """Prints the caught mutants and the survivors."""
    records = _read(results)
    every = [(name, mutant) for name in MODULES for mutant in changes.mutants(source_of(name))]
    counts: Counter[tuple[str, str]] = Counter()
    for name, mutant in every:
        record = records.get(_key(name, mutant))
        fates = ["changes", *([] if record is None else ["tried", _fate(record)])]
        counts.update((group, fate) for group in (name, mutant.kind) for fate in fates)
    for title, groups in (("module", MODULES), ("kind", KINDS)):
        click.echo(f"| {title} | {' | '.join(COLUMNS)} |")
        click.echo(f"| --- {'| --- ' * len(COLUMNS)}|")
        for group in groups:
            numbers = [str(counts[group, column]) for column in COLUMNS]
            click.echo(f"| {group.removeprefix('fencepost.')} | {' | '.join(numbers)} |")
        click.echo()
    click.echo("| where | kind | written | changed to |\n| --- | --- | --- | --- |")
    for record in records.values():
        if not record["noticed"]:
            where = f"{record['module'].rpartition('.')[2]}:{record['line']} {record['function']}"
            reached = "" if record["reached"] else " (not reached)"
            click.echo(
                f"| {where}{reached} | {record['kind']} | `{record['before']}` "
                f"| `{record['after']}` |"
            )


def _fate(record: Record) -> str:
    return "caught" if record["noticed"] else "survived" if record["reached"] else "not reached"


def _read(results: Path) -> dict[Key, Record]:
    """The last result of each mutant."""
    if not results.exists():
        return {}
    records = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {(r["module"], r["line"], r["node"], r["choice"]): r for r in records}


if __name__ == "__main__":
    main()
