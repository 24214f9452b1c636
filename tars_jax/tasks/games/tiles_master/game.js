// Tiles Master: a click on a tile that nothing lies on puts it into the tray; three of a kind vanish there.
"use strict";

const game = (() => {
  let level, threes, kinds, layers, load, tiles, tray, total, moves, last;

  const success = () => tiles.length === 0 && tray.length === 0;
  const lost = () => tray.length >= PLACES;

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const [levelThrees, levelKinds, levelLayers, levelLoad] = LEVELS[Math.min(level, LEVELS.length) - 1];
    threes = Kit.integer(options, "threes", levelThrees, 1, 24);
    kinds = Kit.integer(options, "kinds", levelKinds, 1, Object.keys(PICTURES).length);
    layers = Kit.integer(options, "layers", levelLayers, 1, 6);
    load = Kit.integer(options, "load", levelLoad, 2, PLACES - 1);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    tiles = makeLevel(Kit.random("tiles_master", seed, level), threes, kinds, layers, load);
    tray = [];
    total = tiles.length;
    moves = 0;
    last = null;
    stage.reset();
  };

  const tap = (x, y) => {
    if (!tiles || success() || lost()) return;
    const { board } = stage.layout, half = board.cell / 2;
    const tile = tileAt(tiles, (x - board.x) / half, (y - board.y) / half);
    if (!tile || !isFree(tiles, tile)) return;
    tiles = tiles.filter((other) => other !== tile);
    last = { tile, before: tray, ...taken(tray, tile.kind) };
    tray = last.tray;
    moves += 1;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 150, grid: () => [COLUMNS, ROWS + 1], tap, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawTiles(theStage, progress, {
      level, tiles, tray, last, moves, left: tiles.length + tray.length, won: success(), lost: lost(),
    }),
  });

  const state = () => ({
    game: "tiles_master", level, threes, kinds, layers, load, total, moves,
    // columns and rows count half tiles; a tile covers two by two of them
    tiles: tiles.map((tile) => ({ ...tile, free: isFree(tiles, tile) })),
    tray: [...tray], places: PLACES, score: total - tiles.length - tray.length,
    lives: lost() ? 0 : 1, done: success() || lost(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
