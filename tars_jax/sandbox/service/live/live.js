// The live page: all sessions as moving thumbnails; one of them large, to watch or to take over.
"use strict";

const POLL_MS = 300;
const byId = (id) => document.getElementById(id);
const cards = new Map(); // session id -> {card, shown: number of calls of the screenshot, session}
let key = "", open = null, following = null, lastCalls = 0, lastTime = 0;

// ---- the service ----
async function request(path, options = {}) {
  const headers = { Authorization: `Bearer ${key}`, ...(options.body ? { "Content-Type": "application/json" } : {}) };
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) askForKey("This key is not known here.");
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response;
}
const post = async (path, body) => (await request(path, { method: "POST", body: JSON.stringify(body) })).json();

function askForKey(words) {
  key = "";
  sessionStorage.removeItem("key");
  byId("gate").hidden = false;
  byId("refusal").textContent = words;
}
byId("gate").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(byId("key").value);
});
function begin(given) {
  key = given;
  sessionStorage.setItem("key", key);
  byId("gate").hidden = true;
}

// ---- words ----
const isComputer = (session) => session.kind === "computer";
function title(session) {
  if (isComputer(session)) return session.parts.includes("desktop") ? "Desktop" : "Computer";
  const folder = session.index.split("?")[0].split("/");
  const name = folder.length > 1 ? folder.at(-2) : folder[0].replace(/\.html$/, "");
  const words = name.replace(/^game_/, "").replaceAll("_", " ");
  return words.replace(/\b(?!of\b|and\b|the\b)\w/g, (letter) => letter.toUpperCase());
}
function described(call) {
  if (!call) return "opened";
  if (typeof call === "string") return "a long action";
  if (call.call !== "act") return [call.call, call.command ?? call.path ?? call.code ?? ""].join(" ").trim().slice(0, 80);
  const { events } = call;
  const at = ({ x, y }) => `${Math.round(x)}, ${Math.round(y)}`;
  const press = events.find((event) => event.type === "MouseDown");
  const up = events.findLast((event) => event.type === "MouseUp");
  if (press && up && Math.hypot(up.x - press.x, up.y - press.y) > 3) return `drag ${at(press)} → ${at(up)}`;
  if (press) return `${press.button === "right" ? "right click" : events.some((e) => e.clicks > 1) ? "double click" : "click"} ${at(press)}`;
  const keys = events.filter((event) => event.type === "KeyDown").map((event) => event.key);
  if (keys.length) return keys.every((name) => name.length === 1) ? `type ${keys.join("")}` : keys.join(" + ");
  const text = events.find((event) => event.type === "InsertText");
  if (text) return `type ${text.text}`;
  if (events.some((event) => event.type === "Wheel")) return "scroll";
  return events.length ? "move" : `wait ${Math.round(call.advance_ms)} ms`;
}
function results(data) {
  const verdict = data?.verdict ?? data;
  if (!verdict || typeof verdict !== "object" || Array.isArray(verdict)) return [];
  const chips = [];
  if (verdict.level !== undefined) chips.push([`level ${verdict.level}`, ""]);
  if (verdict.score !== undefined) chips.push([`score ${verdict.score}`, ""]);
  if (verdict.reward !== undefined) chips.push([`reward ${verdict.reward}`, verdict.reward > 0 ? "won" : ""]);
  if (verdict.success) chips.push(["won", "won"]);
  else if (verdict.done) chips.push(["over", "over"]);
  return chips;
}
const state = (session) => (session.person ? "person" : session.live ? "live" : "lost");
const STATE_WORDS = { person: "a person plays", live: "live", lost: "recovering" };
const stateWords = (session) => (isComputer(session) && !session.live ? "gone" : STATE_WORDS[state(session)]);
// A desktop moves by itself; a page or a phone only when it is called; what shells say has a number (`shown`).
const moves = (session) => isComputer(session) && session.live && session.parts.includes("desktop");
const hasScreen = (session) => isComputer(session) && session.live && ["desktop", "browser", "phone"].some((part) => session.parts.includes(part));
const hasLine = (session) => isComputer(session) && session.live && !hasScreen(session) && session.parts.includes("shell");
const version = (session) => session.shown ?? session.calls;

// ---- the grid ----
function element(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}
function createCard(session) {
  const image = element("img", session.width < 200 ? "small" : "");
  image.alt = `What ${title(session)} shows`;
  const ripple = element("i", "ripple"), badge = element("span", "badge");
  const dot = element("i", "dot"), name = element("b", ""), calls = element("span", "quiet"), last = element("p", "last");
  const chips = element("div", "chips"), lease = element("i", "");
  const card = element("button", "card",
    element("div", "thumb", image, ripple, badge),
    element("div", "words", element("div", "name", dot, name, calls), last, chips),
    element("div", "lease", lease));
  card.addEventListener("click", () => show(session.id));
  byId("grid").append(card);
  return { card, image, ripple, badge, dot, name, calls, last, chips, lease, shown: -1, session };
}
function chip([words, kind]) {
  return element("span", `chip ${kind}`, words);
}
function update(entry, session) {
  entry.session = session;
  entry.card.classList.toggle("person", session.person);
  entry.dot.className = `dot ${state(session)}`;
  entry.badge.className = `badge ${state(session)}`;
  entry.badge.textContent = stateWords(session);
  entry.badge.hidden = state(session) === "live";
  entry.name.textContent = title(session);
  entry.calls.textContent = session.calls;
  entry.last.textContent = described(session.last_call);
  entry.chips.replaceChildren(...results(session.data).map(chip));
  const left = Math.max(0, Math.min(1, session.seconds_left / session.lease_seconds));
  entry.lease.style.width = `${100 * left}%`;
  filter(entry);
}
function filter({ card, session }) {
  const words = `${title(session)} ${session.owner} ${session.id}`.toLowerCase();
  card.hidden = !words.includes(byId("filter").value.trim().toLowerCase());
}
byId("filter").addEventListener("input", () => cards.forEach(filter)); // at once, not with the next poll
async function showScreenshot(entry) {
  const { session } = entry;
  if (!moves(session) && (entry.shown === version(session) || session.calls === 0)) return;
  entry.shown = version(session);
  const blob = await (await request(`/v1/sessions/${session.id}/screenshot`)).blob();
  const old = entry.image.src;
  entry.image.src = URL.createObjectURL(blob);
  await entry.image.decode().catch(() => {});
  if (old) URL.revokeObjectURL(old);
  mark(entry);
  if (open === session.id && (!held() || hasLine(session))) byId("screen").src = entry.image.src;
}
// A ring where the last action pressed.
function mark(entry) {
  const press = entry.session.last_call?.events?.find?.((event) => event.type === "MouseDown");
  if (!press) return;
  const box = entry.image.parentElement, { naturalWidth: width, naturalHeight: height } = entry.image;
  const scale = Math.min(box.clientWidth / width, box.clientHeight / height);
  entry.ripple.style.left = `${(box.clientWidth - width * scale) / 2 + press.x * scale}px`;
  entry.ripple.style.top = `${(box.clientHeight - height * scale) / 2 + press.y * scale}px`;
  entry.ripple.classList.remove("go");
  void entry.ripple.offsetWidth; // the animation begins again
  entry.ripple.classList.add("go");
}
function count(sessions, stats) {
  const calls = sessions.reduce((sum, session) => sum + session.calls, 0), now = performance.now();
  const rate = lastTime ? Math.max(0, (calls - lastCalls) / ((now - lastTime) / 1000)) : 0;
  [lastCalls, lastTime] = [calls, now];
  const named = (word, number) => [number === 1 ? word : `${word}s`, number];
  const rows = [named("session", sessions.length), ["actions a second", rate.toFixed(1)]];
  if (stats.browsers) rows.splice(1, 0, named("browser", stats.browsers.browsers));
  const lost = Object.values(stats.browsers?.failures ?? {}).reduce((sum, number) => sum + number, 0);
  if (lost) rows.push(["pages lost and recovered", lost]);
  byId("counts").replaceChildren(...rows.map(([name, value]) => {
    const [term, number] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    number.textContent = value;
    return element("div", "", term, number);
  }));
}
async function poll() {
  if (key && !document.hidden) {
    try {
      const [{ sessions }, stats] = await Promise.all(
        ["/v1/sessions", "/v1/stats"].map(async (path) => (await request(path)).json()));
      for (const [id, entry] of cards) {
        if (sessions.some((session) => session.id === id)) continue;
        entry.card.remove();
        cards.delete(id);
        if (open === id) hide();
      }
      for (const session of sessions) {
        if (!cards.has(session.id)) cards.set(session.id, createCard(session));
        update(cards.get(session.id), session);
      }
      byId("empty").hidden = sessions.length > 0;
      count(sessions, stats);
      if (open) facts(cards.get(open).session), mounts(cards.get(open).session);
      await Promise.all([...cards.values()].map((entry) => showScreenshot(entry).catch(() => {})));
    } catch (error) {
      byId("counts").textContent = key ? `The service does not answer: ${error.message}` : "";
    }
  }
  setTimeout(poll, POLL_MS);
}

// ---- one session, large ----
const held = () => byId("stage").classList.contains("held");
const hand = createHand(byId("screen"), act, () => byId("runs").checked);

function show(id) {
  const { session, image } = cards.get(id);
  open = id;
  byId("stage").hidden = false;
  byId("title").textContent = title(session);
  byId("place").textContent = `${session.index ?? session.parts.join(", ")} · ${session.owner} · ${session.id}`;
  const screen = byId("screen");
  screen.className = session.width < 400 ? "small" : "";
  screen.width = Math.min(1280, Math.max(session.width, 720 * Math.min(1, session.width / session.height)));
  screen.src = image.src;
  byId("events").replaceChildren();
  facts(session);
  mounts(session);
  follow(id);
}
function hide() {
  if (held()) giveBack();
  following?.abort();
  open = null;
  byId("stage").hidden = true;
}
function facts(session) {
  const rows = [
    ["state", stateWords(session)], ["calls", session.calls], ["last", described(session.last_call)],
    ...results(session.data).map(([words]) => { const [name, value] = words.split(" "); return [value ? name : "game", value ?? name]; }),
    ...(isComputer(session) ? [["ports", session.ports.join(", ") || "none"],
      ["memory", session.memory_bytes === null ? "not counted" : `${session.memory_bytes >> 20} MiB`]]
      : [["recoveries", session.recoveries], ["network", session.network.join(", ") || "closed"]]),
    ["screen", `${session.width} × ${session.height}`],
    ["lease", `${Math.max(0, Math.round(session.seconds_left))} s left`],
  ];
  byId("facts").replaceChildren(...rows.flatMap(([name, value]) => {
    const [term, words] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    words.textContent = value;
    return [term, words];
  }));
}
// What a computer shows opens in a tab of its own, under the session's own name. The key goes as a form, in no address.
function mounts(session) {
  const form = byId("mounts");
  form.hidden = !isComputer(session) || !session.live;
  byId("hand").parentElement.hidden = isComputer(session) && !hasScreen(session) && !hasLine(session);
  byId("runs").parentElement.hidden = isComputer(session);
  if (form.hidden) return;
  form.action = `/s/${session.id}/open`;
  form.elements.token.value = key;
  const names = ["terminal", ...(moves(session) ? ["desktop"] : []), "code", "jupyter",
    ...session.ports.map((port) => `port/${port}`)];
  if (byId("buttons").dataset.names === names.join()) return; // a button that is being pressed stays
  byId("buttons").dataset.names = names.join();
  byId("buttons").replaceChildren(...names.map((name) => {
    const button = element("button", "", name.replace("/", " "));
    button.name = "mount";
    button.value = `${name}/`;
    return button;
  }));
}
async function follow(id) {
  following?.abort();
  following = new AbortController();
  try {
    const response = await request(`/v1/sessions/${id}/events`, { signal: following.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value;
      const pieces = text.split("\n\n");
      text = pieces.pop();
      for (const piece of pieces) if (piece.startsWith("data: {")) log(JSON.parse(piece.slice(6)));
    }
  } catch (error) {
    if (error.name !== "AbortError") log({ kind: "error", time: Date.now() / 1000, data: { text: error.message } });
  }
}
function log({ kind, time, data }) {
  if (kind === "hello") return;
  const when = document.createElement("time"), what = document.createElement("b"), words = document.createElement("span");
  when.textContent = new Date(time * 1000).toLocaleTimeString([], { hour12: false });
  what.textContent = kind;
  words.textContent = kind === "person" ? (data.holds ? "took it over" : "gave it back")
    : data.text ?? data.url ?? Object.entries(data).map((pair) => pair.join(" ")).join(", ");
  byId("events").prepend(element("li", kind, when, what, words));
  while (byId("events").childElementCount > 300) byId("events").lastChild.remove();
}

// ---- a person's hand ----
async function act(events, advance_ms) {
  const { session } = cards.get(open);
  const call = { call: "act", events, advance_ms, read: isComputer(session) ? null : session.last_call?.read ?? null };
  try {
    const { png } = await post(`/v1/sessions/${open}/call`, { call, person: true });
    if (held()) byId("screen").src = `data:image/png;base64,${png}`;
  } catch (error) {
    byId("hint").textContent = error.message;
  }
}
async function takeOver() {
  await post(`/v1/sessions/${open}/person`, { holds: true });
  byId("stage").classList.add("held");
  byId("hand").className = "held";
  byId("hand").textContent = "Give back";
  if (hasLine(cards.get(open).session)) {
    byId("hint").textContent = "Commands go to its main shell. Its agent waits.";
    byId("line").hidden = false;
    byId("command").focus();
    return;
  }
  byId("hint").textContent = "Click, drag, scroll and type on the screen. Its agent waits.";
  hand.take();
}
// A shell's line: a command, or input while one runs.
let runsOn = false;
async function say(call) {
  try {
    const { exit_code } = await post(`/v1/sessions/${open}/call`, { call, person: true });
    runsOn = exit_code === null;
    byId("hint").textContent = runsOn ? "It runs on: what you type now is its input." : "";
  } catch (error) {
    byId("hint").textContent = error.message;
  }
}
byId("line").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("command").value;
  byId("command").value = "";
  say(runsOn ? { call: "type", text: `${text}\n` } : { call: "run", command: text, timeout_s: 5 });
});
byId("interrupt").addEventListener("click", () => say({ call: "interrupt" }));

function giveBack() {
  hand.release();
  byId("line").hidden = true;
  runsOn = false;
  byId("stage").classList.remove("held");
  byId("hand").className = "";
  byId("hand").textContent = "Take over";
  byId("hint").textContent = "";
  post(`/v1/sessions/${open}/person`, { holds: false }).catch(() => {});
}
byId("hand").addEventListener("click", () => (held() ? giveBack() : takeOver().catch((error) => { byId("hint").textContent = error.message; })));
byId("close").addEventListener("click", hide);
addEventListener("keydown", (event) => { if (event.key === "Escape" && open && !held()) hide(); });

const given = new URLSearchParams(location.hash.slice(1)).get("key");
history.replaceState(null, "", location.pathname); // the key does not stay in the address
if (given || sessionStorage.getItem("key")) begin(given || sessionStorage.getItem("key"));
else askForKey("");
poll();
