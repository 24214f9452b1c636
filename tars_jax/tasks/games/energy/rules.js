// The rules of Energy: power flows from the sources through wires that meet, and lights every lamp that it reaches.
"use strict";

// A tile is {kind: "source", "lamp", "wire" or "empty", wires, fixed}; wires are the sides that it reaches, as bits
// clockwise: up 1, right 2, down 4, left 8. A fixed tile is screwed down and does not turn.
const SIDES = Kit.fixed(["up", "right", "down", "left"]);

const turned = (wires, times) => {
  const count = times % 4;
  return ((wires << count) | (wires >> (4 - count))) & 15;
};

const canTurn = ({ wires, fixed }) => !fixed && turned(wires, 1) !== wires;

// powered[row][column]: whether a source feeds the tile.
const powerOf = (tiles) => {
  const powered = tiles.map((line) => line.map(({ kind }) => kind === "source"));
  const queue = [];
  powered.forEach((line, row) => line.forEach((source, column) => source && queue.push([column, row])));
  for (const [column, row] of queue) {
    SIDES.forEach((side, bit) => {
      const [dx, dy] = Kit.DIRECTIONS[side];
      const other = tiles[row + dy]?.[column + dx];
      if (!other || powered[row + dy][column + dx]) return;
      if (!(tiles[row][column].wires & (1 << bit)) || !(other.wires & (1 << ((bit + 2) % 4)))) return;
      powered[row + dy][column + dx] = true;
      queue.push([column + dx, row + dy]);
    });
  }
  return powered;
};

// {lit, lamps}: how many lamps shine, and how many there are.
const countLamps = (tiles) => {
  const powered = powerOf(tiles);
  const isLit = ({ kind }, column, row) => (kind === "lamp" ? [powered[row][column]] : []);
  const lamps = tiles.flatMap((line, row) => line.flatMap((tile, column) => isLit(tile, column, row)));
  return { lit: lamps.filter(Boolean).length, lamps: lamps.length };
};
