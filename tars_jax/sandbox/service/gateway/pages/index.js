// The mounts of one session, and the ports that programs inside listen at, as they come and go.
"use strict";

const POLL_MS = 2000;
const FOR_PROGRAMS = new Set(["aio", "swe_rex", "osworld", "mcp"]); // a person sees nothing there

function link(path, words) {
  const item = document.createElement("li"), anchor = document.createElement("a");
  anchor.href = path;
  anchor.textContent = words;
  item.append(anchor);
  return item;
}

async function poll() {
  const state = document.getElementById("state");
  try {
    const response = await fetch("page/info"), told = await response.json();
    if (!response.ok) throw new Error(told.error.message);
    state.textContent = `${told.id} · ${told.parts.join(", ")} · ${Math.max(0, Math.round(told.seconds_left))} s left`;
    state.className = "quiet";
    document.getElementById("mounts").replaceChildren(
      ...told.mounts.filter((name) => !FOR_PROGRAMS.has(name)).map((name) => link(`${name}/`, name)),
      ...told.ports.map((port) => link(`port/${port}/`, `port ${port}`)));
  } catch (error) {
    state.textContent = error.message;
    state.className = "lost";
  }
  setTimeout(poll, POLL_MS);
}
poll();
