"""Checkpoints: the states found so far and the account of the search, in a folder.

States are records in sequence files, one folder of them for the levels since the checkpoint before,
with the digests of its records; a manifest in JSON, written last, names the folders and the digests
of these digests, and has a MAC. Only the driver has the key: when a checkpoint is written, tasks
return the digests of their records, and when it is read, they compare each record with the digests
that the driver sends them. Loading executes nothing, and every number and byte is looked at. It
does not know what the account says.
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
"""The format before signatures, which is still read: each record follows its checksum."""
DIGESTS = "_digests"
"""The file with the SHA-256 of each record of a folder, sorted."""
FILES = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
CHECKSUM = struct.Struct("<I")
KEY, VALUE = "org.apache.hadoop.io.IntWritable", "org.apache.hadoop.io.BytesWritable"
PLAIN = {"mapreduce.output.fileoutputformat.compress": "false"}
BEGINNING = b"SEQ\x06" + b"".join(bytes([len(c)]) + c.encode() for c in (KEY, VALUE)) + bytes(6)
"""How a sequence file of ours begins: classes that hold a number and bytes, nothing compressed, no
further names. Hadoop makes objects of whatever classes a file names.
"""
Digests: TypeAlias = dict[int, list[bytes]]
"""The digests of records, by partition."""
FOLDER = re.compile(r"states-\d{6,}-[0-9a-f]{12}")
"""The names of the folders for states."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a manifest says: the last level, how many states were seen, the folders that hold them,
    and the account. ``unsigned`` if it relies on a checkpoint that was not signed.
    """

    level: int
    seen: int
    folders: tuple[SavedFolder, ...]
    account: Noted
    unsigned: bool


class SavedFolder(NamedTuple):
    """A folder of states, and the SHA-256 of its file of digests; None in the older format."""

    name: str
    digest: str | None


class Checkpoints:
    """The checkpoints of one search in one folder. Raises `Rejected` where that cannot be used."""

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
        """Whether there is a checkpoint already."""
        return any(name.startswith("manifest-") for name in self._names)

    def latest(self, account: Account, sizes: Sizes, *, unsigned: bool) -> Saved | None:
        """The last checkpoint that is complete; None: there is none. ``account`` is that of a
        search that begins, ``sizes`` those of its machine code. ``unsigned``: it need not be
        signed.
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
        """Adds the records of the levels since the last checkpoint; the levels may begin there."""
        folder = f"states-{level:06}-{uuid.uuid4().hex[:12]}"
        digests = self._spark.accumulator({}, ByPartition())
        try:
            new.mapPartitionsWithIndex(partial(sealed, digests)).saveAsNewAPIHadoopFile(
                self._folder.at(folder), FILES, keyClass=KEY, valueClass=VALUE, conf=PLAIN
            )
            by_partition: Digests = digests.value
            if len(by_partition) != new.getNumPartitions():
                raise Failed(f"Incomplete: {len(by_partition)} tasks returned digests")
            every = b"".join(sorted(one for found in by_partition.values() for one in found))
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
        """Levels that begin with a checkpoint."""
        start = self._start(saved.folders, saved.level, saved.seen, saved.account.levels)
        self._unsigned, self.level = saved.unsigned, saved.level
        # The next save writes the states of the older format again, with digests.
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
            found: RDD[tuple[int, bytearray]] = self._spark.sequenceFile(
                ",".join(files), KEY, VALUE, minSplits=partitions
            )
            returned[:] = [self._spark.accumulator({}, ByPartition())]
            return found.mapPartitionsWithIndex(partial(unsealed, shipped, returned[0]))

        def intact() -> bool:
            every = [one for found in returned[0].value.values() for one in found]
            return digests is None or sorted(every) == digests

        return Start(level, states, seen, sizes, True, reused, intact)

    def _digests(self, folders: Iterable[SavedFolder]) -> list[bytes]:
        """The sorted digests of all records of some folders. Raises `Refused` and `Rejected`."""
        found: list[bytes] = []
        for name, digest in folders:
            content = Folder(self._spark, self._folder.at(name)).read(DIGESTS)
            if hashlib.sha256(content).hexdigest() != digest:
                raise unusable(self.url, f"it is damaged: the digest of {name} does not fit")
            found += [content[place : place + 32] for place in range(0, len(content), 32)]
        return sorted(found)

    def _files(self, name: str) -> list[str]:
        """The files with states in a folder, each of which begins as it must."""
        folder = Folder(self._spark, self._folder.at(name))
        names = [one for one in folder.names() or [] if not one.startswith(("_", "."))]
        for one in names:
            if folder.beginning(one, len(BEGINNING)) != BEGINNING:
                raise unusable(self.url, f"{name}/{one} is no file of states of this format")
        return [folder.at(one) for one in names]

    def tidy(self, saved: Saved) -> None:
        """Removes what runs that were killed have left half-written, but nothing of ``saved``."""
        left = [name for name in self._names if name.startswith("states-")]
        for name in {*left, *self._incomplete} - {folder.name for folder in saved.folders}:
            self._folder.remove(name)

    def _accepted(
        self, manifest: Manifest, account: Account, sizes: Sizes, unsigned: bool
    ) -> Saved:
        found = manifest.notes
        differs = self._identity.difference(found)
        if differs is not None:
            raise unusable(self.url, differs)
        if manifest.unsigned is not None and not unsigned:
            raise unusable(self.url, manifest.unsigned, RESUME_UNSIGNED)
        try:
            noted = notes.read(found.get("account"), account, Layout(self._model), sizes)
            level, seen = len(noted.levels), sum(noted.levels) + noted.outside
            if found.get("level") != level:
                raise Malformed(f"its account has {level} levels, and it {found.get('level')}")
            if found.get("seen") != seen:
                raise Malformed("its account counts other states than it has")
            folders = _folders(found)
        except Malformed as malformed:
            raise unusable(self.url, str(malformed)) from None
        return Saved(level, seen, folders, noted, manifest.relies_on_unsigned)


def _folders(manifest: Notes) -> tuple[SavedFolder, ...]:
    """The folders that a manifest names. Raises `Malformed`."""
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
        raise Malformed("it names folders that are none of its own")
    return tuple(folders)


class ByPartition(AccumulatorParam["Digests"]):
    """The digests that tasks return, by the number of the partition."""

    def zero(self, value: Digests) -> Digests:
        return {}

    # The name is PySpark's.
    def addInPlace(self, value1: Digests, value2: Digests) -> Digests:  # noqa: N802
        value1.update(value2)
        return value1


def sealed(
    digests: Accumulator[Digests], partition: int, given: Iterable[bytes]
) -> Iterator[tuple[int, bytearray]]:
    """Records as they are saved, with the keys that a sequence file needs. ``digests`` receives
    their digests when all are written.
    """
    written: list[bytes] = []
    for data in given:
        kind, level, _ = records.head(data)
        if kind in records.SAVED:
            # Who owns the states depends on the number of partitions, which may be another one.
            found = records.record(kind, level, 0, data[records.HEAD.size :])
            written.append(hashlib.sha256(found).digest())
            yield 0, bytearray(found)
    digests.add({partition: written})


def unsealed(
    shipped: Broadcast[tuple[Model, frozenset[bytes] | None]],
    returned: Accumulator[Digests],
    partition: int,
    given: Iterable[tuple[int, bytearray]],
) -> Iterator[States]:
    """The states of records, of which ``shipped`` has the digests; None: they follow their
    checksums, as in the older format. They must hold states of the model and nothing else.
    ``returned`` receives their digests when all are read. Raises `Damaged`.
    """
    model, digests = shipped.value
    layout = Layout(model)
    lawful = text(layout)
    read: list[bytes] = []
    for _, data in given:
        found = bytes(data)
        if digests is None:
            checksum, found = found[: CHECKSUM.size], found[CHECKSUM.size :]
            right = checksum == CHECKSUM.pack(zlib.crc32(found))
        else:
            read.append(hashlib.sha256(found).digest())
            right = read[-1] in digests
        if len(found) < records.HEAD.size or not right:
            raise Damaged("a record of the checkpoint is damaged")
        kind, level, rest = records.HEAD.unpack_from(found)
        if kind not in [*records.SAVED] or rest:
            raise Damaged(f"a record of the checkpoint is of kind {kind}, and holds no states")
        states = found[records.HEAD.size :]
        try:
            look_at(program.lawful(lawful), layout, states)
        except Unlawful as unlawful:
            raise Damaged(f"a record of the checkpoint cannot be used: {unlawful}") from None
        yield Kind(kind), level, states
    returned.add({partition: read})


class Damaged(Exception):
    """What was read is not what was written."""


def unusable(url: str, reason: str, *notes: str) -> Rejected:
    """The folder cannot be used."""
    return identity.unusable(f"the checkpoint {url}", reason, *notes)
