// Levels of Snake Solver: walls, a snake, fruits and an exit at random, kept where a solver finds a way.
"use strict";

// [size, walls, fruits, length of the snake, least and most moves of the way, dead ends that the solver met] of levels 1, 2, ...
const LEVELS = Kit.fixed([
  [6, 0, 1, 3, 2, 5, 0], [6, 3, 2, 3, 5, 9, 0], [6, 5, 3, 4, 9, 14, 0], [6, 6, 4, 5, 12, 20, 0], [8, 13, 5, 6, 18, 32, 1],
  [8, 14, 6, 8, 22, 42, 1], [10, 24, 7, 10, 30, 64, 2], [12, 36, 8, 12, 40, 90, 3],
]);
const EFFORT = 150; // searches for a way that a level is worth

// The first shortest way from a body to a goal, as cells after the head, or null. Cells are numbers, row by row;
// `opens[cell]` is the first move on which the head may go there.
const wayTo = (beside, opens, start, goal) => {
  const before = new Int16Array(beside.length).fill(-1);
  let frontier = [start];
  for (let move = 1; frontier.length; move++) {
    const next = [];
    for (const from of frontier) {
      for (const cell of beside[from]) {
        if (opens[cell] > move || before[cell] >= 0) continue;
        before[cell] = from;
        next.push(cell);
        if (cell !== goal) continue;
        const way = [cell];
        while (way.length < move) way.unshift(before[way[0]]);
        return way;
      }
    }
    frontier = next;
  }
  return null;
};

// Looks for a way through all fruits to the exit, nearest fruit first: {length, deadEnds} or null.
const solve = ({ size, walls, fruits, exit, body }) => {
  const number = ([column, row]) => row * size + column;
  const neighbours = Array.from({ length: size * size }, (_, cell) =>
    Object.keys(Kit.DIRECTIONS).map((name) => beside([cell % size, Math.floor(cell / size)], name))
      .filter((place) => inside(size, place)).map(number));
  const door = number(exit);
  const stones = new Int16Array(size * size);
  for (const wall of walls) stones[number(wall)] = 9999;
  const cutOff = [exit, ...fruits].some((goal) => !wayTo(neighbours, stones, number(body[0]), number(goal)));
  if (cutOff) return null;
  stones[door] = 9999;
  let searches = 0, deadEnds = 0;
  const search = (snake, left, length) => {
    if (searches++ > EFFORT) return null;
    const opens = stones.slice();
    for (const fruit of left) opens[fruit] = 9999;
    snake.forEach((cell, index) => { opens[cell] = snake.length - index; });
    const ways = (left.length ? left : [door]).map((goal) => {
      const shut = opens[goal];
      opens[goal] = 0;
      const way = wayTo(neighbours, opens, snake[0], goal);
      opens[goal] = shut;
      return way;
    }).filter(Boolean).sort((one, other) => one.length - other.length);
    if (!ways.length) deadEnds += 1;
    for (const way of ways) {
      if (!left.length) return length + way.length;
      const longer = [...way.toReversed(), ...snake].slice(0, snake.length + 1);
      const found = search(longer, left.filter((goal) => goal !== way.at(-1)), length + way.length);
      if (found) return found;
    }
    return null;
  };
  const length = search(body.map(number), fruits.map(number), 0);
  return length && { length, deadEnds };
};

// A body of `length` cells that lies on free cells and does not cross itself, or null.
const layBody = (random, size, walls, length) => {
  const body = [[random.below(size), random.below(size)]];
  if (includesCell(walls, body[0])) return null;
  while (body.length < length) {
    const free = Object.keys(Kit.DIRECTIONS).map((name) => beside(body.at(-1), name))
      .filter((cell) => inside(size, cell) && !includesCell(walls, cell) && !includesCell(body, cell));
    if (!free.length) return null;
    body.push(random.pick(free));
  }
  return body;
};

// A world that can be solved in `low` to `high` moves, where the nearest fruit leads into `deadEnds` dead ends or more.
const makeLevel = (random, size, walls, fruits, length, [low, high], deadEnds) => {
  const cells = Array.from({ length: size * size }, (_, index) => [index % size, Math.floor(index / size)]);
  for (let attempt = 0; attempt < 4000; attempt++) {
    const shuffled = random.shuffle([...cells]);
    const stones = shuffled.slice(0, walls);
    const body = layBody(random, size, stones, length);
    if (!body) continue;
    const free = shuffled.slice(walls).filter((cell) => !includesCell(body, cell));
    if (free.length <= fruits) continue;
    const world = { size, walls: stones, body, fruits: free.slice(0, fruits), exit: free[fruits] };
    const found = solve(world);
    if (found && found.length >= low && found.length <= high && found.deadEnds >= deadEnds) return world;
  }
  throw new RangeError(`option moves: no level of size ${size} with a way of ${low} to ${high} moves was found`);
};
