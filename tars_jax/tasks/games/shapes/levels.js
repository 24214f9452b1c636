// Levels of Shapes: an outline grown at random and cut into pieces, which lie in a tray below. What was cut fits.
"use strict";

// [columns and rows of the board, rows above the tray, cells of the outline, least and most cells of a piece, spare
// pieces] of levels 1, 2, ...; the last one stands for all that follow
const LEVELS = Kit.fixed([
  [6, 3, 5, 2, 3, 0], [6, 3, 9, 2, 4, 0], [6, 3, 13, 2, 4, 0], [8, 4, 16, 2, 5, 0], [8, 4, 24, 3, 5, 0],
  [10, 4, 30, 3, 5, 0], [12, 5, 40, 3, 5, 1], [12, 5, 48, 3, 5, 2],
]);
const COLORS = 14;

const STEPS = Kit.fixed(Object.values(Kit.DIRECTIONS));
// Left to right, and down in each column: outlines are wide, which makes this the short way for a solver.
const byColumns = ([a, b], [c, d]) => a - c || b - d;
const beside = ([column, row]) => STEPS.map(([dx, dy]) => [column + dx, row + dy]);

// A connected region of `area` cells; a cell that touches it on several sides is as many times as likely to be next.
const growRegion = (random, columns, rows, area) => {
  const region = [[random.below(columns), random.below(rows)]];
  const within = ([column, row]) => column >= 0 && row >= 0 && column < columns && row < rows;
  while (region.length < area) {
    const border = region.flatMap(beside).filter((cell) => within(cell) && !hasCell(region, cell));
    region.push(random.pick(border));
  }
  return region.sort(byColumns);
};

// Cuts a region into connected parts of `least` to `most` cells: small parts join others until all are large enough.
// Null if the joining gets stuck.
const cutUp = (random, region, least, most) => {
  const parts = region.map((cell) => [cell]);
  for (;;) {
    const small = parts.filter((part) => part.length < least);
    if (!small.length) return parts;
    const part = random.pick(small);
    const others = parts.filter((other) => other !== part && other.length + part.length <= most
      && other.some((cell) => beside(cell).some((next) => hasCell(part, next))));
    if (!others.length) return null;
    part.push(...random.pick(others.sort((a, b) => a.length - b.length).slice(0, 3)).splice(0));
    parts.splice(0, parts.length, ...parts.filter((one) => one.length));
  }
};

const pieceOf = (cells, color) => {
  const [first, ...rest] = cells.slice().sort(byColumns);
  return { color, cells: [first, ...rest].map(([x, y]) => [x - first[0], y - first[1]]), home: null, at: null };
};

// Gives every piece a home in the tray, apart from each other if `apart`. False if they do not fit.
const layOut = (random, pieces, size, top, apart) => {
  const taken = new Set();
  for (const piece of random.shuffle(pieces.slice()).sort((a, b) => b.cells.length - a.cells.length)) {
    const homes = [];
    for (let row = top; row < size; row++) for (let column = 0; column < size; column++) {
      const cells = cellsAt(piece, [column, row]);
      const inside = cells.every(([x, y]) => x >= 0 && y >= top && x < size && y < size);
      if (inside && !cells.some((cell) => taken.has(`${cell}`))) homes.push([column, row]);
    }
    if (!homes.length) return false;
    piece.home = random.pick(pieces.length > 4 ? homes.slice(0, 3) : homes);
    const cells = cellsAt(piece, piece.home);
    (apart ? cells.concat(cells.flatMap(beside)) : cells).forEach((cell) => taken.add(`${cell}`));
  }
  return true;
};

// A level: {outline, pieces}.
const makeLevel = (random, [size, top, area, least, most, spare]) => {
  for (let attempt = 0; attempt < 400; attempt++) {
    const outline = growRegion(random, size, top, area);
    const parts = cutUp(random, outline, least, most);
    if (!parts) continue;
    for (let i = 0; i < spare; i++) parts.push(growRegion(random, 3, 3, random.between(least, most)));
    const colors = random.shuffle(Array.from({ length: COLORS }, (_, i) => i));
    const pieces = random.shuffle(parts).map((cells, i) => pieceOf(cells, colors[i % COLORS]));
    if (pieces.length > 1 && layOut(random, pieces, size, top, attempt < 20)) return { outline, pieces };
  }
  throw new RangeError(`option area: an outline of ${area} cells and its pieces were not found on a board of ${size}`);
};
