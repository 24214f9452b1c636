// The verifier: what counts, worked out from the explicit state alone. A game without room for any piece is lost.
"use strict";

window.verify = () => {
  const { places, tray, lines, wanted, level } = game.state();
  const free = new Set(places.filter(({ shape }) => shape === null).map(({ q, r }) => `${q},${r}`));
  const fits = (piece) => places.some(({ q, r }) => piece.places.every(([dq, dr]) => free.has(`${q + dq},${r + dr}`)));
  const success = lines >= wanted, lost = !success && !tray.some(fits);
  return { score: lines, level, lives: lost ? 0 : 1, done: success || lost, success };
};
