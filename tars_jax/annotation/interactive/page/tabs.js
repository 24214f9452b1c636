// One tab of a person shows a session at a time: a second one says so, and does nothing until it is asked to.

import { $, key, make } from "./elements.js";
import { Refused, get, post } from "./service.js";

const RELOADED_MS = [200, 400]; // a tab that loads anew may still be taken for the one that it was
const tabs = new BroadcastChannel("annotation.session"); // of one browser; others are told by the service

/** Whether another tab of who is called `name` has the session. What else is wrong with it is the desk's to say. */
export async function isElsewhere(id, name) {
  let state;
  try {
    state = await get(`/api/sessions/${encodeURIComponent(id)}`);
  } catch {
    return false;
  }
  if (state.annotator !== name || state.phase === "ended" || state.phase === "lost") return false;
  for (const pause of [...RELOADED_MS, null]) {
    try {
      await post("/api/sessions", { task: state.task });
      return false;
    } catch (error) {
      if (!(error instanceof Refused) || !error.message.includes("another tab")) return false;
    }
    if (pause !== null) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return true;
}

/** The other tabs of who is called `name` hear that the session is this one's now. */
export const claim = (id, name) => tabs.postMessage([id, name]);

export function onClaimed(heard) {
  tabs.addEventListener("message", ({ data }) => heard(...data));
}

/** Says in the list's place that another tab has the session; goOn() opens it here. */
export function showElsewhere(goOn) {
  $("list").replaceChildren(
    make("h2", { id: "elsewhere" }, "Another tab has this session."),
    make("div", { class: "buttons" }, make("button", { class: "strong", id: "go_on", type: "button", onclick: goOn }, "Go on here ", key("Enter"))));
  $("go_on").focus();
}
