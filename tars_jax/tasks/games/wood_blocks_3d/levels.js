// Levels of Wood Blocks 3D, and the dealer. It deals three pieces that can all be put down in some order, so whoever looks
// ahead never loses; and as every block fills the board further, full lines must come.
"use strict";

// [cells on a side, lines to clear, percent filled, shapes (the first of SHAPES), whether a line is at hand] of levels 1, 2, ...
const LEVELS = Kit.fixed([
  [4, 1, 40, 5, 1], [4, 3, 40, 10, 1], [6, 8, 45, 19, 0], [6, 10, 50, 19, 0], [6, 12, 50, 19, 0], [8, 10, 50, 19, 0],
  [8, 14, 55, 24, 0], [8, 20, 55, 24, 0],
]);

// Rows of a shape from above, parted by slashes.
const SHAPES = Kit.fixed([
  "x", "xx", "x/x", "xxx", "x/x/x", "xx/x.", "xx/.x", "x./xx", ".x/xx", "xx/xx",
  "xxx/x..", "xxx/..x", "x../xxx", "..x/xxx", "xxx/.x.", ".x./xxx", "x./xx/x.", ".x/xx/.x", "xx./.xx",
  ".xx/xx.", "xxx/xxx", "xx/xx/xx", "xxx/x../x..", "..x/..x/xxx",
].map((shape) => shape.split("/").flatMap((line, row) =>
  [...line].map((sign, column) => sign === "x" && [column, row]).filter(Boolean))));
const WOODS = 4;

const drawPiece = (random, shapes) => ({ cells: SHAPES[random.below(shapes)], wood: 1 + random.below(WOODS) });

// Three pieces for a board without full lines. Single blocks always find room there: every row has an empty cell.
const deal = (random, blocks, shapes) => {
  for (let attempt = 0; attempt < 30; attempt++) {
    const pieces = [0, 1, 2].map(() => drawPiece(random, shapes));
    if (canPlaceAll(blocks, pieces)) return pieces;
  }
  return [0, 1, 2].map(() => ({ cells: SHAPES[0], wood: 1 + random.below(WOODS) }));
};

// A board in part filled with pieces, without a full line, and the first three pieces: {blocks, offered}.
const makeLevel = (random, size, filled, shapes, atHand) => {
  for (let attempt = 0; attempt < 500; attempt++) {
    let blocks = Array.from({ length: size }, () => Array(size).fill(0));
    const count = () => blocks.flat().filter(Boolean).length;
    for (let put = 0; put < 200 && count() * 100 < filled * size * size; put++) {
      const piece = drawPiece(random, shapes), places = placesFor(blocks, piece);
      const after = places.length && placed(blocks, piece, random.pick(places));
      if (after && !after.lines) blocks = after.blocks;
    }
    if (count() * 100 < filled * size * size) continue;
    const offered = deal(random, blocks, shapes);
    const ready = offered.some((piece) => placesFor(blocks, piece).some((place) => placed(blocks, piece, place).lines));
    if (ready || !atHand) return { blocks, offered };
  }
  throw new RangeError(`option filled: no board of size ${size} is filled to ${filled} percent without a full line`);
};
