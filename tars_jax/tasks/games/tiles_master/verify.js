// The verifier: what counts, worked out from the tiles that are left and the tray alone.
"use strict";

window.verify = () => {
  const { tiles, tray, places, total, level } = game.state();
  const left = tiles.length + tray.length;
  const lost = tray.length >= places;
  return { score: total - left, level, lives: lost ? 0 : 1, done: left === 0 || lost, success: left === 0 };
};
