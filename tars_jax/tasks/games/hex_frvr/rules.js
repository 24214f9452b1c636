// The rules of Hex FRVR: pieces of hexagons go onto a board of hexagons; a line that is full, in any of the three
// directions, vanishes.
"use strict";

// Places are [q, r]: r counts rows downwards, q goes to the right along a row; the same q one row down stands half a
// hexagon further right.
const BASES = Kit.fixed({
  dot: [[0, 0]], pair: [[0, 0], [1, 0]], bar: [[0, 0], [1, 0], [2, 0]], bend: [[0, 0], [1, 0], [1, 1]],
  heap: [[0, 0], [1, 0], [0, 1]], beam: [[0, 0], [1, 0], [2, 0], [3, 0]], bee: [[0, 0], [1, 0], [0, 1], [1, 1]],
  arch: [[0, 0], [1, 0], [1, 1], [0, 2]], hook: [[0, 0], [1, 0], [2, 0], [0, 1]],
});
const SETS = Kit.fixed({
  small: ["dot", "pair", "bar", "bend", "heap"], large: ["dot", "beam", "bee", "arch", "hook"],
});
const TRAY = 3;

// A piece's places in reading order, the first of them at [0, 0].
const settled = (places) => {
  const sorted = places.toSorted(([aq, ar], [bq, br]) => ar - br || aq - bq), [[q, r]] = sorted;
  return sorted.map((place) => [place[0] - q, place[1] - r]);
};

// The distinct positions of a shape under turns by sixths.
const turnsOf = (places) => {
  const seen = new Map();
  for (let turn = 0, at = places; turn < 6; turn++, at = at.map(([q, r]) => [-r, q + r])) {
    seen.set(`${settled(at)}`, settled(at));
  }
  return [...seen.values()];
};
const SHAPES = Kit.fixed(Object.fromEntries(Object.entries(BASES).map(([name, places]) => [name, turnsOf(places)])));

// A board of hexagons with `side` of them on each edge: {side, places, at: index by place, lines: lists of indices,
// near: the indices around each place, -1 beyond the edge}.
const makeBoard = (side) => {
  const n = side - 1, places = [], index = new Map();
  for (let r = -n; r <= n; r++) {
    for (let q = Math.max(-n, -n - r); q <= Math.min(n, n - r); q++) {
      index.set(`${q},${r}`, places.length);
      places.push([q, r]);
    }
  }
  const at = (q, r) => index.get(`${q},${r}`) ?? -1;
  const axes = [([q]) => q, ([, r]) => r, ([q, r]) => q + r];
  const lines = axes.flatMap((axis) => Array.from({ length: 2 * side - 1 }, (_, line) =>
    [...places.keys()].filter((place) => axis(places[place]) === line - n)));
  const steps = [[1, 0], [0, 1], [-1, 1], [-1, 0], [0, -1], [1, -1]];
  const near = places.map(([q, r]) => steps.map(([dq, dr]) => at(q + dq, r + dr)));
  return { side, places, at, lines, near };
};

// Every way to lay a piece on the board, as lists of indices; `held[index]` is the shape that lies there, or null.
const fitsOf = (board, held, piece) => board.places.flatMap(([q, r]) => {
  const way = piece.places.map(([dq, dr]) => board.at(q + dq, r + dr));
  return way.every((place) => place >= 0 && held[place] === null) ? [way] : [];
});

// {held, lines: how many vanished, gone: [index, shape] of what vanished} after a piece was laid.
const laid = (board, held, shape, way) => {
  const full = [...held], gone = new Map();
  for (const place of way) full[place] = shape;
  const lines = board.lines.filter((line) => line.every((place) => full[place] !== null));
  for (const place of lines.flat()) gone.set(place, full[place]);
  return { held: full.map((one, place) => (gone.has(place) ? null : one)), lines: lines.length, gone: [...gone] };
};
