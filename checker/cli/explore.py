"""The command `fencepost explore`, which lets the user walk through a model in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import broken, check_named, concrete, loaded
from fencepost.checker.cli.options import (
    ALLOW_READ,
    CONFIGS,
    CONSTANTS,
    PATHS,
    SPEC,
    at_least,
    one_check,
    shared_option,
)
from fencepost.checker.cli.terminal import Unwritable, complain, flush, is_terminal, new_page, say
from fencepost.checker.printing.page import Page
from fencepost.checker.report.text import write_site
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.words import plural
from fencepost.checker.tools.exploration import MAX_STATES, NO_VALUE, Exploration
from fencepost.checker.trace.itf import dumps
from fencepost.checker.trace.of_search import document
from fencepost.checker.trace.steps import (
    families,
    title,
    write_changes,
    write_state,
    write_trace,
)
from fencepost.checker.web.server import ADDRESS, Server
from fencepost.checker.web.words import Desk
from fencepost.spec.text.problem import Problem, Rejected, suggestion

LISTED = 30
"""The maximum number of steps that are listed without the command "list"."""
WORDS = {
    "NUMBER": "take that step",
    "back [N]": "undo the last step, or N steps",
    "start": "undo all steps",
    "goto CONDITION": "go to the nearest state where it holds",
    "is EXPRESSION": "its value here; of a condition, whether it holds",
    "state": "every variable",
    "path": "the path so far",
    "list": "all possible steps",
    "save FILE": "save the path as a trace file",
    "help": "these words",
    "quit": "the end",
}


@click.command(
    short_help="Step through a model interactively.",
    epilog="""\b
Example:  fencepost explore race.fence --check race
          fencepost explore race.fence --check race --web
Commands: a number takes a step, "goto len(Leader.log) > 1" continues to such a state, "help"
          lists all commands.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check()
@CONSTANTS
@PATHS
@CONFIGS
@ALLOW_READ
@shared_option("--max-states", help="Maximum states that goto visits.")
@click.option("--web", is_flag=True, help="Serve a web page and print its address.")
@click.option(
    "--port", metavar="N", type=at_least(1), help="Port of the page (default: a free port)."
)
def explore(
    spec: Path,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    configs: tuple[Path, ...],
    readable: tuple[Path, ...],
    max_states: int | None,
    web: bool,
    port: int | None,
) -> int:
    """Step through SPEC in the terminal: list the possible steps with parameters and messages, take
    steps and undo them, or continue to a state that satisfies a condition. With --web, do the same
    on a web page with a growing diagram."""
    if port is not None and not web:
        message = "--port sets the port of the web page, so it requires --web"
        raise Rejected([Problem("F021", None, message)])
    program = loaded(spec, search, configs)
    check = check_named(program, name)
    overrides = dict(constants)
    model = concrete(program, check, overrides, readable)
    if (code := broken(model)) is not None:
        return code
    exploration = Exploration(program, check, overrides, model, max_states or MAX_STATES)
    if web:
        return serve(exploration, port or 0)
    terminal = _Terminal(exploration)
    terminal.look(whole=True)
    while True:
        line = _line()
        if line is None or not terminal.obey(line):
            return Exit.OK


def _line() -> str | None:
    """Returns the next line of input, or None at the end of the input."""
    if sys.stdin is None:
        return None
    try:
        if not is_terminal(sys.stdin):
            return sys.stdin.readline() or None
        with suppress(ImportError):
            import_module("readline")  # enables line editing and history in `input`
        return input("> ")
    except (EOFError, OSError, ValueError):
        # This is the end of the input, an unreadable file, or bytes that are not text.
        return None


class _Terminal:
    """The terminal interface of an exploration."""

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self.model = exploration.model
        self.walk = exploration.walk
        self.verbs: dict[str, Callable[[str], None]] = {
            "back": self.back,
            "start": self.start,
            "goto": self.goto,
            "is": self.ask,
            "state": self.state,
            "path": self.path,
            "list": self.listing,
            "save": self.save,
            "help": self.help,
        }

    def obey(self, line: str) -> bool:
        """Executes a line. Returns False if it ends the exploration."""
        word, _, rest = line.strip().partition(" ")
        if not word:
            return True
        if word.isascii() and word.isdigit():
            self.take(word)
            return True
        words = [*self.verbs, "quit"]
        matches = [verb for verb in words if verb == word] or [
            verb for verb in words if verb.startswith(word)
        ]
        if matches[:1] == ["quit"] or word == "exit":
            return False
        if not matches:
            hint = suggestion(word, words)
            self.tell(f'there is no command "{word}"{hint}; "help" lists the commands')
            return True
        try:
            self.verbs[matches[0]](rest.strip())
        except Unwritable:
            raise
        except Rejected as rejected:
            self.tell("\n\n".join(str(problem) for problem in rejected.problems))
        except KeyboardInterrupt:
            self.tell("interrupted")
        return True

    # ------------------------------------------------------------ moving

    def take(self, word: str) -> None:
        number = int(word) if len(word) < 9 else 0
        count = len(self.exploration.options)
        if not 1 <= number <= count:
            self.tell(f"there are steps 1 to {count}" if count else "no step can be taken")
            return
        self.exploration.take(number)
        self.look()

    def back(self, rest: str) -> None:
        if rest and not (rest.isascii() and rest.isdigit() and len(rest) < 9):
            self.tell('"back" takes a number of steps, or nothing')
            return
        if not self.exploration.back(int(rest or "1")):
            self.tell("this is the start")
        self.look(whole=True)

    def start(self, rest: str) -> None:
        self.exploration.back(len(self.walk.path))
        self.look(whole=True)

    def goto(self, rest: str) -> None:
        before = len(self.walk.path)
        destination = self.exploration.goto(rest)
        summary = self.exploration.sought(destination)
        if not destination.steps:
            self.tell(summary)
            return
        page = new_page()
        page.line((summary, "dim"))
        self.write_path(page, before)
        say(page.text())
        self.look(brief=True)

    # ------------------------------------------------------------ looking

    def look(self, *, whole: bool = False, brief: bool = False) -> None:
        """Shows the current state, the changes of the last step, and the possible steps."""
        page = new_page()
        if not brief:
            if whole:
                self.write_whole(page)
            else:
                self.write_path(page, len(self.walk.path) - 1)
        for problem, site in self.exploration.wrong():
            page.line("  ", (problem, "bad"))
            if site is not None:
                write_site(page, site, 2)
        if (failure := self.exploration.failure()) is not None:
            site, assertion = failure
            write_site(page, site, 2, assertion=assertion)
        elif self.walk.judgement().outside:
            page.line("  ", ("outside a constraint: no check continues from here", "warn"))
        self.write_options(page, LISTED)
        say(page.text())

    def write_whole(self, page: Page) -> None:
        if self.walk.state is None:
            return
        number = len(self.walk.path) - 1
        page.line(f"  {number}  ", (title(self.model, self.walk.path[-1]), "title"))
        state = document(self.model, self.walk.trace()).steps[-1].state
        if state is not None:
            write_state(page, state, families(self.model), 5)

    def write_path(self, page: Page, begin: int) -> None:
        """Writes the steps from position ``begin`` to the end, with the changes that each makes."""
        trace = document(self.model, self.walk.trace())
        for number in range(max(begin, 0), len(trace.steps)):
            step = trace.steps[number]
            page.words(f"  {number}  ", step.title, 9, "title")
            before = trace.steps[number - 1].state if number else None
            if step.state is None:
                page.line("     ", ("this step fails", "bad"))
            elif before is None:
                write_state(page, step.state, trace.families, 5)
            else:
                write_changes(page, before, step, trace.families, 5)

    def write_options(self, page: Page, most: int) -> None:
        page.line()
        options = self.exploration.options
        if not options:
            page.line(("  " + self.exploration.nothing(), "warn"))
            return
        if not self.walk.path:
            page.line("  ", ("initial states", "title"))
        column = len(str(len(options)))
        for number, option in enumerate(options[:most], 1):
            label = self.exploration.label(option.step)
            notes = self.exploration.notes(option)
            note = f"  ({'; '.join(notes)})" if notes else ""
            style = "bad" if option.judgement.bad or option.failure is not None else ""
            page.words(f"  {number:>{column}}  ", label + note, column + 6, style)
        left = len(options) - most
        if left > 0:
            page.line((f'  and {left} more; "list" shows all', "dim"))

    def state(self, rest: str) -> None:
        page = new_page()
        self.write_whole(page)
        say(page.text())

    def path(self, rest: str) -> None:
        page = new_page()
        write_trace(page, document(self.model, self.walk.trace()))
        say(page.text())

    def listing(self, rest: str) -> None:
        page = new_page()
        self.write_options(page, len(self.exploration.options))
        say(page.text())

    def ask(self, rest: str) -> None:
        expression, state = self.exploration.expression(rest), self.walk.state
        if state is None:
            self.tell("there is no state here")
            return
        self.tell(expression.value(state) or NO_VALUE)

    # ------------------------------------------------------------ the rest

    def save(self, rest: str) -> None:
        if not rest:
            raise Rejected([Problem("F021", None, "a file is missing, as in: save walk.itf.json")])
        if not self.walk.path:
            self.tell("there is nothing to save yet: choose an initial state")
            return
        path = Path(rest)
        check_writable(path)
        trace = self.exploration.document()
        replace(path, dumps(trace))
        self.tell(f"{plural(len(trace.steps), 'state')} saved in {path}")

    def help(self, rest: str) -> None:
        page = new_page()
        column = max(map(len, WORDS))
        for word, meaning in WORDS.items():
            page.line(f"  {word:<{column}}  {meaning}")
        page.line(("  Any word may be shortened: b, g len(log) > 1, q.", "dim"))
        say(page.text())

    def tell(self, text: str) -> None:
        page = new_page()
        page.lines(text)
        say(page.text())


def serve(exploration: Exploration, port: int) -> int:
    """Serves the page of an exploration until the user ends it. Returns the exit code.

    Raises `Rejected` if the port is not available.
    """
    desk = Desk(exploration)
    try:
        server = Server(desk, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "there is no such port"
        message = f"cannot serve at {ADDRESS}:{port}: {reason}"
        raise Rejected([Problem("F871", None, message)]) from None
    with server:
        say(f"the explorer is at {server.gate.url}\n")
        flush()
        complain("Ctrl-C ends it; keep the address secret: it gives access to the page")
        with suppress(KeyboardInterrupt):
            server.serve_forever()
        desk.stop()
    if server.broken is not None:
        raise server.broken
    return Exit.OK
