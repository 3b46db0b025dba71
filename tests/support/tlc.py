"""Runs TLC, which judges the output of `fencepost export`.

TLC runs on Java, and Maven downloads it. If either is missing, the tests that need it are not
collected (see ``conftest.py``). With FENCEPOST_TLC=1, which `.ci/run` sets, the tests are always
collected, and fail if something is missing.
"""

from __future__ import annotations

import os
import shutil

MISSING = [name for name in ("java", "mvn") if shutil.which(name) is None]
WANTED = not MISSING or os.environ.get("FENCEPOST_TLC") == "1"
