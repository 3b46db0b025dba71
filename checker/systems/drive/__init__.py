"""Model-based testing: requests to a real system, chosen by its model and compared as answered."""
