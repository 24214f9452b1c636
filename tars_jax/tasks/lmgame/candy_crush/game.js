// Candy Crush: click a candy and then its neighbour, or drag it there. A swap without a match costs a move, too.
"use strict";

const game = (() => {
  let random, board, swaps, stream, dealt, selected, held, moves, score, last;

  const deal = () => (dealt < stream.length ? Number(stream[dealt++]) : random.between(1, COLOURS));
  const shuffle = (tiles) => random.shuffle(tiles);

  // stream: the colours to deal, as digits; then chance goes on by the seed.
  const begin = (options) => {
    random = Kit.random("candy_crush", Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER));
    stream = options.stream ?? "";
    dealt = 0;
    board = newBoard(deal, shuffle);
    swaps = effectiveSwaps(board);
    selected = held = last = null;
    moves = score = 0;
    stage.reset();
  };

  const over = () => moves >= MOVES;
  const beside = (one, other) => Math.abs(one[0] - other[0]) + Math.abs(one[1] - other[1]) === 1;
  const placeAt = (x, y) => Kit.cellAt(stage.layout.board, x, y)?.reverse() ?? null;

  const move = (one, other) => {
    selected = null;
    last = [one, other];
    const result = swap(board, one, other, deal, shuffle);
    moves += 1;
    score += result.cleared;
    board = result.board;
    swaps = effectiveSwaps(board);
    stage.animate();
  };

  const tap = (x, y) => {
    const place = board && !over() && placeAt(x, y);
    if (!place) return;
    if (selected && beside(selected, place)) return move(selected, place);
    selected = selected && number(selected) === number(place) ? null : place;
    stage.animate();
  };
  const pick = (x, y) => {
    held = board && !over() ? placeAt(x, y) : null;
    return held !== null;
  };
  const drop = (x, y) => {
    const { board: { cell, x: left, y: top } } = stage.layout;
    const across = (x - left) / cell - held[1] - 0.5, down = (y - top) / cell - held[0] - 0.5;
    const other = Math.abs(across) > Math.abs(down)
      ? [held[0], held[1] + Math.sign(across)] : [held[0] + Math.sign(down), held[1]];
    if (inside(other)) move(held, other);
  };

  const stage = Kit.stage({
    tween_ms: 160, grid: () => [SIDE, SIDE], tap, pick, carry: () => {}, drop, key: () => {}, swipe: () => {},
    draw: (theStage, progress) => drawBoard(theStage, progress, { board, selected, last, score, left: MOVES - moves }),
  });

  const state = () => ({
    game: "candy_crush", tiles: board.map((line) => [...line]), score, moves, moves_left: MOVES - moves,
    selected: selected && [...selected], swaps: over() ? [] : structuredClone(swaps), ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
