"""The command `fencepost`."""
