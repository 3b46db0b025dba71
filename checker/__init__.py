"""The checker: engines, traces, reports, and the command line."""
