"""TLC, which judges what `fencepost export` writes.

It runs on Java, and Maven brings it. Where either is missing the tests that need it are not
collected (see ``conftest.py``); with FENCEPOST_TLC=1, as `.ci/run` sets it, they are, and fail.
"""

from __future__ import annotations

import os
import shutil

MISSING = [name for name in ("java", "mvn") if shutil.which(name) is None]
WANTED = not MISSING or os.environ.get("FENCEPOST_TLC") == "1"
