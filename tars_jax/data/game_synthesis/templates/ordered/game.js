// Numbers in order: each click takes the next number by PARAMETERS.order; four wrong clicks lose.
"use strict";

// The numbers 1 to `count` in the order in which they are to be clicked.
const inOrder = (count) => {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  if (PARAMETERS.order === "falling") return numbers.reverse();
  if (PARAMETERS.order === "odd first") return [1, 0].flatMap((rest) => numbers.filter((number) => number % 2 === rest));
  return numbers;
};

const game = (() => {
  // [size, numbers] of levels 1, 2, ...
  const LEVELS = [[3, 3], [3, 5], [4, 7], [4, 9], [4, 12], [5, 15], [5, 19], [6, 24]];
  const MISTAKES = 4;
  let level, size, cells, total, taken, mistakes, moves;

  const won = () => taken === total;
  const over = () => won() || mistakes >= MISTAKES;

  const start = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    const random = Kit.random("ordered", seed, level);
    [size, total] = LEVELS[Math.min(level, LEVELS.length) - 1];
    const places = random.shuffle(Array.from({ length: size * size }, (_, place) => place));
    cells = Array.from({ length: size }, () => Array(size).fill(0)); // 0: empty
    for (let number = 1; number <= total; number++) {
      const place = places[number - 1];
      cells[Math.floor(place / size)][place % size] = number;
    }
    taken = mistakes = moves = 0;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = cells && !over() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell || !cells[cell[1]][cell[0]]) return;
    moves += 1;
    if (cells[cell[1]][cell[0]] === inOrder(total)[taken]) {
      cells[cell[1]][cell[0]] = 0;
      taken += 1;
    } else {
      mistakes += 1;
    }
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 90, grid: () => [size, size], tap, key: () => {}, swipe: () => {},
    draw: (theStage) => Scene.draw(theStage, {
      columns: size, rows: size, color: (column, row) => (cells[row][column] ? THEME.bright : THEME.dim),
      number: (column, row) => cells[row][column],
      numbers: [["Level", level], ["Left", total - taken], ["Lives", MISTAKES - mistakes]],
      notice: won() ? "All taken!" : over() && "Four mistakes",
      warn: MISTAKES - mistakes, // a policy that sees the board alone sees how many mistakes are left
    }),
  });

  const state = () => ({
    game: PARAMETERS.name, level, size, moves, total, taken, mistakes, cells: cells.map((line) => [...line]),
    score: taken, lives: Math.max(0, MISTAKES - mistakes), done: over(), success: won(), ...stage.geometry(),
  });

  return { start, state, canvas: stage.canvas };
})();
