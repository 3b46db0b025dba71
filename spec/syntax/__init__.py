"""The concrete syntax: parser, syntax errors and formatter."""
