// One step at a time: what was seen, done and said. Each change goes to the server before it shows as made.
"use strict";

const $ = (id) => document.getElementById(id);
const SPACE = "http://www.w3.org/2000/svg";
let state = null;
let current = 0; // index into state.steps
let waiting = Promise.resolve(); // changes go one after the other

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const said = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(said.error.message), { status: answer.status });
  return said;
}

function say(words, bad = false) {
  $("said").textContent = words;
  $("said").className = bad ? "bad" : "";
}

function change(path, body = {}) {
  const made = waiting.then(async () => {
    try {
      state = await ask(path, { ...body, revision: state.revision });
      $("wrong").textContent = "";
      say("");
      show();
      return true;
    } catch (error) {
      if (error.status === 409) { state = await ask("state"); show(); }
      if (body.actions !== undefined || body.place) $("wrong").textContent = error.message;
      else say(error.message, true);
      return false;
    }
  });
  waiting = made.catch(() => false);
  return made;
}

const step = () => state.steps[current];

// What was typed into a field is a change once the field is left.
async function keepFields() {
  if (!step()) return false;
  const { id, actions, thought } = step();
  const changed = {};
  if ($("actions").value !== actions && $("actions").value.trim()) changed.actions = $("actions").value;
  if ($("thought").value !== thought) changed.thought = $("thought").value;
  return Object.keys(changed).length ? change(`steps/${id}`, changed) : true;
}

async function go(to) {
  if (!await keepFields()) return;
  current = Math.max(0, Math.min(state.steps.length - 1, to));
  $("wrong").textContent = "";
  show();
}

async function accept() {
  if (!await keepFields()) return;
  if (await change(`steps/${step().id}`, { accepted: true, deleted: false })) {
    const next = state.steps.findIndex((each, place) => place > current && !each.deleted);
    if (next > 0) go(next);
  }
}

const remove = async () => { if (await keepFields()) change(`steps/${step().id}`, { deleted: !step().deleted, accepted: false }); };
const merge = async () => { if (await keepFields()) change(`steps/${step().id}/merge`); };

async function finish() {
  if (step() && !await keepFields()) return;
  try {
    say((await ask("finish", {})).written);
  } catch (error) { say(error.message, true); }
}

function time(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}.${Math.floor(10 * (seconds - whole))}`;
}

function show() {
  const shown = step();
  $("task").value = document.activeElement === $("task") ? $("task").value : state.task;
  $("success").value = String(state.success);
  const kept = state.steps.filter((each) => !each.deleted && each.actions && each.frame);
  $("count").textContent = `${kept.filter((each) => each.accepted).length} of ${kept.length} accepted`;
  $("finish").disabled = !state.reviewed || !kept.length;
  showList();
  if (!shown) {
    $("title").textContent = "Nothing was done in this recording";
    return;
  }
  $("title").textContent = `Step ${current + 1} of ${state.steps.length}`;
  $("where").textContent = [time(shown.time), shown.window, shown.cannot_say].filter(Boolean).join(" · ");
  for (const name of ["actions", "thought"]) { // what is being typed stays
    if ($(name).dataset.step !== String(shown.id) || document.activeElement !== $(name)) $(name).value = shown[name];
    $(name).dataset.step = shown.id;
  }
  $("accept").textContent = shown.accepted ? "Accepted" : "Accept";
  $("delete").textContent = shown.deleted ? "Bring back" : "Delete";
  $("blank").hidden = Boolean(shown.frame);
  $("frame").hidden = !shown.frame;
  if (shown.frame && $("frame").dataset.name !== shown.frame) {
    $("frame").dataset.name = shown.frame;
    $("frame").src = `frames/${encodeURIComponent(shown.frame)}`;
  }
  draw(shown.points);
  showWords(shown);
}

function showList() {
  $("steps").replaceChildren(...state.steps.map((each, place) => {
    const line = document.createElement("li");
    line.className = each.deleted ? "deleted" : each.actions && each.frame ? "" : "unsaid";
    line.setAttribute("aria-current", String(place === current));
    const parts = [["tick", each.accepted ? "✓" : each.actions && each.frame ? "" : "!"], ["call", each.actions || each.cannot_say], ["words", each.thought]];
    line.append(...parts.map(([name, text]) => Object.assign(document.createElement("span"), { className: name, textContent: text })));
    line.onclick = () => go(place);
    return line;
  }));
  $("steps").children[current]?.scrollIntoView({ block: "nearest" });
}

function draw(points) {
  const width = $("frame").naturalWidth || 16, height = $("frame").naturalHeight || 9;
  $("stage").style.setProperty("--aspect", `${width} / ${height}`);
  $("mark").setAttribute("viewBox", `0 0 ${width} ${height}`);
  const add = (kind, fields) => {
    const shape = document.createElementNS(SPACE, kind);
    for (const [name, value] of Object.entries(fields)) shape.setAttribute(name, value);
    $("mark").append(shape);
  };
  $("mark").replaceChildren();
  const unit = width / 900;
  for (const [x, y, toX, toY] of points) {
    const at = (a, b) => ({ cx: a * width / 1000, cy: b * height / 1000 });
    if (toX !== undefined) {
      const [from, to] = [at(x, y), at(toX, toY)];
      add("line", { class: "way", x1: from.cx, y1: from.cy, x2: to.cx, y2: to.cy });
      add("circle", { class: "dot", ...to, r: 5 * unit });
    }
    add("circle", { class: "halo", ...at(x, y), r: 15 * unit });
    add("circle", { class: "ring", ...at(x, y), r: 15 * unit });
    add("circle", { class: "dot", ...at(x, y), r: 5 * unit });
  }
}

function showWords(shown) {
  const before = state.steps[current - 1];
  const from = before ? before.time : 0, to = state.steps[current + 1]?.time ?? Infinity;
  const mine = (each) => each.step === shown.id || (each.step === shown.id - 1 && each.role === "comments");
  const near = state.sentences.filter((each) => each.role !== "apart" && (mine(each) || (each.role === "corrected" && each.words[0].begins >= from && each.words[0].begins < to)));
  $("words").replaceChildren(...near.map((each) => line(each, each.role)));
  const apart = state.sentences.filter((each) => each.role === "apart");
  $("apart").replaceChildren(...apart.map((each) => line(each, time(each.words[0].begins))));
  $("apart_count").textContent = `Talk of other things: ${apart.length}, never in the data`;
  $("play").disabled = !near.length;
  $("play").onclick = () => near.length && play(near[0].words[0].begins, near.at(-1).words.at(-1).ends);
  $("notes").replaceChildren(...state.notes.map((each) => Object.assign(document.createElement("li"), { textContent: each })));
}

function line(sentence, head) {
  const item = Object.assign(document.createElement("li"), { className: sentence.role });
  const role = Object.assign(document.createElement("span"), { className: "role", textContent: head });
  const spoken = Object.assign(document.createElement("span"), { className: "spoken" });
  for (const word of sentence.words) {
    const one = Object.assign(document.createElement("span"), { textContent: word.text, title: time(word.begins) });
    one.dataset.begins = word.begins;
    one.dataset.ends = word.ends;
    one.onclick = () => play(word.begins, sentence.words.at(-1).ends);
    spoken.append(one, " ");
  }
  item.append(role, spoken);
  return item;
}

const player = new Audio();
function play(begins, ends) {
  const start = Math.max(0, begins - 0.1);
  player.pause();
  player.src = `voice?begins=${start}&ends=${Math.min(ends + 0.2, start + 119)}`;
  player.ontimeupdate = () => {
    const now = start + player.currentTime;
    for (const word of document.querySelectorAll(".spoken span")) {
      word.classList.toggle("now", !player.ended && word.dataset.begins <= now && now < word.dataset.ends);
    }
  };
  player.play().catch((error) => { if (error.name !== "AbortError") say(`it cannot be played: ${error.message}`, true); });
}

// On the picture a click says where the step's hand goes, and a drag from where to where.
const screen = document.querySelector("#stage .screen");
const FAR = 6; // pixels from which on a hand that moves drags
let pressed = null; // [x, y] on the grid, and in pixels

function gridOf(event) {
  const box = $("frame").getBoundingClientRect();
  const part = (at, from, size) => Math.round(10000 * Math.min(1, Math.max(0, (at - from) / size))) / 10;
  return [part(event.clientX, box.left, box.width), part(event.clientY, box.top, box.height)];
}

function wayTo(event) {
  const far = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) >= FAR;
  return far ? [...pressed.grid, ...gridOf(event)] : pressed.grid;
}

screen.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || !step()?.frame) return;
  event.preventDefault(); // no picture is dragged away, no field keeps the focus unseen
  document.activeElement.blur();
  screen.setPointerCapture(event.pointerId);
  pressed = { x: event.clientX, y: event.clientY, grid: gridOf(event) };
});
screen.addEventListener("pointermove", (event) => { if (pressed) draw([wayTo(event)]); });
screen.addEventListener("pointercancel", () => { pressed = null; draw(step().points); });
screen.addEventListener("pointerup", async (event) => {
  if (!pressed) return;
  const place = wayTo(event);
  pressed = null;
  if (!await keepFields() || !await change(`steps/${step().id}`, { place })) draw(step().points);
});

const KEYS = {
  ArrowDown: () => go(current + 1), j: () => go(current + 1), ArrowUp: () => go(current - 1), k: () => go(current - 1),
  Enter: accept, d: remove, m: merge, u: () => change("undo"), " ": () => $("play").click(),
  a: () => $("actions").focus(), t: () => $("thought").focus(),
};

document.addEventListener("keydown", (event) => {
  const inField = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && pressed) { pressed = null; draw(step().points); }
  else if (event.key === "Escape" && inField) event.target.blur();
  else if (event.key === "Enter" && inField && !event.shiftKey && event.target.id !== "success") { event.preventDefault(); event.target.blur(); }
  else if (!inField && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key] && !(event.target.matches("button, summary") && " Enter".includes(event.key))) {
    event.preventDefault();
    KEYS[event.key]();
  }
});
for (const name of ["actions", "thought"]) $(name).addEventListener("blur", keepFields);
$("task").addEventListener("change", () => change("about", { task: $("task").value }));
$("success").addEventListener("change", () => change("about", { success: JSON.parse($("success").value) }));
$("frame").addEventListener("load", () => draw(step().points));
$("accept").onclick = accept;
$("merge").onclick = merge;
$("delete").onclick = remove;
$("undo").onclick = () => change("undo");
$("finish").onclick = finish;
ask("state").then((found) => {
  state = found;
  current = Math.max(0, state.steps.findIndex((each) => !each.accepted && !each.deleted));
  show();
});
