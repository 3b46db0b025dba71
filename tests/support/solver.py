# pyright: basic
"""Runs Z3 directly, for the tests of engines that use a solver."""

from __future__ import annotations

import z3


def answers(script: str) -> list[str]:
    """Returns Z3's output for a script in SMT-LIB 2, word by word."""
    context = z3.Context()
    return str(z3.Z3_eval_smtlib2_string(context.ref(), script)).split()
