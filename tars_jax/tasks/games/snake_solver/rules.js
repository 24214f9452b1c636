// The rules of Snake Solver. A world is {size, walls, fruits, exit, body}: cells are [column, row], the body begins with
// the head. A fruit makes the snake one cell longer; the exit opens when no fruit is left.
"use strict";

const sameCell = ([column, row], other) => column === other[0] && row === other[1];
const includesCell = (cells, cell) => cells.some((other) => sameCell(other, cell));

const inside = (size, [column, row]) => column >= 0 && row >= 0 && column < size && row < size;

const beside = ([column, row], direction) => {
  const [dx, dy] = Kit.DIRECTIONS[direction];
  return [column + dx, row + dy];
};

// The head may go where no wall, no closed exit and no part of the body is; the end of the tail makes way in time.
const mayEnter = ({ size, walls, fruits, exit, body }, cell) =>
  inside(size, cell) && !includesCell(walls, cell) && !(fruits.length && sameCell(exit, cell)) &&
  !includesCell(body.slice(0, -1), cell);

const legalMoves = (world) => Object.keys(Kit.DIRECTIONS).filter((name) => mayEnter(world, beside(world.body[0], name)));

// The world after a move that is legal.
const moved = (world, direction) => {
  const head = beside(world.body[0], direction);
  const fruits = world.fruits.filter((fruit) => !sameCell(fruit, head));
  const grows = fruits.length < world.fruits.length;
  return { ...world, fruits, body: [head, ...(grows ? world.body : world.body.slice(0, -1))] };
};
