"""Builds the playground: ``python -m bench.playground DIR`` writes a folder for any static server.

It needs npm and node. npm fetches Pyodide, whose Python then compiles the modules, so that the
browser need not. ``--try`` opens the folder in a headless Chromium and prints the times.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tarfile
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from threading import Thread
from zipfile import ZIP_DEFLATED, ZipFile

from tests.support.browser import Browser, browser

from fencepost.checker.report.html import asset, digest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYODIDE = "314.0.7"
FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
LIBRARIES = ("click", "lark", "markupsafe", "platformdirs", "rich")
KINDS = {".py", ".lark", ".json", ".toml", ".css", ".js", ".fence", ".tla"}
SCRIPTS = ("trace.js", "trace.js explorer.js")
STYLES = ("page.css", "page.css counterexamples.css", "page.css explorer.css")
COMPILE = """\
import { loadPyodide } from "%s/pyodide.mjs";
import { readFileSync, writeFileSync } from "fs";
const python = await loadPyodide({ indexURL: "%s/" });
python.unpackArchive(readFileSync("%s").buffer, "zip", { extractDir: "/app" });
python.runPython(`
import compileall, pathlib, shutil
compileall.compile_dir("/app", quiet=2, legacy=True)
for path in pathlib.Path("/app").rglob("*.py"):
    path.unlink()
shutil.make_archive("/fencepost", "zip", "/app")
`);
writeFileSync("%s", python.FS.readFile("/fencepost.zip"));
"""


def policy() -> str:
    """Returns the content security policy. The pages of traces inherit it, so it allows their
    scripts and styles, by hash.
    """
    scripts = " ".join(f"'{digest(''.join(map(asset, names.split())))}'" for names in SCRIPTS)
    styles = " ".join(f"'{digest(''.join(map(asset, names.split())))}'" for names in STYLES)
    return (
        f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {scripts}; "
        f"style-src 'self' {styles}; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
        "form-action 'none'"
    )


def archive(path: Path) -> None:
    """Writes the package, the shipped specs, the libraries and the bridge to a zip file."""
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.write(HERE / "bridge.py", "bridge.py")
        file.write(ROOT / ".dev" / "fencepost" / "__init__.py", "fencepost/__init__.py")
        folders = [
            (ROOT / top, f"fencepost/{top}") for top in ("spec", "checker", "models", "invariants")
        ]
        for name in LIBRARIES:
            library = find_spec(name)
            assert library is not None
            assert library.origin is not None
            folders.append((Path(library.origin).parent, name))
        for folder, name in folders:
            for source in sorted(folder.rglob("*")):
                if source.suffix in KINDS and source.is_file():
                    file.write(source, f"{name}/{source.relative_to(folder).as_posix()}")


def build(target: Path) -> None:
    """Writes the folder."""
    (target / "pyodide").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        packing = ["npm", "pack", "--silent", f"pyodide@{PYODIDE}"]
        subprocess.run(packing, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as package:
            package.extractall(folder, filter="data")
        for name in FILES:
            copy(Path(folder) / "package" / name, target / "pyodide" / name)
        sources, script = Path(folder) / "sources.zip", Path(folder) / "compile.mjs"
        archive(sources)
        whole = (target / "fencepost.zip").resolve()
        unpacked = Path(folder) / "package"
        script.write_text(COMPILE % (unpacked, unpacked, sources, whole), encoding="utf-8")
        subprocess.run(["node", script], check=True)
    for name in ("page.js", "worker.js", "style.css"):
        copy(HERE / name, target / name)
    page = (HERE / "index.html").read_text(encoding="utf-8").replace("{policy}", policy())
    (target / "index.html").write_text(page, encoding="utf-8")


class _Quiet(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def wait(tab: Browser, condition: str, seconds: float = 120) -> float:
    """Waits until a condition of the page holds. Returns the seconds."""
    begun = time.monotonic()
    while not tab.ask(condition):
        assert time.monotonic() - begun < seconds, (
            condition,
            tab.ask("document.body.innerText"),
            tab.log(),
        )
        time.sleep(0.05)
    return time.monotonic() - begun


HOSTILE = "var x: 0..1 = 0\naction </script><img src=x onerror=alert(1)>: x = 1\n"


def attempt(target: Path) -> None:
    """Uses the playground in a browser and prints the times."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(target)))
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    with TemporaryDirectory() as folder, browser(Path(folder) / "profile") as tab:
        begun = time.monotonic()
        tab.open(url)
        wait(tab, "report.textContent.includes('2 checks, all as expected')")
        print(f"first verdict of die_hard after {time.monotonic() - begun:.1f} s")
        assert tab.ask("frame.srcdoc.includes('NeverFourLitres is violated after 6 steps')")
        tab.ask("models.value = 'kafka/verification_race', models.onchange()")
        tab.ask("checks.value = 'verified', limit.value = 300")
        tab.click("#check")
        spent = wait(tab, "report.textContent.includes('cut by --max-states 300')")
        print(f"the race, cut: {spent:.1f} s")
        tab.ask("models.value = 'classics/die_hard', models.onchange()")
        tab.click("#explore")
        wait(tab, "frame.srcdoc.includes('explorer')")
        tab.call("POST", "/frame", {"id": 0})
        wait(tab, "document.querySelectorAll('.take').length === 6")
        tab.click(".take")
        wait(tab, "document.querySelectorAll('#steps > li').length === 2")
        tab.call("POST", "/frame", {"id": None})
        tab.ask(f"editor.value = {json.dumps(HOSTILE)}, editor.oninput()")
        wait(tab, "problems.children.length > 0")
        tab.click("#link")
        wait(tab, "location.hash.includes('spec=')")
        tab.ask("location.reload()")
        wait(tab, "document.getElementById('status').textContent === 'ready'")
        assert tab.ask("editor.value") == HOSTILE
        wait(tab, "problems.children.length > 0")
        assert tab.ask("document.images.length") == 0
        for width in (1280, 390):
            tab.screen(width, 844)
            tab.picture(target.parent / f"playground-{width}.png")
    server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the playground.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--try", dest="tried", action="store_true", help="use it in Chromium")
    options = parser.parse_args()
    build(options.folder)
    sizes = sum(path.stat().st_size for path in options.folder.rglob("*") if path.is_file())
    print(f"{options.folder}: {sizes / 1e6:.1f} MB")
    if options.tried:
        attempt(options.folder)


if __name__ == "__main__":
    main()
