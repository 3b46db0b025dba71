"""Types as they are written, conversions between them, and where an operation is partial."""
