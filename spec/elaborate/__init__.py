"""From surface trees to the typed core: one module for each form of the language."""
