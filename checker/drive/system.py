"""The real system, as the driver sees it: an object of three methods that its owner writes.

What it says is JSON, as the lines of a recording are. It is code of somebody else, so whatever
goes wrong in it is a problem with its place, and no fault of ours.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast, runtime_checkable

from fencepost.checker.printing.json_values import Json
from fencepost.spec.text.problem import Problem, Rejected, listing, suggestion

METHODS = ("reset", "send", "observe")
SHIPPED = {"kafka": "fencepost.checker.kafka.brokers:Brokers"}
"""Systems that have a short name."""


@runtime_checkable
class System(Protocol):
    """A real system that can be driven.

    Requests and events have the fields that the mapping declares, as JSON.
    """

    def reset(self) -> None:
        """A new history begins: the system is as the model is in its initial state."""
        ...

    def send(self, request: str, fields: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Does what an event of the mapping says, ``request`` by its name, and returns when it has
        been done: the other fields of the event, which are the answer ({} if there are none). None
        says that it has done nothing, as this cannot be asked of it now.
        """
        ...

    def observe(self) -> Iterable[Mapping[str, Json]]:
        """The lines that the system has logged since it was last asked, without requests and
        their answers; source by source in order.
        """
        ...


def system(where: str, options: Mapping[str, str]) -> System:
    """The system at ``FILE.py:NAME`` or ``MODULE:NAME``, made with its options. Raises
    `Rejected`.
    """
    place, colon, name = SHIPPED.get(where, where).rpartition(":")
    if not colon or not place or not name:
        short = f"{listing(list(SHIPPED), 'and')}{suggestion(where, SHIPPED)}"
        what = f"{where} names no system: FILE.py:NAME, MODULE:NAME, or {short}"
        raise Rejected([Problem("F853", None, what)])
    with _their_code(where):
        module = _module(place)
    known = [one for one in vars(module) if not one.startswith("_")]
    if name not in known:
        hint = suggestion(name, known)
        raise Rejected([Problem("F853", None, f"{place} has no {name}{hint}")])
    made = getattr(module, name)
    if not callable(made):
        raise Rejected([Problem("F853", None, f"{name} of {place} cannot be called")])
    signature = inspect.signature(made)
    known = list(signature.parameters)
    for option in options:
        if option not in known and inspect.Parameter.VAR_KEYWORD not in _kinds(signature):
            hint = suggestion(option, known)
            what = f"{where} has no option {option}{hint}"
            raise Rejected([Problem("F853", None, what)])
    try:
        signature.bind(**options)
    except TypeError as error:
        what = f"{name} of {place} cannot be made with these options: {error}"
        raise Rejected([Problem("F853", None, what)]) from None
    with _their_code(where):
        found = made(**options)
    missing = [one for one in METHODS if not callable(getattr(found, one, None))]
    if missing:
        what = f"{name} of {place} has no {listing(missing, 'and')}"
        raise Rejected([Problem("F853", None, what)])
    return cast("System", found)


def _kinds(signature: inspect.Signature) -> set[object]:
    return {one.kind for one in signature.parameters.values()}


class Guarded:
    """A system whose mistakes are problems: F853. One that has a method ``close`` is closed, and
    one that has a method ``weight`` is asked how often it wants each request.
    """

    def __init__(self, inner: System) -> None:
        self._inner = inner

    def reset(self) -> None:
        with _their_code("reset"):
            self._inner.reset()

    def close(self) -> None:
        with _their_code("close"):
            getattr(self._inner, "close", lambda: None)()

    def weight(self, request: str) -> float:
        """How often a request is sent, compared with others; 0 is never."""
        with _their_code(f"weight of {request}"):
            weigh: Callable[[str], object] | None = getattr(self._inner, "weight", None)
            found = 1.0 if weigh is None else weigh(request)
        if not isinstance(found, int | float) or not 0 <= found < inf:
            said = f"weight of {request} gives {found!r}; a number from 0 on is wanted"
            raise Rejected([Problem("F853", None, said)])
        return float(found)

    def send(self, request: str, fields: Mapping[str, Json]) -> dict[str, Json] | None:
        with _their_code(f"send of {request}"):
            answer = self._inner.send(request, fields)
        return None if answer is None else _object(answer, f"send of {request}")

    def observe(self) -> list[dict[str, Json]]:
        with _their_code("observe"):
            lines = list(self._inner.observe())
        return [_object(line, "observe") for line in lines]


def _object(value: object, what: str) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        said = f"{what} gives {type(value).__name__}; an object with fields is wanted"
        raise Rejected([Problem("F853", None, said)])
    return dict(cast("Mapping[str, Json]", value))


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place)
    name = f"fencepost_system_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module there.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _their_code(what: str) -> Generator[None]:
    try:
        yield
    except Rejected:
        raise
    except Exception as error:
        where = _where(traceback.extract_tb(error.__traceback__))
        said = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise Rejected([Problem("F853", None, f"{what}: {said}{where}")]) from None


def _where(frames: Sequence[traceback.FrameSummary]) -> str:
    """The innermost line that is theirs."""
    theirs = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    return f" ({theirs[-1].filename}:{theirs[-1].lineno})" if len(theirs) > 1 else ""
