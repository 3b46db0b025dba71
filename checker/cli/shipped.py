"""The commands `fencepost models` and `fencepost new`, which list the shipped models and create a
new spec.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import replace
from fencepost.checker.cli.terminal import new_page, say
from fencepost.checker.run.judge import Exit
from fencepost.spec.text.library import SUFFIX, shipped_models
from fencepost.spec.text.problem import Problem, Rejected

TEMPLATE = '''\
"""A client asks a server until it has an answer; messages may get lost."""

const Requests: int = 2

union Message:
    Request
    Answer

channel net: Message lossy at most 1 capacity 2

role Client:
    var sent: 0..Requests = 0
    var answered: bool = false

    action ask:
        require not answered and sent < Requests
        sent += 1
        send Request to net

    action hear on Answer from net:
        answered = true

role Server:
    var answers: 0..Requests = 0

    action answer on Request from net:
        answers += 1
        send Answer to net

# In every state: an answer is not made up.
invariant Asked: Client.answered implies Server.answers > 0

# In some state: the model can do what it is for.
reachable Answered: Client.answered

# Where nothing happens any more, this must hold; else it is a deadlock.
terminal: Client.answered or Client.sent == Requests

check holds:
    properties: Asked, Answered
    expect ok

# This does not hold; what is shown is the shortest way to break it.
invariant AtOnce: Client.sent < 2

check breaks:
    properties: AtOnce
    expect violated AtOnce
'''
"""A spec with an example of each main element: a channel, roles, properties, a check that passes,
and a violation.
"""


@click.command(
    short_help="List the models that come with Fencepost.",
    epilog="\b\nExample:  fencepost models kafka",
)
@click.argument("word", metavar="[WORD]", required=False)
def models(word: str | None) -> int:
    """List the models that come with Fencepost, with the start of their descriptions; with WORD,
    only models with WORD in their name. `fencepost check NAME` runs the checks of a model."""
    matching = {name: path for name, path in shipped_models().items() if (word or "") in name}
    if not matching:
        raise Rejected(
            [Problem("F021", None, f'no model that comes with Fencepost has "{word}" in its name')]
        )
    page = new_page()
    widest = max(map(len, matching))
    for name, path in matching.items():
        page.words(f"{name:<{widest}}  ", _first_sentence(path), indent=widest + 2)
    say(page.text())
    return Exit.OK


def _first_sentence(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    docstring = re.search(r'"""(.*?)"""', text, re.DOTALL)
    words = " ".join(docstring[1].split()) if docstring else ""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", words, maxsplit=1)[0]


@click.command(
    short_help="Create a spec from a template.",
    epilog="\b\nExample:  fencepost new lease",
)
@click.argument("name", metavar="NAME")
def new(name: str) -> int:
    """Create NAME.fence, a small correct spec to modify."""
    path = Path(name if name.endswith(SUFFIX) else name + SUFFIX)
    if path.exists():
        raise Rejected([Problem("F021", None, f"{path} already exists")])
    replace(path, TEMPLATE)
    say(f"written {path}; now: fencepost check {path}\n")
    return Exit.OK
