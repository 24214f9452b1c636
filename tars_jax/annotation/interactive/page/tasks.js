// The tasks: the next one at once, or one that is chosen.

import { $, key, make, plural, written } from "./elements.js";
import { get } from "./service.js";

/** Shows the list, and `words`, [text, class], above it; open(task or null) gives null or why it could not be opened. */
export async function showTasks(who, words, open) {
  const said = make("p", { id: "said", role: "status", class: words[1] }, words[0]);
  const { tasks, policy } = await get("/api/tasks");
  const failed = tasks.some((each) => each.failures > 0);
  const left = tasks.filter((each) => !each.done && !each.leased_by);
  async function choose(task) {
    said.className = "";
    said.textContent = "The session is being prepared.";
    const refused = await open(task);
    if (!refused) return;
    said.className = "bad";
    said.textContent = refused;
  }
  const next = make("button", { class: "strong", id: "begin", type: "button", disabled: !left.length, onclick: () => choose(null) }, "Next task ", key("Enter"));
  $("list").replaceChildren(
    make("h2", {}, tasks.length ? `${plural(left.length, "task")} wait${left.length === 1 ? "s" : ""} for you` : "There are no tasks yet"),
    make("p", { class: "subtitle" }, failed
      ? `The next one is where ${policy.name} (version ${policy.version}) failed most lately.`
      : `${policy.name} (version ${policy.version}) proposes; you decide.`),
    make("div", { class: "buttons" }, next), said,
    table(["Task", "Where", failed ? "The policy failed" : "", "", ""], tasks.map((task) => {
      const mine = task.leased_by === who.name;
      return make("tr", { class: task.done ? "done" : "" },
        make("td", {}, written("span", "instruction", task.instruction || task.task)),
        make("td", { class: "note" }, task.environment),
        make("td", { class: "note" }, task.failures ? plural(Math.ceil(task.failures), "time") : ""),
        make("td", { class: "note" }, task.done ? "done" : mine ? "begun by you" : task.leased_by ? `with ${task.leased_by}` : task.unfinished ? "begun" : ""),
        make("td", {}, make("button", { class: "small", type: "button", disabled: Boolean(task.leased_by) && !mine, "aria-label": `Begin: ${task.instruction || task.task}`, onclick: () => choose(task.task) }, mine || task.unfinished ? "Go on" : "Begin")));
    })));
  if (left.length) next.focus();
}

export function table(heads, rows) {
  return make("table", { class: "wide" },
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows));
}
