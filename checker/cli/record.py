"""The command `fencepost record`, which makes recordings of real systems from their logs."""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import click

from fencepost.checker.cli.atomic_files import cannot_write
from fencepost.checker.cli.options import FILE, SuggestingGroup, at_least
from fencepost.checker.cli.terminal import complain, say
from fencepost.checker.run.judge import Exit
from fencepost.checker.run.words import plural
from fencepost.checker.systems.kafka import recorder, segments
from fencepost.checker.systems.kafka.batches import Undecodable
from fencepost.checker.systems.kafka.cluster import Cluster, ClusterLog, Unreachable
from fencepost.checker.systems.kafka.events import TRANSACTION_LOG
from fencepost.checker.systems.kafka.levels import level_lines, told_levels
from fencepost.checker.systems.kafka.recorder import RecordingResult
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, Rejected, listing, printable, suggestion

DEFAULT_ROUNDS = 20
MAX_NAMED = 5
HASH_DIGITS = 16
"""Number of digits of a hash that replaces a transactional id."""


@click.group(cls=SuggestingGroup, invoke_without_command=True, short_help="Record a real system.")
@click.pass_context
def record(context: click.Context) -> None:
    """Create a recording from the logs of a real system, as input for `fencepost conform`."""
    if context.invoked_subcommand is None:
        say(context.get_help() + "\n")


@record.command(
    short_help="Record the transactions of a Kafka cluster.",
    epilog="""\b
Example:  fencepost record kafka --bootstrap localhost:9092 --topics payments --out recording
          fencepost conform kafka/conform_kafka --check r4_4_0 recording
Exit code: 0 recorded, 151 not recorded. docs/kafka/recordings.md describes the contents.""",
)
@click.option("--bootstrap", metavar="HOST:PORT,...", help="Brokers of a running cluster.")
@click.option(
    "--segments",
    "segment_folder",
    metavar="DIR",
    type=FILE,
    help="The log.dirs folder of a stopped broker.",
)
@click.option(
    "--topics", metavar="T,...", default="", help="Topics that the transactions write to."
)
@click.option(
    "--out", metavar="DIR", type=FILE, required=True, help="New folder for the recording."
)
@click.option("--config", metavar="FILE", type=FILE, help="File with client settings, NAME=VALUE.")
@click.option(
    "--rounds",
    metavar="N",
    type=at_least(1, 1000),
    default=str(DEFAULT_ROUNDS),
    help="Maximum attempts to find an id inactive (20).",
)
@click.option(
    "--levels",
    metavar="N,...",
    default="",
    help="Levels of transaction.version: the first one, and its changes.",
)
@click.option("--hash-ids", is_flag=True, help="Replace transactional ids by hashes.")
def kafka(
    bootstrap: str | None,
    segment_folder: Path | None,
    topics: str,
    out: Path,
    config: Path | None,
    rounds: int,
    levels: str,
    hash_ids: bool,
) -> int:
    """Read the transaction log and the partitions of topics, from a running cluster as a client or
    from the files of a stopped broker, and write a recording for `fencepost conform`. Nothing is
    written to the cluster, and the recording contains no payloads."""
    if (bootstrap is None) == (segment_folder is None):
        message = "one of --bootstrap and --segments says where the logs are"
        raise Rejected([Problem("F021", None, message)])
    named = frozenset(topic.strip() for topic in topics.split(",") if topic.strip())
    texts = [part.strip() for part in levels.split(",") if part.strip()]
    if wrong := [part for part in texts if part not in ("0", "1", "2")]:
        message = (
            f"--levels: {wrong[0]} is not a level of transaction.version; these are 0, 1 and 2"
        )
        raise Rejected([Problem("F021", None, message)])
    numbers = [int(part) for part in texts]
    name_of = _hashed(secrets.token_bytes(16)) if hash_ids else str
    with _appearing(out) as folder:
        try:
            if segment_folder is not None:
                recorded = _from_segments(segment_folder, named, folder, numbers, name_of)
            else:
                assert bootstrap is not None
                settings = _settings(config)
                recorded = _from_cluster(
                    bootstrap, named, settings, rounds, folder, numbers, name_of
                )
        except Undecodable as why:
            raise Rejected([Problem("F850", None, str(why))]) from None
        except OSError as error:
            message = f"{error.filename or out}: {error.strerror or error}"
            raise Rejected([Problem("F850", None, message)]) from None
    _tell(recorded, out)
    return Exit.OK


def _from_segments(
    segment_folder: Path,
    topics: frozenset[str],
    folder: Path,
    levels: list[int],
    name_of: Callable[[str], str],
) -> RecordingResult:
    logs = segments.logs(segment_folder, topics)
    topics_found = {log.source.rpartition("-")[0] for log in logs}
    if TRANSACTION_LOG not in topics_found:
        message = f"{segment_folder} has no log of transactions: no folder {TRANSACTION_LOG}-N"
        raise Rejected([Problem("F850", None, message)])
    missing = sorted(topics - topics_found)
    if missing and topics == frozenset(missing):
        hint = suggestion(missing[0], topics_found)
        raise Rejected([Problem("F850", None, f"{segment_folder} has no topic {missing[0]}{hint}")])
    _tell_absent(missing, topics_found)
    lines = told_levels(levels)
    if not levels:
        try:
            lines = level_lines(segment_folder)
        except Undecodable as why:
            complain(printable(f"the levels of transaction.version are unknown: {why}") + "\n")
    recorded = recorder.record(logs, (), folder, lines, name_of)
    for log in logs:
        for path in log.torn:
            complain(f"{path} ends inside a batch, which is omitted\n")
    return recorded


def _tell_absent(missing: Iterable[str], present: Collection[str]) -> None:
    """Says which topics do not exist, and are therefore not recorded."""
    for topic in missing:
        hint = suggestion(topic, present)
        complain(printable(f"there is no topic {topic}, so nothing of it is recorded{hint}") + "\n")


def _from_cluster(
    bootstrap: str,
    topics: frozenset[str],
    settings: dict[str, str],
    rounds: int,
    folder: Path,
    levels: list[int],
    name_of: Callable[[str], str],
) -> RecordingResult:
    if not topics:
        raise Rejected([Problem("F021", None, "--topics says which partitions are read")])
    needs_client()
    try:
        with closing(Cluster(bootstrap.split(","), settings)) as cluster:
            sources = cluster.partitions(sorted(topics))
            present = {source.rpartition("-")[0] for source in sources}
            _tell_absent(sorted(topics - present), present)
            seen = cluster.rounds(sources, rounds)
            ends = {**seen[-1].data, **seen[-1].after}
            logs = [ClusterLog(cluster, source, ends[source]) for source in sources]
            return recorder.record(logs, seen, folder, told_levels(levels), name_of)
    except Unreachable as why:
        raise Rejected([Problem("F851", None, str(why))]) from None


def _hashed(key: bytes) -> Callable[[str], str]:
    """Returns a function that replaces ids by hashes with a key."""
    return lambda name: hmac.new(key, name.encode(), "sha256").hexdigest()[:HASH_DIGITS]


def needs_client() -> None:
    """Raises `Rejected` if the client library is missing."""
    if find_spec("kafka") is None:
        message = "a running cluster is read by kafka-python; pip install 'fencepost[kafka]'"
        raise Rejected([Problem("F021", None, message)])


def _settings(path: Path | None) -> dict[str, str]:
    """Reads client settings from a file. The names of settings may contain dots."""
    if path is None:
        return {}
    try:
        lines = inputs.content(path, inputs.Kind.SETTINGS).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Rejected([Problem("F851", None, f"cannot read {path}: {reason}")]) from None
    settings: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        name, equals, value = line.partition("=")
        name = name.strip().replace(".", "_")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name.startswith(("security_", "sasl_", "ssl_")):
            message = f"{path}:{number}: this is not a setting security_..., sasl_... or ssl_..."
            raise Rejected([Problem("F851", None, message)])
        settings[name] = value.strip()
    return settings


@contextmanager
def _appearing(out: Path) -> Generator[Path]:
    """Provides a temporary folder. Renames it to ``out`` if the block succeeds, and removes it
    otherwise.
    """
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise cannot_write(out, "it is not empty")
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{out.absolute().name[:40]}."
        partial = Path(tempfile.mkdtemp(prefix=prefix, dir=out.absolute().parent))
    except OSError as error:
        raise cannot_write(out, error.strerror or str(error)) from None
    try:
        yield partial
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o777 & ~mask)
        os.replace(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _tell(result: RecordingResult, out: Path) -> None:
    events = plural(result.events, "event")
    histories = f"{result.histories:,} histor{'y' if result.histories == 1 else 'ies'}"
    say(printable(f"recorded {histories}, {events} in {out}") + "\n")
    if result.late:
        say(
            f"{result.late:,} of them have lost their beginning, and begin with an InitProducerId\n"
        )
    if result.compacted:
        where = f"they are in {out / recorder.COMPACTED}"
        loss = "have lost their beginning, and no InitProducerId is there"
        say(printable(f"{result.compacted:,} of them {loss}: {where}") + "\n")
    for ids, why in (
        (result.busy, "were in flight at every attempt (--rounds)"),
        (result.lost, "have a partition that has lost its beginning"),
        (result.absent, "have a partition that was not read (--topics)"),
    ):
        if ids:
            shown = [*ids[:MAX_NAMED], *(["others"] if len(ids) > MAX_NAMED else [])]
            loss = f"{plural(len(ids), 'id')} left out, which {why}: {listing(shown, 'and')}"
            complain(printable(loss) + "\n")
