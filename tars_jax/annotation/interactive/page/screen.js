// The session's screen: its newest picture, and what the candidates and the answer point at.

import { $, draw } from "./elements.js";
import { showObservations } from "./observed.js";

const LABELS = [[1, -1], [1, 1], [-1, -1], [-1, 1]]; // corners, so that marks at one place can all be read
const NEAR = 26; // pixels of the page

let shown = "", wanted = "", groups = [];

/** Shows the state's picture, black under a secret, or where there is none all texts so far. */
export function showScreen(state) {
  const { screen, text } = state.observation;
  const pictured = Boolean(screen) || state.secret;
  $("picture").hidden = !pictured;
  $("observation").hidden = pictured;
  $("secret").hidden = !state.secret;
  $("output").hidden = !pictured || !text;
  const said = $("output");
  if (!pictured) showObservations(state);
  else if (said.textContent !== text) {
    said.textContent = text ?? "";
    said.scrollTop = said.scrollHeight; // what is new in an output stands at its end
  }
  if (screen && !state.secret) {
    $("stage").style.setProperty("--aspect", `${screen.width / screen.height}`);
    $("picture").classList.toggle("pixelated", screen.width < 480);
    showPicture(screen.url);
  } else if (state.secret) {
    wanted = shown = "";
    $("screen").removeAttribute("src");
  }
}

/** The picture changes once the next one can be painted: nothing flickers. */
async function showPicture(url) {
  if (url === wanted) return;
  wanted = url;
  const next = new Image();
  next.src = url;
  try {
    await next.decode();
  } catch {
    if (wanted === url) wanted = shown; // a newer one has taken its place, or the connection is gone
    return;
  }
  if (wanted !== url) return;
  shown = url;
  $("screen").src = url;
  $("screen").dataset.shown = url;
}

/** groups: [{marks, kind: class of the color, label}], drawn anew whenever the picture changes its size. */
export function showMarks(given) {
  groups = given;
  const layer = $("marks"), { width, height } = layer.getBoundingClientRect();
  layer.setAttribute("viewBox", `0 0 ${Math.max(1, width)} ${Math.max(1, height)}`);
  const taken = [];
  layer.replaceChildren(...groups.map(({ marks, kind, label }) => draw("g", { class: `marked ${kind}` },
    ...marks.flatMap((mark) => shapes(mark, width, height, label, taken)))));
}

function shapes(mark, width, height, label, taken) {
  const x = mark.x * width, y = mark.y * height, x2 = mark.x2 * width, y2 = mark.y2 * height;
  const before = taken.filter(([a, b]) => Math.hypot(a - x, b - y) < NEAR).length;
  taken.push([x, y]);
  const radius = 13 + 5 * Math.min(before, 3);
  const made = [];
  if (mark.kind === "box") {
    const fields = { x: Math.min(x, x2), y: Math.min(y, y2), width: Math.abs(x2 - x), height: Math.abs(y2 - y), rx: 3 };
    made.push(draw("rect", { class: "halo", ...fields }), draw("rect", { class: "case", ...fields }), draw("rect", { class: "line", ...fields }));
  } else {
    if (mark.kind === "drag") {
      const fields = { x1: x, y1: y, x2, y2 };
      const tip = draw("path", { class: "tip", d: "M-11,-6 L0,0 L-11,6 Z", transform: `translate(${x2} ${y2}) rotate(${(Math.atan2(y2 - y, x2 - x) * 180) / Math.PI})` });
      made.push(draw("line", { class: "halo", ...fields }), draw("line", { class: "case", ...fields }), draw("line", { class: "line", ...fields }), tip);
    }
    made.push(draw("circle", { class: "halo", cx: x, cy: y, r: radius }), draw("circle", { class: "case", cx: x, cy: y, r: radius }), draw("circle", { class: "line", cx: x, cy: y, r: radius }), draw("circle", { class: "middle", cx: x, cy: y, r: 2.5 }));
  }
  if (label) {
    const [right, down] = LABELS[before % LABELS.length];
    const fits = (at, side, all) => (at + side * 34 < 0 || at + side * 34 > all ? -side : side);
    const at = { x: x + fits(x, right, width) * (radius + 8), y: y + fits(y, down, height) * (radius + 4) };
    made.push(draw("circle", { class: "pill", cx: at.x, cy: at.y, r: 9 }), draw("text", { x: at.x, y: at.y }, label));
  }
  return made;
}

new ResizeObserver(() => showMarks(groups)).observe($("marks"));
