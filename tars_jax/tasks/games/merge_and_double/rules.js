// The rules of Merge and Double. columns[column] lists the blocks of a column from the floor up.
"use strict";

const COLUMNS = 5, HEIGHT = 5;

// One merge of the block at [column, row] with its equal neighbours: it doubles once for each. Null if it has none.
const mergeAt = (columns, column, row) => {
  const block = columns[column][row];
  const sides = [column - 1, column + 1].filter((side) => columns[side]?.[row] === block);
  const above = Number(columns[column][row + 1] === block);
  const below = Number(row > 0 && columns[column][row - 1] === block);
  const times = sides.length + above + below;
  if (block === undefined || !times) return null;
  const after = columns.map((stack) => stack.slice());
  after[column].splice(row - below, 1 + above + below, block * 2 ** times);
  sides.forEach((side) => after[side].splice(row, 1));
  // What fell may touch its like: the new block, then what lies on it and beside it.
  const fallen = [column, ...sides].flatMap((one) => {
    const from = one === column ? row - below : row;
    return after[one].slice(from).map((_, i) => [one, from + i]);
  });
  return { columns: after, made: block * 2 ** times, place: [column, row - below], fallen };
};

// A block falls into a column: {columns, gained, merges}, where merges lists every board on the way, the landing first.
const drop = (columns, column, block) => {
  let board = columns.map((stack, i) => (i === column ? stack.concat([block]) : stack));
  let fallen = [[column, board[column].length - 1]], gained = 0;
  const merges = [{ columns: board, place: null }];
  while (fallen.length) {
    const merge = mergeAt(board, ...fallen.shift());
    if (!merge) continue;
    board = merge.columns;
    fallen = merge.fallen;
    gained += merge.made;
    merges.push({ columns: board, place: merge.place });
  }
  return { columns: board, gained, merges };
};

// A full column takes a block only onto its like.
const isOpen = (stack, block) => stack.length < HEIGHT || stack.at(-1) === block;

const largest = (columns) => Math.max(0, ...columns.flat());
