"""Locates the rules of docs/kafka/rules.md in the models and in Kafka's code.

`python -m bench.rule_places` rewrites the table of the page from rule_places.toml and the text of
the models. Run it after each change of a model, since lines may have moved.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import ROOT

PAGE = ROOT / "docs" / "kafka" / "rules.md"
MODELS = ROOT / "models" / "kafka"
DATA = Path(__file__).with_suffix(".toml")
BEGIN = "<!-- places -->\n"
END = "<!-- end of places -->"

RULE = re.compile(r"^\| ([AB]\d+(?:\.\d+[ab]?)?) \|", re.M)
SOURCE = re.compile(
    r"^\| (\w+) \| \[(\w+)\.\w+\]\((https://github\.com/apache/kafka/blob/[^\s)]+)\)[^|]*\|"
)
DECLARED = re.compile(
    r"^(?P<indent> *)(?:(?:environment|fair|strongly) )*"
    r"(?P<kind>def|action|procedure|role|record|union|channel|const|var) (?P<name>\w+)"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a model: the line of a declaration, or a line inside it that names the rule."""

    path: Path
    name: str
    number: int

    @property
    def link(self) -> str:
        """The link from the page to the line."""
        path = self.path.relative_to(ROOT).as_posix()
        return f"[`{self.path.stem}` `{self.name}`](../../{path}#L{self.number})"


def rules(page: str) -> list[str]:
    """Returns the names of the rules in the page's tables."""
    before, _, after = page.partition(BEGIN)
    return RULE.findall(before + after.partition(END)[2])


def line(declaration: str, rule: str) -> Line:
    """Returns the line of a rule in a declaration, which is given as ``file name``. Raises
    `LookupError`.
    """
    stem, name = declaration.split()
    paths = MODELS / "lib" / f"{stem}.fence", MODELS / f"{stem}.fence"
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise LookupError(f"{rule}: there is no model {stem}")
    text = path.read_text(encoding="utf-8").splitlines()
    declarations = [(n, match) for n, row in enumerate(text) if (match := DECLARED.match(row))]
    own = next((at for at, (_, match) in enumerate(declarations) if match["name"] == name), None)
    if own is None:
        raise LookupError(f"{rule}: {path.name} declares no {name}")
    first, match = declarations[own]
    indent = len(match["indent"])
    later = (n for n, other in declarations[own + 1 :] if len(other["indent"]) <= indent)
    last = next(later, len(text))
    # Comments directly above the next declaration belong to that declaration.
    while text[last - 1].lstrip()[:1] in ("", "#"):
        last -= 1
    if match["kind"] == "role":
        last = first
    # A comment that begins with the rule marks the rule's line; other comments may only mention the
    # rule.
    own_name = rf"{re.escape(rule)}(?![\w.]*\d)"
    inside = range(first, last)
    for named in (re.compile(rf"# *{own_name}"), re.compile(rf"#.*\b{own_name}")):
        for number in inside:
            if named.search(text[number]):
                return Line(path, name, number + 1)
    return Line(path, name, first + 1)


def methods(rule: str, row: dict[str, Any], data: dict[str, Any], page: str) -> list[str]:
    """Returns links to the methods that implement a rule. Raises `LookupError`."""
    sources = {
        match[1]: (match[2], match[3])
        for row_text in page.splitlines()
        if (match := SOURCE.match(row_text))
    }
    links: list[str] = []
    for method in row.get("code", ()):
        source, _, name = method.partition("#")
        if source not in sources:
            raise LookupError(f"{rule}: there is no source {source}")
        file, address = sources[source]
        at = data["lines"].get(method)
        links.append(f"[`{file}#{name}`]({address}{f'#L{at}' if at else ''})")
    return links


def table(page: str) -> str:
    """Returns the table of the page. Raises `LookupError` if a name does not exist."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    rows = data["rows"]
    missing = {*rules(page)} ^ rows.keys()
    if missing:
        raise LookupError(f"in one of the page and {DATA.name} only: {', '.join(sorted(missing))}")
    lines = ["| row | in the models | in Kafka |", "| --- | --- | --- |"]
    for rule in dict.fromkeys(rules(page)):
        row = rows[rule]
        ours = "<br>".join(line(declaration, rule).link for declaration in row["model"])
        theirs = "<br>".join(methods(rule, row, data, page)) or row["why"]
        lines.append(f"| {rule} | {ours} | {theirs} |")
    return "\n".join(lines) + "\n"


def filled(page: str) -> str:
    """Returns the page with its table."""
    before, _, after = page.partition(BEGIN)
    return f"{before}{BEGIN}{table(page)}{END}{after.partition(END)[2]}"


def main() -> int:
    try:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
