// The verifier: what counts, worked out from the outline and from where the pieces lie alone.
"use strict";

window.verify = () => {
  const { outline, pieces, level, score } = game.state();
  const covered = pieces.filter((piece) => piece.at).flatMap(({ cells, at }) =>
    cells.map(([x, y]) => `${at[0] + x} ${at[1] + y}`));
  const wanted = new Set(outline.map(([column, row]) => `${column} ${row}`));
  const apart = new Set(covered).size === covered.length;
  const success = apart && covered.length === wanted.size && covered.every((cell) => wanted.has(cell));
  return { score, level, lives: 1, done: success, success };
};
