"""Runs Neovim and Emacs without a screen, set up as docs/editor.md describes.

`python -m bench.editors` uses the programs `nvim` and `emacs` on the path, or those given with
`--nvim PATH` and `--emacs PATH`. It opens a spec with a mistake and acts like a user: it reads the
diagnostic, applies its quick fix, asks for the meaning of a name, renames it, formats the spec, and
runs a check.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
SPEC = """\
var x: 0..3 = 0
const Most: int = 3
action up:
    require x < Mosst
    x += 1
terminal: true
invariant   Low: x < 3
check low:
    expect violated Low
"""
WANTED = """\
var x: 0..3 = 0
const Limit: int = 3
action up:
    require x < Limit
    x += 1
terminal: true
invariant Low: x < 3
check low:
    expect violated Low
"""


def snippet(language: str) -> str:
    """Returns the lines to copy for an editor, from its section of the page."""
    text = (HERE.parent / "docs" / "editor.md").read_text(encoding="utf-8")
    (lines,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
    return str(lines)


def driven(words: list[str], folder: Path) -> dict[str, Any]:
    """Runs an editor, and returns its record of what it displayed."""
    spec, out = folder / "spec.fence", folder / "out.json"
    spec.write_text(SPEC, encoding="utf-8")
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": commands, "FENCEPOST_OUT": str(out), "FENCEPOST_SPEC": str(spec)}
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **variables, **home},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if not out.exists():
        return {"error": f"exit code {done.returncode}: {done.stdout}{done.stderr}"}
    seen: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return seen


def judged(name: str, seen: dict[str, Any]) -> bool:
    """Prints and returns whether an editor showed the expected results."""
    good = (
        "error" not in seen
        and 'did you mean "Most"?' in seen["mistake"]
        and "const Most: int = 3" in seen["hover"]
        and seen["text"] == WANTED
        and seen["verdict"].startswith("violated Low, as expected")
    )
    print(f"{name}: {'as it should be' if good else json.dumps(seen, indent=1)}")
    return good


def main() -> int:
    """Runs the installed editors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvim", default=shutil.which("nvim"))
    parser.add_argument("--emacs", default=shutil.which("emacs"))
    options = parser.parse_args()
    good = True
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if options.nvim:
            (folder / "init.lua").write_text(snippet("lua"), encoding="utf-8")
            shutil.copy(HERE / "editors.lua", folder / "drive.lua")
            init = ["-u", "init.lua", "-i", "NONE", "-n"]
            words = [options.nvim, "--headless", *init, "spec.fence", "-c", "luafile drive.lua"]
            good &= judged("Neovim", driven(words, folder))
            (folder / "out.json").unlink(missing_ok=True)
        if options.emacs:
            (folder / "init.el").write_text(snippet("elisp"), encoding="utf-8")
            shutil.copy(HERE / "editors.el", folder / "drive.el")
            # In Debian, eglot is a separate package for Emacs versions that do not include it.
            words = [options.emacs, "--batch", "--eval", "(package-initialize)"]
            words += ["-l", "init.el", "-l", "drive.el"]
            good &= judged("Emacs", driven(words, folder))
    if not (options.nvim or options.emacs):
        print("neither nvim nor emacs is on the path")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
