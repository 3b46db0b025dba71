"""Fencepost, a model checker for protocols: `check` runs a spec, `fencepost` is the command."""
