// Maze: Path of Light. Click a neighbouring cell without a wall between, or press an arrow key: the light moves there.
"use strict";

const THEME = {
  glow: 0.9, top: "#141a38", bottom: "#0a0d1f", halo: "98, 92, 214", haloStrength: 0.3, card: "rgba(255, 255, 255, 0.07)",
  accent: "#ffd54a", ink: "#f4f1ff", soft: "#a9b0dc",
};
const FLOOR = "#141b3d", WALL = "#8b9bff", TRAIL = "#7a4b10", LIGHT = "#ffe14d", EXIT = "#2ee6a0";

const game = (() => {
  let level, size, open, start, exit, player, previous, path, visited, moves, startDistance, toExit, best, loops;

  const success = () => player[0] === exit[0] && player[1] === exit[1];
  const distance = () => toExit[player[1]][player[0]];

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [levelSize, low, high] = LEVELS[Math.min(level, LEVELS.length) - 1];
    size = Kit.integer(options, "size", levelSize, 2, 24);
    loops = Kit.integer(options, "loops", 2, 0, size * size);
    const range = options.distance === undefined ? [low, high] : options.distance;
    const whole = Array.isArray(range) && range.length === 2 && range.every(Number.isInteger);
    if (!whole || range[0] < 1 || range[1] < range[0]) {
      throw new RangeError(`option distance takes [least, most] with 1 <= least <= most, got ${JSON.stringify(range)}`);
    }
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    const made = makeLevel(Kit.random("maze", seed, level), size, loops, range);
    ({ open, start, exit } = made);
    startDistance = best = made.distance;
    toExit = distancesFrom(open, exit);
    player = previous = start;
    path = [start];
    visited = [start];
    moves = 0;
    stage.reset();
  };

  const move = (direction) => {
    if (!open || success() || !open[player[1]][player[0]].has(direction)) return;
    const [dx, dy] = Kit.DIRECTIONS[direction];
    previous = player;
    player = [player[0] + dx, player[1] + dy];
    if (!visited.some(([column, row]) => column === player[0] && row === player[1])) visited.push(player);
    path.push(player);
    moves += 1;
    best = Math.min(best, distance());
    stage.animate();
  };

  const tap = (x, y) => {
    const cell = open && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    const way = neighbours(open, player).find((to) => to.cell[0] === cell[0] && to.cell[1] === cell[1]);
    if (way) move(way.direction);
  };

  const stage = Kit.stage({
    tween_ms: 84, grid: () => [size, size], tap, key: move, swipe: () => {},
    draw: (theStage, progress) => drawMaze(theStage, progress, {
      level, size, open, start, exit, player, previous, path, visited, moves, startDistance, won: success(),
    }),
  });

  const state = () => ({
    game: "maze_path_of_light", level, size, loops, start: [...start], exit: [...exit], player: [...player], moves,
    // walls[row][column] lists the directions that are open
    walls: open.map((line) => line.map((cell) => Object.keys(Kit.DIRECTIONS).filter((name) => cell.has(name)))),
    visited: visited.map((cell) => [...cell]),
    distance: distance(), start_distance: startDistance, score: startDistance - best,
    lives: 1, done: success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
