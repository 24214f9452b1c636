// Hex FRVR: drag one of three pieces onto the board. Full lines vanish. Clear as many lines as the level wants.
"use strict";

const game = (() => {
  let level, settings, board, held, pieces, tray, next, lines, moves, last, carried;

  const success = () => lines >= settings.lines;
  const stuck = () => tray.every((piece) => fitsOf(board, held, piece).length === 0);

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [side, set, taken, wanted] = LEVELS[Math.min(level, LEVELS.length) - 1];
    settings = {
      side: Kit.integer(options, "side", side, 3, 5), set: options.set ?? (options.side === 3 ? "small" : set),
      taken: Kit.integer(options, "taken", taken, 0, 80), lines: Kit.integer(options, "lines", wanted, 1, 1000),
    };
    if (!Object.hasOwn(SETS, settings.set)) {
      throw new RangeError(`option set takes small or large, got ${JSON.stringify(options.set)}`);
    }
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    ({ board, held, pieces } = makeLevel("hex_frvr", seed, level, settings));
    tray = Array.from({ length: TRAY }, (_, slot) => pieces(slot));
    next = TRAY;
    lines = moves = 0;
    last = carried = null;
    stage.reset();
  };

  const pick = (x, y) => {
    if (!tray || success() || stuck()) return false;
    const slot = slotAt(stage.layout, x, y);
    if (slot === null) return false;
    carried = { slot, at: [x, y], way: null };
    last = null;
    return true;
  };

  // The way to lay the carried piece whose middle is nearest to the pointer, null if none is near.
  const carry = (x, y) => {
    const { centers, hex } = geometryOf(stage.layout, board);
    const ways = fitsOf(board, held, tray[carried.slot]).map((way) => {
      const [cx, cy] = middleOf(way.map((place) => centers[place]));
      return { way, far: Math.hypot(cx - x, cy - y) };
    });
    const nearest = ways.reduce((a, b) => (b.far < a.far ? b : a), { way: null, far: 0.8 * hex });
    carried = { ...carried, at: [x, y], way: nearest.way };
    stage.animate();
  };

  const drop = (x, y) => {
    carry(x, y);
    const { slot, way } = carried;
    carried = null;
    if (way) {
      const { shape } = tray[slot], after = laid(board, held, shape, way);
      held = after.held;
      lines += after.lines;
      moves += 1;
      last = { way, slot, gone: after.gone };
      tray = tray.with(slot, pieces(next++));
    }
    stage.animate();
  };

  // A press that did not move puts the piece back.
  const tap = () => {
    if (!carried) return;
    carried = null;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 160, pick, carry, drop, tap, key: () => {}, swipe: () => {},
    grid: () => gridOf(settings.side),
    draw: (theStage, progress) => drawHexes(theStage, progress, {
      level, board, held, tray, lines, wanted: settings.lines, moves, last, carried,
      won: success(), lost: !success() && stuck(),
    }),
  });

  const state = () => {
    const { centers, slots } = geometryOf(stage.layout, board), { x, y, cell } = stage.layout.board;
    const inCells = ([px, py]) => ({ x: (px - x) / cell, y: (py - y) / cell });
    const lost = !success() && stuck();
    return {
      game: "hex_frvr", level, side: settings.side, set: settings.set, taken: settings.taken, wanted: settings.lines,
      lines, moves,
      // x and y are the middles of what is drawn, in units of board.cell from the board's corner
      places: board.places.map(([q, r], place) => ({ q, r, shape: held[place], ...inCells(centers[place]) })),
      tray: tray.map(({ shape, places }, slot) => ({
        shape, places: places.map(([q, r]) => [q, r]), ...inCells(slots[slot]),
      })),
      score: lines, lives: lost ? 0 : 1, done: lost || success(), success: success(), ...stage.geometry(),
    };
  };

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
