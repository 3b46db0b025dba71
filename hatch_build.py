"""The step of the build that writes the parse table, ``spec/syntax/grammar.json``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GrammarHook(BuildHookInterface[Any]):
    """Runs ``spec/syntax/parse_table.py``, which needs Lark and nothing of the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # The folder of the script has modules that are named as some of Python's are.
        subprocess.run(
            [sys.executable, "-P", f"{self.root}/spec/syntax/parse_table.py"], check=True
        )
