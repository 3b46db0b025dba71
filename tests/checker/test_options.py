"""The command, Python and reports read every row of the table of options alike."""

from __future__ import annotations

import inspect
import shlex
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
import pytest

from fencepost.checker import api
from fencepost.checker.cli.check import check
from fencepost.checker.engines import ENGINES
from fencepost.checker.options import BY_FLAG, OPTIONS, Option
from fencepost.checker.run.settings import DEFAULT, Request, command_line, request_of
from fencepost.spec.text.problem import Rejected

VALUES = {
    "": [],
    "K=V": ["spark.ui.enabled=false"],
    "[=E,...]": ["bmc,local"],
    "N": ["7"],
    "D": ["7"],
    "K": ["7"],
    "T": ["1.5m"],
    "SIZE": ["2G"],
}
"""Values for options, by metavariable; other options take any word."""
RESUMED = {"--checkpoint": "--resume"}
"""Options that a report replaces, since the search is saved when the report is written."""
NOT_REPEATED = {"--dump-smt2"}
"""Options that a report does not repeat, since another run would replace the file."""
ONLY_COMMAND = {"jobs", "profile", "no_symmetry", "k", "smt2"}
"""Options that the Python interface has in another form, or not at all."""
COMMAND_ROWS = [row for row in OPTIONS if row.flag.startswith("--")]


def words(row: Option) -> list[str]:
    """Returns the words of an option with a value, and those of the options that it needs."""
    values = VALUES.get(row.metavar, ["word"])
    needed = words(BY_FLAG[row.needs]) if row.needs else []
    if row.metavar.startswith("["):
        return [f"{row.flag}={values[0]}"]
    return [*needed, row.flag, *values]


def parsed(line: list[str]) -> Request:
    """Returns the request that the command parses from a line of words."""
    context = check.make_context("check", ["a.fence", *line])
    values = dict(context.params)
    return request_of(values.pop("specs"), values)


@pytest.mark.parametrize("row", COMMAND_ROWS, ids=lambda row: row.flag)
def test_a_report_repeats_the_option(row: Option) -> None:
    asked = parsed(words(row))
    assert attrgetter(row.field)(asked) != attrgetter(row.field)(DEFAULT)
    line = shlex.split(command_line(asked))[3:]
    if row.flag in NOT_REPEATED:
        assert not line
    else:
        repeats = [RESUMED.get(word, word) for word in words(row)]
        assert parsed(line) == parsed(repeats)


def test_no_options_give_the_default() -> None:
    assert parsed([]) == Request((Path("a.fence"),))
    assert command_line(DEFAULT) == "fencepost check"


def test_engines_use_options_of_the_table() -> None:
    for name, entry in ENGINES.items():
        assert entry.options <= BY_FLAG.keys(), name


def test_excluded_and_needed_options_are_in_the_table() -> None:
    for row in OPTIONS:
        assert {*row.excludes, *filter(None, [row.needs])} <= BY_FLAG.keys(), row.flag
        assert bool(row.why) == bool(row.excludes or row.needs), row.flag


def test_python_takes_the_options_by_their_names() -> None:
    parameters = set(inspect.signature(api.check).parameters)
    assert {row.name for row in OPTIONS} - parameters == ONLY_COMMAND
    assert parameters - {row.name for row in OPTIONS} == {"spec", "symmetry"}


@pytest.mark.parametrize(
    ("values", "command", "python"),
    [
        (
            {"checkpoint": "a", "resume": "b"},
            "--resume: the search is saved there, too; leave out --checkpoint",
            "resume: the search is saved there, too; leave out checkpoint",
        ),
        (
            {"resume_unsigned": True},
            "--resume-unsigned: it applies to a resumed search, but --resume is not given",
            "resume_unsigned: it applies to a resumed search, but resume is not given",
        ),
    ],
)  # fmt: skip
def test_options_that_exclude_or_need_others(
    values: dict[str, Any], command: str, python: str
) -> None:
    line = [
        word
        for row in OPTIONS
        if row.name in values
        for word in _option_words(row, values[row.name])
    ]
    with pytest.raises(click.UsageError) as refused:
        check.main(["a.fence", *line], standalone_mode=False)
    assert refused.value.message == command
    with pytest.raises(Rejected) as rejected:
        api.check("a.fence", **values)
    assert rejected.value.problems[0].message == python


def _option_words(row: Option, value: object) -> list[str]:
    return [row.flag] if value is True else [row.flag, str(value)]
