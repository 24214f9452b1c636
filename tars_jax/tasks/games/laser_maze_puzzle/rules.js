// The rules of Laser Maze Puzzle: a beam, mirrors that turn by an eighth, splitters, walls, and targets that it passes.
"use strict";

// Directions up, right, down, left are 0 to 3. A mirror lies "-", "\", "|" or "/", which are turns 0 to 3, clockwise.
const WAYS = Kit.fixed(Object.values(Kit.DIRECTIONS));
// REFLECTED[turn][direction]: along a mirror light passes
const REFLECTED = Kit.fixed([[2, 1, 0, 3], [3, 2, 1, 0], [0, 3, 2, 1], [1, 0, 3, 2]]);

const sameCell = ([a, b], [c, d]) => a === c && b === d;
const hasCell = (cells, cell) => cells.some((one) => sameCell(one, cell));

// Where the light goes: steps [column, row, direction] through borders of cells, each out of the cell [column, row].
const traceBeam = ({ size, source, mirrors, splitters, walls }) => {
  const steps = [], seen = new Set(), queue = [[...source.at, source.direction]];
  while (queue.length) {
    const [column, row, direction] = queue.shift();
    if (seen.has(`${[column, row, direction]}`)) continue;
    seen.add(`${[column, row, direction]}`);
    steps.push([column, row, direction]);
    const next = [column + WAYS[direction][0], row + WAYS[direction][1]];
    const inside = next.every((place) => place >= 0 && place < size);
    if (!inside || hasCell(walls, next) || sameCell(source.at, next)) continue;
    const turning = (pieces) => pieces.find(({ at }) => sameCell(at, next));
    const mirror = turning(mirrors), splitter = turning(splitters);
    if (splitter || !mirror) queue.push([...next, direction]);
    if (splitter || mirror) queue.push([...next, REFLECTED[(splitter || mirror).turn][direction]]);
  }
  return steps;
};

const litTargets = (level) => {
  const steps = traceBeam(level);
  return level.targets.filter((target) => steps.some((step) => sameCell(step, target)));
};
