// Completion of a call while it is written: Tab takes, arrows choose, Escape closes.

import { $, make } from "./elements.js";

const PAUSE_MS = 60;
const HIGHEST = 216, LOWEST = 84, MARGIN = 12; // pixels of the page

/** ask(text, cursor) gives {completions: [{insert, label, from?, description?}], error}; changed() hears that the text was completed. */
export function completeIn(field, list, ask, changed) {
  let found = [], chosen = -1, moved = false, asked = 0, timer = 0, error = null;

  function show() {
    list.hidden = !found.length;
    if (found.length) fit();
    field.setAttribute("aria-expanded", String(Boolean(found.length)));
    list.replaceChildren(...found.map(({ label, insert }, place) => make("li", {
      id: `completion-${place}`, role: "option", "aria-selected": String(place === chosen), dir: "auto",
      onpointerdown: (event) => { event.preventDefault(); take(place); },
    }, label || insert)));
    if (found.length) field.setAttribute("aria-activedescendant", `completion-${chosen}`);
    else field.removeAttribute("aria-activedescendant");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  // Below the field, as high as there is room: the other field and the proposals above stay in sight.
  function fit() {
    const room = innerHeight - field.getBoundingClientRect().bottom - MARGIN;
    list.style.maxHeight = `${Math.min(HIGHEST, Math.max(LOWEST, room))}px`;
  }

  function close() {
    clearTimeout(timer);
    asked += 1;
    found = [];
    show();
  }

  async function open() {
    const mine = ++asked;
    if (/\)\s*$/.test(field.value.slice(0, field.selectionStart))) return close(); // the call is whole
    let said;
    try {
      said = await ask(field.value, field.selectionStart);
    } catch {
      return; // completion is a help: without it one writes on
    }
    if (mine !== asked || document.activeElement !== field) return;
    found = said.completions ?? [];
    error = said.error ?? null;
    chosen = 0;
    moved = false;
    show();
  }

  function take(place) {
    const { insert, from } = found[place], cursor = field.selectionStart;
    const begin = from ?? cursor;
    field.value = field.value.slice(0, begin) + insert + field.value.slice(cursor);
    field.setSelectionRange(begin + insert.length, begin + insert.length);
    field.focus();
    changed();
    open(); // on to the next part of the call
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(open, PAUSE_MS);
  });
  field.addEventListener("click", () => { if (!field.value.trim()) open(); });
  field.addEventListener("blur", close);

  return {
    open, close,
    get error() { return error; },
    /** Whether the key was for the list. */
    key(event) {
      if (!found.length) {
        if (event.key !== "ArrowDown" || field.value.includes("\n")) return false;
        open();
        return true;
      }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
        moved = true;
        show();
      } else if (event.key === "Tab" && !event.shiftKey || (event.key === "Enter" && moved)) take(chosen);
      else if (event.key === "Escape") close();
      else return false;
      return true;
    },
  };
}
