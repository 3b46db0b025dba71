"""Functions that check and run small specs written inside a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

from fencepost.checker.engines import COUNTING, load
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Limits, Request
from fencepost.spec.core import ir
from fencepost.spec.core.spelling import show
from fencepost.spec.core.verify_model import problems as faults
from fencepost.spec.elaborate.claims import program
from fencepost.spec.text.problem import Problem, Rejected

Files = Mapping[str, str]
"""The modules of a spec, by path."""


@dataclass(frozen=True)
class Ran:
    """A model and the outcome of its search."""

    model: ir.Model
    check: program.Check
    outcome: Outcome

    @property
    def verdict(self) -> str:
        """Returns the verdict as a short text: ``ok``, ``violated I``, ``error F903`` and so on."""
        word = self.outcome.verdict.value
        if not self.outcome.findings:
            return word
        finding = self.outcome.findings[0]
        if finding.property is not None:
            return f"{word} {self.model.properties[finding.property].name}"
        return f"{word} {finding.site.code}" if finding.site else word

    @property
    def states(self) -> int:
        return self.outcome.statistics.distinct

    @property
    def generated(self) -> int:
        return self.outcome.statistics.generated

    @property
    def depth(self) -> int:
        return self.outcome.statistics.depth

    @property
    def marks(self) -> list[str]:
        """Returns the coverage marks of the model, by their names in the report."""
        return [mark.text for mark in self.model.marks]

    @property
    def unmet(self) -> list[str]:
        """Returns the coverage marks that were not set."""
        every = enumerate(self.model.marks)
        return [mark.text for index, mark in every if index not in self.outcome.coverage.marks]

    @property
    def never(self) -> list[str]:
        """Returns the actions that were never taken."""
        taken = self.outcome.coverage.taken
        every = zip(self.model.actions, taken, strict=True)
        return [action.name for action, count in every if not count]

    @property
    def last(self) -> dict[str, str]:
        """Returns the variables of the last state of the trace, as displayed."""
        trace = self.outcome.findings[0].trace
        assert trace is not None
        state = next(step.state for step in reversed(trace.steps) if step.state is not None)
        named = zip(self.model.variables, state, strict=True)
        return {variable.name: show(value, variable.type) for variable, value in named}

    @property
    def steps(self) -> list[str]:
        """Returns the actions of the trace with their choices."""
        trace = self.outcome.findings[0].trace
        assert trace is not None
        shown: list[str] = []
        for step in trace.steps:
            if step.action is not None:
                choices = ", ".join(show(c.value, c.type) for c in step.choices)
                shown.append(f"{self.model.actions[step.action].name}({choices})")
        return shown


def _written(folder: str, text: str, files: Files) -> Path:
    for name, content in {**files, "spec.fence": text}.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(content).lstrip("\n"), encoding="utf-8")
    return Path(folder, "spec.fence")


def ran(
    text: str,
    files: Files | None = None,
    *,
    check: str | None = None,
    const: Mapping[str, str] | None = None,
) -> Ran:
    """Runs a spec under the named check, or under its first check if none is named."""
    with TemporaryDirectory() as folder:
        loaded = program.load(_written(folder, text, files or {}))
        chosen = next(c for c in loaded.checks if check is None or c.name == check)
        model = program.build(loaded, chosen, const)
    assert faults(model) == []
    outcome = load("interpreter").run(
        Request(
            model,
            properties=program.select(model, chosen),
            deadlock=chosen.verdict != "violated",
            limits=Limits(max_states=20_000),
        )
    )
    return Ran(model, chosen, outcome)


def verdict(text: str, files: Files | None = None) -> str:
    """Runs a spec and returns its verdict (see `Ran.verdict`)."""
    return ran(text, files).verdict


def problems(text: str, files: Files | None = None) -> tuple[Problem, ...]:
    """Returns every problem and warning of a spec in any of its checks, as the command collects
    them.
    """
    with TemporaryDirectory() as folder:
        path = _written(folder, text, files or {})
        reported: list[Problem] = []
        try:
            loaded = program.load(path, engines=COUNTING)
            reported += loaded.warnings
            for check in loaded.runs:
                try:
                    model = program.build(loaded, check)
                    reported += model.warnings
                    program.select(model, check)
                except Rejected as rejected:
                    reported += rejected.problems
        except Rejected as rejected:
            reported += rejected.problems
        return Rejected(reported).problems


def codes(text: str, files: Files | None = None) -> list[str]:
    """Returns the codes of `problems`."""
    return [problem.code for problem in problems(text, files)]


def refused(text: str, code: str, *phrases: str, files: Files | None = None) -> None:
    """Requires that a spec has exactly one problem and that its text contains these phrases."""
    reported = problems(text, files)
    assert [problem.code for problem in reported] == [code], "\n".join(map(str, reported))
    for phrase in phrases:
        assert phrase in str(reported[0]), str(reported[0])


def worth(expression: str, declarations: str = "") -> str:
    """Evaluates a condition in the initial state: ``true``, ``false``, or the code of the error."""
    text = f"{dedent(declarations)}\ninvariant Asked:\n    {expression}\n"
    errors = [problem.code for problem in problems(text) if not problem.warning]
    if errors:
        return " ".join(errors)
    result = verdict(f"{text}terminal: true\n")
    answers = {"ok": "true", "violated Asked": "false"}
    return answers.get(result, result.removeprefix("error "))
