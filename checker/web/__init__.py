"""The explorer in a browser: its server and the requests of its page."""
