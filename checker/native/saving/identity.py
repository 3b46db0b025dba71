"""The identity of a saved search, and manifests that are authenticated by a MAC."""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping
from typing import Any

from fencepost import __version__
from fencepost.checker.native.saving.notes import Notes
from fencepost.checker.request import Request
from fencepost.checker.search.orbits import searched_in_orbits
from fencepost.checker.user_key import Key, Purpose, Unusable, read_key
from fencepost.spec.core.spelling import show
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected


@dataclass(frozen=True, slots=True)
class Identity:
    """Identifies the search of a checkpoint. ``form`` is the number of the format, and ``code`` is
    the LLVM text.
    """

    form: int
    model: str
    constants: Mapping[str, str]
    code: str
    asked: str
    purpose: Purpose
    key: Key | Unusable
    """The signing key, or `Unusable` if manifests are not signed."""
    unsigned_form: int | None
    """The number of an older, unsigned format that can be read."""

    @property
    def notes(self) -> Notes:
        """The identity as fields of a manifest."""
        return {
            "format": self.form,
            "fencepost": __version__,
            "model": self.model,
            "constants": dict(self.constants),
            "asked": self.asked,
            "code": hashlib.sha256(self.code.encode()).hexdigest(),
        }

    def difference(self, theirs: Notes) -> str | None:
        """Returns a description of the first difference between a manifest and this search, or None
        if they match.
        """
        mine = self.notes
        if self.unsigned_form is not None and theirs.get("format") == self.unsigned_form:
            mine["format"] = self.unsigned_form
        name = next((name for name in mine if theirs.get(name) != mine[name]), None)
        match name:
            case None:
                return None
            case "format":
                return (
                    f"it has the format {theirs.get('format')}, but this fencepost reads the "
                    f"format {self.form}: start the search again, in another folder"
                )
            case "fencepost":
                theirs_version = theirs.get("fencepost")
                return f"it was made by fencepost {theirs_version}, but this is {__version__}"
            case "model":
                return f"it belongs to the spec {theirs.get('model')}, but this is {mine['model']}"
            case "constants":
                return _other_constant(theirs.get("constants"), mine["constants"])
            case "asked":
                return f"it looks for {theirs.get('asked')}, but now it is {mine['asked']}"
            case _:
                return "the spec has changed"

    def closed(self, manifest: Notes) -> bytes:
        """Serializes a manifest with its digest, and its MAC if there is a key."""
        text = json.dumps(manifest, sort_keys=True)
        outer = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "manifest": text}
        if isinstance(self.key, Key):
            outer["mac"] = self.key.mac(self.purpose, text.encode()).hex()
        return json.dumps(outer).encode()

    def opened(self, content: bytes) -> Manifest | None:
        """Parses a manifest; returns None if it is damaged."""
        try:
            outer = json.loads(content)
            text = outer["manifest"].encode()
            if "sha256" in outer:
                whole = outer["sha256"] == hashlib.sha256(text).hexdigest()
            else:
                whole = outer["crc32"] == zlib.crc32(text)
            if not whole:
                return None
            return Manifest({**json.loads(text)}, self._unsigned(text, outer))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def _unsigned(self, text: bytes, outer: Mapping[str, Any]) -> str | None:
        """Returns the reason why a manifest cannot be trusted, or None if its MAC is right."""
        if "sha256" not in outer:
            return "it has an older, unsigned format"
        if "mac" not in outer:
            return "it is not signed"
        if isinstance(self.key, Unusable):
            return f"its signature cannot be verified: {self.key}"
        mac = str(outer["mac"]).encode()
        if hmac.compare_digest(mac, self.key.mac(self.purpose, text).hex().encode()):
            return None
        return "it was not signed with the key of this user"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest. ``unsigned`` is the reason why it cannot be trusted, or None."""

    notes: Notes
    unsigned: str | None

    @property
    def relies_on_unsigned(self) -> bool:
        """Whether this or an earlier checkpoint of the same search is unsigned."""
        return self.unsigned is not None or self.notes.get("unsigned") is not False


def _other_constant(theirs: Any, now: Mapping[str, str]) -> str:
    try:
        before: dict[str, Any] = {**theirs}
    except TypeError:
        before = {}
    for constant in sorted({*before, *now}):
        if before.get(constant) != now.get(constant):
            value = before.get(constant)
            return f"it was made with {constant} = {value}, but now it is {now.get(constant)}"
    return "it was made with other constants"


def identity(
    form: int, request: Request, code: str, purpose: Purpose, unsigned_form: int | None
) -> Identity:
    """Returns the identity of the search that a request asks for."""
    model = request.model
    constants = {constant.path: show(constant.value, constant.type) for constant in model.constants}
    asked = describe(request)
    return Identity(form, model.name, constants, code, asked, purpose, read_key(), unsigned_form)


def describe(request: Request) -> str:
    """Describes the objective of a search in a text that distinguishes it from other objectives."""
    properties = request.model.properties
    names = [properties[number].name or str(number) for number in sorted(request.properties)]
    if request.deadlock:
        names.append("deadlock")
    going = ", and continues after problems" if request.keep_going else ""
    profiled = ", with a profile" if request.profile else ""
    orbits = ", in orbits" if searched_in_orbits(request) else ""
    return ", ".join(names or ["errors"]) + going + profiled + orbits


RESUME_UNSIGNED = "--resume-unsigned resumes it, and every report of that search says so"


def unusable(which: str, reason: str, *notes: str) -> Rejected:
    """Returns the problem to report for a checkpoint that cannot be used."""
    message = f"{which} cannot be used: {reason}"
    return Rejected([Problem("F035", None, message, tuple((None, note) for note in notes))])
