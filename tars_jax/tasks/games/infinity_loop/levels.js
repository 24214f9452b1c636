// Levels of Infinity-Loop: lines drawn at random, closed by construction, then some tiles turned.
"use strict";

// [size, percent of neighbours joined, tiles turned] of levels 1, 2, ...; the last one stands for all that follow
const LEVELS = Kit.fixed([
  [3, 60, 2], [3, 65, 4], [4, 60, 7], [4, 65, 12], [5, 60, 18], [6, 60, 28], [7, 62, 40], [8, 64, 60],
]);

// A tile is the set of sides that its line reaches, as bits clockwise: up 1, right 2, down 4, left 8.
const SIDES = Kit.fixed(["up", "right", "down", "left"]);

const turned = (tile, times) => {
  const count = times % 4;
  return ((tile << count) | (tile >> (4 - count))) & 15;
};

// Ends of lines that meet no line on the other side, as [column, row, side].
const openEnds = (tiles) => {
  const ends = [];
  tiles.forEach((line, row) => line.forEach((tile, column) => SIDES.forEach((side, bit) => {
    const [dx, dy] = Kit.DIRECTIONS[side];
    const other = tiles[row + dy]?.[column + dx] ?? 0;
    if (tile & (1 << bit) && !(other & (1 << ((bit + 2) % 4)))) ends.push([column, row, side]);
  })));
  return ends;
};

const drawLines = (random, size, density) => {
  const tiles = Array.from({ length: size }, () => Array(size).fill(0));
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (column + 1 < size && random.next() * 100 < density) {
        tiles[row][column] |= 2;
        tiles[row][column + 1] |= 8;
      }
      if (row + 1 < size && random.next() * 100 < density) {
        tiles[row][column] |= 4;
        tiles[row + 1][column] |= 1;
      }
    }
  }
  return tiles;
};

// Tiles of a board that can be closed and is not: `scrambled` of them (fewer if fewer can turn) stand wrong.
const makeLevel = (random, size, density, scrambled) => {
  for (let attempt = 0; attempt < 400; attempt++) {
    const tiles = drawLines(random, size, density);
    const places = [];
    tiles.forEach((line, row) => line.forEach((tile, column) => {
      if (tile !== 0 && tile !== 15) places.push([column, row]);
    }));
    for (const [column, row] of random.shuffle(places).slice(0, scrambled)) {
      const tile = tiles[row][column];
      tiles[row][column] = random.pick([1, 2, 3].map((times) => turned(tile, times)).filter((other) => other !== tile));
    }
    if (openEnds(tiles).length) return tiles;
  }
  throw new RangeError(`option density: no lines were drawn on ${size} by ${size} tiles at ${density} percent`);
};
