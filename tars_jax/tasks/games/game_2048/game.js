// 2048: slide with an arrow key, a drag across the board, or a click near one of its sides. Reach the target tile.
"use strict";

const game = (() => {
  let level, target, random, tiles, slides, spawned, score, moves, over;

  const success = () => largest(tiles) >= target;

  // level 1 asks for 16, level 2 for 32, ... level 8 and all that follow for 2048
  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    target = Kit.integer(options, "target", 2 ** (3 + Math.min(level, 8)), 8, 65536);
    if (!Number.isInteger(Math.log2(target))) throw new RangeError(`option target takes a power of two, got ${target}`);
    random = Kit.random("2048", Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER), level);
    tiles = Array.from({ length: SIDE }, () => Array(SIDE).fill(0));
    spawn(tiles, random);
    spawned = spawn(tiles, random);
    slides = [];
    score = moves = 0;
    over = false;
    stage.reset();
  };

  const move = (direction) => {
    if (!tiles || over || success()) return;
    const result = slide(tiles, direction);
    if (!result.changed) return;
    ({ tiles, slides } = result);
    score += result.gained;
    moves += 1;
    spawned = spawn(tiles, random);
    over = legalDirections(tiles).length === 0;
    stage.animate();
  };

  // A click off the middle of the board slides towards the side that it is nearest to.
  const tap = (x, y) => {
    if (!tiles) return;
    const { board } = stage.layout;
    const across = x - board.x - board.width / 2, along = y - board.y - board.height / 2;
    if (Math.max(Math.abs(across), Math.abs(along)) < board.cell) return;
    if (Math.abs(across) > Math.abs(along)) move(across > 0 ? "right" : "left");
    else move(along > 0 ? "down" : "up");
  };

  const stage = Kit.stage({
    tween_ms: 110, grid: () => [SIDE, SIDE], tap, key: move, swipe: move,
    draw: (theStage, progress) => drawBoard(theStage, progress, {
      level, target, tiles, slides, spawned, score, moves, won: success(), lost: over && !success(),
    }),
  });

  const state = () => ({
    game: "game_2048", level, target, tiles: tiles.map((row) => [...row]), score, moves,
    largest: largest(tiles), legal: legalDirections(tiles),
    lives: over && !success() ? 0 : 1, done: over || success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
