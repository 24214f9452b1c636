// What a text environment has said so far: every observation, and what was done after it, the newest at the bottom.

import { $, make, written } from "./elements.js";
import { readable } from "./placing.js";
import { get } from "./service.js";

let session = null, said = new Map(), asked = null, drawn = "";

/** Shows the observations up to the state's. Those from before this page was opened are asked for once. */
export function showObservations(state) {
  if (state.session !== session) {
    session = state.session;
    said = new Map();
    asked = null;
    drawn = "";
  }
  for (const step of said.keys()) if (step > state.step) said.delete(step); // undone
  if (!state.secret) said.set(state.step, state.observation.text ?? "");
  draw(state);
  if (asked !== session && state.history.some((each) => each.step < state.step && !said.has(each.step))) {
    asked = session;
    earlier(state);
  }
}

async function earlier(state) {
  let episode;
  try {
    episode = await get(`/api/episodes/${encodeURIComponent(state.session)}`);
  } catch {
    return; // what comes from now on is shown
  }
  if (session !== state.session) return;
  for (const each of episode.steps) if (!said.has(each.step) && each.step < state.step) said.set(each.step, each.observation ?? "");
  draw(state);
}

function draw(state) {
  const steps = [...said.keys()].sort((a, b) => a - b);
  const now = JSON.stringify([...steps.map((step) => [step, said.get(step)]), state.history.length]);
  if (now === drawn) return;
  drawn = now;
  const done = new Map(state.history.map((each) => [each.step, readable(each.action || each.text || "")]));
  const box = $("observation");
  box.replaceChildren(...steps.flatMap((step) => [
    written("span", step === steps.at(-1) ? "new" : "past", said.get(step)),
    step < state.step && done.has(step) ? make("span", { class: "did", dir: "auto" }, `› ${done.get(step)}`) : null,
  ]).filter(Boolean));
  box.scrollTop = box.scrollHeight;
}
