"""A small reader of TLA+: the subset that Fencepost exports, by the rules of TLA+ and TLC."""
