"""Read-only access to a running cluster: Fetch with read_uncommitted, including control records.

The client library's connections are only used in this module, which converts their results to typed
values.
"""

from __future__ import annotations

import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fencepost.checker.systems.kafka.batches import Batch, Undecodable
from fencepost.checker.systems.kafka.events import TRANSACTION_LOG, Entry, entries, of_transactions
from fencepost.checker.systems.kafka.recorder import Round

LATEST, EARLIEST = -1, -2
_AT_ONCE = 16 << 20
MAX_ANSWER = 100 << 20
"""Maximum size of a response, in bytes. The client library allocates the size that a broker
announces. Fetch returns the first batch even if it is larger than requested, so this also limits
the size of batches.
"""
_PATIENCE = 30_000
GREETING = 10.0
"""Seconds to wait for the first response of the first broker. A stopped process accepts
connections, but does not answer.
"""
_DEFAULT_PORT = 9092
MAX_PORT = 65_535


class Unreachable(Exception):
    """Signals that the cluster does not answer properly. The text says what was requested."""


def address(where: str) -> tuple[str, int]:
    """Parses HOST:PORT; IPv6 addresses are in brackets. Raises `Unreachable`."""
    host, colon, port = where.strip().rpartition(":")
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    named = colon and inner and (":" not in inner or inner != host)
    if not named or not port.isdecimal() or int(port[:6]) > MAX_PORT:
        raise Unreachable(f"{where} is not HOST:PORT, nor [ADDRESS]:PORT")
    return inner, int(port)


def _someone_listens(bootstrap: Sequence[str]) -> None:
    """Raises `Unreachable` with the reasons if no address accepts a connection. The client library
    does not report reasons.
    """
    reasons: list[str] = []
    for where in bootstrap:
        try:
            endpoint = address(where) if ":" in where else (where.strip(), _DEFAULT_PORT)
            socket.create_connection(endpoint, GREETING).close()
        except Unreachable as why:
            reasons.append(str(why))
        except TimeoutError:
            reasons.append(silent(where, GREETING))
        except OSError as error:
            reasons.append(f"{where}: {error.strerror or error}")
        else:
            return
    raise Unreachable("; ".join(reasons))


def silent(where: str, seconds: float) -> str:
    """Returns the message for a broker that does not answer."""
    return f"{where} has not answered within {seconds:.0f} s: is the broker stopped?"


class Cluster:
    """A connection to a cluster that is only used for reading."""

    def __init__(self, bootstrap: Sequence[str], settings: Mapping[str, str]) -> None:
        self._fetch: Any = import_module("kafka.protocol.consumer.fetch")
        self._offsets: Any = import_module("kafka.protocol.consumer")
        self._errors: Any = import_module("kafka.errors")
        client: Any = import_module("kafka.net.compat").KafkaNetClient
        _someone_listens(bootstrap)
        with self._asking(f"asking {', '.join(bootstrap)} for the cluster"):
            self._client = client(
                bootstrap_servers=list(bootstrap),
                client_id="fencepost",
                receive_message_max_bytes=MAX_ANSWER,
                **settings,
            )
            try:
                self._client.check_version(timeout_ms=int(1000 * GREETING))
            except BaseException as error:
                self._client.close()
                if isinstance(error, self._errors.KafkaTimeoutError):
                    raise Unreachable(silent(", ".join(bootstrap), GREETING)) from None
                raise

    def close(self) -> None:
        self._client.close()

    def partitions(self, topics: Sequence[str]) -> list[str]:
        """Returns the partitions of the given topics and of the transaction log, as names of
        sources. Topics that do not exist have none. Raises `Unreachable` if the transaction log, or
        each of the given topics, does not exist.
        """
        sources: list[str] = []
        absent: list[str] = []
        for topic in sorted({TRANSACTION_LOG, *topics}):
            numbers = self._numbers(topic)
            if not numbers:
                absent.append(topic)
            if (topic == TRANSACTION_LOG and absent) or len(absent) == len(topics) > 0:
                raise Unreachable(f"the cluster has no topic {absent[0]}")
            sources += [f"{topic}-{number}" for number in sorted(numbers)]
        return sources

    def ends(self, sources: Sequence[str], at: int = LATEST) -> dict[str, int]:
        """Returns the end offsets of logs or, with ``EARLIEST``, their start offsets. Raises
        `Unreachable`.
        """
        offsets: dict[str, int] = {}
        leaders: dict[int, list[str]] = {}
        for source in sources:
            leaders.setdefault(self._leader(source), []).append(source)
        request = self._offsets.ListOffsetsRequest
        topic_of = request.ListOffsetsTopic
        partition_of = topic_of.ListOffsetsPartition
        for leader, own in leaders.items():
            topics: dict[str, list[int]] = {}
            for source in own:
                topic, number = _split(source)
                topics.setdefault(topic, []).append(number)
            query = request[4](
                replica_id=-1,
                isolation_level=0,
                topics=[
                    topic_of(
                        name=topic,
                        partitions=[
                            partition_of(
                                partition_index=number, current_leader_epoch=-1, timestamp=at
                            )
                            for number in numbers
                        ],
                    )
                    for topic, numbers in topics.items()
                ],
            )
            for topic in self._ask(leader, query, "asking for the ends of logs").topics:
                for partition in topic.partitions:
                    source = f"{topic.name}-{partition.partition_index}"
                    self._check(partition.error_code, f"asking for the end of {source}")
                    offsets[source] = partition.offset
        return offsets

    def rounds(self, sources: Sequence[str], count: int) -> list[Round]:
        """Requests the end offsets of logs ``count`` times."""
        mine = [source for source in sources if of_transactions(source)]
        others = [source for source in sources if not of_transactions(source)]
        result: list[Round] = []
        before = self.ends(mine)
        for _ in range(count):
            data = self.ends(others)
            after = self.ends(mine)
            result.append(Round(before, data, after))
            before = after
        return result

    def read(self, source: str, end: int) -> Iterator[tuple[Batch, list[Entry]]]:
        """Yields the batches of a log up to an offset, with their entries. Raises `Unreachable` and
        `Undecodable`.
        """
        topic, number = _split(source)
        request = self._fetch.FetchRequest
        offset = self.ends([source], EARLIEST)[source]
        size = _AT_ONCE
        while offset < end:
            query = request[11](
                replica_id=-1,
                max_wait_ms=100,
                min_bytes=0,
                max_bytes=size,
                isolation_level=0,
                session_id=0,
                session_epoch=-1,
                topics=[
                    request.FetchTopic(
                        topic=topic,
                        partitions=[
                            request.FetchTopic.FetchPartition(
                                partition=number,
                                current_leader_epoch=-1,
                                fetch_offset=offset,
                                log_start_offset=-1,
                                partition_max_bytes=size,
                            )
                        ],
                    )
                ],
                forgotten_topics_data=[],
                rack_id="",
            )
            answer = self._ask(self._leader(source), query, f"reading {source}")
            partition = answer.responses[0].partitions[0]
            self._check(partition.error_code, f"reading {source}")
            went_on = False
            try:
                for batch, batch_entries in entries(bytes(partition.records or b""), source):
                    if batch.last_offset >= offset and batch.offset < end:
                        yield batch, batch_entries
                    went_on = went_on or batch.last_offset >= offset
                    offset = max(offset, batch.last_offset + 1)
            except Undecodable as why:
                raise Undecodable(f"{source}: {why}") from None
            if not went_on:
                raise Unreachable(f"reading {source}: nothing comes from offset {offset} on")

    # ------------------------------------------------------------ below

    def _numbers(self, topic: str) -> set[int]:
        with self._asking(f"asking for {topic}"):
            cluster = self._client.cluster
            cluster.add_topic(topic)
            self._client.poll(timeout_ms=_PATIENCE, future=cluster.request_update())
            return set(cluster.partitions_for_topic(topic) or ())

    def _leader(self, source: str) -> int:
        structs: Any = import_module("kafka.structs")
        leader = self._client.cluster.leader_for_partition(structs.TopicPartition(*_split(source)))
        if leader is None or leader < 0:
            raise Unreachable(f"{source} has no leader")
        return int(leader)

    def _ask(self, node: int, request: Any, purpose: str) -> Any:
        with self._asking(purpose):
            return self._client.send_and_receive(node, request, timeout_ms=_PATIENCE)

    def _check(self, code: int, purpose: str) -> None:
        if code:
            raise Unreachable(f"{purpose}: {self._errors.for_code(code).__name__}")

    @contextmanager
    def _asking(self, purpose: str) -> Generator[None]:
        try:
            yield
        except (self._errors.KafkaError, OSError) as error:
            raise Unreachable(f"{purpose}: {error or type(error).__name__}") from None


class ClusterLog:
    """The log of a partition in a running cluster, up to an offset."""

    def __init__(self, cluster: Cluster, source: str, end: int) -> None:
        self.source = source
        self._cluster = cluster
        self._end = end

    def read(self) -> Iterator[tuple[Batch, list[Entry]]]:
        return self._cluster.read(self.source, self._end)


def _split(source: str) -> tuple[str, int]:
    topic, _, number = source.rpartition("-")
    return topic, int(number)
