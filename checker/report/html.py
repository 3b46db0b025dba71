"""Renders a trace as a self-contained HTML page with the diagram, steps, states and sources.

Text from a spec or a file is either escaped by `markup`, or embedded as JSON that the script puts
into text nodes. The content security policy of the page allows only its own script and style, by
hash, so injected text could not run even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.labels import change_text
from fencepost.checker.report.markup import filled, joined, safe
from fencepost.checker.report.sequence import sequence
from fencepost.checker.trace.document import TraceDocument, for_ever
from fencepost.checker.trace.excerpts import Excerpt
from fencepost.checker.trace.value_tree import text
from fencepost.spec.text.problem import printable

NOTHING = Markup("")
KEYS = (
    ("↓ or j", "next step; in a cycle, the first step follows the last"),
    ("↑ or k", "step before"),
    ("Home, End", "first and last step"),
    ("s or Enter", "the whole state, or only what changed"),
    ("n", "the next step that needed this one"),
    ("p or Space", "play the trace, or pause"),
    ("t", "light or dark"),
    ("?", "these keys"),
)
TABS = Markup(
    '<nav id="tabs" aria-label="view"><button type="button" data-tab="steps" aria-pressed="true">'
    'Steps</button><button type="button" data-tab="diagram" aria-pressed="false">Diagram</button>'
    "</nav>"
)
"""The tabs of a narrow page, which shows either the steps or the diagram."""
BUTTONS = Markup(
    '<span id="buttons"><button id="help" type="button" title="keys (?)">?</button>'
    '<button id="theme" type="button" title="light or dark (t)">◐</button></span>'
)


def html(document: TraceDocument, remarks: Sequence[str] = (), further: Markup = NOTHING) -> str:
    """Renders the page. ``remarks`` are about the run that found the trace, and ``further`` is a
    section that follows the trace.
    """
    document = replace(document, source=local(document.source))
    body = filled(
        '{}{}<main data-tab="steps"><section id="diagram" aria-label="sequence diagram"'
        ' tabindex="0">{}</section><section id="list" aria-label="steps"><ol id="steps">{}</ol>{}'
        "</section></main>{}{}{}<footer>{}</footer>{}",
        _header(document, remarks),
        TABS,
        sequence(document),
        steps(document),
        _onward(document),
        further,
        player(len(document.steps)),
        keys_dialog(KEYS),
        document.generator,
        embedded(step_data(document)),
    )
    style = "counterexamples.css" if further else ""
    return page(document.caption or document.about, body, "trace.js", style)


def player(count: int) -> Markup:
    """Returns the controls that play a trace, and the state after the chosen step."""
    return filled(
        '<aside id="player" aria-label="player"><div class="bar">'
        '<button id="play" type="button" aria-pressed="false" title="play (p)">▶</button>'
        '<input id="seek" type="range" min="0" max="{}" value="0" aria-label="step"/>'
        "<output></output></div>"
        '<details id="now"><summary>State</summary><div></div></details></aside>',
        max(0, count - 1),
    )


def local(path: str) -> str:
    """Returns a path without the folders of this machine: relative to the working directory, or
    only the name if the file is outside of it. The path may end in a position.
    """
    if not os.path.isabs(path):
        return path
    relative = os.path.relpath(path)
    return os.path.basename(path) if relative.startswith(os.pardir) else relative


def keys_dialog(keys: Sequence[tuple[str, str]]) -> Markup:
    """Returns a dialog that explains the keys."""
    return filled(
        '<dialog id="keys"><h2>Keys</h2><dl>{}</dl>'
        '<form method="dialog"><button>Close</button></form></dialog>',
        joined(filled("<dt>{}</dt><dd>{}</dd>", key, meaning) for key, meaning in keys),
    )


def report_page(title: str, report: str, generator: str, *, good: bool) -> str:
    """Returns the page for a run without a trace, which shows the text of its report."""
    badge = filled('<b class="{}">{}</b>', *(("good", "ok") if good else ("bad", "not ok")))
    body = filled(
        "<header><p>{}</p><h1>{}</h1></header><main><pre>{}</pre></main><footer>{}</footer>",
        badge,
        title,
        report,
        generator,
    )
    return page(title, body, style="report.css")


def page(title: str, body: Markup, script: str = "", style: str = "", *, allowed: str = "") -> str:
    """Returns a page around ``body`` with the common style. ``script`` names scripts to add,
    ``style`` names a style to add, and ``allowed`` extends the content security policy.
    """
    look, code = (
        asset("page.css") + (asset(style) if style else ""),
        "".join(map(asset, script.split())),
    )
    policy = f"default-src 'none'; style-src '{digest(look)}'"
    if code:
        policy += f"; script-src '{digest(code)}'"
    policy += allowed
    return filled(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        "<title>{}</title><style>{}</style></head>\n<body>\n{}\n{}</body></html>\n",
        Markup(policy),
        title,
        Markup(look),
        body,
        Markup(f"<script>{code}</script>") if code else "",
    )


def embedded(value: Json) -> Markup:
    """Embeds data for the script of a page as JSON that an HTML parser cannot mistake for
    markup.
    """
    dumped = json.dumps(value, separators=(",", ":"))
    dumped = dumped.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(f'<script type="application/json" id="data">{dumped}</script>')


@cache
def asset(name: str) -> str:
    """Returns the content of a file in ``assets``."""
    return (files("fencepost.checker.report") / "assets" / name).read_text(encoding="utf-8")


def digest(code: str) -> str:
    """Returns the hash of a script or style in the form of a content security policy."""
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


# ---------------------------------------------------------------- parts of the page


def _header(document: TraceDocument, remarks: Sequence[str]) -> Markup:
    """Returns the head of the page: one line with the problem, and the rest on demand."""
    where = " ".join(part for part in (document.source, document.check) if part)
    failing = document.failing_part
    why = [filled("<p>{}</p>", text) for text in (where, *remarks) if text]
    why += found(document)
    return filled(
        '<header>{}<details id="why"><summary><b class="{}">{}</b><h1>{}</h1>{}</summary>'
        "{}</details></header>",
        BUTTONS,
        *(("bad", "✗") if document.violated else ("good", "trace")),
        document.caption or document.about,
        filled("<code>{}</code>", " ".join(failing.text.split())) if failing else "",
        joined(why),
    )


def found(document: TraceDocument) -> Iterator[Markup]:
    """Yields the problem at the end of a trace with its location, and facts about the whole
    trace.
    """
    if document.problem:
        yield filled('<p class="bad">{}</p>', document.problem)
    if document.instance:
        rows = [_equation(name, value) for name, value in document.instances]
        yield filled('<p>It fails for</p><ul id="instance">{}</ul>', joined(rows))
    yield from _endless(document)
    yield from _property(document)
    values_read = document.read_there()
    if values_read and document.violated:
        cells = [
            filled("<tr><th>{}</th><td>{}</td></tr>", n, text(v)) for n, v in values_read.items()
        ]
        yield filled(
            "<details open><summary>What it reads there</summary>"
            '<table id="reads">{}</table></details>',
            joined(cells),
        )
    if document.blocked:
        rows = [filled("<li>{}</li>", row) for row in document.blocked]
        why = "Why this step is not possible there" if document.played else NO_ACTION
        yield filled("<p>{}</p><ul>{}</ul>", why, joined(rows))
    yield from _misfit(document)
    if document.constants:
        rows = [
            _equation(name, text(constant.tree)) for name, constant in document.constants.items()
        ]
        listed = "<details><summary>Constants</summary><ul>{}</ul></details>"
        yield filled(listed, joined(rows))


def _misfit(document: TraceDocument) -> Iterator[Markup]:
    """Shows the images of both states of a step that violates a refinement, and the reason."""
    if not document.images:
        return
    first, last = document.images[0], document.images[-1]
    rows = [
        filled("<tr><th>{}</th><td>{}</td><td>{}</td></tr>", name, text(value.tree),
               text(last[name].tree) if len(document.images) > 1 else "")
        for name, value in first.items()
    ]  # fmt: skip
    subject = "the last step" if len(document.images) > 1 else "the initial state"
    table = '<details open><summary>What {} is in {}</summary><table id="images">{}</table>'
    yield filled(f"{table}</details>", subject, document.refined, joined(rows))
    why = [filled("<li>{}: {}</li>", name, reason) for name, reason in document.unfit]
    kind = "step" if len(document.images) > 1 else "initial state"
    template = '<p>Why that is no {} of {}</p><ul id="unfit">{}</ul>'
    yield filled(template, kind, document.refined, joined(why))


def _endless(document: TraceDocument) -> Iterator[Markup]:
    """Explains an infinite trace to readers who have never seen one."""
    if document.loop is None:
        return
    count, loop = len(document.steps), document.loop
    again = for_ever(loop, count)
    if document.goes_round and loop and document.steps[loop - 1].state == document.steps[-1].state:
        how = filled(
            "This run never ends: step {} leads back to the state after step {}, so {} can repeat"
            " forever.",
            *(_link(count - 1), _link(loop - 1), again),
        )
    elif document.goes_round:
        how = filled("This run never ends: {} repeat forever.", again)
    elif count > 1:
        how = filled("In this run nothing happens after step {}.", _link(count - 1))
    else:
        how = Markup("In this run nothing ever happens.")
    if document.since is not None:
        template = "From state {} on, the marked part does not hold."
        how = joined([how, filled(template, _link(document.since))], " ")
    yield filled('<p id="endless">{}</p>', how)
    if document.fair:
        rows = (filled("<tr><th>{}</th><td>{}</td></tr>", to, why) for to, why in document.fair)
        yield filled(
            "<details><summary>Why this run is fair: every fairness constraint of the spec is met"
            '</summary><table id="fair">{}</table></details>',
            joined(rows),
        )


def _onward(document: TraceDocument) -> Markup:
    """Returns the note after the last step of an infinite trace."""
    if document.goes_round:
        template = '<p id="onward">↻ continues with step {}, again and again <output></output></p>'
        return filled(template, _link(document.loop or 0))
    return Markup("" if document.loop is None else '<p id="onward">It stays there forever.</p>')


def _link(position: int) -> Markup:
    return filled('<a href="#step-{}">{}</a>', position, position)


def _equation(name: str, value: str) -> Markup:
    return filled("<li><code>{}</code></li>", f"{name} = {value}")


NO_ACTION = "Why no action is possible there"


def _property(document: TraceDocument) -> Iterator[Markup]:
    source, failing = document.property_source, document.failing_part
    if source is not None:
        inside = safe(source.text)
        if failing is not None and source.text.count(failing.text) == 1:
            before, _, after = source.text.partition(failing.text)
            inside = filled("{}<mark>{}</mark>{}", before, failing.text, after)
            failing = None
        yield _pre(source, inside, "property")
    for lead, excerpt in (
        ("No run continues with this" if document.played else "It is false because of", failing),
        ("It happens here", document.problem_source),
    ):
        if excerpt is not None:
            yield filled("<p>{}</p>", lead)
            yield _pre(excerpt, filled("<mark>{}</mark>", excerpt.text), "failing")


def _pre(excerpt: Excerpt, inside: Markup, name: str) -> Markup:
    template = '<figure id="{}"><figcaption>{}</figcaption><pre>{}</pre></figure>'
    return filled(template, name, local(excerpt.place), inside)


def steps(document: TraceDocument) -> Markup:
    """Returns the items of the list of steps."""
    return joined(_steps(document))


def _steps(document: TraceDocument) -> Iterator[Markup]:
    needed_by: dict[int, list[int]] = {}
    for position, step in enumerate(document.steps):
        for need in step.act.needs:
            needed_by.setdefault(need, []).append(position)
    for position, step in enumerate(document.steps):
        again = document.goes_round and position >= (document.loop or 0)
        classes = " ".join(["spare"] * step.act.spare + ["again"] * again)
        yield filled(
            '<li id="step-{}" data-step="{}"{}>'
            '<h2><button type="button" class="select">{}</button> {}</h2>',
            position,
            position,
            filled(' class="{}"', classes) if classes else "",
            position,
            step.title,
        )
        if step.act.spare:
            yield Markup('<p class="why">the problem does not need this step</p>')
        yield from _changes(document, position)
        links = [
            *_links("needs", step.act.needs),
            *_links("needed by", needed_by.get(position, ())),
        ]
        if position in document.needed_at_end and document.violated and not again:
            links.append(Markup("<span>needed for the problem</span>"))
        if links:
            yield filled('<p class="why">{}</p>', joined(links, " · "))
        if step.state is not None:
            yield Markup('<p><button type="button" class="open">State</button></p>')
        yield Markup('<div class="more"></div></li>')


def _links(lead: str, positions: Sequence[int]) -> Iterator[Markup]:
    if positions:
        yield filled("<span>{} {}</span>", lead, joined(map(_link, positions), " "))


def _changes(document: TraceDocument, position: int) -> Iterator[Markup]:
    step = document.steps[position]
    if step.state is None:
        yield Markup('<p class="bad">this step fails</p>')
        return
    if position == 0:
        return
    all_changes = document.changes(position)
    if not all_changes:
        yield Markup('<p class="why">nothing changes</p>')
        return
    yield Markup('<table class="changes">')
    for change in all_changes:
        # A long name may wrap after a dot.
        path = joined(map(safe, change.path.split(".")), ".<wbr>")
        yield filled("<tr><th>{}</th><td>{}</td></tr>", path, change_text(change))
    yield Markup("</table>")


def step_data(document: TraceDocument) -> Json:
    """Returns the data that the script shows on demand. Equal texts are stored once."""
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
        name: {
            "place": printable(local(excerpt.place)),
            "line": excerpt.line,
            "text": printable(excerpt.text),
        }
        for name, excerpt in document.actions.items()
    }
    return {
        "steps": steps,
        "loop": document.loop if document.goes_round else None,
        "names": [printable(name) for name in names],
        "texts": [printable(value) for value in texts],
        "actions": actions,
    }
