# pyright: basic
"""Z3 itself, as the tests of engines with a solver need it."""

from __future__ import annotations

import z3


def answers(script: str) -> list[str]:
    """What Z3 prints for a script in SMT-LIB 2, word by word."""
    context = z3.Context()
    return str(z3.Z3_eval_smtlib2_string(context.ref(), script)).split()
