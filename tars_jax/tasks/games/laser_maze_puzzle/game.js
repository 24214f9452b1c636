// Laser Maze Puzzle: a click turns a mirror by an eighth, clockwise. Light every target.
"use strict";

const game = (() => {
  let level, board, best, moves, last;

  const lit = () => litTargets(board);
  const success = () => lit().length === board.targets.length;

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const standard = LEVELS[Math.min(level, LEVELS.length) - 1];
    const wanted = [
      Kit.integer(options, "size", standard[0], 5, 12), Kit.integer(options, "mirrors", standard[1], 2, 10),
      Kit.integer(options, "targets", standard[2], 1, 5), Kit.integer(options, "splitters", standard[3], 0, 3),
      Kit.integer(options, "further", standard[4], 0, 12), Kit.integer(options, "walls", standard[5], 0, 24),
    ];
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    board = makeLevel(Kit.random("laser_maze_puzzle", seed, level), wanted);
    best = moves = 0;
    last = null;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = board && !success() && Kit.cellAt(stage.layout.board, x, y);
    const mirror = cell ? board.mirrors.findIndex(({ at }) => sameCell(at, cell)) : -1;
    if (mirror < 0) return;
    board.mirrors[mirror].turn = (board.mirrors[mirror].turn + 1) % 4;
    moves += 1;
    best = Math.max(best, lit().length);
    last = mirror;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 140, grid: () => [board.size, board.size], tap, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawLaser(theStage, progress, {
      ...board, level, moves, last, lit: lit(), steps: traceBeam(board), won: success(),
    }),
  });

  const state = () => structuredClone({
    game: "laser_maze_puzzle", level, ...board,
    source: { ...board.source, direction: Object.keys(Kit.DIRECTIONS)[board.source.direction] },
    lit: lit().length, moves, score: best, lives: 1, done: success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
