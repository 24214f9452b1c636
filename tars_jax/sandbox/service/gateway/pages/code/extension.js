// The session in VS Code: its files as a file system, search in them, and its terminals. Runs in a worker of the browser.
"use strict";
const vscode = require("vscode");

const { FileType, FileChangeType, FileSystemError, Range, Uri } = vscode;
const TYPES = { file: FileType.File, folder: FileType.Directory, other: FileType.Unknown };
const CHANGES = { made: FileChangeType.Created, came: FileChangeType.Created, gone: FileChangeType.Deleted };
const AGAIN_MS = 3000; // until a lost connection is made again
let base; // of the mount, as an address

function typed(code, uri, message) {
  switch (code) {
    case "ENOENT": return FileSystemError.FileNotFound(uri);
    case "EEXIST": case "ENOTEMPTY": return FileSystemError.FileExists(uri);
    case "ENOTDIR": return FileSystemError.FileNotADirectory(uri);
    case "EISDIR": return FileSystemError.FileIsADirectory(uri);
    case "EACCES": case "EPERM": case "EROFS": return FileSystemError.NoPermissions(message);
    default: return FileSystemError.Unavailable(message);
  }
}
async function ask(uri, path, query, options) {
  const address = new URL(`files/${path}`, base);
  address.search = new URLSearchParams(query);
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    throw FileSystemError.Unavailable(`the service does not answer: ${error.message}`);
  }
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: { message: response.statusText } }));
  throw typed(error.code, uri, error.message);
}
const post = (uri, path, body) =>
  ask(uri, path, {}, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

class Files {
  constructor() {
    this.changed = new vscode.EventEmitter();
    this.onDidChangeFile = this.changed.event;
    this.watches = new Map(); // id -> {uri, deep, folder}
    this.next = 1;
    this.waiting = [];
  }
  async stat(uri) {
    const told = await (await ask(uri, "stat", { path: uri.path })).json();
    return this.facts(told);
  }
  facts({ kind, size, modified, mode }) {
    const permissions = (mode & 0o222) === 0 && kind === "file" ? vscode.FilePermission.Readonly : undefined;
    return { type: TYPES[kind] ?? FileType.Unknown, size, mtime: 1000 * modified, ctime: 1000 * modified, permissions };
  }
  async readDirectory(uri) {
    const { entries } = await (await ask(uri, "list", { path: uri.path })).json();
    return entries.map(({ name, kind, target }) =>
      [name, kind === "link" ? FileType.SymbolicLink | (TYPES[target] ?? FileType.Unknown) : TYPES[kind] ?? FileType.Unknown]);
  }
  async readFile(uri) {
    return new Uint8Array(await (await ask(uri, "bytes", { path: uri.path })).arrayBuffer());
  }
  async writeFile(uri, content, { create, overwrite }) {
    const query = { path: uri.path, ...(create && !overwrite ? { new: 1 } : {}), ...(create ? {} : { there: 1 }) };
    await ask(uri, "bytes", query, { method: "PUT", body: content });
  }
  async createDirectory(uri) { await post(uri, "do", { do: "make_folder", path: uri.path }); }
  async delete(uri, { recursive }) { await post(uri, "do", { do: "remove", path: uri.path, all: recursive }); }
  async rename(uri, to, { overwrite }) {
    await post(to, "do", { do: "move", path: uri.path, to: to.path, replace: overwrite });
  }

  // ---- changes ----
  watch(uri, { recursive }) {
    const id = this.next++;
    this.watches.set(id, { uri, recursive });
    this.begin(id);
    return new vscode.Disposable(() => {
      this.watches.delete(id);
      this.say({ id });
    });
  }
  async begin(id) {
    const watch = this.watches.get(id);
    let path = watch.uri.path;
    try {
      if ((await this.stat(watch.uri)).type !== FileType.Directory) path = path.replace(/\/[^/]*$/, "") || "/";
    } catch {
      return; // nothing there to be watched
    }
    watch.folder = path;
    if (this.watches.has(id)) this.say({ id, path, deep: watch.recursive && path === watch.uri.path });
  }
  say(words) {
    if (this.socket?.readyState === WebSocket.OPEN) return this.socket.send(JSON.stringify(words));
    if (this.socket && this.socket.readyState === WebSocket.CONNECTING) return this.waiting.push(words);
    this.waiting = [words];
    const address = new URL("changes", base);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.addEventListener("open", () => {
      for (const each of this.waiting) this.socket.send(JSON.stringify(each));
      this.waiting = [];
    });
    this.socket.addEventListener("message", ({ data }) => this.tell(JSON.parse(data)));
    this.socket.addEventListener("close", () => setTimeout(() => {
      for (const id of this.watches.keys()) this.begin(id);
    }, AGAIN_MS));
  }
  tell({ id, changes }) {
    const watch = this.watches.get(id);
    if (!watch) return;
    const told = new Map(); // path -> what became of it; one that is new stays so when it is written to
    const written = []; // a file that came may have taken the place of another
    for (const [kind, name] of changes) {
      if (/(^|\/)\.[^/]*\.partial$/.test(name)) continue; // on its way to be another file
      const path = `${watch.folder === "/" ? "" : watch.folder}/${name}`;
      if (path !== watch.uri.path && watch.folder !== watch.uri.path) continue;
      const uri = watch.uri.with({ path }), type = CHANGES[kind] ?? FileChangeType.Changed;
      if (type !== FileChangeType.Changed || told.get(path)?.type !== FileChangeType.Created) told.set(path, { type, uri });
      if (kind === "came") written.push({ type: FileChangeType.Changed, uri });
    }
    if (told.size) this.changed.fire([...told.values()]);
    if (written.length) this.changed.fire(written);
  }

  // ---- search ----
  async provideFileSearchResults(query, { folder }) {
    const { files } = await (await ask(folder, "all", { path: folder.path })).json();
    return files.map((path) => Uri.joinPath(folder, path));
  }
  async provideTextSearchResults(query, { folder, maxResults }, progress) {
    let pattern = query.isRegExp ? query.pattern : query.pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (query.isWordMatch) pattern = `\\b(?:${pattern})\\b`;
    const expression = new RegExp(pattern, query.isCaseSensitive ? "g" : "gi");
    if (!query.isCaseSensitive) pattern = `(?i)${pattern}`;
    const { found, whole } = await (await post(folder, "search", { path: folder.path, pattern, limit: maxResults })).json();
    for (const { path, line, text } of found) {
      const ranges = [...text.matchAll(expression)].map((match) =>
        new Range(line - 1, match.index, line - 1, match.index + match[0].length));
      if (!ranges.length) continue;
      const matches = ranges.map(({ start, end }) => new Range(0, start.character, 0, end.character));
      progress.report({ uri: Uri.joinPath(folder, path), ranges, preview: { text, matches } });
    }
    return { limitHit: !whole };
  }
}

class Terminal {
  constructor() {
    this.written = new vscode.EventEmitter();
    this.closed = new vscode.EventEmitter();
    this.early = ""; // what was typed before there was a connection
    this.onDidWrite = this.written.event;
    this.onDidClose = this.closed.event;
  }
  open(size) {
    const decoder = new TextDecoder(), address = new URL("../terminal/socket", base);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => {
      if (this.size ?? size) this.setDimensions(this.size ?? size);
      this.handleInput(this.early);
    });
    this.socket.addEventListener("message", ({ data }) => this.written.fire(decoder.decode(data, { stream: true })));
    this.socket.addEventListener("close", ({ reason }) => {
      if (reason) this.written.fire(`\r\n${reason}\r\n`);
      this.closed.fire(0);
    });
  }
  close() { this.socket?.close(); }
  handleInput(keys) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(new TextEncoder().encode(keys));
    else this.early += keys;
  }
  setDimensions(size) {
    this.size = size;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ columns: size.columns, rows: size.rows }));
  }
}

exports.activate = (context) => {
  base = new URL("../", `${context.extensionUri.toString(true)}/`);
  const files = new Files();
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider("computer", files, { isCaseSensitive: true }),
    vscode.workspace.registerFileSearchProvider("computer", files),
    vscode.workspace.registerTextSearchProvider("computer", files),
    vscode.window.registerTerminalProfileProvider("session.bash", {
      provideTerminalProfile: () => new vscode.TerminalProfile({ name: "bash", pty: new Terminal() }),
    }),
    vscode.commands.registerCommand("session.terminal", () =>
      vscode.window.createTerminal({ name: "bash", pty: new Terminal() }).show()),
  );
  // The workbench begins to watch long after it has opened files.
  for (const { uri } of vscode.workspace.workspaceFolders ?? []) files.watch(uri, { recursive: true });
  // A workbench without processes of its own opens no terminal by itself.
  const button = vscode.window.createStatusBarItem("session.terminal", vscode.StatusBarAlignment.Left, 100);
  Object.assign(button, { name: "Terminal", text: "$(terminal) Terminal", command: "session.terminal" });
  button.show();
  context.subscriptions.push(button);
};
