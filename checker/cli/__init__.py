"""The command `fencepost`."""

INTERRUPTED = 130
"""The exit code after SIGINT or SIGTERM, as in shells."""
