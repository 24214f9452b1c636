// Free the Key: drag blocks along themselves until the golden key can slide out on the right.
"use strict";

const game = (() => {
  let level, blocks, search, startDistance, best, moves, last, carried;

  const success = () => isFree(blocks);
  const distance = () => search.distances[search.codes.get(codeOf(blocks))];

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [fewest, most, low, high] = LEVELS[Math.min(level, LEVELS.length) - 1];
    const exact = Kit.integer(options, "blocks", most, 1, 11);
    const count = options.blocks === undefined ? [fewest, most] : [exact, exact];
    const range = options.distance === undefined ? [low, high] : options.distance;
    const whole = Array.isArray(range) && range.length === 2 && range.every(Number.isInteger);
    if (!whole || range[0] < 1 || range[1] < range[0]) {
      throw new RangeError(`option distance takes [least, most] with 1 <= least <= most, got ${JSON.stringify(range)}`);
    }
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    ({ blocks, ...search } = makeLevel(Kit.random("free_the_key", seed, level), count, range));
    startDistance = best = distance();
    moves = 0;
    last = carried = null;
    stage.reset();
  };

  // carried: {number, room: [least, most], grip: where the pointer took it, by: cells carried so far, a fraction}
  const pick = (x, y) => {
    const cell = blocks && !success() && Kit.cellAt(stage.layout.board, x, y);
    const number = cell ? blockAt(blocks, ...cell) : -1;
    if (number < 0) return false;
    carried = { number, room: roomOf(occupancy(blocks), blocks[number]), grip: [x, y], by: 0 };
    last = null;
    return true;
  };

  const carry = (x, y) => {
    const { number, room: [least, most], grip } = carried;
    const pixels = blocks[number].across ? x - grip[0] : y - grip[1];
    carried.by = Math.max(least, Math.min(most, pixels / stage.layout.board.cell));
    stage.animate();
  };

  const drop = (x, y) => {
    carry(x, y);
    const { number, by: carriedBy } = carried, by = Math.round(carriedBy);
    blocks = blocks.with(number, slid(blocks[number], by));
    last = { number, from: carriedBy - by };
    carried = null;
    if (by) {
      moves += 1;
      best = Math.min(best, distance());
    }
    stage.animate();
  };

  // A press that did not move puts the block back.
  const tap = () => {
    if (!carried) return;
    carried = null;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 130, grid: () => [SIDE, SIDE], pick, carry, drop, tap, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawBlocks(theStage, progress, {
      level, blocks, moves, startDistance, last, carried, won: success(),
    }),
  });

  const state = () => ({
    game: "free_the_key", level, side: SIDE, exit_row: EXIT_ROW, moves,
    // the key is the first of the blocks; column and row say where a block's left or upper cell lies
    blocks: blocks.map((block) => ({ ...block })),
    distance: distance(), start_distance: startDistance, score: startDistance - best,
    lives: 1, done: success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
