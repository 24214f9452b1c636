// What was decided so far, the newest first, and by whom.

import { $, clock, make, plural, written } from "./elements.js";
import { readable } from "./placing.js";

const LONGEST = 600;

export function byWhom({ decided_by, accepted, live, hidden }) {
  if (hidden) return "a secret of yours";
  if (decided_by === "service") return "a fresh look at the screen";
  if (live) return "you did it live";
  if (decided_by === "annotator") return "you wrote it";
  if (decided_by === "edited") return "you edited it";
  return accepted === false ? "the policy alone" : "you accepted it";
}

export function showHistory(history) {
  $("history_title").textContent = history.length ? plural(history.length, "step") : "Nothing is decided yet";
  $("history").replaceChildren(...history.toReversed().map((each) => make("li", { class: each.decided_by },
    make("span", { class: "number" }, each.step + 1),
    written("code", "action", (readable(each.action || "") || each.text || "").slice(0, LONGEST)),
    make("span", { class: "who" }, byWhom(each)),
    written("span", "thought", (each.thought || "").slice(0, LONGEST)),
    make("span", { class: "took" }, each.seconds ? clock(each.seconds) : ""))));
}
