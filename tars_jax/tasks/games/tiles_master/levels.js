// Levels of Tiles Master: a stack that is the same left and right, and pictures dealt along one way to take it away.
"use strict";

// [threes of tiles, kinds, layers, most tiles in the tray on the way that is known to win] of levels 1, 2, ...
const LEVELS = Kit.fixed([
  [2, 2, 1, 3], [4, 4, 1, 4], [6, 6, 2, 5], [8, 7, 2, 5], [11, 8, 3, 6], [14, 9, 3, 6], [18, 11, 4, 6], [24, 12, 5, 6],
]);

// Places where a tile of this layer can lie: odd layers lie half a tile aside and rest on at least two tiles.
const openPlaces = (tiles, layer) => {
  const places = [];
  const aside = layer % 2;
  for (let row = aside; row <= 2 * ROWS - 2 - aside; row += 2) {
    for (let column = aside; column <= 2 * COLUMNS - 2 - aside; column += 2) {
      const place = { column, row, layer };
      const below = tiles.filter((tile) => tile.layer === layer - 1 && overlap(tile, place));
      const used = tiles.some((tile) => tile.layer === layer && tile.column === column && tile.row === row);
      if (!used && (layer === 0 || below.length >= 2)) places.push(place);
    }
  }
  return places;
};

// `count` places, layer by layer from the middle outwards; each with its mirror image while there are two left to lay.
const stack = (random, count, layers) => {
  const tiles = [];
  const shares = Array.from({ length: layers }, (_, layer) => layers - layer + 1);
  const total = shares.reduce((sum, share) => sum + share, 0);
  for (let layer = 0; layer < layers; layer++) {
    const target = layer === layers - 1 ? count : tiles.length + Math.round((count * shares[layer]) / total);
    while (tiles.length < target) {
      const far = ({ column, row }) =>
        Math.hypot(column - COLUMNS + 1, 1.2 * (row - ROWS + 1)) + 2.5 * random.next();
      const ranked = openPlaces(tiles, layer).map((place) => [far(place), place]).sort(([one], [other]) => one - other);
      if (!ranked.length) break;
      const place = ranked[0][1], mirror = { ...place, column: 2 * COLUMNS - 2 - place.column };
      tiles.push(place);
      if (mirror.column !== place.column && tiles.length < target) tiles.push(mirror);
    }
  }
  return tiles.length === count ? tiles : null;
};

// Deals pictures along a random way to take all tiles, so that this way never leaves more than `load` tiles in the tray.
const deal = (random, places, threes, kinds, load) => {
  const names = random.shuffle(Object.keys(PICTURES)).slice(0, kinds);
  const waiting = random.shuffle(Array.from({ length: threes }, (_, i) => names[i % kinds]));
  const begun = []; // {kind, taken: 1 or 2}
  let left = places;
  const tiles = [];
  while (left.length) {
    const room = load - begun.reduce((sum, one) => sum + one.taken, 0);
    const ready = begun.filter((one) => one.taken === 2);
    // the last room is for a second of a kind, so that a third can follow
    const mayBegin = waiting.length && (room > 1 || (room === 1 && ready.length));
    let one;
    if (mayBegin && (!begun.length || random.next() < 0.6)) {
      one = { kind: waiting.pop(), taken: 0 };
      begun.push(one);
    } else one = random.pick(room ? begun : ready);
    one.taken += 1;
    if (one.taken === 3) begun.splice(begun.indexOf(one), 1);
    const place = random.pick(left.filter((other) => isFree(left, other)));
    tiles.push({ ...place, kind: one.kind });
    left = left.filter((other) => other !== place);
  }
  return tiles;
};

// Tiles in the order in which they are drawn: from below, top to bottom, left to right.
const makeLevel = (random, threes, kinds, layers, load) => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const places = stack(random, 3 * threes, layers);
    if (!places) continue;
    return deal(random, places, threes, kinds, load)
      .sort((one, other) => one.layer - other.layer || one.row - other.row || one.column - other.column)
      .map((tile, id) => ({ id, ...tile }));
  }
  throw new RangeError(`option threes: ${3 * threes} tiles do not fit in ${layers} layers`);
};
