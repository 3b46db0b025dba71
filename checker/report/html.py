"""A trace as one HTML page that needs nothing else: diagram, steps, states, sources.

Text of a spec or a file gets into the page in two ways only: escaped, or as JSON that the script
puts into text nodes. The page forbids itself everything but its own script and style, by hash, so
that text which were taken for code would not run either.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files

from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.labels import change_text
from fencepost.checker.report.sequence import sequence
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.value_tree import text
from fencepost.spec.text.problem import printable

KEYS = (
    ("↓ or j", "next step"),
    ("↑ or k", "step before"),
    ("Home, End", "first and last step"),
    ("s or Enter", "the whole state, or only what changed"),
    ("n", "the next step that needed this one"),
    ("t", "light or dark"),
    ("?", "these keys"),
)


def html(document: TraceDocument) -> str:
    """The text of the page."""
    title = document.caption or document.about
    body = [
        _header(document),
        '<main><section id="diagram" aria-label="sequence diagram" tabindex="0">',
        sequence(document),
        '</section><section aria-label="steps"><ol id="steps">',
        *_steps(document),
        "</ol></section></main>",
        '<dialog id="keys"><h2>Keys</h2><dl>',
        *(f"<dt>{safe(key)}</dt><dd>{safe(what)}</dd>" for key, what in KEYS),
        '</dl><form method="dialog"><button>Close</button></form></dialog>',
        f"<footer>{safe(document.generator)}</footer>",
        f'<script type="application/json" id="data">{embedded(_data(document))}</script>',
    ]
    return page(title, "".join(body), "trace.js")


def page(title: str, body: str, script: str, style: str = "") -> str:
    """A whole page around ``body``, with one script of this package, and its style and perhaps
    another.
    """
    style, code = asset("page.css") + (asset(style) if style else ""), asset(script)
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(code)}'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>{style}</style></head>\n<body>\n{body}\n"
        f"<script>{code}</script></body></html>\n"
    )


def safe(words: str) -> str:
    """Text for an element or a quoted attribute."""
    return escape(printable(words), quote=True)


def embedded(value: Json) -> str:
    """JSON that no HTML parser takes for markup."""
    dumped = json.dumps(value, separators=(",", ":"))
    return dumped.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def asset(name: str) -> str:
    """A file of the folder ``assets``, as a browser will see it."""
    return (files("fencepost.checker.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


# ---------------------------------------------------------------- parts of the page


def _header(document: TraceDocument) -> str:
    wrong = document.verdict or "violation"
    badge = document.property_name or (wrong if document.violated else "trace")
    parts = [
        "<header><p>",
        f'<b class="{"bad" if document.violated else "good"}">{safe(badge)}</b> ',
        safe(" ".join(part for part in (document.source, document.check) if part)),
        '<button id="theme" type="button" title="light or dark (t)">◐</button>',
        '<button id="help" type="button" title="keys (?)">?</button></p>',
        f"<h1>{safe(document.caption or document.about)}</h1>",
    ]
    if document.problem:
        parts.append(f'<p class="bad">{safe(document.problem)}</p>')
    if document.instance:
        rows = (f"<li><code>{safe(f'{n} = {v}')}</code></li>" for n, v in document.instances)
        parts.append(f'<p>It fails for</p><ul id="instance">{"".join(rows)}</ul>')
    parts += _property(document)
    there = document.read_there()
    if there and document.violated:
        cells = (f"<tr><th>{safe(n)}</th><td>{safe(text(v))}</td></tr>" for n, v in there.items())
        parts.append("<details><summary>What it reads there</summary>")
        parts.append(f'<table id="reads">{"".join(cells)}</table></details>')
    if document.blocked:
        rows = (f"<li>{safe(row)}</li>" for row in document.blocked)
        parts.append(f"<p>Why no action can be taken there</p><ul>{''.join(rows)}</ul>")
    if document.constants:
        rows = (
            f"<li><code>{safe(f'{n} = {text(v.shape)}')}</code></li>"
            for n, v in document.constants.items()
        )
        parts.append(f"<details><summary>Constants</summary><ul>{''.join(rows)}</ul></details>")
    parts.append("</header>")
    return "".join(parts)


def _property(document: TraceDocument) -> Iterator[str]:
    source, failing = document.property_source, document.failing_part
    if source is not None:
        inside = safe(source.text)
        if failing is not None and source.text.count(failing.text) == 1:
            before, _, after = source.text.partition(failing.text)
            inside = f"{safe(before)}<mark>{safe(failing.text)}</mark>{safe(after)}"
            failing = None
        yield _pre(source, inside, "property")
    for what, excerpt in (
        ("It is false because of", failing),
        ("It happens here", document.problem_source),
    ):
        if excerpt is not None:
            yield f"<p>{what}</p>" + _pre(excerpt, f"<mark>{safe(excerpt.text)}</mark>", "failing")


def _pre(excerpt: Excerpt, inside: str, name: str) -> str:
    place = safe(excerpt.place)
    return f'<figure id="{name}"><figcaption>{place}</figcaption><pre>{inside}</pre></figure>'


def _steps(document: TraceDocument) -> Iterator[str]:
    needed_by: dict[int, list[int]] = {}
    for position, step in enumerate(document.steps):
        for need in step.act.needs:
            needed_by.setdefault(need, []).append(position)
    for position, step in enumerate(document.steps):
        spare = ' class="spare"' if step.act.spare else ""
        yield (
            f'<li id="step-{position}" data-step="{position}"{spare}>'
            f'<h2><button type="button" class="select">{position + 1}</button> '
            f"{safe(step.title)}</h2>"
        )
        if step.act.spare:
            yield '<p class="why">the problem does without this step</p>'
        yield from _changes(document, position)
        links = [
            *_links("needs", step.act.needs),
            *_links("needed by", needed_by.get(position, ())),
        ]
        if position in document.needed_at_end and document.violated:
            links.append("<span>needed for the problem itself</span>")
        if links:
            yield f'<p class="why">{" · ".join(links)}</p>'
        if step.state is not None:
            yield '<p><button type="button" class="open">State</button></p>'
        yield '<div class="more"></div></li>'


def _links(what: str, positions: tuple[int, ...] | list[int]) -> Iterator[str]:
    if positions:
        numbers = " ".join(f'<a href="#step-{n}">{n + 1}</a>' for n in positions)
        yield f"<span>{what} {numbers}</span>"


def _changes(document: TraceDocument, position: int) -> Iterator[str]:
    step = document.steps[position]
    if step.state is None:
        yield '<p class="bad">this step fails</p>'
        return
    if position == 0:
        return
    found = document.changes(position)
    if not found:
        yield '<p class="why">nothing changes</p>'
        return
    yield '<table class="changes">'
    for change in found:
        # A long name may be broken behind a dot.
        path = safe(change.path).replace(".", ".<wbr>")
        yield f"<tr><th>{path}</th><td>{safe(change_text(change))}</td></tr>"
    yield "</table>"


def _data(document: TraceDocument) -> Json:
    """What the script shows on demand. Equal texts are stored once."""
    texts: dict[str, int] = {}
    names: dict[str, int] = {}
    steps: list[Json] = []
    for position, step in enumerate(document.steps):
        state: Json = None
        if step.state is not None:
            state = [
                [names.setdefault(name, len(names)), texts.setdefault(text(v), len(texts))]
                for name, v in step.state.items()
            ]
        before = document.steps[position - 1].state if position else None
        changed = [
            names[name]
            for name, value in (step.state or {}).items()
            if before is not None and before.get(name) != value
        ]
        steps.append({"action": step.act.action, "state": state, "changed": [*changed]})
    actions: dict[str, Json] = {
        name: {"place": printable(one.place), "line": one.line, "text": printable(one.text)}
        for name, one in document.actions.items()
    }
    return {
        "steps": steps,
        "names": [printable(name) for name in names],
        "texts": [printable(value) for value in texts],
        "actions": actions,
    }
