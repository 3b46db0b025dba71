"""The playground: Fencepost in a browser, as a folder of static files."""
