"""The command `fencepost` and its subcommands."""

INTERRUPTED = 130
"""The exit code after SIGINT or SIGTERM, the same as in shells."""
