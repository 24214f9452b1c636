// Lights that turn over together: a click turns the clicked light and those that PARAMETERS.pattern names.
"use strict";

const game = (() => {
  // [size, clicks that lead from dark to the start] of levels 1, 2, ...
  const LEVELS = [[3, 1], [3, 2], [3, 3], [4, 3], [4, 4], [4, 6], [5, 6], [5, 9]];
  let level, size, lit, pressed, begun, best, moves;

  const count = () => lit.flat().filter(Boolean).length;
  const over = () => count() === 0;

  const press = (column, row) => {
    for (const [dx, dy] of [[0, 0], ...PARAMETERS.pattern]) {
      if (lit[row + dy]?.[column + dx] !== undefined) lit[row + dy][column + dx] ^= 1;
    }
    pressed[row][column] ^= 1;
  };

  const start = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    const random = Kit.random("toggle", seed, level);
    let clicks;
    [size, clicks] = LEVELS[Math.min(level, LEVELS.length) - 1];
    const places = Array.from({ length: size * size }, (_, place) => [place % size, Math.floor(place / size)]);
    do {
      lit = Array.from({ length: size }, () => Array(size).fill(0));
      pressed = Array.from({ length: size }, () => Array(size).fill(0));
      random.shuffle(places).slice(0, clicks).forEach(([column, row]) => press(column, row));
    } while (over());
    begun = best = count();
    moves = 0;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = lit && !over() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    press(...cell);
    moves += 1;
    best = Math.min(best, count());
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 90, grid: () => [size, size], tap, key: () => {}, swipe: () => {},
    draw: (theStage) => Scene.draw(theStage, {
      columns: size, rows: size,
      color: (column, row) => (lit[row][column] ? THEME.bright : THEME.dim),
      numbers: [["Level", level], ["Moves", moves], ["Lit", count()]], notice: over() && "All dark!",
    }),
  });

  const state = () => ({
    game: PARAMETERS.name, level, size, moves, lit: lit.map((line) => [...line]),
    to_press: pressed.map((line) => [...line]), // the clicks that are left, in any order
    score: begun - best, lives: 1, done: over(), success: over(), ...stage.geometry(),
  });

  return { start, state, canvas: stage.canvas };
})();
