"""The explorer in a browser, with its server and the commands of its page."""
