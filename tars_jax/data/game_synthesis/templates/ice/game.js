// Ice: an arrow key slides the piece until something stops it. Stop on the goal.
"use strict";

// Where a slide from [column, row] ends.
const slideTo = (rocks, [column, row], direction) => {
  const [dx, dy] = Kit.DIRECTIONS[direction];
  while (rocks[row + dy]?.[column + dx] === 0) [column, row] = [column + dx, row + dy];
  return [column, row];
};

// Fewest slides to the goal from every cell that a slide can end on and the start: {"column,row": slides}.
const slidesTo = (rocks, goal, start) => {
  const ends = new Map([[String(start), start]]);
  for (const place of ends.values()) {
    for (const direction of Object.keys(Kit.DIRECTIONS)) {
      const next = slideTo(rocks, place, direction);
      if (!ends.has(String(next))) ends.set(String(next), next);
    }
  }
  const slides = { [String(goal)]: 0 };
  for (let round = 1, grown = true; grown; round++) {
    grown = false;
    for (const [name, place] of ends) {
      const near = (direction) => slides[String(slideTo(rocks, place, direction))] === round - 1;
      if (slides[name] === undefined && Object.keys(Kit.DIRECTIONS).some(near)) {
        slides[name] = round;
        grown = true;
      }
    }
  }
  return { slides, hopeless: [...ends.keys()].some((name) => slides[name] === undefined) };
};

const game = (() => {
  // [size, percent of rocks, fewest and most slides] of levels 1, 2, ...
  const LEVELS = [[4, 10, 1, 2], [5, 14, 2, 3], [6, 16, 3, 4], [6, 18, 4, 5], [7, 18, 5, 6], [8, 18, 6, 7], [9, 18, 7, 9],
    [10, 18, 8, 11]];
  let level, size, rocks, piece, goal, slides, begun, best, moves;

  const over = () => String(piece) === String(goal);

  const start = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    const random = Kit.random("ice", PARAMETERS.rocks, seed, level);
    let density, low, high;
    [size, density, low, high] = LEVELS[Math.min(level, LEVELS.length) - 1];
    density += PARAMETERS.rocks;
    for (let found = false; !found;) {
      rocks = Array.from({ length: size }, () => Array.from({ length: size }, () => Number(random.next() * 100 < density)));
      [piece, goal] = [0, 1].map(() => [random.below(size), random.below(size)]);
      for (const [column, row] of [piece, goal]) rocks[row][column] = 0;
      const reached = slidesTo(rocks, goal, piece);
      slides = reached.slides;
      const away = slides[String(piece)];
      found = away >= low && away <= high && !reached.hopeless; // nobody can slide to where the goal is out of reach
    }
    begun = best = slides[String(piece)];
    moves = 0;
    stage.reset();
  };

  const slide = (direction) => {
    if (!rocks || over()) return;
    const next = slideTo(rocks, piece, direction);
    if (String(next) === String(piece)) return;
    piece = next;
    moves += 1;
    best = Math.min(best, slides[String(piece)]);
    stage.animate();
  };
  const tap = (x, y) => { // beside the piece: the way to slide
    const cell = rocks && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    const dx = cell[0] - piece[0], dy = cell[1] - piece[1];
    if (dx && !dy) slide(dx > 0 ? "right" : "left");
    if (dy && !dx) slide(dy > 0 ? "down" : "up");
  };

  const stage = Kit.stage({
    tween_ms: 90, grid: () => [size, size], tap, key: slide, swipe: slide,
    draw: (theStage) => Scene.draw(theStage, {
      columns: size, rows: size, color: (column, row) => (rocks[row][column] ? THEME.colors[1] : THEME.dim),
      pieces: [[goal, "goal"], [piece, "piece"]],
      numbers: [["Level", level], ["Slides", moves]], notice: over() && "There!",
    }),
  });

  const state = () => ({
    game: PARAMETERS.name, level, size, moves, rocks: rocks.map((line) => [...line]), piece: [...piece], goal: [...goal],
    slides: { ...slides }, score: begun - best, lives: 1, done: over(), success: over(), ...stage.geometry(),
  });

  return { start, state, canvas: stage.canvas };
})();
