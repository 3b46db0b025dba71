"""Code shared by all searches: accounting, limits, interrupts and trace reconstruction."""
