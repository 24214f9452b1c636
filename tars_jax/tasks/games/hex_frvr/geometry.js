// Where hexagons stand. A hexagon is two cells of the layout wide; the tray takes the lowest five rows of cells.
"use strict";

const TRAY_ROWS = 5;

const gridOf = (side) => [2 * (2 * side - 1), 2 * (2 * side - 1) + TRAY_ROWS];

// {hex: a hexagon's width in pixels, rise: from row to row, centers: of all places, slots: the middles of the tray's}.
// On a compact stage hexagons are squares, laid like bricks; else they are regular.
const geometryOf = ({ mode, board: { x, y, width, height, cell } }, { places }) => {
  const hex = 2 * cell, rise = mode === "compact" ? hex : hex * Math.sqrt(0.75);
  const middle = [x + width / 2, y + (height - TRAY_ROWS * cell) / 2];
  const centers = places.map(([q, r]) => [middle[0] + hex * (q + r / 2), middle[1] + rise * r]);
  const slots = Array.from({ length: TRAY }, (_, slot) =>
    [x + (width * (2 * slot + 1)) / (2 * TRAY), y + height - (TRAY_ROWS * cell) / 2]);
  return { hex, rise, centers, slots };
};

const slotAt = ({ board: { x, y, width, height, cell } }, px, py) => {
  const slot = Math.floor(((px - x) / width) * TRAY);
  return slot >= 0 && slot < TRAY && py >= y + height - TRAY_ROWS * cell && py < y + height ? slot : null;
};

const middleOf = (points) => [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);

// The middles of a piece's hexagons, its box centred at (x, y).
const piecePoints = ({ places }, [x, y], hex, rise) => {
  const points = places.map(([q, r]) => [hex * (q + r / 2), rise * r]);
  const [cx, cy] = [0, 1].map((axis) => {
    const along = points.map((point) => point[axis]);
    return (Math.min(...along) + Math.max(...along)) / 2;
  });
  return points.map(([px, py]) => [x + px - cx, y + py - cy]);
};
