// The verifier: boxes of the levels behind and boxes that stand on targets, and whether the last level is solved.
"use strict";

window.verify = () => {
  const { room, level, levels, score } = game.state();
  const success = level === levels && !room.join("").includes("$");
  return { score, level, lives: 1, done: success, success };
};
