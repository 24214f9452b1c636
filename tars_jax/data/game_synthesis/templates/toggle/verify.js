// All lights are dark.
"use strict";

window.verify = () => {
  const { lit, level, score } = game.state();
  const success = lit.every((line) => line.every((light) => light === 0));
  return { score, level, lives: 1, done: success, success };
};
