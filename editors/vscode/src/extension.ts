// The extension: it starts `fencepost lsp`, saves a spec before a check of it is run, and shows the
// page of a trace beside the text. Everything else the server does, for every editor alike.

import * as fs from "node:fs/promises";
import * as vscode from "vscode";
import {
  LanguageClient,
  LanguageClientOptions,
  ServerOptions,
  TransportKind,
} from "vscode-languageclient/node";

const RUN = "fencepost.run";
const TRACE = "fencepost.trace";

interface Shown {
  page: string;
  text: string;
}

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("fencepost.restart", async () => {
      await client?.stop();
      await start();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("fencepost");
  const command = settings.get<string>("command", "fencepost");
  const server: ServerOptions = { command, args: ["lsp"], transport: TransportKind.stdio };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "fence" }],
    initializationOptions: {
      path: settings.get<string[]>("path", []),
      everyCheck: settings.get<boolean>("everyCheck", true),
      delay: settings.get<number>("delay", 150),
      trace: "client",
    },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.fence") },
    middleware: {
      executeCommand: async (name, args: unknown[], next) => {
        if (name === RUN) {
          await save(String(args[0]));
        }
        const answer: unknown = await next(name, args);
        if (name === TRACE && answer) {
          await show(answer as Shown, String(args[1]));
        }
        return answer;
      },
    },
  };
  client = new LanguageClient("fencepost", "Fencepost", server, options);
  try {
    await client.start();
  } catch (error) {
    const how = "pip install 'fencepost[lsp]' brings it; fencepost.command says where it is";
    const why = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(`"${command} lsp" cannot be started (${why}). ${how}.`);
  }
}

/** A check is run on the file, so the file has to be what is seen. */
async function save(uri: string): Promise<void> {
  const wanted = vscode.Uri.parse(uri).toString();
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
  if (document?.isDirty) {
    await document.save();
  }
}

/** The page of a trace. Its scripts are its own; nothing is loaded from elsewhere. */
async function show(trace: Shown, check: string): Promise<void> {
  const page = await fs.readFile(vscode.Uri.parse(trace.page).fsPath, "utf-8");
  const panel = vscode.window.createWebviewPanel(
    "fencepost.trace",
    check ? `Trace of ${check}` : "Trace",
    vscode.ViewColumn.Beside,
    { enableScripts: true, enableFindWidget: true, localResourceRoots: [] },
  );
  panel.webview.html = page;
}

