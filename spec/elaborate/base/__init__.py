"""The entities that names denote, the context of expressions, and the recorder for editors."""
