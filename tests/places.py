"""Where in a spec an evaluation error sits, told from what an engine reports of it."""

from __future__ import annotations

from fencepost.checker.result import Outcome, Verdict
from fencepost.spec.ir import Model, Site

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
"""What a line begins with, and which kind of place that is."""


def place_of(model: Model, site: Site) -> str:
    """The kind of place that the failing expression stands in; of a def it is the caller's."""
    span = site.calls[0] if site.calls else site.span
    lines = span.source.text[: span.start].split("\n")
    rest = span.source.text[span.start :].split("\n", 1)[0]
    line = lines[-1] + rest
    # The conditions of a property may stand in lines of their own below its head.
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
    """The lines that enclose the last one, without what they are indented by."""
    made = [lines[-1].lstrip()]
    indent = len(lines[-1]) - len(made[0])
    for line in reversed(lines[:-1]):
        now = len(line) - len(line.lstrip())
        if line.strip() and now < indent:
            indent = now
            made.append(line.lstrip())
    return made


def place_of_error(model: Model, outcome: Outcome) -> str | None:
    """The place of the first evaluation error that was found, if there is one."""
    for finding in outcome.findings:
        if finding.verdict is Verdict.ERROR and finding.site is not None:
            return place_of(model, finding.site)
    return None
