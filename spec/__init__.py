"""The language: compiles text to a resolved, typed, bounded model. It does not depend on
engines.
"""
