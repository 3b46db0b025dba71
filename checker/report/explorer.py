"""The page of an exploration: a trace page (`html`) with controls.

After each step the server sends only the parts that changed. These are markup made here, with all
text escaped, and values that the script puts into text nodes.
"""

from __future__ import annotations

from fencepost import __version__
from fencepost.checker.printing.json_values import Json
from fencepost.checker.report.html import (
    BUTTONS,
    TABS,
    embedded,
    found,
    keys_dialog,
    local,
    page,
    step_data,
    steps,
)
from fencepost.checker.report.labels import MAX_DRAWN
from fencepost.checker.report.markup import filled, joined
from fencepost.checker.report.sequence import sequence
from fencepost.checker.tools.exploration import NO_VALUE, Exploration
from fencepost.checker.trace.document import SYSTEM, TraceDocument
from fencepost.checker.trace.steps import families, lifeline, lifelines
from fencepost.spec.core import types
from fencepost.spec.core.ir import Model
from fencepost.spec.text.problem import printable

MAX_OPTIONS = 500
"""Maximum number of steps that are offered."""
KEYS = (
    ("1 to 9", "take the step with this number"),
    ("b, f", "one step back; forward on the same path"),
    ("g, w", "continue until a condition holds; watch an expression"),
    ("↓ or j, ↑ or k", "choose the next step, the step before"),
    ("Home, End", "choose the first and the last step"),
    ("s or Enter", "the whole state, or only what changed"),
    ("n", "the next step that needed this one"),
    ("t", "light or dark"),
    ("?", "these keys"),
)
ALLOWED = "; connect-src 'self'; base-uri 'none'; form-action 'none'"


def explorer_page(exploration: Exploration, at: int) -> str:
    """Returns the initial page. Later changes are sent as a `view`."""
    body = filled(
        '<header>{}<div class="line"><b class="good">explore</b> <span>{}</span> '
        '<h1 id="caption"></h1></div></header>{}'
        '<main class="live" data-tab="steps"><section id="diagram" aria-label="sequence diagram"'
        ' tabindex="0"></section><section id="list">'
        '<div id="explore"><div id="wrong"></div>'
        '<p class="bar"><button id="back" type="button">Back</button>'
        '<button id="forward" type="button">Forward</button>'
        '<button id="start" type="button">Start</button>'
        '<a id="save" href="trace.itf.json" download="walk.itf.json">Save the trace</a></p>'
        '<form id="goto"><label for="condition">Go on until</label>'
        '<input id="condition" autocomplete="off" spellcheck="false"'
        ' placeholder="a condition, such as {}">'
        '<button>Go</button><button id="stop" type="button" hidden>Stop</button></form>'
        '<form id="watch"><label for="expression">Watch</label>'
        '<input id="expression" autocomplete="off" spellcheck="false"'
        ' placeholder="an expression, such as {}"><button>Add</button></form>'
        '<p id="said" role="status"></p>'
        '<table id="watched"></table>'
        '<h2 id="choice">What can happen</h2><div id="options"></div>'
        '<details id="ways"><summary>Ways</summary><ul></ul></details>'
        '<details id="found"><summary></summary><div></div>'
        "</details></div>"
        '<ol id="steps" aria-label="steps"></ol></section></main>{}<footer>{}</footer>{}',
        BUTTONS,
        local(exploration.title),
        TABS,
        *examples(exploration.model),
        keys_dialog(KEYS),
        f"fencepost {__version__}",
        embedded(view(exploration, at)),
    )
    title = f"explore {exploration.title}"
    return page(title, body, "trace.js explorer.js", "explorer.css", allowed=ALLOWED)


def view(exploration: Exploration, at: int, reply: str = "") -> dict[str, Json]:
    """Returns everything that the page shows. ``at`` is the number of this view, and ``reply`` is
    the reply to a request.
    """
    walk, model = exploration.walk, exploration.model
    begun = bool(walk.path)
    trace = exploration.document() if begun else TraceDocument((), lifelines=lifelines(model))
    # A diagram of a longer trace would be slow and useless.
    drawn = sequence(trace) if len(trace.steps) <= MAX_DRAWN else ""
    wrong: list[Json] = [_text(problem) for problem, _ in exploration.wrong()]
    if (failure := exploration.failure()) is not None:
        wrong.append(_text(f"this step fails: {failure[0].message}"))
    elif walk.judgement().outside:
        wrong.append("outside a constraint: no check continues from here")
    return {
        "at": at,
        "said": _text(reply),
        "caption": _text(trace.headline or _caption(exploration, trace)),
        "diagram": str(drawn),
        "steps": str(steps(trace)),
        "found": str(joined(found(trace))),
        "wrong": wrong,
        "data": step_data(trace),
        "options": _options(exploration),
        "nothing": exploration.nothing(),
        "more": max(0, len(exploration.options) - MAX_OPTIONS),
        "watched": [
            {
                "text": _text(watched.text),
                "values": [_text(value or NO_VALUE) for value in exploration.values(watched)],
            }
            for watched in exploration.watched
        ],
        "ways": _ways(exploration),
        "way": walk.way,
        "ahead": walk.ahead,
        "behind": exploration.returnable,
    }


def _caption(exploration: Exploration, trace: TraceDocument) -> str:
    match len(exploration.walk.path):
        case 0:
            return "choose an initial state"
        case 1:
            return "the initial state: take a step, or go to a condition"
        case _:
            return trace.description


def examples(model: Model) -> tuple[str, str]:
    """Returns a condition and an expression about the first suitable variable of a model."""
    several = families(model)
    for variable in model.variables:
        name = variable.name
        if name in several:
            continue
        match variable.type:
            case types.Seq() | types.Set() | types.Bag():
                return f"len({name}) > 0", f"len({name})"
            case types.Int(low=low, open=None):
                return f"{name} > {low}", f"{name} + 1"
            case types.Bool():
                return name, f"not {name}"
            case _:
                continue
    return "1 < 2", "1 + 1"


def _options(exploration: Exploration) -> list[Json]:
    """Returns the possible steps, each with its lifeline."""
    return [
        {
            "number": number,
            "group": _text(_who(exploration, number - 1)),
            "label": _text(exploration.label(option.step)),
            "notes": [_text(note) for note in exploration.notes(option)],
            "bad": option.judgement.bad or option.failure is not None,
            "same": option.same,
        }
        for number, option in enumerate(exploration.options[:MAX_OPTIONS], 1)
    ]


def _who(exploration: Exploration, index: int) -> str:
    step = exploration.options[index].step
    if step.action is None:
        return "initial states"
    return lifeline(exploration.model, step) or SYSTEM


def _ways(exploration: Exploration) -> list[Json]:
    """Returns the length and the last step of each explored path."""
    return [
        {
            "steps": len(way),
            "last": _text(exploration.label(way[-1])) if way else "",
            "parts": exploration.walk.common(number),
        }
        for number, way in enumerate(exploration.walk.ways)
    ]


def _text(text: str) -> str:
    return printable(text)
