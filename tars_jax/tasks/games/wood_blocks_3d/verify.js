// The verifier: what counts, worked out from the lines cleared, the board and the pieces on offer alone.
"use strict";

window.verify = () => {
  const { blocks, offered, lines, target, level } = game.state();
  const success = lines >= target;
  const free = (x, y) => blocks[y] !== undefined && blocks[y][x] === 0;
  const stuck = !success && offered.every((piece) => piece === null || blocks.every((line, y) =>
    line.every((_, x) => !piece.cells.every(([dx, dy]) => free(x + dx, y + dy)))));
  return { score: lines, level, lives: stuck ? 0 : 1, done: success || stuck, success };
};
