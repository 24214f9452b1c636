// Elements of the page, found and made. Texts of others become text nodes, never markup.

export const $ = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

/** fields: attributes, `class` among them; `on*` are listeners; null and false leave an attribute out. */
export function make(tag, fields = {}, ...children) {
  return filled(document.createElement(tag), fields, children);
}

export function draw(tag, fields = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), fields, children);
}

function filled(element, fields, children) {
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => child instanceof Node ? child : String(child)));
  return element;
}

/** Text by whoever wrote it, in whatever direction it runs. */
export const written = (tag, kind, text) => make(tag, { class: kind, dir: "auto" }, text ?? "");

export const key = (name) => make("kbd", {}, name);

export const inField = (target) => target instanceof Element && target.matches("input, textarea, select");

/** A time as people say it: 0.8 s, 12 s, 1:15. */
export function clock(seconds) {
  if (seconds < 59.5) return `${seconds < 9.95 ? Math.max(0, seconds).toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
