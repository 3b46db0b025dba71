"""The request of a run: the values of all options, which apply to every check."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from fencepost.checker import options
from fencepost.checker.request import Cluster, Limits, Saving, Solving
from fencepost.spec.records import dataclass
from fencepost.spec.text.library import is_folder, short_name


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for, whatever the check; None and empty mean "as the check says"."""

    overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of new values of constants, by path."""
    invariants: tuple[str, ...] = ()
    """The properties to check instead of the check's."""
    engine: str | None = None
    limits: Limits = field(default_factory=Limits)
    keep_going: bool = False
    cluster: Cluster | None = None
    """What is asked of an engine that runs on a cluster."""
    cross_check: tuple[str, ...] | None = None
    """The engines that run the check too (see `cross_check`); empty: one of another kind; None:
    none.
    """
    profile: bool = False
    """Whether the states that were visited are described."""
    symmetry: bool = True
    """Whether one state may stand for others that differ in which value of a symmetric type is
    which.
    """
    saving: Saving | None = None
    """Where the search is saved from time to time."""
    strict: bool = False
    """Whether a remark that deserves a second look makes a check fail."""

    @property
    def given(self) -> dict[str, Any]:
        """The values of options that differ from their defaults, by flag."""
        return options.given(Request((), settings=self), DEFAULT)


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `fencepost check`. ``specs`` may be folders; ``search`` is --path."""

    specs: tuple[Path, ...]
    checks: tuple[str, ...] = ()
    slow: bool = False
    search: tuple[Path, ...] = ()
    settings: Settings = field(default_factory=Settings)
    jobs: int | None = None
    """How many checks run side by side (--jobs); None: as many as there is room for."""

    @property
    def single(self) -> bool:
        """Whether the request names one file: then the JSON report is an object, no array."""
        return len(self.specs) == 1 and not is_folder(self.specs[0])


DEFAULT = Request((), settings=Settings(cluster=Cluster(), saving=Saving("")))
"""A request that asks for nothing, with every part in which an option may have its value."""


def request_of(specs: tuple[Path, ...], values: Mapping[str, Any]) -> Request:
    """The request for values of options, by their names in Python; those left out, None, False and
    () are as the check says.
    """
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    for option in options.OPTIONS:
        value = values.get(option.name)
        if options.asked(option, value):
            part, _, name = option.field.rpartition(".")
            parts[part][name] = value if option.stored is None else option.stored(value)
    limits = Limits(**parts["settings.limits"], solving=Solving(**parts["settings.limits.solving"]))
    settings = Settings(
        **parts["settings"],
        limits=limits,
        cluster=Cluster(**parts["settings.cluster"]) if parts["settings.cluster"] else None,
        saving=_saving(**parts["settings.saving"]),
    )
    return Request(specs, **parts[""], settings=settings)


def _saving(
    checkpoint: str | None = None, resume: str | None = None, unsigned: bool = False
) -> Saving | None:
    if resume is not None:
        return Saving(resume, True, unsigned=unsigned)
    return None if checkpoint is None else Saving(checkpoint)


def command_line(request: Request) -> str:
    """The command that runs a request again."""
    words = ["fencepost", "check", *(short_name(spec) for spec in request.specs)]
    return shlex.join([*words, *options.repeated(options.given(request, DEFAULT))])
