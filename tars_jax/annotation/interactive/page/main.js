// Where the page begins: the key, the views by the address's fragment, the card of keys.

import { $, inField } from "./elements.js";
import { createDesk } from "./desk.js";
import { showDisagreements, showEpisode, showEpisodes, showLog } from "./review.js";
import { Away, Refused, again, forget, hasKey, login, post } from "./service.js";
import { claim, isElsewhere, onClaimed, showElsewhere } from "./tabs.js";
import { showTasks } from "./tasks.js";

const GREETED = "annotation.greeted";
const AGAIN_MS = 1000;
let who = null, words = ["", ""]; // what the list says once, when a session was left, and its class
let shown = 0;
let opened = null; // the session that this tab itself has opened, or was asked to go on with

const desk = createDesk({
  leave(said, kind) {
    words = [said, kind];
    go("#/tasks");
  },
  async next() {
    const refused = await open(null);
    if (!refused) return;
    words = [refused, "bad"];
    go("#/tasks");
  },
  known() { if (!localStorage.getItem(GREETED)) greet(); },
});

const go = (address) => { location.hash === address ? route() : location.hash = address; };

/** Opens a session: null, or why there is none. */
async function open(task) {
  try {
    const state = await post("/api/sessions", task === null ? {} : { task });
    opened = state.session;
    go(`#/session/${encodeURIComponent(state.session)}`);
    return null;
  } catch (error) {
    return error.message;
  }
}

function show(view) {
  for (const id of ["gate", "list", "desk"]) $(id).hidden = id !== view;
  $("top").classList.toggle("known", view !== "gate");
}

async function route() {
  if (!who) return;
  const mine = ++shown, [view, id] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  for (const anchor of document.querySelectorAll("#top nav a")) {
    if (anchor.hash === `#/${view}`) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  if (view === "session" && id) {
    if (id === desk.id) return show("desk");
    desk.close();
    show("desk");
    const elsewhere = id !== opened && await isElsewhere(id, who.name);
    if (mine !== shown) return;
    opened = null;
    if (elsewhere) return away(id);
    claim(id, who.name);
    desk.open(id);
    return;
  }
  desk.close();
  show("list");
  const said = words;
  words = ["", ""];
  $("list").replaceChildren();
  const views = { episodes: () => (id ? showEpisode(id, who.role) : showEpisodes()), disagreements: showDisagreements, log: showLog };
  try {
    await (views[view] ?? (() => showTasks(who, said, open)))();
  } catch (error) {
    if (mine !== shown) return;
    if (error instanceof Refused && error.status === 401) return ask(error.message);
    $("list").replaceChildren(Object.assign(document.createElement("p"), { className: "bad", id: "said", textContent: error instanceof Away ? "The service cannot be reached; trying again." : error.message }));
    if (!(error instanceof Away) && !(error instanceof Refused)) throw error;
    if (error instanceof Away) setTimeout(() => { if (mine === shown) route(); }, AGAIN_MS);
  }
}

/** Another tab has the session: it is said in the desk's place. */
function away(id) {
  desk.close();
  show("list");
  showElsewhere(() => {
    opened = id;
    route();
  });
}

function greet() {
  localStorage.setItem(GREETED, "yes");
  $("card").showModal();
  const read = new AbortController();
  for (const name of ["submit", "cancel"]) { // at once: `close` waits for a frame, and may come after the next key
    $("card").addEventListener(name, () => {
      desk.begin();
      read.abort();
    }, { signal: read.signal });
  }
}

function ask(said) {
  who = null;
  forget();
  show("gate");
  $("refusal").textContent = said;
  $("key").focus();
}

async function enter(entering) {
  try {
    who = await entering();
  } catch (error) {
    if (error instanceof Refused) return ask(error.status === 401 ? "This key is not known here." : error.message);
    show("gate");
    $("refusal").textContent = "The service cannot be reached; trying again.";
    return setTimeout(() => enter(hasKey() ? again : entering), AGAIN_MS);
  }
  $("who").textContent = who.name === who.role ? who.name : `${who.name}, ${who.role}`;
  $("to_disagreements").hidden = who.role === "annotator";
  $("to_log").hidden = who.role !== "owner";
  $("refusal").textContent = $("key").value = "";
  route();
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("key").value;
  enter(() => login(given));
});
$("help").addEventListener("click", () => $("card").showModal());
document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") || inField(event.target) || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") {
    event.preventDefault();
    $("card").showModal();
  } else if (event.key === "Enter" && $("begin") && !$("list").hidden && !event.target.closest("button, a")) $("begin").click();
});
addEventListener("hashchange", route);
onClaimed((id, name) => {
  if (!$("desk").hidden && desk.id === id && who?.name === name) away(id);
});

const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  history.replaceState(null, "", location.pathname); // the key does not stay in the address
  enter(() => login(given));
} else if (hasKey()) enter(again);
else ask("");
