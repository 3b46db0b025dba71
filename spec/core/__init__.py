"""The typed core: types, nodes, and what holds of every well-formed model."""
