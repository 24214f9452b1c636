// How Tetris looks: glass blocks in a dark well, with the next pieces beside it.
"use strict";

const SIDE_COLUMNS = 5;
const THEME = {
  glow: 0, top: "#101a33", bottom: "#080d1c", halo: "70, 130, 255", haloStrength: 0.2, card: "rgba(255, 255, 255, 0.07)",
  accent: "#63e6ff", ink: "#eef4ff", soft: "#8fa3c8",
};
const WELL = "#0a1124", LINE = "#18223d", LOST = "#3a1420";
const COLORS = ["#2fd9e7", "#f5d33f", "#a95be8", "#46cf5b", "#ee4d4d", "#4a72f0", "#f2953b"];

const drawBoard = (stage, view) => {
  const { context, canvas, layout: { mode, board } } = stage;
  const { cell } = board, soft = mode !== "compact", well = WIDTH * cell;
  if (soft) {
    Kit.backdrop(stage, THEME);
  } else {
    context.fillStyle = LINE;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  const block = (row, column, kind, alpha = 1) => {
    const x = board.x + column * cell, y = board.y + row * cell;
    context.globalAlpha = alpha;
    context.fillStyle = COLORS[kind];
    context.fillRect(x, y, cell - (cell > 3), cell - (cell > 3));
    if (soft) {
      context.fillStyle = "rgba(255, 255, 255, 0.28)";
      context.fillRect(x, y, cell - 1, cell * 0.18);
      context.fillStyle = "rgba(0, 0, 0, 0.22)";
      context.fillRect(x, y + cell * 0.8, cell - 1, cell * 0.2 - 1);
    }
    context.globalAlpha = 1;
  };
  context.fillStyle = view.over ? LOST : WELL;
  context.fillRect(board.x, board.y, well, board.height);
  if (soft) {
    context.fillStyle = LINE;
    for (let column = 1; column < WIDTH; column++) context.fillRect(board.x + column * cell, board.y, 1, board.height);
  }
  view.board.forEach((line, row) => line.forEach((value, column) => value && block(row, column, value - 1)));
  if (!view.over) {
    const landing = moved(view.board, view.piece, "drop").piece;
    if (soft) covered(landing).forEach(([row, column]) => block(row, column, view.piece.kind, 0.22));
    covered(view.piece).forEach(([row, column]) => block(row, column, view.piece.kind));
  }
  view.queue.forEach((kind, place) =>
    covered({ shape: SHAPES[kind], x: WIDTH + 1, y: 1 + 4 * place }).forEach(([row, column]) => block(row, column, kind)));
  if (!soft) return;
  Kit.hud(stage, THEME, {
    title: ["Tetris", "One step an action"],
    numbers: [["Pieces", view.pieces], ["Lines", view.lines], ["Score", view.score]],
    hint: "Left and right move, up turns, down lowers, space drops. Or click beside, on, or below the piece.",
    notice: view.over && "The well is full",
  });
};
