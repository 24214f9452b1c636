// Shapes: drag pieces into the outline, or click a piece and then its place. Fill the outline exactly.
"use strict";

const game = (() => {
  let level, size, top, outline, pieces, selected, carried, best, moves, last;

  const success = () => coveredCells(pieces) === outline.length;

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const standard = LEVELS[Math.min(level, LEVELS.length) - 1];
    size = Kit.integer(options, "size", standard[0], 4, 16);
    top = Kit.integer(options, "top", Math.min(standard[1], size - 2), 2, size - 2);
    const area = Kit.integer(options, "area", Math.min(standard[2], size * top), 4, size * top);
    const most = Kit.integer(options, "largest", standard[4], 2, 6), least = Math.min(standard[3], most - 1);
    const spare = Kit.integer(options, "spare", standard[5], 0, 4);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    const random = Kit.random("shapes", seed, level);
    ({ outline, pieces } = makeLevel(random, [size, top, area, least, most, spare]));
    selected = carried = last = null;
    best = moves = 0;
    stage.reset();
  };

  // Puts a piece into the outline, or into the tray where `at` is null; `from` is where it is seen now, in cells.
  const put = (index, at, from) => {
    pieces[index].at = at;
    moves += 1;
    best = Math.max(best, coveredCells(pieces));
    selected = null;
    last = { index, from };
    stage.animate();
  };

  const tap = (x, y) => {
    carried = null;
    const cell = pieces && !success() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    const index = pieceAt(pieces, cell);
    if (index >= 0) {
      const held = pieces[index].cells.findIndex(([dx, dy]) => {
        const [column, row] = whereItLies(pieces[index]);
        return sameCell([column + dx, row + dy], cell);
      });
      selected = selected?.index === index ? null : { index, held };
      last = null;
      return stage.animate();
    }
    if (!selected) return;
    const at = putDown(outline, pieces, selected.index, selected.held, cell), piece = pieces[selected.index];
    if (at) put(selected.index, at, whereItLies(piece));
    else if (cell[1] >= top && piece.at) put(selected.index, null, piece.at);
  };

  const pick = (x, y) => {
    const cell = pieces && !success() && Kit.cellAt(stage.layout.board, x, y);
    const index = cell ? pieceAt(pieces, cell) : -1;
    carried = index < 0 ? null : { index, pressed: [x, y], by: [0, 0] };
    return carried !== null;
  };

  const carry = (x, y) => {
    const { cell } = stage.layout.board;
    carried.by = [(x - carried.pressed[0]) / cell, (y - carried.pressed[1]) / cell];
    last = null;
    stage.animate();
  };

  // A piece that is let go falls into the nearest place less than a cell away, goes home over the tray, else goes back.
  const drop = (x, y) => {
    carry(x, y);
    const { index, by } = carried, piece = pieces[index];
    const from = whereItLies(piece).map((start, i) => start + by[i]);
    const away = ([column, row]) => Math.hypot(column - from[0], row - from[1]);
    const [nearest] = placements(outline, pieces, index).sort((a, b) => away(a) - away(b));
    carried = null;
    const stays = piece.at && away(piece.at) < 1 && !(nearest && away(nearest) < away(piece.at));
    if (!stays && nearest && away(nearest) < 1) return put(index, nearest, from);
    if (piece.at && from[1] + 0.5 >= top) return put(index, null, from);
    last = { index, from };
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 140, grid: () => [size, size], tap, pick, carry, drop, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawShapes(theStage, progress, {
      level, size, top, outline, pieces, selected, carried, last, moves, won: success(),
      open: outline.length - coveredCells(pieces),
    }),
  });

  const state = () => structuredClone({
    game: "shapes", level, size, top, outline, pieces, selected, moves, covered: coveredCells(pieces), score: best,
    lives: 1, done: success(), success: success(), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
