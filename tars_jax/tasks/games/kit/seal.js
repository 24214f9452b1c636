// What a page's rules and its verdict rest on can be changed by nobody once the page has loaded: a script that comes
// later, from an address or a console, finds it frozen. Loaded first; it seals when all scripts have run.
"use strict";
window.Kit = window.Kit || {};

// Freezes a table, and the tables in it.
Kit.fixed = (table) => {
  Object.values(table).forEach((held) => held !== null && typeof held === "object" && Kit.fixed(held));
  return Object.freeze(table);
};

const LANGUAGE = [
  "Object", "Function", "Array", "String", "Number", "Boolean", "Symbol", "Map", "Set", "Math", "JSON", "Reflect",
  "Int8Array", "Uint8Array", "structuredClone",
];
const OURS = ["Kit", "game", "verify", "reference"];

// Freezes all that can be reached from these without running a getter.
const freezeReachable = (roots) => {
  const seen = new Set(roots);
  for (const value of seen) {
    Object.freeze(value);
    const parts = Object.values(Object.getOwnPropertyDescriptors(value));
    for (const part of [Object.getPrototypeOf(value), ...parts.flatMap(({ value, get, set }) => [value, get, set])]) {
      if (part !== null && (typeof part === "object" || typeof part === "function")) seen.add(part);
    }
  }
};

document.addEventListener("DOMContentLoaded", () => {
  const iterators = [[].values(), ""[Symbol.iterator](), new Map().values(), new Set().values()];
  freezeReachable([...LANGUAGE.map((name) => window[name]), ...iterators]);
  for (const name of OURS) Object.freeze(window[name]);
  for (const name of [...LANGUAGE, ...OURS]) {
    if (name in window) Object.defineProperty(window, name, { writable: false, configurable: false });
  }
});
