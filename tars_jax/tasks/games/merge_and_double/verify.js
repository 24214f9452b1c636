// The verifier: what counts, worked out from the columns and the block in hand alone.
"use strict";

window.verify = () => {
  const { columns, height, block, target, level, score } = game.state();
  const success = columns.flat().some((value) => value >= target);
  const stuck = columns.every((stack) => stack.length >= height && stack[stack.length - 1] !== block);
  return { score, level, lives: stuck && !success ? 0 : 1, done: success || stuck, success };
};
