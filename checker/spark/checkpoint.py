"""Checkpoints: a folder with the states found so far and the account of the search.

States are stored as records in sequence files. Each checkpoint adds one folder, with the levels
since the previous checkpoint and the digests of their records. A JSON manifest, written last, lists
the folders with the digest of each digest file, and carries a MAC. Only the driver has the key:
tasks that write a checkpoint return the digests of their records, and tasks that read one compare
each record with the digests they receive from the driver. Loading executes no code from the
checkpoint and validates everything.
"""

from __future__ import annotations

import hashlib
import re
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pyspark.accumulators import AccumulatorParam

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.saving import identity, notes
from fencepost.checker.native.saving.identity import RESUME_UNSIGNED, Identity, Manifest
from fencepost.checker.native.saving.lawful import Unlawful, look_at, text
from fencepost.checker.native.saving.notes import Malformed, Noted, Notes
from fencepost.checker.search.account import Account
from fencepost.checker.spark import program, records
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.failures import Failed
from fencepost.checker.spark.hadoop import Folder, Refused
from fencepost.checker.spark.levels import Start, States
from fencepost.checker.spark.records import Kind
from fencepost.spec.core.ir import Model
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext
    from pyspark.core.broadcast import Broadcast
    from pyspark.core.rdd import RDD

FORMAT = 4
UNSIGNED_FORMAT = 3
"""The format before signatures, which can still be read: a checksum precedes each record."""
DIGESTS = "_digests"
"""The file with the sorted SHA-256 digests of a folder's records."""
FILES = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
CHECKSUM = struct.Struct("<I")
KEY, VALUE = "org.apache.hadoop.io.IntWritable", "org.apache.hadoop.io.BytesWritable"
PLAIN = {"mapreduce.output.fileoutputformat.compress": "false"}
BEGINNING = b"SEQ\x06" + b"".join(bytes([len(c)]) + c.encode() for c in (KEY, VALUE)) + bytes(6)
"""The header of our sequence files: an integer key class, a byte array value class, no compression,
no metadata. The header is checked because Hadoop instantiates any class that a file names.
"""
Digests: TypeAlias = dict[int, list[bytes]]
"""The digests of records, by partition."""
FOLDER = re.compile(r"states-\d{6,}-[0-9a-f]{12}")
"""Matches the names of folders that hold states."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The content of a manifest: the last level, the number of visited states, the folders, and the
    account. ``unsigned`` is set if the checkpoint depends on an unsigned one.
    """

    level: int
    seen: int
    folders: tuple[SavedFolder, ...]
    account: Noted
    unsigned: bool


class SavedFolder(NamedTuple):
    """A folder of states. ``digest`` is the SHA-256 of its digest file, or None in the older
    format.
    """

    name: str
    digest: str | None


class Checkpoints:
    """The checkpoints of a search in a folder. Raises `Rejected` if the folder cannot be used."""

    def __init__(self, spark: SparkContext, url: str, identity: Identity, model: Model) -> None:
        self._spark = spark
        self._identity = identity
        self.key = identity.key
        self._model = model
        self.url = url
        try:
            self._folder = Folder(spark, url)
            self._names = self._folder.names() or []
        except Refused as refused:
            raise unusable(url, str(refused)) from None
        self._folders: tuple[SavedFolder, ...] = ()
        self._unsigned = False
        self.level = 0
        """The last level of the newest complete checkpoint."""
        self._incomplete: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether the folder contains a checkpoint."""
        return any(name.startswith("manifest-") for name in self._names)

    def latest(self, account: Account, sizes: Sizes, *, unsigned: bool) -> Saved | None:
        """Returns the last complete checkpoint, or None.

        ``account`` is the account of a new search, ``sizes`` the sizes of its machine code. If
        ``unsigned`` is set, an unsigned checkpoint is accepted.
        """
        for name in sorted(self._names, reverse=True):
            if name.startswith("manifest-"):
                try:
                    manifest = self._identity.opened(self._folder.read(name))
                except Refused as refused:
                    raise unusable(self.url, str(refused)) from None
                if manifest is not None:
                    return self._accepted(manifest, account, sizes, unsigned)
                self._incomplete.append(name)
        return None

    def save(self, level: int, seen: int, new: Blocks, account: Notes) -> Start:
        """Saves the records since the last checkpoint. Returns a start that rebuilds the levels."""
        folder = f"states-{level:06}-{uuid.uuid4().hex[:12]}"
        digests = self._spark.accumulator({}, ByPartition())
        try:
            new.mapPartitionsWithIndex(partial(sealed, digests)).saveAsNewAPIHadoopFile(
                self._folder.at(folder), FILES, keyClass=KEY, valueClass=VALUE, conf=PLAIN
            )
            by_partition: Digests = digests.value
            if len(by_partition) != new.getNumPartitions():
                raise Failed(f"Incomplete: {len(by_partition)} tasks returned digests")
            every = b"".join(
                sorted(digest for task_digests in by_partition.values() for digest in task_digests)
            )
            Folder(self._spark, self._folder.at(folder)).write(DIGESTS, every)
            folders = (*self._folders, SavedFolder(folder, hashlib.sha256(every).hexdigest()))
            manifest = self._identity.notes | {
                "level": level, "seen": seen, "folders": folders, "account": account,
                "unsigned": self._unsigned,
            }  # fmt: skip
            self._folder.write(f"manifest-{level:06}.json", self._identity.closed(manifest))
        except Refused as refused:
            raise unusable(self.url, str(refused)) from None
        self._folders, self.level = folders, level
        return self._start(folders, level, seen, tuple(account["levels"]))

    def start(self, saved: Saved) -> Start:
        """Returns a start that rebuilds the levels from a checkpoint."""
        start = self._start(saved.folders, saved.level, saved.seen, saved.account.levels)
        self._unsigned, self.level = saved.unsigned, saved.level
        # The next checkpoint saves the states of the older format again, with digests.
        self._folders = saved.folders if start.reused else ()
        return start

    def _start(
        self, folders: Sequence[SavedFolder], level: int, seen: int, sizes: tuple[int, ...]
    ) -> Start:
        reused = all(folder.digest is not None for folder in folders)
        try:
            files = [file for folder in folders for file in self._files(folder.name)]
            digests = self._digests(folders) if reused else None
        except Refused as refused:
            raise unusable(self.url, str(refused)) from None
        expected = None if digests is None else frozenset(digests)
        shipped = self._spark.broadcast((self._model, expected))
        returned: list[Accumulator[Digests]] = []

        def states(partitions: int) -> RDD[States]:
            pairs: RDD[tuple[int, bytearray]] = self._spark.sequenceFile(
                ",".join(files), KEY, VALUE, minSplits=partitions
            )
            returned[:] = [self._spark.accumulator({}, ByPartition())]
            return pairs.mapPartitionsWithIndex(partial(unsealed, shipped, returned[0]))

        def intact() -> bool:
            every = [digest for pairs in returned[0].value.values() for digest in pairs]
            return digests is None or sorted(every) == digests

        return Start(level, states, seen, sizes, True, reused, intact)

    def _digests(self, folders: Iterable[SavedFolder]) -> list[bytes]:
        """Returns the sorted digests of all records in ``folders``. Raises `Refused` and
        `Rejected`.
        """
        all_digests: list[bytes] = []
        for name, digest in folders:
            content = Folder(self._spark, self._folder.at(name)).read(DIGESTS)
            if hashlib.sha256(content).hexdigest() != digest:
                raise unusable(self.url, f"it is damaged: the digest of {name} does not fit")
            all_digests += [content[offset : offset + 32] for offset in range(0, len(content), 32)]
        return sorted(all_digests)

    def _files(self, name: str) -> list[str]:
        """Returns the URLs of the state files in a folder, after checking their headers."""
        folder = Folder(self._spark, self._folder.at(name))
        names = [
            file_name for file_name in folder.names() or [] if not file_name.startswith(("_", "."))
        ]
        for file_name in names:
            if folder.beginning(file_name, len(BEGINNING)) != BEGINNING:
                raise unusable(
                    self.url, f"{name}/{file_name} is not a file of states in this format"
                )
        return [folder.at(file_name) for file_name in names]

    def tidy(self, saved: Saved) -> None:
        """Removes incomplete checkpoints that killed runs left, but nothing that ``saved``
        uses.
        """
        left = [name for name in self._names if name.startswith("states-")]
        for name in {*left, *self._incomplete} - {folder.name for folder in saved.folders}:
            self._folder.remove(name)

    def _accepted(
        self, manifest: Manifest, account: Account, sizes: Sizes, unsigned: bool
    ) -> Saved:
        content = manifest.notes
        differs = self._identity.difference(content)
        if differs is not None:
            raise unusable(self.url, differs)
        if manifest.unsigned is not None and not unsigned:
            raise unusable(self.url, manifest.unsigned, RESUME_UNSIGNED)
        try:
            noted = notes.read(content.get("account"), account, Layout(self._model), sizes)
            level, seen = len(noted.levels), sum(noted.levels) + noted.outside
            if content.get("level") != level:
                raise Malformed(f"its account has {level} levels, and it {content.get('level')}")
            if content.get("seen") != seen:
                raise Malformed("its number of states contradicts its account")
            folders = _folders(content)
        except Malformed as malformed:
            raise unusable(self.url, str(malformed)) from None
        return Saved(level, seen, folders, noted, manifest.relies_on_unsigned)


def _folders(manifest: Notes) -> tuple[SavedFolder, ...]:
    """Returns the folders that a manifest names. Raises `Malformed`."""
    listed: Any = manifest.get("folders")
    older = manifest["format"] == UNSIGNED_FORMAT
    try:
        rows: list[Any] = [*listed] if isinstance(listed, list) else []
        folders = [SavedFolder(row, None) if older else SavedFolder(*row) for row in rows]
    except TypeError:
        folders = []
    if not folders or not all(
        FOLDER.fullmatch(str(name)) and (older or isinstance(digest, str))
        for name, digest in folders
    ):
        raise Malformed("it names folders outside the checkpoint")
    return tuple(folders)


class ByPartition(AccumulatorParam["Digests"]):
    """Collects the digests that tasks return, by partition."""

    def zero(self, value: Digests) -> Digests:
        return {}

    # The name is defined by PySpark.
    def addInPlace(self, value1: Digests, value2: Digests) -> Digests:  # noqa: N802
        value1.update(value2)
        return value1


def sealed(
    digests: Accumulator[Digests], partition: int, blocks: Iterable[bytes]
) -> Iterator[tuple[int, bytearray]]:
    """Yields the records to save, each with the key that a sequence file requires. Afterwards adds
    the digests of these records to ``digests``.
    """
    written: list[bytes] = []
    for data in blocks:
        kind, level, _ = records.head(data)
        if kind in records.SAVED:
            # The owner is not saved: it depends on the number of partitions, which may change.
            sealed_record = records.record(kind, level, 0, data[records.HEAD.size :])
            written.append(hashlib.sha256(sealed_record).digest())
            yield 0, bytearray(sealed_record)
    digests.add({partition: written})


def unsealed(
    shipped: Broadcast[tuple[Model, frozenset[bytes] | None]],
    returned: Accumulator[Digests],
    partition: int,
    rows: Iterable[tuple[int, bytearray]],
) -> Iterator[States]:
    """Checks records that were read from files, and yields their states.

    ``shipped`` holds the model and the expected digests. The digests are None in the older format,
    in which a checksum precedes each record. After the last record, the digests that were computed
    are added to ``returned``. Raises `Damaged`.
    """
    model, digests = shipped.value
    layout = Layout(model)
    lawful = text(layout)
    read: list[bytes] = []
    for _, data in rows:
        record_data = bytes(data)
        if digests is None:
            checksum, record_data = record_data[: CHECKSUM.size], record_data[CHECKSUM.size :]
            right = checksum == CHECKSUM.pack(zlib.crc32(record_data))
        else:
            read.append(hashlib.sha256(record_data).digest())
            right = read[-1] in digests
        if len(record_data) < records.HEAD.size or not right:
            raise Damaged("a record of the checkpoint is damaged")
        kind, level, rest = records.HEAD.unpack_from(record_data)
        if kind not in [*records.SAVED] or rest:
            raise Damaged(f"a record of the checkpoint is of kind {kind}, and holds no states")
        states = record_data[records.HEAD.size :]
        try:
            look_at(program.lawful(lawful), layout, states)
        except Unlawful as unlawful:
            raise Damaged(f"a record of the checkpoint cannot be used: {unlawful}") from None
        yield Kind(kind), level, states
    returned.add({partition: read})


class Damaged(Exception):
    """The content differs from what was written."""


def unusable(url: str, reason: str, *notes: str) -> Rejected:
    """Returns the problem to report for a checkpoint that cannot be used."""
    return identity.unusable(f"the checkpoint {url}", reason, *notes)
