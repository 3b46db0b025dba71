"""Sends requests to a broker over a raw socket, in any version and order.

The client library only encodes and decodes the messages of the protocol; its client is not used.
"""

from __future__ import annotations

import socket
import time
from importlib import import_module
from typing import Any

from fencepost.checker.systems.kafka.cluster import MAX_ANSWER, Unreachable, silent

TIMEOUT_SECONDS = 30.0
"""Response timeout, in seconds."""
ADMINISTRATOR = "__admin_client"
"""The client id that may write to internal topics."""
_SIZE = 4
_BLOCK = 1 << 16
"""Maximum number of bytes for each receive operation, regardless of the size that a broker
announces.
"""


def _transactions() -> Any:
    return import_module("kafka.protocol.producer.transaction")


class Connection:
    """A socket to a broker. Requests may be pipelined."""

    def __init__(self, host: str, port: int, patience: float = TIMEOUT_SECONDS) -> None:
        """Connects to the broker. ``patience`` is the response timeout in seconds."""
        self._registry: Any = import_module("kafka.protocol.api_header").ResponseClassRegistry
        self._errors: Any = import_module("kafka.errors")
        self._where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._patience = patience
        self._sent = 0
        self._waiting: dict[int, tuple[int, int]] = {}
        try:
            self._socket = socket.create_connection((host, port), patience)
        except OSError as error:
            raise self._unreachable(error) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self._socket.close()

    def wait(self, patience: float) -> None:
        """Sets the response timeout, in seconds."""
        self._patience = patience
        self._socket.settimeout(patience)

    def _unreachable(self, error: OSError) -> Unreachable:
        if isinstance(error, TimeoutError):
            return Unreachable(silent(self._where, self._patience))
        return Unreachable(f"{self._where}: {error.strerror or error}")

    def ask(self, request: Any, client: str = "fencepost") -> Any:
        """Sends a request and returns its response. No other request may be pending. Raises
        `Unreachable`.
        """
        self.send(request, client)
        return self._taken(self._sent)

    def is_closed(self) -> bool:
        """Checks whether the broker has closed the connection. No request may be pending."""
        self._socket.settimeout(0.0)
        try:
            return not self._socket.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.settimeout(self._patience)

    def send(self, request: Any, client: str = "fencepost") -> None:
        """Sends a request. `take` returns its response, after those of earlier requests."""
        self._sent += 1
        request.with_header(correlation_id=self._sent, client_id=client)
        self._waiting[self._sent] = (request.API_KEY, request.API_VERSION)
        try:
            self._socket.sendall(request.encode(header=True, framed=True))
        except OSError as error:
            raise self._unreachable(error) from None

    def take(self) -> Any:
        """Returns the response to the oldest pending request. Raises `Unreachable`."""
        return self._taken(next(iter(self._waiting)))

    def _taken(self, number: int) -> Any:
        """Returns the next response, which must belong to this request because brokers answer in
        order.
        """
        size = int.from_bytes(self._exactly(_SIZE), "big")
        if size > MAX_ANSWER:
            raise Unreachable(f"{self._where}: the server there is not a Kafka broker")
        data = self._exactly(size)
        correlation_id = int.from_bytes(data[:_SIZE], "big")
        if correlation_id != number:
            raise Unreachable(f"{self._where}: request {correlation_id} is answered, not {number}")
        key, version = self._waiting.pop(number)
        registry: Any = self._registry._response_class_registry
        return registry[key].decode(data, version=version, header=True)

    def error(self, response: Any) -> str:
        """Returns the name of the first error in a response, or NONE."""
        code = _error(response)
        return _NAMES.get(code) or str(self._errors.for_code(code).message)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                more = self._socket.recv(min(size - len(data), _BLOCK))
            except OSError as error:
                raise self._unreachable(error) from None
            if not more:
                raise Unreachable(f"{self._where}: the broker has closed the connection")
            data += more
        return bytes(data)


_NAMES = {0: "NONE", -1: "UNKNOWN_SERVER_ERROR"}
"""Errors that brokers and the client library name differently."""
_INSIDE = (
    "responses",
    "partition_responses",
    "results_by_transaction",
    "topic_results",
    "results_by_topic_v3_and_below",
    "results_by_partition",
    "markers",
    "groups",
    "members",
    "topics",
    "partitions",
    "transaction_states",
    "coordinators",
    "replica_election_results",
    "partition_result",
)


def _error(part: Any) -> int:
    for name in ("partition_error_code", "error_code"):
        code = getattr(part, name, None)
        if code:
            return int(code)
    for name in _INSIDE:
        for inner in getattr(part, name, None) or ():
            if code := _error(inner):
                return code
    return 0


# ---------------------------------------------------------------- requests of a transaction


def init_producer_id(
    name: str, producer_id: int = -1, epoch: int = -1, timeout: int = 60_000, version: int = 5
) -> Any:
    return _transactions().InitProducerIdRequest[version](
        transactional_id=name,
        transaction_timeout_ms=timeout,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


def add_partition(name: str, producer_id: int, epoch: int, topic: str, partition: int) -> Any:
    """Builds AddPartitionsToTxn version 3, as clients send it."""
    request = _transactions().AddPartitionsToTxnRequest
    return request[3](
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[request.AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
    )


def add_for_client(
    name: str, producer_id: int, epoch: int, topic: str, partition: int, verify: bool
) -> Any:
    """Builds AddPartitionsToTxn version 5, as partition leaders send it."""
    request = _transactions().AddPartitionsToTxnRequest
    return request[5](
        transactions=[
            request.AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=producer_id,
                producer_epoch=epoch,
                verify_only=verify,
                topics=[request.AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
            )
        ]
    )


def produce(
    name: str,
    producer_id: int,
    epoch: int,
    sequence: int,
    topic: str,
    partition: int,
    version: int = 12,
) -> Any:
    """Builds Produce with one transactional record."""
    who = True, producer_id, epoch, sequence
    return _produce(version, name, _batch(who, None, b"x"), topic, partition)


def put_record(key: bytes, value: bytes, topic: str, partition: int) -> Any:
    """Builds Produce with one non-transactional record. `ADMINISTRATOR` may send it to an internal
    topic.
    """
    return _produce(9, None, _batch((False, -1, -1, -1), key, value), topic, partition)


def _batch(who: tuple[bool, int, int, int], key: bytes | None, value: bytes) -> bytes:
    builder: Any = import_module("kafka.record.default_records").DefaultRecordBatchBuilder
    batch = builder(2, 0, *who, 1 << 20)
    batch.append(0, int(time.time() * 1000), key, value, [])
    return bytes(batch.build())


def _produce(version: int, name: str | None, batch: bytes, topic: str, partition: int) -> Any:
    request: Any = import_module("kafka.protocol.producer.produce").ProduceRequest
    data = request.TopicProduceData
    return request[version](
        transactional_id=name,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[
            data(
                name=topic,
                partition_data=[data.PartitionProduceData(index=partition, records=batch)],
            )
        ],
    )


def end_txn(name: str, producer_id: int, epoch: int, commit: bool, version: int = 5) -> Any:
    return _transactions().EndTxnRequest[version](
        transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=commit
    )


def write_marker(
    producer_id: int,
    epoch: int,
    commit: bool,
    topic: str,
    partition: int,
    level: int,
    coordinator: int,
    version: int = 2,
) -> Any:
    """Builds WriteTxnMarkers as sent by a coordinator with this ``transaction.version`` and
    coordinator epoch. Before version 2, the request does not contain ``transaction.version``.
    """
    request = _transactions().WriteTxnMarkersRequest
    marker = request.WritableTxnMarker
    return request[version](
        markers=[
            marker(
                producer_id=producer_id,
                producer_epoch=epoch,
                transaction_result=commit,
                coordinator_epoch=coordinator,
                transaction_version=level,
                topics=[marker.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
            )
        ]
    )


# ---------------------------------------------------------------- requests about a cluster


def describe_transaction(name: str) -> Any:
    admin: Any = import_module("kafka.protocol.admin.transactions")
    return admin.DescribeTransactionsRequest[0](transactional_ids=[name])


def find_coordinator(name: str) -> Any:
    metadata: Any = import_module("kafka.protocol.metadata")
    return metadata.FindCoordinatorRequest[4](key_type=1, coordinator_keys=[name])


def metadata(topic: str) -> Any:
    """Builds Metadata for a topic."""
    request: Any = import_module("kafka.protocol.metadata").MetadataRequest
    return request[8](
        topics=[request.MetadataRequestTopic(name=topic)],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def create_topic(name: str, replicas: list[list[int]], compacted: bool = False) -> Any:
    """Builds CreateTopics with a partition for each list of replicas."""
    request: Any = import_module("kafka.protocol.admin.topics").CreateTopicsRequest
    topic = request.CreatableTopic
    configs = [topic.CreatableTopicConfig(name="cleanup.policy", value="compact")]
    return request[5](
        topics=[
            topic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[
                    topic.CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
                    for number, brokers in enumerate(replicas)
                ],
                configs=configs if compacted else [],
            )
        ],
        timeout_ms=10_000,
        validate_only=False,
    )


def reassign(topic: str, partition: int, brokers: list[int]) -> Any:
    """Builds AlterPartitionReassignments. The first broker becomes the preferred leader."""
    request: Any = import_module("kafka.protocol.admin.topics").AlterPartitionReassignmentsRequest
    kind = request.ReassignableTopic
    partitions = [kind.ReassignablePartition(partition_index=partition, replicas=brokers)]
    return request[0](timeout_ms=10_000, topics=[kind(name=topic, partitions=partitions)])


def elect(topic: str, partition: int) -> Any:
    """Builds ElectLeaders, which makes the preferred leader of a partition its leader."""
    request: Any = import_module("kafka.protocol.admin.topics").ElectLeadersRequest
    partitions = [request.TopicPartitions(topic=topic, partitions=[partition])]
    return request[1](election_type=0, topic_partitions=partitions, timeout_ms=10_000)


def features() -> Any:
    """Builds ApiVersions. The response contains the levels of features."""
    metadata: Any = import_module("kafka.protocol.metadata")
    return metadata.ApiVersionsRequest[3](
        client_software_name="fencepost", client_software_version="1"
    )


def set_feature(name: str, level: int, lower: bool) -> Any:
    """Builds UpdateFeatures, as an upgrade or a safe downgrade."""
    request: Any = import_module("kafka.protocol.admin.cluster").UpdateFeaturesRequest
    update = request.FeatureUpdateKey(
        feature=name, max_version_level=level, upgrade_type=2 if lower else 1
    )
    return request[1](timeout_ms=10_000, feature_updates=[update], validate_only=False)
