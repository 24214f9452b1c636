// The rules of Wood Blocks 3D. blocks[row][column] is 0 where the board is empty, else the kind of wood that lies there; a
// piece is {cells: [[column, row], ...], wood}. Full rows and columns are taken off the board.
"use strict";

const extent = ({ cells }) => [0, 1].map((axis) => 1 + Math.max(...cells.map((cell) => cell[axis])));

const fits = (blocks, { cells }, [column, row]) => cells.every(([x, y]) => blocks[row + y]?.[column + x] === 0);

// All places where a piece fits, as the cell of its upper left corner.
const placesFor = (blocks, piece) => blocks.flatMap((line, row) =>
  line.map((_, column) => [column, row]).filter((place) => fits(blocks, piece, place)));

// The board after a piece was put down: {blocks, lines (how many), cleared: cells of all full rows and columns}.
const placed = (blocks, { cells, wood }, [column, row]) => {
  const filled = blocks.map((line) => [...line]);
  for (const [x, y] of cells) filled[row + y][column + x] = wood;
  const rows = filled.map((line) => line.every(Boolean));
  const columns = filled[0].map((_, x) => filled.every((line) => line[x]));
  const cleared = [];
  const after = filled.map((line, y) => line.map((kind, x) => {
    if (!rows[y] && !columns[x]) return kind;
    cleared.push({ x, y, kind });
    return 0;
  }));
  return { blocks: after, lines: [...rows, ...columns].filter(Boolean).length, cleared };
};

// Whether a search of a limited number of boards finds a way to put all these pieces down, in some order.
const canPlaceAll = (blocks, pieces) => {
  let searched = 0;
  const search = (at, left) => left.length === 0 || left.some((piece) => placesFor(at, piece).some((place) =>
    searched++ < 400 && search(placed(at, piece, place).blocks, left.filter((other) => other !== piece))));
  return search(blocks, pieces);
};
