// A terminal over a WebSocket: xterm.js where it is installed, else lines.js.
"use strict";

const element = document.getElementById("terminal"), state = document.getElementById("state");
const address = new URL("socket", location.href);
address.protocol = address.protocol.replace("http", "ws");
const socket = new WebSocket(address);
socket.binaryType = "arraybuffer";

const encoder = new TextEncoder(), decoder = new TextDecoder();
const type = (keys) => { if (socket.readyState === WebSocket.OPEN) socket.send(encoder.encode(keys)); };
const resize = (columns, rows) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ columns, rows })); };
let write, fit;

if (globalThis.Terminal) {
  const terminal = new Terminal({ fontSize: 14, lineHeight: 1.2, cursorBlink: true, scrollback: 5000 }); // at 1 a row cuts underscores off
  const addon = globalThis.FitAddon ? new FitAddon.FitAddon() : null;
  if (addon) terminal.loadAddon(addon);
  terminal.open(element);
  terminal.onData(type);
  terminal.onResize(({ cols, rows }) => resize(cols, rows));
  write = (data) => terminal.write(new Uint8Array(data));
  fit = () => { addon?.fit(); resize(terminal.cols, terminal.rows); };
  terminal.focus();
} else {
  const lines = new Lines(element, type);
  write = (data) => lines.write(decoder.decode(data, { stream: true }));
  fit = () => resize(Math.max(20, Math.floor(element.clientWidth / 8.5)), Math.max(5, Math.floor(element.clientHeight / 18.2)));
  element.focus();
}
socket.addEventListener("open", () => { state.textContent = "connected"; fit(); });
socket.addEventListener("message", ({ data }) => write(data));
socket.addEventListener("close", ({ reason }) => {
  state.textContent = reason || "the shell has ended; reload for a new one";
  state.className = "lost";
});
addEventListener("resize", fit);
