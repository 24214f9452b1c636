// Gem 11: a click on a gem merges it with the equal ones that it touches. Reach the number that is asked for.
"use strict";

const game = (() => {
  let level, size, target, news, random, gems, score, moves, last;

  const success = () => largest(gems) >= target;
  const lost = () => !success() && !canMerge(gems);

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [levelSize, lowest, kinds, levelTarget] = LEVELS[Math.min(level, LEVELS.length) - 1];
    size = Kit.integer(options, "size", levelSize, 3, 8);
    news = { lowest: Kit.integer(options, "lowest", lowest, 1, 12), kinds: Kit.integer(options, "kinds", kinds, 3, 8) };
    target = Kit.integer(options, "target", Math.max(levelTarget, news.lowest + 3), news.lowest + 3, 24);
    random = Kit.random("gem_11", Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER), level);
    gems = makeLevel(random, size, news);
    score = moves = 0;
    last = null;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = gems && !success() && Kit.cellAt(stage.layout.board, x, y);
    const result = cell && merged(gems, ...cell, () => newGem(random, largest(gems), news));
    if (!result) return;
    score += result.group.length * gems[cell[1]][cell[0]];
    last = { ...result, to: cell, gem: gems[cell[1]][cell[0]] };
    gems = result.gems;
    moves += 1;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 170, grid: () => [size, size], tap, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawGems(theStage, progress, {
      level, size, target, gems, score, moves, last, won: success(), lost: lost(),
    }),
  });

  const state = () => ({
    game: "gem_11", level, size, target, ...news, moves,
    gems: gems.map((line) => [...line]), largest: largest(gems), score,
    lives: lost() ? 0 : 1, done: lost() || success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
