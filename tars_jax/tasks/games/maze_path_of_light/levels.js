// Levels of the maze: a spanning tree by seeded depth-first search, some extra openings, a start and an exit.
"use strict";

// [size, shortest path at least, at most] of levels 1, 2, ...; the last one stands for all that follow
const LEVELS = Kit.fixed([
  [6, 2, 4], [6, 4, 6], [6, 6, 8], [6, 8, 11], [8, 9, 12], [8, 12, 16], [10, 14, 19], [12, 18, 25],
]);

const OPPOSITE = Kit.fixed({ up: "down", right: "left", down: "up", left: "right" });

// open[row][column]: the set of directions without a wall
const neighbours = (open, [column, row]) => [...open[row][column]].map((direction) => {
  const [dx, dy] = Kit.DIRECTIONS[direction];
  return { direction, cell: [column + dx, row + dy] };
});

// Shortest path lengths from one cell, distances[row][column].
const distancesFrom = (open, start) => {
  const distances = open.map((line) => line.map(() => Infinity));
  distances[start[1]][start[0]] = 0;
  const queue = [start];
  for (const cell of queue) {
    for (const { cell: [column, row] } of neighbours(open, cell)) {
      if (distances[row][column] !== Infinity) continue;
      distances[row][column] = distances[cell[1]][cell[0]] + 1;
      queue.push([column, row]);
    }
  }
  return distances;
};

const carve = (random, size, loops) => {
  const open = Array.from({ length: size }, () => Array.from({ length: size }, () => new Set()));
  const seen = open.map((line) => line.map(() => false));
  const within = (column, row) => column >= 0 && row >= 0 && column < size && row < size;
  const connect = (column, row, direction) => {
    const [dx, dy] = Kit.DIRECTIONS[direction];
    open[row][column].add(direction);
    open[row + dy][column + dx].add(OPPOSITE[direction]);
  };
  const path = [[random.below(size), random.below(size)]];
  seen[path[0][1]][path[0][0]] = true;
  while (path.length) {
    const [column, row] = path.at(-1);
    const ways = Object.entries(Kit.DIRECTIONS).filter(([, [dx, dy]]) =>
      within(column + dx, row + dy) && !seen[row + dy][column + dx]);
    if (!ways.length) {
      path.pop();
      continue;
    }
    const [direction, [dx, dy]] = random.pick(ways);
    connect(column, row, direction);
    seen[row + dy][column + dx] = true;
    path.push([column + dx, row + dy]);
  }
  const walls = [];
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (column + 1 < size && !open[row][column].has("right")) walls.push([column, row, "right"]);
      if (row + 1 < size && !open[row][column].has("down")) walls.push([column, row, "down"]);
    }
  }
  random.shuffle(walls).slice(0, loops).forEach((wall) => connect(...wall));
  return open;
};

// A level: {size, open, start, exit, distance}. Draws a path length evenly from the range and mazes until one has it.
const makeLevel = (random, size, loops, [low, high]) => {
  for (let attempt = 0; attempt < 400; attempt++) {
    const wanted = random.between(low, high);
    const open = carve(random, size, loops);
    const pairs = [];
    for (let cell = 0; cell < size * size; cell++) {
      const start = [cell % size, Math.floor(cell / size)];
      distancesFrom(open, start).forEach((line, row) => line.forEach((distance, column) => {
        if (distance === wanted) pairs.push([start, [column, row]]);
      }));
    }
    if (!pairs.length) continue;
    const [start, exit] = random.pick(pairs);
    return { size, open, start, exit, distance: wanted };
  }
  throw new RangeError(`option distance: no maze of size ${size} with a shortest path of ${low} to ${high} was found`);
};
