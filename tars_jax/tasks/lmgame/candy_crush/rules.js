// The rules of tile-match-gym 1.0.6 without special tiles, as LMGame-Bench plays them: 8x8, four colours, 50 moves.
//
// A board is rows of colours 1 to 4. `deal()` gives the next colour; the order in which places are filled is part of the
// rules, so that one stream of colours gives the boards that the package gives for it.
"use strict";

const SIDE = 8, COLOURS = 4, MOVES = 50;

const inside = ([row, column]) => row >= 0 && row < SIDE && column >= 0 && column < SIDE;
const number = ([row, column]) => row * SIDE + column;

// The matches that are cleared together: lines of three or more that end in the lowest row that has any, and the lines
// that go on from their tiles. Each is a list of [row, column], a column's from the top.
const matches = (board) => {
  const found = [], taken = { down: new Set(), across: new Set() };
  const keep = (way, line) => {
    line.forEach((place) => taken[way].add(number(place)));
    found.push(line);
  };
  for (let row = SIDE - 1; row >= 0 && found.length === 0; row--) {
    for (let column = 0; column < SIDE; column++) {
      const colour = board[row][column], here = number([row, column]);
      let top = row, right = column;
      while (top > 0 && board[top - 1][column] === colour) top--;
      while (right < SIDE - 1 && board[row][right + 1] === colour) right++;
      if (row - top >= 2 && !taken.down.has(here)) {
        keep("down", Array.from({ length: row - top + 1 }, (_, i) => [top + i, column]));
      }
      if (right - column >= 2 && !taken.across.has(here)) {
        keep("across", Array.from({ length: right - column + 1 }, (_, i) => [row, column + i]));
      }
    }
  }
  const first = found.flat(), known = new Set(first.map(number));
  for (const [row, column] of first) {
    for (const [down, across] of [[0, 1], [1, 0]]) {
      const line = [[row, column]];
      for (const way of [1, -1]) {
        const next = (i) => [row + way * i * down, column + way * i * across];
        for (let i = 1; inside(next(i)) && !known.has(number(next(i))); i++) {
          if (board[next(i)[0]][next(i)[1]] !== board[row][column]) break;
          line.push(next(i));
        }
      }
      if (line.length >= 3) found.push(line);
    }
  }
  return found;
};

// Whether a place stands in a line of three or more.
const lined = (board, [row, column]) => [[0, 1], [1, 0]].some(([down, across]) => {
  const run = (way) => {
    let length = 0;
    while (board[row + way * (length + 1) * down]?.[column + way * (length + 1) * across] === board[row][column]) length++;
    return length;
  };
  return run(1) + run(-1) >= 2;
});

const swapped = (board, [rowA, columnA], [rowB, columnB]) => {
  const after = board.map((line) => [...line]);
  [after[rowA][columnA], after[rowB][columnB]] = [after[rowB][columnB], after[rowA][columnA]];
  return after;
};

const effective = (board, one, other) => {
  const after = swapped(board, one, other);
  return lined(after, one) || lined(after, other);
};

// All swaps of neighbours that make a match, as [place, place].
const effectiveSwaps = (board) => {
  const swaps = [];
  for (let row = 0; row < SIDE; row++) {
    for (let column = 0; column < SIDE; column++) {
      for (const other of [[row + 1, column], [row, column + 1]]) {
        if (inside(other) && effective(board, [row, column], other)) swaps.push([[row, column], other]);
      }
    }
  }
  return swaps;
};

// Without matches and with a move that makes one: rows above a match are dealt anew, a board without a move is shuffled.
const playable = (board, deal, shuffle) => {
  for (;;) {
    for (let found = matches(board); found.length > 0; found = matches(board)) {
      const last = Math.min(SIDE - 1, found[0][0][0] + 1);
      for (let row = 0; row <= last; row++) board[row] = board[row].map(deal);
    }
    if (effectiveSwaps(board).length > 0) return board;
    const tiles = shuffle(board.flat());
    board = board.map((_, row) => tiles.slice(row * SIDE, (row + 1) * SIDE));
  }
};

const newBoard = (deal, shuffle) => {
  const board = Array.from({ length: SIDE }, () => Array.from({ length: SIDE }, deal));
  return playable(board, deal, shuffle);
};

// One swap and all that follows: {board, cleared}. A swap that makes no match changes nothing.
const swap = (board, one, other, deal, shuffle) => {
  let after = swapped(board, one, other), cleared = 0;
  if (!effective(board, one, other)) return { board, cleared };
  for (let found = matches(after); found.length > 0; found = matches(after)) {
    for (const [row, column] of found.flat()) after[row][column] = 0;
    cleared += after.flat().filter((colour) => colour === 0).length;
    const columns = Array.from({ length: SIDE }, (_, column) => {
      const left = after.map((line) => line[column]).filter(Boolean);
      return [...Array(SIDE - left.length).fill(0), ...left];
    });
    after = after.map((line, row) => line.map((_, column) => columns[column][row]));
    after = after.map((line) => line.map((colour) => colour || deal()));
  }
  return { board: playable(after, deal, shuffle), cleared };
};
