"""What a search that was saved belongs to, and its manifest: numbers and texts behind a checksum.

It does not know where manifests are kept, nor what else they say.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

from fencepost import __version__
from fencepost.checker.native.saving.notes import Notes
from fencepost.checker.request import Request
from fencepost.checker.search.orbits import searched_in_orbits
from fencepost.spec.core.spelling import show
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint belongs to; ``form`` is the number of its format, ``code`` the search as
    LLVM's text.
    """

    form: int
    model: str
    constants: Mapping[str, str]
    code: str
    asked: str

    @property
    def notes(self) -> Notes:
        """The same for a manifest."""
        return {
            "format": self.form,
            "fencepost": __version__,
            "model": self.model,
            "constants": dict(self.constants),
            "asked": self.asked,
            "code": hashlib.sha256(self.code.encode()).hexdigest(),
        }

    def difference(self, theirs: Notes) -> str | None:
        """In what a manifest is not one of this search; None: it is."""
        mine = self.notes
        name = next((name for name in mine if theirs.get(name) != mine[name]), None)
        match name:
            case None:
                return None
            case "format":
                return (
                    f"it has the format {theirs.get('format')}, and this fencepost reads the "
                    f"format {self.form}: begin the search anew, in another folder"
                )
            case "fencepost":
                made = theirs.get("fencepost")
                return f"it was made by fencepost {made}, and this is {__version__}"
            case "model":
                return f"it belongs to the spec {theirs.get('model')}, and this is {mine['model']}"
            case "constants":
                return _other_constant(theirs.get("constants"), mine["constants"])
            case "asked":
                return f"it looks for {theirs.get('asked')}, and now it is {mine['asked']}"
            case _:
                return "the spec has changed since"


def _other_constant(theirs: Any, now: Mapping[str, str]) -> str:
    try:
        before: dict[str, Any] = {**theirs}
    except TypeError:
        before = {}
    for constant in sorted({*before, *now}):
        if before.get(constant) != now.get(constant):
            made = before.get(constant)
            return f"it was made with {constant} = {made}, and now it is {now.get(constant)}"
    return "it was made with other constants"


def identity(form: int, request: Request, code: str) -> Identity:
    """What a checkpoint of this search belongs to."""
    model = request.model
    constants = {one.path: show(one.value, one.type) for one in model.constants}
    return Identity(form, model.name, constants, code, describe(request))


def describe(request: Request) -> str:
    """What a search looks for, as a sentence that tells it from others."""
    properties = request.model.properties
    names = [properties[number].name or str(number) for number in sorted(request.properties)]
    if request.deadlock:
        names.append("deadlock")
    going = ", and goes on behind problems" if request.keep_going else ""
    profiled = ", with a profile" if request.profile else ""
    orbits = ", in orbits" if searched_in_orbits(request) else ""
    return ", ".join(names or ["errors"]) + going + profiled + orbits


def closed(manifest: Notes) -> bytes:
    """A manifest behind its checksum."""
    text = json.dumps(manifest, sort_keys=True)
    return json.dumps({"crc32": zlib.crc32(text.encode()), "manifest": text}).encode()


def opened(content: bytes) -> Notes | None:
    """A manifest; None: it is not complete."""
    try:
        outer = json.loads(content)
        text = outer["manifest"]
        if zlib.crc32(text.encode()) != outer["crc32"]:
            return None
        manifest: Any = json.loads(text)
        return {**manifest}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def unusable(which: str, reason: str, *notes: str) -> Rejected:
    """A checkpoint cannot be used."""
    what = f"{which} cannot be used: {reason}"
    return Rejected([Problem("F035", None, what, tuple((None, note) for note in notes))])
