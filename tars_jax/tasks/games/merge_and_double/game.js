// Merge and Double: click a column, or drag the block over it, to drop the block there. Equal blocks that touch become
// one and double.
"use strict";

const game = (() => {
  let level, target, most, random, columns, block, next, score, moves, last;

  const success = () => largest(columns) >= target;
  const over = () => success() || !columns.some((stack) => isOpen(stack, block));

  const powerOfTwo = (options, name, standard, low, high) => {
    const value = Kit.integer(options, name, standard, low, high);
    if (!Number.isInteger(Math.log2(value))) throw new RangeError(`option ${name} takes a power of two, got ${value}`);
    return value;
  };

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const standard = LEVELS[Math.min(level, LEVELS.length) - 1];
    target = powerOfTwo(options, "target", standard[0], 16, 65536);
    most = powerOfTwo(options, "most", Math.min(standard[1], target / 2), 8, target / 2);
    const rows = Kit.integer(options, "rows", standard[2], 0, HEIGHT - 1);
    random = Kit.random("merge_and_double", Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER), level);
    columns = makeColumns(random, most, rows);
    block = giveBlock(random, most);
    next = giveBlock(random, most);
    score = moves = 0;
    last = null;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = columns && !over() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell || cell[0] >= COLUMNS || !isOpen(columns[cell[0]], block)) return;
    const result = drop(columns, cell[0], block);
    last = { column: cell[0], block, before: columns, merges: result.merges };
    columns = result.columns;
    score += result.gained;
    moves += 1;
    [block, next] = [next, giveBlock(random, most)];
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 180, grid: () => [COLUMNS + 1, HEIGHT + 1], tap, key: () => {}, swipe: () => {},
    pick: () => true, carry: () => {}, drop: tap,
    draw: (theStage, progress) => drawBoard(theStage, progress, {
      level, target, columns, block, next, score, moves, last, won: success(), lost: over() && !success(),
    }),
  });

  const state = () => structuredClone({
    game: "merge_and_double", level, target, most, height: HEIGHT, columns, block, next, score, moves,
    lives: over() && !success() ? 0 : 1, done: over(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
