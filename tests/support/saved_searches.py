"""Helpers for tests of folders with saved searches that cannot be used."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.command import Ran

from fencepost.checker.native.saving.identity import Identity
from fencepost.checker.user_key import Key, Purpose, Unusable, read_key


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the contents of all files below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(resumed: Callable[[Path], Ran], folder: Path, phrase: str) -> None:
    """Requires a clear error and that no file changes."""
    before = contents(folder)
    ran = resumed(folder)
    assert ran.code == 151, ran
    assert "error[F035]: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert phrase in ran.stderr
    assert contents(folder) == before


def figures(ran: Ran) -> list[str]:
    """Returns the verdict and the counts."""
    return re.findall(r"violated \w+|[\d,]+ (?:distinct|generated)", ran.stdout)


def closed(
    notes: Mapping[str, Any],
    purpose: Purpose = Purpose.LOCAL_CHECKPOINT,
    key: Key | Unusable | None = None,
) -> bytes:
    """Builds a manifest with these notes and a valid digest.

    ``key`` signs the manifest; the default is the user's key. Without a usable key, the manifest is
    not signed.
    """
    key = key or read_key()
    return Identity(0, "", {}, "", "", purpose, key, None).closed({**notes})


def closed_before_signatures(notes: Mapping[str, Any]) -> bytes:
    """Builds a manifest in the earlier format, which has a CRC-32 and no signature."""
    text = json.dumps({**notes}, sort_keys=True)
    return json.dumps({"crc32": zlib.crc32(text.encode()), "manifest": text}).encode()
