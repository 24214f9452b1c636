// What the policy would do next: rows in the colors of their marks.

import { $, key, make, written } from "./elements.js";
import { readable } from "./placing.js";
import { sentence } from "./words.js";

export const COLORS = 5; // classes c0 to c4 of page.css
const LONGEST = 1200; // characters of a thought in its row; the editor shows the whole

export const colorOf = (index) => `c${index % COLORS}`;

const percent = (probability) => (probability >= 0.995 ? "100%" : probability < 0.01 ? "<1%" : `${Math.round(100 * probability)}%`);
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** The likeliest first; one whose probability is not known comes last. Each keeps its `index`. */
export const ranked = (candidates) => candidates.toSorted((a, b) => (b.probability ?? -1) - (a.probability ?? -1));

let kept = null;

/** on: accept(index), edit(index), choose(index). `chosen`: the row that Enter and e mean. */
export function showCandidates(state, chosen, sending, on) {
  const open = state.phase === "deciding" && !sending;
  const focused = document.activeElement?.closest?.("#candidates [data-index]");
  if (focused) kept = focused.dataset;
  const rows = state.candidates.map((candidate, place) => row(candidate, place, { open, sent: sending && place === chosen, current: place === chosen }, on));
  const waits = !rows.length && ["proposing", "acting"].includes(state.phase);
  $("candidates").replaceChildren(...rows, ...(waits ? [0, 1, 2].map(() => make("li", { class: "ghost", "aria-hidden": true })) : []));
  $("candidates").setAttribute("aria-busy", String(waits));
  if (kept && open && document.activeElement === document.body) { // who goes by Tab stays in the rows from step to step
    ($("candidates").querySelector(`[data-index="${kept.index}"].${kept.role}`) ?? $("candidates").querySelector("button:enabled"))?.focus();
    kept = null;
  }
}

/** Another row is meant: nothing is made anew, so that a pointer's press stays one. */
export function markChosen(chosen) {
  for (const [place, line] of [...$("candidates").children].entries()) {
    line.classList.toggle("current", place === chosen);
    line.querySelector(".take")?.setAttribute("aria-current", String(place === chosen));
  }
}

function row({ index, thought, action, text, probability, valid, error }, place, { open, sent, current }, on) {
  const number = place + 1;
  const name = `Proposal ${number}, ${probability === null ? "" : percent(probability)}: ${short(action ? readable(action) : text).slice(0, 200)}`;
  const take = make("button", {
    class: "take", type: "button", "data-index": index, "data-role": "take", "aria-current": String(current),
    "aria-label": valid ? name : `${name}. It cannot be done as it is written.`, "aria-keyshortcuts": number < 10 ? String(number) : null,
    disabled: !open || !valid, onclick: () => on.accept(place), onfocus: () => on.choose(place),
  },
  make("span", { class: "number" }, number < 10 ? key(number) : String(number)),
  written("span", "thought", short(valid ? thought : sentence(error || "It cannot be done as it is written"))),
  written("code", "action", short(action ? readable(action) : text)),
  make("span", { class: "chance" }, make("span", { class: "bar" }, bar(probability)), make("span", { class: "percent" }, probability === null ? "" : percent(probability))));
  const edit = make("button", { class: "edit small", type: "button", "data-index": index, "data-role": "edit", disabled: !open, "aria-label": `Edit proposal ${number}`, onclick: () => on.edit(place), onfocus: () => on.choose(place) }, "Edit");
  const kind = [colorOf(place), current && "current", sent && "sent", !valid && "invalid"].filter(Boolean).join(" ");
  return make("li", { class: kind, onpointerenter: () => on.choose(place) }, take, edit);
}

function bar(probability) {
  const made = make("i");
  made.style.width = `${100 * Math.min(1, Math.max(0, probability ?? 0))}%`; // by script: the policy of contents allows no style attribute
  return made;
}
