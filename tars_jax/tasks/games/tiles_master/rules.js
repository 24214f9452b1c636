// The rules of Tiles Master. A tile is {id, kind, column, row, layer}: columns and rows count half tiles, layer 0 lies
// lowest. The tray is a list of kinds.
"use strict";

const COLUMNS = 6, ROWS = 5; // of the stack, in whole tiles; the tray lies in the row below
const PLACES = 7; // of the tray

const overlap = (one, other) => Math.abs(one.column - other.column) < 2 && Math.abs(one.row - other.row) < 2;

// A tile is free while nothing lies on it.
const isFree = (tiles, tile) => !tiles.some((other) => other.layer > tile.layer && overlap(other, tile));

// The uppermost tile that covers a point, in half tiles; undefined where there is none.
const tileAt = (tiles, x, y) => tiles
  .filter(({ column, row }) => column <= x && x < column + 2 && row <= y && y < row + 2)
  .sort((one, other) => other.layer - one.layer)[0];

// What a tray becomes when a tile comes in: {tray, at (its place), vanished}. Equal kinds stand side by side, and three of
// them vanish.
const taken = (tray, kind) => {
  const last = tray.lastIndexOf(kind);
  const at = last < 0 ? tray.length : last + 1;
  const filled = [...tray.slice(0, at), kind, ...tray.slice(at)];
  const vanished = filled.filter((other) => other === kind).length === 3;
  return { tray: vanished ? filled.filter((other) => other !== kind) : filled, at, vanished };
};
