-- Opens a file as somebody would, waits for its diagnostics, applies the first fix for the first one and saves.
-- Arguments in the environment: COMMAND (JSON), PROJECT, FILE, RESULT.
local project, file = vim.env.PROJECT, vim.env.FILE
local seen = {}

local function shown()
  return vim.tbl_map(function(each)
    return { code = each.code, line = each.lnum + 1, column = each.col }
  end, vim.diagnostic.get(0))
end

local function finish(problem)
  seen.problem = problem
  vim.fn.writefile({ vim.fn.json_encode(seen) }, vim.env.RESULT)
  vim.cmd("qall!")
end

local start = vim.lsp.start_client -- until 0.11; later only `vim.lsp.start`
local client = start({ name = "fullgraph", cmd = vim.fn.json_decode(vim.env.COMMAND), root_dir = project })
vim.cmd("edit " .. vim.fn.fnameescape(file))
vim.lsp.buf_attach_client(0, client)

if not vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 20) then
  return finish("no diagnostics")
end
seen.before = shown()

local first = vim.diagnostic.get(0)[1]
local place = { line = first.lnum, character = first.col }
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = { start = place, ["end"] = place },
  context = { diagnostics = {} },
}, 60000)
local actions = answers and answers[client] and answers[client].result or {}
if #actions == 0 then
  return finish("no actions")
end
seen.action = actions[1].title
vim.lsp.util.apply_workspace_edit(actions[1].edit, vim.lsp.get_client_by_id(client).offset_encoding)
vim.cmd("write")
if not vim.wait(60000, function() return #vim.diagnostic.get(0) < #seen.before end, 20) then
  return finish("the diagnostic stays")
end
seen.after = shown()
finish()
