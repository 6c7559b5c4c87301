import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { isPage, serverCommand, serverSettings, type Configuration } from "../src/settings";

function configuration(values: Record<string, unknown>): Configuration {
  return { get: <T>(name: string, otherwise: T) => (name in values ? (values[name] as T) : otherwise) };
}

test("trust is the user's and not a setting", () => {
  assert.equal(serverSettings(configuration({ trusted: true }), false).trusted, false);
  assert.equal(serverSettings(configuration({}), true).trusted, true);
});

test("an interpreter that is not set is left to the server", () => {
  assert.equal("interpreter" in serverSettings(configuration({ interpreter: "" }), false), false);
  assert.equal(serverSettings(configuration({ interpreter: "/env/bin/python" }), false).interpreter, "/env/bin/python");
});

test("the command is a program and its arguments", () => {
  assert.deepEqual(serverCommand(configuration({})), { command: "fullgraph", args: ["server"] });
  assert.deepEqual(serverCommand(configuration({ command: ["python", "-m", "fullgraph.cli", "server"] })), {
    command: "python",
    args: ["-m", "fullgraph.cli", "server"],
  });
  assert.throws(() => serverCommand(configuration({ command: [] })), /fullgraph\.command is empty/);
});

test("only files of rules are shown as pages", () => {
  assert.equal(isPage("file:///cache/FG201.md"), true);
  assert.equal(isPage("file:///m.py"), false);
  assert.equal(isPage("https://example.com/FG201.md"), false);
});

test("every setting that is read is declared with the same default, and what starts programs needs trust", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf-8"));
  const declared = manifest.contributes.configuration.properties;
  const read: Record<string, unknown> = {};
  const recording: Configuration = {
    get: <T>(name: string, otherwise: T) => {
      read[`fullgraph.${name}`] = otherwise;
      return otherwise;
    },
  };
  serverSettings(recording, false);
  serverCommand(recording);
  const defaults = Object.fromEntries(Object.keys(declared).map((name) => [name, declared[name].default]));
  assert.deepEqual(read, defaults);
  const restricted: string[] = manifest.capabilities.untrustedWorkspaces.restrictedConfigurations;
  assert.deepEqual(new Set(restricted), new Set(Object.keys(declared).filter((name) => name !== "fullgraph.notes")));
});
