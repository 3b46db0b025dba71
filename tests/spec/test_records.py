"""Our data classes are equivalent to those of the standard module `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import pytest
from tests.support.paths import ROOT

from fencepost.spec import records

Decorator = Callable[..., Callable[[type[Any]], type[Any]]]


def classes(home: Any) -> SimpleNamespace:
    """Defines some classes with one of the two modules; also returns the module's ``replace``."""
    dataclass: Decorator = home.dataclass

    @dataclass(frozen=True, slots=True)
    class Empty:
        """No fields."""

    @dataclass(frozen=True, slots=True)
    class Base:
        span: int = dataclasses.field(default=7, kw_only=True, compare=False)

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        """Fields of all kinds."""

        kind: ClassVar[str] = "derived"
        first: int
        second: str = "b"
        third: tuple[int, ...] = dataclasses.field(default_factory=tuple)
        silent: int = dataclasses.field(default=0, repr=False, hash=False)
        fixed: int = dataclasses.field(default=5, init=False)

        @property
        def doubled(self) -> int:
            return 2 * self.first

    @dataclass(frozen=True, slots=True)
    class Other(Base):
        first: int
        second: str = "b"

    @dataclass(frozen=True, slots=True, eq=False)
    class ByIdentity:
        first: int

    @dataclass(frozen=True, slots=True, kw_only=True)
    class ByName:
        first: int
        second: int = 2

    @dataclass(frozen=True, slots=True)
    class Own:
        first: int

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError("negative")

        def __eq__(self, other: Any) -> bool:
            return bool(self.first % 2 == other.first % 2)

        def __repr__(self) -> str:
            return f"<{self.first}>"

    @dataclass(slots=True)
    class Changing:
        first: int

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        first: int

    defined = {name: value for name, value in locals().items() if isinstance(value, type)}
    return SimpleNamespace(**defined, replace=home.replace)


OURS: Any = classes(records)
THEIRS: Any = classes(dataclasses)


@dataclasses.dataclass(frozen=True)
class Plain:
    """A class of this module, so that pickle can import it."""

    inner: Any


@records.dataclass(frozen=True, slots=True)
class Pair:
    """Like `Plain`, but defined with our module."""

    left: str
    right: Any = None


class Case(NamedTuple):
    text: str
    make: Callable[[Any], Any]


CASES = [
    Case(text, eval(f"lambda m: ({text})"))
    for text in (
        "m.Empty()",
        "m.Empty() == m.Empty()",
        "m.Base().span",
        "m.Base(3)",
        "m.Derived(1)",
        "m.Derived(1, 'c', (2,), 4, span=9)",
        "m.Derived(1, fixed=2)",
        "m.Derived(second='c', first=2)",
        "m.Derived()",
        "m.Derived(1, 'c', (2,), 4, 5)",
        "m.Derived(1, unknown=2)",
        "m.Derived(1).doubled, m.Derived.kind",
        "m.Derived(1, span=1) == m.Derived(1, span=2)",
        "m.Derived(1, silent=1) == m.Derived(1, silent=2)",
        "m.Derived(1) == m.Other(1), m.Other(1) == m.Derived(1), m.Other(1) == 1",
        "hash(m.Derived(1, span=1, silent=3)) == hash(m.Derived(1, span=2, silent=4))",
        "hash(m.Derived(1)) == hash(m.Derived(2))",
        "hash(m.Derived(1)), hash(m.Other(1, 'x')) == hash((1, 'x'))",
        "hash(m.Derived(1, 'c', [])) ",
        "m.Derived.__match_args__, m.ByName.__match_args__",
        "m.Derived.__slots__, m.Base.__slots__[:1], hasattr(m.Derived(1), '__dict__')",
        "m.Derived.__doc__, m.Derived.__qualname__, m.Derived.__module__",
        "[(f.name, f.default, f.compare, f.kw_only) for f in dataclasses.fields(m.Derived)]",
        "dataclasses.replace(m.Derived(1), first=3, span=4)",
        "m.replace(m.Derived(1), first=3, span=4), m.replace(m.Derived(1))",
        "m.replace(m.Derived(1), unknown=3)",
        "m.replace(m.Own(1), first=-3)",
        "m.replace(m.Changing(1), first=3), m.replace(m.ByName(first=1), second=3)",
        "dataclasses.asdict(m.Derived(1)), dataclasses.astuple(m.Other(1))",
        "copy.copy(m.Derived(1, span=3)), copy.deepcopy(m.Derived(1, 'x', (1,)))",
        "m.Derived(1).__setattr__('first', 2)",
        "m.Derived(1).__delattr__('first')",
        "m.ByIdentity(1) == m.ByIdentity(1), m.ByIdentity(1)",
        "m.ByName(1)",
        "m.ByName(first=1)",
        "m.Own(1), m.Own(1) == m.Own(3), m.Own(1) == m.Own(2), hash(m.Own(1)) == hash((1,))",
        "m.Own(-1)",
        "setattr(one := m.Changing(1), 'first', 2) or one",
        "m.Ordered(1) < m.Ordered(2), m.Ordered(1)",
    )
]


def seen(case: Case, namespace: Any) -> str:
    """Returns the value of an expression or its error, without the names of this module."""
    try:
        return repr(case.make(namespace))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("case", CASES, ids=[case.text for case in CASES])
def test_classes_equal_those_of_the_library(case: Case) -> None:
    expected = seen(case, THEIRS)
    # The second evaluation uses functions that the first one has generated.
    assert [seen(case, OURS), seen(case, OURS)] == [expected, expected]


def test_a_hash_is_kept_but_not_pickled() -> None:
    pair = Pair("text", Plain((1,)))
    assert hash(pair) == hash(pair) == hash(Pair("text", Plain((1,))))
    assert "_hash" in Pair.__slots__
    state: Any = pair.__getstate__()
    assert state == ["text", Plain((1,))]
    read = pickle.loads(pickle.dumps(pair))
    assert read == pair
    with pytest.raises(AttributeError):
        _ = read._hash
    assert hash(read) == hash(pair)


def test_copies_are_whole() -> None:
    assert copy.copy(Pair("a")) == Pair("a")


def test_frozen_classes_use_our_decorator() -> None:
    """The library's decorator takes ten times as long, which would slow down every start."""
    frozen = re.compile(r"^ *@dataclass\(frozen=True, slots=True", re.MULTILINE)
    texts = {
        path: path.read_text(encoding="utf-8")
        for folder in ("spec", "checker")
        for path in (ROOT / folder).rglob("*.py")
    }
    using = [path for path, text in texts.items() if frozen.search(text)]
    assert len(using) > 100
    home = re.compile(r"^from fencepost\.spec\.records import .*\bdataclass\b", re.MULTILINE)
    assert [path for path in using if not home.search(texts[path])] == []
