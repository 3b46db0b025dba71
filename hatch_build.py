"""The step of the build that writes the parse table, ``spec/syntax/grammar.json``; an editable
install needs the links of the checkout, too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GrammarHook(BuildHookInterface[Any]):
    """Runs ``spec/syntax/parse_table.py``, which needs Lark and nothing of the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            self._links()
        # The folder of the script has modules that are named as some of Python's are.
        subprocess.run(
            [sys.executable, "-P", f"{self.root}/spec/syntax/parse_table.py"], check=True
        )

    def _links(self) -> None:
        """Ends the build of an editable install where the package's links are plain files."""
        package = Path(self.root, ".dev", "fencepost")
        plain = sorted(path.name for path in package.iterdir() if path.is_file())
        missing = [name for name in plain if "." not in name]
        if missing:
            sys.exit(
                f"This clone has no symbolic links: .dev/fencepost/{missing[0]} is a file where a"
                " link to the folder should be. An editable install needs them: run"
                " 'git config core.symlinks true', then 'git checkout -- .dev' (Windows allows it"
                " in developer mode). 'pip install .' needs no links."
            )
