"""The operations on TLA+ values that depend on the order of names."""

from __future__ import annotations

from fencepost.spec.tla.values.kinds import Value


class Universe:
    """The names of one specification, in the order of their first appearance."""

    def normalise(self, value: Value) -> Value:
        """Returns the normal form of a value."""
        raise NotImplementedError
