"""The command `fencepost drive`, which tests a real system with requests that a model chooses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click

from fencepost import __version__
from fencepost.checker.cli.atomic_files import check_writable, replace
from fencepost.checker.cli.conform import ENDINGS, save_first, verdict_exit
from fencepost.checker.cli.mapped import mapped_model
from fencepost.checker.cli.models import check_meant, loaded
from fencepost.checker.cli.options import (
    CONSTANTS,
    FILE,
    PATHS,
    SPEC,
    at_least,
    shared_option,
    value,
)
from fencepost.checker.cli.terminal import new_page, say, width
from fencepost.checker.cli.trace import content
from fencepost.checker.options import constant
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page
from fencepost.checker.report.assurance import Remark
from fencepost.checker.report.conformance import (
    Conformance,
    Detail,
    conformance_object,
    write_conformance,
)
from fencepost.checker.report.text import write_remarks
from fencepost.checker.run.judge import Exit
from fencepost.checker.systems.conform.findings import summed
from fencepost.checker.systems.conform.lines import read
from fencepost.checker.systems.conform.of_recording import history_document
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort
from fencepost.checker.systems.drive.driver import Driver, Episode
from fencepost.checker.systems.drive.of_trace import requests_in
from fencepost.checker.systems.drive.requests import Kind, Request, kinds
from fencepost.checker.systems.drive.system import GuardedSystem, system
from fencepost.checker.trace import itf
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.steps import write_trace
from fencepost.spec.core.recording import Recording
from fencepost.spec.text.problem import Problem, Rejected

DEFAULT_REQUESTS = 1_000
DEFAULT_LENGTH = 50
MAX_FAILED_TRIES = 100
MAX_SEED = (1 << 63) - 1


@click.command(
    short_help="Test a real system with requests from its spec.",
    epilog="""\b
Example:  fencepost drive desk.fence --system server.py:Desk --requests 200
Exit code: 0 all answers allowed, 15 an answer not allowed, 3 inconclusive, 150 error in a spec,
151 the system cannot be driven. docs/conformance.md describes the interface of a system.""",
)
@click.argument("spec", metavar="SPEC", type=SPEC)
@click.option(
    "--system",
    "where",
    metavar="WHERE",
    required=True,
    help="System: FILE.py:NAME, MODULE:NAME or kafka.",
)
@click.option(
    "--option",
    "options",
    metavar="N=V",
    type=value(constant),
    multiple=True,
    help="Set an option of the system.",
)
@click.option("--check", "name", metavar="NAME", help="Use the constants of this check.")
@CONSTANTS
@PATHS
@click.option(
    "--requests",
    metavar="N",
    type=at_least(1),
    default=str(DEFAULT_REQUESTS),
    help="Number of requests (1_000).",
)
@click.option(
    "--length",
    metavar="N",
    type=at_least(1, 10_000),
    default=str(DEFAULT_LENGTH),
    help="Maximum requests per history (50).",
)
@click.option(
    "--seed", metavar="S", type=at_least(0, MAX_SEED), default="1", help="Random seed (1)."
)
@shared_option("--timeout", help="Stop after 90s, 5m, 1h.")
@click.option(
    "--follow",
    "traces",
    metavar="FILE",
    type=FILE,
    multiple=True,
    help="Send the requests of a trace or recording instead of random ones.",
)
@click.option("--record", "recording", metavar="FILE", type=FILE, help="Save all histories.")
@click.option("--trace", metavar="FILE", type=FILE, help="Save the first disagreement (ITF JSON).")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the report.",
)
@click.option("--output", metavar="FILE", type=FILE, help="Write the report to a file.")
def drive(
    spec: Path,
    where: str,
    options: tuple[tuple[str, str], ...],
    name: str | None,
    constants: tuple[tuple[str, str], ...],
    search: tuple[Path, ...],
    requests: int,
    length: int,
    seed: int,
    timeout: float | None,
    traces: tuple[Path, ...],
    recording: Path | None,
    trace: Path | None,
    form: str,
    output: Path | None,
) -> int:
    """Send a real system requests chosen by the model of SPEC, and check that the model allows each
    answer. If it does not allow an answer, search for a short history that shows this."""
    for path in (output, trace, recording):
        if path is not None:
            check_writable(path)
    program = loaded(spec, search)
    check = check_meant(program, name)
    compared = mapped_model(program, check, dict(constants))
    if isinstance(compared, Exit):
        return compared
    wanted = kinds(compared.recording, str(program.path))
    key = compared.recording.key
    if recording is not None and key is None:
        message = f"--record: {program.path} has no `key`, which would separate histories"
        raise Rejected([Problem("F852", compared.recording.span, message)])
    followed = [_followed(path, compared.recording, wanted) for path in traces]
    end = None if timeout is None else time.monotonic() + timeout

    def going_on() -> bool:
        return end is None or time.monotonic() < end

    with closing(GuardedSystem(system(where, dict(options)))) as real:
        driver = Driver(compared, real, wanted, seed)
        if followed:
            episodes = _following(driver, dict(zip(traces, followed, strict=True)), going_on)
        else:
            episodes = _walks(driver, requests, length, going_on)
        if not episodes[-1].agreed:
            episodes[-1] = driver.shortened(episodes[-1], going_on)
    histories = (episode.history(number) for number, episode in enumerate(episodes))
    findings = summed((judge(compared, item, Effort()) for item in histories), 0, ())
    documents = {
        item.key: history_document(compared, item, str(program.path), __version__, check.name)
        for item in findings.whole
    }
    title = check.name or program.path.name
    conformance = Conformance(
        title, str(program.path), check.name, __version__, findings, documents
    )
    if recording is not None:
        replace(recording, _lines(episodes, key))
    exit_ = verdict_exit(conformance)
    answers = sorted(driver.answers.items())
    if form == "json":
        counts: list[Json] = [[*kind, count] for kind, count in answers]
        text = json.dumps({**conformance_object(compared, conformance, exit_), "answers": counts})
    else:
        page = new_page() if output is None else Page(width())
        write_conformance(page, compared, conformance, Detail(write_trace))
        rows = [f"{' '.join(kind).rstrip()} {count:,}" for kind, count in answers]
        write_remarks(page, [Remark("answers", ", ".join(rows), listed=True)])
        text = page.text()
    if output is None:
        say(text)
    else:
        replace(output, text)
    if trace is not None:
        save_first(trace, documents)
    return exit_


def _followed(
    path: Path, recording: Recording, request_kinds: Sequence[Kind]
) -> TraceDocument | list[list[Request]]:
    """Reads a saved trace, or the requests in the histories of a recording. Raises `Rejected` if
    the file is invalid.
    """
    if not path.name.endswith(ENDINGS):
        return itf.read(content(path), str(path))
    histories = read(recording, [path])
    if histories.problems:
        raise Rejected(histories.problems)
    return [requests_in(history, request_kinds) for history in histories.histories]


def _following(
    driver: Driver,
    followed: Mapping[Path, TraceDocument | list[list[Request]]],
    going_on: Callable[[], bool],
) -> list[Episode]:
    """Replays files until the system disagrees with the model. Raises `Rejected` if a file contains
    no request of the spec.
    """
    episodes: list[Episode] = []
    for path, source in followed.items():
        if isinstance(source, TraceDocument):
            replayed = [driver.follow(source)]
        else:
            replayed = _sent(driver, source, going_on)
        if not any(episode.requests for episode in replayed):
            message = f"{path} has no request of the spec"
            raise Rejected([Problem("F852", None, message)])
        episodes += replayed
        if not episodes[-1].agreed:
            break
    return episodes


def _sent(
    driver: Driver, histories: Sequence[Sequence[Request]], going_on: Callable[[], bool]
) -> list[Episode]:
    """Replays recorded requests until the system disagrees with the model."""
    episodes: list[Episode] = []
    for requests in histories:
        if episodes and (not episodes[-1].agreed or not going_on()):
            break
        episodes.append(driver.replay(requests))
    return episodes


def _walks(
    driver: Driver, requests: int, length: int, going_on: Callable[[], bool]
) -> list[Episode]:
    """Takes random walks until the system disagrees with the model or enough requests were sent."""
    episodes: list[Episode] = []
    vain = 0
    while driver.sent < requests and (going_on() or not episodes):
        episode = driver.walk(min(length, requests - driver.sent), going_on)
        if episode.requests:
            episodes.append(episode)
            if not episode.agreed:
                break
        elif (vain := vain + 1) == MAX_FAILED_TRIES:
            message = f"{vain} walks found no request to begin with"
            raise Rejected([Problem("F852", None, message)])
    return episodes


def _lines(episodes: Sequence[Episode], key: str | None) -> str:
    rows = (
        json.dumps({key: number, **line})
        for number, episode in enumerate(episodes)
        for line in episode.lines
    )
    return "".join(f"{row}\n" for row in rows)
