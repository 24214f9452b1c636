// The verifier: what counts, worked out from the gems alone. Without two equal gems side by side the game is lost.
"use strict";

window.verify = () => {
  const { gems, target, level, score } = game.state();
  const success = gems.flat().some((gem) => gem >= target);
  const stuck = gems.every((line, row) => line.every((gem, column) =>
    gem !== line[column + 1] && gem !== gems[row + 1]?.[column]));
  return { score, level, lives: stuck && !success ? 0 : 1, done: success || stuck, success };
};
