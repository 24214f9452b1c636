// The verifier: what counts, worked out from the tiles alone. It follows the power from each lamp back to a source.
"use strict";

window.verify = () => {
  const { tiles, level, score } = game.state();
  const steps = [["up", "down", 0, -1], ["right", "left", 1, 0], ["down", "up", 0, 1], ["left", "right", -1, 0]];
  const isFed = (start) => {
    const seen = new Set([`${start}`]), queue = [start];
    for (const [column, row] of queue) {
      if (tiles[row][column].kind === "source") return true;
      for (const [out, back, dx, dy] of steps) {
        const there = [column + dx, row + dy], other = tiles[row + dy]?.[column + dx];
        if (seen.has(`${there}`) || !tiles[row][column].sides.includes(out) || !other?.sides.includes(back)) continue;
        seen.add(`${there}`);
        queue.push(there);
      }
    }
    return false;
  };
  const success = tiles.every((line, row) => line.every(({ kind }, column) => kind !== "lamp" || isFed([column, row])));
  return { score, level, lives: 1, done: success, success };
};
