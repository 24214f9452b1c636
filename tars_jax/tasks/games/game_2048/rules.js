// The rules of 2048 on a 4 by 4 board. tiles[row][column] is a number, 0 where the place is empty.
"use strict";

const SIDE = 4;

// The places of each line, in the order in which a slide in this direction packs them.
const LINES = Kit.fixed(Object.fromEntries(Object.entries(Kit.DIRECTIONS).map(([direction, [dx, dy]]) => [
  direction,
  Array.from({ length: SIDE }, (_, line) => Array.from({ length: SIDE }, (_, step) => {
    const at = dx + dy < 0 ? step : SIDE - 1 - step;
    return dx ? [at, line] : [line, at];
  })),
])));

// One slide: {tiles, gained, slides: [{from, to, value, merged}], changed}.
const slide = (tiles, direction) => {
  const after = tiles.map((row) => row.map(() => 0));
  const slides = [];
  let gained = 0;
  for (const line of LINES[direction]) {
    let target = 0, mergeable = false;
    for (const from of line) {
      const value = tiles[from[1]][from[0]];
      if (!value) continue;
      const last = target > 0 ? line[target - 1] : null;
      const merged = mergeable && after[last[1]][last[0]] === value;
      const to = merged ? last : line[target++];
      after[to[1]][to[0]] = merged ? 2 * value : value;
      if (merged) gained += 2 * value;
      mergeable = !merged;
      slides.push({ from, to, value, merged });
    }
  }
  const changed = slides.some(({ from, to }) => from[0] !== to[0] || from[1] !== to[1]);
  return { tiles: after, gained, slides, changed };
};

const legalDirections = (tiles) => Object.keys(Kit.DIRECTIONS).filter((direction) => slide(tiles, direction).changed);

// Puts a 2 (nine times of ten) or a 4 on a random empty place; its place, [column, row].
const spawn = (tiles, random) => {
  const empty = [];
  tiles.forEach((row, y) => row.forEach((value, x) => value || empty.push([x, y])));
  const place = random.pick(empty);
  tiles[place[1]][place[0]] = random.next() < 0.9 ? 2 : 4;
  return place;
};

const largest = (tiles) => Math.max(...tiles.flat());
