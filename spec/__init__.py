"""The language: text in, a resolved, typed, bounded model out. It knows nothing of engines."""
