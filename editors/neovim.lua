-- Neovim 0.11 and newer: `:source` this from init.lua, or copy the table to ~/.config/nvim/lsp/fullgraph.lua.
vim.lsp.config("fullgraph", {
  cmd = { "fullgraph", "server" },
  filetypes = { "python" },
  root_markers = { { "fullgraph.toml", "pyproject.toml" }, ".git" },
  settings = {
    fullgraph = {
      trusted = false, -- true lets `Verify` run the project's code: vim.lsp.codelens.refresh(), then .run()
      notes = false,
    },
  },
})
vim.lsp.enable("fullgraph")
