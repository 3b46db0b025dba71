"""The explorer in a browser: the words of its page, who may say them, and the server."""
