// VS Code's workbench over one session: which folder it opens, and the extension that brings the session in.
const base = new URL("..", import.meta.url);
const build = new URL("vscode/", base);
globalThis._VSCODE_FILE_ROOT = new URL("out/", build).href;
const told = await (await fetch(new URL("about", base))).json();
await import(new URL("out/nls.messages.js", build));
const { default: open } = await import(new URL("workbench.js", build));

const place = (path) => ({ scheme: location.protocol.slice(0, -1), authority: location.host, path });
open(document.body, {
  productConfiguration: {
    nameShort: "Code", nameLong: "Code - OSS", applicationName: "code-oss", dataFolderName: ".vscode-oss", version: "1.137.0",
    quality: "stable", commit: "static", webEndpointUrlTemplate: build.href.replace(/\/$/, ""),
    webviewContentExternalBaseUrlTemplate: new URL("out/vs/workbench/contrib/webview/browser/pre/", build).href,
    extensionEnabledApiProposals: { "tars-jax.session": ["fileSearchProvider", "textSearchProvider"] },
  },
  additionalBuiltinExtensions: [place(new URL("own", base).pathname)],
  folderUri: { scheme: "computer", authority: told.id, path: told.home },
  windowIndicator: { label: `$(vm) ${told.id}`, tooltip: `The session ${told.id}` },
  enableWorkspaceTrust: false,
  configurationDefaults: {
    "workbench.startupEditor": "none", "workbench.colorTheme": "Default Dark Modern", "security.workspace.trust.enabled": false,
    "extensions.autoUpdate": false, "telemetry.telemetryLevel": "off", "workbench.enableExperiments": false,
    "chat.commandCenter.enabled": false, "chat.disableAIFeatures": true, "files.autoSave": "off",
    ...Object.fromEntries(["linux", "osx", "windows"].map((system) => [`terminal.integrated.defaultProfile.${system}`, "session"])),
  },
});
