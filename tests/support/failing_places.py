"""Finds out from an engine's report in what kind of place an evaluation error occurred.

`python -m tests.support.failing_places 1000` prints the verdicts of that many random specs and the
places of their errors.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable

from tests.strategies import grown
from tests.support.agreement import run_of

from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Limits
from fencepost.spec.core.ir import Enabled, Model, Site
from fencepost.spec.core.traverse import walk

PROPERTIES = ("invariant", "step invariant", "reachable", "lemma", "terminal", "constraint")
OTHERS = {
    "assume": "assume",
    "initially": "initially",
    "const": "where of a symbolic constant",
    "require": "guard",
    "pick": "choice",
    "action": "choice",
    "environment": "choice",
    "send": "send",
    "for": "loop",
    "if": "branch",
    "elif": "branch",
    "match": "branch",
    "let": "let",
    "assert": "assertion",
}
"""The beginnings of lines, with the kinds of place that they indicate."""


def place_of(model: Model, site: Site) -> str:
    """Returns the kind of place of the failing expression; inside a def, that of the def's
    caller.
    """
    span = site.calls[0] if site.calls else site.span
    lines = span.source.text[: span.start].split("\n")
    rest = span.source.text[span.start :].split("\n", 1)[0]
    line = lines[-1] + rest
    # The conditions of a property may be on lines of their own below its head.
    for head in (line, *(_above(lines))):
        for kind in PROPERTIES:
            if head.startswith(kind):
                return kind
    word = line.split(maxsplit=1)[0].rstrip(":")
    if word in OTHERS:
        return OTHERS[word]
    if "var" in line.split()[:2]:
        return "where of an initial value" if " where " in lines[-1] else "initial value"
    name = word.split("[")[0].split(".")[0]
    ghosts = {v.name.rsplit(".", 1)[-1] for v in model.variables if v.ghost}
    return "ghost change" if name in ghosts else "change"


def _above(lines: list[str]) -> list[str]:
    """Returns the lines that enclose the last one, without their indentation."""
    enclosing = [lines[-1].lstrip()]
    indent = len(lines[-1]) - len(enclosing[0])
    for line in reversed(lines[:-1]):
        now = len(line) - len(line.lstrip())
        if line.strip() and now < indent:
            indent = now
            enclosing.append(line.lstrip())
    return enclosing


def place_of_error(model: Model, outcome: Outcome) -> str | None:
    """Returns the kind of place of the first evaluation error, if there is one."""
    for finding in outcome.findings:
        if finding.verdict is Verdict.ERROR and finding.site is not None:
            return place_of(model, finding.site)
    return None


OF_STEPS = ("guard", "choice", "branch", "let", "loop", "send", "change", "ghost change")
LOOKED_AT = "a step that a property asks for"
"""The place where an action fails if a property uses `enabled`."""


def growth(seeds: Iterable[int]) -> tuple[Counter[str], Counter[str]]:
    """Counts the verdicts and the places of errors over these random specs.

    Searches are short: four steps, a few hundred states.
    """
    verdicts: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for seed in seeds:
        run = run_of(grown(seed), limits=Limits(depth=4, max_states=300), keep_going=True)
        model, outcome = run.model, run.outcome("interpreter")
        verdicts[outcome.verdict.value] += 1
        kind = place_of_error(model, outcome)
        if kind is not None:
            places[kind] += 1
            if kind in OF_STEPS and _asks(model):
                places[LOOKED_AT] += 1
    return verdicts, places


def _asks(model: Model) -> bool:
    """Checks whether a property uses `enabled`."""
    return any(isinstance(node, Enabled) for item in model.properties for node in walk(item.body))


def main() -> None:
    """Prints the distributions of verdicts and of places."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.failing_places", description=__doc__
    )
    parser.add_argument("count", type=int, help="number of seeds, from 0")
    count = int(parser.parse_args().count)
    for counted in growth(range(count)):
        for name, times in counted.most_common():
            print(f"{name:32} {times:6} {100 * times / count:6.1f} %")
        print()


if __name__ == "__main__":
    main()
