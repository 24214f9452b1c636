// The verifier: what counts, worked out from the tiles alone. Each end of a line must meet a line on the other side.
"use strict";

window.verify = () => {
  const { tiles, level, score } = game.state();
  const reaches = (row, column, side) => tiles[row]?.[column]?.includes(side) ?? false;
  const success = tiles.every((line, row) => line.every((_, column) =>
    reaches(row, column, "up") === reaches(row - 1, column, "down") &&
    reaches(row, column, "right") === reaches(row, column + 1, "left") &&
    reaches(row, column, "down") === reaches(row + 1, column, "up") &&
    reaches(row, column, "left") === reaches(row, column - 1, "right")));
  return { score, level, lives: 1, done: success, success };
};
