"""Real systems: their recordings, compared with a model, and requests to them."""
