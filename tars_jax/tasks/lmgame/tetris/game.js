// Tetris, a turn for each action: arrow keys move, turn (up) and lower a piece, Z turns it back, space drops it. With the
// mouse: a click beside the piece moves it there, on it turns it, below it drops it; a swipe is its arrow, down drops.
"use strict";

const game = (() => {
  let random, board, piece, queue, stream, dealt, bag, score, pieces, lines, over;

  const deal = () => {
    if (dealt < stream.length) return Number(stream[dealt++]);
    if (bag.length === 0) bag = random.shuffle([...SHAPES.keys()]);
    return bag.pop();
  };
  const spawn = () => {
    while (queue.length <= QUEUE) queue.push(deal());
    piece = fresh(queue.shift());
    over ||= !fits(board, piece);
  };
  const settle = () => {
    const result = settled(board, piece);
    board = result.board;
    pieces += 1;
    lines += result.lines;
    score += 1 + 10 * result.lines;
    spawn();
  };

  // stream: the pieces to deal, as digits 0 to 6; then bags by the seed.
  const begin = (options) => {
    random = Kit.random("tetris", Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER));
    stream = options.stream ?? "";
    dealt = score = pieces = lines = 0;
    bag = [];
    queue = [];
    over = false;
    board = emptyBoard();
    spawn();
    stage.reset();
  };

  const act = (action) => {
    if (!board || over) return;
    const grounded = !fits(board, lower(piece));
    const next = moved(board, piece, action);
    piece = next.piece;
    if (next.rests) settle();
    if (action === "down" && grounded) {
      // The benchmark's gravity follows here, too, and meets the next piece, even one that has no room.
      if (fits(board, lower(piece))) piece = lower(piece);
      else settle();
    }
    stage.animate();
  };

  const tap = (x, y) => {
    if (!board || over) return;
    const { cell, x: left, y: top } = stage.layout.board;
    const column = Math.floor((x - left) / cell), row = Math.floor((y - top) / cell), places = covered(piece);
    const columns = places.map((place) => place[1]);
    if (column < Math.min(...columns)) act("left");
    else if (column > Math.max(...columns)) act("right");
    else act(row > Math.max(...places.map((place) => place[0])) ? "drop" : "turn");
  };
  const key = (direction) => act(direction === "up" ? "turn" : direction);
  const swipe = (direction) => act({ up: "turn", down: "drop" }[direction] ?? direction);

  const stage = Kit.stage({
    tween_ms: 1, grid: () => [WIDTH + SIDE_COLUMNS, HEIGHT], tap, key, swipe,
    draw: (theStage) => drawBoard(theStage, { board, piece, queue, score, pieces, lines, over }),
  });
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!event.isTrusted) return;
    if (event.key === " ") act("drop");
    if (event.key.toLowerCase() === "z") act("turn_back");
  });

  const state = () => ({
    game: "tetris", well: board.map((line) => [...line]), over, score, pieces, lines, queue: [...queue],
    piece: { kind: piece.kind, x: piece.x, y: piece.y, shape: piece.shape.map((line) => [...line]) },
    ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
