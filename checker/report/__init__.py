"""Reports as text and data, one module per format."""
