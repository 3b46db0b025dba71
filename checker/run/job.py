"""A check that is ready to run, and what the user asked for.

It knows no engine, and does not know how a result is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from fencepost.checker.request import Cluster, Limits, Progress, Request, Saving
from fencepost.spec.core.ir import Model
from fencepost.spec.core.scenario import Scenario
from fencepost.spec.elaborate.program import Check, Program
from fencepost.spec.records import dataclass


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


@dataclass(frozen=True, slots=True)
class Job:
    """A check that is ready to run. Of its limits, the number of workers is never None."""

    program: Program
    check: Check
    model: Model
    engine: str
    properties: frozenset[int]
    deadlock: bool
    limits: Limits
    settings: Settings
    model_name: str | None = None
    """Names ``model`` by its content, across runs; None: it has no such name."""
    scenario: Scenario | None = None
    """What some run is to fit; None: properties are checked."""

    @property
    def title(self) -> str:
        """The name of the check; of the spec, where the check has none."""
        return self.check.name or Path(self.program.path).name

    @property
    def folder(self) -> str:
        """The name of the check's folder among those of others."""
        return f"{Path(self.program.path).stem}-{self.title}"

    @property
    def workers(self) -> int:
        """How many workers search."""
        return self.limits.workers or 1

    def request(self, progress: Callable[[Progress], None]) -> Request:
        """What the engine is asked."""
        name, saving = self.model_name, self.settings.saving
        return Request(
            self.model,
            self.properties,
            self.deadlock,
            self.limits,
            self.settings.keep_going,
            progress,
            self.settings.profile,
            self.settings.symmetry,
            saving=None if saving is None else replace(saving, title=self.folder),
            named=None if name is None else (self.model, name),
        )
