"""Commands in modules of their own, which `cli` puts together."""
