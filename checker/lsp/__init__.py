"""The language server: what editors ask about specs while they are written."""
