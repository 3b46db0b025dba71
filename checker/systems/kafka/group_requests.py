"""Builds requests to consumer groups. `requests` builds those about transactions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PROTOCOL = "consumer", "range"
_LONG = 1_800_000
"""The session timeout in ms. This is the maximum of the default configuration."""


def _groups() -> Any:
    return import_module("kafka.protocol.consumer.group")


def _transactions() -> Any:
    return import_module("kafka.protocol.producer.transaction")


def find_coordinator(group: str) -> Any:
    metadata: Any = import_module("kafka.protocol.metadata")
    return metadata.FindCoordinatorRequest[4](key_type=0, coordinator_keys=[group])


def add_offsets(name: str, producer_id: int, epoch: int, group: str) -> Any:
    """Builds AddOffsetsToTxn."""
    return _transactions().AddOffsetsToTxnRequest[3](
        transactional_id=name, producer_id=producer_id, producer_epoch=epoch, group_id=group
    )


def commit_offset(
    name: str,
    producer_id: int,
    epoch: int,
    group: str,
    member: str,
    generation: int,
    topic: str,
    offset: int,
    version: int = 5,
) -> Any:
    """Builds TxnOffsetCommit for an offset of partition 0."""
    request = _transactions().TxnOffsetCommitRequest
    topics = request.TxnOffsetCommitRequestTopic
    partition = topics.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
    )
    return request[version](
        transactional_id=name,
        group_id=group,
        producer_id=producer_id,
        producer_epoch=epoch,
        generation_id=generation,
        member_id=member,
        group_instance_id=None,
        topics=[topics(name=topic, partitions=[partition])],
    )


def fetch_offset(group: str, topic: str) -> Any:
    """Builds OffsetFetch for the stable offset of partition 0."""
    request = _groups().OffsetFetchRequest
    group_type = request.OffsetFetchRequestGroup
    topics = [group_type.OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    return request[8](groups=[group_type(group_id=group, topics=topics)], require_stable=True)


def join(group: str, member: str, metadata: bytes) -> Any:
    """Builds JoinGroup. ``member`` is "" for a new member. If ``metadata`` has changed, the request
    triggers a rebalance.
    """
    kind, protocol = _PROTOCOL
    request = _groups().JoinGroupRequest
    return request[5](
        group_id=group,
        session_timeout_ms=_LONG,
        rebalance_timeout_ms=_LONG,
        member_id=member,
        group_instance_id=None,
        protocol_type=kind,
        protocols=[request.JoinGroupRequestProtocol(name=protocol, metadata=metadata)],
    )


def sync(group: str, member: str, generation: int) -> Any:
    """Builds SyncGroup for the leader, which is the only member."""
    request = _groups().SyncGroupRequest
    return request[3](
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=None,
        assignments=[request.SyncGroupRequestAssignment(member_id=member, assignment=b"")],
    )


def leave(group: str, member: str) -> Any:
    request = _groups().LeaveGroupRequest
    identity = request.MemberIdentity(member_id=member, group_instance_id=None)
    return request[3](group_id=group, members=[identity])
