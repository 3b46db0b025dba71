"""Results as text and data, one module per format."""
