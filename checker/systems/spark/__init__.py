"""Recordings as a distributed data set, whose histories are judged on executors."""
