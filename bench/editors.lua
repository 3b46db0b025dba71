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
  out.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
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
