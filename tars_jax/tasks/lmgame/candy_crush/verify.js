// The verifier: the benchmark counts cleared candies over all moves; there is nothing to win.
"use strict";

window.verify = () => {
  const { score, moves_left } = game.state();
  return { score, level: 1, lives: 1, done: moves_left <= 0, success: false };
};
