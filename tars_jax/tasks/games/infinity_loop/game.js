// Infinity-Loop: a click turns a tile by a quarter, clockwise. Close every line.
"use strict";

const game = (() => {
  let level, size, density, scrambled, tiles, begun, best, moves, last;

  const open = () => openEnds(tiles).length;

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [levelSize, levelDensity, levelScrambled] = LEVELS[Math.min(level, LEVELS.length) - 1];
    size = Kit.integer(options, "size", levelSize, 2, 16);
    density = Kit.integer(options, "density", levelDensity, 1, 99);
    scrambled = Kit.integer(options, "scrambled", levelScrambled, 1, 256);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    tiles = makeLevel(Kit.random("infinity_loop", seed, level), size, density, scrambled);
    begun = best = open();
    moves = 0;
    last = null;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = tiles && open() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    const [column, row] = cell;
    if (turned(tiles[row][column], 1) === tiles[row][column]) return;
    tiles[row][column] = turned(tiles[row][column], 1);
    moves += 1;
    best = Math.min(best, open());
    last = cell;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 110, grid: () => [size, size], tap, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawLoop(theStage, progress, { level, size, tiles, moves, last, open: open() }),
  });

  const state = () => ({
    game: "infinity_loop", level, size, density, scrambled, moves,
    // tiles[row][column] lists the sides that the tile's line reaches
    tiles: tiles.map((line) => line.map((tile) => SIDES.filter((_, bit) => tile & (1 << bit)))),
    open_ends: open(), start_open_ends: begun, score: begun - best,
    lives: 1, done: open() === 0, success: open() === 0, ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
