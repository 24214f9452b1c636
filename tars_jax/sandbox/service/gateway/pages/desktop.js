// A desktop as it moves: pictures over a WebSocket one way, a person's hand the other.
"use strict";

const screen_ = document.getElementById("screen"), state = document.getElementById("state");
const address = new URL("socket", location.href);
address.protocol = address.protocol.replace("http", "ws");
const socket = new WebSocket(address);
socket.binaryType = "blob";
let frames = 0, next = null, decoding = false;

// One picture is decoded at a time; of those that come meanwhile, the last.
async function show() {
  if (decoding) return;
  decoding = true;
  while (next) {
    const before = screen_.src, url = URL.createObjectURL(next);
    next = null;
    screen_.src = url;
    await screen_.decode().catch(() => {});
    if (before.startsWith("blob:")) URL.revokeObjectURL(before);
    screen_.dataset.frames = ++frames;
  }
  decoding = false;
}
const send = async (events) => {
  if (events.length && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ events }));
};
const hand = createHand(screen_, send, () => false, { hovers: true });
socket.addEventListener("open", () => { state.textContent = "connected"; hand.take(); });
socket.addEventListener("message", ({ data }) => { next = data; show(); });
socket.addEventListener("close", ({ reason }) => {
  state.textContent = reason || "the connection has ended; reload for a new one";
  state.className = "lost";
  hand.release();
});
