"""What a name may stand for, the context of an expression, and what is recorded for editors."""
