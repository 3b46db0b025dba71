"""Runs the command with an engine `spark` that hands the search to the cluster after the first
level.
"""

from __future__ import annotations

from tests.spark.clusters import from_level

from fencepost.checker.cli.main import entry
from fencepost.checker.spark import search

if __name__ == "__main__":
    search.ENGINE = search.Spark(large=from_level(1))
    entry()
