"""Runs Neovim and Emacs without a screen, set up as docs/editor.md describes.

`python -m bench.editors` uses the programs `nvim` and `emacs` on the path, or those of `--nvim
PATH` and `--emacs PATH`. It opens a spec with a mistake and does what a user does: reads the
diagnostic, applies its quick fix, asks for the meaning of a name, renames it, formats, and runs a
check.
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

ROOT = Path(__file__).resolve().parents[1]
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
NEOVIM = """
local out = {}
local function wait(what, ready)
  if not vim.wait(60000, ready, 20) then error("waited in vain for " .. what) end
end
local function ask(method, params)
  params.textDocument = { uri = vim.uri_from_bufnr(0) }
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
  for _, answer in pairs(answers or {}) do
    if answer.err then error(vim.inspect(answer.err)) end
    return answer.result
  end
end
local ok, wrong = pcall(function()
  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  out.mistake = vim.diagnostic.get(0)[1].message
  vim.api.nvim_win_set_cursor(0, { 4, 17 })
  vim.lsp.buf.code_action({ apply = true })
  local function line(n) return vim.api.nvim_buf_get_lines(0, n - 1, n, false)[1] end
  wait("the cure", function() return line(4):find("Most$") end)
  wait("no diagnostics", function() return #vim.diagnostic.get(0) == 0 end)
  local place = { line = 3, character = 17 }
  out.hover = ask("textDocument/hover", { position = place }).contents.value
  vim.lsp.buf.rename("Limit")
  wait("the new name", function() return line(2):find("Limit") end)
  vim.lsp.buf.format({ async = false, timeout_ms = 60000 })
  out.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n") .. "\\n"
  vim.cmd("silent write")
  local lens = ask("textDocument/codeLens", {})[1]
  local run = { command = lens.command.command, arguments = lens.command.arguments }
  local client = (vim.lsp.get_clients or vim.lsp.get_active_clients)({ bufnr = 0 })[1]
  local answer = client.request_sync and client:request_sync("workspace/executeCommand", run, 60000)
  out.verdict = answer.result.verdict
end)
if not ok then out.error = tostring(wrong) end
vim.fn.writefile({ vim.json.encode(out) }, vim.env.FENCEPOST_OUT)
vim.cmd("qall!")
"""
EMACS = r"""
(require 'json)
(setq eglot-confirm-server-initiated-edits nil)
(let (out)
  (cl-flet ((note (key value) (push (cons key value) out))
            (wait (what ready)
              (let ((end (+ (float-time) 60)))
                (while (not (funcall ready))
                  (when (> (float-time) end) (error "waited in vain for %s" what))
                  (accept-process-output nil 0.05)))))
    (condition-case wrong
        (progn
          (find-file (getenv "FENCEPOST_SPEC"))
          (unless (eq major-mode 'fence-mode) (error "no mode for specs"))
          (apply #'eglot--connect (eglot--guess-contact))
          (flymake-mode 1)
          (flymake-start)
          (wait "diagnostics" (lambda () (flymake-diagnostics)))
          (note 'mistake (flymake-diagnostic-text (car (flymake-diagnostics))))
          (goto-char (point-min))
          (search-forward "Mos")
          (search-forward "Mos")
          (let ((action (car (eglot-code-actions (point) (point) "quickfix"))))
            (eglot--apply-workspace-edit (plist-get action :edit)))
          (search-backward "Mos")
          (forward-char 1)
          (eglot--signal-textDocument/didChange)
          (let ((told (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover
                                       (eglot--TextDocumentPositionParams))))
            (note 'hover (plist-get (plist-get told :contents) :value)))
          (eglot-rename "Limit")
          (eglot--signal-textDocument/didChange)
          (eglot-format-buffer)
          (note 'text (buffer-substring-no-properties (point-min) (point-max)))
          (let ((make-backup-files nil)) (save-buffer))
          (let* ((server (eglot--current-server-or-lose))
                 (lens (aref (jsonrpc-request server :textDocument/codeLens
                               (list :textDocument (eglot--TextDocumentIdentifier))) 0))
                 (command (plist-get lens :command)))
            (note 'verdict (plist-get (jsonrpc-request server :workspace/executeCommand
                             (list :command (plist-get command :command)
                                   :arguments (plist-get command :arguments)) :timeout 60)
                            :verdict)))
          (eglot-shutdown (eglot--current-server-or-lose)))
      (error (note 'error (error-message-string wrong)))))
  (with-temp-file (getenv "FENCEPOST_OUT") (insert (json-encode out))))
"""


def snippet(language: str) -> str:
    """The lines to copy for an editor, from its section of the page."""
    text = (ROOT / "docs" / "editor.md").read_text(encoding="utf-8")
    (lines,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
    return str(lines)


def driven(words: list[str], folder: Path) -> dict[str, Any]:
    """The editor's record of what it displayed."""
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
            (folder / "drive.lua").write_text(NEOVIM, encoding="utf-8")
            init = ["-u", "init.lua", "-i", "NONE", "-n"]
            words = [options.nvim, "--headless", *init, "spec.fence", "-c", "luafile drive.lua"]
            good &= judged("Neovim", driven(words, folder))
            (folder / "out.json").unlink(missing_ok=True)
        if options.emacs:
            (folder / "init.el").write_text(snippet("elisp"), encoding="utf-8")
            (folder / "drive.el").write_text(EMACS, encoding="utf-8")
            # Debian packages eglot separately for Emacs versions without it.
            words = [options.emacs, "--batch", "--eval", "(package-initialize)"]
            words += ["-l", "init.el", "-l", "drive.el"]
            good &= judged("Emacs", driven(words, folder))
    if not (options.nvim or options.emacs):
        print("neither nvim nor emacs is on the path")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
