// Levels of Gem 11: a board of low gems, and the number to reach.
"use strict";

// [columns and rows, lowest new gem, kinds of new gems at most, number to reach] of levels 1, 2, ...; the last one stands
// for all that follow
const LEVELS = Kit.fixed([
  [4, 1, 3, 4], [4, 1, 3, 5], [5, 1, 3, 7], [5, 2, 4, 9], [5, 2, 5, 9], [5, 1, 3, 8], [6, 2, 5, 10], [6, 3, 6, 11],
]);

// Gems with something to merge among them.
const makeLevel = (random, size, news) => {
  for (;;) {
    const row = () => Array.from({ length: size }, () => newGem(random, news.lowest, news));
    const gems = Array.from({ length: size }, row);
    if (canMerge(gems)) return gems;
  }
};
