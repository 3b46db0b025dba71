"""Model-based testing: sends requests that the model chooses to a real system, and compares the
answers with the model.
"""
