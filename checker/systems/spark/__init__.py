"""Treats recordings as a distributed data set and judges their histories on executors."""
