"""From TLA+ modules to models of the typed core."""
