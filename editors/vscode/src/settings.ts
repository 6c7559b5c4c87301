/** What the editor's settings become for the server. */

/** The part of `vscode.WorkspaceConfiguration` that is used. */
export interface Configuration {
  get<T>(name: string, otherwise: T): T;
}

export interface ServerSettings {
  trusted: boolean;
  interpreter?: string;
  verifyArguments: string[];
  notes: boolean;
}

export interface ServerCommand {
  command: string;
  args: string[];
}

/** `trusted` is what the user said of the workspace; a setting could come with the workspace itself. */
export function serverSettings(configuration: Configuration, trusted: boolean): ServerSettings {
  const interpreter = configuration.get("interpreter", "");
  return {
    trusted,
    ...(interpreter === "" ? {} : { interpreter }),
    verifyArguments: configuration.get<string[]>("verifyArguments", []),
    notes: configuration.get("notes", false),
  };
}

/** How to start the server; an empty list is a mistake that is told. */
export function serverCommand(configuration: Configuration): ServerCommand {
  const [command, ...args] = configuration.get<string[]>("command", ["fullgraph", "server"]);
  if (command === undefined || command === "") {
    throw new Error("fullgraph.command is empty; the default is [\"fullgraph\", \"server\"]");
  }
  return { command, args };
}

/** Rule pages are Markdown files, which are better read than edited. */
export function isPage(uri: string): boolean {
  return uri.startsWith("file:") && uri.endsWith(".md");
}
