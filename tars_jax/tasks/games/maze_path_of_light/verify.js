// The verifier: what counts, worked out from the explicit state alone.
"use strict";

window.verify = () => {
  const { player, exit, level, score } = game.state();
  const success = player[0] === exit[0] && player[1] === exit[1];
  return { score, level, lives: 1, done: success, success };
};
