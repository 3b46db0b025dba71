"""The typed core: types, nodes, and invariants of well-formed models."""
