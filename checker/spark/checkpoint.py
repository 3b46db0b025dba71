"""Checkpoints: the states found so far and the account of the search, in a folder.

States are records with checksums in sequence files, one folder of them for the levels since the
checkpoint before; a manifest in JSON, written last, names the folders. Whatever is read may have
been written by anybody: loading a checkpoint reads numbers and bytes, each of which is looked at,
and executes nothing. It does not know what the account says.
"""

from __future__ import annotations

import re
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.saving import identity, notes
from fencepost.checker.native.saving.identity import Identity
from fencepost.checker.native.saving.lawful import Unlawful, look_at, text
from fencepost.checker.native.saving.notes import Malformed, Noted, Notes
from fencepost.checker.search.account import Account
from fencepost.checker.spark import program, records
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.hadoop import Folder, Refused
from fencepost.checker.spark.levels import Start, States
from fencepost.checker.spark.records import Kind
from fencepost.spec.core.ir import Model
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.broadcast import Broadcast
    from pyspark.core.rdd import RDD

FORMAT = 3
FILES = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
CHECKSUM = struct.Struct("<I")
KEY, VALUE = "org.apache.hadoop.io.IntWritable", "org.apache.hadoop.io.BytesWritable"
PLAIN = {"mapreduce.output.fileoutputformat.compress": "false"}
BEGINNING = b"SEQ\x06" + b"".join(bytes([len(c)]) + c.encode() for c in (KEY, VALUE)) + bytes(6)
"""How a sequence file of ours begins: classes that hold a number and bytes, nothing compressed, no
further names. Hadoop makes objects of whatever classes a file names.
"""
FOLDER = re.compile(r"states-\d{6,}-[0-9a-f]{12}")
"""The names of the folders for states."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a manifest says: the last level, how many states were seen, the folders that hold them,
    and the account.
    """

    level: int
    seen: int
    folders: tuple[str, ...]
    account: Noted


class Checkpoints:
    """The checkpoints of one search in one folder. Raises `Rejected` where that cannot be used."""

    def __init__(self, spark: SparkContext, url: str, identity: Identity, model: Model) -> None:
        self._spark = spark
        self._identity = identity
        self._model = model
        self.url = url
        try:
            self._folder = Folder(spark, url)
            self._names = self._folder.names() or []
        except Refused as refused:
            raise unusable(url, str(refused)) from None
        self._folders: tuple[str, ...] = ()
        self.level = 0
        """The last level of the newest complete checkpoint."""
        self._incomplete: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint already."""
        return any(name.startswith("manifest-") for name in self._names)

    def latest(self, account: Account, sizes: Sizes) -> Saved | None:
        """The last checkpoint that is complete; None: there is none. ``account`` is that of a
        search that begins, ``sizes`` those of its machine code.
        """
        for name in sorted(self._names, reverse=True):
            if name.startswith("manifest-"):
                try:
                    manifest = self._identity.opened(self._folder.read(name))
                except Refused as refused:
                    raise unusable(self.url, str(refused)) from None
                if manifest is not None:
                    return self._accepted(manifest.notes, account, sizes)
                self._incomplete.append(name)
        return None

    def save(self, level: int, seen: int, new: Blocks, account: Notes) -> Start:
        """Adds the records of the levels since the last checkpoint; the levels may begin there."""
        folder = f"states-{level:06}-{uuid.uuid4().hex[:12]}"
        try:
            new.mapPartitions(sealed).saveAsNewAPIHadoopFile(
                self._folder.at(folder), FILES, keyClass=KEY, valueClass=VALUE, conf=PLAIN
            )
            folders = (*self._folders, folder)
            manifest = self._identity.notes | {
                "level": level, "seen": seen, "folders": folders, "account": account,
            }  # fmt: skip
            self._folder.write(f"manifest-{level:06}.json", self._identity.closed(manifest))
        except Refused as refused:
            raise unusable(self.url, str(refused)) from None
        self._folders, self.level = folders, level
        return self._start(level, seen, tuple(account["levels"]))

    def start(self, saved: Saved) -> Start:
        """Levels that begin with a checkpoint."""
        self._folders, self.level = saved.folders, saved.level
        return self._start(saved.level, saved.seen, saved.account.levels)

    def _start(self, level: int, seen: int, sizes: tuple[int, ...]) -> Start:
        try:
            files = [file for name in self._folders for file in self._files(name)]
        except Refused as refused:
            raise unusable(self.url, str(refused)) from None
        shipped = self._spark.broadcast(self._model)

        def states(partitions: int) -> RDD[States]:
            found: RDD[tuple[int, bytearray]] = self._spark.sequenceFile(
                ",".join(files), KEY, VALUE, minSplits=partitions
            )
            return found.mapPartitions(partial(unsealed, shipped))

        return Start(level, states, seen, sizes, True)

    def _files(self, name: str) -> list[str]:
        """The files with states in a folder, each of which begins as it must."""
        folder = Folder(self._spark, self._folder.at(name))
        names = [one for one in folder.names() or [] if not one.startswith(("_", "."))]
        for one in names:
            if folder.beginning(one, len(BEGINNING)) != BEGINNING:
                raise unusable(self.url, f"{name}/{one} is no file of states of this format")
        return [folder.at(one) for one in names]

    def tidy(self) -> None:
        """Removes what runs that were killed have left half-written."""
        left = [name for name in self._names if name.startswith("states-")]
        for name in {*left, *self._incomplete} - {*self._folders}:
            self._folder.remove(name)

    def _accepted(self, found: Notes, account: Account, sizes: Sizes) -> Saved:
        differs = self._identity.difference(found)
        if differs is not None:
            raise unusable(self.url, differs)
        try:
            noted = notes.read(found.get("account"), account, Layout(self._model), sizes)
            level, seen = len(noted.levels), sum(noted.levels) + noted.outside
            if found.get("level") != level:
                raise Malformed(f"its account has {level} levels, and it {found.get('level')}")
            if found.get("seen") != seen:
                raise Malformed("its account counts other states than it has")
            named: Sequence[Any] = found.get("folders", ())
            listed = isinstance(found.get("folders"), list)
            folders = tuple(str(name) for name in named) if listed else ()
            if not folders or not all(FOLDER.fullmatch(name) for name in folders):
                raise Malformed("it names folders that are none of its own")
        except Malformed as malformed:
            raise unusable(self.url, str(malformed)) from None
        return Saved(level, seen, folders, noted)


def sealed(given: Iterable[bytes]) -> Iterator[tuple[int, bytearray]]:
    """Records behind their checksums; a sequence file wants keys, too."""
    for data in given:
        kind, level, _ = records.head(data)
        if kind in records.SAVED:
            # Who owns the states depends on the number of partitions, which may be another one.
            found = records.record(kind, level, 0, data[records.HEAD.size :])
            yield 0, bytearray(CHECKSUM.pack(zlib.crc32(found)) + found)


def unsealed(shipped: Broadcast[Model], given: Iterable[tuple[int, bytearray]]) -> Iterator[States]:
    """The states of records: their checksums must fit, they must hold states and nothing else, and
    each must be one of the model. Raises `Damaged`.
    """
    layout = Layout(shipped.value)
    lawful = text(layout)
    for _, data in given:
        found = bytes(data[CHECKSUM.size :])
        if len(found) < records.HEAD.size or zlib.crc32(found) != CHECKSUM.unpack_from(data)[0]:
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


class Damaged(Exception):
    """What was read is not what was written."""


def unusable(url: str, reason: str, *notes: str) -> Rejected:
    """The folder cannot be used."""
    return identity.unusable(f"the checkpoint {url}", reason, *notes)
