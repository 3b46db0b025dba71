"""From text to trees: modules and configurations."""
