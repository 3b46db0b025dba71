"""The table of standard modules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fencepost.spec.tla.standard import collections, files, numbers, sequences, tlc
from fencepost.spec.tla.standard.graphs import GRAPHS, VECTOR_CLOCKS
from fencepost.spec.tla.standard.rows import StandardModule

FOLDER: Final = Path(__file__).parent / "modules"
"""The folder of the modules that are written in TLA+."""

STANDARD: Final[Mapping[str, StandardModule]] = {
    "Naturals": StandardModule((), numbers.NATURALS),
    "Integers": StandardModule(("Naturals",), numbers.INTEGERS),
    "Reals": StandardModule(("Integers",), numbers.REALS),
    "Sequences": StandardModule((), sequences.SEQUENCES),
    "FiniteSets": StandardModule((), collections.FINITE_SETS),
    "Bags": StandardModule((), collections.BAGS),
    "TLC": StandardModule((), tlc.TLC),
    "TLCExt": StandardModule((), tlc.TLC_EXT),
    "Randomization": StandardModule((), tlc.RANDOMIZATION),
    "Folds": StandardModule((), collections.FOLDS),
    "Bitwise": StandardModule((), numbers.BITWISE),
    "Json": StandardModule((), files.JSON),
    "IOUtils": StandardModule((), files.IO_UTILS),
    "CSV": StandardModule((), files.CSV),
    **{
        name: StandardModule(extends)
        for name, extends in {
            "TLAPS": (),
            "BagsTheorems": ("Bags",),
            "FiniteSetTheorems": ("FiniteSets", "Integers"),
            "FiniteSetsExtTheorems": ("FiniteSetsExt",),
            "FoldsTheorems": ("Folds",),
            "FunctionTheorems": ("Functions",),
            "GraphTheorems": ("Graphs",),
            "NaturalsInduction": ("Integers",),
            "QuorumTheorems": ("Quorum",),
            "SequenceTheorems": ("Sequences",),
            "SequencesExtTheorems": ("SequencesExt",),
            "WellFoundedInduction": ("Integers",),
        }.items()
    },
    "_Functions": StandardModule((), collections.FUNCTIONS),
    "_FiniteSetsExt": StandardModule((), collections.FINITE_SETS_EXT),
    "_SequencesExt": StandardModule((), sequences.SEQUENCES_EXT),
    "_BagsExt": StandardModule((), collections.BAGS_EXT),
    "_Graphs": StandardModule((), GRAPHS),
    "_VectorClocks": StandardModule((), VECTOR_CLOCKS),
    "_SVG": StandardModule((), files.SVG),
}
"""The modules with operators in Python, by name."""
