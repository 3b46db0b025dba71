"""`fencepost explore`: a walk through a model in the terminal, line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace as replaced
from importlib import import_module
from pathlib import Path

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.models import broken, check_named, concrete, loaded
from fencepost.checker.cli.options import CONSTANTS, PATHS, SPEC, at_least, one_check
from fencepost.checker.cli.terminal import Unwritable, is_terminal, new_page, say
from fencepost.checker.outcome import Step, Trace, Verdict
from fencepost.checker.printing.page import Page
from fencepost.checker.report.text import write_site
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.words import plural
from fencepost.checker.tools.interactive_walk import Option, Walk
from fencepost.checker.tools.property_values import sentences
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.itf import dumps
from fencepost.checker.trace.of_search import document
from fencepost.checker.trace.steps import (
    families,
    title,
    write_changes,
    write_state,
    write_trace,
)
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State, show
from fencepost.spec.elaborate.program import Check, Program, build
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Problem, Rejected, suggestion

LISTED = 30
"""Steps that are listed of more."""
MOST = 200_000
WORDS = {
    "NUMBER": "take that step",
    "back [N]": "take back the last step, or N",
    "start": "take back all",
    "goto CONDITION": "go on to the nearest state where it holds",
    "is EXPRESSION": "its value here; of a condition, whether it holds",
    "state": "every variable",
    "path": "the way so far",
    "list": "everything that can happen",
    "save FILE": "the way so far as a trace file",
    "help": "these words",
    "quit": "the end",
}


@click.command(
    short_help="Step through a model by hand.",
    epilog="""\b
Example:  fencepost explore race.fence --check race
Then:     a number takes a step; "goto len(Leader.log) > 1" goes on to such a state; "help"
          lists the words.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@one_check()
@CONSTANTS
@PATHS
@click.option("--max-states", metavar="N", type=at_least(1), help="Let goto visit N states.")
def explore(
    spec: Path,
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    max_states: int | None,
) -> int:
    """Step through SPEC in the terminal: what can happen in a state, with parameters and messages,
    one step taken after the other, and back; or go on to a state that meets a condition."""
    program = loaded(spec, search)
    check = check_named(program, name)
    given = dict(constants)
    model = concrete(program, check, given)
    if (code := broken(model)) is not None:
        return code
    session = _Session(program, check, given, model, max_states or MOST)
    session.begin()
    while True:
        line = _line()
        if line is None or not session.obey(line):
            return Exit.OK


def _line() -> str | None:
    """The next line of input; None at its end."""
    if sys.stdin is None:
        return None
    try:
        if not is_terminal(sys.stdin):
            return sys.stdin.readline() or None
        with suppress(ImportError):
            import_module("readline")  # From then on `input` edits lines and remembers them.
        return input("> ")
    except (EOFError, OSError, ValueError):
        # The end, a file that cannot be read, or bytes that are no text.
        return None


class _Session:
    """What has been said and done so far."""

    def __init__(
        self,
        program: Program,
        check: Check | None,
        constants: Mapping[str, str],
        model: Model,
        most: int,
    ) -> None:
        self.program = program
        self.check = check
        self.constants = constants
        self.model = model
        self.most = most
        self.walk = Walk(model)
        self.options: list[Option] = []
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

    def begin(self) -> None:
        """Shows the first choice; a single initial state is none."""
        self.options = self.walk.options()
        if len(self.options) == 1 and self.options[0].failure is None:
            self.walk.take(self.options[0].step)
        self.look(whole=True)

    def obey(self, line: str) -> bool:
        """Does what a line says; false to end."""
        word, _, rest = line.strip().partition(" ")
        if not word:
            return True
        if word.isascii() and word.isdigit():
            self.take(word)
            return True
        known = [*self.verbs, "quit"]
        found = [verb for verb in known if verb == word] or [
            verb for verb in known if verb.startswith(word)
        ]
        if found[:1] == ["quit"] or word == "exit":
            return False
        if not found:
            hint = suggestion(word, known)
            self.tell(f'there is no "{word}" here{hint}; "help" lists what there is')
            return True
        try:
            self.verbs[found[0]](rest.strip())
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
        if not 1 <= number <= len(self.options):
            count = len(self.options)
            self.tell(f"there are steps 1 to {count}" if count else "no step can be taken")
            return
        self.walk.take(self.options[number - 1].step)
        self.look()

    def back(self, rest: str) -> None:
        if rest and not (rest.isascii() and rest.isdigit() and len(rest) < 9):
            self.tell('"back" takes a number of steps, or nothing')
            return
        taken = self.walk.back(int(rest or "1"))
        if not taken:
            self.tell("this is the start")
        if not self.walk.path:
            self.begin()
            return
        self.look(whole=True)

    def start(self, rest: str) -> None:
        self.walk.back(len(self.walk.path))
        self.begin()

    def goto(self, rest: str) -> None:
        holds = self.condition(rest)
        found = self.walk.seek(holds, self.most)
        if found.steps is None:
            states = plural(found.seen, "state")
            cut = f"not within {states}; --max-states allows more"
            none = f"in none of the {states} that can be reached from here"
            self.tell(cut if found.cut else none)
        elif not found.steps:
            self.tell("it holds here")
        else:
            before = len(self.walk.path)
            for step in found.steps:
                self.walk.take(step)
            page = new_page()
            page.line(
                (f"{plural(len(found.steps), 'step')}, {plural(found.seen, 'state')} seen", "dim")
            )
            self.write_path(page, before)
            say(page.text())
            self.look(brief=True)

    # ------------------------------------------------------------ looking

    def look(self, *, whole: bool = False, brief: bool = False) -> None:
        """Shows where the walk stands, what the last step changed, and what can happen."""
        self.options = self.walk.options()
        page = new_page()
        if not brief:
            if whole:
                self.write_whole(page)
            else:
                self.write_path(page, len(self.walk.path) - 1)
        judgement = self.walk.judgement()
        for number in judgement.violated:
            prop = self.model.properties[number]
            page.line("  ", (f"{prop.title} {prop.kind.broken}", "bad"))
        for number, error in judgement.failed:
            what = f"{self.model.properties[number].title} has no value"
            page.line("  ", (what, "bad"))
            write_site(page, self.model.sites[error], 2)
        if self.walk.ended:
            finding = self.walk.finding()
            if finding is not None and finding.site is not None:
                assertion = finding.verdict is Verdict.ASSERTION
                write_site(page, finding.site, 2, assertion=assertion)
        elif judgement.outside:
            page.line("  ", ("outside a constraint: no check goes on from here", "warn"))
        self.write_options(page, LISTED)
        say(page.text())

    def write_whole(self, page: Page) -> None:
        if self.walk.state is None:
            return
        number = len(self.walk.path)
        page.line(f"  {number}  ", (title(self.model, self.walk.path[-1]), "title"))
        state = document(self.model, self.walk.trace()).steps[-1].state
        if state is not None:
            write_state(page, state, families(self.model), 5)

    def write_path(self, page: Page, begin: int) -> None:
        """The steps from position ``begin`` on, with what they changed."""
        trace = document(self.model, self.walk.trace())
        for number in range(max(begin, 0), len(trace.steps)):
            step = trace.steps[number]
            page.words(f"  {number + 1}  ", step.title, 9, "title")
            before = trace.steps[number - 1].state if number else None
            if step.state is None:
                page.line("     ", ("this step fails", "bad"))
            elif before is None:
                write_state(page, step.state, trace.families, 5)
            else:
                write_changes(page, before, step, trace.families, 5)

    def write_options(self, page: Page, most: int) -> None:
        page.line()
        if not self.options:
            what = "nothing can follow" if self.walk.ended else "no action can be taken here"
            page.line(("  " + what, "warn"))
            return
        if not self.walk.path:
            page.line("  ", ("initial states", "title"))
        column = len(str(len(self.options)))
        for number, option in enumerate(self.options[:most], 1):
            label = self.label(option.step)
            judged = option.judgement
            notes = sentences(self.model, judged)
            if option.failure is not None:
                notes.append(f"fails: {self.model.sites[option.failure].message}")
            if option.same:
                notes.append("changes nothing")
            note = f"  ({'; '.join(notes)})" if notes else ""
            style = "bad" if judged.bad or option.failure is not None else ""
            page.words(f"  {number:>{column}}  ", label + note, column + 6, style)
        left = len(self.options) - most
        if left > 0:
            page.line((f'  and {left} more; "list" shows all', "dim"))

    def label(self, step: Step) -> str:
        if step.action is not None or step.state is None:
            return title(self.model, step)
        state = document(self.model, Trace((step,))).steps[0].state or {}
        page = Page(10_000)
        write_state(page, state, families(self.model), 0)
        return ", ".join(" ".join(line.split()) for line in page.text().splitlines())

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
        self.write_options(page, len(self.options))
        say(page.text())

    def ask(self, rest: str) -> None:
        model = self.asked(rest, of_any_type=True)
        if self.walk.state is None:
            self.tell("there is no state here")
            return
        body = model.properties[-1].body
        try:
            value = Runner(model).value(body, {}, self.walk.state, None)
        except EvaluationError:
            self.tell("it has no value here")
            return
        self.tell(show(value, body.type))

    def asked(self, text: str, *, of_any_type: bool = False) -> Model:
        """The model with what the user asks for as its last property; raises `Rejected`."""
        if not text:
            raise Rejected([Problem("F021", None, "a condition is missing, as in: is x > 3")])
        return build(self.program, self.check, self.constants, text, of_any_type=of_any_type)

    def condition(self, text: str) -> Callable[[State], bool]:
        """A condition of the user; raises `Rejected`, also where it has no value in a state."""
        model = self.asked(text)
        runner, number = Runner(model), len(model.properties) - 1

        def holds(state: State) -> bool:
            try:
                return runner.holds(number, state)
            except EvaluationError as error:
                site = model.sites[error.site]
                raise Rejected([Problem(site.code, site.span, site.message)]) from None

        return holds

    # ------------------------------------------------------------ the rest

    def save(self, rest: str) -> None:
        if not rest:
            raise Rejected([Problem("F021", None, "a file is missing, as in: save walk.itf.json")])
        if not self.walk.path:
            self.tell("there is nothing to save yet: choose an initial state")
            return
        path = Path(rest)
        check_writable(path)
        trace, finding = self.walk.trace(), self.walk.finding()
        made = replaced(
            document(self.model, trace, finding, causes(self.model, trace, finding)),
            description=f"a walk of {plural(len(trace.steps) - 1, 'step')}",
            source=str(self.program.path),
            generator=f"fencepost {__version__}",
            check=self.check.name if self.check is not None else "",
        )
        replace(path, dumps(made))
        self.tell(f"{plural(len(trace.steps), 'state')} saved in {path}")

    def help(self, rest: str) -> None:
        page = new_page()
        column = max(map(len, WORDS))
        for word, what in WORDS.items():
            page.line(f"  {word:<{column}}  {what}")
        page.line(("  Any word may be shortened: b, g len(log) > 1, q.", "dim"))
        say(page.text())

    def tell(self, text: str) -> None:
        page = new_page()
        page.lines(text)
        say(page.text())
