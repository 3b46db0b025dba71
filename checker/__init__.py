"""The engines, traces, reports and the command line."""
