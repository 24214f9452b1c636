// The verifier: what counts, worked out from the tiles alone.
"use strict";

window.verify = () => {
  const { tiles, target, level, score } = game.state();
  const success = tiles.flat().some((value) => value >= target);
  const beside = (row, column) => [tiles[row][column + 1], tiles[row + 1]?.[column]];
  const stuck = tiles.every((line, row) => line.every((value, column) =>
    value !== 0 && !beside(row, column).includes(value)));
  return { score, level, lives: stuck && !success ? 0 : 1, done: success || stuck, success };
};
