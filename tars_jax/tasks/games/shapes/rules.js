// The rules of Shapes: pieces, never turned, fill an outline without a gap and without lying on each other.
// A piece is {color, cells, home, at}: cells from its first one, [0, 0], the upper one of its left column; home and at
// are where that first cell lies, in the tray and in the outline; at is null while the piece is in the tray.
"use strict";

const sameCell = ([a, b], [c, d]) => a === c && b === d;
const hasCell = (cells, cell) => cells.some((one) => sameCell(one, cell));

// The cells that a piece covers with its first cell at `at`.
const cellsAt = (piece, [column, row]) => piece.cells.map(([x, y]) => [column + x, row + y]);

const whereItLies = (piece) => piece.at || piece.home;

// The number of the piece that covers a cell, in the outline or in the tray, or -1.
const pieceAt = (pieces, cell) => pieces.findIndex((piece) => hasCell(cellsAt(piece, whereItLies(piece)), cell));

// Whether a piece may lie at `at`: inside the outline and on no other piece.
const fits = (outline, pieces, index, at) => cellsAt(pieces[index], at).every((cell) =>
  hasCell(outline, cell) && [-1, index].includes(pieceAt(pieces, cell)));

// Everywhere a piece may lie now.
const placements = (outline, pieces, index) => {
  const tops = outline.filter((at) => fits(outline, pieces, index, at));
  return tops.filter((at) => !pieces[index].at || !sameCell(at, pieces[index].at));
};

// Where a piece goes that is held by one of its cells and put down on `cell`: its held cell lands there, or, where that
// does not fit, the only way to cover `cell` with it. Null if there is no such place.
const putDown = (outline, pieces, index, held, cell) => {
  const [x, y] = pieces[index].cells[held];
  const exact = [cell[0] - x, cell[1] - y];
  const ways = placements(outline, pieces, index).filter((at) => hasCell(cellsAt(pieces[index], at), cell));
  return ways.find((at) => sameCell(at, exact)) || (ways.length === 1 ? ways[0] : null);
};

const coveredCells = (pieces) => pieces.reduce((sum, piece) => sum + (piece.at ? piece.cells.length : 0), 0);
