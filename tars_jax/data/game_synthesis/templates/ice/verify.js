// The piece lies on the goal.
"use strict";

window.verify = () => {
  const { piece, goal, level, score } = game.state();
  const success = piece[0] === goal[0] && piece[1] === goal[1];
  return { score, level, lives: 1, done: success, success };
};
