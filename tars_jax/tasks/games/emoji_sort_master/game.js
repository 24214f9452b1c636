// Emoji Sort Master: click a tube, then the tube that its top faces go to; or drag from one to the other.
"use strict";

const game = (() => {
  let level, kinds, capacity, tubes, selected, pressed, startGroups, moves, last;

  const success = () => isSorted(tubes, capacity);
  const over = () => success() || !pours(tubes, capacity).length;

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const standard = LEVELS[Math.min(level, LEVELS.length) - 1];
    kinds = Kit.integer(options, "kinds", standard[0], 2, KINDS.length);
    capacity = Kit.integer(options, "capacity", standard[1], 3, 5);
    const empty = Kit.integer(options, "empty", standard[2], 1, 3);
    const apart = Kit.integer(options, "apart", standard[3], 0, 20);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    tubes = makeLevel(Kit.random("emoji_sort_master", seed, level), [kinds, capacity, empty, apart]);
    startGroups = groups(tubes);
    selected = pressed = last = null;
    moves = 0;
    stage.reset();
  };

  const tubeUnder = (x, y) => (tubes && !over() ? tubeAt(stage.layout.board, tubes.length, capacity, x, y) : null);

  const select = (tube) => {
    last = { lowered: selected };
    selected = tube;
    stage.animate();
  };

  const pourInto = (to) => {
    last = { from: selected, to, before: tubes };
    tubes = pour(tubes, selected, to);
    selected = null;
    moves += 1;
    stage.animate();
  };

  // A second click pours where that is allowed, gives the tube up where it is the same one, else chooses anew.
  const tap = (x, y) => {
    const tube = tubeUnder(x, y);
    pressed = null;
    if (tube === null) return;
    if (selected !== null && canPour(tubes, capacity, selected, tube)) pourInto(tube);
    else if (selected === tube) select(null);
    else if (tubes[tube].length) select(tube);
  };

  const pick = (x, y) => {
    pressed = tubeUnder(x, y);
    return pressed !== null && tubes[pressed].length > 0;
  };

  const carry = () => {
    if (selected !== pressed) select(pressed);
  };

  const drop = (x, y) => {
    carry();
    const tube = tubeUnder(x, y), from = pressed;
    pressed = null;
    if (tube !== null && canPour(tubes, capacity, selected, tube)) pourInto(tube);
    else if (tube !== from) select(null);
  };

  const stage = Kit.stage({
    tween_ms: 170, grid: () => gridFor(tubes.length, capacity), tap, pick, carry, drop, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawTubes(theStage, progress, {
      level, kinds, capacity, tubes, selected, moves, last, won: success(), lost: over() && !success(),
      finished: tubes.filter((tube) => isFinished(tube, capacity)).length,
    }),
  });

  const state = () => structuredClone({
    game: "emoji_sort_master", level, kinds, capacity, tubes, selected, moves, start_groups: startGroups,
    // where clicks go: the middle of each tube, in board cells
    places: tubes.map((_, i) => tubeMiddle(tubes.length, capacity, i)),
    score: startGroups - groups(tubes), lives: over() && !success() ? 0 : 1, done: over(), success: success(),
    ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
