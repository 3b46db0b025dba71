"""The typed core: types, nodes, and the invariants of well-formed models."""
