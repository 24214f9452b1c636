// The rules of Free the Key: blocks on a square board slide along themselves and never through each other.
"use strict";

const SIDE = 6, EXIT_ROW = 2;

// A block is {column, row, length, across}; its first cell is the left or upper one. The key is the first block.
const cellsOf = ({ column, row, length, across }) =>
  Array.from({ length }, (_, step) => (across ? [column + step, row] : [column, row + step]));

const placeOf = (block) => (block.across ? block.column : block.row);
const slid = (block, by) =>
  block.across ? { ...block, column: block.column + by } : { ...block, row: block.row + by };

// taken[row * SIDE + column] is the number of the block that lies there, -1 where none does.
const occupancy = (blocks) => {
  const taken = new Int8Array(SIDE * SIDE).fill(-1);
  blocks.forEach((block, number) => cellsOf(block).forEach(([column, row]) => {
    taken[row * SIDE + column] = number;
  }));
  return taken;
};

const blockAt = (blocks, column, row) => occupancy(blocks)[row * SIDE + column];

// How far a block can slide: [least, most] cells, least <= 0 <= most.
const roomOf = (taken, block) => {
  const step = block.across ? 1 : SIDE, place = placeOf(block);
  const first = block.row * SIDE + block.column, last = first + (block.length - 1) * step;
  let least = 0, most = 0;
  while (place + least > 0 && taken[first + (least - 1) * step] < 0) least -= 1;
  while (place + block.length + most < SIDE && taken[last + (most + 1) * step] < 0) most += 1;
  return [least, most];
};

const isFree = (blocks) => blocks[0].column + blocks[0].length === SIDE;
