// A desktop by noVNC. It only shows it until somebody takes it over; the desktop's name says who has it.
import RFB from "./novnc/core/rfb.js";

const byId = (id) => document.getElementById(id);
const state = byId("state"), control = byId("control"), text = byId("text");
const address = new URL("socket", location.href);
address.protocol = address.protocol.replace("http", "ws");
const socket = new WebSocket(address, "binary");
const WORDS = { watching: "watching", yours: "you have it; its agent waits", "another's": "somebody else has it" };
let reason = "";
socket.addEventListener("close", (event) => { reason = event.reason; });

const rfb = new RFB(byId("screen"), socket, { shared: true });
rfb.viewOnly = true;
rfb.scaleViewport = true;
rfb.background = "transparent";
const has = () => control.className === "held";

rfb.addEventListener("connect", () => {
  state.textContent = WORDS.watching;
  control.disabled = false;
});
rfb.addEventListener("disconnect", () => {
  state.textContent = reason || "the connection has ended; reload for a new one";
  state.className = "lost";
  control.disabled = true;
});
rfb.addEventListener("desktopname", ({ detail }) => {
  const yours = detail.name === "yours";
  state.textContent = WORDS[detail.name] ?? detail.name;
  rfb.viewOnly = !yours;
  control.className = yours ? "held" : "";
  control.textContent = yours ? "Give back" : "Take over";
  byId("clipboard").hidden = !yours;
  if (!yours) text.hidden = true;
  if (yours) rfb.focus();
});
control.addEventListener("click", () => socket.send(JSON.stringify({ control: !has() })));

// The clipboard, in Unicode. A browser that lets the page have its own gets it there, too.
rfb.addEventListener("clipboard", ({ detail }) => {
  text.value = detail.text;
  navigator.clipboard?.writeText(detail.text).catch(() => {});
});
text.addEventListener("input", () => rfb.clipboardPasteFrom(text.value));
byId("clipboard").addEventListener("click", () => {
  text.hidden = !text.hidden;
  if (!text.hidden) text.focus();
});

// Who may only watch is not offered more.
fetch("../page/info").then((response) => response.json()).then(({ watches }) => { control.hidden = Boolean(watches); }).catch(() => {});
