"""Prepares text output: pages for a terminal, sizes and durations."""
