"""The table of options for a check, with one row for each option.

It defines the options of the command and of the Python interface, the command lines repeated in
reports, and the errors for options that an engine ignores. `checker.engines` says which engine
accepts which option.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from fencepost.checker.outcome import as_given
from fencepost.checker.printing import units
from fencepost.checker.request import MAX_PARTITIONS
from fencepost.spec.records import dataclass

Read = Callable[[str], object]
"""Reads the value of an option from text. Raises `ValueError`, whose message is a sentence for the
user.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a check.

    ``flag`` is its name on the command line, and ``name`` its name in Python. ``field`` is the path
    of the attribute of `run.job.Request` that holds its value.
    """

    flag: str
    name: str
    field: str
    help: str = ""
    metavar: str = ""
    """The placeholder for the value in the help text. Empty if the option takes no value."""
    read: Read = str
    several: bool = False
    """Whether the option may be given more than once."""
    stored: Callable[[Any], object] | None = None
    """Converts the parsed value to the value of the field. None keeps the parsed value."""
    words: Callable[[Any], Iterable[str]] | None = None
    """Formats the field for a repeated command line. None uses ``str``."""
    low: float | None = None
    high: float | None = None
    """The inclusive bounds of a number."""
    topic: str = ""
    """If set, the help lists the options of this topic in one line, without descriptions."""
    excludes: tuple[str, ...] = ()
    """The flags that conflict with this option."""
    needs: str = ""
    """The flag that this option requires."""
    why: str = ""
    """The reason for ``excludes`` or ``needs``, as a clause."""
    one_search: bool = False
    """Whether the option is limited to checks that need a single search."""
    no_scenario: bool = False
    """Whether the option does not apply to scenarios."""


def number(low: int, high: int | None = None) -> Callable[[str], int]:
    """Returns a function that reads an integer of at least ``low`` and at most ``high``, if
    ``high`` is not None.

    Digits may be grouped, as in ``1_000_000``.
    """

    def read(text: str) -> int:
        digits = text.strip().replace("_", "")
        if digits.isascii() and digits.isdigit() and len(digits) <= 18:
            value = int(digits)
            if value >= low and (high is None or value <= high):
                return value
        where = f"from {low} up" if high is None else f"from {low} to {high}"
        raise ValueError(f'"{text}" is not an integer {where}')

    return read


def constant(text: str) -> tuple[str, str]:
    """Reads ``K=V`` as a pair of name and value."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ValueError(f'"{text}" is not of the form NAME=VALUE')
    return name.strip(), value.strip()


def setting(text: str) -> tuple[str, str]:
    """Reads ``spark.x.y=V`` as a pair of name and value. The value may be empty."""
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise ValueError(f'"{text}" is not of the form spark.NAME=VALUE')
    return name, value


def names(text: str) -> tuple[str, ...]:
    """Reads names separated by commas. Empty text gives an empty tuple."""
    read = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    if "" in read:
        raise ValueError(f'"{text}" is not a list of names')
    return read


def _pairs(values: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name}={value}" for name, value in values]


def _seconds(value: float) -> list[str]:
    return [f"{value:g}"]


MAX_COUNTEREXAMPLES = 100
SYMBOLIC = "bmc, induction (docs/symbolic.md)"
LONG = "Long runs (docs/large-models.md)"
SPARK = "Spark (docs/spark.md)"
MODULES = "TLA+ modules (docs/tla.md)"

OPTIONS = (
    Option(
        "--check", "checks", "checks", "Use only this check.", "NAME", several=True, stored=tuple,
    ),
    Option(
        "--const", "const", "settings.overrides", "Set a constant.", "K=V", constant, several=True,
        stored=dict, words=lambda values: _pairs(values.items()),
    ),
    Option(
        "--invariant", "invariants", "settings.invariants", "Check only this property.", "I",
        several=True, stored=tuple, no_scenario=True,
    ),
    Option("--path", "path", "search", "Also find modules in this folder.", "DIR", several=True),
    Option(
        "--config", "config", "settings.configs", "", "FILE", several=True, stored=tuple,
        topic=MODULES,
    ),
    Option(
        "--allow-read", "allow_read", "settings.readable", "", "DIR", several=True, stored=tuple,
        topic=MODULES,
    ),
    Option("--engine", "engine", "settings.engine", "Engine: local (default), spark, ...", "NAME"),
    Option("--slow", "slow", "slow", "Include slow checks."),
    Option("--strict", "strict", "settings.strict", "Fail on remarks (exit code 4)."),
    Option("--continue", "keep_going", "settings.keep_going", "Report every violated property."),
    Option(
        "--counterexamples", "counterexamples", "settings.counterexamples",
        "Show N traces with different causes.", "N", number(1, MAX_COUNTEREXAMPLES), low=1,
        high=MAX_COUNTEREXAMPLES, excludes=("--continue",),
        why="it shows counterexamples of one property", one_search=True, no_scenario=True,
    ),
    Option(
        "--profile", "profile", "settings.profile", "Show value ranges and blocking guards.",
        one_search=True, no_scenario=True,
    ),
    Option(
        "--no-symmetry", "no_symmetry", "settings.symmetry",
        "Visit all states, not one per orbit.", stored=lambda value: not value,
    ),
    Option(
        "--depth", "depth", "settings.limits.depth", "Search up to D steps.", "D", number(0), low=0,
    ),
    Option(
        "--max-states", "max_states", "settings.limits.max_states", "Stop after N states.", "N",
        number(1), low=1,
    ),
    Option(
        "--timeout", "timeout", "settings.limits.timeout", "Stop a check after 90s, 5m, 1h.", "T",
        units.duration, words=_seconds, low=0, high=math.inf,
    ),
    Option(
        "--workers", "workers", "settings.limits.workers", "Threads (default: one per free core).",
        "N", number(1, units.MAX_WORKERS), low=1, high=units.MAX_WORKERS,
    ),
    Option(
        "--jobs", "jobs", "jobs", "Run N checks in parallel.", "N",
        number(1, units.MAX_WORKERS), low=1, high=units.MAX_WORKERS,
    ),
    Option(
        "--memory", "memory", "settings.limits.memory", "Stop at 4G, 512M, 80% of memory.", "SIZE",
        units.memory, words=lambda value: [as_given(value)], low=units.MIN_MEMORY,
    ),
    Option(
        "--cross-check", "cross_check", "settings.cross_check", "", "[=E,...]", names,
        topic=SYMBOLIC,
    ),
    Option("--k", "k", "settings.limits.solving.k", "", "K", number(1), low=1, topic=SYMBOLIC),
    Option(
        "--solver-timeout", "solver_timeout", "settings.limits.solving.seconds", "", "T",
        units.duration, words=_seconds, low=0, high=math.inf, topic=SYMBOLIC,
    ),
    Option(
        "--dump-smt2", "smt2", "settings.limits.solving.record", "", "FILE", stored=bool,
        words=lambda _: (), topic=SYMBOLIC,
    ),
    Option(
        "--checkpoint", "checkpoint", "settings.saving.checkpoint", "", "DIR", topic=LONG,
        one_search=True, no_scenario=True,
    ),
    Option(
        "--resume", "resume", "settings.saving.resume", "", "DIR", topic=LONG,
        one_search=True, no_scenario=True,
        excludes=("--checkpoint",), why="the search is saved there, too",
    ),
    Option("--spill", "spill", "settings.limits.spill", "", "DIR", topic=LONG, one_search=True),
    Option(
        "--resume-unsigned", "resume_unsigned", "settings.saving.unsigned", topic=LONG,
        needs="--resume", why="it applies to a resumed search",
    ),
    Option("--master", "master", "settings.cluster.master", "", "URL", topic=SPARK),
    Option(
        "--partitions", "partitions", "settings.cluster.partitions", "", "N",
        number(1, MAX_PARTITIONS), low=1, high=MAX_PARTITIONS, topic=SPARK,
    ),
    Option(
        "--spark-conf", "spark_conf", "settings.cluster.settings", "", "K=V", setting, several=True,
        words=_pairs, topic=SPARK,
    ),
    Option(
        "--save-states", "save_states", "settings.cluster.states", "", "DIR", topic=SPARK,
        one_search=True, no_scenario=True,
    ),
    Option("--ship-package", "ship_package", "settings.cluster.ship", topic=SPARK),
    Option(
        "session", "session", "settings.cluster.session", metavar="SESSION", words=lambda _: (),
        excludes=("--master", "--spark-conf"), why="it is used as it is",
    ),
)  # fmt: skip
"""The options in the order of the help. A flag without dashes exists only in Python. If an engine
ignores several options, the error names the first one in this order.
"""

BY_FLAG: Mapping[str, Option] = {option.flag: option for option in OPTIONS}


def flags(part: str) -> frozenset[str]:
    """Returns the flags of the options that are stored in the given part of the request."""
    return frozenset(o.flag for o in OPTIONS if o.field.startswith(f"{part}."))


def given(request: object, default: object) -> dict[str, Any]:
    """Returns the options of a `run.settings.Request` that differ from their defaults, as values by
    flag, in the order of the table.
    """
    values: dict[str, Any] = {}
    for option in OPTIONS:
        value = _value(request, option)
        if value is not None and value != _value(default, option):
            values[option.flag] = value
    return values


def _value(request: object, option: Option) -> Any:
    try:
        return attrgetter(option.field)(request)
    except AttributeError:
        # The option belongs to an optional part of the request that is None.
        return None


def repeated(values: Mapping[str, Any]) -> list[str]:
    """Formats options as the words of a command line."""
    line: list[str] = []
    for flag, value in values.items():
        option = BY_FLAG[flag]
        if not option.metavar:
            line.append(flag)
        elif option.metavar.startswith("["):
            line.append("=".join([flag, *filter(None, [",".join(value)])]))
        else:
            each = value if option.several else [value]
            texts = map(str, each) if option.words is None else option.words(value)
            for text in texts:
                line += [flag, text]
    return line


def mistakes(values: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    """Yields messages about values that no engine accepts: numbers out of bounds, and options that
    exclude or need each other.

    The keys of ``values`` are the options' names in Python. ``names`` maps each flag to the name
    that messages use.
    """
    present = [option for option in OPTIONS if asked(option, values.get(option.name))]
    wanted = {option.flag for option in present}
    for option in present:
        name, value = names[option.flag], values[option.name]
        if option.low is not None and not _within(value, option.low, option.high):
            bounds = f"at least {option.low}"
            if option.high == math.inf:
                bounds = "a number of seconds from 0 up; None means no limit"
            elif option.high is not None:
                bounds = f"from {option.low} to {option.high}"
            yield f"{name}={value}: it must be {bounds}"
        barred = [names[flag] for flag in option.excludes if flag in wanted]
        if barred:
            yield f"{name}: {option.why}; leave out {' and '.join(barred)}"
        if option.needs and option.needs not in wanted:
            yield f"{name}: {option.why}, but {names[option.needs]} is not given"


def asked(option: Option, value: object) -> bool:
    """Returns whether ``value`` has a different effect from leaving out the option."""
    return value is not None and value is not False and not (option.several and not value)


def _within(value: float, low: float, high: float | None) -> bool:
    return low <= value < math.inf and (high is None or value <= high)


def first(wanted: Collection[str], barred: Collection[str]) -> str:
    """Returns the first flag in the table that is in both collections, or "" if there is none."""
    return next((o.flag for o in OPTIONS if o.flag in wanted and o.flag in barred), "")
