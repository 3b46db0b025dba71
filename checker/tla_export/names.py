"""Defines the reserved names of a TLA+ module, and derives other names from a spec."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

RESERVED = frozenset(
    """
    ACTION ASSUME ASSUMPTION AXIOM BOOLEAN BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF
    DEFINE DEFS DOMAIN ELSE ENABLED EXCEPT EXTENDS FALSE HAVE HIDE IF IN INSTANCE LAMBDA LEMMA
    LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER PICK PROOF PROPOSITION PROVE QED RECURSIVE
    STATE STRING SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM TRUE UNCHANGED UNION USE VARIABLE
    VARIABLES WITH WITNESS
    """.split()  # noqa: SIM905
)
"""The keywords of TLA+. They are not allowed as names, not even for fields."""
STANDARD = frozenset(
    """
    Nat Int Real Seq Len Append Head Tail SubSeq SelectSeq IsFiniteSet Cardinality IsABag
    BagToSet SetToBag BagIn EmptyBag BagUnion SubBag BagOfAll BagCardinality CopiesIn Sum Print
    PrintT Assert JavaTime TLCGet TLCSet Permutations SortSeq RandomElement Any ToString TLCEval
    Naturals Integers Reals Sequences FiniteSets Bags TLC Randomization Json
    """.split()  # noqa: SIM905
)
"""The names of the extended modules and of their definitions."""
OURS = frozenset(
    """
    Init Next Spec TypeOK NoDeadlock Terminal Quiescent vars view counting clock FloorDiv FloorMod
    Wrap Product Ordered Repeated Total Least Within Defined Evaluated Position value range dividend
    divisor number half left right bits elements Before least first other index bag amounts
    domain below member BagOf After Joined parts count Range TimesIn InsertAt RemoveAt
    SumOfSequence SumOfSet SumOfBag BagOfImages Image HasOne First Test Folded start after
    """.split()  # noqa: SIM905
)
"""Names that the module defines and binds, in addition to those of the spec."""


def usable(text: str) -> str:
    """Returns a similar name that is valid in TLA+."""
    base = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if not re.search("[A-Za-z]", base):
        base = f"x{base}"
    if base[0].isdigit() or base.startswith(("WF_", "SF_")):
        base = f"x_{base}"
    return base


@dataclass(slots=True)
class Names:
    """Allocates unused names in a module or, with ``module``, in one of its definitions.

    ``bound`` contains the names that are bound in any definition. Names that are later allocated
    for the module avoid these.
    """

    module: Names | None = None
    taken: set[str] = field(default_factory=lambda: set(RESERVED | STANDARD | OURS))
    bound: set[str] = field(default_factory=set[str])

    def fresh(self, wanted: str) -> str:
        """Returns an unused name similar to ``wanted``."""
        base = usable(wanted)
        name, number = base, 1
        while self._known(name):
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        if self.module is not None:
            self.bound.add(name)
        return name

    def _known(self, name: str) -> bool:
        if name in self.taken:
            return True
        return name in self.bound if self.module is None else name in self.module.taken

    def inner(self) -> Names:
        """Returns an allocator for one definition, which may reuse names that are bound in other
        definitions.
        """
        return Names(self.module or self, set(self.taken), self.bound)


def field_names(wanted: list[str]) -> list[str]:
    """Returns distinct names for fields that are not keywords of TLA+."""
    names = Names(taken=set(RESERVED))
    return [names.fresh(text) for text in wanted]


def names_of(stem: str, titles: Sequence[str], names: Names) -> dict[str, str]:
    """Allocates the module names of some checks. They consist of letters, digits and
    underscores.
    """
    return {title: names.fresh(f"{stem}_{title}" if title else stem) for title in titles}
