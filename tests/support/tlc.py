"""TLC, which judges the output of `fencepost export`.

It runs on Java, and Maven downloads it. If either is missing, the tests that need it are not
collected (see ``conftest.py``). With FENCEPOST_TLC=1, which `.ci/run` sets, they are collected and
fail instead.
"""

from __future__ import annotations

import os
import shutil

MISSING = [name for name in ("java", "mvn") if shutil.which(name) is None]
WANTED = not MISSING or os.environ.get("FENCEPOST_TLC") == "1"
