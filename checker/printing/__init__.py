"""Text for people: pages for a terminal, sizes and durations."""
