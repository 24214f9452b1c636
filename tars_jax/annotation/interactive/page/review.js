// What has been annotated, looked at by others: episodes, one by its steps, where people differ, the owner's log.

import { $, clock, draw, inField, key, make, plural, written } from "./elements.js";
import { colorOf } from "./candidates.js";
import { byWhom } from "./history.js";
import { marksOf, readable } from "./placing.js";
import { get, post } from "./service.js";
import { table } from "./tasks.js";

const KINDS = { solved: "good", "not solved": "bad" };
const badge = (verdict) => make("span", { class: `badge ${KINDS[verdict] ?? "void"}` }, verdict);
const link = (id, words) => make("a", { href: `#/episodes/${encodeURIComponent(id)}`, dir: "auto" }, words);
const opinions = (reviews) => (reviews ?? []).map(({ name, agree, note }) => `${name} ${agree ? "agrees" : "disagrees"}${note ? `: ${note}` : ""}`).join(", ");
const when = (seconds) => (seconds ? new Date(1000 * seconds).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "");

export async function showEpisodes() {
  const { episodes } = await get("/api/episodes");
  $("list").replaceChildren(
    make("h2", {}, episodes.length ? plural(episodes.length, "episode") : "No episode has begun yet"),
    episodes.length ? table(["Task", "By", "Steps", "Of them put right", "Time", "Ended", "Reviews"], episodes.map((each) => make("tr", {},
      make("td", {}, link(each.id, each.instruction || each.task)),
      make("td", { class: "note", dir: "auto" }, each.annotator),
      make("td", { class: "note" }, each.steps),
      make("td", { class: "note" }, each.corrected),
      make("td", { class: "note" }, clock(each.seconds ?? 0)),
      make("td", {}, badge(each.verdict)),
      make("td", { class: "note", dir: "auto" }, opinions(each.reviews))))) : "");
}

export async function showEpisode(id, role) {
  const path = `/api/episodes/${encodeURIComponent(id)}`;
  const episode = await get(path);
  const said = make("p", { id: "said", role: "status" }, opinions(episode.reviews));
  const note = make("input", { id: "review_note", maxlength: "2000", dir: "auto", placeholder: "Note (may stay empty)", "aria-label": "Note on the review" });
  async function judge(agree) {
    try {
      await post(`${path}/review`, { agree, note: note.value.trim() });
      said.className = "";
      said.textContent = agree ? "You agree. It is stored." : "You disagree. It is stored.";
    } catch (error) {
      said.className = "bad";
      said.textContent = error.message;
    }
  }
  $("list").replaceChildren(
    written("h2", "", episode.instruction || episode.task),
    make("p", { class: "subtitle" }, badge(episode.verdict), ` by ${episode.annotator}, ${plural(episode.steps.length, "step")}${episode.lost ? `: ${episode.lost}` : ""}`),
    role === "annotator" || episode.open ? "" : make("p", { class: "question" }, "Do you agree with what was done, and with how it ended?"),
    role === "annotator" || episode.open ? "" : make("div", { class: "buttons judging" },
      make("button", { class: "strong", id: "agree", type: "button", onclick: () => judge(true) }, "Agree ", key("a")),
      make("button", { id: "disagree", type: "button", onclick: () => judge(false) }, "Disagree ", key("d")), note),
    said,
    make("ol", { id: "replay", "aria-label": "Steps" }, ...episode.steps.map(replayed)),
    episode.final_screen ? make("p", { class: "note last" }, "Where it ended") : "",
    episode.final_screen ? pictured({ screen: episode.final_screen }, []) : "");
}

function replayed(step, place) {
  const chosen = step.candidate ?? null, mine = (each, at) => (each.index ?? at) === chosen;
  const marks = (step.candidates ?? []).flatMap((each, at) => (each.marks ?? []).map((mark) => ({ ...mark, color: `${colorOf(at)} ${mine(each, at) ? "current" : ""}` })));
  const own = step.accepted ? [] : marksOf(step.action ?? "").map((mark) => ({ ...mark, color: "mine current" }));
  return make("li", { tabindex: "0", id: `step-${place}` },
    step.screen ? pictured(step, [...marks, ...own]) : written("pre", "read", step.observation || "There is no picture of this step."),
    make("div", { class: "told" },
      make("p", { class: "note" }, `Step ${place + 1} · ${byWhom(step).replace("you", "the annotator")} · ${clock(step.seconds ?? 0)} · ${plural(step.keystrokes ?? 0, "key")}`),
      written("p", "thought", step.thought),
      written("code", "action", readable(step.action || step.text || "")),
      make("ol", { class: "proposed", "aria-label": "What the policy proposed" }, ...(step.candidates ?? []).map((each, at) => make("li", { class: `${colorOf(at)} ${mine(each, at) ? "current" : ""}` },
        written("code", "action", readable(each.action || each.text || "")), make("span", { class: "note" }, `${Math.round(100 * (each.probability ?? 0))}%${mine(each, at) ? ", taken" : ""}`))))));
}

function pictured(step, marks) {
  const layer = draw("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
  layer.append(...marks.flatMap(({ kind, color, x, y, x2, y2 }) => [ // round caps: no picture's sides distort them
    ...(kind === "drag" ? [draw("path", { class: `way ${color}`, d: `M${100 * x} ${100 * y}L${100 * x2} ${100 * y2}` })] : []),
    draw("path", { class: `spot ${color}`, d: `M${100 * x} ${100 * y}h0` }),
  ]));
  return make("div", { class: "shot" }, make("img", { src: step.screen, alt: "The screen before the step", loading: "lazy" }), layer);
}

export async function showDisagreements() {
  const { tasks, steps, reviews } = await get("/api/disagreements");
  $("list").replaceChildren(
    make("h2", {}, "Where people differ"),
    tasks.length ? table(["Task", "How it ended", "They part"], tasks.map((each) => make("tr", {},
      make("td", {}, written("span", "", each.task)),
      make("td", {}, ...each.episodes.flatMap((id, at) => [link(id, each.annotators[at]), " ", badge(each.verdicts[at]), " "])),
      make("td", { class: "note" }, each.step === null ? "" : `at step ${each.step + 1}`))))
      : make("p", { class: "note" }, "No two people did a task otherwise."),
    make("h2", { class: "second" }, "Where a reviewer does not agree"),
    reviews.length ? table(["Episode", "How it ended", "The reviewer", "Says"], reviews.map((each) => make("tr", {},
      make("td", {}, link(each.episode, `${each.task}, ${each.annotators.join(", ")}`)),
      make("td", {}, badge(each.verdict)),
      make("td", {}, written("span", "", each.reviewer)),
      make("td", { class: "note" }, written("span", "", each.note)))))
      : make("p", { class: "note" }, "No reviewer has disagreed."),
    make("h2", { class: "second" }, "Where people and the policy differ most"),
    steps.length ? table(["Episode", "The person", "The policy", "It would have done so"], steps.map((each) => make("tr", {},
      make("td", {}, link(each.episode, `${each.task}, step ${each.step + 1}`)),
      make("td", {}, written("code", "action", readable(each.chosen))),
      make("td", {}, written("code", "action", readable(each.policy))),
      make("td", { class: "note" }, `${Math.round(100 * each.agreed)}%`))))
      : make("p", { class: "note" }, "Nobody wrote other than the policy yet."));
}

export async function showLog() {
  const { log } = await get("/api/log");
  $("list").replaceChildren(
    make("h2", {}, "Log"),
    table(["When", "Who", "What", "Session", ""], log.toReversed().map(({ time, name, role, event, session, ...rest }) => make("tr", {},
      make("td", { class: "note" }, when(time)), make("td", { dir: "auto" }, name, " ", make("span", { class: "note" }, role)), make("td", {}, event),
      make("td", { class: "note" }, session ? link(session, session) : ""), make("td", { class: "note", dir: "auto" }, Object.entries(rest).map(([field, value]) => `${field} ${value}`).join(", "))))));
}

document.addEventListener("keydown", (event) => {
  if (!$("agree") || $("list").hidden || document.querySelector("dialog[open]") || inField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = { a: $("agree"), d: $("disagree") }[event.key];
  if (!button) return;
  event.preventDefault();
  button.click();
});
