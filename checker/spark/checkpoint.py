"""Checkpoints: the states found so far and the account of the search, in a folder.

States are records with checksums in sequence files, one folder of them for the levels since the
checkpoint before; a manifest in JSON, written last, names the folders. Loading one reads numbers
and bytes, and executes nothing. It does not know what the account says.
"""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost import __version__
from fencepost.checker.spark import records
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.hadoop import Folder, Refused
from fencepost.checker.spark.levels import Start, States
from fencepost.checker.spark.records import Kind
from fencepost.spec.problem import Problem, Rejected

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

FORMAT = 1
FILES = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
CHECKSUM = struct.Struct("<I")
KEY, VALUE = "org.apache.hadoop.io.IntWritable", "org.apache.hadoop.io.BytesWritable"
Notes = dict[str, Any]
"""What JSON can hold."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint belongs to; ``code`` is the search as LLVM's text."""

    model: str
    constants: Mapping[str, str]
    code: str
    asked: str

    @property
    def notes(self) -> Notes:
        """The same for a manifest."""
        return {
            "format": FORMAT,
            "fencepost": __version__,
            "model": self.model,
            "constants": dict(self.constants),
            "asked": self.asked,
            "code": hashlib.sha256(self.code.encode()).hexdigest(),
        }


@dataclass(frozen=True, slots=True)
class Saved:
    """What a manifest says: the last level, how many states were seen, the folders that hold them,
    and the account.
    """

    level: int
    seen: int
    folders: tuple[str, ...]
    account: Notes


class Checkpoints:
    """The checkpoints of one search in one folder. Raises `Rejected` where that cannot be used."""

    def __init__(self, spark: SparkContext, url: str, identity: Identity) -> None:
        self._spark = spark
        self._identity = identity
        self._url = url
        try:
            self._folder = Folder(spark, url)
            self._names = self._folder.names() or []
        except Refused as refused:
            raise unusable(url, str(refused)) from None
        self._folders: tuple[str, ...] = ()
        self._incomplete: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint already."""
        return any(name.startswith("manifest-") for name in self._names)

    def latest(self) -> Saved | None:
        """The last checkpoint that is complete; None: there is none."""
        for name in sorted(self._names, reverse=True):
            if name.startswith("manifest-"):
                try:
                    notes = _opened(self._folder.read(name))
                except Refused as refused:
                    raise unusable(self._url, str(refused)) from None
                if notes is not None:
                    return self._accepted(notes)
                self._incomplete.append(name)
        return None

    def save(self, level: int, seen: int, new: Blocks, account: Notes) -> Start:
        """Adds the records of the levels since the last checkpoint; the levels may begin there."""
        folder = f"states-{level:06}-{uuid.uuid4().hex[:12]}"
        try:
            new.mapPartitions(sealed).saveAsNewAPIHadoopFile(
                self._folder.at(folder), FILES, keyClass=KEY, valueClass=VALUE
            )
            folders = (*self._folders, folder)
            notes = self._identity.notes | {
                "level": level, "seen": seen, "folders": folders, "account": account,
            }  # fmt: skip
            self._folder.write(f"manifest-{level:06}.json", _closed(notes))
        except Refused as refused:
            raise unusable(self._url, str(refused)) from None
        self._folders = folders
        return self.start(Saved(level, seen, folders, account))

    def start(self, saved: Saved) -> Start:
        """Levels that begin with a checkpoint."""
        self._folders = saved.folders
        paths = ",".join(self._folder.at(folder) for folder in saved.folders)

        def states(partitions: int) -> RDD[States]:
            found: RDD[tuple[int, bytearray]] = self._spark.sequenceFile(
                paths, KEY, VALUE, minSplits=partitions
            )
            return found.mapPartitions(unsealed)

        return Start(saved.level, states, saved.seen)

    def tidy(self) -> None:
        """Removes what runs that were killed have left half-written."""
        left = [name for name in self._names if name.startswith("states-")]
        for name in {*left, *self._incomplete} - {*self._folders}:
            self._folder.remove(name)

    def _accepted(self, notes: Notes) -> Saved:
        mine = self._identity.notes
        differs = next((name for name in mine if notes.get(name) != mine[name]), None)
        if differs is not None:
            raise unusable(self._url, _difference(differs, notes, mine))
        return Saved(
            int(notes["level"]), int(notes["seen"]), tuple(notes["folders"]), notes["account"]
        )


def _difference(name: str, theirs: Notes, mine: Notes) -> str:
    """In what a checkpoint differs from this search."""
    match name:
        case "format" | "fencepost":
            return f"it was made by fencepost {theirs.get('fencepost')}, and this is {__version__}"
        case "model":
            return f"it belongs to the spec {theirs.get('model')}, and this is {mine['model']}"
        case "constants":
            before: dict[str, str] = theirs.get("constants") or {}
            now: dict[str, str] = mine["constants"]
            for constant in sorted({*before, *now}):
                if before.get(constant) != now.get(constant):
                    return (
                        f"it was made with {constant} = {before.get(constant)}, and now it is "
                        f"{now.get(constant)}"
                    )
            return "it was made with other constants"
        case "asked":
            return f"it looks for {theirs.get('asked')}, and now it is {mine['asked']}"
        case _:
            return "the spec has changed since"


def sealed(given: Iterable[bytes]) -> Iterator[tuple[int, bytearray]]:
    """Records behind their checksums; a sequence file wants keys, too."""
    for data in given:
        if records.head(data).kind in (*records.KEPT, Kind.FRONTIER):
            yield 0, bytearray(CHECKSUM.pack(zlib.crc32(data)) + data)


def unsealed(given: Iterable[tuple[int, bytearray]]) -> Iterator[States]:
    """The states of records, whose checksums must fit."""
    for _, data in given:
        found = bytes(data[CHECKSUM.size :])
        if len(found) < records.HEAD.size or zlib.crc32(found) != CHECKSUM.unpack_from(data)[0]:
            raise Damaged("a record of the checkpoint is damaged")
        kind, level, _ = records.head(found)
        yield kind, level, found[records.HEAD.size :]


class Damaged(Exception):
    """What was read is not what was written."""


def _closed(notes: Notes) -> bytes:
    text = json.dumps(notes, sort_keys=True)
    return json.dumps({"crc32": zlib.crc32(text.encode()), "manifest": text}).encode()


def _opened(content: bytes) -> Notes | None:
    """A manifest; None: it is not complete."""
    try:
        outer = json.loads(content)
        text = outer["manifest"]
        if zlib.crc32(text.encode()) != outer["crc32"]:
            return None
        notes: Notes = json.loads(text)
        return notes
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def unusable(url: str, reason: str, *notes: str) -> Rejected:
    """The folder cannot be used."""
    what = f"the checkpoint {url} cannot be used: {reason}"
    return Rejected([Problem("F035", None, what, tuple((None, note) for note in notes))])
