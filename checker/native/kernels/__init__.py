"""The machine code that every model shares."""
