// A person's hand on the live session: gestures and keys go one after the other. Each is a step of the episode, so what
// is typed in one go is one.

import { directionOf } from "./gestures.js";

const PAUSE_MS = 350; // after it what was typed goes
const DOUBLE_MS = 350; // a click waits so long whether it is the first of two
const NEAR = 0.01; // of the screen: two clicks that are farther apart are two
const NAMES = { " ": "space", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Control: "ctrl", Escape: "escape" };
const ALONE = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"]);

/**
 * send(input) gives a promise; failed(error) hears why one was not taken; typed(text) what is still being typed;
 * doubles(): whether a double click is something that can be done here.
 */
export function createHand(send, failed, typed, doubles = () => true) {
  let waiting = [], busy = null, text = "", timer = 0;
  let held = null, holding = 0; // a click that may be half of a double one

  async function all() {
    try {
      while (waiting.length) await send(waiting.shift());
    } catch (error) {
      waiting = [];
      failed(error);
    } finally {
      busy = null;
    }
  }

  function flush() {
    if (waiting.length) busy ??= all();
    return busy ?? Promise.resolve();
  }

  function letGo() {
    clearTimeout(holding);
    const click = held;
    held = null;
    if (click) put(click);
  }

  // Either a click or a double click is sent, never one as a part of the other.
  function clicked(x, y) {
    if (held && Math.hypot(x - held.x, y - held.y) < NEAR) {
      clearTimeout(holding);
      const first = held;
      held = null;
      return put({ type: "double_click", x: first.x, y: first.y });
    }
    letGo();
    finish();
    held = { type: "click", x, y };
    if (!doubles()) return letGo();
    holding = setTimeout(letGo, DOUBLE_MS);
  }

  function spell(more) {
    letGo();
    text += more;
    clearTimeout(timer);
    timer = setTimeout(finish, PAUSE_MS);
    typed(text);
  }

  function finish() {
    letGo();
    clearTimeout(timer);
    if (text) waiting.push({ type: "type", text });
    text = "";
    return flush();
  }

  function put(input) {
    finish();
    const last = waiting.at(-1);
    if (!(input.type === "scroll" && last?.type === "scroll" && last.direction === input.direction)) waiting.push(input);
    flush();
  }

  return {
    gesture({ type, x, y, x2, y2, button, dx, dy }) {
      if (type === "click" && button === "right") put({ type: "right_click", x, y });
      else if (type === "click") clicked(x, y); // the browser's own double click would come after two clicks
      else if (type === "drag") put({ type, x, y, x2, y2 });
      else if (type === "scroll") put({ type, x, y, direction: directionOf(dx, dy) });
    },
    /** Whether the key was for the session. */
    key(event) {
      if (ALONE.has(event.key) || event.isComposing) return false;
      const altGraph = event.getModifierState("AltGraph");
      const held = [["ctrl", event.ctrlKey], ["alt", event.altKey], ["meta", event.metaKey]].filter(([, on]) => on && !altGraph).map(([name]) => name);
      const letter = [...event.key].length === 1;
      if (letter && !held.length) spell(event.key);
      else if (event.key === "Enter" && text && !held.length && !event.shiftKey) {
        spell("\n"); // a newline of what is typed is a press of Enter
        finish();
      } else put({ type: "hotkey", keys: [...held, ...(event.shiftKey && !letter ? ["shift"] : []), NAMES[event.key] ?? event.key.toLowerCase()] });
      return true;
    },
    paste(pasted) { if (pasted) spell(pasted); },
    /** Sends what was typed; resolves once all is done. */
    finish,
  };
}
