// Tetris as LMGame-Bench plays it: 10x20, seven pieces from a bag, no wall kicks, one row of gravity after every action.
"use strict";

const WIDTH = 10, HEIGHT = 20, QUEUE = 4;

// Square boxes that rotate as they are, in the order of the bag: I O T S Z J L.
const SHAPES = Kit.fixed([
  ["....", "####", "....", "...."], ["##", "##"], [".#.", "###", "..."], [".##", "##.", "..."],
  ["##.", ".##", "..."], ["#..", "###", "..."], ["..#", "###", "..."],
].map((lines) => lines.map((line) => [...line].map((sign) => Number(sign === "#")))));

const emptyBoard = () => Array.from({ length: HEIGHT }, () => Array(WIDTH).fill(0));
const turned = (shape, clockwise) => shape.map((line, row) => line.map((_, column) =>
  clockwise ? shape[shape.length - 1 - column][row] : shape[column][shape.length - 1 - row]));

// The places of the board that a piece {kind, shape, x, y} covers, as [row, column].
const covered = ({ shape, x, y }) => shape.flatMap((line, row) =>
  line.flatMap((full, column) => (full ? [[y + row, x + column]] : [])));

const fits = (board, piece) => covered(piece).every(([row, column]) =>
  row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH && board[row][column] === 0);

const lower = (piece) => ({ ...piece, y: piece.y + 1 });

const fresh = (kind) => ({
  kind, shape: SHAPES[kind], x: WIDTH / 2 - Math.floor(SHAPES[kind].length / 2), y: 0,
});

// The board with a piece in it and full rows taken out: {board, lines}. Places hold 1 + the kind of their piece.
const settled = (board, piece) => {
  const after = board.map((line) => [...line]);
  for (const [row, column] of covered(piece)) after[row][column] = piece.kind + 1;
  const left = after.filter((line) => line.includes(0));
  const lines = HEIGHT - left.length;
  return { board: [...emptyBoard().slice(0, lines), ...left], lines };
};

// The piece after an action, where it can go there, and whether it is to come to rest: {piece, rests}.
const moved = (board, piece, action) => {
  const tries = {
    left: { ...piece, x: piece.x - 1 }, right: { ...piece, x: piece.x + 1 }, down: lower(piece),
    turn: { ...piece, shape: turned(piece.shape, true) }, turn_back: { ...piece, shape: turned(piece.shape, false) },
  };
  if (action === "drop") {
    let fallen = piece;
    while (fits(board, lower(fallen))) fallen = lower(fallen);
    return { piece: fallen, rests: true };
  }
  const can = fits(board, tries[action]);
  if (action === "down" && !can) return { piece, rests: true };
  const next = can ? tries[action] : piece, fallen = lower(next);
  return fits(board, fallen) ? { piece: fallen, rests: false } : { piece: next, rests: true };
};
