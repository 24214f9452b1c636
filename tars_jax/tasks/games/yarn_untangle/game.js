// Yarn Untangle: a drag takes a ball of yarn to another place; a win is when no two threads cross.
"use strict";

const game = (() => {
  let level, size, balls, threads, begun, best, moves, carried, dropped;

  const count = () => crossings(balls, threads).length;
  const success = () => count() === 0;

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [levelSize, levelBalls, levelThreads, levelAway, levelLeast] = LEVELS[Math.min(level, LEVELS.length) - 1];
    size = Kit.integer(options, "size", levelSize, 3, 10);
    const number = Kit.integer(options, "balls", levelBalls, 4, 24);
    const threadCount = Kit.integer(options, "threads", levelThreads, 3, 60);
    const away = Kit.integer(options, "away", Math.min(levelAway, number), 1, number);
    const least = Kit.integer(options, "least", levelLeast, 1, 12);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    ({ balls, threads } = makeLevel(Kit.random("yarn_untangle", seed, level), size, number, threadCount, away, least));
    begun = best = count();
    moves = 0;
    carried = dropped = null;
    stage.reset();
  };

  // A point of the stage in cells, so that the middle of a place is its column and row.
  const onGrid = (x, y) => {
    const { board } = stage.layout;
    return [(x - board.x) / board.cell - 0.5, (y - board.y) / board.cell - 0.5];
  };

  const pick = (x, y) => {
    if (!balls || success()) return false;
    const [column, row] = onGrid(x, y);
    const away = balls.map((ball) => Math.hypot(ball[0] - column, ball[1] - row));
    const ball = away.indexOf(Math.min(...away));
    if (away[ball] > 0.6) return false;
    carried = { ball, at: balls[ball] };
    return true;
  };

  const carry = (x, y) => {
    carried.at = onGrid(x, y);
    stage.animate();
  };

  // The ball stays where it is dropped on an empty place, and goes back from anywhere else.
  const drop = (x, y) => {
    const { ball } = carried;
    dropped = { ball, from: onGrid(x, y) };
    carried = null;
    const place = Kit.cellAt(stage.layout.board, x, y);
    if (place && !balls.some(([column, row]) => column === place[0] && row === place[1])) {
      balls = balls.with(ball, place);
      moves += 1;
      best = Math.min(best, count());
    }
    stage.animate();
  };

  const tap = () => {
    if (!carried) return;
    carried = dropped = null;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 120, grid: () => [size, size], tap, pick, carry, drop, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawYarn(theStage, progress, {
      level, size, balls, threads, moves, carried, dropped, crossed: crossings(balls, threads), won: success(),
    }),
  });

  const state = () => ({
    game: "yarn_untangle", level, size, moves, balls: structuredClone(balls), threads: structuredClone(threads),
    crossings: count(), start_crossings: begun, score: begun - best,
    lives: 1, done: success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
