// Wood Blocks 3D: a drag puts one of three pieces on the board; full rows and columns go. Clear the target of lines.
"use strict";

const game = (() => {
  let level, renderer, size, target, filled, shapes, random, blocks, offered, lines, moves, carried, last;

  const success = () => lines >= target;
  const lost = () => !success() && !offered.some((piece) => piece && placesFor(blocks, piece).length);

  const begin = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    renderer = options.renderer ?? "canvas";
    if (!["canvas", "webgl"].includes(renderer)) {
      throw new RangeError(`option renderer takes canvas or webgl, got ${JSON.stringify(renderer)}`);
    }
    const [levelSize, levelTarget, levelFilled, levelShapes, atHand] = LEVELS[Math.min(level, LEVELS.length) - 1];
    size = Kit.integer(options, "size", levelSize, 4, 9);
    target = Kit.integer(options, "target", levelTarget, 1, 200);
    filled = Kit.integer(options, "filled", levelFilled, 0, 60);
    shapes = Kit.integer(options, "shapes", levelShapes, 1, SHAPES.length);
    random = Kit.random("wood_blocks_3d", Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER), level);
    ({ blocks, offered } = makeLevel(random, size, filled, shapes, atHand));
    lines = moves = 0;
    carried = last = null;
    stage.reset();
  };

  const pick = (x, y) => {
    if (!blocks || success()) return false;
    const at = slotAt(stage.layout.board, size, x, y);
    if (at === null || !offered[at]) return false;
    carried = { at, x, y };
    last = null;
    stage.animate();
    return true;
  };

  const carry = (x, y) => {
    carried = { ...carried, x, y };
    stage.animate();
  };

  // A piece hangs by its middle: the place of its upper left corner under the pointer.
  const placeUnder = (piece, x, y) => {
    const { board } = stage.layout, [wide, high] = extent(piece);
    return [Math.round((x - board.x) / board.cell - wide / 2), Math.round((y - board.y) / board.cell - high / 2)];
  };

  const drop = (x, y) => {
    const { at } = carried, piece = offered[at], place = placeUnder(piece, x, y);
    carried = null;
    if (!fits(blocks, piece, place)) {
      last = { piece, at, back: [x, y] };
      return stage.animate();
    }
    const after = placed(blocks, piece, place);
    last = { piece, at, place, cleared: after.cleared, dealt: false };
    ({ blocks } = after);
    lines += after.lines;
    moves += 1;
    offered = offered.with(at, null);
    if (!success() && !offered.some(Boolean)) {
      offered = deal(random, blocks, shapes);
      last.dealt = true;
    }
    stage.animate();
  };

  const tap = () => {
    if (!carried) return;
    carried = null;
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 160, grid: () => [size, size + OFFER_ROWS], tap, pick, carry, drop, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawWood(theStage, progress, {
      level, renderer, size, blocks, offered, lines, target, moves, carried, last, won: success(), lost: lost(),
      landing: carried && placeUnder(offered[carried.at], carried.x, carried.y),
    }),
  });

  const state = () => {
    Solid.check();
    return {
      game: "wood_blocks_3d", level, renderer, size, target, filled, shapes, moves, lines,
      // blocks[row][column] is 0 where the board is empty; a piece lists its cells from its upper left corner
      blocks: structuredClone(blocks), offered: structuredClone(offered), offer_rows: OFFER_ROWS,
      score: lines, lives: lost() ? 0 : 1, done: success() || lost(), success: success(), ...stage.geometry(),
    };
  };

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
