"""The command `fencepost`."""

INTERRUPTED = 130
"""The exit code after a signal that asks the command to end, as shells have it."""
