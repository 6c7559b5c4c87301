/** Starts the language server and tells it the settings and whether the workspace is trusted. */

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { isPage, serverCommand, serverSettings, type ServerSettings } from "./settings";

let client: LanguageClient | undefined;

function settings(): ServerSettings {
  return serverSettings(vscode.workspace.getConfiguration("fullgraph"), vscode.workspace.isTrusted);
}

async function start(): Promise<void> {
  try {
    const run = serverCommand(vscode.workspace.getConfiguration("fullgraph"));
    client = new LanguageClient("fullgraph", "fullgraph", run, {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      initializationOptions: settings(),
      middleware: {
        window: {
          showDocument: async (params, next) => {
            if (!isPage(params.uri)) {
              const result = await next(params, new vscode.CancellationTokenSource().token);
              return "success" in result ? result : { success: false };
            }
            await vscode.commands.executeCommand("markdown.showPreviewToSide", vscode.Uri.parse(params.uri));
            return { success: true };
          },
        },
      },
    });
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(
      `fullgraph: the server does not start: ${reason}. \`pip install 'fullgraph[lsp]'\` installs it; ` +
        "the setting fullgraph.command says where it is.",
    );
  }
}

async function stop(): Promise<void> {
  await client?.dispose();
  client = undefined;
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

async function tell(): Promise<void> {
  if (client?.isRunning()) {
    await client.sendNotification("workspace/didChangeConfiguration", { settings: { fullgraph: settings() } });
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("fullgraph.restart", restart),
    vscode.workspace.onDidGrantWorkspaceTrust(tell),
    vscode.workspace.onDidChangeConfiguration((event) =>
      event.affectsConfiguration("fullgraph.command")
        ? restart()
        : event.affectsConfiguration("fullgraph")
          ? tell()
          : undefined,
    ),
  );
  await start();
}

export const deactivate = stop;
