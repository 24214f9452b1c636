// A person's hand: pointer, wheel and keys on the screenshot of a page become calls on the page, one under way at a time.
"use strict";

const KEY_NAMES = new Set(["Alt", "Control", "Meta", "Shift", "Enter", "Tab", "Escape", "Backspace", "Delete", "Insert",
  "Home", "End", "PageUp", "PageDown", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown",
  ...Array.from({ length: 12 }, (_, i) => `F${i + 1}`)]);
const TICK_MS = 120; // virtual time of a call, and the pause between two while time runs
const BUTTONS = ["left", "middle", "right"];

// send(events, advance_ms) gives a promise; runs() says whether time goes on by itself.
// hovers: a pointer without a button moves, too.
function createHand(screen, send, runs, { hovers = false } = {}) {
  let waiting = [], busy = false, timer = 0;
  const down = new Set();

  async function flush() {
    if (busy) return;
    const events = waiting;
    waiting = [];
    busy = true;
    try {
      await send(events, TICK_MS);
    } finally {
      busy = false;
      if (waiting.length) flush();
    }
  }
  function put(...events) {
    const last = waiting.at(-1);
    if (last?.type === "MouseMove" && events[0].type === "MouseMove") waiting.pop(); // only where the pointer got to
    waiting.push(...events);
    flush();
  }
  const place = (event) => {
    const box = screen.getBoundingClientRect();
    return {
      x: Math.round(((event.clientX - box.left) * screen.naturalWidth) / box.width),
      y: Math.round(((event.clientY - box.top) * screen.naturalHeight) / box.height),
    };
  };
  const button = (event) => ({ button: BUTTONS[event.button] ?? "left", clicks: Math.max(1, event.detail) });

  const listeners = {
    pointerdown(event) {
      screen.focus();
      screen.setPointerCapture(event.pointerId);
      put({ type: "MouseMove", ...place(event) }, { type: "MouseDown", ...place(event), ...button(event) });
    },
    pointermove(event) { if (hovers || event.buttons) put({ type: "MouseMove", ...place(event) }); },
    pointerup(event) { put({ type: "MouseUp", ...place(event), ...button(event) }); },
    wheel(event) {
      event.preventDefault();
      put({ type: "Wheel", ...place(event), dx: event.deltaX, dy: event.deltaY });
    },
    keydown(event) {
      event.preventDefault();
      const key = event.key;
      if (KEY_NAMES.has(key) || /^[ -~]$/.test(key)) {
        down.add(key);
        put({ type: "KeyDown", key });
      } else if ([...key].length === 1) {
        put({ type: "InsertText", text: key });
      }
    },
    keyup(event) {
      event.preventDefault();
      if (down.delete(event.key)) put({ type: "KeyUp", key: event.key });
    },
    contextmenu(event) { event.preventDefault(); },
    blur() {
      for (const key of down) put({ type: "KeyUp", key });
      down.clear();
    },
  };
  return {
    take() {
      for (const [type, listener] of Object.entries(listeners)) screen.addEventListener(type, listener, { passive: false });
      timer = setInterval(() => { if (runs() && !busy) flush(); }, TICK_MS);
      screen.focus();
    },
    release() {
      for (const [type, listener] of Object.entries(listeners)) screen.removeEventListener(type, listener);
      clearInterval(timer);
      waiting = [];
      down.clear();
    },
  };
}
