// Snake Solver: each key, drag or click beside the head moves the snake by one cell. Eat every fruit, then leave.
"use strict";

const game = (() => {
  let level, world, previous, moves, total;

  const success = () => sameCell(world.body[0], world.exit);
  const stuck = () => !success() && legalMoves(world).length === 0;
  const score = () => total - world.fruits.length + (success() ? 1 : 0);

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [levelSize, levelWalls, levelFruits, levelLength, low, high, deadEnds] =
      LEVELS[Math.min(level, LEVELS.length) - 1];
    const size = Kit.integer(options, "size", levelSize, 3, 16);
    const walls = Kit.integer(options, "walls", levelWalls, 0, 160);
    total = Kit.integer(options, "fruits", levelFruits, 1, 8);
    const length = Kit.integer(options, "length", levelLength, 3, 24);
    const range = options.moves === undefined ? [low, high] : options.moves;
    const whole = Array.isArray(range) && range.length === 2 && range.every(Number.isInteger);
    if (!whole || range[0] < 1 || range[1] < range[0]) {
      throw new RangeError(`option moves takes [least, most] with 1 <= least <= most, got ${JSON.stringify(range)}`);
    }
    const least = Kit.integer(options, "dead_ends", deadEnds, 0, 9);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    world = makeLevel(Kit.random("snake_solver", seed, level), size, walls, total, length, range, least);
    previous = world;
    moves = 0;
    stage.reset();
  };

  const move = (direction) => {
    if (!world || success() || !mayEnter(world, beside(world.body[0], direction))) return;
    previous = world;
    world = moved(world, direction);
    moves += 1;
    stage.animate();
  };

  const tap = (x, y) => {
    const cell = world && Kit.cellAt(stage.layout.board, x, y);
    const direction = cell && Object.keys(Kit.DIRECTIONS).find((name) => sameCell(beside(world.body[0], name), cell));
    if (direction) move(direction);
  };

  const stage = Kit.stage({
    tween_ms: 90, grid: () => [world.size, world.size], tap, key: move, swipe: move,
    draw: (theStage, progress) => drawGarden(theStage, progress, {
      ...world, level, moves, total, previous, won: success(), lost: stuck(),
    }),
  });

  const state = () => ({
    game: "snake_solver", level, moves, ...structuredClone(world), total_fruits: total, legal: success() ? [] : legalMoves(world),
    score: score(), lives: stuck() ? 0 : 1, done: success() || stuck(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
