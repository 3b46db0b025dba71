"""The command, whose engine `spark` hands the search to the cluster after the first level."""

from __future__ import annotations

from tests.spark.clusters import behind

from fencepost.checker.cli.main import entry
from fencepost.checker.spark import search

if __name__ == "__main__":
    search.ENGINE = search.Spark(large=behind(1))
    entry()
