// Places of the screen in the text of an action: found, drawn and put there by the pointer. Pure functions.
//
// A place is <point>X Y</point> on a grid of 0 to 1000; <point></point> is one that is still empty.

import { directionOf } from "./gestures.js";

export const GRID = 1000;
const POINT = /<point>\s*(?:(-?[\d.]+)[\s,]+(-?[\d.]+))?\s*<\/point>/g;
const ONE_CALL = /^\s*([\w.-]+)\s*\([^()]*\)\s*$/;
const BEGUN_CALL = /^\s*([\w.-]+)\s*\([^()<>]*$/;
const POINTED = new Set(["click", "left_double", "right_single", "long_press", "mouse_down", "mouse_up", "move_to", "drag", "scroll"]);

/** The places of a text: [{from, to, x, y}], x and y fractions of the screen, or null where it is empty. */
export function placesIn(text) {
  return [...text.matchAll(POINT)].map((found) => ({
    from: found.index,
    to: found.index + found[0].length,
    x: found[1] === undefined ? null : Number(found[1]) / GRID,
    y: found[2] === undefined ? null : Number(found[2]) / GRID,
  }));
}

/** What to draw of a text that is being written: as a candidate's `marks`. */
export function marksOf(text) {
  const marks = [];
  for (const call of text.split(/\n\s*\n/)) {
    const places = placesIn(call).filter((each) => each.x !== null && !Number.isNaN(each.x + each.y));
    if (/^\s*drag\b/.test(call) && places.length === 2) {
      marks.push({ kind: "drag", x: places[0].x, y: places[0].y, x2: places[1].x, y2: places[1].y });
    } else marks.push(...places.map(({ x, y }) => ({ kind: "point", x, y })));
  }
  return marks;
}

/** A call as people read it: its places as numbers alone. What is written keeps the grammar's form. */
export function readable(action) {
  return action.replace(/(?:\b(?:point)=)?(['"]?)<point>\s*(-?[\d.]+)[\s,]+(-?[\d.]+)\s*<\/point>\1/g, "$2 $3")
    .replace(/\bstart_point=([-\d. ]+), end_point=/, "$1 → ");
}

const point = (x, y) => `<point>${Math.round(x * GRID)} ${Math.round(y * GRID)}</point>`;

/**
 * The text after a gesture on the screen, {text, caret}; null where the gesture has no meaning in it.
 *
 * gesture: {type: "click" | "double_click" | "drag" | "scroll", x, y, x2, y2, button, dx, dy}, places as fractions.
 * knows(name): whether the episode has that function. `caret` says which of several places is meant.
 */
export function placeGesture(text, caret, gesture, knows) {
  const name = ONE_CALL.exec(text)?.[1] ?? "";
  const free = !text.trim(), loose = free || POINTED.has(BEGUN_CALL.exec(text)?.[1]) || (POINTED.has(name) && placesIn(text).length > 0);
  const whole = (made) => ({ text: made, caret: made.indexOf("</point>") + "</point>".length });
  if (gesture.type === "scroll") {
    if (!(free || name === "scroll") || !knows("scroll")) return null;
    return whole(`scroll(point='${point(gesture.x, gesture.y)}', direction='${directionOf(gesture.dx, gesture.dy)}')`);
  }
  if (gesture.type === "drag") {
    const places = placesIn(text);
    if (places.length >= 2) return filled(text, [[places[0], gesture.x, gesture.y], [places[1], gesture.x2, gesture.y2]]);
    if (!loose || !knows("drag")) return null;
    return whole(`drag(start_point='${point(gesture.x, gesture.y)}', end_point='${point(gesture.x2, gesture.y2)}')`);
  }
  const kind = gesture.button === "right" ? "right_single" : gesture.type === "double_click" ? "left_double" : "click";
  const renamed = kind !== "click" && knows(kind) && (free || name === "click" || name === "left_double");
  if (renamed || (free && knows("click"))) return whole(`${renamed ? kind : "click"}(point='${point(gesture.x, gesture.y)}')`);
  const begun = BEGUN_CALL.exec(text)?.[1];
  if (POINTED.has(begun) && begun !== "drag") {
    return whole(`${begun}(point='${point(gesture.x, gesture.y)}'${begun === "scroll" ? ", direction='down'" : ""})`);
  }
  const places = placesIn(text);
  const meant = places.find((each) => each.from <= caret && caret <= each.to) ?? places.find((each) => each.x === null) ?? places[0];
  if (meant) return filled(text, [[meant, gesture.x, gesture.y]]);
  if (free) return null;
  const made = point(gesture.x, gesture.y);
  return { text: text.slice(0, caret) + made + text.slice(caret), caret: caret + made.length };
}

// Each of `parts` is [place, x, y], in the order of the text.
function filled(text, parts) {
  let made = text, caret = 0;
  for (const [place, x, y] of parts.toReversed()) {
    const written = point(x, y);
    made = made.slice(0, place.from) + written + made.slice(place.to);
    caret = place.from + written.length;
  }
  return { text: made, caret };
}
