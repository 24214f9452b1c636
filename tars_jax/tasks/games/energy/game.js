// Energy: a click turns a tile by a quarter, clockwise. Lead the power from the source to every lamp.
"use strict";

const game = (() => {
  let level, settings, tiles, begun, best, moves, last;

  const success = () => {
    const { lit, lamps } = countLamps(tiles);
    return lit === lamps;
  };

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [size, sources, filled, fixed, scrambled] = LEVELS[Math.min(level, LEVELS.length) - 1];
    settings = {
      size: Kit.integer(options, "size", size, 2, 12), sources: Kit.integer(options, "sources", sources, 1, 6),
      filled: Kit.integer(options, "filled", filled, 20, 100), fixed: Kit.integer(options, "fixed", fixed, 0, 80),
      scrambled: Kit.integer(options, "scrambled", scrambled, 1, 144),
    };
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    tiles = makeLevel(Kit.random("energy", seed, level), settings);
    begun = best = countLamps(tiles).lit;
    moves = 0;
    last = null;
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = tiles && !success() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    const tile = tiles[cell[1]][cell[0]];
    if (!canTurn(tile)) return;
    tile.wires = turned(tile.wires, 1);
    moves += 1;
    best = Math.max(best, countLamps(tiles).lit);
    last = cell;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 120, grid: () => [settings.size, settings.size], tap, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawEnergy(theStage, progress, {
      level, tiles, powered: powerOf(tiles), moves, last, won: success(), ...countLamps(tiles),
    }),
  });

  const state = () => ({
    game: "energy", level, ...settings, moves,
    // tiles[row][column]: sides lists where the tile's wires reach
    tiles: tiles.map((line) => line.map(({ kind, wires, fixed }) => ({
      kind, fixed, sides: SIDES.filter((_, bit) => wires & (1 << bit)),
    }))),
    ...countLamps(tiles), score: best - begun, lives: 1, done: success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
