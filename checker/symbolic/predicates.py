"""Predicates as formulas: where they hold, where they are false, and where they are undefined.

The fold's value of a predicate is arbitrary where evaluation fails, so it is never returned alone.
"""

from __future__ import annotations

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.domain import SymbolicDomain
from fencepost.checker.symbolic.expressions import Failure
from fencepost.checker.symbolic.terms import Truth
from fencepost.spec.core.ir import Expr
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.fold import evaluate


@dataclass(frozen=True, slots=True)
class Answer:
    """A predicate: it ``holds``, it is ``violated``, or one of the ``failures`` makes it undefined.
    Exactly one of these is true.
    """

    holds: Truth
    violated: Truth
    failures: tuple[Failure, ...]

    def under(self, condition: Truth) -> tuple[Failure, ...]:
        """The failures if the predicate is evaluated only where a condition holds."""
        return tuple(
            Failure(wrong, failure.site, failure.assertion)
            for failure in self.failures
            if (wrong := terms.both(condition, failure.condition)) is not False
        )


def predicate(domain: SymbolicDomain, condition: Expr) -> Answer:
    """A condition in a domain that has no other use."""
    truth = evaluate(domain, {}, condition).tree
    defined = domain.path
    return Answer(
        terms.both(defined, truth),
        terms.both(defined, terms.negation(truth)),
        tuple(domain.failures),
    )
