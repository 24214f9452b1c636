// The verifier: what counts, worked out by following the light through the explicit state alone.
"use strict";

window.verify = () => {
  const { size, source, mirrors, splitters, walls, targets, level, score } = game.state();
  const name = (column, row) => `${column} ${row}`;
  const turns = new Map([...mirrors, ...splitters].map(({ at, turn }) => [name(...at), turn]));
  const split = new Set(splitters.map(({ at }) => name(...at)));
  const stops = new Set([source.at, ...walls].map((at) => name(...at)));
  const steps = { up: [0, -1], right: [1, 0], down: [0, 1], left: [-1, 0] };
  const reflect = [
    ([dx, dy]) => [dx, -dy], ([dx, dy]) => [dy, dx], ([dx, dy]) => [-dx, dy], ([dx, dy]) => [-dy, -dx],
  ];
  const lit = new Set(), seen = new Set(), beams = [[...source.at, steps[source.direction]]];
  while (beams.length) {
    const [x, y, [dx, dy]] = beams.pop();
    if (seen.has(`${[x, y, dx, dy]}`)) continue;
    seen.add(`${[x, y, dx, dy]}`);
    const [column, row] = [x + dx, y + dy], here = name(column, row);
    if (Math.min(column, row) < 0 || Math.max(column, row) >= size || stops.has(here)) continue;
    lit.add(here);
    if (!turns.has(here) || split.has(here)) beams.push([column, row, [dx, dy]]);
    if (turns.has(here)) beams.push([column, row, reflect[turns.get(here)]([dx, dy])]);
  }
  const success = targets.every((at) => lit.has(name(...at)));
  return { score, level, lives: 1, done: success, success };
};
